"""Training rows in two forms: as the user gave them, and as protected rows are read (zone: public).

A model has to predict the same for both. That is tried before anything is charged (`rehearsal`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from .canonical import check_labels, in_one_form
from .tables import as_table, dense, is_frame, is_series, n_rows, take_rows, with_columns

__all__ = ["PublicRows", "companion_rows", "spread_rows", "taken"]

# Training rows spread over the labels: beside protected ones, and in the place of such.
_COMPANIONS, _REHEARSED = 16, 32

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PublicRows:
    """Training rows: companions above (`n_above`), those to be rehearsed, companions below.

    `X` and `y` are in the form of protected rows, and `given`, `given_y` as the user gave them.
    """

    rows: Rows
    n_above: int
    n_below: int
    X: Any
    y: Any
    given: Any
    given_y: Any

    @classmethod
    def of(
        cls,
        training: Any,
        X: Any,
        y: Any,
        numbers: Rows | None = None,
        X_val: Any = None,
        y_val: Any = None,
    ) -> PublicRows:
        """Return rows of the given X and y, of which `training` was made: of all, or of these.

        In the second form, they have the dtypes that X_val and y_val declare, where these can be
        had without a change of any value.
        """
        above, below = companion_rows(training.X, training.y)
        rows = np.concatenate([above, spread_rows(training.X, training.y, _REHEARSED), below])
        of_given = rows if numbers is None else numbers[rows]
        given = take_rows(training.X, rows)
        given_y = None if training.y is None else take_rows(training.y, rows)
        with suppress(Exception):  # of tables that this does not know
            given, given_y = taken(X, of_given), taken(y, of_given)
        _, read = in_one_form(training.X, as_table(_like(given, X_val)))
        labels = None
        if y is not None:
            labels = check_labels(_like(given_y, y_val), dense(training.y), len(rows))
        return cls(of_given, len(above), len(below), read, labels, given, given_y)

    @property
    def rehearsed(self) -> Rows:
        """Positions of those rows that are no companions."""
        return np.arange(self.n_above, len(self.rows) - self.n_below)

    def beside_companions(self, i: int) -> Rows:
        """Return the positions of the companions, and of one row between them."""
        everyone = np.arange(len(self.rows))
        last = len(self.rows) - self.n_below
        return np.concatenate([everyone[: self.n_above], [i], everyone[last:]])


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


def _like(rows: Any, protected: Any) -> Any:
    """Return public rows in the dtypes that protected ones declare, if no value changes."""
    with suppress(Exception):
        if is_frame(rows) and is_frame(protected):
            pairs = enumerate(zip(rows.dtypes, protected.dtypes, strict=True))
            other = {j: dtype for j, (own, dtype) in pairs if own != dtype}
            columns = {j: _cast(rows.iloc[:, j], dtype) for j, dtype in other.items()}
            return with_columns(rows, columns)
        if is_series(rows) or isinstance(rows, np.ndarray):
            return _cast(rows, protected.dtype)
    return rows


def _cast(column: Any, dtype: Any) -> Any:
    """Return a column, or an array, with another dtype, unless a value would change."""
    with suppress(Exception), np.errstate(all="ignore"):
        cast = column.astype(dtype)
        if np.array_equal(np.asarray(cast, dtype=object), np.asarray(column, dtype=object)):
            return cast
    return column
