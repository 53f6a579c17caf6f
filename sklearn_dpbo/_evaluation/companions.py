"""Training rows that stand beside protected ones in every prediction (zone: public).

No protected record is predicted alone or first: what an estimator takes from the first record, or
does to a single one, it takes from and does to these. What they are predicted as is known, so that
a record that changes it is found out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.split import Problem, Training
from .._data.tables import dense, is_frame, is_series, n_rows, take_rows
from .odd_rows import SPECIAL

__all__ = ["Companions", "missing_cells", "spread_rows", "with_own_labels"]

# Training rows spread over the labels; in addition rows with missing and with special values.
_N_SPREAD, _N_MISSING, _N_SPECIAL = 16, 4, 4
# Training rows that are looked through for missing and special values.
_MOST_ROWS = 2**12
# Of companions that are numbered.
_FIRST_LABEL = -(2**62)


@dataclass(frozen=True, eq=False)
class Companions:
    """Training rows that stand above and below protected ones.

    Parameters
    ----------
    X : table of shape (n, n_features)
        With the dtypes of the protected table.
    y : ndarray of shape (n,) or (n, n_outputs), or None
        Their labels.
    n_above : int
        How many stand above; the rest stands below.
    copies : bool
        Whether cells may be written into, so that they are copied for each prediction.
    """

    X: Any
    y: NDArray[Any] | None
    n_above: int
    copies: bool

    @classmethod
    def of(cls, problem: Problem) -> Companions:
        """Choose companions among the training rows."""
        training = problem.training
        rows = _chosen(training)
        X = with_own_labels(take_rows(training.X, rows))
        y = None if training.y is None else dense(take_rows(training.y, rows))
        return cls(X, y, len(rows) - len(rows) // 2, training.copies)

    def __len__(self) -> int:
        return n_rows(self.X)


def _chosen(training: Training) -> NDArray[np.intp]:
    """Return row numbers: spread over the labels, those with missing values first and last."""
    spread = spread_rows(training.X, training.y, _N_SPREAD)
    # Each half has records of all labels.
    spread = np.concatenate([spread[::2], spread[1::2]])
    sample = spread_rows(training.X, None, _MOST_ROWS)
    X = take_rows(training.X, sample)
    special = _with_special_values(take_rows(training.X, spread), X)
    spread = np.concatenate([spread[:1], sample[special], spread[1:]])
    missing = missing_cells(X)
    if missing is None or not missing.any():
        return spread
    most = np.argsort(-missing.sum(axis=1), kind="stable")[:_N_MISSING]
    holes = sample[most[missing[most].any(axis=1)]]
    return np.concatenate([holes[::2], spread, holes[1::2], holes[:1]])


def _with_special_values(chosen: Any, X: Any) -> list[int]:
    """Return rows of X with most special numbers that no row chosen so far has in that column."""
    lacking = _special_cells(X)
    found: list[int] = []
    if lacking is None:
        return []
    lacking &= ~_special_cells(chosen).any(axis=0)
    while len(found) < _N_SPECIAL and lacking.any():
        found.append(int(lacking.sum(axis=1).argmax()))
        lacking &= ~lacking[found[-1]]
    return found


def _special_cells(X: Any) -> Any:
    """Return which cells are special numbers, shape (n, n_columns * 5); None without columns."""
    if is_frame(X):
        X = X.select_dtypes("number").to_numpy(float, na_value=np.nan)
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "iuf":
        return None
    return np.concatenate([number == X for number in (*SPECIAL, np.inf, -np.inf)], axis=1)


def spread_rows(X: Any, y: Any, n: int) -> NDArray[np.intp]:
    """Return at most n row numbers, spread evenly over the sorted labels, or else over the rows."""
    order = np.arange(n_rows(X)) if y is None or dense(y).ndim > 1 else _argsort(dense(y))
    rows: NDArray[np.intp] = order[np.unique(np.linspace(0, len(order) - 1, n).astype(int))]
    return rows


def with_own_labels(rows: Any) -> Any:
    """Return rows whose labels, if they are numbers, are ones that no other rows have.

    Rows of a training and of a validation frame are often numbered alike, from 0.
    """
    if (
        (is_frame(rows) or is_series(rows))
        and rows.index.nlevels == 1
        and rows.index.dtype.kind in "iu"
    ):
        return rows.set_axis(_FIRST_LABEL + np.arange(n_rows(rows)), axis=0)
    return rows


def missing_cells(X: Any) -> NDArray[np.bool_] | None:
    """Return which cells are missing, shape (n, n_features); None if the table cannot say."""
    if is_frame(X):
        missing: NDArray[np.bool_] = X.isna().to_numpy()
        return missing
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
        return np.isnan(X)
    return None


def _argsort(y: NDArray[Any]) -> NDArray[np.intp]:
    try:
        return np.argsort(y, kind="stable")
    except TypeError:  # labels that have no order
        return np.arange(len(y))
