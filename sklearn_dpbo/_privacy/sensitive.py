"""Values that depend on protected records, and cannot be read by accident (zone: boundary).

Sensitivity travels with the value (`Sensitive`); loss travels with the draw (`PrivacyLoss`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from .frames import ClearFrames

__all__ = ["InTransit", "Secret", "Sensitive"]


class _Sealed:
    """Refuses whatever would read, compare, copy or store the value inside."""

    __slots__ = ()

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


class Sensitive(_Sealed):
    """Integers computed from validation records, and how far one unit can move them.

    A `Sensitive` cannot be printed, pickled, copied, compared or turned into numbers by
    accident. Only `sklearn_dpbo._privacy.mechanisms` opens one, to release it with noise.

    Parameters
    ----------
    value : array-like of int, shape (n_candidates, n_statistics)
        One row per candidate.
    sensitivity : int
        Bounds ``sum_j |value(V)[i, j] - value(V')[i, j]|`` for every row i and all validation sets
        V, V' that differ in one unit: how far a unit moves one candidate's statistics together.
    """

    __slots__ = ("__value", "sensitivity")

    @ClearFrames()
    def __init__(self, value: Any, sensitivity: int) -> None:
        value = np.array(value, dtype=np.int64, ndmin=2)
        if value.ndim != 2:
            raise ValueError(
                f"a Sensitive must have a row per candidate; found shape {value.shape}"
            )
        if not isinstance(sensitivity, int) or sensitivity < 1:
            raise ValueError(f"a sensitivity must be a positive integer; found {sensitivity!r}")
        self.__value: NDArray[np.int64] = value
        self.sensitivity = sensitivity

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the value: (n_candidates, n_statistics). Public."""
        n_candidates, n_statistics = self.__value.shape
        return n_candidates, n_statistics

    @ClearFrames()
    def take(self, index: Any) -> Sensitive:
        """Return the candidates at these (public) positions, of the same sensitivity."""
        return Sensitive(self.__value[np.atleast_1d(index)], self.sensitivity)

    @ClearFrames()
    def followed_by(self, other: Sensitive) -> Sensitive:
        """Return these candidates and then those, of the same statistics."""
        if self.sensitivity != other.sensitivity:
            raise ValueError("only statistics of the same sensitivity can stand in one table")
        return Sensitive(np.concatenate([self.__value, other.__value]), self.sensitivity)

    @ClearFrames()
    def linear(
        self,
        weights: NDArray[np.int64],
        offsets: NDArray[np.int64],
        *,
        largest: int,
        shift: int = 0,
    ) -> Sensitive:
        """Return ``q_l = offset_l + sum_j W_lj x_j`` for public integers W and offset.

        Here ``x_j = floor(clip(value_j, 0, largest) / 2^shift)`` for the one statistic that there
        is, of sensitivity D. Clipping does not make neighbours differ by more, and x has
        sensitivity ``ceil(D / 2^shift)``; so q has
        ``ceil(D / 2^shift) max_l sum_j |W_lj|``. All of it is integers: the bound is exact.

        Parameters
        ----------
        weights : ndarray of int64, shape (n_results, n_candidates)
            W.
        offsets : ndarray of int64, shape (n_results,)
            The constant part of each result.
        largest : int
            The statistic's largest possible value (public).
        shift : int, default=0
            Bits to drop where the sums would not fit into 64.

        Raises
        ------
        ValueError
            If some public choice of values could overflow 64 bits.
        """
        if self.shape[1] != 1:
            raise ValueError(f"a linear map takes one statistic; found {self.shape[1]}")
        # In floats first, which cannot overflow; then the sums of integers are exact.
        rough = np.abs(weights.astype(float)).sum(axis=1).max() * (largest >> shift)
        if rough + np.abs(offsets.astype(float)).max() >= 2**62:
            raise ValueError("weights of this size could overflow; take smaller ones")
        norm = int(np.abs(weights).sum(axis=1).max())
        x = np.clip(self.__value[:, 0], 0, largest) >> shift
        D = -(-self.sensitivity >> shift)
        return Sensitive((offsets + weights @ x)[:, None], max(1, D * norm))

    @ClearFrames()
    def plus(self, offsets: NDArray[np.int64]) -> Sensitive:
        """Return each candidate's statistics with a public number added.

        It is the same for all data, so that neighbours differ by no more than before.

        Parameters
        ----------
        offsets : ndarray of int64, shape (n_candidates,)
            What is added; sums must fit into 64 bits.
        """
        return Sensitive(self.__value + offsets[:, None], self.sensitivity)

    @ClearFrames()
    def pooled(self, other: Sensitive, *, largest: int) -> Sensitive:
        """Return the sums of these statistics and of those of *other units*.

        No unit may be in both: that is for the caller to know. Then neighbours differ in a unit of
        one of them, of which the statistics move by its sensitivity at most, and the others stay;
        so the sum has the larger one of the two sensitivities. A unit that is in both moves the sum
        by both.

        Parameters
        ----------
        other : Sensitive
            The same statistics of the same candidates.
        largest : int
            No sum is larger in absolute value (public).

        Raises
        ------
        ValueError
            If the shapes differ, or sums could overflow 64 bits.
        """
        if self.shape != other.shape:
            raise ValueError(f"only tables of one shape add up; found {self.shape}, {other.shape}")
        if largest >= 2**62:
            raise ValueError(f"sums up to {largest:,} could overflow 64 bits")
        return Sensitive(self.__value + other.__value, max(self.sensitivity, other.sensitivity))

    def _open(self) -> NDArray[np.int64]:
        return self.__value

    def _packed(self) -> tuple[Any, ...]:
        return self.__value, self.sensitivity

    def __repr__(self) -> str:
        return f"<Sensitive: {self.shape[0]} candidates, value withheld>"

    def sealed(self) -> Secret:
        """Return the value as a `Secret`, to compute with."""
        return Secret(self.__value)


class Secret(_Sealed):
    """Anything computed from protected records whose sensitivity is not known.

    Where even the *order* of computation depends on protected records (a sequence of evaluations
    that is not released, say), all of it happens inside. `measured` is the only way out.

    Parameters
    ----------
    value : object
        What is kept.
    """

    __slots__ = ("__value",)

    def __init__(self, value: Any) -> None:
        self.__value = value

    @classmethod
    def gathered(cls, secrets: Sequence[Secret]) -> Secret:
        """Return several as one: the list of their values."""
        return cls([each.__value for each in secrets])

    @ClearFrames()
    def then(self, compute: Callable[[Any], Any]) -> Secret:
        """Return ``compute(value)``, sealed again."""
        return Secret(compute(self.__value))

    @ClearFrames()
    def measured(self, compute: Callable[[Any], Any], sensitivity: int) -> Sensitive:
        """Return ``compute(value)``, integers whose sensitivity the caller vouches for."""
        return Sensitive(compute(self.__value), sensitivity)

    def _open(self) -> Any:
        return self.__value

    def __repr__(self) -> str:
        return "<Secret: value withheld>"

    def _packed(self) -> tuple[Any, ...]:
        return (self.__value,)


Sealed = TypeVar("Sealed", Sensitive, Secret)


class InTransit(Generic[Sealed]):
    """Carries a protected value from a worker process to its parent: the only way to pickle one.

    Parameters
    ----------
    content : Sensitive or Secret
        Sealed on both sides.
    """

    __slots__ = ("content",)

    def __init__(self, content: Sealed) -> None:
        self.content: Sealed = content

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (type(self.content), *self.content._packed())


def _arrived(kind: type[Sealed], *packed: Any) -> InTransit[Sealed]:
    return InTransit(kind(*packed))
