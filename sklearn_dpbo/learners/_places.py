"""Centre and spread of columns, from noisy counts of their values (zone: boundary).

Each table of counts depends on the noisy tables before it. The first shows how large values are,
and how far apart those of two units; two tables show where values lie; and the last shows the norms
of scaled rows.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ._counts import (
    CELLS_OF_NORMS,
    EDGES_OF_DISTANCES,
    EDGES_OF_SIZES,
    EDGES_OF_TARGETS,
    OCTAVES,
    STEPS,
)
from ._records import Columns
from ._rows import Floats, Integers
from ._tables import SharedTables, threshold

# Distance of each cell of sizes from the size 1, in cells; and the penalty for one cell of
# distance, in standard deviations of the noise.
_CELLS_FROM_1: Floats = np.append(0.0, abs(np.arange(len(EDGES_OF_SIZES)) - 29.0))
_PENALTY_PER_CELL = 0.1
# Usual distances lie in this number of neighbouring octaves.
_RUN = 4
# The scale of a column is 2.5 standard deviations; the root mean square of distances of normal
# values is sqrt(2) standard deviations.
_SCALE_PER_DISTANCE = 2.5 / math.sqrt(2)
# Probability with which noise alone makes the cells of a column stand out; and that for a cell of
# sizes, which is smaller because the cell may be far away from all values.
_BY_CHANCE = 0.05
_FAR_BY_CHANCE = 0.001
# Numbers of cells on either side, in the first and the second table, if the spread is unknown.
_N_CELLS = (2, 24)
# Largest number of cells on either side of one column, and of all columns.
_MOST_CELLS_OF_COLUMN = 2**10
_MOST_CELLS = 2**16
# Share of the rows that are shortened, before the widening by many records.
SHORTENED = 0.2
# Variance of targets in the first cell, near the centre, in squared scales.
_NEAR_VARIANCE = 0.16
# Size of the targets in a cell, relative to its lower edge.
_SIZE_IN_CELL = 1.2
# A cell counts from this number of standard deviations of the noise on.
_STANDS_OUT = 3.0
# Share of the targets' variance that may be cut off.
CUT_OFF = 0.1
# Largest reach of targets, in scales. With a larger one, the noise in predictions would exceed
# usual targets.
_LARGEST_REACH = 8.0


def _usual_size(counts: Integers, std: float) -> float:
    """Return the upper end of the cell with the most sizes.

    If no single cell stands out, pairs of neighbouring cells compete with the cell of 0, with a
    penalty for their distance from 1, because the maximum of noise alone may be anywhere.
    """
    cell = 1 + int(counts[1:].argmax())
    if counts[cell] <= threshold(std, len(counts), _FAR_BY_CHANCE):
        pairs = np.append(counts[:2], (counts[2:] + counts[1:-1]) / math.sqrt(2))
        cell = int((pairs - _PENALTY_PER_CELL * std * _CELLS_FROM_1).argmax())
    return float(np.append(0.0, EDGES_OF_SIZES * 4)[cell]) if cell else 0.0


def _usual_distance(counts: Integers, std: float, half: float) -> float:
    """Estimate the root mean square of usual distances, up to 8 `half`; 0 if none stand out.

    Usual distances are those in the run of octaves with the highest count. Outliers and codes are
    in other octaves.
    """
    possible = counts[1 : 1 + max(_RUN, int(np.searchsorted(EDGES_OF_DISTANCES, 8 * half)))]
    runs = np.convolve(possible, np.ones(_RUN), "valid")
    first = int(runs.argmax())
    if runs[first] <= threshold(std * math.sqrt(_RUN), len(runs), _BY_CHANCE):
        return 0.0
    usual = np.maximum(counts[1 + first : 1 + first + _RUN], 0)
    zeros = counts[0] if counts[0] > threshold(std, 1, _BY_CHANCE) else 0.0
    squares = OCTAVES[first : first + _RUN] ** 2
    return math.sqrt((usual * squares).sum() / (usual.sum() + zeros))


class Places:
    """Estimated ranges of columns: values lie within `center` +- `half`; arrays (n_columns,).

    `spread`: scale that a column should get, 0 if unknown; `seen`: True if values stood out.
    """

    def __init__(self, half: Floats, spread: Floats) -> None:
        self.half = half
        self.spread = spread
        self.center = np.zeros(len(half))
        self.scale = np.where(half > 0, half, 1.0)
        self.seen = np.zeros(len(half), dtype=bool)

    @classmethod
    def of_sizes(cls, noisy: Integers, std: float, half: Floats) -> Self:
        """Estimate ranges from noisy counts of sizes, and of distances if they were counted.

        `half`: largest distance of values from 0; NaN takes the usual size.
        """
        sizes, distances = np.split(noisy, [len(EDGES_OF_SIZES) + 1], axis=1)
        usual = np.array([_usual_size(counts, std) for counts in sizes])
        half = np.where(np.isnan(half), usual, half)
        spread = np.zeros(len(half))
        if distances.size:
            usual_distances = [
                _usual_distance(counts, std, largest)
                for counts, largest in zip(distances, half, strict=True)
            ]
            spread = _SCALE_PER_DISTANCE * np.array(usual_distances)
        # If a column is mostly 0, such as an indicator, its other values must not be cut off.
        mostly_zero = sizes[:, 0] > sizes.sum(axis=1) / 2
        return cls(half, np.where(mostly_zero, np.maximum(spread, half), spread))

    def divide(self, n_cells: int) -> None:
        """Set the width of cells: the spread or, if unknown, `n_cells` on either side."""
        most_cells = min(_MOST_CELLS_OF_COLUMN, _MOST_CELLS // len(self.half))
        without_spread = np.where(self.half > 0, self.half / n_cells, 1.0)
        width = np.where(self.spread > 0, self.spread, without_spread)
        self.width = np.maximum(width, self.half / most_cells)
        self.reach = np.ceil(self.half / self.width).astype(np.intp) + 2

    def zoom(self, noisy: Integers, std: float) -> None:
        """Narrow each column to the three neighbouring cells with the most, if they stand out."""
        for j, counts in enumerate(np.split(noisy, np.cumsum(2 * self.reach + 1)[:-1])):
            runs = np.convolve(counts, np.ones(3), "valid")
            cell = int(runs.argmax())
            if runs[cell] <= threshold(std * math.sqrt(3), len(runs), _BY_CHANCE):
                continue
            self.seen[j] = True
            if self.half[j] > 0:  # otherwise nearly all values are 0, and nothing changes
                below, middle, above = np.maximum(counts[cell : cell + 3], 0)
                offset = (above - below) / (below + middle + above)
                self.center[j] += self.width[j] * (cell + 1 - self.reach[j] + offset)
                self.scale[j] = self.width[j]
                self.half[j] = 1.5 * self.width[j]

    @property
    def unresolved(self) -> NDArray[np.intp]:
        """Positions of the columns whose values did not stand out, or not to within the spread."""
        return np.flatnonzero(~self.seen | ((self.spread > 0) & (self.scale > self.spread)))


def places_of_counts(numbers: Columns, tables: SharedTables, half: Floats) -> Places:
    """Estimate the ranges of columns from three noisy tables; `half` is as in `of_sizes`."""
    noisy = tables.release(numbers.sizes(tables.pairs))
    places = Places.of_sizes(noisy, tables.stds["sizes"], half)
    for kind, n_cells in zip(("places", "closer places"), _N_CELLS, strict=True):
        places.divide(n_cells)
        noisy = tables.release(numbers.cells(places.center, places.width, places.reach))
        places.zoom(noisy, tables.stds[kind])
    return places


def reach_of_counts(noisy: Integers, std: float, m: int) -> tuple[float, float]:
    """Choose the reach of targets, in scales; return it, and the share of variance beyond.

    It is the smallest edge beyond which at most a tenth of the variance lies, but at most 8.
    """
    shares = np.where(noisy > _STANDS_OUT * std, noisy, 0)[1:] / (m * STEPS)
    sizes = _SIZE_IN_CELL * EDGES_OF_TARGETS
    variance = _NEAR_VARIANCE * max(0.0, 1 - shares.sum()) + shares @ sizes**2
    beyond = np.maximum(sizes - EDGES_OF_TARGETS[:, None], 0) ** 2 @ shares / variance
    possible = (beyond <= CUT_OFF) | (EDGES_OF_TARGETS == _LARGEST_REACH)
    edge = int(np.flatnonzero(possible)[0])
    return float(EDGES_OF_TARGETS[edge]), float(beyond[edge])


def norm_of_counts(noisy: Integers, std: float, m: int, d: int, shortened: float) -> float:
    """Estimate the norm that this share of m units' scaled rows exceeds, from noisy counts."""
    above = np.cumsum(noisy[::-1])[::-1]
    noise = std * np.sqrt(np.arange(len(noisy), 0, -1))
    exceeded = np.flatnonzero(above > shortened * m * STEPS + noise / 2)
    return math.sqrt(d) * (1 + int(exceeded.max(initial=0))) / CELLS_OF_NORMS
