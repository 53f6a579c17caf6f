"""Objects that stand for parts of models, which predict otherwise than these (zone: sensitive).

*Theorem.* `torch.vmap(f)(X)` is f(X_1), ..., f(X_n), computed at once: nothing in f sees more than
one row, and no branch depends on what is in a row. So row i of what a `Mapped` returns is a
function of row i and of the network as it was pickled, whatever its module does with a batch, if
the rules by which vmap maps each operation of torch keep to that.

Each chunk of rows gets a new copy of the network: what a module kept of one would be paired, row by
row, with the next.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ...records.pickles import fresh
from .networks import plain_module

# Rows that are mapped at once: their number decides how sums are rounded, so nothing else may.
_CHUNK = 256
# Methods of a part that can be called, though they take no rows.
_WITHOUT_ROWS = ("get_feature_names_out", "get_params", "get_metadata_routing")
# Types of values that cannot be called, and that numpy does not look into in a list.
PLAIN = {str, bytes, bool, int, float, type(None)}


class StandIn:
    """Shows of a fitted part the data that it was fitted with, and no method that takes rows."""

    def __init__(self, pickled: bytes) -> None:
        self._pickled, self._like = pickled, fresh(pickled)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_like":
            raise AttributeError(name)
        value = getattr(self._like, name)
        if name in _WITHOUT_ROWS or _is_data(value):
            return value
        raise AttributeError(f"{name} could be called on several records")

    def fit(self, *_: Any) -> None:
        """Raise TypeError: it is fitted."""
        raise TypeError("it is fitted")

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        return self._like.__sklearn_tags__()


class Mapped(StandIn):
    """A fitted network of skorch, whose module torch.vmap maps over rows."""

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return what skorch does: outputs of the module, made probabilities where skorch does."""
        torch: Any = sys.modules["torch"]
        starts = range(0, X.shape[0], _CHUNK)
        chunks = (X[start : start + _CHUNK] for start in starts)
        rows = (torch.tensor(x.toarray() if issparse(x) else x) for x in chunks)
        of_row = (partial(_outputs_of, fresh(self._pickled)) for _ in starts)
        outputs = [torch.vmap(f, randomness="error")(x) for f, x in zip(of_row, rows, strict=True)]
        return np.concatenate([output.numpy() for output in outputs])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return what skorch makes of these outputs."""
        outputs = self.predict_proba(X)
        if hasattr(self._like, "threshold"):
            outputs = (outputs[:, 1] > self._like.threshold).astype("uint8")
        elif hasattr(self._like, "classes"):
            outputs = outputs.argmax(axis=1)
        return outputs


def _outputs_of(net: Any, x: Any) -> Any:
    """Return what skorch makes of one row, by its own steps for a batch."""
    vars(net)["module_"] = plain_module(net.module_)
    output = net.evaluation_step((x[None], None))
    output = output[0] if isinstance(output, tuple) else output
    return net._get_predict_nonlinearity()(output)[0]


def _is_data(value: Any) -> bool:
    """Whether an attribute is an array, or plain, or a list of such: nothing that can be called."""
    if type(value) in (list, tuple) or (type(value) is np.ndarray and value.dtype.hasobject):
        return all(map(_is_data, value))
    return type(value) in PLAIN | {np.ndarray} or isinstance(value, np.generic)
