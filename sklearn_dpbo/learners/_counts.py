"""Counts of where values of columns lie (zone: sensitive).

How large values are, and how far apart those of two units; in which cells they lie; and how long
scaled rows are.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ._rows import Floats, Integers, Rows, Scaling

# What a unit counts for, in steps: its rows share them.
STEPS = 2**20
# Distances are counted in octaves around powers of two, sizes in cells of two octaves. What is
# smaller is in the cell of 0, and what is larger in the last one.
OCTAVES: Floats = np.array([2.0**k for k in range(-59, 60)])
EDGES_OF_DISTANCES: Floats = OCTAVES / math.sqrt(2)
EDGES_OF_SIZES: Floats = EDGES_OF_DISTANCES[::2]
# Edges of the cells of targets, in scales from their centre.
EDGES_OF_TARGETS: Floats = np.array([1, 1.4, 2, 2.8, 4, 5.6, 8, 16, 32])
# Cells of the norms of rows, up to the largest that columns in [-1, 1] can have.
CELLS_OF_NORMS = 24


def size_counts(rows: Rows, pairs: bool) -> Integers:
    """Return the counts of |x|, and of |x - x'| in pairs of units, a row for each column.

    A pair is the first rows of two units, and a unit is in one pair at most. It counts for
    `STEPS`; and |x| for half of that, so that both have the same total.
    """
    X, shares = rows.X, _shares(rows)
    if not pairs:
        return _sizes_in(EDGES_OF_SIZES, X, shares)
    first = X if rows.unit is None else X[np.unique(rows.unit, return_index=True)[1]]
    order = np.random.default_rng(0).permutation(len(first))  # public; tables may be sorted
    half = len(first) // 2
    distances = first[order[:half]] - first[order[half : 2 * half]]
    sizes = _sizes_in(EDGES_OF_SIZES, X, shares // 2)
    return np.hstack([sizes, _sizes_in(EDGES_OF_DISTANCES, distances, np.full(half, STEPS))])


def cell_counts(rows: Rows, center: Floats, width: Floats, reach: NDArray[np.intp]) -> Integers:
    """Return the counts of all columns, one after the other, in cells of so many on either side."""
    shares, tables = _shares(rows), []
    places = np.rint(np.nan_to_num((rows.X - center) / width))
    for x, place, far in zip(rows.X.T, places.T, reach, strict=True):
        cells = (far + np.clip(place, -far, far)).astype(np.intp)
        tables.append(_counts(cells, shares, x, 2 * far + 1))
    return np.concatenate(tables)


def target_counts(rows: Rows, center: float, scale: float) -> Integers:
    """Return counts of how far targets are from the centre, in scales."""
    sizes = abs((rows.y - center) / scale)
    counts: Integers = _sizes_in(EDGES_OF_TARGETS, sizes[:, None], _shares(rows))[0]
    return counts


def norm_counts(rows: Rows, scaling: Scaling, d: int) -> Integers:
    """Return counts of the norms of scaled columns, up to the largest possible of d columns."""
    norms = np.sqrt((scaling.columns(rows.X) ** 2).sum(axis=1))
    n = math.ceil(scaling.reach * CELLS_OF_NORMS)
    cells = np.minimum(norms / math.sqrt(d) * CELLS_OF_NORMS, n - 1)
    return _counts(cells.astype(np.intp), _shares(rows), norms, n)


def _shares(rows: Rows) -> Integers:
    """Return what each row counts for, divided once: a unit's rows have `STEPS` at most."""
    return np.full(len(rows.X), STEPS) if rows.sizes is None else STEPS // rows.sizes


def _counts(cells: NDArray[np.intp], shares: Integers, x: Floats, n_cells: int) -> Integers:
    """Return the counts of a column x, by the cell of each row; none for what is missing."""
    counts = np.bincount(cells, np.where(np.isnan(x), 0, shares), n_cells)
    return counts.astype(np.int64)  # floats below 2^53: exact


def _sizes_in(edges: Floats, X: Floats, shares: Integers) -> Integers:
    """Return the counts of |x| between edges, of each column."""
    n = len(edges) + 1
    return np.array([_counts(np.searchsorted(edges, abs(x)), shares, x, n) for x in X.T])
