"""Privacy profiles that estimators declare: checked, composed, and kept to (zone: public).

A profile is the delta of one fit for each epsilon from 0 up, whichever of two neighbours is first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

Profile: TypeAlias = Callable[[Any], Any]
# What computed deltas are multiplied by, so that rounding in floats cannot make them too small.
_UP = 1 + 1e-9
# What rounding in a declared function may do to its values. Accountants' Fourier transforms have
# errors of about 1e-15.
_ROUNDING = 1e-12
# Losses of a fit are rounded to so many steps on each side of 0, up to these multiples of epsilon:
# any of them gives a valid bound.
_STEPS, _REACHES = 1024, (1, 2, 4)
# For a larger epsilon, delta is that of this one; for a smaller one, shares of it are added up.
_MOST, _LEAST = 100.0, 1e-3
# How two steps share epsilon: any share gives a valid bound. Their profile is looked up in a table.
_SHARES, _POINTS = np.linspace(0, 1, 301), 2049
# Settings are found up to this relative error, within this factor of 1.
_TOLERANCE, _RANGE = 1e-4, 2.0**20


def profile_of_all(declared: Sequence[Any], factor: int) -> Profile:
    """Return the pointwise maximum of declared profiles, for neighbours with one unit replaced.

    `factor` is 2 if they are for one record added or removed. What the functions return is checked
    whenever they are called: ValueError tells what is no profile.
    """
    profiles = [partial(_checked, function) for function in declared]
    if factor == 2:
        profiles = [partial(_of_two_steps, profile) for profile in profiles]
    return lambda epsilon: np.max([profile(epsilon) for profile in profiles], axis=0)


def epsilon_of_profile(profile: Profile, delta: float) -> float:
    """Return the least epsilon (rounded up) for which a profile is at most delta, or infinity."""
    low, high = 0.0, _MOST
    for _ in range(4):  # up to about 1e-10
        epsilons = np.linspace(low, high, _STEPS + 1)
        enough = profile(epsilons) <= delta
        if not enough.any():
            return math.inf
        first = int(np.argmax(enough))
        low, high = float(epsilons[max(0, first - 1)]), float(epsilons[first])
    return high


def delta_of_n(profile: Profile, n: int, epsilon: float) -> float:
    """Return a delta so that n adaptive fits with this profile are (epsilon, delta)-DP together.

    Proof in the documentation, "The guarantee for one table".
    """
    if n == 1:
        return float(profile(epsilon))
    if epsilon < _LEAST:  # a grid would lose digits
        return min(1.0, n * float(profile(epsilon / n)) * _UP)
    epsilon = min(epsilon, _MOST)
    deltas = profile(np.outer(_REACHES, np.linspace(0, epsilon, _STEPS + 1)))
    deltas = np.minimum.accumulate(deltas, axis=1)  # what holds for an epsilon does for larger ones
    bounds = map(partial(_delta_on_grid, n, epsilon), _REACHES, deltas)
    return min(1.0, *bounds)


def setting_within(
    delta_of: Callable[[float], float], delta: float, name: str, *, is_noise: bool
) -> float:
    """Return the setting with the least noise for which `delta_of` it is at most delta.

    The larger it is, the smaller is the delta if it `is_noise`, and the larger if not.
    """
    deltas: dict[float, float] = {}  # by loss: the setting, or 1 / noise

    def setting(loss: float) -> float:
        return 1 / loss if is_noise else loss

    def holds(loss: float) -> bool:
        deltas[loss] = delta_of(setting(loss))
        _check_order({setting(x): deltas[x] for x in sorted(deltas)}, name)
        return deltas[loss] <= delta

    low = 1.0
    while not holds(low):
        low /= 2
        if low < 1 / _RANGE:
            raise ValueError(
                f"no {name} up to {setting(low):.3g} is private enough: the declared profile has "
                f"delta={deltas[2 * low]:.3g} there, for all fits, and {delta:.3g} is allowed. "
                f"Does delta shrink with {'more noise' if is_noise else 'a smaller epsilon'}, down "
                "to 0?"
            )
    high = 2 * low
    while low >= 1 and holds(high):
        low, high = high, 2 * high
        if high > _RANGE:
            raise ValueError(
                f"the declared profile promises delta={deltas[low]:.3g} for all fits with "
                f"{name}={setting(low):.3g}: does it depend on {name}?"
            )
    while high / low > 1 + _TOLERANCE:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return setting(low)


def _check_order(deltas: dict[float, float], name: str) -> None:
    """Raise ValueError if delta shrinks while settings go on to more loss."""
    values = list(deltas.items())
    for (setting, delta), (more, less) in pairwise(values):
        if less < 0.9 * delta - _ROUNDING:
            raise ValueError(
                f"the declared profile has delta={delta:.3g} for all fits with {name}="
                f"{setting:.3g}, and only {less:.3g} with {name}={more:.3g}: more noise must not "
                "cost more. Name the parameter as `noise_multiplier` if it is larger with more "
                "noise, and as `epsilon` if it is smaller"
            )


def _checked(declared: Any, epsilon: Any) -> Any:
    """Return what a declared function returns for these epsilons, 0 or larger, if it can be true.

    It is called with increasing epsilons, in one dimension.
    """
    epsilons, places = np.unique(np.minimum(epsilon, _MOST), return_inverse=True)
    deltas = np.asarray(declared(epsilons))
    if deltas.dtype.kind not in "fiu":
        raise ValueError(
            f"a declared profile must return an array of numbers; found {deltas.dtype.name}"
        )
    deltas = deltas.astype(float)
    if deltas.shape != epsilons.shape:
        raise ValueError(
            f"a declared profile must return an array of {len(epsilons)} deltas for as many "
            f"epsilons; found the shape {deltas.shape}"
        )
    possible = (deltas >= -_ROUNDING) & (deltas <= 1 + _ROUNDING)
    if not possible.all():
        at = int(np.argmin(possible))
        raise ValueError(
            "a declared profile must return deltas from 0 to 1; found "
            f"{deltas[at]:.6g} for epsilon={epsilons[at]:.6g}"
        )
    grows = deltas[1:] > deltas[:-1] * (1 + 1e-6) + _ROUNDING
    if grows.any():
        at = int(np.argmax(grows))
        raise ValueError(
            "a declared profile must not grow with epsilon; found "
            f"delta={deltas[at]:.6g} for epsilon={epsilons[at]:.6g}, and "
            f"{deltas[at + 1]:.6g} for {epsilons[at + 1]:.6g}"
        )
    falling = np.maximum.accumulate(deltas[::-1])[::-1]
    return np.clip(falling, 0.0, 1.0)[places].reshape(np.shape(epsilon))


def _below_zero(epsilon: Any, delta: Any) -> Any:
    """Return the delta at -epsilon of a profile that has this delta at epsilon.

    ``sup P - e^-e Q = 1 - e^-e + e^-e (sup Q - e^e P)``, and P, Q may change places.
    """
    return -np.expm1(-epsilon) + np.exp(-epsilon) * delta


def _of_two_steps(profile: Profile, epsilon: Any) -> Any:
    """Return the delta of two steps, each with this profile: ``h(e) + exp(e) h(epsilon - e)``."""
    total = np.minimum(epsilon, _MOST)[..., None]
    second = total / 2 + (total / 2 + total.max() / 4) * _SHARES
    first = total - second
    size = np.abs(first)
    table = np.linspace(0, second.max(), _POINTS)
    deltas = profile(table)  # convex in exp(epsilon): nowhere above straight lines
    of_first, of_second = (np.interp(np.exp(e), np.exp(table), deltas) for e in (size, second))
    of_first = np.where(first < 0, _below_zero(size, of_first), of_first)
    return np.minimum((of_first + np.exp(first) * of_second).min(axis=-1) * _UP, 1.0)


def _delta_on_grid(n: int, epsilon: float, reach: int, deltas: Any) -> float:
    """Return the delta of n fits, whose deltas are known on a grid up to ``reach * epsilon``.

    ``G_0(x) = max(0, 1 - e^x)``, and ``G_(k+1)(x) = infinite + sum over i of P(i) G_k(x - i)``.
    """
    step = reach * epsilon / _STEPS
    above = step * np.arange(_STEPS + 1)
    both = np.concatenate([_below_zero(above, deltas)[:0:-1], deltas])
    masses = _masses(step * np.arange(-_STEPS, _STEPS + 1), both)
    at = _STEPS // reach + np.arange(-n * _STEPS, n * _STEPS + 1)
    bound = np.maximum(0.0, -np.expm1(step * at))
    for _ in range(n):
        bound = deltas[-1] + np.convolve(bound, masses, "valid")
    return float(bound[0]) * _UP


def _masses(losses: Any, deltas: Any) -> Any:
    """Return the probabilities of finite losses of a pair whose deltas are nowhere below the true.

    The true delta is a convex function of exp(epsilon), 1 at 0: so it is nowhere above the lower
    convex hull of points that it is not above. There, each loss bends the line.
    """
    points = [(-1, 0.0, 1.0)]
    for i, (alpha, delta) in enumerate(zip(np.exp(losses), deltas, strict=True)):
        point = (i, float(alpha), float(delta))
        while len(points) > 1 and _slope(*points[-2:]) >= _slope(points[-1], point):
            points.pop()
        points.append(point)
    slopes = [_slope(*pair) for pair in pairwise(points)]
    masses = np.zeros(len(deltas))
    for (i, alpha, _), (left, right) in zip(points[1:], pairwise([*slopes, 0.0]), strict=True):
        masses[i] = alpha * (right - left)
    return masses


def _slope(one: tuple[int, float, float], other: tuple[int, float, float]) -> float:
    return (other[2] - one[2]) / (other[1] - one[1])
