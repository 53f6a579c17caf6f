"""Centre and spread of columns, from noisy counts of their values (zone: boundary).

Tables are counted one by one, each by what the noisy ones before it say: how large values are, and
how far apart those of two units; twice, where they lie; and how long the scaled rows are.
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

# How far cells of sizes are from 1, in cells, and how many deviations of the noise each is worth.
_CELLS_FROM_1: Floats = np.append(0.0, abs(np.arange(len(EDGES_OF_SIZES)) - 29.0))
_FARTHER = 0.1
# Most distances are in so many neighbouring octaves.
_RUN = 4
# The root mean square of distances of normal values is sqrt(2) deviations: the scale of a column
# is 2.5 deviations.
_SPREAD = 2.5 / math.sqrt(2)
# Probability with which noise alone makes cells of a column count as ones that have values; and a
# cell of sizes, which may be far away from all values.
_BY_CHANCE, _FAR_BY_CHANCE = 0.05, 0.001
# Cells of either side in which values of unknown spread are sought, at first and then; and the most
# cells of one column, and of all.
_CELLS, _MOST_OF_ONE, _MOST = (2, 24), 2**10, 2**16
# Share of the rows that are shortened, where noise matters.
SHORTENED = 0.2
# Targets near the centre have this variance, in squared scales; those of a cell are so many times
# as far as its lower edge; and a cell counts from so many deviations of the noise on.
_NEAR, _WITHIN_CELL, _STANDS_OUT = 0.16, 1.2, 3.0
# The share of the targets' variance that may be cut off, and how many scales they reach at most: if
# they reached farther, noise in predictions of usual ones would be larger than these.
CUT_OFF, _FARTHEST = 0.1, 8.0


def _usual_size(counts: Integers, std: float) -> float:
    """Return the upper end of the cell that has the most sizes: 0, if no other stands out.

    Where none does, two neighbours count together, and the less the farther they are from 1: noise
    alone has its maximum anywhere.
    """
    cell = 1 + int(counts[1:].argmax())
    if counts[cell] <= threshold(std, len(counts), _FAR_BY_CHANCE):
        pairs = np.append(counts[:2], (counts[2:] + counts[1:-1]) / math.sqrt(2))
        cell = int((pairs - _FARTHER * std * _CELLS_FROM_1).argmax())
    return float(np.append(0.0, EDGES_OF_SIZES * 4)[cell]) if cell else 0.0


def _usual_distance(counts: Integers, std: float, half: float) -> float:
    """Return the root mean square of usual distances, up to 8 `half`; 0 if they do not stand out.

    Usual are the octaves next to each other that have the most. Outliers and codes are in others.
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
    """Where values of columns lie: at `center`, up to `half` on either side.

    `spread`: how wide the columns should become; 0: unknown. `seen`: where values stood out.
    """

    def __init__(self, half: Floats, spread: Floats) -> None:
        self.half, self.spread = half, spread
        self.center, self.scale = np.zeros(len(half)), np.where(half > 0, half, 1.0)
        self.seen = np.zeros(len(half), dtype=bool)

    @classmethod
    def of_sizes(cls, noisy: Integers, std: float, half: Floats) -> Self:
        """Return where noisy counts of sizes, and of distances if there are any, say.

        `half`: how far values can lie from 0; NaN: as far as usual sizes.
        """
        sizes, distances = np.split(noisy, [len(EDGES_OF_SIZES) + 1], axis=1)
        usual = np.array([_usual_size(counts, std) for counts in sizes])
        half = np.where(np.isnan(half), usual, half)
        spread = np.zeros(len(half))
        if distances.size:
            cases = zip(distances, half, strict=True)
            spread = _SPREAD * np.array([_usual_distance(c, std, most) for c, most in cases])
        # Of what is mostly 0, an indicator say, the other values must not be cut off.
        mostly_zero = sizes[:, 0] > sizes.sum(axis=1) / 2
        return cls(half, np.where(mostly_zero, np.maximum(spread, half), spread))

    def divide(self, cells: int) -> None:
        """Set the width of cells: the spread, or so many on either side where it is unknown."""
        most = min(_MOST_OF_ONE, _MOST // len(self.half))
        unknown = np.where(self.half > 0, self.half / cells, 1.0)
        wanted = np.where(self.spread > 0, self.spread, unknown)
        self.width = np.maximum(wanted, self.half / most)
        self.reach = np.ceil(self.half / self.width).astype(np.intp) + 2

    def zoom(self, noisy: Integers, std: float) -> None:
        """Move each column to the three neighbouring cells with the most, if they stand out."""
        for j, counts in enumerate(np.split(noisy, np.cumsum(2 * self.reach + 1)[:-1])):
            runs = np.convolve(counts, np.ones(3), "valid")
            cell = int(runs.argmax())
            if runs[cell] <= threshold(std * math.sqrt(3), len(runs), _BY_CHANCE):
                continue
            self.seen[j] = True
            if self.half[j] > 0:  # else it is 0 but for a few: it stays as it is
                left, here, right = np.maximum(counts[cell : cell + 3], 0)
                off = (right - left) / (left + here + right)
                self.center[j] += self.width[j] * (cell + 1 - self.reach[j] + off)
                self.scale[j] = self.width[j]
                self.half[j] = 1.5 * self.width[j]

    @property
    def unresolved(self) -> NDArray[np.intp]:
        """Positions of the columns that are wider than their spread, or nowhere."""
        return np.flatnonzero(~self.seen | ((self.spread > 0) & (self.scale > self.spread)))


def places_of_counts(numbers: Columns, tables: SharedTables, half: Floats) -> Places:
    """Return where values of columns lie, by three tables; `half`: they reach so far at most."""
    noisy = tables.release(numbers.sizes(tables.pairs))
    places = Places.of_sizes(noisy, tables.stds["sizes"], half)
    for kind, cells in zip(("places", "closer places"), _CELLS, strict=True):
        places.divide(cells)
        noisy = tables.release(numbers.cells(places.center, places.width, places.reach))
        places.zoom(noisy, tables.stds[kind])
    return places


def reach_of_counts(noisy: Integers, std: float, m: int) -> tuple[float, float]:
    """Return how many scales targets should reach; and the share of their variance beyond.

    The least edge of cells beyond which at most a tenth of the variance lies, up to the farthest.
    """
    far = np.where(noisy > _STANDS_OUT * std, noisy, 0)[1:] / (m * STEPS)
    sizes = _WITHIN_CELL * EDGES_OF_TARGETS
    total = _NEAR * max(0.0, 1 - far.sum()) + far @ sizes**2
    beyond = np.maximum(sizes - EDGES_OF_TARGETS[:, None], 0) ** 2 @ far / total
    least = int(np.flatnonzero((beyond <= CUT_OFF) | (EDGES_OF_TARGETS == _FARTHEST))[0])
    return float(EDGES_OF_TARGETS[least]), float(beyond[least])


def norm_of_counts(noisy: Integers, std: float, m: int, d: int, shortened: float) -> float:
    """Return the norm that all but this share of m units do not exceed, as far as noise allows."""
    above = np.cumsum(noisy[::-1])[::-1]
    noise = std * np.sqrt(np.arange(len(noisy), 0, -1))
    full = np.flatnonzero(above > shortened * m * STEPS + noise / 2)
    return math.sqrt(d) * (1 + int(full.max(initial=0))) / CELLS_OF_NORMS
