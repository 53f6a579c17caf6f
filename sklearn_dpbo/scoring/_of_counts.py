"""Scores that are computed from counts, and are no means of gains (zone: sensitive).

*The confusion matrix.* Let f be the metric, and C0 a confusion matrix, in shares. To first order,
``f(C) = f(C0) + sum_ij (C_ij - C0_ij) G_ij`` with G the gradient of f at C0: a mean of gains.
Candidates are ranked by it where there is much noise, and by f itself where there is little (see
`_ranking`). C0 is public, or released for this. The matrix of the chosen candidate is released.

*Areas under curves.* The choice is by pairs of records in the right order; where there is little
noise, by the area itself. A histogram of the chosen candidate's predicted scores is released. The
order that bins hide is estimated from public predictions. With many records, the area under one ROC
curve is more precise if it is computed from a number of pairs.

*R2 and explained variance* divide by the variance of the labels, which is the same for all
candidates. So the choice uses the squared error, clipped at a value that is large for a good
candidate. Sums of errors, labels and their squares are released and divided.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import (
    average_precision_score,
    explained_variance_score,
    r2_score,
    roc_auc_score,
)

from .._data.tables import dense
from .._data.units import Units
from .._privacy.noisy_counts import NoisyCounts
from ._gains import Named
from ._histogram import ScoreHistogram, n_bins
from ._intervals import likely
from ._labels import encode, position_of
from ._metrics import (
    OF_CLASS,
    SIZE_FREE,
    average_precision,
    confusion_metric,
    gradient,
    monotone,
    ratio,
    roc_auc,
)
from ._pairs import MeanArea, PairCounts, Pairs, PrecisionSum
from ._queries import (
    GRID,
    MOST_CLASSES,
    ClassSizes,
    Confusion,
    MeanOf,
    Moments,
    Query,
    unit_weight,
)
from ._ranking import RankedConfusion, Ranking, faithful_rankings, linear
from ._response import Predictions, class_scores
from ._scorers import UNSET, Given, PrivateScorer, Public, check_one_output, large_error

__all__ = [
    "RANKING",
    "VARIANCE",
    "ClassScore",
    "ConfusionScore",
    "RankingScore",
    "VarianceExplained",
]

Floats = NDArray[np.float64]
Q = TypeVar("Q", bound=Query)
# Share of correct predictions of each class, where nothing public is known.
_ASSUMED_RECALL = 0.8
# Share of the negative records that a positive one has to beat before it counts: what matters to
# the average precision happens among the highest scores.
_FLOORS = {"roc_auc": 0.5, "average_precision": 0.7}
RANKING = ("average_precision", "roc_auc", "roc_auc_ovr")
# Number of units times epsilon from which on pairs tell the area better than a histogram, and from
# which on the noise of a histogram is less than what smoothing it changes.
_ENOUGH_FOR_PAIRS, _CLEAR = 1_000, 4_000
VARIANCE = ("explained_variance", "r2")
# Steps for e^2, t^2, t and e. All sums get the same noise: so the shares of epsilon are about .49,
# .37, .08 and .06, near the best for models of all kinds.
_STEPS = (GRID, 3 * GRID // 4, 2 * GRID // 25, 3 * GRID // 50)
# Share of the training labels whose distance from their mean counts fully.
_COUNTED = 0.99
# For guidance: the largest squared error, in variances of the labels.
_ASSUMED = 9.0


def _first(given: Given, kind: type[Q]) -> Q | None:
    return next((query for query in given or () if isinstance(query, kind)), None)


def _shrunk(query: Query, noisy: NoisyCounts, units: Units, expected: Floats) -> Floats:
    """Return released counts, in units, moved towards the expected ones as far as noise says."""
    counts = likely(query, noisy.counts, units)[0] / unit_weight(units)
    scale = noisy.scale / unit_weight(units)
    # As if half of the expected count were its standard deviation.
    variance = (expected / 2 + 1) ** 2
    share = variance / (variance + 2 * scale**2)
    mixed = np.maximum(share * counts + (1 - share) * expected, 0.5)
    shrunk: Floats = mixed / mixed.sum() * units.m
    return shrunk


@dataclass(frozen=True, eq=False, repr=False)
class ClassScore(PrivateScorer):
    """A score of labels of known classes; `positions` are those held against the others.

    `shares` are those of the classes: of the training set, or released if `adapted`.
    """

    counts: Any = None
    classes: Any = None
    positions: tuple[int, ...] = ()
    adapted: bool = False

    def _with_classes(self, y_train: Any, fewest: int, most: float, other: str) -> Self:
        """Return the scorer for these labels; the positive class is None or one of two."""
        check_one_output(self.name, y_train)
        classes, sizes = np.unique(dense(y_train), return_counts=True)
        K = len(classes)
        if not fewest <= K <= most:
            raise ValueError(f"scoring={self.name!r} is not for {K} classes, as in y: use {other}")
        positions = tuple(range(K))
        if most == 2:
            label = self.params.get("pos_label", None if self.name == "roc_auc" else 1)
            positions = (1 if label is None else position_of(label, classes),)
        shares = tuple((sizes / sizes.sum()).tolist())
        return replace(self, classes=classes, positions=positions, shares=shares)

    @property
    def positive(self) -> Any:
        """The positive one of two classes, if there is one."""
        return self.classes[self.positions[0]] if len(self.positions) == 1 else None


@dataclass(frozen=True, eq=False, repr=False)
class ConfusionScore(ClassScore):
    """A metric of the confusion matrix."""

    matrix: Any = None

    @classmethod
    def of(cls, name: str, params: dict[str, Any]) -> ConfusionScore:
        signed = name in ("matthews_corrcoef", "cohen_kappa")
        varies = name not in (*SIZE_FREE, "balanced_accuracy", "recall_macro")
        return cls(name, (-1.0 if signed else 0.0, 1.0), params, choice_uses_public=varies)

    def prepare(self, y_train: Any) -> ConfusionScore:
        of_one = self.name in OF_CLASS
        most, other = (2, f"'{self.name}_macro'") if of_one else (MOST_CLASSES, "'accuracy'")
        prepared = self._with_classes(y_train, 2, most, other)
        counted = replace(prepared, counts=Confusion(prepared.classes))
        return counted._for_shares(np.array(prepared.shares), len(y_train))

    def _for_shares(self, shares: Floats, n: int) -> ConfusionScore:
        """As if each class were recognised equally well, and errors were as frequent as classes."""
        errors = np.outer(shares, (1 - _ASSUMED_RECALL) * shares)
        return self._linear_at(errors + np.diag(_ASSUMED_RECALL * shares), n)

    def choice(self, public: Predictions) -> ConfusionScore:
        C = self._matrix(public)
        return self._linear_at(C / C.sum(), int(C.sum()))

    @property
    def first(self) -> Query | None:
        return None if self.name in SIZE_FREE else Confusion(self.classes)

    def adapt(self, noisy: NoisyCounts, units: Units) -> ConfusionScore:
        """Return the score, prepared to tell candidates apart that predict like the one counted."""
        M = self.matrix * units.m
        M = _shrunk(Confusion(self.classes), noisy, units, M.ravel()).reshape(M.shape)
        shares = tuple((M.sum(axis=1) / units.m).tolist())
        return replace(self._linear_at(M / units.m, units.m), shares=shares, adapted=True)

    def of_shares(self, shares: Floats, m: int) -> ConfusionScore:
        adapted = replace(self, shares=tuple(shares.tolist()), adapted=True)
        return adapted._for_shares(np.maximum(shares, 0.5 / m), m)

    def faithful(self, units: Units) -> Iterator[ConfusionScore]:
        if not self.adapted:
            return
        M = self.matrix * units.m
        for ranking in faithful_rankings(self.name, M, self.positions[0], **self._options):
            yield self._ranked_by(ranking, M)

    def _matrix(self, public: Predictions, sample_weight: Any = None) -> Floats:
        """Return the confusion matrix of public predictions."""
        K = len(self.classes)
        cells = Confusion(self.classes).record_values(public.y, public.response, public.classes)
        w = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        return np.bincount(cells, weights=w, minlength=K * K).reshape(K, K).astype(float)

    def _linear_at(self, matrix: Floats, n: int) -> ConfusionScore:
        """Return the score that ranks by its gradient at a matrix of shares, of n records."""
        G = gradient(self._metric, n * matrix)
        return replace(self, matrix=matrix)._ranked_by(linear(G), matrix)

    def _ranked_by(self, ranking: Ranking, C: Floats) -> ConfusionScore:
        """Return the score that ranks by a function; the line touches the metric at C."""
        rise = ranking.slope * ranking.width * C.sum()
        low = float(self._metric(C) - ranking.slope * ranking(C))
        query = RankedConfusion(self.classes, ranking)
        return replace(self, query=query, ends=(low, low + rise))

    @property
    def _options(self) -> dict[str, Any]:
        return {key: value for key, value in self.params.items() if key != "pos_label"}

    def _metric(self, C: Floats, undefined: float | None = None) -> Floats:
        return confusion_metric(self.name, C, undefined, self.positions[0], **self._options)

    def release(
        self, public: Public = None, m: int = 1, epsilon: float = 1.0, given: Given = None
    ) -> ConfusionScore:
        histogram = _first(given, ScoreHistogram)
        follows = histogram is not None and histogram.follows
        return replace(self, counts=histogram) if follows else self

    def raw(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        return self._metric(self.counts.matrices(counts), undefined)

    def exact(self, public: Predictions, sample_weight: Any = None) -> float:
        return float(self._metric(self._matrix(public, sample_weight)))


@dataclass(frozen=True, eq=False, repr=False)
class RankingScore(ClassScore):
    """Area under the ROC curve (several classes: each against the others), or average precision."""

    query: Pairs = UNSET
    response_method: tuple[str, ...] = ("decision_function", "predict_proba")
    release_uses_public: bool = True
    smooth: bool = False

    def prepare(self, y_train: Any) -> RankingScore:
        takes = (
            (3, math.inf, "'roc_auc'") if self.name == "roc_auc_ovr" else (2, 2, "'roc_auc_ovr'")
        )
        return self._with_classes(y_train, *takes)._ranked_by(Pairs, _FLOORS.get(self.name, 0.0))

    @property
    def first(self) -> Query:
        return ClassSizes(self.classes, self.response_method)

    def adapt(self, noisy: NoisyCounts, units: Units) -> RankingScore:
        """Return the score with released shares of the classes: the floor is a part of them."""
        sizes = _shrunk(self.first, noisy, units, np.array(self.shares) * units.m)
        return self.of_shares(sizes / units.m, units.m)

    def of_shares(self, shares: Floats, m: int) -> RankingScore:
        shares = np.maximum(shares, 0.5 / m)
        adapted = replace(self, shares=tuple(shares.tolist()), adapted=True)
        return adapted._ranked_by(Pairs, self.query.floor)

    def faithful(self, units: Units) -> Iterator[RankingScore]:
        if len(self.positions) == 1:
            yield self._ranked_by(Pairs if self.name == "roc_auc" else PrecisionSum)
        elif self.adapted:  # classes count by their sizes
            yield self._ranked_by(MeanArea)

    def _ranked_by(self, kind: type[Pairs], floor: float = 0.0) -> RankingScore:
        shares = tuple(self.shares[i] for i in self.positions)
        query = kind(self.classes, self.positions, shares, floor, self.response_method)
        return replace(self, query=query)

    def line(self, units: Units) -> tuple[float, float]:
        return self.query.floor, self.query.per_step(units)

    def release(
        self, public: Public = None, m: int = 1, epsilon: float = 1.0, given: Given = None
    ) -> RankingScore:
        histogram = _first(given, ScoreHistogram)
        if histogram is not None and histogram.positives != self.positions:
            histogram = None
        alone = given is None and m * epsilon >= _ENOUGH_FOR_PAIRS
        if self.name == "roc_auc" and (public is None or alone):
            pairs = PairCounts(self.classes, self.positions, (0.5,), 0.0, self.response_method)
            return replace(self, counts=pairs, release_uses_public=False)
        if public is None:
            raise ValueError(
                f"scoring={self.name!r} needs predictions of public records, and here all records "
                "are protected. Use 'roc_auc', 'neg_brier_score' or 'balanced_accuracy', say"
            )
        methods = self.response_method if histogram is None else histogram.response_method
        found = public(methods)
        if histogram is None:
            histogram = ScoreHistogram.at(
                found, self.classes, self.positions, methods, n_bins(m, epsilon)
            )
        smooth = m * epsilon < _CLEAR and len(self.positions) == 1
        placed = replace(self, counts=histogram, smooth=smooth)
        shift, allowance = placed._public_error(found, m)
        return replace(placed, shift=shift, allowance=allowance)

    def value(self, counts: Sequence[int], units: Units) -> float:
        """Smoothed where there is much noise: a higher score means more positive records."""
        if not (self.smooth and isinstance(self.counts, ScoreHistogram)):
            return super().value(counts, units)
        (table,) = self.counts.tables(likely(self.counts, counts, units))
        return float(np.clip(self._area(monotone(table[0])) + self.shift, 0.0, 1.0))

    def raw(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        if isinstance(self.counts, PairCounts):
            return self.counts.area(counts, units, undefined)
        areas = [self._area(table, undefined) for table in self.counts.tables(counts)]
        found: Floats = np.mean(areas, axis=0)
        return found

    def _area(self, table: Floats, undefined: float | None = None) -> Floats:
        area = average_precision if self.name == "average_precision" else roc_auc
        return area(table, undefined)

    def exact(self, public: Predictions, sample_weight: Any = None) -> float:
        if len(self.positions) > 1:
            options = {"multi_class": "ovr", "labels": self.classes}
            return float(
                roc_auc_score(public.y, public.response, sample_weight=sample_weight, **options)
            )
        own = encode(public.y, self.classes) == self.positions[0]
        s = class_scores(public.response, self.positions)[:, 0]
        area = roc_auc_score if self.name == "roc_auc" else average_precision_score
        return float(area(own, s, sample_weight=sample_weight))


@dataclass(frozen=True, eq=False, repr=False)
class VarianceExplained(PrivateScorer):
    """R2, or the explained variance: 1 - (squared errors) / (squared deviations of the labels).

    Errors, and the labels' distances from their mean, are clipped at the same public bound c.
    """

    query: MeanOf = UNSET
    counts: Moments = UNSET
    task: str | None = "regression"
    choice_uses_public: bool = True
    release_uses_public: bool = True

    def prepare(self, y_train: Any) -> VarianceExplained:
        check_one_output(self.name, y_train)
        y = np.asarray(dense(y_train), dtype=float)
        centre, c = float(np.mean(y)), self.params.get("largest_error")
        if c is None:
            c = float(np.quantile(np.abs(y - centre), _COUNTED, method="higher")) or 1.0
        gain = Named("neg_mean_squared_error", {})
        query = MeanOf(gain, (-(c**2), 0.0), name=repr(self))
        counts = Moments(centre, c, c, _STEPS)
        # As if the labels' variance were a ninth of c squared.
        return replace(self, query=query, counts=counts, ends=(1 - _ASSUMED, 1.0))

    def faithful(self, units: Units) -> Iterator[VarianceExplained]:
        c = self.counts.c_e
        query = replace(self.query, bounds=(-(c**2), 0.0))
        yield replace(self, query=query, ends=(1 - _ASSUMED, 1.0))

    def choice(self, public: Predictions) -> VarianceExplained:
        """Most errors of a good candidate are far smaller than c, and so is the noise then."""
        c = self.counts.c_e
        whole = replace(self.query, bounds=(-(c**2), 0.0))
        large = large_error(whole, public)
        query = replace(whole, bounds=(-(large**2), 0.0))
        return replace(self, query=query, ends=(1 - _ASSUMED * (large / c) ** 2, 1.0))

    def release(
        self, public: Public = None, m: int = 1, epsilon: float = 1.0, given: Given = None
    ) -> VarianceExplained:
        moments = _first(given, Moments)
        found = self if moments is None else replace(self, counts=moments)
        return super(VarianceExplained, found).release(public, m, epsilon)

    @property
    def _centred(self) -> bool:
        return self.name == "explained_variance"

    @property
    def _scale(self) -> float:
        """Squared errors in units of the labels' squares."""
        return (self.counts.c_e / self.counts.c_y) ** 2

    def raw(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        ee, tt, t, e = self.counts.means(counts, units.m)[:4]
        errors = self._scale * np.maximum(ee - self._centred * e**2, 0.0)
        return 1 - ratio(errors, tt - t**2, 1.0)

    def interval(self, noisy: NoisyCounts, units: Units, confidence: float) -> tuple[float, float]:
        """The square of a noisy number is too large on average: one end takes a smaller one."""
        _, _, t0, e0 = self.counts.means(noisy.counts, units.m)[:4]

        def compute(counts: Floats, units: Units, end: float | None) -> Floats:
            ee, tt, t, e = self.counts.means(counts, units.m)[:4]
            small_t, small_e = (
                np.maximum(abs(at) - abs(x - at), 0) ** 2 for at, x in ((t0, t), (e0, e))
            )
            if end == -math.inf:
                return 1 - ratio(self._scale * (ee - self._centred * small_e), tt - t**2, math.inf)
            return 1 - ratio(self._scale * (ee - self._centred * e**2), tt - small_t, 0.0)

        return self._moved(compute, noisy, units, confidence)

    def exact(self, public: Predictions, sample_weight: Any = None) -> float:
        compute = explained_variance_score if self._centred else r2_score
        return float(compute(public.y, public.response, sample_weight=sample_weight))
