"""Values that depend on protected records, and cannot be read by accident (zone: boundary).

A `Sensitive` carries its sensitivity, as a draw carries its loss (`PrivacyLoss`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from .float_errors import ignore_float_errors
from .frames import ClearFrames


class Secret:
    """Value computed from protected records. It cannot be printed, stored or compared.

    If even the *order* of computations depends on protected records, run all of them inside
    (`then`). Only a series of draws opens a secret, and only a worker packs it, for its parent.
    """

    __slots__ = ("__value",)

    def __init__(self, value: Any) -> None:
        self.__value = value

    @classmethod
    def gathered(cls, secrets: Sequence[Secret]) -> Secret:
        """Return one secret whose value is the list of the values of several."""
        return Secret([secret.__value for secret in secrets])

    @ClearFrames()
    def then(self, compute: Callable[[Any], Any]) -> Secret:
        """Return ``compute(value)``, sealed; errors do not depend on the value."""
        return Secret(self.__computed(compute))

    @ClearFrames()
    def measured(self, compute: Callable[[Any], Any], sensitivity: int) -> Sensitive:
        """Return the integers ``compute(value)``; the caller vouches for their sensitivity."""
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
    # These override methods of `object`, with other types.
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse

    def __dir__(self) -> list[str]:
        """List public names only, as the value would be shown among all members."""
        return [name for name in super().__dir__() if not name.startswith("_")]

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse


class Sensitive(Secret):
    """Integers computed from protected records, with their sensitivity.

    The value has the shape (n_candidates, n_statistics). `sensitivity` bounds
    ``sum_j |value(V)[i, j] - value(V')[i, j]|`` for every row i and all validation sets V, V' that
    differ in one unit.
    """

    __slots__ = ("__sensitivity", "__shape")

    @ClearFrames()
    def __init__(self, value: Any, sensitivity: int) -> None:
        value = np.array(value, dtype=np.int64, ndmin=2)
        n_candidates, n_statistics = value.shape
        if not isinstance(sensitivity, int) or sensitivity < 1:
            raise ValueError(f"a sensitivity must be a positive integer; found {sensitivity!r}")
        super().__init__(value)
        self.__sensitivity = sensitivity
        self.__shape = (n_candidates, n_statistics)

    @property
    def sensitivity(self) -> int:
        """Bound of the sum of the changes that one unit makes to a candidate's integers."""
        return self.__sensitivity

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of candidates and of statistics."""
        return self.__shape

    def take(self, index: Any) -> Sensitive:
        """Return the candidates at these (public) positions."""
        return self.measured(lambda value: value[np.atleast_1d(index)], self.sensitivity)

    def followed_by(self, other: Sensitive) -> Sensitive:
        """Append other candidates with the same statistics."""
        if self.sensitivity != other.sensitivity:
            raise ValueError("only statistics of the same sensitivity can be appended")
        return Secret.gathered([self, other]).measured(np.concatenate, self.sensitivity)

    def plus(self, offsets: NDArray[np.int64]) -> Sensitive:
        """Add a public number to the statistics of each candidate, shape (n_candidates,)."""
        whole = np.asarray(offsets, dtype=np.int64)[:, None]
        return self.measured(lambda value: value + whole, self.sensitivity)

    def _packed(self) -> tuple[Any, ...]:
        return (*super()._packed(), self.sensitivity)


Sealed = TypeVar("Sealed", Sensitive, Secret)


class InTransit(Generic[Sealed]):
    """Carrier of a protected value from a worker to its parent: the only way to pickle one."""

    __slots__ = ("content",)

    def __init__(self, content: Sealed) -> None:
        self.content: Sealed = content

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (type(self.content), *self.content._packed())


def _arrived(kind: type[Sealed], *packed: Any) -> InTransit[Sealed]:
    return InTransit(kind(*packed))
