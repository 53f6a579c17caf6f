"""Training rows that stand beside protected ones in every prediction (zone: public).

No protected record is predicted alone or first: what an estimator takes from the first record, or
does to a single one, it takes from and does to these. What they are predicted as is known, so that
a record that changes it is found out.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.split import Problem
from .._data.tables import dense, n_rows, take_rows

__all__ = ["Companions", "spread_rows"]

# Training rows spread over the labels.
_N = 16


@dataclass(frozen=True, eq=False)
class Companions:
    """Training rows with the dtypes of the protected table: n_above stand above, the rest below."""

    X: Any
    y: NDArray[Any] | None
    n_above: int

    @classmethod
    def of(cls, problem: Problem) -> Companions:
        """Choose companions among the training rows."""
        training = problem.training
        rows = spread_rows(training.X, training.y, _N)
        rows = np.concatenate([rows[::2], rows[1::2][::-1]])  # all labels above, and below
        y = None if training.y is None else dense(take_rows(training.y, rows))
        return cls(take_rows(training.X, rows), y, len(rows) - len(rows) // 2)

    def __len__(self) -> int:
        return n_rows(self.X)


def spread_rows(X: Any, y: Any, n: int) -> NDArray[np.intp]:
    """Return at most n row numbers, spread evenly over the sorted labels, or else over the rows."""
    order = np.arange(n_rows(X))
    if y is not None and dense(y).ndim == 1:
        with suppress(TypeError):  # labels that have no order
            order = np.argsort(dense(y), kind="stable")
    rows: NDArray[np.intp] = order[np.unique(np.linspace(0, len(order) - 1, n).astype(int))]
    return rows

