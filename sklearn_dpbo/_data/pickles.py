"""Copies of objects, by pickling (zone: public).

What is pickled once can be unpickled again and again: whatever is done to one copy reaches neither
the original nor another copy. What belongs to classes and modules is shared by all copies.
"""

from __future__ import annotations

import contextlib
import copyreg
import io
import pickle
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

import cloudpickle
import numpy as np
from cloudpickle import cloudpickle as internals
from numpy.typing import NDArray

__all__ = ["Unpickler", "copier", "fresh", "packed"]

# Types of values that cannot be written into, and of those that pickle finds by name.
_FROZEN = {str, bytes, bool, int, float, complex, type(None), type, FunctionType}


def packed(value: Any, *, by_value: bool = False) -> bytes:
    """Return an object pickled, also if its class was defined in a notebook or a function.

    `by_value` is for other processes, which do not know what a notebook defines.
    """
    # Of lambdas, and of classes that are not found by name, there is a second try.
    with contextlib.suppress(Exception):
        plain = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        # What a notebook or a script defines is found by name in its own process only.
        if not by_value or b"__main__" not in plain:
            return plain
    try:
        pickled: bytes = cloudpickle.dumps(value)
    except Exception as error:
        raise TypeError(
            f"{type(value).__name__} cannot be copied by pickling ({type(error).__name__}: "
            f"{error}), and protected records are predicted by copies. Define its classes and "
            "functions at the top level of a module"
        ) from None
    return pickled


def fresh(pickled: bytes) -> Any:
    """Return a new copy of what was pickled."""
    by_value = b"cloudpickle" in pickled
    return Unpickler.of(pickled) if by_value else pickle.loads(pickled)


def copier(pickled: bytes) -> Callable[[], Any]:
    """Return a function that makes the copies of `fresh`, in less time if an object is simple.

    Pickle makes most objects of a class and a state. If only arrays in the state can be written
    into, each copy needs its own of these; what pickle finds by name is the same in all copies.
    """
    like = fresh(pickled)
    cls: Any = type(like)
    recipe = like.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    by_class = getattr(copyreg, "__newobj__"), (cls,)  # noqa: B009
    if (
        b"cloudpickle" in pickled
        or cls in copyreg.dispatch_table
        or (*recipe[:2], *recipe[3:]) != (*by_class, None, None)
        or type(recipe[2]) is not dict
    ):
        return partial(fresh, pickled)
    state = recipe[2]
    arrays = {name: value for name, value in state.items() if type(value) is np.ndarray}
    if (
        not all(name in arrays or _is_frozen(value) for name, value in state.items())
        or not all(map(_has_own_cells, arrays.values()))
        or len(set(map(id, arrays.values()))) < len(arrays)
    ):
        return partial(fresh, pickled)

    def copy() -> Any:
        made = cls.__new__(cls)
        own = state | {name: array.copy(order="K") for name, array in arrays.items()}
        getattr(made, "__setstate__", made.__dict__.update)(own)
        return made

    return copy


def _is_frozen(value: Any) -> bool:
    """Whether a value cannot be written into, or is found by name."""
    if type(value) is tuple:
        return all(map(_is_frozen, value))
    return type(value) in _FROZEN or isinstance(value, np.number | np.bool_)


def _has_own_cells(array: NDArray[Any]) -> bool:
    """Whether an array can be written into, but none of its cells."""
    cells = array.flat if array.dtype.hasobject else ()
    return array.flags.writeable and all(map(_is_frozen, cells))


class Unpickler(pickle.Unpickler):
    """Leaves classes alone that this process knows.

    cloudpickle sends classes of notebooks by value. In the process that they come from it would
    set their methods anew, to copies that no longer see what the notebook defines later.
    """

    @classmethod
    def of(cls, pickled: bytes) -> Any:
        """Return a new copy of what was pickled."""
        return cls(io.BytesIO(pickled)).load()

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function by name."""
        value = super().find_class(module, name)
        return _set_unless_known if value is internals._class_setstate else value


def _set_unless_known(made: type, state: Any) -> Any:
    """Fill a class that was made from its skeleton just now, and has nothing of its own yet."""
    own = {name for name in state[0] if not name.startswith("_")} | {"__init__"}
    if own & vars(made).keys():
        return made
    return internals._class_setstate(made, state)
