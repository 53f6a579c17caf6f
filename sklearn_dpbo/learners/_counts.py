"""Counts that show the ranges of columns (zone: sensitive).

They count the sizes of values and the distances between those of two units, the cells in which
values lie, and the norms of scaled rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ._rows import Floats, Integers, Rows, Scaling

# Weight of a unit in a count; its rows share it.
STEPS = 2**20
# Distances are counted in octaves around powers of two, sizes in cells of two octaves. Smaller
# numbers are in the cell of 0, and larger ones in the last cell.
OCTAVES: Floats = np.array([2.0**k for k in range(-59, 60)])
EDGES_OF_DISTANCES: Floats = OCTAVES / math.sqrt(2)
EDGES_OF_SIZES: Floats = EDGES_OF_DISTANCES[::2]
# Edges of the cells of targets, in scales from their centre.
EDGES_OF_TARGETS: Floats = np.array([1, 1.4, 2, 2.8, 4, 5.6, 8, 16, 32])
# Cells of the norms of rows, up to the largest that columns in [-1, 1] can have.
CELLS_OF_NORMS = 24


def size_counts(rows: Rows, pairs: bool) -> Integers:
    """Count |x| and, with `pairs`, |x - x'| in pairs of units; shape (n_columns, n_cells).

    A pair consists of the first rows of two units, and a unit is in one pair at most. A pair has
    the weight `STEPS`, and the |x| of a unit half of that, so that both have the same total.
    """
    weights = _row_weights(rows)
    if not pairs:
        return _sizes_in(EDGES_OF_SIZES, rows.X, weights)
    first = rows.X if rows.unit is None else rows.X[np.unique(rows.unit, return_index=True)[1]]
    order = np.random.default_rng(0).permutation(len(first))  # public; tables may be sorted
    half = len(first) // 2
    distances = first[order[:half]] - first[order[half : 2 * half]]
    sizes = _sizes_in(EDGES_OF_SIZES, rows.X, weights // 2)
    return np.hstack([sizes, _sizes_in(EDGES_OF_DISTANCES, distances, np.full(half, STEPS))])


def cell_counts(rows: Rows, center: Floats, width: Floats, reach: NDArray[np.intp]) -> Integers:
    """Count the values of each column in ``2 reach + 1`` cells around its centre.

    `center`, `width` and `reach` (in cells) have shape (n_columns,). The result has the counts of
    all columns, one after the other.
    """
    weights = _row_weights(rows)
    tables = []
    offsets = np.rint(np.nan_to_num((rows.X - center) / width))
    for x, offset, n_cells in zip(rows.X.T, offsets.T, reach, strict=True):
        cells = (n_cells + np.clip(offset, -n_cells, n_cells)).astype(np.intp)
        tables.append(_counts(cells, weights, x, 2 * n_cells + 1))
    return np.concatenate(tables)


def target_counts(rows: Rows, center: float, scale: float) -> Integers:
    """Count the distances of targets from the centre, in scales."""
    sizes = abs((rows.y - center) / scale)
    counts: Integers = _sizes_in(EDGES_OF_TARGETS, sizes[:, None], _row_weights(rows))[0]
    return counts


def norm_counts(rows: Rows, scaling: Scaling, d: int) -> Integers:
    """Count the norms of scaled rows, up to the largest possible with d columns."""
    norms = np.sqrt((scaling.columns(rows.X) ** 2).sum(axis=1))
    n = math.ceil(scaling.reach * CELLS_OF_NORMS)
    cells = np.minimum(norms / math.sqrt(d) * CELLS_OF_NORMS, n - 1)
    return _counts(cells.astype(np.intp), _row_weights(rows), norms, n)


def _row_weights(rows: Rows) -> Integers:
    """Divide the weight of each unit between its rows, rounded down."""
    return np.full(len(rows.X), STEPS) if rows.sizes is None else STEPS // rows.sizes


def _counts(cells: NDArray[np.intp], weights: Integers, x: Floats, n_cells: int) -> Integers:
    """Sum the rows' weights in each cell; missing values of x do not count."""
    counts = np.bincount(cells, np.where(np.isnan(x), 0, weights), n_cells)
    return counts.astype(np.int64)  # floats below 2^53: exact


def _sizes_in(edges: Floats, X: Floats, weights: Integers) -> Integers:
    """Count |x| between edges, in each column."""
    n = len(edges) + 1
    return np.array([_counts(np.searchsorted(edges, abs(x)), weights, x, n) for x in X.T])
