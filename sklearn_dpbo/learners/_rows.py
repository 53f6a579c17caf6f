"""Rows of integers whose norm is bounded, whatever the records are (zone: sensitive)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["IntegerRows", "exact_product", "integer_rows", "linear", "squared_norms"]

Floats = NDArray[np.float64]

# Number of rows whose products floats can sum exactly.
_BLOCK = 2**20


def integer_rows(
    rows: Floats, steps: int, unit: NDArray[np.intp] | None = None
) -> NDArray[np.int64]:
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


def exact_product(A: NDArray[Any], B: Any) -> NDArray[np.int64]:
    """Return ``A.T @ B`` of whole numbers, exact if no row's products exceed 2^32.

    B may be sparse.
    """
    total = np.zeros((A.shape[1], B.shape[1]), dtype=np.int64)
    for first in range(0, len(A), _BLOCK):  # floats below 2^53: exact
        rows = slice(first, first + _BLOCK)
        a = A[rows].astype(float, copy=False)
        b = B if len(A) <= _BLOCK else B[rows]  # a slice of a sparse table is a copy
        total += (a.T @ b.astype(float, copy=False)).astype(np.int64)
    return total


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
    rows the unit of a row has; None: one each; `sensitivity`: how far replacing one unit moves a
    sum, in the Frobenius norm.
    """

    # S: the largest norm of a unit's part, checked with rounding errors far below the margin.
    _largest = float(_COLUMN_STEPS * _FACTOR_STEPS)
    sensitivity = 2 * _largest * (1 + 1e-9)

    def __init__(self, blocks: list[Any], sizes: NDArray[np.intp] | None = None) -> None:
        self._blocks = [_in_steps(block) for block in blocks]
        self._norms = np.sqrt(squared_norms(self._blocks))
        self._each = self._largest / (1 if sizes is None else sizes)
        self._sizes = 1 if sizes is None else sizes[:, None]

    def total(self, factors: Floats) -> NDArray[np.int64]:
        """Return the sum over e x^T, in steps (of a unit the mean), without too long rows."""
        steps = np.trunc(np.nan_to_num(factors) * _FACTOR_STEPS / self._sizes)
        fits = np.sqrt((steps**2).sum(axis=1)) * self._norms <= self._each * (1 + 1e-10)
        steps[~fits] = 0.0
        return np.hstack([exact_product(steps, block) for block in self._blocks])

    @property
    def step(self) -> float:
        """What 1 of a total stands for."""
        return 1 / self._largest


def _in_steps(block: Any) -> Any:
    """Return a table in whole steps, towards 0."""
    if sparse.issparse(block):
        block = block.copy()
        block.data = _in_steps(block.data)
        return block
    return np.trunc(np.clip(block, -1, 1) * _COLUMN_STEPS)
