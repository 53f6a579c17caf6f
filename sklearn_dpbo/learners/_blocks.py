"""Blocks of columns, curved in those of a table, for each of which rows have a bounded norm.

All is fixed by public numbers, and drawn without the records (zone: boundary).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._rows import Floats, Scaling, shortened

# Bins of each column, how fast their likeness falls with their distance, and how many combinations
# of them are kept.
_BINS, _FALL, _KEPT = 32, 4.0, 8
# Part of the largest norm of bins that rows usually have.
_USUAL = 0.75
# Trees have this many depths in turn, up to the largest; and the deviation of their thresholds.
_N_DEPTHS, _SPREAD = 4, 0.4
# With a smaller share, curved functions do not pay for the time of their noise.
_LEAST = 0.05


@dataclass(frozen=True, eq=False)
class Blocks:
    """Curved functions of columns, clipped to [-1, 1]: those of single ones, trees and waves.

    Their squared norms are at most 1 - `curved` for the columns themselves, and a third of `curved`
    for each kind. `max_norm` is the norm beyond which rows are shortened. The first `n_numbers`
    columns are numbers, and the others indicators, of which no function is curved.
    """

    n_numbers: int
    curved: float
    bins: Floats
    tree_columns: NDArray[np.intp]
    tree_thresholds: Floats
    frequencies: Floats

    @classmethod
    def draw(
        cls, chances: Floats, n_numbers: int, curved: float, trees: tuple[int, int], n_waves: int,
        rng: Any,
    ) -> Self:  # fmt: skip
        """Draw waves, and trees of a depth and a number, which split columns by these chances."""
        d, size = len(chances), trees
        columns = rng.choice(d, size, p=chances)
        thresholds = rng.standard_normal(size) * _SPREAD
        frequencies = rng.standard_normal((d, n_waves)) * math.sqrt(2)
        curved = curved if curved >= _LEAST else 0.0
        return cls(n_numbers, curved, _bins(), columns, thresholds, frequencies)

    def of(self, columns: Floats, max_norm: float) -> list[Any]:
        """Return the blocks of rows: one dense table, and a sparse one of trees."""
        rows = shortened(columns / max_norm)
        if not self.curved:
            return [rows]
        share = math.sqrt(self.curved / 3)
        near = columns.clip(-1, 1)
        dense = [math.sqrt(1 - self.curved) * rows, share * self._of_bins(near, max_norm)]
        phases = shortened(near / max_norm) @ self.frequencies
        share_of_wave = share / math.sqrt(phases.shape[1])
        dense += [share_of_wave * np.cos(phases), share_of_wave * np.sin(phases)]
        return [np.hstack(dense), self._of_trees(near, share)]

    def _of_bins(self, columns: Floats, max_norm: float) -> Floats:
        """Return smooth functions of each column of numbers, 0 where it is at its centre."""
        numbers = columns[:, : self.n_numbers]
        place = np.clip((numbers + 1) * (_BINS / 2), 0, _BINS - 1).astype(np.intp)
        values = np.where(numbers[:, :, None] == 0, 0.0, self.bins[place])
        usual = _USUAL * max_norm * math.sqrt(2 * _FALL)
        return shortened(values.reshape(len(columns), -1) / usual)

    def _of_trees(self, columns: Floats, share: float) -> Any:
        """Return in which leaf of each tree rows are: one column for each leaf."""
        n, (deepest, n_trees) = len(columns), self.tree_columns.shape
        depths = np.resize(np.arange(deepest - _N_DEPTHS, deepest) + 1, n_trees)
        ends = np.cumsum(2**depths)
        leaf = np.tile(ends - 2**depths, (n, 1)).astype(np.int32)
        for level, (column, threshold) in enumerate(
            zip(self.tree_columns, self.tree_thresholds, strict=True)
        ):
            deep = np.flatnonzero(depths > level)
            leaf[:, deep] += (columns[:, column[deep]] > threshold[deep]) * np.int32(1 << level)
        values = np.full(leaf.size, share / math.sqrt(n_trees))
        starts = np.arange(0, leaf.size + 1, n_trees)
        return sparse.csr_array((values, leaf.ravel(), starts), shape=(n, int(ends[-1])))


def blocks_of(X: Floats, scaling: Scaling, functions: Blocks | None) -> list[Any]:
    """Return what a model is linear in, together of norm at most 1: without functions, rows."""
    if functions is None:
        return [scaling.rows(X)]
    return functions.of(scaling.columns(X), scaling.max_norm)


def _bins() -> Floats:
    """Return the numbers that stand for each bin: alike for bins near each other, 0 at the middle.

    They are the leading part of the root of a smooth kernel: a penalty on them is one on
    differences of neighbours.
    """
    middles = (np.arange(_BINS) + 0.5) * 2 / _BINS - 1
    values, vectors = np.linalg.eigh(np.exp(-_FALL * (middles[:, None] - middles) ** 2))
    roots = vectors[:, -_KEPT:] * np.sqrt(values[-_KEPT:])
    centred: Floats = roots - (roots[_BINS // 2 - 1] + roots[_BINS // 2]) / 2
    return centred
