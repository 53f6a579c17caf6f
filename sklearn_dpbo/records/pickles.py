"""Copies of objects, by pickling (zone: public).

What is pickled once can be unpickled again and again: whatever is done to one copy reaches neither
the original nor another copy. What belongs to classes and modules is shared by all copies.
"""

from __future__ import annotations

import contextlib
import io
import pickle
from typing import Any

import cloudpickle
from cloudpickle import cloudpickle as internals


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
