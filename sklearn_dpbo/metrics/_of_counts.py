"""Scores that are computed from counts and are not means of gains (zone: sensitive).

*Metrics of the confusion matrix.* Let f be the metric and C0 a confusion matrix, in shares. To
first order, ``f(C) = f(C0) + sum_ij (C_ij - C0_ij) G_ij``, a mean of gains, where G is the gradient
of f at C0. Candidates are ranked by this mean if there is much noise, and by f itself if there is
little (see `_ranking`). C0 is public, or released for the choice. The confusion matrix of the
chosen candidate is released.

*Areas under curves.* Candidates are ranked by the number of correctly ordered pairs of records, and
by the area itself if there is little noise. A histogram of the chosen candidate's predicted scores
is released. The order of scores within bins is estimated from its counts. With many records, the
number of correctly ordered pairs gives a more precise area under a single ROC curve.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from ..privacy.noisy_counts import NoisyCounts
from ..records.tables import dense
from ..records.units import Units
from ._histogram import ScoreHistogram, n_bins
from ._intervals import likely, sampled_mean
from ._labels import encode, position_of
from ._metrics import average_precision, gradient, hidden_order, monotone, roc_auc
from ._pairs import MeanArea, PairCounts, Pairs, PrecisionSum
from ._queries import MOST_CLASSES, Cells, ClassSizes, Confusion, Query, unit_weight
from ._ranking import RankedConfusion, Ranking, linear
from ._registry import METRICS, OF_MATRIX, OF_SCORES
from ._response import Predictions, class_scores
from ._scorers import UNSET, Given, PrivateScorer, Public, check_one_output
from ._unknown import settled

Floats = NDArray[np.float64]
Q = TypeVar("Q", bound=Query)
# Recall of each class, if there are no public predictions.
_ASSUMED_RECALL = 0.8
# Least epsilon m with which the area is more precise from pairs than from a histogram: alone, and
# if other scores could share the histogram.
_ENOUGH_FOR_PAIRS = 1_000
_ENOUGH_BESIDE_OTHERS = 100_000
# Least epsilon m with which a histogram is better not smoothed.
_CLEAR = 4_000


def first_of(given: Given, kind: type[Q]) -> Q | None:
    """Return the first of the `given` queries that is of this kind, or None."""
    return next((query for query in given or () if isinstance(query, kind)), None)


def _shrunk(query: Cells, noisy: NoisyCounts, units: Units, expected: Floats) -> Floats:
    """Shrink released counts of known labels to the expected counts, more with more noise.

    `expected` and the result count units, one number per cell.
    """
    query, noisy = settled(query, noisy)
    counts = likely(query, noisy.counts, units)[0][~query.are_unknown] / unit_weight(units)
    scale = noisy.scale / unit_weight(units)
    # The prior standard deviation of a count is taken as half of it.
    variance = (expected / 2 + 1) ** 2
    weight = variance / (variance + 2 * scale**2)
    mixed = np.maximum(weight * counts + (1 - weight) * expected, 0.5)
    shrunk: Floats = mixed / mixed.sum() * units.m
    return shrunk


def positions_of(name: str, params: Mapping[str, Any], classes: NDArray[Any]) -> tuple[int, ...]:
    """Return the indices of the classes that are compared with all others: one of two, or all."""
    if "pos_label" not in METRICS[name].params:
        return tuple(range(len(classes)))
    label = params.get("pos_label", None if name == "roc_auc" else 1)
    return (1 if label is None else position_of(label, classes),)


@dataclass(frozen=True, eq=False, repr=False)
class ClassScore(PrivateScorer):
    """Score of a classifier's predictions for `classes`.

    `positions` are those of the classes that are compared with all others. `shares` are the shares
    of the classes among the training labels or, if `adapted`, released ones.
    """

    counts: Any = None
    classes: Any = None
    positions: tuple[int, ...] = ()
    adapted: bool = False

    def _with_classes(self, y_train: Any, fewest: int, most: float, alternative: str) -> Self:
        """Return the scorer for the classes of these labels: from `fewest` to `most` of them.

        If `most` is 2, one of the two is the positive class. Errors name the `alternative`.
        """
        check_one_output(self.name, y_train)
        classes, class_counts = np.unique(dense(y_train), return_counts=True)
        n_classes = len(classes)
        if not fewest <= n_classes <= most:
            raise ValueError(
                f"scoring={self.name!r} does not support {n_classes} classes, as in y: use "
                f"{alternative}"
            )
        positions = positions_of(self.name, self.params, classes)
        shares = tuple((class_counts / class_counts.sum()).tolist())
        return replace(self, classes=classes, positions=positions, shares=shares)

    @property
    def positive(self) -> Any:
        """The positive class of two; None for scores of all classes."""
        return self.classes[self.positions[0]] if len(self.positions) == 1 else None


@dataclass(frozen=True, eq=False, repr=False)
class ConfusionScore(ClassScore):
    """Metric of the confusion matrix; `matrix` is the one at which candidates are compared."""

    matrix: Any = None

    @classmethod
    def of(cls, name: str, params: dict[str, Any]) -> ConfusionScore:
        metric = OF_MATRIX[name]
        return cls(name, metric.bounds, params, choice_uses_public=callable(metric.order))

    def prepare(self, y_train: Any) -> ConfusionScore:
        scorer = self.of_labels(y_train)
        return scorer._for_shares(np.array(scorer.shares), len(y_train))

    def of_labels(self, y_train: Any) -> ConfusionScore:
        """Return the score for the classes of these labels, not prepared for a choice."""
        most = 2 if OF_MATRIX[self.name].of_one else MOST_CLASSES
        alternatives = (f"{self.name}_macro", "accuracy")
        alternative = next(name for name in alternatives if name in OF_MATRIX)
        scorer = self._with_classes(y_train, 2, most, f"{alternative!r}")
        return replace(scorer, counts=Confusion(scorer.classes))

    def _for_shares(self, shares: Floats, n: int) -> ConfusionScore:
        """Return the score that ranks by its gradient at an assumed matrix.

        All classes have the same recall, and wrong predictions are distributed as the classes are.
        """
        errors = np.outer(shares, (1 - _ASSUMED_RECALL) * shares)
        return self._linear_at(errors + np.diag(_ASSUMED_RECALL * shares), n)

    def choice(self, public: Predictions) -> ConfusionScore:
        C = self._matrix(public)
        return self._linear_at(C / C.sum(), int(C.sum()))

    @property
    def first(self) -> Cells | None:
        return None if OF_MATRIX[self.name].order == "fixed" else Confusion(self.classes)

    def adapt(self, noisy: NoisyCounts, units: Units) -> ConfusionScore:
        """Return the score that ranks by its gradient at the released confusion matrix."""
        expected = self.matrix * units.m
        M = _shrunk(Confusion(self.classes), noisy, units, expected.ravel())
        M = M.reshape(expected.shape)
        shares = tuple((M.sum(axis=1) / units.m).tolist())
        return replace(self._linear_at(M / units.m, units.m), shares=shares, adapted=True)

    def of_shares(self, shares: Floats, m: int) -> ConfusionScore:
        adapted = replace(self, shares=tuple(shares.tolist()), adapted=True)
        return adapted._for_shares(np.maximum(shares, 0.5 / m), m)

    def faithful(self, units: Units) -> Iterator[ConfusionScore]:
        if not self.adapted:
            return
        M = self.matrix * units.m
        order = OF_MATRIX[self.name].order
        for ranking in order(M, **self._options) if callable(order) else ():
            yield self._ranked_by(ranking, M)

    def _matrix(self, public: Predictions, sample_weight: Any = None) -> Floats:
        """Count the confusion matrix of public predictions.

        It has a row for unknown labels only if there are some.
        """
        query = Confusion(self.classes)
        cells = query.record_values(public.y, public.response, public.classes)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        counts = np.bincount(cells, weights=weights, minlength=sum(query.sizes)).astype(float)
        if not counts[query.are_unknown].any():
            counts = counts[~query.are_unknown]
        return np.asarray(query.matrices(counts))

    def _linear_at(self, matrix: Floats, n: int) -> ConfusionScore:
        """Return the score that ranks by its gradient at a matrix of shares, for n records."""
        G = gradient(self.metric, n * matrix)
        matrix = matrix / matrix.sum()  # widths are proven for matrices of all units
        return replace(self, matrix=matrix)._ranked_by(linear(G), matrix)

    def _ranked_by(self, ranking: Ranking, C: Floats) -> ConfusionScore:
        """Return the score that ranks candidates by `ranking`; `ends` are exact at the matrix C."""
        rise = ranking.slope * ranking.width * C.sum()
        low = float(self.metric(C) - ranking.slope * ranking(C))
        query = RankedConfusion(self.classes, ranking)
        return replace(self, query=query, ends=(low, low + rise))

    @property
    def _options(self) -> dict[str, Any]:
        """Parameters of the metric's function."""
        options = {key: value for key, value in self.params.items() if key != "pos_label"}
        if OF_MATRIX[self.name].of_one:
            options["positive"] = self.positions[0]
        return options

    def metric(self, C: Floats, undefined: float | None = None) -> Floats:
        """Compute the score of each confusion matrix; see `_metrics` on `undefined`."""
        return np.asarray(OF_MATRIX[self.name].function(C, undefined, **self._options))

    def release(
        self, public: Public = None, m: int = 1, epsilon: float = 1.0, given: Given = None
    ) -> ConfusionScore:
        shared = first_of(given, Confusion) or first_of(given, ScoreHistogram)
        if shared is None or not shared.follows:
            return self
        return replace(self, counts=shared)

    def raw(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        return self.metric(self.counts.matrices(counts), undefined)

    def exact(self, public: Predictions, sample_weight: Any = None) -> float:
        return float(self.metric(self._matrix(public, sample_weight)))


@dataclass(frozen=True, eq=False, repr=False)
class RankingScore(ClassScore):
    """Area under the ROC curve (several classes: each against the others), or average precision.

    If `smooth`, the counts of bins are smoothed.
    """

    query: Pairs = UNSET
    response_method: tuple[str, ...] = ("decision_function", "predict_proba")
    release_uses_public: bool = True
    smooth: bool = False

    def prepare(self, y_train: Any) -> RankingScore:
        if self.name == "roc_auc_ovr":
            scorer = self._with_classes(y_train, 3, math.inf, "'roc_auc'")
        else:
            scorer = self._with_classes(y_train, 2, 2, "'roc_auc_ovr'")
        return scorer._ranked_by(Pairs, OF_SCORES[self.name].floor)

    @property
    def first(self) -> Cells:
        return ClassSizes(self.classes, self.response_method)

    def adapt(self, noisy: NoisyCounts, units: Units) -> RankingScore:
        """Return the score with released shares of the classes, which the floor depends on."""
        sizes = _shrunk(self.first, noisy, units, np.array(self.shares) * units.m)
        return self.of_shares(sizes / units.m, units.m)

    def of_shares(self, shares: Floats, m: int) -> RankingScore:
        shares = np.clip(shares, 0.5 / m, 1 - 0.5 / m)
        adapted = replace(self, shares=tuple(shares.tolist()), adapted=True)
        return adapted._ranked_by(Pairs, self.query.floor)

    def faithful(self, units: Units) -> Iterator[RankingScore]:
        if len(self.positions) == 1:
            yield self._ranked_by(Pairs if self.name == "roc_auc" else PrecisionSum)
        elif self.adapted:  # weights of the classes depend on their sizes
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
        histogram = first_of(given, ScoreHistogram)
        if histogram is not None and histogram.positives != self.positions:
            histogram = None
        enough = _ENOUGH_FOR_PAIRS if given is None else _ENOUGH_BESIDE_OTHERS
        if self.name == "roc_auc" and (
            public is None or (histogram is None and m * epsilon >= enough)
        ):
            pairs = PairCounts(self.classes, self.positions, (0.5,), 0.0, self.response_method)
            return replace(self, counts=pairs, release_uses_public=False)
        if public is None:
            raise ValueError(
                f"scoring={self.name!r} needs predictions for public records, and here all records "
                "are protected. Use, for example, 'roc_auc', 'neg_brier_score' or "
                "'balanced_accuracy'"
            )
        if histogram is None:
            methods = self.response_method
            histogram = ScoreHistogram.at(
                public(methods), self.classes, self.positions, methods, n_bins(m, epsilon)
            )
        smooth = m * epsilon < _CLEAR and len(self.positions) == 1
        return replace(self, counts=histogram, smooth=smooth)

    def value(self, counts: Sequence[int], units: Units) -> float:
        """Compute the area within bins from released counts, smoothed if there is much noise."""
        if isinstance(self.counts, PairCounts):
            return super().value(counts, units)
        tables = self._likely_tables(counts, units)
        area = float(np.mean([self._area(table) for table in tables]))
        return min(max(area + self._hidden(tables)[0], 0.0), 1.0)

    def interval(
        self, noisy: NoisyCounts, units: Units, confidence: float, sampling: float = 0.0
    ) -> tuple[float, float]:
        """Return an interval that also covers the error of the order within bins.

        That error is added to the noise, and in quadrature to the sampling error.

        The interval of an average precision is joined with its mirror image at the estimate, as
        simulated precisions are clipped at 1, which biases their average. The histograms of K
        classes count the same records; so the variance of a sum of K errors is at most K times the
        sum of their variances. The variance of an area A from pairs is at most ``A (1 - A) / n``
        for n records of the smaller class (van Dantzig, 1951).
        """
        value = float(self.raw(likely(self.counts, noisy.counts, units), units)[0])
        if isinstance(self.counts, PairCounts):
            ends = super().interval(noisy, units, confidence)
            n = self.counts.smaller_class(noisy.counts, units)
            return sampled_mean(value, 0.0, ends, n, confidence) if sampling else ends
        sampling_errors = sampling * math.sqrt(len(self.positions))
        low, high = super().interval(noisy, units, confidence, sampling_errors)
        if self.name == "average_precision":
            low, high = min(low, 2 * value - high), max(high, 2 * value - low)
        shift, error = self._hidden(self._likely_tables(noisy.counts, units))
        join = math.hypot if sampling else operator.add
        low, high = value - join(value - low, error), value + join(high - value, error)
        return max(low + shift, 0.0), min(high + shift, 1.0)

    def raw(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        if isinstance(self.counts, PairCounts):
            return self.counts.area(counts, units, undefined)
        areas = [self._area(table, undefined) for table in self._tables(counts, units)]
        mean: Floats = np.mean(areas, axis=0)
        return mean

    def _tables(self, counts: Floats, units: Units) -> list[Floats]:
        """Return the table of each class in `positions`, in units."""
        tables = zip(self.counts.positives, self.counts.tables(counts), strict=True)
        return [table / unit_weight(units) for i, table in tables if i in self.positions]

    def _likely_tables(self, counts: Sequence[int], units: Units) -> list[Floats]:
        """Return possible tables near the noisy ones, smoothed if `smooth`."""
        tables = self._tables(likely(self.counts, counts, units)[0], units)
        return [monotone(table) for table in tables] if self.smooth else tables

    def _area(self, table: Floats, undefined: float | None = None, tied: bool = True) -> Floats:
        if self.name == "average_precision":
            tied = tied and self.counts.repeated
            return average_precision(table, undefined, tied, record=1.0)
        return roc_auc(table, undefined)

    def _hidden(self, tables: list[Floats]) -> tuple[float, float]:
        """Estimate what the order within bins adds to the mean area, and bound the error of it."""
        if self.counts.separate:
            return 0.0, 0.0
        area = partial(self._area, tied=False)
        by_class = [hidden_order(area, table, float(self._area(table))) for table in tables]
        shift, error = np.mean(by_class, axis=0).tolist()
        return shift, error

    def exact(self, public: Predictions, sample_weight: Any = None) -> float:
        if len(self.positions) > 1:
            options = {"multi_class": "ovr", "labels": self.classes}
            return float(
                roc_auc_score(public.y, public.response, sample_weight=sample_weight, **options)
            )
        is_positive = encode(public.y, self.classes) == self.positions[0]
        scores = class_scores(public.response, self.positions)[:, 0]
        area = roc_auc_score if self.name == "roc_auc" else average_precision_score
        return float(area(is_positive, scores, sample_weight=sample_weight))
