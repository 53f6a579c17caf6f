"""Scores of decision thresholds on the validation set (zone: sensitive).

Each protected record is predicted once. Its response determines its label at each threshold; the
values of both labels are computed at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics._queries import Query, Stepwise
from ..metrics._response import class_scores
from ..records.units import Units


@dataclass(frozen=True)
class LabelGains(Query):
    """Query for the response and the values of both labels, shape (n_records, 3).

    The statistic by which thresholds are compared is a function of the same values.
    """

    counts: Query
    response_method: tuple[str, ...]

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        """Return the response, and the values of both labels for `counts`."""
        labels = (np.full(len(y), label) for label in classes)
        counted = [self.counts.record_values(y, column, classes) for column in labels]
        return np.stack([class_scores(response)[:, 0], *counted], axis=1)

    def lowest_values(self, y: Any, n: int) -> NDArray[Any]:
        """Return the values of records that cannot be predicted: the lowest at any threshold."""
        counted = self.counts.lowest_values(y, n)
        return np.stack([np.zeros(n), counted, counted], axis=1)

    def statistics_at(
        self, thresholds: Iterable[float], values: NDArray[Any], y: Any, units: Units, query: Query
    ) -> NDArray[np.int64]:
        """Count the labels at each threshold: a row of the query's integers for each."""
        levels, position = np.unique(np.fromiter(thresholds, dtype=float), return_inverse=True)
        response = values[:, 0]
        first, second = values[:, 1:].T.astype(int)
        # The second class is predicted from the threshold on; never for NaN.
        n_reached = np.searchsorted(levels, response, side="right")
        n_reached[np.isnan(response)] = 0
        labelled = Stepwise(first, second, n_reached, len(levels))
        return query.statistics_by_level(labelled, y, units)[position]
