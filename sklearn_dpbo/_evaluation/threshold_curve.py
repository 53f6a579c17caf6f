"""The score of each decision threshold on the validation set (zone: sensitive).

Also the public thresholds to choose from, which follow from the training set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.pickles import packed
from .._data.split import Training
from .._data.tables import dense, n_rows, take_rows
from .._data.units import Units
from .._privacy.frames import ClearFrames
from .._privacy.piecewise import PiecewiseConstant
from .._privacy.sensitive import Secret
from ..scoring._mean_gain import MeanGain
from ..scoring._response import respond
from ..scoring._statistics import Statistics
from .model import Model
from .protected_values import ProtectedTable
from .suppress_output import kept_warning_registries, suppress_output

__all__ = ["LabelGains", "public_thresholds", "second_class_score", "threshold_curve"]

# Training records that say where thresholds may lie.
_MOST_RECORDS = 2**12
# How much a threshold's score on them counts: the whole range of scores is a factor of e^200.
_TRUST = 200.0


def public_thresholds(
    estimator: Any, label_gains: LabelGains, training: Training, n: int
) -> NDArray[np.float64]:
    """Return n thresholds, ascending, some of them several times: where they lie is a prior.

    A quarter are spread evenly over the range of responses, a quarter are quantiles of the
    responses to training records, and half are drawn from these two quarters with weights
    ``exp(200 u)``, where u in [0, 1] is the score of a threshold on the training records.
    """
    index = np.unique(np.linspace(0, n_rows(training.X) - 1, _MOST_RECORDS).astype(int))
    response = respond(estimator, take_rows(training.X, index), label_gains.response_method)
    values = label_gains.record_values(
        dense(take_rows(training.y, index)), response, estimator.classes_
    )
    spread = _spread(values[:, 0], response.ndim == 2, n - n // 2, type(estimator).__name__)
    units = Units.of(len(index))
    u = _total(values, label_gains.scorer, units, spread)(np.arange(len(spread)))
    u = u / label_gains.scorer.largest(units)
    cumulated = np.cumsum(np.exp(_TRUST * (u - u.max())))
    shares = (np.arange(n // 2) + 0.5) / (n // 2)
    promising = spread[np.searchsorted(cumulated, shares * cumulated[-1])]
    return np.sort(np.concatenate([spread, promising]))


def _spread(
    scores: NDArray[np.float64], probabilities: bool, n: int, who: str
) -> NDArray[np.float64]:
    """Return n thresholds, ascending: half evenly spread, half quantiles of these responses."""
    scores = np.sort(scores[np.isfinite(scores)])
    if not len(scores):
        raise ValueError(
            f"{who} gives no finite number for any training record: there is nothing to set a "
            "threshold in"
        )
    low, high = (0.0, 1.0) if probabilities else (scores[0], scores[-1])
    if low == high:  # of an estimator that responds the same to everything
        low, high = low - 1, high + 1
    # The same as np.quantile, which is slow for many quantiles.
    places = (np.arange(n // 2) + 0.5) / max(1, n // 2) * (len(scores) - 1)
    quantiles = np.interp(places, np.arange(len(scores)), scores)
    return np.sort(np.concatenate([np.linspace(low, high, n - n // 2), quantiles]))


@dataclass(frozen=True)
class LabelGains(Statistics):
    """Per record: the response, and the gain of either label, in steps; shape (n, 3).

    Parameters
    ----------
    scorer : MeanGain
        Of labels.
    response_method : tuple of str
        Methods of the estimator, to whose response thresholds are applied.
    """

    scorer: MeanGain
    response_method: tuple[str, ...]

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        """Return columns (response of the second class, gain of the first, of the second)."""
        gains = [self.scorer.record_values(y, np.full(len(y), label), classes) for label in classes]
        return np.stack([second_class_score(response), *gains], axis=1)

    def lowest_values(self, y: Any, n: int) -> NDArray[Any]:
        """A record that cannot be predicted gains the least, whatever the threshold."""
        return np.zeros((n, 3))


def second_class_score(response: NDArray[Any]) -> NDArray[np.float64]:
    """Return one number per record, larger where the second class is more likely."""
    response = response.astype(float)
    if response.ndim == 2 and response.shape[1] == 2:
        second: NDArray[np.float64] = response[:, 1]
        return second
    if response.ndim == 1:
        return response
    raise ValueError(f"expected the responses of two classes; found shape {response.shape}")


@ClearFrames()
def threshold_curve(
    model: Model, label_gains: LabelGains, table: ProtectedTable, grid: NDArray[np.float64]
) -> Secret:
    """Return the score of each threshold, in steps, as a function of its position in the grid."""
    with kept_warning_registries(), suppress_output(descriptors=True):
        values = table.values(model.pickled, packed(label_gains), model.references[0])
        return Secret(_total(values, label_gains.scorer, table.units, grid))


def _total(
    values: NDArray[Any], scorer: MeanGain, units: Units, grid: NDArray[np.float64]
) -> PiecewiseConstant:
    """Return the sum over units, as a function of the position in the grid."""
    score, (first, second) = values[:, 0], values[:, 1:].T.astype(np.int64)
    # The second class is predicted at thresholds 0, ..., place - 1; never for NaN.
    place = np.where(np.isnan(score), 0, np.searchsorted(grid, score, side="right"))
    start, place, jumps = _jumps(
        place, scorer.fine(first, units), scorer.fine(second, units), units
    )
    return PiecewiseConstant.from_jumps((0.0, len(grid) - 1.0), start, place, jumps)


def _jumps(
    place: NDArray[np.intp], first: NDArray[np.int64], second: NDArray[np.int64], units: Units
) -> tuple[int, NDArray[np.intp], NDArray[np.int64]]:
    """Return the sum over units at the lowest threshold, and where and how far it jumps."""
    if units.order is None or units.ends is None:
        return int(second.sum()), place, first - second
    sizes = np.diff(units.ends)
    unit = np.repeat(np.arange(units.m), sizes)
    order = units.order[np.lexsort((place[units.order], unit))]
    # Each unit's sum at the lowest threshold, and after each of its records has changed sides.
    start = np.add.reduceat(second[units.order], units.ends[:-1])
    change = np.cumsum((first - second)[order])
    before = np.concatenate([[0], change])[units.ends[:-1]]
    after = start[unit] + change - before[unit]
    mean = _rounded(after, sizes[unit])
    previous = np.concatenate([[0], mean[:-1]])
    previous[units.ends[:-1]] = _rounded(start, sizes)
    return int(_rounded(start, sizes).sum()), place[order], mean - previous


def _rounded(totals: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Divide integers, rounded as `Units.mean` does."""
    means: NDArray[np.int64] = (2 * totals + sizes) // (2 * sizes)
    return means
