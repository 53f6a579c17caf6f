"""Scores that are computed from counts and are not means of gains (zone: sensitive).

*Metrics of the confusion matrix.* Let f be the metric and C0 a confusion matrix, in shares. To
first order, ``f(C) = f(C0) + sum_ij (C_ij - C0_ij) G_ij``, a mean of gains, where G is the gradient
of f at C0. Candidates are ranked by this mean if there is much noise, and by f itself if there is
little (see `_ranking`). C0 is assumed, from the shares of the classes (`prepare`), counted from
public predictions (`choice`), or released before the choice (`adapt`). For the chosen candidate,
the confusion matrix is released, and f is computed from it.

*Areas under curves.* Candidates are ranked by the number of correctly ordered pairs of records, and
by the area itself if there is little noise. For the chosen candidate, a histogram of its predicted
scores is released. The order of scores within bins is estimated from its counts. With many records,
the area under a single ROC curve is more precise if the number of correctly ordered pairs is
released instead.
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
# Without public predictions, this share of each class is assumed to be predicted correctly. Some of
# the other predictions are right as well, by chance, see `_for_shares`.
_ASSUMED_CORRECT = 0.8
# Least epsilon m with which the area under the ROC curve is released as pairs, which are then more
# precise than a histogram: if nothing else is released, and if other scores could be computed from
# the histogram, so that pairs leave less epsilon for each.
_PAIRS_FROM = 1_000
_PAIRS_BESIDE_OTHERS_FROM = 100_000
# Least epsilon m with which the counts of bins are not smoothed: noise does less harm to the area
# than smoothing does.
_UNSMOOTHED_FROM = 4_000


def first_of(given: Given, kind: type[Q]) -> Q | None:
    """Return the first of the `given` queries that is of this kind, or None."""
    return next((query for query in given or () if isinstance(query, kind)), None)


def _shrunk(query: Cells, noisy: NoisyCounts, units: Units, expected: Floats) -> Floats:
    """Shrink released counts of known labels towards the expected counts.

    They are shrunk more if there is more noise. `expected` and the result count units, one number
    per cell, and the result sums to m.
    """
    query, noisy = settled(query, noisy)
    counts = likely(query, noisy.counts, units)[0][~query.are_unknown] / unit_weight(units)
    scale = noisy.scale / unit_weight(units)
    # A count is taken to differ from its expectation by half of that (and one unit): a standard
    # deviation. Laplace noise has the variance 2 scale^2. The weights are those of least variance.
    variance = (expected / 2 + 1) ** 2
    weight = variance / (variance + 2 * scale**2)
    # Half a unit at least, as rankings divide by the sizes of the classes.
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
    """Score of a classifier's predictions for the sorted `classes`.

    `positions` has the index of the positive class of two or, for scores of all classes, the index
    of each. `shares` are the shares of the classes among the training labels. If `adapted`, they
    are released ones of the validation set.
    """

    counts: Any = None
    classes: Any = None
    positions: tuple[int, ...] = ()
    adapted: bool = False

    def _with_classes(self, y_train: Any, fewest: int, most: float, alternative: str) -> Self:
        """Return the scorer for the classes of these labels: from `fewest` to `most` of them.

        If `most` is 2, one of the two is the positive class. If there are too few or too many, the
        error names the `alternative`.
        """
        check_one_output(self.name, y_train)
        classes, class_counts = np.unique(dense(y_train), return_counts=True)
        n_classes = len(classes)
        if n_classes == 1:
            raise ValueError(
                f"scoring={self.name!r} needs two classes or more, and y has one class only"
            )
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
        """The label of the positive class of two; None for scores of all classes."""
        return self.classes[self.positions[0]] if len(self.positions) == 1 else None


@dataclass(frozen=True, eq=False, repr=False)
class ConfusionScore(ClassScore):
    """Metric of the confusion matrix.

    `matrix` is C0, at whose gradient candidates are ranked, in shares of all units.
    """

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

        A share of 0.8 of each class is predicted correctly. The other predictions are guesses,
        distributed as the classes are, so class i has the recall ``0.8 + 0.2 shares[i]``.
        """
        correct = np.diag(_ASSUMED_CORRECT * shares)
        guesses = np.outer(shares, (1 - _ASSUMED_CORRECT) * shares)
        return self._linear_at(guesses + correct, n)

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
        if not self.adapted:  # rankings depend on the sizes of the classes in the validation set
            return
        M = self.matrix * units.m
        order = OF_MATRIX[self.name].order
        for ranking in order(M, **self._options) if callable(order) else ():
            yield self._ranked_by(ranking, M)

    def _matrix(self, public: Predictions, sample_weight: Any = None) -> Floats:
        """Count the confusion matrix of public predictions, shape (K, K) or (K + 1, K).

        The last row is that of unknown labels. It is left out if there are none.
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
        # Shares that `of_shares` raised sum to more than 1. The proofs of the widths of rankings
        # are for a matrix of all units, as `faithful` makes it from this one.
        matrix = matrix / matrix.sum()
        return replace(self, matrix=matrix)._ranked_by(linear(G), matrix)

    def _ranked_by(self, ranking: Ranking, C: Floats) -> ConfusionScore:
        """Return the score that ranks candidates by `ranking`.

        The integer of its query is 0 where the ranking is 0, and largest where the ranking is the
        width times the number of units. `ends` are the scores there, on the line through the score
        at the matrix C that has the slope of the ranking.
        """
        low = float(self.metric(C) - ranking.slope * ranking(C))
        rise = ranking.slope * ranking.width * C.sum()
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

    Average precision summarises the precision-recall curve. Below, "area" stands for any of them.
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
        """Return the score with released shares of the classes.

        The floor depends on them: it is a share of the negative records.
        """
        sizes = _shrunk(self.first, noisy, units, np.array(self.shares) * units.m)
        return self.of_shares(sizes / units.m, units.m)

    def of_shares(self, shares: Floats, m: int) -> RankingScore:
        shares = np.clip(shares, 0.5 / m, 1 - 0.5 / m)
        adapted = replace(self, shares=tuple(shares.tolist()), adapted=True)
        return adapted._ranked_by(Pairs, self.query.floor)

    def faithful(self, units: Units) -> Iterator[RankingScore]:
        # With the floor 0, all pairs count. So the area is their number, or the sum of precisions,
        # divided by a number that is the same for all candidates.
        if len(self.positions) == 1:
            yield self._ranked_by(Pairs if self.name == "roc_auc" else PrecisionSum)
        elif self.adapted:  # the weights of several classes depend on their sizes
            yield self._ranked_by(MeanArea)

    def _ranked_by(self, kind: type[Pairs], floor: float = 0.0) -> RankingScore:
        """Return the score that ranks candidates by a query of this kind, with this floor."""
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
        if self._is_of_pairs(public, histogram, given, m * epsilon):
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
        smooth = m * epsilon < _UNSMOOTHED_FROM and len(self.positions) == 1
        return replace(self, counts=histogram, smooth=smooth)

    def _is_of_pairs(
        self, public: Public, histogram: ScoreHistogram | None, given: Given, epsilon_m: float
    ) -> bool:
        """Return True if the area is released as pairs, and not computed from a histogram."""
        if self.name != "roc_auc":
            return False
        if public is None:  # without public scores, there are no bins
            return True
        least = _PAIRS_FROM if given is None else _PAIRS_BESIDE_OTHERS_FROM
        return histogram is None and epsilon_m >= least

    def value(self, counts: Sequence[int], units: Units) -> float:
        """Compute the area from released counts, within [0, 1].

        From a histogram, it is the area of the bins, plus what the order within bins is estimated
        to add.
        """
        if isinstance(self.counts, PairCounts):
            return super().value(counts, units)
        tables = self._likely_tables(counts, units)
        area = float(np.mean([self._area(table) for table in tables]))
        return min(max(area + self._hidden(tables)[0], 0.0), 1.0)

    def interval(
        self, noisy: NoisyCounts, units: Units, confidence: float, sampling: float = 0.0
    ) -> tuple[float, float]:
        """Return an interval that also covers the error of the order within bins.

        From pairs, it covers the noise and then, joined in quadrature, the sampling error. The
        variance of an area A is at most ``A (1 - A) / n`` for n records of the smaller class (van
        Dantzig, 1951).

        From a histogram:

        1. Noise and, if `sampling`, the sampling error are simulated together. The histograms of K
           classes count the same records, but their sampling errors are simulated independently.
           The variance of a sum of K errors is at most K times the sum of their variances; so the
           errors are multiplied by the square root of K.
        2. The interval of an average precision is joined with its mirror image at the estimate, as
           simulated precisions are clipped at 1, which biases their average.
        3. The error of the order within bins is added to the half-widths; if they have a sampling
           error, it is joined with them in quadrature.
        4. Both ends are shifted by what the order within bins is estimated to add.
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
        """Return the table of each class in `positions`, in numbers of units."""
        tables = zip(self.counts.positives, self.counts.tables(counts), strict=True)
        return [table / unit_weight(units) for i, table in tables if i in self.positions]

    def _likely_tables(self, counts: Sequence[int], units: Units) -> list[Floats]:
        """Return possible tables near those of the noisy counts, smoothed if `smooth`."""
        tables = self._tables(likely(self.counts, counts, units)[0], units)
        return [monotone(table) for table in tables] if self.smooth else tables

    def _area(self, table: Floats, undefined: float | None = None, tied: bool = True) -> Floats:
        """Compute the area of tables of bins, shape (..., 2, n_bins), in the order of the bins.

        For average precision, all records of a bin have the same score if `tied` and if most public
        records share their score with others. Otherwise both classes are spread evenly over a bin.
        """
        if self.name == "average_precision":
            tied = tied and self.counts.repeated
            return average_precision(table, undefined, tied, record=1.0)
        return roc_auc(table, undefined)

    def _hidden(self, tables: list[Floats]) -> tuple[float, float]:
        """Estimate what the order within bins adds to the mean area; see `hidden_order`.

        Return the estimate, and a bound of its error. Both are 0 if each score has its own bin.
        """
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
