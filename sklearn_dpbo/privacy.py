"""Sensitive values, privacy losses and the budget they are charged to (zone: boundary).

Sensitivity travels with the value (`Sensitive`); loss travels with the draw (`PrivacyLoss`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

import numpy as np

from .exceptions import BudgetExceededError

__all__ = ["Budget", "PrivacyLoss", "Sensitive"]


class Sensitive:
    """Integers computed from validation records, and how far one unit can move them.

    A `Sensitive` cannot be printed, pickled, copied, compared or turned into numbers by
    accident. Only `sklearn_dpbo.mechanisms` opens one, to release it with noise.

    Parameters
    ----------
    value : array-like of int, shape (n_candidates, n_statistics)
        One row per candidate.
    sensitivity : tuple of int, length n_statistics
        ``sensitivity[j]`` bounds ``|value(V)[i, j] - value(V')[i, j]|`` for every row i and all
        validation sets V, V' that differ in one unit.
    """

    __slots__ = ("__value", "sensitivity")

    def __init__(self, value, sensitivity: tuple[int, ...]):
        value = np.array(value, dtype=np.int64, ndmin=2)
        if value.ndim != 2 or value.shape[1] != len(sensitivity):
            raise ValueError(
                f"a Sensitive of {len(sensitivity)} statistics takes one column for each; "
                f"found shape {value.shape}"
            )
        if not all(isinstance(s, int) and s >= 1 for s in sensitivity):
            raise ValueError(f"sensitivities are positive whole numbers; found {sensitivity!r}")
        self.__value = value
        self.sensitivity = sensitivity

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the value: (n_candidates, n_statistics). Public."""
        return self.__value.shape

    def rows(self, index) -> Sensitive:
        """Return the candidates at these (public) positions, of the same sensitivity."""
        return Sensitive(self.__value[np.atleast_1d(index)], self.sensitivity)

    def column(self, j: int) -> Sensitive:
        """Return statistic j of every candidate."""
        return Sensitive(self.__value[:, [j]], (self.sensitivity[j],))

    def _open(self) -> np.ndarray:
        return self.__value

    def __repr__(self) -> str:
        return f"<Sensitive: {self.shape[0]} candidates, value withheld>"

    def _refuse(self, *_args, **_kwargs) -> NoReturn:
        raise TypeError(
            "a Sensitive depends on protected records and cannot be read, compared, copied or "
            "stored; release it through a mechanism"
        )

    __array__ = __iter__ = __len__ = __getitem__ = __contains__ = _refuse
    __int__ = __float__ = __index__ = __complex__ = __bool__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse
    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse


@dataclass(frozen=True)
class PrivacyLoss:
    """What one draw costs.

    Parameters
    ----------
    epsilon, delta : float
        The draw is (epsilon, delta)-differentially private with respect to one unit.
    release : str
        What was released by it.
    mechanism : str
        How, in words.
    assumption : str or None
        What the loss rests on beside the sensitivity; None for a worst-case guarantee.
    """

    epsilon: float
    delta: float
    release: str
    mechanism: str
    assumption: str | None = None

    def __post_init__(self):
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ValueError(
                f"a loss has a positive, finite epsilon, and is not free; found {self.epsilon!r}"
            )
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must lie in [0, 1); found {self.delta!r}")


class Budget:
    """An allowance of (epsilon, delta) that draws are charged to, before they are made.

    Sums are exact (rational numbers), so that shares of a budget fit into it and nothing more.

    Parameters
    ----------
    epsilon : float
        Positive and finite.
    delta : float, default=0.0
        In [0, 1).
    """

    def __init__(self, epsilon: float, delta: float = 0.0):
        self.epsilon, self.delta = float(epsilon), float(delta)
        self._losses: list[PrivacyLoss] = []

    @property
    def losses(self) -> tuple[PrivacyLoss, ...]:
        """The charges made so far, in order."""
        return tuple(self._losses)

    def _left(self) -> tuple[Fraction, Fraction]:
        """Basic composition: what was granted less the sum of the charges, exactly."""
        epsilon = Fraction(self.epsilon) - sum(Fraction(loss.epsilon) for loss in self._losses)
        delta = Fraction(self.delta) - sum(Fraction(loss.delta) for loss in self._losses)
        return epsilon, delta

    @property
    def epsilon_left(self) -> float:
        """What is left of epsilon, rounded down."""
        return round_down(self._left()[0])

    def charge(self, loss: PrivacyLoss) -> None:
        """Record a loss.

        Raises
        ------
        BudgetExceededError
            If it does not fit. Then nothing is recorded and the caller must not draw.
        """
        epsilon, delta = self._left()
        if Fraction(loss.epsilon) > epsilon or Fraction(loss.delta) > delta:
            raise BudgetExceededError(
                f"{loss.release} asks for epsilon={loss.epsilon:g}, delta={loss.delta:g}; left of "
                f"(epsilon={self.epsilon:g}, delta={self.delta:g}) is epsilon={float(epsilon):g}, "
                f"delta={float(delta):g}. Nothing was drawn."
            )
        self._losses.append(loss)


def round_down(x: Fraction) -> float:
    """Return the largest float that is at most x."""
    nearest = float(x)
    return nearest if Fraction(nearest) <= x else math.nextafter(nearest, -math.inf)
