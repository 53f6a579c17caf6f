"""Scores of regressors that are not means of gains (zone: sensitive).

*R2 and explained variance* divide by the variance of the labels, which is the same for all
candidates. So the choice uses the squared error, clipped at a value that is large for a good
candidate. Sums of errors, labels and their squares are released and divided.

*The median absolute error* of a candidate is below t if half of its errors are. The choice uses the
number of errors below a public t, the median of a good candidate's errors on public records. A
histogram of errors is released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import explained_variance_score, median_absolute_error, r2_score

from .._data.tables import dense
from .._data.units import Units
from .._params import check_number
from .._privacy.noisy_counts import NoisyCounts
from ._confusion_metrics import ratio
from ._error_sums import ErrorSums
from ._intervals import draws, nearest_counts, simulated_interval
from ._losses import SquaredLogLoss, SquaredLoss, WithinError
from ._mean_gain import MeanGain
from ._names import refuse_others
from ._statistics import CellCounts, Predictions, numbers, total_weight

__all__ = [
    "REGRESSION",
    "ErrorHistogram",
    "MedianError",
    "RootMeanError",
    "VarianceExplained",
    "regression_scorer",
]

# Steps in which squares of errors are summed, each at most 1.
_GRID = 2**20
# Steps for e^2, t^2, |e| (not needed), t and e. All sums get the same noise: so the shares of
# epsilon are about .49, .37, .08 and .06, near the best for models of all kinds.
_STEPS = (_GRID, 3 * _GRID // 4, 0, 2 * _GRID // 25, 3 * _GRID // 50)
# Bins of absolute errors, for up to so many units times epsilon and for more; and by which factor
# they reach below and beyond the public median.
_FEW_BINS, _ENOUGH, _MANY_BINS = 20, 400, 50
_REACH = 8.0
# Share of the training labels whose distance from their mean counts fully.
_COUNTED = 0.99
# For guidance: the largest squared error, in variances of the labels.
_ASSUMED = 9.0
# Share of a public candidate's errors that count fully when candidates are compared.
_TOLD_APART = 0.95
# The smallest error that counts fully then, as a share of the largest that counts for the score.
_SMALLEST = 2.0**-10


@dataclass(frozen=True, eq=False)
class ErrorHistogram(CellCounts):
    """Numbers of absolute errors in public bins; the last bin has no upper edge.

    Parameters
    ----------
    edges : ndarray of shape (n_bins,)
        Lower edges, ascending from 0.
    """

    edges: NDArray[np.float64]
    response_method = ("predict",)

    @classmethod
    def around(cls, median: float, n: int) -> ErrorHistogram:
        """Place n bins, each wider than the one before by the same factor, around this median."""
        median = median if median / _REACH > 0 else 1.0
        steps = np.geomspace(median / _REACH, median * _REACH, n - 1)
        return cls(np.concatenate([[0.0], steps]))

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        with np.errstate(all="ignore"):
            error = np.abs(numbers(y) - response)
        place = np.searchsorted(self.edges, error, side="right") - 1
        found: NDArray[np.intp] = np.where(np.isnan(error), len(self.edges) - 1, place)
        return found

    def lowest_values(self, y: Any, n: int) -> NDArray[np.intp]:
        return np.full(n, len(self.edges) - 1)

    @property
    def n_cells(self) -> int:
        return len(self.edges)


@dataclass(frozen=True, eq=False, repr=False)
class RootMeanError(MeanGain):
    """Minus the square root of a mean loss; `bounds` are those of the root.

    Parameters
    ----------
    selecting_error : float or None, default=None
        Bound on roots of losses when candidates are compared, if bounds are learned; None is that
        of the score. Set by `selecting_at` and reset by `releasing_at`.
    """

    selecting_error: float | None = None
    is_mean = False

    @property
    def selects_at(self) -> bool:
        return self.learns_bounds

    def prepare(self, y_train: Any) -> MeanGain:
        """Of several outputs, scikit-learn's score is a mean of roots."""
        self._check_one_output(y_train)
        return super().prepare(y_train)

    def selecting_at(self, public: Predictions, linear: bool = False) -> RootMeanError:
        return replace(self, selecting_error=_large_error(self, public, -self.bounds[0]))

    def releasing_at(
        self, public: Predictions, m: int, epsilon: float, shared: bool = False
    ) -> MeanGain:
        released = replace(self, selecting_error=None)
        return super(RootMeanError, released).releasing_at(public, m, epsilon, shared)

    @property
    def gain_bounds(self) -> tuple[float, float]:
        a, b = self.bounds
        return (-((self.selecting_error or a) ** 2), -(b**2))

    def line(self, units: Units) -> tuple[float, float]:
        a = -math.sqrt(-self.gain_bounds[0])
        return a, (self.bounds[1] - a) / self.largest(units)

    def _learn_bounds(self, y_train: Any) -> tuple[float, float]:
        a, b = super()._learn_bounds(y_train)
        return -math.sqrt(-a), -math.sqrt(-b)

    def _score(self, mean: float) -> float:
        return -math.sqrt(-mean)

    def exact(
        self, y: Any, response: NDArray[Any], classes: Any, sample_weight: Any = None
    ) -> float:
        return self._score(super().exact(y, response, classes, sample_weight))


@dataclass(frozen=True, eq=False, repr=False)
class VarianceExplained(MeanGain):
    """R2, or the explained variance: 1 - (squared errors) / (squared deviations of the labels).

    Errors, and the labels' distances from their mean, are clipped at the same public bound c.

    Parameters
    ----------
    centre : float, default=0.0
        Mean of the training labels, set by `prepare`.
    largest_error : float or None, default=None
        c; None is the 99 % quantile of the training labels' distances from their mean.
    selecting_error : float or None, default=None
        Bound on errors when candidates are compared; None is c. Set by `selecting_at`.
    """

    centre: float = 0.0
    largest_error: float | None = None
    selecting_error: float | None = None
    is_mean = False

    @property
    def selects_at(self) -> bool:
        return True

    def prepare(self, y_train: Any) -> VarianceExplained:
        self._check_one_output(y_train)
        y = np.asarray(dense(y_train), dtype=float)
        centre, c = float(np.mean(y)), self.largest_error
        if c is None:
            c = float(np.quantile(np.abs(y - centre), _COUNTED, method="higher")) or 1.0
        return replace(self, centre=centre, largest_error=c, prepared=True)

    def selecting_at(self, public: Predictions, linear: bool = False) -> VarianceExplained:
        """Most errors of a good candidate are far smaller than c, and so is the noise then."""
        return replace(self, selecting_error=_large_error(self, public, self._c))

    @property
    def _c(self) -> float:
        return cast(float, self.largest_error)

    @property
    def gain_bounds(self) -> tuple[float, float]:
        return (-((self.selecting_error or self._c) ** 2), 0.0)

    @property
    def counts(self) -> ErrorSums:
        return ErrorSums(self.centre, self._c, self._c, _STEPS)

    def line(self, units: Units) -> tuple[float, float]:
        """As if the labels' variance were a ninth of c squared."""
        range_ = _ASSUMED * self.gain_bounds[0] / -(self._c**2)
        return 1 - range_, range_ / self.largest(units)

    def value(self, counts: Sequence[int], units: Units) -> float:
        ee, tt, t, e = self.counts.means(counts, units.m)
        total = tt - t**2
        share = max(ee - self._centred * e**2, 0.0) / total if total > 0 else 1.0
        return min(1 - float(share) + self.shift, 1.0)

    @property
    def _centred(self) -> bool:
        return self.name == "explained_variance"

    def interval(self, noisy: NoisyCounts, units: Units, confidence: float) -> tuple[float, float]:
        """The square of a noisy number is too large on average: one end takes a smaller one."""
        _, _, t0, e0 = self.counts.means(noisy.counts, units.m)

        def ends(counts: NDArray[np.float64]) -> tuple[Any, Any]:
            ee, tt, t, e = self.counts.means(counts, units.m)
            small_t, small_e = (
                np.maximum(abs(at) - abs(x - at), 0) ** 2 for at, x in ((t0, t), (e0, e))
            )
            low = ratio(ee - self._centred * small_e, tt - t**2, "high", 0.0, math.inf)
            high = ratio(ee - self._centred * e**2, tt - small_t, "low", 0.0, math.inf)
            return 1 - low, 1 - high

        low, high = simulated_interval(ends, noisy, confidence, (-math.inf, 1.0))
        low, high = low + self.shift - self.allowance, high + self.shift + self.allowance
        return low, min(high, 1.0)

    def exact(
        self, y: Any, response: NDArray[Any], classes: Any, sample_weight: Any = None
    ) -> float:
        compute = explained_variance_score if self._centred else r2_score
        return float(compute(y, response, sample_weight=sample_weight))


@dataclass(frozen=True, eq=False, repr=False)
class MedianError(MeanGain):
    """Minus the median of the absolute errors; its gain says which errors are small.

    Parameters
    ----------
    histogram : ErrorHistogram or None
        Set by `releasing_at`.
    """

    histogram: ErrorHistogram | None = None
    is_mean = False

    @property
    def selects_at(self) -> bool:
        return True

    @property
    def releases_at(self) -> bool:
        return True

    def prepare(self, y_train: Any) -> MedianError:
        """Until `selecting_at` knows better, errors are small that a constant makes."""
        self._check_one_output(y_train)
        y = np.asarray(dense(y_train), dtype=float)
        spread = float(np.median(np.abs(y - np.median(y))))
        return replace(self, gain=WithinError(spread), prepared=True)

    @property
    def gain_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def selecting_at(self, public: Predictions, linear: bool = False) -> MedianError:
        return replace(self, gain=WithinError(_median_error(public)))

    def releasing_at(
        self, public: Predictions, m: int, epsilon: float, shared: bool = False
    ) -> MedianError:
        n = _FEW_BINS if m * epsilon <= _ENOUGH else _MANY_BINS
        return replace(self, histogram=ErrorHistogram.around(_median_error(public), n))

    @property
    def counts(self) -> ErrorHistogram:
        return cast(ErrorHistogram, self.histogram)

    def line(self, units: Units) -> tuple[float, float]:
        """The share of small errors, in units of what is small."""
        largest: Any = self.gain
        return -largest.largest, largest.largest / self.largest(units)

    def value(self, counts: Sequence[int], units: Units) -> float:
        total, edges = total_weight(units), self.counts.edges
        below = np.concatenate([[0], np.cumsum(nearest_counts(counts, total))])
        place = int(np.clip(np.searchsorted(below, total / 2), 1, len(edges) - 1))
        share = (total / 2 - below[place - 1]) / max(below[place] - below[place - 1], 1e-9)
        width = edges[place] - edges[place - 1]
        return -float(edges[place - 1] + width * min(max(share, 0.0), 1.0))

    def interval(self, noisy: NoisyCounts, units: Units, confidence: float) -> tuple[float, float]:
        """All bins of which the noise does not rule out that the median lies there."""
        total, edges = total_weight(units), np.append(self.counts.edges, math.inf)
        below = np.cumsum(draws(noisy, total), axis=1)
        low, high = np.quantile(below, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
        low[-1] = high[-1] = total
        possible = (high >= total / 2) & (np.append(-math.inf, low[:-1]) < total / 2)
        first, last = np.flatnonzero(possible)[[0, -1]] if possible.any() else (0, len(low) - 1)
        return -float(edges[last + 1]), -float(edges[first])

    def exact(
        self, y: Any, response: NDArray[Any], classes: Any, sample_weight: Any = None
    ) -> float:
        return -float(median_absolute_error(y, response, sample_weight=sample_weight))


def _median_error(public: Predictions) -> float:
    error = np.abs(np.asarray(public.y, dtype=float) - public.response)
    return float(np.median(error[np.isfinite(error)])) if np.isfinite(error).any() else 0.0


def _large_error(scorer: MeanGain, public: Predictions, most: float) -> float | None:
    """Return what root of a loss is large for a public candidate; None if it has no errors."""
    losses = -scorer.unclipped(public.y, public.response, public.classes)
    losses = losses[np.isfinite(losses)]
    large = math.sqrt(np.quantile(losses, _TOLD_APART)) if len(losses) else 0.0
    # Not so small that rounding errors of predictions would count.
    return min(max(large, most * _SMALLEST), most) if large > 0 else None


REGRESSION = (
    "explained_variance",
    "neg_median_absolute_error",
    "neg_root_mean_squared_error",
    "neg_root_mean_squared_log_error",
    "r2",
)


def regression_scorer(name: str, bounds: Any, params: dict[str, Any]) -> MeanGain:
    """Return the scorer of this name, of `REGRESSION`.

    Parameters
    ----------
    name : str
        Of the score.
    bounds : tuple of float or None
        Of roots of means; others have none.
    params : dict
        Parameters of the score.

    Raises
    ------
    ValueError
        If a parameter is not one of this score.
    """
    if name.startswith("neg_root"):
        gain = SquaredLogLoss() if "log" in name else SquaredLoss()
        refuse_others(name, params)
        return RootMeanError(
            name, gain, bounds or (-math.inf, 0.0), ("predict",), params, bounds is None
        )
    if bounds is not None:
        raise ValueError(f"{name!r} takes no bounds; leave them out")
    if name == "neg_median_absolute_error":
        refuse_others(name, params)
        return MedianError(name, WithinError(1.0), (-math.inf, 0.0), ("predict",), params)
    c = params.get("largest_error")
    refuse_others(name, params, "largest_error")
    check_number("largest_error", c, "a positive number", lambda v: v > 0, optional=True)
    return VarianceExplained(
        name,
        SquaredLoss(),
        (-math.inf, 1.0),
        ("predict",),
        params,
        learns_bounds=True,
        largest_error=c,
    )
