"""Copy objects by pickling (zone: public).

An object is pickled once and unpickled for each copy. Changes of one copy reach neither the
original nor another copy. Attributes of classes and modules are shared by all copies.
"""

from __future__ import annotations

import contextlib
import copyreg
import io
import pickle
import sys
from collections.abc import Callable
from typing import Any

import cloudpickle
import numpy as np
from cloudpickle import cloudpickle as internals


def packed(value: Any, *, by_value: bool = False) -> bytes:
    """Pickle an object, also if its class was defined in a notebook or a function.

    `by_value` is for other processes, which cannot import the definitions of a notebook.
    """
    # Lambdas, and classes that are not found by name, fail here and are pickled below.
    with contextlib.suppress(Exception):
        if "torch" in sys.modules:
            plain = dumped(value, reduced_tensors)
        else:
            plain = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        # Definitions of a notebook or a script are found by name in its own process only.
        if not by_value or b"__main__" not in plain:
            return plain
    try:
        pickled = dumped(value, reduced_tensors, PicklesByValue)
    except Exception as error:
        raise TypeError(
            f"{type(value).__name__} cannot be copied by pickling ({type(error).__name__}: "
            f"{error}), and protected records are predicted by copies. Define its classes and "
            "functions at the top level of a module"
        ) from None
    return pickled


def fresh(pickled: bytes) -> Any:
    """Unpickle a new copy."""
    by_value = b"cloudpickle" in pickled
    return Unpickler.of(pickled) if by_value else pickle.loads(pickled)


class Copier:
    """Makes copies of one pickled object; classes of a script are sent by value and made once.

    Copies share classes in any case. Functions that are sent by value are made anew for each copy,
    with their defaults and the variables that they close over.
    """

    def __init__(self, pickled: bytes) -> None:
        self._pickled = pickled
        self._shared: list[type] = []
        if b"__main__" in pickled and b"cloudpickle" in pickled:
            with contextlib.suppress(Exception):  # of what cannot be pickled a second time
                self._pickled, self._shared = _with_classes_apart(fresh(pickled))

    def copy(self) -> Any:
        """Return a new copy."""
        if not self._shared:
            return fresh(self._pickled)
        unpickler = Unpickler(io.BytesIO(self._pickled))
        unpickler.persistent_load = self._shared.__getitem__  # type: ignore[method-assign]
        return unpickler.load()


def _with_classes_apart(value: Any) -> tuple[bytes, list[type]]:
    """Pickle an object with numbers in place of the classes of a script; also return these."""
    shared: list[type] = []

    def number(o: Any) -> int | None:
        if not isinstance(o, type) or o.__module__ != "__main__":
            return None
        shared.append(o)
        return len(shared) - 1

    file = io.BytesIO()
    pickler = PicklesByValue(file, reduced_tensors)
    pickler.persistent_id = number  # type: ignore[method-assign]
    pickler.dump(value)
    return file.getvalue(), shared


class PicklesByName(pickle.Pickler):
    """Pickles each object as `reduced` says, else as usual."""

    def __init__(self, file: io.BytesIO, reduced: Callable[[Any], Any]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._reduced = reduced

    def reducer_override(self, o: Any) -> Any:
        """Reduce an object as `pickle` asks for, or return NotImplemented for the usual way."""
        return self._reduced(o)


class PicklesByValue(PicklesByName, cloudpickle.Pickler):
    """Pickles also classes and functions that are not found by name."""

    def reducer_override(self, o: Any) -> Any:
        """Reduce an object as `reduced` says, or else as cloudpickle does."""
        reduction = self._reduced(o)
        if reduction is NotImplemented:
            return cloudpickle.Pickler.reducer_override(self, o)
        return reduction


def dumped(
    value: Any, reduced: Callable[[Any], Any], kind: type[PicklesByName] = PicklesByName
) -> bytes:
    """Pickle an object, with each object inside reduced as `reduced` says."""
    file = io.BytesIO()
    kind(file, reduced).dump(value)
    return file.getvalue()


class Unpickler(pickle.Unpickler):
    """Leaves classes alone that this process knows.

    cloudpickle sends classes of notebooks by value. In the process that they come from it would
    set their methods anew, to copies that no longer see what the notebook defines later.
    """

    @classmethod
    def of(cls, pickled: bytes) -> Any:
        """Unpickle a new copy."""
        return cls(io.BytesIO(pickled)).load()

    def find_class(self, module: str, name: str) -> Any:
        """Find a class or function by name."""
        value = super().find_class(module, name)
        return _set_unless_known if value is internals._class_setstate else value


def _set_unless_known(made: type, state: Any) -> Any:
    """Fill a class that was just made from its skeleton; leave one that has attributes alone."""
    attributes = {name for name in state[0] if not name.startswith("_")} | {"__init__"}
    if attributes & vars(made).keys():
        return made
    return internals._class_setstate(made, state)


# ---------------------------------------------------------------------- tensors
# Methods that decide how an object is pickled.
_HOW = ("__getstate__", "__setstate__", "__reduce__", "__reduce_ex__")


def reduced_tensors(o: Any) -> Any:
    """Reduce a tensor of torch to bytes, a network of skorch to its state; leave others to pickle.

    By default each tensor writes a file inside the pickle, which takes most of the time of a call
    for few rows. Here a tensor is the bytes of its memory. Other tensors than plain ones (on a GPU,
    say) are left to pickle.
    """
    torch: Any = sys.modules.get("torch")
    if type(o) is getattr(torch, "Tensor", None) and _is_plain(o, torch):
        memory = torch.empty(0, dtype=torch.uint8).set_(o.untyped_storage())
        place = o.storage_offset(), tuple(o.shape), o.stride()
        return _tensor, (memory.numpy().tobytes(), o.dtype, place, o.requires_grad)
    net = getattr(sys.modules.get("skorch"), "NeuralNet", None)
    if net is None or not isinstance(o, net) or str(o.device) != "cpu":
        return NotImplemented
    if any(getattr(type(o), name) is not getattr(net, name) for name in _HOW):
        return NotImplemented
    return copyreg.__newobj__, (type(o),), vars(o), None, None, _set_state  # type: ignore[attr-defined]


def _is_plain(tensor: Any, torch: Any) -> bool:
    """Return True if a tensor is numbers in the memory of this machine, and nothing else."""
    plain = tensor.device.type == "cpu" and tensor.layout is torch.strided and tensor.is_leaf
    flags = (tensor.is_quantized, tensor.is_conj(), tensor.is_neg())
    return bool(plain and not vars(tensor) and not any(flags))


def _tensor(data: bytes, dtype: Any, place: tuple[Any, ...], requires_grad: bool) -> Any:
    """Make a tensor in memory that torch allocates: sums depend on how memory is aligned."""
    torch: Any = sys.modules["torch"]
    memory = torch.empty(len(data), dtype=torch.uint8)
    memory.numpy()[:] = np.frombuffer(data, dtype=np.uint8)
    tensor = torch.empty(0, dtype=dtype).set_(memory.untyped_storage(), *place)
    return tensor.requires_grad_(requires_grad)


def _set_state(o: Any, state: dict[str, Any]) -> None:
    vars(o).update(state)
