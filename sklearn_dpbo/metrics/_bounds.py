"""Bounds at which losses are clipped, to balance bias and noise (zone: public).

A mean of m losses, each clipped at c, is released with Laplace noise of mean size
``c / (epsilon m)``, and clipping lowers it by E max(L - c, 0). The derivative of the sum by c is
``1 / (epsilon m) - P(L > c)``. So c is the quantile that a share ``1 / (epsilon m)`` of losses
exceeds. It grows with epsilon m, up to a bound that keeps losses at enough steps of their grid;
with such a bound, the released number is about scikit-learn's.

`reach` is epsilon m. Losses are those of predictions for public records that the model was not
fitted on, in an array of shape (n,), or (n_candidates, n) for the same records.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records.tables import dense

Floats = NDArray[np.float64]
# Number of the largest losses by which a Pareto tail is fitted (Weissman, 1978), and the limits of
# its index.
_TOP = 10
_LEAST_INDEX = 0.1
_MOST_INDEX = 0.75
# Share of the losses of a constant prediction that the first bound does not clip.
_COUNTED = 0.99
# Public scores clip losses at this times the largest loss of a constant prediction.
MOST_IN_PUBLIC = 1000.0
# Probability that a model is no better than a constant for protected records.
_USELESS = 0.03
# Least bound, in mean losses: where most losses are 0, so are most quantiles.
_TIMES_MEAN = 3.0
# Largest bound, in mean losses. Losses are rounded to a 2^20th of it, so that their mean is right
# to a thousandth.
_MOST_TIMES_MEAN = 2.0**11
# Number of bounds tried for a choice, and of simulations of its noise.
_N_TRIED = 24
_N_DRAWS = 400
# Share of losses above the smallest bound tried: at most this, and at most this over `reach`.
_MOST_BEYOND = 0.05
_TIMES_BEYOND = 30.0
# Share of labels, and of errors, that R2 clips: at most this, and at most this over `reach`.
_MOST_CLIPPED = 0.2
_TIMES_CLIPPED = 100.0
# Costs that differ by less than this share are equal.
_EQUAL = 1e-3


def of_constant(gain: Any, constant: str, y_train: Any) -> Floats:
    """Return the losses of a constant prediction for the training records, shape (n,).

    `constant` names the prediction: the "mean", "median" or "shares" of the labels.
    """
    y = np.asarray(dense(y_train))
    if constant == "shares":
        classes, counts = np.unique(y, return_counts=True)
        return -np.asarray(gain(y, np.tile(counts / counts.sum(), (len(y), 1)), classes))
    y = y.astype(float)
    centre = np.mean(y, axis=0) if constant == "mean" else np.median(y, axis=0)
    return -np.asarray(gain(y, np.broadcast_to(centre, y.shape), None))


def of_labels(constant: Floats) -> float:
    """Choose the bound from the losses of a constant prediction alone."""
    worst = float(np.quantile(constant, _COUNTED, method="higher"))
    # Where nearly all labels are the same, so is this loss: 0.
    return worst or float(constant.max()) or 1.0


def quantile(losses: Floats, share: float) -> float:
    """Estimate the number that this share of losses exceeds, with a Pareto tail if it is small."""
    ordered = np.sort(losses)[::-1]
    k = min(_TOP, len(ordered) - 1)
    if k < 1 or share * len(ordered) >= k:
        return float(ordered[min(int(share * len(ordered)), len(ordered) - 1)])
    top = ordered[:k]
    least = ordered[k]
    if least <= 0:  # nearly all losses are 0
        top = top[top > 0]
        if not len(top):
            return 0.0
        k = len(top)
        least = top[-1]
    index = np.clip(np.mean(np.log(top) - np.log(least)), _LEAST_INDEX, _MOST_INDEX)
    return float(least * max(k / (len(ordered) * share), 1.0) ** index)


def of_score(losses: Floats, constant: Floats, reach: float) -> float:
    """Choose the bound for the mean loss of a candidate.

    `constant` are the losses of a constant prediction for the training records. The candidate may
    be no better than that on the protected records.
    """
    share = 1 / max(reach, 2.0)
    mean = float(np.mean(losses))
    c = max(quantile(losses, share), quantile(constant, min(share / _USELESS, 0.5)))
    if np.count_nonzero(losses > mean) < _TOP:  # the tail of so few does not begin at the tenth
        c = max(c, float(np.quantile(losses, 1 - share, method="inverted_cdf")))
    if mean > 0:
        c = min(max(c, _TIMES_MEAN * mean), _MOST_TIMES_MEAN * mean)
    return c or float(np.max(constant)) or 1.0


def highest_of_choice(losses: Floats, constant: Floats, reach: float) -> float:
    """Return the largest bound that a choice may need to tell bad candidates from good ones."""
    highest = max(of_score(by_record, constant, reach) for by_record in losses)
    means = losses.mean(axis=1)
    return min(highest, _MOST_TIMES_MEAN * float(np.min(means, where=means > 0, initial=math.inf)))


def of_choice(losses: Floats, highest: float, reach: float) -> float:
    """Choose the bound, up to `highest`, with which a choice among the candidates costs least."""
    means = losses.mean(axis=1)
    share = min(_MOST_BEYOND, _TIMES_BEYOND / reach)
    lowest = max(quantile(losses[np.argmin(means)], share), highest / 1000)
    if lowest >= highest or len(means) == 1:
        return highest
    noise = np.random.default_rng(0).exponential(size=(_N_DRAWS, len(means))) / reach
    tried = np.geomspace(lowest, highest, _N_TRIED)
    costs = []
    for c in tried:
        clipped = np.minimum(losses, c).mean(axis=1)
        chosen = np.argmax(2 * c * noise - clipped, axis=1)
        costs.append(max(0.0, float(means[chosen].mean() - means.min())))
    enough = min(costs) * (1 + _EQUAL) + _EQUAL * float(np.ptp(means)) / _N_TRIED
    return float(tried[np.array(costs) <= enough].max())


def of_distances(distances: Floats, reach: float) -> float:
    """Choose the least bound of labels' distances from their mean, for R2."""
    usual = float(np.quantile(np.abs(distances), _COUNTED, method="higher"))
    squares = distances**2
    share = min(_MOST_CLIPPED, _TIMES_CLIPPED / reach)
    rare = min(quantile(squares, share), _MOST_TIMES_MEAN * float(np.mean(squares)))
    return max(usual, math.sqrt(rare)) or 1.0


def of_ratio(
    errors: Floats, distances: Floats, sensitivity: float, steps: tuple[float, float], reach: float
) -> float:
    """Choose the bound c of errors, and of labels' distances from their mean, for R2.

    Among the bounds that clip few records, it has the least bias plus noise on these records. R2 is
    ``1 - mean(min(e / c, 1)^2) / (var(y) / c^2)``. The sums in numerator and denominator have noise
    of the scale ``sensitivity / reach`` records, divided by their `steps`.
    """
    both = np.maximum(errors**2, distances**2)
    highest = quantile(both, 1 / max(reach, 2.0))
    highest = math.sqrt(min(highest, _MOST_TIMES_MEAN * float(np.mean(both))))
    lowest = math.sqrt(quantile(both, min(_MOST_CLIPPED, _TIMES_CLIPPED / reach)))
    if not 0 < lowest < highest or np.ptp(distances) == 0:
        return highest or 1.0
    exact = 1 - np.mean(errors**2) / np.var(distances)
    costs = []
    tried = np.geomspace(lowest, highest, _N_TRIED)
    for c in tried:
        variance = np.var(np.clip(distances / c, -1, 1))
        share = np.mean(np.clip(errors / c, -1, 1) ** 2) / variance
        noise = sensitivity / reach / variance * np.hypot(1 / steps[0], share / steps[1])
        costs.append(abs(1 - share - exact) + noise)
    return float(tried[int(np.argmin(costs))])
