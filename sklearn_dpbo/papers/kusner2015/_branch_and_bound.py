"""Branch and bound with a Gaussian process, for functions without noise (zone: public).

de Freitas, Smola and Zoghi, "Exponential regret bounds for Gaussian process bandits with
deterministic observations", ICML 2012, Algorithm 1. With R the relevant set, first the unit cube:

1. double the density of the lattice (halve its spacing), and observe at its points inside R;
2. shrink R to where ``mean + sqrt(beta) std > max over R of (mean - sqrt(beta) std)``;
3. repeat until no new lattice point lies in R or the evaluations are used up.

R is stored as the lattice cells with a corner or centre that passes the test in 2.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import SupportsFloat

import numpy as np

from ...search._surrogate import Kernel, Surrogate

# Keeps kernel matrices of close points invertible; in units of the kernel's variance.
_NUGGET = 1e-10


@dataclass
class Path:
    """The observations, in order.

    Parameters
    ----------
    points, values : list
        Where the function was observed, in the unit cube, and its values.
    levels : list of int
        For each point, the lattice's spacing was ``2**-level`` when it was observed.
    """

    points: list[tuple[float, ...]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.values)


def branch_and_bound(
    function: Callable[[np.ndarray], SupportsFloat],
    dimension: int,
    *,
    n_iter: int,
    kernel: Kernel,
    beta: float = 9.0,
    max_level: int = 20,
) -> Path:
    """Maximise a function on the unit cube.

    Parameters
    ----------
    function : callable
        Takes a point, ndarray of shape (dimension,), and returns its value, without noise. It
        should look like a draw of a Gaussian process with mean 0 and this kernel.
    dimension : int
        Number of coordinates of a point, 1 or more.
    n_iter : int
        Largest number of evaluations, 1 or more.
    kernel : Kernel
        Prior covariance of the function.
    beta : float, default=9.0
        Width of the confidence bounds ``mean +- sqrt(beta) std``.
    max_level : int, default=20
        The spacing of the finest lattice is ``2**-max_level``; 0 or more.

    Returns
    -------
    path : Path
        Shorter than n_iter if the relevant set has no further point of the finest lattice.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dpbo.papers.kusner2015 import branch_and_bound
    >>> from sklearn_dpbo.papers.kusner2015 import Kernel
    >>> path = branch_and_bound(
    ...     lambda x: np.sin(5 * x[0]), 1, n_iter=30, kernel=Kernel("matern52", 0.3)
    ... )
    >>> round(path.points[int(np.argmax(path.values))][0], 3)  # pi / 10
    0.314
    """
    if not (n_iter >= 1 and dimension >= 1 and max_level >= 0):
        raise ValueError(
            "n_iter and dimension must be at least 1, and max_level at least 0; found "
            f"{n_iter!r}, {dimension!r}, {max_level!r}"
        )
    path = Path()
    cells = np.zeros((1, dimension), dtype=np.int64)  # lower corners, in units of the spacing
    for level in range(max_level + 1):
        lattice = _corners(cells) / 2**level
        upper = _upper_bounds(path, lattice, kernel, beta)
        observed = set(path.points)
        new = [i for i in np.argsort(-upper, kind="stable") if tuple(lattice[i]) not in observed]
        new = [i for i in new if upper[i] > _best_lower_bound(path)]
        for i in new[: n_iter - len(path)]:
            path.points.append(tuple(lattice[i].tolist()))
            path.values.append(float(function(lattice[i])))
            path.levels.append(level)
        if len(path) >= n_iter or level == max_level:
            break
        cells = _relevant(_split(cells), level + 1, path, kernel, beta)
    return path


def _split(cells: np.ndarray) -> np.ndarray:
    """Split each cell into cells of half the width; corners in units of half the spacing."""
    halves = np.array(list(itertools.product((0, 1), repeat=cells.shape[1])))
    smaller: np.ndarray = 2 * cells[:, None] + halves
    return smaller.reshape(-1, cells.shape[1])


def _corners(cells: np.ndarray) -> np.ndarray:
    """Return the distinct corners of cells, in units of the spacing."""
    steps = np.array(list(itertools.product((0, 1), repeat=cells.shape[1])))
    return np.unique((cells[:, None] + steps).reshape(-1, cells.shape[1]), axis=0)


def _relevant(cells: np.ndarray, level: int, path: Path, kernel: Kernel, beta: float) -> np.ndarray:
    """Keep the cells with a corner or centre that may still be the best point."""
    corners = _corners(cells)
    probes = np.concatenate([corners, cells + 0.5]) / 2**level
    passes = _upper_bounds(path, probes, kernel, beta) > _best_lower_bound(path)
    index = {tuple(corner): i for i, corner in enumerate(corners.tolist())}
    steps = np.array(list(itertools.product((0, 1), repeat=cells.shape[1])))
    keep = passes[len(corners) :].copy()
    for step in steps:
        keep |= passes[[index[tuple(corner)] for corner in (cells + step).tolist()]]
    return cells[keep]


def _best_lower_bound(path: Path) -> float:
    """``max over R of (mean - sqrt(beta) std)``: the best observed value, as std is 0 there."""
    return max(path.values, default=-np.inf)


def _upper_bounds(path: Path, x: np.ndarray, kernel: Kernel, beta: float) -> np.ndarray:
    """Return ``mean + sqrt(beta) std`` at rows of x."""
    points = np.concatenate([np.array(path.points).reshape(len(path), x.shape[1]), x])
    model = Surrogate.on(points, kernel, _NUGGET * kernel.variance, capacity=len(path) + 1)
    model = model.condition_all(range(len(path)), path.values)
    upper: np.ndarray = model.mean + np.sqrt(beta) * model.std
    return upper[len(path) :]
