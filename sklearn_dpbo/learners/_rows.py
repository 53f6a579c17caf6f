"""Rows whose norm is bounded, whatever the records are, also in integers (zone: sensitive)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# The values that a column of categories can have, by its position.
Levels = dict[int, NDArray[Any]]

# What an indicator is beside columns in [-1, 1], of which most deviate by less from their centre.
INDICATOR = 0.5
# Number of rows whose products floats can sum exactly.
_BLOCK = 2**20


@dataclass(frozen=True, eq=False)
class Rows:
    """A table, the label or target of each row, and the number of its unit (None: its own).

    In the columns of `occurring`, whose categories are to be released, the table has positions
    among all values that occur: the number of values stands for what is missing, and one more for
    what is neither a number nor a text.
    """

    X: Floats
    y: NDArray[Any]
    unit: NDArray[np.intp] | None
    occurring: Levels

    @property
    def sizes(self) -> NDArray[np.intp] | None:
        """How many rows the unit of each row has; None: one each."""
        return None if self.unit is None else np.bincount(self.unit)[self.unit]


@dataclass(frozen=True, eq=False)
class Scaling:
    """How rows become rows of norm at most 1: `PrivateLogisticRegression` has the attributes.

    Columns are clipped at `reach`. With `tails` above 1, what lies beyond grows like a logarithm,
    up to so many times the reach.
    """

    center: Floats
    scale: Floats
    max_norm: float = 1.0
    reach: float = 1.0
    tails: float = 1.0

    @classmethod
    def between(cls, low: Floats, high: Floats) -> Self:
        """Return the scaling to [-1, 1]; what lies between 0 and 1 stays."""
        is_share = (low == 0) & (high == 1)
        center = np.where(is_share, 0.0, (low + high) / 2)
        return cls(center, np.where(is_share, 1.0, (high - low) / 2))

    def beside(self, n: int, max_norm: float) -> Self:
        """Return the same, with n indicators after the columns."""
        scale = np.append(self.scale, np.full(n, 1 / INDICATOR))
        center = np.append(self.center, np.zeros(n))
        return replace(self, center=center, scale=scale, max_norm=max_norm)

    def columns(self, X: Floats) -> Floats:
        """Return scaled columns without far tails; missing numbers count as the centre."""
        scaled = np.nan_to_num((X - self.center) / self.scale)
        columns: Floats = np.clip(scaled, -self.reach, self.reach)
        if self.tails > 1:
            beyond = np.log(np.maximum(abs(scaled) / self.reach, 1))
            columns *= 1 + np.minimum(beyond, self.tails - 1)
        return columns

    def rows(self, X: Floats) -> Floats:
        """Return scaled rows of norm at most 1."""
        return shortened(self.columns(X), self.max_norm)


def shortened(rows: Floats, norm: float = 1.0) -> Floats:
    """Return rows by a norm, or by their own if that is larger."""
    own = np.sqrt((rows**2).sum(axis=1))
    short: Floats = rows / np.maximum(own, norm)[:, None]
    return short


def moved(rows: Rows, middle: Floats) -> Rows:
    """Return rows, the first columns less these numbers."""
    d = len(middle)
    return replace(rows, X=np.hstack([rows.X[:, :d] - middle, rows.X[:, d:]]))


def numbers(rows: Rows, d: int, target: bool) -> Rows:
    """Return the first d columns alone, and the target if it is wanted."""
    X = rows.X[:, :d]
    return replace(rows, X=np.column_stack([X, rows.y]) if target else X)


def integer_rows(rows: Floats, steps: int, unit: NDArray[np.intp] | None) -> Integers:
    """Round rows towards 0, in so many steps, such that no unit's rows are too long together.

    A unit's sum of squares is at most 1 before, and ``(steps + 1)^2`` after, which is checked in
    integers: rows of a unit that has more are 0.
    """
    integers = np.trunc(np.clip(np.nan_to_num(rows), -2, 2) * steps).astype(np.int64)
    squares = (integers**2).sum(axis=1)
    if unit is not None:
        of_unit = np.zeros(unit.max() + 1, dtype=np.int64)
        np.add.at(of_unit, unit, squares)
        squares = of_unit[unit]
    integers[squares > (steps + 1) ** 2] = 0
    return integers


def exact_product(A: NDArray[Any], B: Any) -> Integers:
    """Return ``A.T @ B`` of whole numbers, exact if no row's products exceed 2^32.

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
    """Return the sums of products of scaled columns, 1 and targets, each in so many steps.

    Those of `released_products`, and then the sum of squared targets.
    """
    parts = [scaling.rows(rows.X), np.ones((len(rows.X), 1)), rows.y[:, None]]
    if rows.sizes is not None:  # the rows of a unit have the weight of one
        parts = [part / np.sqrt(rows.sizes)[:, None] for part in parts]
    pairs = zip(parts, steps, strict=True)
    integers = np.hstack([integer_rows(part, k, rows.unit) for part, k in pairs])
    sums = exact_product(integers[:, :-1], integers)
    return np.append(sums[released_products(len(sums) - 1)], (integers[:, -1] ** 2).sum())


def released_products(d: int) -> NDArray[np.bool_]:
    """Return which products of d columns and 1, with these and the target, are to be released."""
    released = np.triu(np.ones((d + 1, d + 2), dtype=bool))
    released[d, d] = False  # the number of units is public
    return released


def linear(blocks: list[Any], W: Floats) -> Floats:
    """Return the product of rows, whose columns are in blocks, with each row of W."""
    ends = np.cumsum([block.shape[1] for block in blocks])[:-1]
    parts = zip(blocks, np.split(W, ends, axis=1), strict=True)
    values: Floats = np.sum([block @ w.T for block, w in parts], axis=0)
    return values


def squared_norms(blocks: list[Any]) -> Floats:
    """Return the squared norm of each row, whose columns are in blocks."""
    squares: Floats = np.sum([(block * block).sum(axis=1) for block in blocks], axis=0)
    return squares


# Steps of columns, and of their factors.
_COLUMN_STEPS, _FACTOR_STEPS = 2**13, 2**18


class IntegerRows:
    """Rows x of which sums over e x^T are taken, in integers, for bounded e that change.

    `blocks`: the columns of x, each number at most 1, in dense or sparse tables; `sizes`: how many
    rows the unit of a row has; None: one each; `norms`: those of rows, rounded as they are;
    `sensitivity`: how far replacing one unit moves a sum, in the Frobenius norm.
    """

    # S: the largest norm of a unit's part, checked with rounding errors far below the margin.
    _largest = float(_COLUMN_STEPS * _FACTOR_STEPS)
    sensitivity = 2 * _largest * (1 + 1e-9)
    # Weight of one unit in a total.
    step = 1 / _largest

    def __init__(self, blocks: list[Any], sizes: NDArray[np.intp] | None = None) -> None:
        self._blocks = [_in_steps(block) for block in blocks]
        self.norms = np.sqrt(squared_norms(self._columns())) / _COLUMN_STEPS
        self._sizes = 1 if sizes is None else sizes

    def _columns(self) -> list[Any]:
        """Return all columns, in whole steps, as floats: products of small integers overflow."""
        return [b if sparse.issparse(b) else b.astype(float) for b in self._blocks]

    def total(self, W: Floats, factors: Callable[[Floats], Floats]) -> Integers:
        """Return the sum over e x^T, in steps (of a unit the mean), without too long rows.

        The e of each row are what `factors` returns for its products with each row of W.
        """
        columns = self._columns()
        e = np.nan_to_num(factors(linear(columns, W / _COLUMN_STEPS)))
        steps = np.trunc(e * _FACTOR_STEPS / np.reshape(self._sizes, (-1, 1)))
        lengths = np.sqrt((steps**2).sum(axis=1)) * (self.norms * _COLUMN_STEPS)
        fits = lengths <= self._largest / self._sizes * (1 + 1e-10)  # not if it is NaN
        steps[~fits] = 0.0
        return np.hstack([exact_product(steps, block) for block in columns])


def _in_steps(block: Any) -> Any:
    """Return a table in whole steps, towards 0."""
    if sparse.issparse(block):
        in_steps = np.trunc(np.clip(block.data, -1, 1) * _COLUMN_STEPS)
        return sparse.csr_array((in_steps, block.indices, block.indptr), shape=block.shape)
    return np.trunc(np.clip(block, -1, 1) * _COLUMN_STEPS).astype(np.int16)
