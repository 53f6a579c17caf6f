"""How many protected records have each label (zone: sensitive)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._data.divided_table import DividedTable
from .._privacy.sensitive import Sensitive
from ..learners._labels import targets_of
from ..scoring._labels import encode
from ..scoring._queries import unit_weight

__all__ = ["count_labels"]


@np.errstate(all="ignore")  # a warning would tell of a record
def count_labels(table: DividedTable) -> Sensitive:
    """Return the weight of the second part's records that have each label, or one nearest to it.

    A unit adds W to the counts, and so does what replaces it: they move by 2 W together.
    """
    y, labels, units = table.y_val, table.labels, table.units_val
    place = encode(y, labels) if table.classes else _nearest(targets_of(y, len(y)), labels)
    W = unit_weight(units)
    counts = np.zeros(len(labels), dtype=np.int64)
    np.add.at(counts, place[place >= 0], units.record_weights(W)[place >= 0])
    return Sensitive([counts], 2 * W)


def _nearest(y: NDArray[np.float64], labels: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the position of the label that is nearest; -1 of what is no number."""
    edges = (labels[1:] + labels[:-1]) / 2
    found: NDArray[np.intp] = np.where(np.isnan(y), -1, np.searchsorted(edges, y))
    return found
