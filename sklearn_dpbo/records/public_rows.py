"""Training rows that are predicted next to protected rows, or in their place (zone: public)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from .tables import as_table, dense, n_rows, narrowed, of_own_rows, take_rows

# Number of training rows, spread over the labels, that are predicted next to protected rows,
_COMPANIONS = 16
# and in their place.
_IN_PLACE = 32

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PublicSample:
    """Some training rows as the user passed them: companions above, others, companions below.

    If they were passed in one table with protected rows, everything that those rows decided is
    removed: texts are as wide as the longest public one, and the index holds row `numbers` of the
    training set. `like` and `like_y` are tables without rows, of the types that protected records
    and labels declare.
    """

    numbers: Rows
    X: Any
    y: Any
    like: Any = None
    like_y: Any = None

    @classmethod
    def of(
        cls, training: Any, X: Any, y: Any, train: Rows | None, X_val: Any, y_val: Any
    ) -> PublicSample:
        """Take rows of the X and y that `training` was made from.

        `train` are the numbers of the rows of X that are training rows; None if all are. If
        scikit-learn cannot index a table, the rows are taken from `training`.
        """
        above, below = companion_rows(training.X, training.y)
        rows = np.concatenate([above, spread_rows(training.X, training.y, _IN_PLACE), below])
        y_read = None if training.y is None else take_rows(training.y, rows)
        as_read = cls(rows, take_rows(training.X, rows), y_read)
        with suppress(Exception):
            no_rows = rows[:0]
            like = _taken_alone(X_val, no_rows, no_rows)
            like_y = _taken_alone(y_val, no_rows, no_rows)
            if train is None:
                return cls(rows, taken(X, rows), taken(y, rows), like, like_y)
            X_alone = _taken_alone(X, train[rows], rows)
            y_alone = _taken_alone(y, train[rows], rows)
            return cls(rows, X_alone, of_own_rows(y_alone), like, like_y)
        return as_read


def spread_rows(X: Any, y: Any, n: int) -> Rows:
    """Select at most n row numbers, evenly over the sorted labels, or else over the rows."""
    order = np.arange(n_rows(X))
    if y is not None and dense(y).ndim == 1:
        with suppress(TypeError):  # labels that have no order
            order = np.argsort(dense(y), kind="stable")
    rows: Rows = order[np.unique(np.linspace(0, len(order) - 1, n).astype(int))]
    return rows


def companion_rows(X: Any, y: Any) -> tuple[Rows, Rows]:
    """Select training rows, of all labels, to put above and below protected rows."""
    rows = spread_rows(X, y, _COMPANIONS)
    return rows[::2], rows[1::2][::-1]


def taken(table: Any, rows: Rows) -> Any:
    """Take rows of a table of any kind, with their index."""
    return None if table is None else _safe_indexing(table, rows)


def _taken_alone(table: Any, rows: Rows, index: Rows) -> Any:
    """Take rows of a table of any kind, without anything that other rows decided.

    They are numbered by `index`. Frames of other libraries, which may keep the texts of all rows in
    memory, become frames of pandas.
    """
    part = taken(table, rows)
    part = as_table(part) if hasattr(part, "to_pandas") else part
    if hasattr(part, "iloc"):
        part = part.set_axis(index, axis=0)
        part.attrs = {}
    return narrowed(part)
