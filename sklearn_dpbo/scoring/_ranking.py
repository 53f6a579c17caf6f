"""Scores of how a classifier orders records, with their sensitivity (zone: sensitive).

*Choice.* By the number of pairs of a positive and a negative record in the right order, or by the
Brier score after the best of some public recalibrations: see `_orders`.

*Score.* A histogram of the chosen candidate's predicted scores is released, and the score is
computed from it. The order that bins hide is estimated from public predictions. With many records,
the area under one ROC curve is more precise if it is computed from a number of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from .._data.tables import dense
from .._data.units import Units
from .._privacy.noisy_counts import NoisyCounts
from ._histogram import ScoreHistogram, n_bins
from ._intervals import simulated_interval
from ._labels import encode, position_of
from ._names import refuse_others
from ._orders import (
    FlooredPairs,
    Order,
    PairCounts,
    PairsOfAllClasses,
    RecalibratedBrier,
    positive_scores,
)
from ._public_error import public_error
from ._ranking_metrics import RANKING_METRICS, monotone
from ._scorers import PrivateScorer, scorer_repr
from ._statistics import Predictions, Statistics, total_weight

__all__ = ["RANKING", "Ranking", "ranking_scorer"]

# Share of the negative records that a positive one has to beat before it counts, by metric: what
# matters to the average precision happens among the highest scores.
_FLOORS = {"roc_auc": 0.5, "average_precision": 0.7}
# By name: whether it is for more than two classes.
RANKING: dict[str, bool] = {
    "average_precision": False,
    "roc_auc": False,
    "roc_auc_ovo": True,
    "roc_auc_ovo_weighted": True,
    "roc_auc_ovr": True,
    "roc_auc_ovr_weighted": True,
}
_METHODS = {"pairs": ("decision_function", "predict_proba"), "brier": ("predict_proba",)}
# Number of units times epsilon from which on pairs tell the area better than a histogram.
_ENOUGH_FOR_PAIRS = 1_000
# And from which on the noise of a histogram is less than what smoothing it changes.
_CLEAR = 4_000


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(PrivateScorer):
    """Area under the ROC curve, or average precision.

    Parameters
    ----------
    name : str
        A key of `RANKING`.
    choose_by : {"pairs", "brier"}
        What ranks the candidates; for more than two classes always pairs.
    response_method : tuple of str
        Methods of the estimator; the first that it has is called.
    params : dict
        Of `make_private_scorer`, as given.
    pos_label : object, default=None
        The positive one of two classes; None is the second.
    classes : ndarray of shape (n_classes,) or None
        Set by `prepare`.
    order : Order or None
        What ranks the candidates; set by `prepare`.
    released : Statistics or None
        What is released; set by `releasing_at`.
    smooth : bool
        Whether the histogram is smoothed for an estimate; set by `releasing_at`.
    shift, allowance : float
        How much the score exceeds that of the histogram, and how uncertain that is; set by
        `releasing_at`.
    """

    name: str
    choose_by: str
    response_method: tuple[str, ...]
    params: dict[str, Any]
    pos_label: Any = None
    classes: Any = None
    order: Order | None = None
    released: ScoreHistogram | PairCounts | None = None
    smooth: bool = False
    shift: float = 0.0
    allowance: float = 0.0
    prepared: bool = False
    bounds = (0.0, 1.0)

    @property
    def task(self) -> str:
        return "classification"

    @property
    def releases_at(self) -> bool:
        return self.released is None

    def without_public(self) -> PrivateScorer:
        return self._by_pairs() if self.name == "roc_auc" else super().without_public()

    def prepare(self, y_train: Any) -> Ranking:
        y = dense(y_train)
        if y.ndim > 1:
            raise ValueError(
                f"scoring={self.name!r} takes one label per record; y has shape {y.shape}"
            )
        classes, sizes = np.unique(y, return_counts=True)
        if RANKING[self.name] != (len(classes) > 2) or len(classes) < 2:
            wanted, other = "two classes", "'roc_auc_ovr' or 'balanced_accuracy'"
            if RANKING[self.name]:
                wanted, other = "three classes or more", "'roc_auc'"
            raise ValueError(
                f"scoring={self.name!r} takes {wanted}; y has {len(classes)}. Use {other}"
            )
        prepared = replace(self, classes=classes, prepared=True)
        return replace(prepared, order=prepared._order_by(sizes / sizes.sum()))

    def _order_by(self, prevalences: NDArray[np.float64]) -> Order:
        if RANKING[self.name]:
            return PairsOfAllClasses(self.classes, prevalences)
        positive = self._positive
        prevalence = float(prevalences[positive])
        if self.choose_by == "brier":
            return RecalibratedBrier(self.classes, positive, prevalence)
        return FlooredPairs(self.classes, positive, prevalence, _FLOORS[self.name])

    @property
    def _positive(self) -> int:
        """Position of the positive one of two classes."""
        if self.pos_label is None:
            return 1
        return position_of(self.pos_label, self.classes, self.name)

    # ------------------------------------------------------------ the choice
    @property
    def _order(self) -> Order:
        return cast(Order, self.order)

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        return self._order.record_values(y, response, classes)

    def lowest_values(self, y: Any, n: int) -> NDArray[Any]:
        return self._order.lowest_values(y, n)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        return self._order.statistics(values, y, units)

    def sensitivity(self, units: Units) -> int:
        return self._order.sensitivity(units)

    def largest(self, units: Units) -> int:
        return self._order.largest(units)

    def line(self, units: Units) -> tuple[float, float]:
        return self._order.line(units)

    # ------------------------------------------------------------ the score
    def releasing_at(
        self, public: Predictions, m: int, epsilon: float, shared: bool = False
    ) -> Ranking:
        if self.name == "roc_auc" and not shared and m * epsilon >= _ENOUGH_FOR_PAIRS:
            return self._by_pairs()
        histogram = ScoreHistogram.at(
            public, self.classes, self.response_method, n_bins(m, epsilon), "ovr" in self.name
        )
        return self.releasing_from(histogram, public, m, epsilon)

    def _by_pairs(self) -> Ranking:
        pairs = FlooredPairs(self.classes, self._positive, 0.5, 0.0)
        return replace(self, released=PairCounts(pairs, self.response_method))

    def releasing_from(
        self, histogram: ScoreHistogram, public: Predictions, m: int, epsilon: float
    ) -> Ranking:
        placed = replace(self, released=histogram, smooth=m * epsilon < _CLEAR)
        shift, allowance = public_error(placed, public, m, placed._unsmoothed)
        return replace(placed, shift=shift, allowance=allowance)

    @property
    def positive(self) -> Any:
        """The positive one of two classes; None if there are more."""
        return None if RANKING[self.name] else self.classes[self._positive]

    @property
    def counts(self) -> Statistics:
        return cast(Statistics, self.released)

    @property
    def _histogram(self) -> ScoreHistogram:
        return cast(ScoreHistogram, self.released)

    def value(self, counts: Sequence[int], units: Units) -> float:
        """Smoothed where there is much noise: a higher score means more positive records."""
        total = total_weight(units)
        if isinstance(self.released, PairCounts):
            return float(self.released.area(np.array(counts, dtype=float), units))
        tables = self._tables(self._histogram.nearest(np.array(counts), total))
        if self.smooth and not RANKING[self.name]:
            tables = [monotone(table) for table in tables]
        return min(max(float(RANKING_METRICS[self.name](tables)) + self.shift, 0.0), 1.0)

    def _unsmoothed(self, counts: tuple[int, ...], units: Units) -> float:
        return float(self._of(np.array(counts, dtype=float)))

    def interval(self, noisy: NoisyCounts, units: Units, confidence: float) -> tuple[float, float]:
        released = self.released
        if isinstance(released, PairCounts):
            return simulated_interval(
                lambda counts: (
                    released.area(counts, units, "low"),
                    released.area(counts, units, "high"),
                ),
                noisy,
                confidence,
                self.bounds,
            )
        low, high = simulated_interval(
            lambda counts: (self._of(counts, "low"), self._of(counts, "high")),
            noisy,
            confidence,
            self.bounds,
            total_weight(units) * self._n_scores,
        )
        low, high = low + self.shift - self.allowance, high + self.shift + self.allowance
        return max(low, 0.0), min(high, 1.0)

    def _of(self, counts: NDArray[np.float64], end: str | None = None) -> NDArray[np.float64]:
        found: NDArray[np.float64] = RANKING_METRICS[self.name](self._tables(counts), end)
        return found

    def _tables(self, counts: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        tables = self._histogram.tables(counts)
        if not RANKING[self.name] and self._positive == 0:
            return [table[..., ::-1, ::-1] for table in tables]
        return tables

    @property
    def _n_scores(self) -> int:
        """How often each record is counted."""
        return len(self._histogram.edges)

    def exact(
        self, y: Any, response: NDArray[Any], classes: Any, sample_weight: Any = None
    ) -> float:
        if RANKING[self.name]:
            kind, *weighted = self.name.removeprefix("roc_auc_").split("_")
            return float(
                roc_auc_score(
                    y,
                    response,
                    multi_class=kind,
                    average="weighted" if weighted else "macro",
                    sample_weight=sample_weight,
                    labels=self.classes,
                )
            )
        positive = encode(y, self.classes) == self._positive
        s = positive_scores(response, self._positive)
        area = roc_auc_score if self.name == "roc_auc" else average_precision_score
        return float(area(positive, s, sample_weight=sample_weight))

    def __repr__(self) -> str:
        return scorer_repr(self.name, self.params)


def ranking_scorer(name: str, params: dict[str, Any]) -> Ranking:
    """Return the scorer of this name, of `RANKING`.

    Raises
    ------
    ValueError
        If a parameter is not one of this score, or has a value that it does not take.
    """
    several = RANKING[name]
    refuse_others(name, params, *(() if several else ("choose_by", "pos_label")))
    choose_by = params.get("choose_by", "brier" if name == "average_precision" else "pairs")
    if choose_by not in _METHODS:
        raise ValueError(f"choose_by is one of {sorted(_METHODS)}; found {choose_by!r}")
    methods = ("predict_proba",) if several else _METHODS[choose_by]
    return Ranking(name, choose_by, methods, params, params.get("pos_label"))
