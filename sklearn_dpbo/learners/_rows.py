"""Rows of integers whose norm is bounded, whatever the records are (zone: sensitive)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["IntegerRows", "exact_product", "integer_rows"]

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
    with np.errstate(all="ignore"):
        integers = np.trunc(np.clip(np.nan_to_num(rows), -2, 2) * steps).astype(np.int64)
    squares = (integers**2).sum(axis=1)
    if unit is not None:
        of_unit = np.zeros(unit.max() + 1, dtype=np.int64)
        np.add.at(of_unit, unit, squares)
        squares = of_unit[unit]
    integers[squares > (steps + 1) ** 2] = 0
    return integers


def exact_product(A: NDArray[Any], B: NDArray[Any]) -> NDArray[np.int64]:
    """Return ``A.T @ B`` of whole numbers, exact if no row's products exceed 2^32."""
    total = np.zeros((A.shape[1], B.shape[1]), dtype=np.int64)
    for first in range(0, len(A), _BLOCK):  # floats below 2^53: exact
        a, b = (rows[first : first + _BLOCK].astype(float, copy=False) for rows in (A, B))
        total += (a.T @ b).astype(np.int64)
    return total


# Steps of columns, and of their factors.
_COLUMN_STEPS, _FACTOR_STEPS = 2**13, 2**18


class IntegerRows:
    """Rows x of which sums over e x^T are taken, in integers, for bounded e that change.

    `rows`: x, each number at most 1; `sizes`: how many rows the unit of a row has; None: one each;
    `sensitivity`: how far replacing one unit moves a sum, in the Frobenius norm.
    """

    # S: the largest norm of a unit's part, checked with rounding errors far below the margin.
    _largest = float(_COLUMN_STEPS * _FACTOR_STEPS)
    sensitivity = 2 * _largest * (1 + 1e-9)

    def __init__(self, rows: Floats, sizes: NDArray[np.intp] | None = None) -> None:
        self._rows = np.trunc(np.clip(rows, -1, 1) * _COLUMN_STEPS)
        self._norms = np.sqrt((self._rows**2).sum(axis=1))
        self._each = self._largest / (1 if sizes is None else sizes)
        self._sizes = 1 if sizes is None else sizes[:, None]

    def total(self, factors: Floats) -> NDArray[np.int64]:
        """Return the sum over e x^T, in steps (of a unit the mean), without too long rows."""
        with np.errstate(all="ignore"):
            steps = np.trunc(np.nan_to_num(factors) * _FACTOR_STEPS / self._sizes)
            fits = np.sqrt((steps**2).sum(axis=1)) * self._norms <= self._each * (1 + 1e-10)
        steps[~fits] = 0.0
        return exact_product(steps, self._rows)

    @property
    def step(self) -> float:
        """What 1 of a total stands for."""
        return 1 / self._largest
