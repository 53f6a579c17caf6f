"""Centre and spread of columns, from noisy counts of their values (zone: boundary).

Tables are counted one by one, each by what the noisy ones before it say: how large values are, and
how far apart those of two units; twice, where they lie; and how long the scaled rows are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..records.units import Units

__all__ = ["SHORTENED", "Places", "Scaling", "least_count", "norm_of_counts", "places_of_counts"]
__all__ += ["tables"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Release = Callable[[Integers], Integers]

# Shares of the budget (in mu squared) for the tables of sizes, of places (two) and of norms; and
# where there are too few units for distances.
_SHARES = 0.12, 0.03, 0.03, 0.02
_SHARES_OF_FEW = 0.1, 0.09, 0.04, 0.02
# Votes, which are units times mu by the square root of the number of columns: from which on
# distances stand out, and from which on a smaller part of these shares is enough; the least part.
_VOTES_OF_PAIRS, _ENOUGH_VOTES, _LEAST = 66.0, 300.0, 0.25
# What a unit counts for, in steps: its rows share them.
_STEPS = 2**20
# Distances are counted in octaves around powers of two, sizes in cells of two octaves. What is
# smaller is in the cell of 0, and what is larger in the last one.
_OCTAVES: Floats = np.array([2.0**k for k in range(-59, 60)])
_EDGES_OF_DISTANCES: Floats = _OCTAVES / math.sqrt(2)
_EDGES_OF_SIZES: Floats = _EDGES_OF_DISTANCES[::2]
# How far cells of sizes are from 1, in cells, and how many deviations of the noise each is worth.
_CELLS_FROM_1: Floats = np.append(0.0, abs(np.arange(len(_EDGES_OF_SIZES)) - 29.0))
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
_NORM_CELLS = 24
# What an indicator is beside columns in [-1, 1], of which most deviate by less from their centre.
INDICATOR = 0.5
# Share of the rows that are shortened, where noise matters.
SHORTENED = 0.2


def tables(m: int, d: int, mu: float) -> tuple[list[tuple[float, float]], bool]:
    """Return the sensitivity of each table of counts, and its share; whether pairs are counted.

    For m units with d columns, at mu-GDP for all that is released.
    """
    votes = m * mu / math.sqrt(d)
    of_all = min(1.0, max(_LEAST, (_ENOUGH_VOTES / votes) ** 2))
    pairs = votes > _VOTES_OF_PAIRS
    shares = _SHARES if pairs else _SHARES_OF_FEW
    moves = _sensitivity_of_sizes(d, pairs), *[_sensitivity_of_cells(k) for k in (d, d, 1)]
    return [(move, of_all * share) for move, share in zip(moves, shares, strict=True)], pairs


def least_count(std: float, n_columns: int, delta: float) -> float:
    """Return what one of the values that one unit alone has reaches with a chance of delta at most.

    One of each of these columns. Discrete Gaussian noise reaches a whole number t + 1 at most as
    often as Gaussian noise reaches t (Canonne, Kamath and Steinke, NeurIPS 2020, Proposition 25).
    """
    return 2 + _threshold(std, max(n_columns, 1), delta) * (1 + 1e-9)


def _sensitivity_of_sizes(d: int, pairs: bool) -> float:
    """Return how far replacing a unit moves the sizes of d columns, in the Euclidean norm."""
    return _STEPS * math.sqrt((2.5 if pairs else 2) * d) * (1 + 1e-12)


def _sensitivity_of_cells(d: int) -> float:
    """Return how far replacing a unit moves counts in which it is in one cell of d columns."""
    return _STEPS * math.sqrt(2 * d) * (1 + 1e-12)


def _shares(n: int, unit: NDArray[np.intp] | None) -> Integers:
    """Return what each row counts for, divided once: a unit's rows have `_STEPS` at most."""
    return np.full(n, _STEPS) if unit is None else _STEPS // np.bincount(unit)[unit]


def _counts(cells: NDArray[np.intp], shares: Integers, x: Floats, n_cells: int) -> Integers:
    """Return the counts of a column x, by the cell of each row; none for what is missing."""
    counts = np.bincount(cells, np.where(np.isnan(x), 0, shares), n_cells)
    return counts.astype(np.int64)  # floats below 2^53: exact


def _sizes_in(edges: Floats, X: Floats, shares: Integers) -> Integers:
    """Return the counts of |x| between edges, of each column."""
    n = len(edges) + 1
    return np.array([_counts(np.searchsorted(edges, abs(x)), shares, x, n) for x in X.T])


def size_counts(X: Floats, units: Units, pairs: bool) -> Integers:
    """Return the counts of |x|, and of |x - x'| in pairs of units, a row for each column.

    A pair is the first rows of two units, and a unit is in one pair at most. It counts for
    `_STEPS`; and |x| for half of that, so that both have the same total.
    """
    shares = _shares(len(X), units.labels)
    if not pairs:
        return _sizes_in(_EDGES_OF_SIZES, X, shares)
    first = X if units.labels is None else X[np.unique(units.labels, return_index=True)[1]]
    order = np.random.default_rng(0).permutation(units.m)  # public; tables may be sorted
    half = units.m // 2
    distances = first[order[:half]] - first[order[half : 2 * half]]
    sizes = _sizes_in(_EDGES_OF_SIZES, X, shares // 2)
    return np.hstack([sizes, _sizes_in(_EDGES_OF_DISTANCES, distances, np.full(half, _STEPS))])


def _threshold(std: float, n: int, chance: float = _BY_CHANCE) -> float:
    """Return what the largest of n noisy numbers exceeds by chance."""
    return -float(ndtri(chance / n)) * std


def _usual_size(counts: Integers, std: float) -> float:
    """Return the upper end of the cell that has the most sizes: 0, if no other stands out.

    Where none does, two neighbours count together, and the less the farther they are from 1: noise
    alone has its maximum anywhere.
    """
    cell = 1 + int(counts[1:].argmax())
    if counts[cell] <= _threshold(std, len(counts), _FAR_BY_CHANCE):
        pairs = np.append(counts[:2], (counts[2:] + counts[1:-1]) / math.sqrt(2))
        cell = int((pairs - _FARTHER * std * _CELLS_FROM_1).argmax())
    return float(np.append(0.0, _EDGES_OF_SIZES * 4)[cell]) if cell else 0.0


def _usual_distance(counts: Integers, std: float, half: float) -> float:
    """Return the root mean square of usual distances, up to 8 `half`; 0 if they do not stand out.

    Usual are the octaves next to each other that have the most. Outliers and codes are in others.
    """
    possible = counts[1 : 1 + max(_RUN, int(np.searchsorted(_EDGES_OF_DISTANCES, 8 * half)))]
    runs = np.convolve(possible, np.ones(_RUN), "valid")
    first = int(runs.argmax())
    if runs[first] <= _threshold(std * math.sqrt(_RUN), len(runs)):
        return 0.0
    usual = np.maximum(counts[1 + first : 1 + first + _RUN], 0)
    zeros = counts[0] if counts[0] > _threshold(std, 1) else 0.0
    squares = _OCTAVES[first : first + _RUN] ** 2
    return math.sqrt((usual * squares).sum() / (usual.sum() + zeros))


@dataclass(frozen=True, eq=False)
class Scaling:
    """How rows become rows of norm at most 1: `PrivateLogisticRegression` has the attributes.

    `reach`: where columns are clipped.
    """

    center: Floats
    scale: Floats
    max_norm: float = 1.0
    reach: float = 1.0

    @classmethod
    def between(cls, low: Floats, high: Floats) -> Self:
        """Return the scaling to [-1, 1]; what lies between 0 and 1 stays."""
        is_share = (low == 0) & (high == 1)
        center = np.where(is_share, 0.0, (low + high) / 2)
        return cls(center, np.where(is_share, 1.0, (high - low) / 2))

    def beside(self, n: int, max_norm: float) -> Self:
        """Return the same, with n indicators after the columns."""
        scale = np.append(self.scale, np.full(n, 1 / INDICATOR))
        return type(self)(np.append(self.center, np.zeros(n)), scale, max_norm, self.reach)

    def columns(self, X: Floats) -> Floats:
        """Return columns in [-reach, reach]; missing numbers count as the centre."""
        scaled = np.nan_to_num((X - self.center) / self.scale)
        clipped: Floats = np.clip(scaled, -self.reach, self.reach)
        return clipped

    def rows(self, X: Floats) -> Floats:
        """Return scaled rows of norm at most 1."""
        scaled = self.columns(X)
        norms = np.sqrt((scaled**2).sum(axis=1))
        rows: Floats = scaled / np.maximum(norms, self.max_norm)[:, None]
        return rows


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
        sizes, distances = np.split(noisy, [len(_EDGES_OF_SIZES) + 1], axis=1)
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

    def counts(self, X: Floats, unit: NDArray[np.intp] | None) -> Integers:
        """Return the counts of all columns in cells, one after the other."""
        shares = _shares(len(X), unit)
        tables = []
        places = np.rint(np.nan_to_num((X - self.center) / self.width))
        for x, place, reach in zip(X.T, places.T, self.reach, strict=True):
            cells = (reach + np.clip(place, -reach, reach)).astype(np.intp)
            tables.append(_counts(cells, shares, x, 2 * reach + 1))
        return np.concatenate(tables)

    def zoom(self, noisy: Integers, std: float) -> None:
        """Move each column to the three neighbouring cells with the most, if they stand out."""
        for j, counts in enumerate(np.split(noisy, np.cumsum(2 * self.reach + 1)[:-1])):
            runs = np.convolve(counts, np.ones(3), "valid")
            cell = int(runs.argmax())
            if runs[cell] <= _threshold(std * math.sqrt(3), len(runs)):
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


def places_of_counts(
    X: Floats, units: Units, release: Release, stds: list[float], pairs: bool, half: Floats
) -> Places:
    """Return where values of columns lie, by three tables; `half`: they reach so far at most."""
    places = Places.of_sizes(release(size_counts(X, units, pairs)), stds[0], half)
    for std, cells in zip(stds[1:3], _CELLS, strict=True):
        places.divide(cells)
        places.zoom(release(places.counts(X, units.labels)), std)
    return places


def norm_counts(
    rows: Floats, unit: NDArray[np.intp] | None, d: int, reach: float = 1.0
) -> Integers:
    """Return counts of the norms of rows, up to the largest possible: `reach` from each column."""
    norms = np.sqrt((rows**2).sum(axis=1))
    n = math.ceil(reach * _NORM_CELLS)
    cells = np.minimum(norms / math.sqrt(d) * _NORM_CELLS, n - 1)
    return _counts(cells.astype(np.intp), _shares(len(rows), unit), norms, n)


def norm_of_counts(noisy: Integers, std: float, m: int, d: int, shortened: float) -> float:
    """Return the norm that all but this share of m units do not exceed, as far as noise allows."""
    above = np.cumsum(noisy[::-1])[::-1]
    noise = std * np.sqrt(np.arange(len(noisy), 0, -1))
    full = np.flatnonzero(above > shortened * m * _STEPS + noise / 2)
    return math.sqrt(d) * (1 + int(full.max(initial=0))) / _NORM_CELLS
