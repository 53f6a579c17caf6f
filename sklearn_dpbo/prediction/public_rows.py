"""Training rows as the user gave them, and as protected rows are read (zone: public)."""

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
    """Training rows: companions above (`n_above`), those to be rehearsed, companions below.

    `X` and `y` are in the form of protected rows; in the `sample` they are as the user gave them.
    """

    sample: PublicSample
    n_above: int
    n_below: int
    X: Any
    y: Any

    @classmethod
    def of(cls, problem: Problem) -> PublicRows:
        """Read the public sample of a problem in the form of its protected rows.

        They get the types that protected rows declare, where that changes no value.
        """
        training = problem.training
        whole = training, training.X, training.y, None, None, None
        sample = problem.sample or PublicSample.of(*whole)
        above, below = companion_rows(training.X, training.y)
        _, X = in_one_form(training.X, as_table(_like(sample.X, sample.like)))
        y = None
        if sample.y is not None:
            labels = _like(sample.y, sample.like_y)
            y = check_labels(labels, dense(training.y), len(sample.numbers))
        return cls(sample, len(above), len(below), X, y)

    @property
    def as_given(self) -> bool:
        """Whether both forms are the same: of arrays and sparse matrices of one type."""
        given, read = self.sample.X, self.X
        alike = type(given) is type(read) and (type(read) is np.ndarray or issparse(read))
        return bool(alike and given.dtype == read.dtype)

    @property
    def companions(self) -> NDArray[np.intp]:
        """Positions of the companions."""
        return np.delete(np.arange(len(self.sample.numbers)), self.rehearsed)

    @property
    def rehearsed(self) -> NDArray[np.intp]:
        """Positions of those rows that are no companions."""
        return np.arange(self.n_above, len(self.sample.numbers) - self.n_below)

    def beside_companions(self, i: int) -> NDArray[np.intp]:
        """Return the positions of the companions, and of one row between them."""
        everyone = np.arange(len(self.sample.numbers))
        last = len(everyone) - self.n_below
        return np.concatenate([everyone[: self.n_above], [i], everyone[last:]])


def _like(rows: Any, protected: Any) -> Any:
    """Return public rows in the types that protected ones declare, if no value changes."""
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
    with suppress(Exception), ignore_float_errors():
        cast = column.astype(dtype)
        if np.array_equal(np.asarray(cast, dtype=object), np.asarray(column, dtype=object)):
            return cast
    return column
