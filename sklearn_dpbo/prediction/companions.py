"""Companions: training rows beside protected ones in every prediction (zone: public).

No protected record is predicted alone or first. An estimator that treats the first or a single
record in a special way does so with companions. Their predictions are known, so a record that
changes them is detected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records.public_rows import companion_rows
from ..records.split import Problem
from ..records.tables import dense, n_rows, take_rows


@dataclass(frozen=True, eq=False)
class Companions:
    """Training rows with the dtypes of the protected table; `n_above` stand above, others below."""

    X: Any
    y: NDArray[Any] | None
    n_above: int

    @classmethod
    def of(cls, problem: Problem) -> Companions:
        """Choose companions among the training rows."""
        training = problem.training
        above, below = companion_rows(training.X, training.y)
        rows = np.concatenate([above, below])
        y = None if training.y is None else dense(take_rows(training.y, rows))
        return cls(take_rows(training.X, rows), y, len(above))

    def __len__(self) -> int:
        return n_rows(self.X)
