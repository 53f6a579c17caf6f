"""Rows of a bounded norm, whatever the records are, and in integers (zone: sensitive)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Positions = NDArray[np.intp]
# Values that a column of categories can have, by the position of the column.
Levels = dict[int, NDArray[Any]]

# Value of an indicator after scaling. Columns are in [-1, 1], but most values deviate less from
# their centre.
INDICATOR = 0.5
# Number of rows whose products can be summed exactly in floats.
_BLOCK = 2**20


@dataclass(frozen=True, eq=False)
class Rows:
    """A table, the label or target of each row, and the number of its unit (None: one row each).

    `occurring` has the columns whose categories are to be released, and all n values that occur
    there. In these columns the table has positions among the values: n if a cell is missing, and n
    + 1 if it is neither a number nor a text.
    """

    X: Floats
    y: NDArray[Any]
    unit: NDArray[np.intp] | None
    occurring: Levels

    @property
    def sizes(self) -> NDArray[np.intp] | None:
        """Number of rows of each row's unit, shape (n_rows,); None if all units have one."""
        return None if self.unit is None else np.bincount(self.unit)[self.unit]


@dataclass(frozen=True, eq=False)
class Scaling:
    """Scaling to rows of norm at most 1, by the attributes of `PrivateLogisticRegression`.

    Scaled columns are clipped at `reach`. With `tails` above 1, larger values grow like a
    logarithm, up to `tails` times the reach.
    """

    center: Floats
    scale: Floats
    max_norm: float = 1.0
    reach: float = 1.0
    tails: float = 1.0

    @classmethod
    def between(cls, low: Floats, high: Floats) -> Self:
        """Scale columns from [low, high] to [-1, 1]; those from 0 to 1 are not scaled."""
        is_share = (low == 0) & (high == 1)
        center = np.where(is_share, 0.0, (low + high) / 2)
        return cls(center, np.where(is_share, 1.0, (high - low) / 2))

    def beside(self, n: int, max_norm: float) -> Self:
        """Append n indicators to the columns, and set the norm beyond which rows are shortened."""
        scale = np.append(self.scale, np.full(n, 1 / INDICATOR))
        center = np.append(self.center, np.zeros(n))
        return replace(self, center=center, scale=scale, max_norm=max_norm)

    def columns(self, X: Floats) -> Floats:
        """Scale columns and limit their tails; missing numbers count as the centre."""
        scaled = np.nan_to_num((X - self.center) / self.scale)
        columns: Floats = np.clip(scaled, -self.reach, self.reach)
        if self.tails > 1:
            beyond = np.log(np.maximum(abs(scaled) / self.reach, 1))
            columns *= 1 + np.minimum(beyond, self.tails - 1)
        return columns

    def rows(self, X: Floats) -> Floats:
        """Scale rows to a norm of at most 1."""
        return shortened(self.columns(X), self.max_norm)


def shortened(rows: Floats, norm: float = 1.0) -> Floats:
    """Divide rows by `norm`, or by their own norm if it is larger."""
    row_norms = np.sqrt((rows**2).sum(axis=1))
    short: Floats = rows / np.maximum(row_norms, norm)[:, None]
    return short


def moved(rows: Rows, middle: Floats) -> Rows:
    """Subtract these numbers from the first columns."""
    d = len(middle)
    return replace(rows, X=np.hstack([rows.X[:, :d] - middle, rows.X[:, d:]]))


def numbers(rows: Rows, d: int, target: bool) -> Rows:
    """Keep the first d columns only; append the target as a column if `target`."""
    X = rows.X[:, :d]
    return replace(rows, X=np.column_stack([X, rows.y]) if target else X)


def integer_rows(rows: Floats, steps: int, unit: NDArray[np.intp] | None) -> Integers:
    """Multiply rows by `steps`, and round towards 0, with a bounded sum of squares per unit.

    A unit's sum of squares should be at most 1 before, and is at most ``(steps + 1)^2`` after. This
    is checked in integers: if a unit exceeds it, its rows become 0.
    """
    integers = np.trunc(np.clip(np.nan_to_num(rows), -2, 2) * steps).astype(np.int64)
    squares = (integers**2).sum(axis=1)
    if unit is not None:
        unit_squares = np.zeros(unit.max() + 1, dtype=np.int64)
        np.add.at(unit_squares, unit, squares)
        squares = unit_squares[unit]
    integers[squares > (steps + 1) ** 2] = 0
    return integers


def exact_product(A: NDArray[Any], B: Any) -> Integers:
    """Compute ``A.T @ B`` of whole numbers, exactly if no row's products exceed 2^32.

    B may be sparse.
    """
    total = np.zeros((A.shape[1], B.shape[1]), dtype=np.int64)
    for first in range(0, len(A), _BLOCK):  # floats below 2^53: exact
        rows = slice(first, first + _BLOCK)
        a = A[rows].astype(float, copy=False)
        b = B if len(A) <= _BLOCK else B[rows]  # a slice of a sparse table is a copy
        b = b if b.dtype == float else b.astype(float)
        total += (a.T @ b).astype(np.int64)
    return total


def sums_of_products(rows: Rows, scaling: Scaling, steps: tuple[int, ...]) -> Integers:
    """Sum the products of scaled columns, 1 and targets, which have these numbers of steps.

    The result has the sums selected by `released_products`, and then the sum of squared targets.
    """
    parts = [scaling.rows(rows.X), np.ones((len(rows.X), 1)), rows.y[:, None]]
    if rows.sizes is not None:  # the rows of a unit have the weight of one
        parts = [part / np.sqrt(rows.sizes)[:, None] for part in parts]
    pairs = zip(parts, steps, strict=True)
    integers = np.hstack([integer_rows(part, k, rows.unit) for part, k in pairs])
    sums = exact_product(integers[:, :-1], integers)
    return np.append(sums[released_products(len(sums) - 1)], (integers[:, -1] ** 2).sum())


def released_products(d: int) -> NDArray[np.bool_]:
    """Select the products to release, shape (d + 1, d + 2).

    Rows stand for d columns and 1; columns stand for these and the target.
    """
    released = np.triu(np.ones((d + 1, d + 2), dtype=bool))
    released[d, d] = False  # the number of units is public
    return released


def linear(blocks: list[Any], W: Floats) -> Floats:
    """Multiply rows, whose columns are in blocks, by each row of W: shape (n_rows, len(W))."""
    ends = np.cumsum([block.shape[1] for block in blocks])[:-1]
    parts = zip(blocks, np.split(W, ends, axis=1), strict=True)
    values: Floats = np.sum([block @ w.T for block, w in parts], axis=0)
    return values


def squared_norms(blocks: list[Any]) -> Floats:
    """Compute the squared norm of each row, whose columns are in blocks."""
    squares: Floats = np.sum([(block * block).sum(axis=1) for block in blocks], axis=0)
    return squares


# Integer steps in 1 of a column, and of the factors e.
_COLUMN_STEPS = 2**13
_FACTOR_STEPS = 2**18


class IntegerRows:
    """Rows x in integers, for sums over e x^T with bounded e that change.

    `blocks`: the columns of x, numbers in [-1, 1], in dense or sparse tables; `sizes`: number of
    rows of each row's unit, None if all units have one; `norms`: norms of the rounded rows;
    `sensitivity`: largest change of a sum by the replacement of one unit, in the Frobenius norm.
    """

    # Largest norm of a unit's part of a sum, checked with rounding errors far below the margin.
    _largest = float(_COLUMN_STEPS * _FACTOR_STEPS)
    sensitivity = 2 * _largest * (1 + 1e-9)
    # Weight of one unit in a total.
    step = 1 / _largest

    def __init__(self, blocks: list[Any], sizes: NDArray[np.intp] | None = None) -> None:
        self._blocks = [_in_steps(block) for block in blocks]
        self.norms = np.sqrt(squared_norms(self._columns())) / _COLUMN_STEPS
        self._sizes = 1 if sizes is None else sizes

    def _columns(self) -> list[Any]:
        """Return all columns, in whole steps, as floats: products of int16 would overflow."""
        return [b if sparse.issparse(b) else b.astype(float) for b in self._blocks]

    def total(self, W: Floats, factors: Callable[[Floats], Floats]) -> Integers:
        """Sum e x^T over rows, in steps, with the mean of a unit's rows; too long terms are 0.

        `factors` computes the e of each row from the row's products with each row of W.
        """
        columns = self._columns()
        e = np.nan_to_num(factors(linear(columns, W / _COLUMN_STEPS)))
        steps = np.trunc(e * _FACTOR_STEPS / np.reshape(self._sizes, (-1, 1)))
        lengths = np.sqrt((steps**2).sum(axis=1)) * (self.norms * _COLUMN_STEPS)
        fits = lengths <= self._largest / self._sizes * (1 + 1e-10)  # not if it is NaN
        steps[~fits] = 0.0
        return np.hstack([exact_product(steps, block) for block in columns])


def _in_steps(block: Any) -> Any:
    """Convert a table to whole steps, rounded towards 0."""
    if sparse.issparse(block):
        in_steps = np.trunc(np.clip(block.data, -1, 1) * _COLUMN_STEPS)
        return sparse.csr_array((in_steps, block.indices, block.indptr), shape=block.shape)
    return np.trunc(np.clip(block, -1, 1) * _COLUMN_STEPS).astype(np.int16)
