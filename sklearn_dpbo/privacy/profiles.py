"""Privacy profiles that estimators declare: checks, composition, and settings (zone: public).

A profile returns the delta of one fit for each epsilon from 0 up, for both orders of two
neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

Profile: TypeAlias = Callable[[Any], Any]
# Factor of computed deltas, so that rounding in floats cannot make them too small.
_UP = 1 + 1e-9
# Tolerated rounding error of a declared function. Accountants' Fourier transforms have errors of
# about 1e-15.
_ROUNDING = 1e-12
# Losses of a fit are rounded to this many steps on each side of 0, up to each of these multiples of
# epsilon. Every multiple gives a valid bound.
_STEPS = 1024
_REACHES = (1, 2, 4)
# A larger epsilon counts as this one.
_MOST = 100.0
# A smaller epsilon is divided equally among fits, whose deltas are added up.
_LEAST = 1e-3
# Shares of epsilon for the first of two steps: each gives a valid bound.
_SHARES = np.linspace(0, 1, 301)
# Size of the table in which the profile of a step is looked up.
_POINTS = 2049
# Settings are found up to this relative error, between 1 / _RANGE and _RANGE.
_TOLERANCE = 1e-4
_RANGE = 2.0**20


def profile_of_all(declared: Sequence[Any], factor: int) -> Profile:
    """Return the pointwise maximum of declared profiles, for neighbours with one unit replaced.

    `factor` is 2 if the profiles are for one unit added or removed. Every call checks what the
    functions return, and raises ValueError if it cannot be a profile.
    """
    profiles = [partial(_checked, function) for function in declared]
    if factor == 2:
        profiles = [partial(_of_two_steps, profile) for profile in profiles]
    return lambda epsilon: np.max([profile(epsilon) for profile in profiles], axis=0)


def epsilon_of_profile(profile: Profile, delta: float) -> float:
    """Find the least epsilon (rounded up) for which a profile is at most delta, or infinity."""
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
    """Bound delta: n adaptive fits with this profile are (epsilon, delta)-DP together.

    The proof is in the documentation, "The guarantee for one table".
    """
    if n == 1:
        return float(profile(epsilon))
    if epsilon < _LEAST:  # a grid would lose precision
        return min(1.0, n * float(profile(epsilon / n)) * _UP)
    epsilon = min(epsilon, _MOST)
    deltas = profile(np.outer(_REACHES, np.linspace(0, epsilon, _STEPS + 1)))
    deltas = np.minimum.accumulate(deltas, axis=1)  # a bound for epsilon is one for larger epsilons
    bounds = map(partial(_delta_on_grid, n, epsilon), _REACHES, deltas)
    return min(1.0, *bounds)


def setting_within(
    delta_of: Callable[[float], float], delta: float, name: str, *, is_noise: bool
) -> float:
    """Find the setting with the least noise for which ``delta_of(setting)`` is at most delta.

    Delta falls with the setting if it `is_noise`, and rises otherwise.
    """
    deltas: dict[float, float] = {}  # by loss, which is the setting or, if it is noise, 1 / setting

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
    """Raise ValueError unless delta rises with the loss; `deltas` are by setting, in this order."""
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
    """Call a declared function for these epsilons; raise ValueError if it cannot be a profile.

    The function gets increasing epsilons from 0 up, in one dimension.
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
        i = int(np.argmin(possible))
        raise ValueError(
            "a declared profile must return deltas from 0 to 1; found "
            f"{deltas[i]:.6g} for epsilon={epsilons[i]:.6g}"
        )
    grows = deltas[1:] > deltas[:-1] * (1 + 1e-6) + _ROUNDING
    if grows.any():
        i = int(np.argmax(grows))
        raise ValueError(
            "a declared profile must not grow with epsilon; found "
            f"delta={deltas[i]:.6g} for epsilon={epsilons[i]:.6g}, and "
            f"{deltas[i + 1]:.6g} for {epsilons[i + 1]:.6g}"
        )
    falling = np.maximum.accumulate(deltas[::-1])[::-1]
    return np.clip(falling, 0.0, 1.0)[places].reshape(np.shape(epsilon))


def _below_zero(epsilon: Any, delta: Any) -> Any:
    """Return the delta at -epsilon of a profile that has this delta at epsilon.

    ``sup P - e^-e Q = 1 - e^-e + e^-e (sup Q - e^e P)``, and the profile is the same for (P, Q) and
    (Q, P).
    """
    return -np.expm1(-epsilon) + np.exp(-epsilon) * delta


def _of_two_steps(profile: Profile, epsilon: Any) -> Any:
    """Bound the delta of two steps, each with the profile h: ``h(e) + exp(e) h(epsilon - e)``."""
    total = np.minimum(epsilon, _MOST)[..., None]
    second = total / 2 + (total / 2 + total.max() / 4) * _SHARES
    first = total - second
    size = np.abs(first)
    table = np.linspace(0, second.max(), _POINTS)
    deltas = profile(table)  # convex in exp(epsilon), so interpolation bounds it from above
    of_first, of_second = (np.interp(np.exp(e), np.exp(table), deltas) for e in (size, second))
    of_first = np.where(first < 0, _below_zero(size, of_first), of_first)
    return np.minimum((of_first + np.exp(first) * of_second).min(axis=-1) * _UP, 1.0)


def _delta_on_grid(n: int, epsilon: float, reach: int, deltas: Any) -> float:
    """Bound the delta of n fits, from deltas of one fit on a grid up to ``reach * epsilon``.

    ``G_0(x) = max(0, 1 - e^x)``, and ``G_(k+1)(x) = infinite + sum over i of P(i) G_k(x - i)``,
    where P(i) is the probability of a loss i, and `infinite` that of an infinite loss.
    """
    step = reach * epsilon / _STEPS
    above = step * np.arange(_STEPS + 1)
    both = np.concatenate([_below_zero(above, deltas)[:0:-1], deltas])
    masses = _masses(step * np.arange(-_STEPS, _STEPS + 1), both)
    steps = _STEPS // reach + np.arange(-n * _STEPS, n * _STEPS + 1)
    bound = np.maximum(0.0, -np.expm1(step * steps))
    for _ in range(n):
        bound = deltas[-1] + np.convolve(bound, masses, "valid")
    return float(bound[0]) * _UP


def _masses(losses: Any, deltas: Any) -> Any:
    """Compute probabilities of finite losses for a pair with at least these deltas.

    The true delta is a convex function of exp(epsilon), and 1 at 0. So if it is at most `deltas` on
    the grid, it is at most their lower convex hull everywhere. The hull is the profile of a pair
    with these losses: a loss has a positive probability where the hull bends.
    """
    points = [(-1, 0.0, 1.0)]
    for i, (alpha, delta) in enumerate(zip(np.exp(losses), deltas, strict=True)):
        point = (i, float(alpha), float(delta))
        while len(points) > 1 and _slope(*points[-2:]) >= _slope(points[-1], point):
            points.pop()
        points.append(point)
    slopes = [_slope(*pair) for pair in pairwise(points)]
    masses = np.zeros(len(deltas))
    for (i, alpha, _), (before, after) in zip(points[1:], pairwise([*slopes, 0.0]), strict=True):
        masses[i] = alpha * (after - before)
    return masses


def _slope(start: tuple[int, float, float], end: tuple[int, float, float]) -> float:
    """Return the slope of the line between two points (i, alpha, delta)."""
    return (end[2] - start[2]) / (end[1] - start[1])
