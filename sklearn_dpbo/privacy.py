"""Sensitive values, privacy losses and the budget they are charged to (zone: boundary).

Sensitivity travels with the value (`Sensitive`); loss travels with the draw (`PrivacyLoss`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, wraps
from typing import NoReturn, ParamSpec, TypeVar

import numpy as np
from scipy.optimize import minimize_scalar

from .exceptions import BudgetExceededError

__all__ = [
    "Budget",
    "Draws",
    "PrivacyLoss",
    "Secret",
    "Sensitive",
    "delta_of_zcdp",
    "leaving_no_frame",
    "zcdp_within",
]

P = ParamSpec("P")
R = TypeVar("R")


def leaving_no_frame(method: Callable[P, R]) -> Callable[P, R]:
    """If the method is interrupted, keep no frame that saw the value: debuggers show frames."""

    @wraps(method)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except BaseException as error:
            error.__cause__ = error.__context__ = None
            raise error.with_traceback(None) from None

    return guarded


class _Shut:
    """Refuses whatever would read, compare, copy or store what is inside."""

    __slots__ = ()

    def _refuse(self, *_args, **_kwargs) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} depends on protected records and cannot be read, compared, "
            "copied or stored; release it through a mechanism"
        )

    __array__ = __iter__ = __len__ = __getitem__ = __contains__ = _refuse
    __int__ = __float__ = __index__ = __complex__ = __bool__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse

    def __dir__(self):
        """List public names only: whoever looks at all members would see the value among them."""
        return [name for name in super().__dir__() if not name.startswith("_")]

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse


class Sensitive(_Shut):
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

    @leaving_no_frame
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

    @leaving_no_frame
    def rows(self, index) -> Sensitive:
        """Return the candidates at these (public) positions, of the same sensitivity."""
        return Sensitive(self.__value[np.atleast_1d(index)], self.sensitivity)

    def column(self, j: int) -> Sensitive:
        """Return statistic j of every candidate."""
        return self.columns(j, j + 1)

    @leaving_no_frame
    def columns(self, first: int, last: int) -> Sensitive:
        """Return statistics first, ..., last - 1 of every candidate."""
        return Sensitive(self.__value[:, first:last], self.sensitivity[first:last])

    @leaving_no_frame
    def followed_by(self, other: Sensitive) -> Sensitive:
        """Return these candidates and then those, of the same statistics."""
        if self.sensitivity != other.sensitivity:
            raise ValueError("only statistics of the same sensitivity can stand in one table")
        return Sensitive(np.concatenate([self.__value, other.__value]), self.sensitivity)

    @leaving_no_frame
    def linear(self, weights, offsets, *, largest: int, shift: int = 0) -> Sensitive:
        """Return ``q_l = offset_l + sum_j W_lj x_j`` for public integers W and offset.

        Here ``x_j = floor(clip(value_j, 0, largest) / 2^shift)`` for the one statistic that there
        is, of sensitivity D. Clipping does not make neighbours differ by more, and x has
        sensitivity ``ceil(D / 2^shift)``; so q has
        ``ceil(D / 2^shift) max_l sum_j |W_lj|``. All of it is integers: the bound is exact.

        Parameters
        ----------
        weights : ndarray of int64, shape (n_results, n_candidates)
        offsets : ndarray of int64, shape (n_results,)
        largest : int
            The statistic's largest possible value (public).
        shift : int, default=0
            Bits to leave away where the sums would not fit into 64.

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
        D = -(-self.sensitivity[0] >> shift)
        return Sensitive((offsets + weights @ x)[:, None], (max(1, D * norm),))

    def _open(self) -> np.ndarray:
        return self.__value

    def __repr__(self) -> str:
        return f"<Sensitive: {self.shape[0]} candidates, value withheld>"

    def sealed(self) -> Secret:
        """Return the value as a `Secret`, to compute with."""
        return Secret(self.__value)


class Secret(_Shut):
    """Anything computed from protected records, of which nobody knows the sensitivity.

    Where even the *order* of computation depends on protected records (a path of evaluations that
    is not released, say), all of it happens inside. `measured` is the only way out.

    Parameters
    ----------
    value : object
    """

    __slots__ = ("__value",)

    def __init__(self, value):
        self.__value = value

    @leaving_no_frame
    def then(self, compute: Callable) -> Secret:
        """Return ``compute(value)``, sealed again."""
        return Secret(compute(self.__value))

    @leaving_no_frame
    def measured(self, compute: Callable, sensitivity: tuple[int, ...]) -> Sensitive:
        """Return ``compute(value)``, integers whose sensitivity the caller vouches for."""
        return Sensitive(compute(self.__value), sensitivity)

    def _open(self):
        return self.__value

    def __repr__(self) -> str:
        return "<Secret: value withheld>"


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
    before_first : callable, default=None
        Called before the first charge is recorded; if it raises, nothing is.
    """

    def __init__(self, epsilon: float, delta: float = 0.0, before_first: Callable | None = None):
        self.epsilon, self.delta = float(epsilon), float(delta)
        self._before_first = before_first
        self._losses: list[PrivacyLoss] = []

    @property
    def losses(self) -> tuple[PrivacyLoss, ...]:
        """The charges made so far, in order."""
        return tuple(self._losses)

    @property
    def spent(self) -> tuple[float, float]:
        """The sums of the charges made so far: (epsilon, delta)."""
        return sum(loss.epsilon for loss in self._losses), sum(loss.delta for loss in self._losses)

    def _left(self) -> tuple[Fraction, Fraction]:
        """Basic composition: what was granted less the sum of the charges, exactly."""
        epsilon = Fraction(self.epsilon) - sum(Fraction(loss.epsilon) for loss in self._losses)
        delta = Fraction(self.delta) - sum(Fraction(loss.delta) for loss in self._losses)
        return epsilon, delta

    @property
    def epsilon_left(self) -> float:
        """What is left of epsilon, rounded down."""
        return round_down(self._left()[0])

    def epsilon_beside(self, share: float) -> float:
        """What is left of epsilon if this share of the whole is kept for later, rounded down."""
        return round_down(Fraction(self.epsilon_left) - Fraction(self.epsilon) * Fraction(share))

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
        if not self._losses and self._before_first is not None:
            self._before_first()
        self._losses.append(loss)


@dataclass(frozen=True)
class Draws:
    """How a sequence of n selections of epsilon_each is accounted for.

    Either by pure composition, ``n epsilon_each`` in all; or, if `concentrated`, each selection is
    an exponential mechanism, which is ``epsilon_each^2 / 8``-zCDP, and their sum is converted to
    (epsilon, delta).

    Parameters
    ----------
    n : int
    epsilon_each : float
    epsilon, delta : float
        What the whole sequence costs.
    concentrated : bool

    References
    ----------
    Rogers and Steinke, "A better privacy analysis of the exponential mechanism", 2021;
    Cesar and Rogers, "Bounding, concentrating, and truncating", ALT 2021, Lemma 3.2: eps^2 / 8.
    """

    n: int
    epsilon_each: float
    epsilon: float
    delta: float
    concentrated: bool

    @classmethod
    def within(cls, n: int, epsilon: float, delta: float) -> Draws:
        """Return the way to share (epsilon, delta) among n draws that makes each the largest.

        Everything is rounded against the spender.
        """
        pure = round_down(Fraction(epsilon) / n)
        plain = cls(n, pure, round_down(Fraction(pure) * n), 0.0, False)
        if delta == 0:
            return plain
        each = math.sqrt(8 * zcdp_within(epsilon, delta) / n) * (1 - 1e-12)
        return cls(n, each, epsilon, delta, True) if each > pure else plain

    @property
    def rho(self) -> float:
        """The zCDP parameter of the whole sequence, if concentrated."""
        return self.n * self.epsilon_each**2 / 8


def delta_of_zcdp(rho: float, epsilon: float) -> float:
    """Return a delta for which rho-zCDP implies (epsilon, delta)-DP.

    ``delta = inf over alpha > 1 of exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1)
    (1 - 1 / alpha)^alpha``; any alpha gives a valid one.

    References
    ----------
    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
    Proposition 12.
    """

    def log_delta(log_order: float) -> float:
        a = math.exp(min(max(log_order, -700.0), 700.0))  # alpha - 1
        return a * ((a + 1) * rho - epsilon) - math.log(a) - (a + 1) * math.log1p(1 / a)

    start = math.log(min(max(epsilon / (2 * rho), 1e-6), 1e300))
    with np.errstate(all="ignore"):  # of numbers that overflow: they are not the smallest
        found = minimize_scalar(log_delta, bracket=(start - 1, start + 1))
    return min(1.0, math.exp(min(found.fun, 0.0)))


@cache
def zcdp_within(epsilon: float, delta: float) -> float:
    """Return the largest rho (rounded down) for which rho-zCDP implies (epsilon, delta)-DP."""
    low, high = 0.0, epsilon  # (epsilon, 0)-DP has rho at most epsilon^2 / 2, delta allows more
    while delta_of_zcdp(high, epsilon) < delta:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if delta_of_zcdp(middle, epsilon) <= delta else (low, middle)
    return low * (1 - 1e-9)


def round_up(x: Fraction) -> float:
    """Return the smallest float that is at least x."""
    return 0.0 - round_down(-x)


def round_down(x: Fraction) -> float:
    """Return the largest float that is at most x."""
    nearest = float(x)
    return nearest if Fraction(nearest) <= x else math.nextafter(nearest, -math.inf)
