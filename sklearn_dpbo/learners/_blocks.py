"""Blocks of curved functions of a table's columns, with rows of a bounded norm (zone: boundary).

The functions are set by public numbers and random draws, without the records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._rows import Floats, Scaling, shortened

# Number of bins of each column.
_N_BINS = 32
# The kernel of two bins is exp(-_DECAY distance^2) for columns in [-1, 1].
_DECAY = 4.0
# Number of eigenvectors of the kernel that are used.
_N_COMPONENTS = 8
# Usual norm of a row's bins, as a share of the largest possible.
_USUAL = 0.75
# Trees have the `_N_DEPTHS` largest depths in turn.
_N_DEPTHS = 4
# Standard deviation of the trees' thresholds.
_THRESHOLD_STD = 0.4
# A smaller share of curved functions is set to 0: they would gain less than their noise takes time.
_LEAST_CURVED = 0.05


@dataclass(frozen=True, eq=False)
class Blocks:
    """Functions of a row: the columns, smooth functions of single columns, trees and waves.

    The squared norm of a row is at most 1 - `curved` for the columns themselves, and a third of
    `curved` for each of the three curved kinds. Curved functions take columns clipped to [-1, 1].
    The first `n_numbers` columns are numbers. The others are indicators, which have no smooth
    functions.
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
        """Draw waves and trees.

        `trees`: largest depth and number of trees; `chances`: probability with which a split takes
        each column, shape (n_columns,).
        """
        d = len(chances)
        columns = rng.choice(d, trees, p=chances)
        thresholds = rng.standard_normal(trees) * _THRESHOLD_STD
        frequencies = rng.standard_normal((d, n_waves)) * math.sqrt(2)
        curved = curved if curved >= _LEAST_CURVED else 0.0
        return cls(n_numbers, curved, _bins(), columns, thresholds, frequencies)

    def of(self, columns: Floats, max_norm: float) -> list[Any]:
        """Compute the functions of rows: one dense table, and a sparse one of trees.

        `max_norm`: rows of columns with a larger norm are shortened to it.
        """
        rows = shortened(columns / max_norm)
        if not self.curved:
            return [rows]
        share = math.sqrt(self.curved / 3)
        clipped = columns.clip(-1, 1)
        dense = [math.sqrt(1 - self.curved) * rows, share * self._of_bins(clipped, max_norm)]
        phases = shortened(clipped / max_norm) @ self.frequencies
        wave_share = share / math.sqrt(phases.shape[1])
        dense += [wave_share * np.cos(phases), wave_share * np.sin(phases)]
        return [np.hstack(dense), self._of_trees(clipped, share)]

    def _of_bins(self, columns: Floats, max_norm: float) -> Floats:
        """Compute smooth functions of each column of numbers, which are 0 at its centre."""
        numbers = columns[:, : self.n_numbers]
        bin_index = np.clip((numbers + 1) * (_N_BINS / 2), 0, _N_BINS - 1).astype(np.intp)
        values = np.where(numbers[:, :, None] == 0, 0.0, self.bins[bin_index])
        usual_norm = _USUAL * max_norm * math.sqrt(2 * _DECAY)
        return shortened(values.reshape(len(columns), -1) / usual_norm)

    def _of_trees(self, columns: Floats, share: float) -> Any:
        """Indicate the leaf of each row in each tree: a sparse table with a column per leaf."""
        n = len(columns)
        deepest, n_trees = self.tree_columns.shape
        depths = np.resize(np.arange(deepest - _N_DEPTHS, deepest) + 1, n_trees)
        ends = np.cumsum(2**depths)
        leaf = np.tile(ends - 2**depths, (n, 1)).astype(np.int32)
        for level, (column, threshold) in enumerate(
            zip(self.tree_columns, self.tree_thresholds, strict=True)
        ):
            trees = np.flatnonzero(depths > level)
            leaf[:, trees] += (columns[:, column[trees]] > threshold[trees]) * np.int32(1 << level)
        values = np.full(leaf.size, share / math.sqrt(n_trees))
        starts = np.arange(0, leaf.size + 1, n_trees)
        return sparse.csr_array((values, leaf.ravel(), starts), shape=(n, int(ends[-1])))


def blocks_of(X: Floats, scaling: Scaling, functions: Blocks | None) -> list[Any]:
    """Compute the inputs of a linear model, with rows of norm at most 1.

    These are `functions` of the scaled columns, or the scaled rows if `functions` is None.
    """
    if functions is None:
        return [scaling.rows(X)]
    return functions.of(scaling.columns(X), scaling.max_norm)


def _bins() -> Floats:
    """Compute the features of each bin, shape (_N_BINS, _N_COMPONENTS), 0 in the middle.

    They are the leading components of the root of a Gaussian kernel, so near bins have similar
    features, and a penalty on coefficients makes functions smooth.
    """
    middles = (np.arange(_N_BINS) + 0.5) * 2 / _N_BINS - 1
    values, vectors = np.linalg.eigh(np.exp(-_DECAY * (middles[:, None] - middles) ** 2))
    roots = vectors[:, -_N_COMPONENTS:] * np.sqrt(values[-_N_COMPONENTS:])
    centred: Floats = roots - (roots[_N_BINS // 2 - 1] + roots[_N_BINS // 2]) / 2
    return centred
