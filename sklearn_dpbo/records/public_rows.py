"""Training rows that are predicted beside protected ones, or in their place (zone: public)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from .tables import as_table, dense, n_rows, narrowed, of_own_rows, take_rows

# Training rows spread over the labels: beside protected ones, and in the place of such.
_COMPANIONS, _IN_PLACE = 16, 32

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PublicSample:
    """Some training rows as the user gave them: companions above, others, companions below.

    If they were given in one table with protected rows, nothing is left that those decided, such
    as how wide texts are, and which labels rows have: these are the `numbers`.

    `numbers` are theirs in the training set; `like` and `like_y` have no rows, but the types that
    protected records and labels declare.
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
        """Take rows of X and y, of which `training` was made: of all, or of those numbered train.

        Tables that scikit-learn cannot index are taken as they are read.
        """
        above, below = companion_rows(training.X, training.y)
        rows = np.concatenate([above, spread_rows(training.X, training.y, _IN_PLACE), below])
        own_y = None if training.y is None else take_rows(training.y, rows)
        as_read = cls(rows, take_rows(training.X, rows), own_y)
        with suppress(Exception):
            none = rows[:0]
            like = _taken_alone(X_val, none, none), _taken_alone(y_val, none, none)
            if train is None:
                return cls(rows, taken(X, rows), taken(y, rows), *like)
            given, given_y = (_taken_alone(table, train[rows], rows) for table in (X, y))
            return cls(rows, given, of_own_rows(given_y), *like)
        return as_read


def spread_rows(X: Any, y: Any, n: int) -> Rows:
    """Return at most n row numbers, spread evenly over the sorted labels, or else over the rows."""
    order = np.arange(n_rows(X))
    if y is not None and dense(y).ndim == 1:
        with suppress(TypeError):  # labels that have no order
            order = np.argsort(dense(y), kind="stable")
    rows: Rows = order[np.unique(np.linspace(0, len(order) - 1, n).astype(int))]
    return rows


def companion_rows(X: Any, y: Any) -> tuple[Rows, Rows]:
    """Return the numbers of rows that stand above and below protected ones: of all labels."""
    rows = spread_rows(X, y, _COMPANIONS)
    return rows[::2], rows[1::2][::-1]


def taken(table: Any, rows: Rows) -> Any:
    """Return rows of a table of any kind, in this kind, with their labels."""
    return None if table is None else _safe_indexing(table, rows)


def _taken_alone(table: Any, rows: Rows, labels: Rows) -> Any:
    """Return rows of a table, in its kind, of which no other row decided anything.

    Frames of other libraries, which may keep the texts of all rows in memory, become pandas'.
    """
    part = taken(table, rows)
    part = as_table(part) if hasattr(part, "to_pandas") else part
    if hasattr(part, "iloc"):
        part = part.set_axis(labels, axis=0)
        part.attrs = {}
    return narrowed(part)
