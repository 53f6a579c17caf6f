"""Histograms of scores in each class, from which curves are computed (zone: sensitive).

A record has one score for two classes, and one per class for more. It falls into one bin of each
score, so it is counted once per score, whatever the bins are. The bins are public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._labels import class_numbers, encode
from ._metrics import ratio
from ._queries import Cells
from ._response import Predictions, class_scores, few

_FEWEST, _USUAL, _MOST = 10, 50, 400
# Where noise is negligible, one bin for this many units of epsilon m.
_UNITS_PER_BIN = 2_000


def n_bins(m: int, epsilon: float) -> int:
    """Return how many bins suit m units and this epsilon: sqrt(m epsilon) / 1.5, from 10 to 50.

    More bins hide less of the order of scores, but add up more noise; where that is negligible,
    there are up to 400.
    """
    most = min(max(_USUAL, m * epsilon / _UNITS_PER_BIN), _MOST)
    return int(min(max(math.sqrt(m * epsilon) / 1.5, _FEWEST), most))


def usual_cut(response: NDArray[Any], positive: int = 1) -> float:
    """Return the lowest score of two classes with which classifiers predict the positive one.

    They predict the second if its probability is above 1/2, or its decision value above 0.
    """
    cut = 0.5 if np.ndim(response) == 2 else 0.0
    return math.nextafter(cut, 1.0) if positive == 1 else cut


@dataclass(frozen=True, eq=False)
class ScoreHistogram(Cells):
    """How many records of a class, and of the others, there are in each bin of each score.

    A table for each score: first the bins of the negative class (of several: of all others), then
    those of the positive one, whose position among the sorted `classes` is in `positives`: one of
    two, or all. Of each score, `edges` ascend; a bin includes its lower edge. `cut` is the number
    of the edge from which on the positive one of two classes counts as predicted; predictions are
    so if `follows`. Most public records share their score with others if `repeated`; every score
    has a bin of its own if `separate`.

    Records of unknown labels follow: in one cell or, of two classes, in one for each prediction by
    the cut. So matrices count them, as scikit-learn does; curves leave them out. `edge` is the
    number of another edge than the cut to compute matrices for.
    """

    edges: tuple[tuple[float, ...], ...]
    classes: NDArray[Any]
    positives: tuple[int, ...]
    response_method: tuple[str, ...]
    cut: int = 0
    follows: bool = False
    repeated: bool = False
    separate: bool = False
    edge: int | None = None
    what = "histogram of scores"

    @classmethod
    def at(
        cls,
        public: Predictions,
        classes: NDArray[Any],
        positives: tuple[int, ...],
        response_method: tuple[str, ...],
        n: int,
        *,
        cut: float | None = None,
        also: tuple[float, ...] = (),
        follows: bool = False,
    ) -> ScoreHistogram:
        """Place about n bins of each score, by the scores of public records.

        Half of them are such that records of each class fill them evenly. The others are spread
        evenly, as a model scores records that it was fitted on too well. Of two classes, `cut` is
        an edge; None is `usual_cut`. So are the numbers in `also`.
        """
        binary = len(positives) == 1
        cut = usual_cut(public.response, positives[0]) if cut is None else cut
        more = (cut, *also) if binary else ()
        columns, code = class_scores(public.response, positives).T, encode(public.y, classes)
        edges = tuple(
            _edges(s, code == c, n, more) for c, s in zip(positives, columns, strict=True)
        )
        place = edges[0].index(cut) if binary else 0
        repeated = all(len(np.unique(s)) <= len(s) / 2 for s in columns)
        separate = repeated and all(few(s, n) for s in columns)
        own = (edges, classes, positives, response_method)
        return cls(*own, place, follows, repeated, separate)

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        """One bin per score.

        A score that is not a number is placed as badly as possible.
        """
        code = class_numbers(y, self.classes)
        columns, first = [], 0
        scores = class_scores(response, self.positives)
        for c, edges, s in zip(self.positives, self.edges, scores.T, strict=True):
            positive, n = code == c, len(edges) + 1
            worst = np.where(positive, 0, n - 1)
            place = np.where(np.isnan(s), worst, np.searchsorted(edges, s, side="right"))
            unknown = 2 * n + (place > self.cut) * (self.n_unknown - 1)
            columns.append(
                first + np.where(code == len(self.classes), unknown, positive * n + place)
            )
            first += 2 * n + self.n_unknown
        return np.stack(columns, axis=1)

    def lowest_values(self, y: Any, n: int) -> NDArray[np.intp]:
        """A record that cannot be predicted stands where its class should not."""
        return self.record_values(y, np.full((n, len(self.classes)), np.nan), None)

    @property
    def known_sizes(self) -> tuple[int, ...]:
        return tuple(2 * (len(edges) + 1) for edges in self.edges)

    @property
    def n_unknown(self) -> int:
        return 2 if len(self.positives) == 1 else 1

    @property
    def predicted(self) -> NDArray[np.intp]:
        """The classes that scores below and above the cut stand for, of two."""
        (positive,) = self.positives
        return np.array([1 - positive, positive])

    def matrices(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Return confusion matrices of two classes, shape (..., 2, 2): predictions by the cut.

        With unknown labels, they have another row.
        """
        (table,) = self.tables(counts)
        below = table[..., : self._at + 1].sum(axis=-1)
        found = np.stack([below, table.sum(axis=-1) - below], axis=-1)[..., self.predicted, :]
        if self.unknown:
            row = self._unknown_below_and_above(counts[..., -2:], table.sum(axis=-2))
            found = np.concatenate([found, row[..., None, :]], axis=-2)
        return np.asarray(found[..., self.predicted])

    @property
    def _at(self) -> int:
        return self.cut if self.edge is None else self.edge

    def _unknown_below_and_above(self, counts: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
        """Return how many records of unknown labels there are below an edge, and above it.

        At the cut that is counted. At another edge, they are spread over the bins on their side of
        the cut as known labels are.
        """
        lower, upper = np.split(known, [self.cut + 1], axis=-1)
        n_lower, n_upper = self._at + 1, max(self._at - self.cut, 0)
        shares = [
            ratio(lower[..., :n_lower].sum(axis=-1), lower.sum(axis=-1), 1.0),
            ratio(upper[..., :n_upper].sum(axis=-1), upper.sum(axis=-1)),
        ]
        below = (counts * np.stack(shares, axis=-1).clip(0.0, 1.0)).sum(axis=-1)
        return np.stack([below, counts.sum(axis=-1) - below], axis=-1)

    def tables(self, counts: NDArray[Any]) -> list[NDArray[Any]]:
        """Return, for each score, the counts of known labels, of shape (..., 2, n_bins)."""
        pairs = zip(self.by_table(counts), self.known_sizes, strict=True)
        return [p[..., :n].reshape(*p.shape[:-1], 2, -1) for p, n in pairs]


def _edges(
    scores: NDArray[np.float64],
    high: NDArray[np.bool_],
    n: int,
    more: tuple[float, ...],
) -> tuple[float, ...]:
    """Return quantiles of scores in which both classes weigh the same, even places, and more."""
    finite = np.isfinite(scores)
    scores, high = scores[finite], high[finite]
    if not len(scores):
        return more or (0.0,)
    distinct = np.unique(scores)
    between = (distinct[:-1] + distinct[1:]) / 2
    if few(scores, n):  # as a tree's: each has a bin, and nothing is hidden
        return tuple(np.unique([*between, *more]).tolist())
    evenly = np.linspace(scores.min(), scores.max(), n - n // 2 + 1)
    n, more = n // 2, (*evenly[1:-1].tolist(), *more)
    share = np.mean([_shares_below(distinct, s) for s in (scores[high], scores[~high])], axis=0)
    quantiles = distinct[np.searchsorted(share, np.arange(1, n) / n * share[-1])]
    return tuple(np.unique([*quantiles, *more]).tolist())


def _shares_below(
    distinct: NDArray[np.float64], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return which share of one class's scores is below each of these, interpolated between them.

    If edges were put on the scores of a rare class, each of its records would be the lowest of its
    bin.
    """
    if not len(scores):
        return np.zeros(len(distinct))
    known, counts = np.unique(scores, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2) / len(scores)
    return np.interp(distinct, known, middle, left=0.0, right=1.0)
