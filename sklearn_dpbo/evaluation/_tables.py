"""From the counts of a classifier to tables and confusion matrices (zone: released).

A table has a row of counts for the negative and one for the positive class, by ascending bin of the
score; there is one for two classes, and one per class for more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._params import check_number
from ..scoring._labels import equal
from ._base import Evaluation
from ._design import ClassifierDesign

__all__ = ["ScoreTables"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ScoreTables(Evaluation):
    """Base class of `ClassifierEvaluation`: classes, thresholds and tables of counts."""

    _design: ClassifierDesign

    @property
    def classes(self) -> NDArray[Any]:
        """Class labels in sorted order."""
        return self._design.histogram.classes

    @property
    def pos_label(self) -> Any:
        """The positive class of two; None for more classes."""
        return self.classes[self._design.positive] if self._binary else None

    @property
    def thresholds(self) -> Floats:
        """Available thresholds for the score of the positive class, ascending."""
        return np.sort(self._as_thresholds())

    @property
    def threshold(self) -> float:
        """The classifier's own threshold."""
        return float(self._as_thresholds()[self._design.edge])

    @property
    def _binary(self) -> bool:
        return len(self.classes) == 2

    @property
    def _n_scores(self) -> int:
        return len(self._design.histogram.edges)

    @property
    def _mirrored(self) -> bool:
        """Whether the first one of two classes is positive; counts are by the second's score."""
        return self._binary and self._design.positive == 0

    def _require_binary(self, what: str) -> None:
        if not self._binary:
            raise ValueError(f"{what} for two classes; there are {len(self.classes)}")

    def _as_thresholds(self) -> Floats:
        """Return the edges of bins, in their order, as thresholds of the positive class's score."""
        self._require_binary("thresholds are")
        edges = np.array(self._design.histogram.edges[0])
        if not self._mirrored:
            return edges
        return -edges if self._design.moments is None else 1 - edges

    def _tables(self, counts: Floats) -> list[Floats]:
        """Return the tables of all scores, each of shape (n, 2, n_bins)."""
        tables = self._design.histogram.tables(counts)
        return [table[..., ::-1, ::-1] for table in tables] if self._mirrored else tables

    def _table(self, c: int) -> Floats:
        """Return the table of one score, as released; no count is negative."""
        table: Floats = self._tables(self._counts())[c][0]
        return table

    def _edges(self, c: int) -> Floats:
        return self.thresholds if self._binary else np.array(self._design.histogram.edges[c])

    def _probabilities(self, c: int) -> Floats:
        """Return mean and mean square of one score in each of its bins, shape (2, n_bins)."""
        if self._design.moments is None:
            raise ValueError(
                "the scores are not probabilities: the classifier has no predict_proba. "
                "CalibratedClassifierCV gives it one"
            )
        moments: Floats = self._design.moments[c]
        if not self._mirrored:
            return moments
        mean, square = moments[:, ::-1]
        return np.stack([1 - mean, 1 - 2 * mean + square])

    def _score_of(self, label: Any) -> int:
        """Return the index of the score of this class."""
        if self._binary:
            if label is not None and not equal(np.array([self.pos_label]), label)[0]:
                raise ValueError(f"label must be the pos_label {self.pos_label!r}; found {label!r}")
            return 0
        found = np.flatnonzero(equal(self.classes, label))
        if not len(found):
            raise ValueError(
                f"label is one of the classes {self.classes.tolist()}, to hold against the others; "
                f"found {label!r}"
            )
        return int(found[0])

    def _own_class(self, c: int) -> Any:
        """Return the class of a score, as a Python object."""
        return self.classes.tolist()[self._design.positive if self._binary else c]

    def _name(self, label: Any) -> str | None:
        """Return the name of a score for legends; None if there is only one."""
        return None if self._binary else f"{label} against the rest"

    def _confusion(self, threshold: float | None) -> Callable[[Floats], Floats]:
        """Return the function from counts (of the first part) to confusion matrices."""
        K, weight = len(self.classes), self._weight
        if not self._binary:
            if threshold is not None:
                self._require_binary("a threshold is")
            return lambda counts: counts.reshape(-1, K, K) / weight
        edge = self._design.edge
        if threshold is not None:
            check_number("threshold", threshold, "a number")
            edge = int(np.argmin(np.abs(self._as_thresholds() - threshold)))
        return lambda counts: self._design.histogram.confusion(counts, edge) / weight
