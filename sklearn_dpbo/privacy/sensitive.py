"""Values that depend on protected records, and cannot be read by accident (zone: boundary).

Sensitivity travels with the value (`Sensitive`); loss travels with the draw (`PrivacyLoss`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from .float_errors import ignore_float_errors
from .frames import ClearFrames


class Secret:
    """Anything computed from protected records. It cannot be printed, stored or compared.

    Where even the *order* of computation depends on protected records, all of it happens inside
    (`then`). Only a series of draws opens it, and only a worker packs it, for its parent.
    """

    __slots__ = ("__value",)

    def __init__(self, value: Any) -> None:
        self.__value = value

    @classmethod
    def gathered(cls, secrets: Sequence[Secret]) -> Secret:
        """Return several as one: the list of their values."""
        return Secret([each.__value for each in secrets])

    @ClearFrames()
    def then(self, compute: Callable[[Any], Any]) -> Secret:
        """Return ``compute(value)``, sealed again; if that fails, the error is always the same."""
        return Secret(self.__computed(compute))

    @ClearFrames()
    def measured(self, compute: Callable[[Any], Any], sensitivity: int) -> Sensitive:
        """Return ``compute(value)``, integers whose sensitivity the caller vouches for."""
        return Sensitive(self.__computed(compute), sensitivity)

    @ignore_float_errors()
    def __computed(self, compute: Callable[[Any], Any]) -> Any:
        try:
            return compute(self.__value)
        except Exception:
            raise RuntimeError("a computation with protected records failed") from None

    def _open(self) -> Any:
        return self.__value

    def _packed(self) -> tuple[Any, ...]:
        return (self.__value,)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: value withheld>"

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} depends on protected records and cannot be read, compared, "
            "copied or stored; release it through a mechanism"
        )

    __array__ = __iter__ = __len__ = __getitem__ = __contains__ = _refuse
    __int__ = __float__ = __index__ = __complex__ = __bool__ = _refuse
    # What object has must be overridden; the types of its methods cannot be kept.
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse

    def __dir__(self) -> list[str]:
        """List public names only: inspecting all members would show the value among them."""
        return [name for name in super().__dir__() if not name.startswith("_")]

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse


class Sensitive(Secret):
    """Integers computed from protected records, a row per candidate, and how far a unit moves them.

    `sensitivity` bounds ``sum_j |value(V)[i, j] - value(V')[i, j]|`` for every row i and all
    validation sets V, V' that differ in one unit.
    """

    __slots__ = ("__sensitivity", "__shape")

    @ClearFrames()
    def __init__(self, value: Any, sensitivity: int) -> None:
        value = np.array(value, dtype=np.int64, ndmin=2)
        n_candidates, n_statistics = value.shape
        if not isinstance(sensitivity, int) or sensitivity < 1:
            raise ValueError(f"a sensitivity must be a positive integer; found {sensitivity!r}")
        super().__init__(value)
        self.__sensitivity, self.__shape = sensitivity, (n_candidates, n_statistics)

    @property
    def sensitivity(self) -> int:
        """How far a unit moves the integers of a candidate, all together."""
        return self.__sensitivity

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of candidates, and of integers of each."""
        return self.__shape

    def take(self, index: Any) -> Sensitive:
        """Return the candidates at these (public) positions, of the same sensitivity."""
        return self.measured(lambda value: value[np.atleast_1d(index)], self.sensitivity)

    def followed_by(self, other: Sensitive) -> Sensitive:
        """Return these candidates and then those, of the same statistics."""
        if self.sensitivity != other.sensitivity:
            raise ValueError("only statistics of the same sensitivity can stand in one table")
        return Secret.gathered([self, other]).measured(np.concatenate, self.sensitivity)

    def plus(self, offsets: NDArray[np.int64]) -> Sensitive:
        """Return each candidate's statistics with a public number added, the same for all data."""
        whole = np.asarray(offsets, dtype=np.int64)[:, None]
        return self.measured(lambda value: value + whole, self.sensitivity)

    def _packed(self) -> tuple[Any, ...]:
        return (*super()._packed(), self.sensitivity)


Sealed = TypeVar("Sealed", Sensitive, Secret)


class InTransit(Generic[Sealed]):
    """Carries a protected value from a worker to its parent: the only way to pickle one."""

    __slots__ = ("content",)

    def __init__(self, content: Sealed) -> None:
        self.content: Sealed = content

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (type(self.content), *self.content._packed())


def _arrived(kind: type[Sealed], *packed: Any) -> InTransit[Sealed]:
    return InTransit(kind(*packed))
