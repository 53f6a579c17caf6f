"""Training rows in the user's form, and in the form of protected rows (zone: public)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..privacy.float_errors import ignore_float_errors
from ..records.canonical import check_labels, in_one_form
from ..records.public_rows import PublicSample, companion_rows
from ..records.split import Problem
from ..records.tables import as_table, dense, is_frame, is_series, with_columns


@dataclass(frozen=True, eq=False)
class PublicRows:
    """Training rows: `n_above` companions, rows to be rehearsed, `n_below` companions.

    `X` and `y` are in the form of protected rows, the `sample` is in the user's form.
    """

    sample: PublicSample
    n_above: int
    n_below: int
    X: Any
    y: Any

    @classmethod
    def of(cls, problem: Problem) -> PublicRows:
        """Read the public sample of a problem in the form of its protected rows.

        They get the types that protected rows declare, if this changes no value.
        """
        training = problem.training
        sample = problem.sample or PublicSample.of(
            training, training.X, training.y, None, None, None
        )
        above, below = companion_rows(training.X, training.y)
        _, X = in_one_form(training.X, as_table(_like(sample.X, sample.like)))
        y = None
        if sample.y is not None:
            labels = _like(sample.y, sample.like_y)
            y = check_labels(labels, dense(training.y), len(sample.numbers))
        return cls(sample, len(above), len(below), X, y)

    @property
    def as_given(self) -> bool:
        """True if both forms are the same: arrays or sparse matrices of one dtype."""
        X = self.sample.X
        same_type = type(X) is type(self.X) and (type(X) is np.ndarray or issparse(X))
        return bool(same_type and X.dtype == self.X.dtype)

    @property
    def companions(self) -> NDArray[np.intp]:
        """Positions of the companions."""
        return np.delete(np.arange(len(self.sample.numbers)), self.rehearsed)

    @property
    def rehearsed(self) -> NDArray[np.intp]:
        """Positions of the rows that are not companions."""
        return np.arange(self.n_above, len(self.sample.numbers) - self.n_below)

    def beside_companions(self, i: int) -> NDArray[np.intp]:
        """Return the positions of the companions, with row i between them."""
        positions = np.arange(len(self.sample.numbers))
        first_below = len(positions) - self.n_below
        return np.concatenate([positions[: self.n_above], [i], positions[first_below:]])


def _like(rows: Any, protected: Any) -> Any:
    """Convert public rows to the types that protected ones declare, if no value changes."""
    with suppress(Exception):
        if is_frame(rows) and is_frame(protected):
            pairs = enumerate(zip(rows.dtypes, protected.dtypes, strict=True))
            changes = {j: dtype for j, (public, dtype) in pairs if public != dtype}
            columns = {j: _cast(rows.iloc[:, j], dtype) for j, dtype in changes.items()}
            return with_columns(rows, columns)
        if is_series(rows) or isinstance(rows, np.ndarray):
            return _cast(rows, protected.dtype)
    return rows


def _cast(column: Any, dtype: Any) -> Any:
    """Cast a column or an array to another dtype, unless a value would change."""
    with suppress(Exception), ignore_float_errors():
        cast = column.astype(dtype)
        if np.array_equal(np.asarray(cast, dtype=object), np.asarray(column, dtype=object)):
            return cast
    return column
