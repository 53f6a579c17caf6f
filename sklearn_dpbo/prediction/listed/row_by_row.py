"""Test, on training rows, of the user's claim that a model predicts row by row (zone: public).

It finds honest mistakes: a mean of the batch, ranks, values filled in from other rows.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...exceptions import BatchDependentError
from ...metrics._response import respond
from ...privacy.float_errors import ignore_float_errors
from ...records.pickles import fresh
from ...records.public_rows import spread_rows
from ...records.split import Problem
from ...records.tables import copied, is_frame, n_rows, take_rows
from ..responses import agree

# Number of rows that are predicted together, and of those in a small batch.
_N_SAMPLE = 256
_N_FEW = 24
# Methods whose responses determine labels.
_FINER = ("decision_function", "predict_proba")


@dataclass(frozen=True, eq=False)
class RowByRowCheck:
    """Training rows that are predicted together, and then in smaller batches of another order."""

    X: Any

    @classmethod
    def on(cls, problem: Problem) -> RowByRowCheck:
        """Take a sample of the training rows."""
        X = problem.training.X
        return cls(take_rows(X, spread_rows(X, None, _N_SAMPLE)))

    @ignore_float_errors()
    def check(self, pickled: bytes, method: str) -> None:
        """Raise BatchDependentError if responses depend on other rows, or if prediction fails.

        For a classifier's labels, the scores behind them are compared, too, as they show more.
        """
        model = fresh(pickled)
        finer = [name for name in _FINER if method == "predict" and hasattr(model, name)]
        changes = [
            self._changes(pickled, name, X)
            for name in [method, *finer[:1]]
            for X in (self.X, _with_holes(self.X))
        ]
        if True in changes or changes[0] is None:
            raise BatchDependentError(
                f"{type(model).__name__} predicts a training record differently beside other "
                "records, or not at all, so one validation record could change the predictions of "
                "all. Use an estimator without statistics of the batch and without randomness, or "
                'prediction="auto", which predicts one record at a time where it has to'
            )

    def _changes(self, pickled: bytes, method: str, X: Any) -> bool | None:
        """Return True if responses differ in other batches, or fail; None if they fail in all."""
        expected = _respond(pickled, method, X)
        if expected is None:
            return None
        n = n_rows(X)
        classifies = hasattr(fresh(pickled), "classes_")
        all_rows = np.arange(n)
        some = np.random.default_rng(0).permutation(n)[:_N_FEW]
        copies = np.repeat(some[:2], _N_FEW), np.full(_N_FEW, min(3, n - 1))  # row 3 lacks cells
        for rows in (all_rows[::-1], all_rows[::2], some, *copies):
            response = _respond(pickled, method, take_rows(X, rows))
            if response is None or not agree(response, expected[rows], expected, classifies):
                return True
        return False


def _respond(pickled: bytes, method: str, X: Any) -> Any:
    with suppress(Exception):
        return respond(fresh(pickled), copied(X), (method,)).copy()
    return None


def _with_holes(X: Any) -> Any:
    """Remove every other cell of every other row, in columns whose types have missing values."""
    if is_frame(X):
        row, column = np.indices(X.shape)
        has_missing = [getattr(dtype, "kind", "O") in "fOmM" for dtype in X.dtypes]
        return X.mask((row % 2 == 1) & ((row // 2 + column) % 2 == 1) & has_missing)
    X = copied(X)
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        for i in (1, 3):
            X[i::4].reshape(len(X[i::4]), -1)[:, i // 2 :: 2] = np.nan
    return X
