"""Branch and bound with a Gaussian process, for functions without noise (zone: public).

de Freitas, Smola and Zoghi, "Exponential regret bounds for Gaussian process bandits with
deterministic observations", ICML 2012, Algorithm 1. With R the relevant set, first the unit cube:

1. double the density of the lattice (halve its spacing), and observe at its points inside R;
2. shrink R to where ``mean + sqrt(beta) std > max over R of (mean - sqrt(beta) std)``;
3. go on, until no new lattice point lies in R, or the evaluations are used up.

R is kept as the cells of the lattice of which a corner or the centre passes the test in 2.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .._gp.surrogate import Kernel, Surrogate

__all__ = ["Path", "branch_and_bound"]

# Keeps kernel matrices of near points invertible; in units of the kernel's variance.
_NUGGET = 1e-10


@dataclass
class Path:
    """What was observed, in order.

    Parameters
    ----------
    points : list of tuple of float
        In the unit cube.
    values : list of float
    levels : list of int
        The lattice's spacing was ``2**-level`` when the point was observed.
    """

    points: list[tuple[float, ...]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.values)


def branch_and_bound(
    function: Callable,
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
        Of a point, ndarray of shape (dimension,), to its value; without noise. Values should look
        like a draw of a Gaussian process of mean 0 and of this kernel.
    dimension : int
    n_iter : int
        The most evaluations.
    kernel : Kernel
    beta : float, default=9.0
        Width of the confidence bounds ``mean +- sqrt(beta) std``. The guarantee of the paper
        needs ``beta = 2 ln(|Lambda| t^2 pi^2 / (6 delta))`` or so.
    max_level : int, default=20
        Spacing of the finest lattice is ``2**-max_level``.

    Returns
    -------
    path : Path
        Shorter than n_iter if the relevant set holds no further point of the finest lattice.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dpbo.kusner2015 import branch_and_bound
    >>> from sklearn_dpbo.kusner2015 import Kernel
    >>> path = branch_and_bound(
    ...     lambda x: np.sin(5 * x[0]), 1, n_iter=30, kernel=Kernel("matern52", 0.3)
    ... )
    >>> round(path.points[int(np.argmax(path.values))][0], 3)  # pi / 10
    0.314
    """
    if not (n_iter >= 1 and dimension >= 1 and max_level >= 0):
        raise ValueError(
            "n_iter and dimension are 1 or more, max_level is 0 or more; found "
            f"{n_iter!r}, {dimension!r}, {max_level!r}"
        )
    path = Path()
    cells = np.zeros((1, dimension), dtype=np.int64)  # lower corners, in units of the spacing
    for level in range(max_level + 1):
        lattice = _corners(cells) / 2**level
        inside = _upper_bounds(path, lattice, kernel, beta)
        seen = set(path.points)
        new = [x for x in np.argsort(-inside, kind="stable") if tuple(lattice[x]) not in seen]
        new = [x for x in new if inside[x] > _best_lower_bound(path)]
        for x in new[: n_iter - len(path)]:
            path.points.append(tuple(lattice[x].tolist()))
            path.values.append(float(function(lattice[x])))
            path.levels.append(level)
        if len(path) >= n_iter or level == max_level:
            break
        cells = _relevant(_split(cells), level + 1, path, kernel, beta)
    return path


def _split(cells: np.ndarray) -> np.ndarray:
    """Return the cells of half the width, in units of half the spacing."""
    halves = np.array(list(itertools.product((0, 1), repeat=cells.shape[1])))
    return (2 * cells[:, None] + halves).reshape(-1, cells.shape[1])


def _corners(cells: np.ndarray) -> np.ndarray:
    """Return the distinct corners of cells, in units of the spacing."""
    steps = np.array(list(itertools.product((0, 1), repeat=cells.shape[1])))
    return np.unique((cells[:, None] + steps).reshape(-1, cells.shape[1]), axis=0)


def _relevant(cells: np.ndarray, level: int, path: Path, kernel: Kernel, beta: float) -> np.ndarray:
    """Return the cells of which a corner or the centre may still be the best."""
    corners = _corners(cells)
    probes = np.concatenate([corners, cells + 0.5]) / 2**level
    passes = _upper_bounds(path, probes, kernel, beta) > _best_lower_bound(path)
    number = {tuple(corner): i for i, corner in enumerate(corners.tolist())}
    steps = np.array(list(itertools.product((0, 1), repeat=cells.shape[1])))
    keep = passes[len(corners) :].copy()
    for step in steps:
        keep |= passes[[number[tuple(corner)] for corner in (cells + step).tolist()]]
    return cells[keep]


def _best_lower_bound(path: Path) -> float:
    """``max over R of (mean - sqrt(beta) std)``: at observed points std is 0, and it is largest."""
    return max(path.values, default=-np.inf)


def _upper_bounds(path: Path, x: np.ndarray, kernel: Kernel, beta: float) -> np.ndarray:
    """Return ``mean + sqrt(beta) std`` at rows of x."""
    everything = np.concatenate([np.array(path.points).reshape(len(path), x.shape[1]), x])
    model = Surrogate.on(everything, kernel, _NUGGET * kernel.variance, capacity=len(path) + 1)
    model = model.condition_all(range(len(path)), path.values)
    return (model.mean + np.sqrt(beta) * model.std)[len(path) :]
