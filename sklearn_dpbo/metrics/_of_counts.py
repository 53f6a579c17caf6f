"""Scores that are computed from counts, and are no means of gains (zone: sensitive).

*The confusion matrix.* Let f be the metric, and C0 a confusion matrix, in shares. To first order,
``f(C) = f(C0) + sum_ij (C_ij - C0_ij) G_ij`` with G the gradient of f at C0: a mean of gains.
Candidates are ranked by it where there is much noise, and by f itself where there is little (see
`_ranking`). C0 is public, or released for this. The matrix of the chosen candidate is released.

*Areas under curves.* The choice is by pairs of records in the right order; where there is little
noise, by the area itself. A histogram of the chosen candidate's predicted scores is released. The
order that bins hide is estimated from these counts. With many records, the area under one ROC
curve is more precise if it is computed from a number of pairs.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
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
from ._registry import OF_MATRIX, OF_SCORES
from ._response import Predictions, class_scores
from ._scorers import UNSET, Given, PrivateScorer, Public, check_one_output
from ._unknown import settled

Floats = NDArray[np.float64]
Q = TypeVar("Q", bound=Query)
# Share of correct predictions of each class, where nothing public is known.
_ASSUMED_RECALL = 0.8
# Number of units times epsilon from which on pairs tell the area better than a histogram, and from
# which on the noise of a histogram is less than what smoothing it changes.
_ENOUGH_FOR_PAIRS, _CLEAR = 1_000, 4_000
# The first of these if other scores could share the histogram.
_ENOUGH_BESIDE_OTHERS = 100_000


def first_of(given: Given, kind: type[Q]) -> Q | None:
    """Return the first query of this kind that is released anyway, or None."""
    return next((query for query in given or () if isinstance(query, kind)), None)


def _shrunk(query: Cells, noisy: NoisyCounts, units: Units, expected: Floats) -> Floats:
    """Return released counts of known labels, moved towards the expected ones as noise says.

    In units.
    """
    query, noisy = settled(query, noisy)
    counts = likely(query, noisy.counts, units)[0][~query.are_unknown] / unit_weight(units)
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
        known = OF_MATRIX[name]
        return cls(name, known.bounds, params, choice_uses_public=callable(known.order))

    def prepare(self, y_train: Any) -> ConfusionScore:
        known = self.of_labels(y_train)
        return known._for_shares(np.array(known.shares), len(y_train))

    def of_labels(self, y_train: Any) -> ConfusionScore:
        """Return the score of these classes, without what a choice needs."""
        most = 2 if OF_MATRIX[self.name].of_one else MOST_CLASSES
        other = next(name for name in (f"{self.name}_macro", "accuracy") if name in OF_MATRIX)
        known = self._with_classes(y_train, 2, most, f"{other!r}")
        return replace(known, counts=Confusion(known.classes))

    def _for_shares(self, shares: Floats, n: int) -> ConfusionScore:
        """As if each class were recognised equally well, and errors were as frequent as classes."""
        errors = np.outer(shares, (1 - _ASSUMED_RECALL) * shares)
        return self._linear_at(errors + np.diag(_ASSUMED_RECALL * shares), n)

    def choice(self, public: Predictions) -> ConfusionScore:
        C = self._matrix(public)
        return self._linear_at(C / C.sum(), int(C.sum()))

    @property
    def first(self) -> Cells | None:
        return None if OF_MATRIX[self.name].order == "fixed" else Confusion(self.classes)

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
        order = OF_MATRIX[self.name].order
        for ranking in order(M, **self._options) if callable(order) else ():
            yield self._ranked_by(ranking, M)

    def _matrix(self, public: Predictions, sample_weight: Any = None) -> Floats:
        """Return the confusion matrix of public predictions, with unknown labels if there are."""
        query = Confusion(self.classes)
        cells = query.record_values(public.y, public.response, public.classes)
        w = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        counts = np.bincount(cells, weights=w, minlength=sum(query.sizes)).astype(float)
        occurring = counts if counts[query.are_unknown].any() else counts[~query.are_unknown]
        return np.asarray(query.matrices(occurring))

    def _linear_at(self, matrix: Floats, n: int) -> ConfusionScore:
        """Return the score that ranks by its gradient at a matrix of shares, of n records."""
        G = gradient(self.metric, n * matrix)
        matrix = matrix / matrix.sum()  # widths are proven for matrices of all units
        return replace(self, matrix=matrix)._ranked_by(linear(G), matrix)

    def _ranked_by(self, ranking: Ranking, C: Floats) -> ConfusionScore:
        """Return the score that ranks by a function; the line touches the metric at C."""
        rise = ranking.slope * ranking.width * C.sum()
        low = float(self.metric(C) - ranking.slope * ranking(C))
        query = RankedConfusion(self.classes, ranking)
        return replace(self, query=query, ends=(low, low + rise))

    @property
    def _options(self) -> dict[str, Any]:
        own = {"positive": self.positions[0]} if OF_MATRIX[self.name].of_one else {}
        return own | {key: value for key, value in self.params.items() if key != "pos_label"}

    def metric(self, C: Floats, undefined: float | None = None) -> Floats:
        """Return the score of each confusion matrix; see `_metrics` on `undefined`."""
        return np.asarray(OF_MATRIX[self.name].of(C, undefined, **self._options))

    def release(
        self, public: Public = None, m: int = 1, epsilon: float = 1.0, given: Given = None
    ) -> ConfusionScore:
        known = first_of(given, Confusion) or first_of(given, ScoreHistogram)
        follows = known is not None and known.follows
        return replace(self, counts=known) if follows else self

    def raw(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        return self.metric(self.counts.matrices(counts), undefined)

    def exact(self, public: Predictions, sample_weight: Any = None) -> float:
        return float(self.metric(self._matrix(public, sample_weight)))


@dataclass(frozen=True, eq=False, repr=False)
class RankingScore(ClassScore):
    """Area under the ROC curve (several classes: each against the others), or average precision."""

    query: Pairs = UNSET
    response_method: tuple[str, ...] = ("decision_function", "predict_proba")
    release_uses_public: bool = True
    # Whether the counts of bins are smoothed.
    smooth: bool = False

    def prepare(self, y_train: Any) -> RankingScore:
        takes = (
            (3, math.inf, "'roc_auc'") if self.name == "roc_auc_ovr" else (2, 2, "'roc_auc_ovr'")
        )
        return self._with_classes(y_train, *takes)._ranked_by(Pairs, OF_SCORES[self.name].floor)

    @property
    def first(self) -> Cells:
        return ClassSizes(self.classes, self.response_method)

    def adapt(self, noisy: NoisyCounts, units: Units) -> RankingScore:
        """Return the score with released shares of the classes: the floor is a part of them."""
        sizes = _shrunk(self.first, noisy, units, np.array(self.shares) * units.m)
        return self.of_shares(sizes / units.m, units.m)

    def of_shares(self, shares: Floats, m: int) -> RankingScore:
        shares = np.clip(shares, 0.5 / m, 1 - 0.5 / m)
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
                f"scoring={self.name!r} needs predictions of public records, and here all records "
                "are protected. Use 'roc_auc', 'neg_brier_score' or 'balanced_accuracy', say"
            )
        if histogram is None:
            methods = self.response_method
            histogram = ScoreHistogram.at(
                public(methods), self.classes, self.positions, methods, n_bins(m, epsilon)
            )
        smooth = m * epsilon < _CLEAR and len(self.positions) == 1
        return replace(self, counts=histogram, smooth=smooth)

    def value(self, counts: Sequence[int], units: Units) -> float:
        """Smoothed where there is much noise: a higher score means more positive records."""
        if isinstance(self.counts, PairCounts):
            return super().value(counts, units)
        tables = self._likely_tables(counts, units)
        area = float(np.mean([self._area(table) for table in tables]))
        return min(max(area + self._hidden(tables)[0], 0.0), 1.0)

    def interval(
        self, noisy: NoisyCounts, units: Units, confidence: float, sampling: float = 0.0
    ) -> tuple[float, float]:
        """With what bins hide: added to the noise, but as independent of the sampling error.

        Precisions are cut off at 1, which biases simulated averages of them: so their interval is
        also turned around, at the estimate. The histograms of K classes are of the same records:
        the variance of a sum of K errors is at most K times the sum of their variances. That of an
        area A from pairs is at most A (1 - A) by the size of the smaller class (van Dantzig, 1951).
        """
        value = float(self.raw(likely(self.counts, noisy.counts, units), units)[0])
        if isinstance(self.counts, PairCounts):
            ends = super().interval(noisy, units, confidence)
            n = self.counts.smaller_class(noisy.counts, units)
            return sampled_mean(value, 0.0, ends, n, confidence) if sampling else ends
        times = sampling * math.sqrt(len(self.positions))
        low, high = super().interval(noisy, units, confidence, times)
        if self.name == "average_precision":
            low, high = min(low, 2 * value - high), max(high, 2 * value - low)
        shift, off = self._hidden(self._likely_tables(noisy.counts, units))
        join = math.hypot if sampling else operator.add
        low, high = value - join(value - low, off), value + join(high - value, off)
        return max(low + shift, 0.0), min(high + shift, 1.0)

    def raw(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        if isinstance(self.counts, PairCounts):
            return self.counts.area(counts, units, undefined)
        areas = [self._area(table, undefined) for table in self._tables(counts, units)]
        found: Floats = np.mean(areas, axis=0)
        return found

    def _tables(self, counts: Floats, units: Units) -> list[Floats]:
        """Return the counts of the classes that are held against the others, in units."""
        tables = zip(self.counts.positives, self.counts.tables(counts), strict=True)
        return [table / unit_weight(units) for i, table in tables if i in self.positions]

    def _likely_tables(self, counts: Sequence[int], units: Units) -> list[Floats]:
        """Return possible tables near noisy ones."""
        tables = self._tables(likely(self.counts, counts, units)[0], units)
        return [monotone(table) for table in tables] if self.smooth else tables

    def _area(self, table: Floats, undefined: float | None = None, tied: bool = True) -> Floats:
        if self.name == "average_precision":
            tied = tied and self.counts.repeated
            return average_precision(table, undefined, tied, record=1.0)
        return roc_auc(table, undefined)

    def _hidden(self, tables: list[Floats]) -> tuple[float, float]:
        """Return what the order within bins adds to the mean area, and how far off that may be."""
        if self.counts.separate:
            return 0.0, 0.0
        area = partial(self._area, tied=False)
        found = [hidden_order(area, table, float(self._area(table))) for table in tables]
        shift, off = np.mean(found, axis=0).tolist()
        return shift, off

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
