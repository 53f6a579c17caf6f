"""Histograms of the scores of each class, for curves (zone: sensitive).

With two classes a record has one score, with more it has one per class. It is counted in one bin of
each score, whatever the bins are. The bins are public.
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

# Fewest bins, most bins, and most bins where noise is negligible.
_FEWEST = 10
_USUAL = 50
_MOST = 400
# Epsilon m per bin, where noise is negligible.
_UNITS_PER_BIN = 2_000


def n_bins(m: int, epsilon: float) -> int:
    """Choose the number of bins for m units: sqrt(m epsilon) / 1.5, from 10 to 50.

    More bins hide less of the order of scores, but add up more noise. Where noise is negligible,
    there are up to 400.
    """
    most = min(max(_USUAL, m * epsilon / _UNITS_PER_BIN), _MOST)
    return int(min(max(math.sqrt(m * epsilon) / 1.5, _FEWEST), most))


def usual_cut(response: NDArray[Any], positive: int = 1) -> float:
    """Return the lowest score for which classifiers predict the positive one of two classes.

    They predict the second class if its probability is above 1/2, or its decision value above 0.
    """
    cut = 0.5 if np.ndim(response) == 2 else 0.0
    return math.nextafter(cut, 1.0) if positive == 1 else cut


@dataclass(frozen=True, eq=False)
class ScoreHistogram(Cells):
    """Histogram of each score, for the records of its class and for all others.

    There is a table for each score: first the bins of the negative class (all other classes), then
    those of the positive class. `positives` are the positions of the positive classes among the
    sorted `classes`: one of two, or all. The last cells count records of unknown labels: one cell
    or, for two classes, one for each prediction by the cut. So confusion matrices count them, as
    scikit-learn does, and curves do not.

    Parameters
    ----------
    edges : tuple of tuple of float
        Edges of the bins of each score, ascending; a bin includes its lower edge.
    cut : int
        Number of the edge from which on the positive one of two classes counts as predicted.
    follows : bool
        Whether the model's predictions are those by the cut.
    repeated : bool
        Whether most public records share their score with others.
    separate : bool
        Whether every score has a bin of its own.
    edge : int or None
        Number of another edge than `cut` to compute matrices for.
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

        Half of the edges are quantiles of the scores, in which both classes have the same weight.
        The other half is evenly spaced, as the scores of records that a model was fitted on are too
        good. For two classes, `cut` (None: `usual_cut`) and the numbers in `also` are edges, too.
        """
        binary = len(positives) == 1
        cut = usual_cut(public.response, positives[0]) if cut is None else cut
        required = (cut, *also) if binary else ()
        columns = class_scores(public.response, positives).T
        code = encode(public.y, classes)
        edges = tuple(
            _edges(scores, code == position, n, required)
            for position, scores in zip(positives, columns, strict=True)
        )
        repeated = all(len(np.unique(scores)) <= len(scores) / 2 for scores in columns)
        return cls(
            edges,
            classes,
            positives,
            response_method,
            cut=edges[0].index(cut) if binary else 0,
            follows=follows,
            repeated=repeated,
            separate=repeated and all(few(scores, n) for scores in columns),
        )

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        """Return the cell of each score; NaN is in the worst bin."""
        code = class_numbers(y, self.classes)
        columns = []
        first = 0
        all_scores = class_scores(response, self.positives)
        for position, edges, scores in zip(self.positives, self.edges, all_scores.T, strict=True):
            is_positive = code == position
            n = len(edges) + 1
            worst = np.where(is_positive, 0, n - 1)
            bins = np.searchsorted(edges, scores, side="right")
            bins = np.where(np.isnan(scores), worst, bins)
            cell_of_unknown = 2 * n + (bins > self.cut) * (self.n_unknown - 1)
            is_unknown = code == len(self.classes)
            columns.append(first + np.where(is_unknown, cell_of_unknown, is_positive * n + bins))
            first += 2 * n + self.n_unknown
        return np.stack(columns, axis=1)

    def lowest_values(self, y: Any, n: int) -> NDArray[np.intp]:
        """Return the worst bin for each record that cannot be predicted."""
        return self.record_values(y, np.full((n, len(self.classes)), np.nan), None)

    @property
    def known_sizes(self) -> tuple[int, ...]:
        return tuple(2 * (len(edges) + 1) for edges in self.edges)

    @property
    def n_unknown(self) -> int:
        return 2 if len(self.positives) == 1 else 1

    @property
    def predicted(self) -> NDArray[np.intp]:
        """Positions of the classes that are predicted below and above the cut."""
        (positive,) = self.positives
        return np.array([1 - positive, positive])

    def matrices(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Return confusion matrices of two classes, for predictions by the cut or by `edge`.

        Their shape is (..., 2, 2); unknown labels have another row.
        """
        (table,) = self.tables(counts)
        below = table[..., : self._at + 1].sum(axis=-1)
        matrices = np.stack([below, table.sum(axis=-1) - below], axis=-1)[..., self.predicted, :]
        if self.unknown:
            row = self._unknown_below_and_above(counts[..., -2:], table.sum(axis=-2))
            matrices = np.concatenate([matrices, row[..., None, :]], axis=-2)
        return np.asarray(matrices[..., self.predicted])

    @property
    def _at(self) -> int:
        """Number of the edge that matrices are computed for."""
        return self.cut if self.edge is None else self.edge

    def _unknown_below_and_above(self, counts: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of records of unknown labels below and above the edge, shape (..., 2).

        Those below and above the cut are counted. For another edge, the records on each side of the
        cut are assumed to be distributed over the bins as known labels are.
        """
        lower, upper = np.split(known, [self.cut + 1], axis=-1)
        n_lower = self._at + 1
        n_upper = max(self._at - self.cut, 0)
        shares = [
            ratio(lower[..., :n_lower].sum(axis=-1), lower.sum(axis=-1), 1.0),
            ratio(upper[..., :n_upper].sum(axis=-1), upper.sum(axis=-1)),
        ]
        below = (counts * np.stack(shares, axis=-1).clip(0.0, 1.0)).sum(axis=-1)
        return np.stack([below, counts.sum(axis=-1) - below], axis=-1)

    def tables(self, counts: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the counts of known labels for each score, shape (..., 2, n_bins)."""
        tables = zip(self.by_table(counts), self.known_sizes, strict=True)
        return [table[..., :n].reshape(*table.shape[:-1], 2, -1) for table, n in tables]


def _edges(
    scores: NDArray[np.float64],
    is_positive: NDArray[np.bool_],
    n: int,
    required: tuple[float, ...],
) -> tuple[float, ...]:
    """Return the edges of about n bins: quantiles, evenly spaced edges, and the `required` ones.

    In the quantiles, positive records together have the same weight as negative ones.
    """
    finite = np.isfinite(scores)
    scores = scores[finite]
    is_positive = is_positive[finite]
    if not len(scores):
        return required or (0.0,)
    distinct = np.unique(scores)
    if few(scores, n):  # such as those of a tree: each has a bin, which hides no order
        between = (distinct[:-1] + distinct[1:]) / 2
        return tuple(np.unique([*between, *required]).tolist())
    n_quantiles = n // 2
    evenly = np.linspace(scores.min(), scores.max(), n - n_quantiles + 1)[1:-1].tolist()
    by_class = (scores[is_positive], scores[~is_positive])
    shares = np.mean([_shares_below(distinct, of_class) for of_class in by_class], axis=0)
    targets = np.arange(1, n_quantiles) / n_quantiles * shares[-1]
    quantiles = distinct[np.searchsorted(shares, targets)]
    return tuple(np.unique([*quantiles, *evenly, *required]).tolist())


def _shares_below(
    distinct: NDArray[np.float64], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of a class's `scores` below each number in `distinct`, interpolated.

    Interpolation avoids edges at the scores of a rare class, where each of its records would be the
    lowest of its bin.
    """
    if not len(scores):
        return np.zeros(len(distinct))
    points, counts = np.unique(scores, return_counts=True)
    middles = (np.cumsum(counts) - counts / 2) / len(scores)
    return np.interp(distinct, points, middles, left=0.0, right=1.0)
