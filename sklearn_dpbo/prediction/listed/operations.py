"""Operations of torch that a network may use when it is mapped over rows (zone: sensitive).

torch.vmap has a rule for each operation, which applies it to all rows at once. Most rules keep rows
apart, but some do not: an index beyond its own row may reach into the next one. So only operations
are allowed that the tests have tried with odd numbers in one row.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import Any

#: Names of torch's functions.
_NAMES = """
    __and__ __eq__ __floordiv__ __get__ __getitem__ __invert__ __len__ __or__ __rdiv__ __rpow__
    __rsub__ _set_grad_enabled _threshold abs adaptive_avg_pool1d adaptive_avg_pool2d
    adaptive_max_pool1d adaptive_max_pool2d add add_ addmm all alpha_dropout amax amin any arange
    argmax argsort atan2 avg_pool1d avg_pool2d batch_norm bfloat16 bmm bool cat ceil celu
    channel_shuffle chunk clamp clamp_max clamp_min clone contiguous conv1d conv2d
    conv_transpose1d conv_transpose2d copy_ cos cosine_similarity cumprod cumsum detach dim div
    div_ double dropout einsum elu embedding erf exp expand expm1 eye
    feature_alpha_dropout fill_ flatten flip float floor frac full full_like gather ge gelu glu
    group_norm gt half hardshrink hardsigmoid hardswish hardtanh index_select instance_norm int
    interpolate is_floating_point isfinite isinf isnan layer_norm le leaky_relu lerp
    linalg_vector_norm linear linspace local_response_norm log log1p log_sigmoid log_softmax
    logsumexp long lp_pool1d lt masked_fill matmul max max_pool1d max_pool2d maximum mean median
    min minimum mish mm mul mul_ multi_head_attention_forward nan_to_num narrow ne neg new_zeros
    norm normalize numel ones ones_like outer pad permute pixel_unshuffle pow prelu prod
    reciprocal relu relu_ remainder repeat reshape rms_norm round rsqrt
    scaled_dot_product_attention selu sigmoid sign silu sin size softmax softmin softplus
    softshrink softsign sort split sqrt square squeeze stack std sub sub_ sum take_along_dim tan
    tanh tanhshrink tensor to topk transpose tril trunc type type_as unbind unflatten unfold
    unsqueeze var view where zero_ zeros zeros_like
"""
OPERATIONS = frozenset(_NAMES.split())
# The settings while a network is mapped hold for all threads.
_LOCK = RLock()


@contextmanager
def only_tried() -> Iterator[None]:
    """Raise RuntimeError if another operation is called, or for a tensor of another class.

    Operations without a rule are errors, too: torch would apply them row by row, and choose the
    type of all results by the first.
    """
    torch: Any = sys.modules["torch"]
    functorch = torch._C._functorch
    attention = torch.nn.attention
    with _LOCK:
        before = functorch._is_vmap_fallback_enabled()
        functorch._set_vmap_fallback_enabled(False)
        try:
            with attention.sdpa_kernel(attention.SDPBackend.MATH), _mode()():
                yield
        finally:
            functorch._set_vmap_fallback_enabled(before)


@cache
def _mode() -> type[Any]:
    """Return the class of a mode that checks each call of torch before it is made."""
    torch: Any = sys.modules["torch"]
    plain = {torch.Tensor, torch.nn.Parameter}
    leaves = torch.utils._pytree.tree_leaves

    class OnlyTried(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), options: Any = None
        ) -> Any:
            options = options or {}
            name = getattr(function, "__name__", repr(function))
            tensors = [x for x in leaves((args, options)) if isinstance(x, torch.Tensor)]
            tables = [x for x in tensors if name == "embedding" and x.is_floating_point()]
            if name not in OPERATIONS:
                raise RuntimeError(f"{name} is not among the operations that were tried")
            if not {type(tensor) for tensor in tensors} <= plain:
                raise RuntimeError(f"{name} got a tensor of a class of its own")
            if torch._C._len_torch_dispatch_stack():
                raise RuntimeError("a mode of torch sees all rows at once")
            if any(map(torch._C._functorch.is_batchedtensor, tables)):
                raise RuntimeError("an embedding whose table is of the row itself")
            return function(*args, **options)

    return OnlyTried
