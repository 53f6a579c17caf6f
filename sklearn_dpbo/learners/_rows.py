"""Rows of integers whose norm is bounded, whatever the records are (zone: sensitive)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["exact_gram", "integer_rows", "mean_by_unit", "within_ball"]

Floats = NDArray[np.float64]


def integer_rows(
    rows: Floats, steps: int, unit: NDArray[np.intp] | None = None
) -> NDArray[np.int64]:
    """Round rows towards 0, in so many steps, such that no unit's rows are too long together.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Those of one unit have a sum of squares of at most 1.
    steps : int
        At most 2^20.
    unit : ndarray of int of shape (n_rows,), default=None
        Which unit each row is of; None if each is one.

    Returns
    -------
    rows : ndarray of int64, shape (n_rows, n_columns)
        The squares of one unit's rows add up to ``(steps + 1)^2`` at most. That is checked in
        integers, so that it holds whatever rounding did before: rows of a unit that has more are 0.
    """
    with np.errstate(all="ignore"):
        found = np.trunc(np.clip(np.nan_to_num(rows), -2, 2) * steps).astype(np.int64)
    squares = (found**2).sum(axis=1)
    if unit is not None:
        of_unit = np.zeros(unit.max() + 1, dtype=np.int64)
        np.add.at(of_unit, unit, squares)
        squares = of_unit[unit]
    found[squares > (steps + 1) ** 2] = 0
    return found


def exact_gram(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``rows.T @ rows``, exactly.

    In floats, whose products are quick: they hold integers up to 2^53, which sums over 2^20 rows of
    a norm of up to 2^16 do not reach.
    """
    total = np.zeros((rows.shape[1], rows.shape[1]), dtype=np.int64)
    for first in range(0, len(rows), 2**20):
        part = rows[first : first + 2**20].astype(float)
        total += (part.T @ part).astype(np.int64)
    return total


def within_ball(rows: Floats, radius: float) -> Floats:
    """Divide rows by the radius; those that are longer then 1 are scaled down to it."""
    with np.errstate(all="ignore"):
        norms = np.sqrt((rows**2).sum(axis=1))
        scaled: Floats = rows / np.maximum(norms, radius)[:, None]
    scaled[~np.isfinite(scaled).all(axis=1)] = 0.0
    return scaled


def mean_by_unit(rows: Floats, unit: NDArray[np.intp] | None) -> Floats:
    """Return the mean row of each unit: no longer than the longest of its rows."""
    if unit is None:
        return rows
    total = np.zeros((unit.max() + 1, rows.shape[1]))
    np.add.at(total, unit, rows)
    means: Floats = total / np.bincount(unit)[:, None]
    return means
