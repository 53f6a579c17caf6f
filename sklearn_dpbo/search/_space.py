"""The search space: candidates from parameter grids and distributions (zone: public)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from ..exceptions import InvalidParameterError
from ._axes import EDGE, Axis, Categories, axis_of, found, key_of

# Sobol points are drawn in blocks until there are enough different ones. After this many blocks
# without a new point the space counts as exhausted.
_BLOCKS_WITHOUT_NEW_POINT = 8
# In a neighbourhood, the probability that an unordered category changes.
_CATEGORY_CHANGES = 0.2
# In a neighbourhood, the mean number of parameters that change, if all have an order.
_CHANGES = 2.0

Index = slice | Sequence[int] | NDArray[Any]


@dataclass(frozen=True, eq=False)
class Points:
    """Points of the search space.

    `subspace` has the number of each point's dict of param_grid, shape (n_points,). `unit` has
    coordinates in [0, 1], shape (n_points, n_parameters), with the parameters of all dicts in
    alphabetical order; NaN if the point's dict does not have the parameter.
    """

    subspace: NDArray[np.int_]
    unit: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.subspace)

    def take(self, index: Index) -> Points:
        """Return the points at these positions."""
        return Points(self.subspace[index], self.unit[index])

    @classmethod
    def concatenate(cls, parts: Sequence[Points]) -> Points:
        """Join points, one after another."""
        return cls(
            np.concatenate([points.subspace for points in parts]),
            np.concatenate([points.unit for points in parts]),
        )

    def identities(self) -> list[bytes]:
        """Return a hashable key for each point; equal points have equal keys."""
        rows = np.column_stack([self.subspace, np.nan_to_num(self.unit, nan=-1.0)])
        return [row.tobytes() for row in rows]


class SearchSpace:
    """The candidates that `param_grid` describes.

    Each of its dicts maps names to lists of values (any Python objects) or to distributions with a
    ``ppf`` (or ``icdf``) method. A candidate has the parameters of one of the dicts.
    """

    def __init__(self, param_grid: Any) -> None:
        grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
        if isinstance(grids, str) or not isinstance(grids, Iterable) or not (grids := list(grids)):
            expected = "a dict or a non-empty list of dicts"
            raise InvalidParameterError(f"param_grid must be {expected}; {found(grids)}")
        if wrong := [grid for grid in grids if not isinstance(grid, Mapping)]:
            raise InvalidParameterError(
                f"each entry of param_grid must be a dict; {found(wrong[0])}"
            )
        self.grids = grids
        self.subspaces = [
            {str(name): axis_of(name, grid[name]) for name in sorted(grid, key=str)}
            for grid in grids
        ]
        self.names = sorted({name for axes in self.subspaces for name in axes})
        self._column = {name: i for i, name in enumerate(self.names)}
        self._levels = {name: _levels([s.get(name) for s in self.subspaces]) for name in self.names}
        self._located: dict[bytes, dict[str, Any]] = {}

    @property
    def n_points(self) -> float:
        """Number of different candidates; infinite if there is a distribution."""
        return sum(_n_points(axes) for axes in self.subspaces)

    @property
    def none(self) -> Points:
        """No points."""
        return self._points(0, np.empty((0, len(self.subspaces[0]))))

    def examples(self) -> list[dict[str, Any]]:
        """Return the parameters of one candidate of each subspace, to check their names."""
        middle = np.array([0.5])
        return [
            {name: axis.values_at(axis.snap(middle))[0] for name, axis in axes.items()}
            for axes in self.subspaces
        ]

    def fill(self, n: int, rng: np.random.Generator) -> Points:
        """Return at most n different points that fill the space.

        A space of at most n points is returned completely, in the order of `ParameterGrid`.
        Otherwise n is divided evenly among the subspaces. Each is filled by a scrambled Sobol
        sequence, and the points of subspaces alternate, so that the first few fill all of them.
        """
        shares = divide(n, [_n_points(axes) for axes in self.subspaces])
        parts = []
        for i, (axes, share) in enumerate(zip(self.subspaces, shares, strict=True)):
            whole = share >= _n_points(axes)
            parts.append(self._points(i, _grid(axes) if whole else _sobol(axes, share, rng)))
        points = Points.concatenate(parts)
        if n >= self.n_points:
            return points
        rank = np.concatenate([np.arange(len(part)) for part in parts])
        return points.take(np.argsort(rank, kind="stable"))

    def at(self, unit: NDArray[np.float64]) -> Points:
        """Return the points of the first subspace at these coordinates, snapped to values."""
        axes = self.subspaces[0].values()
        snapped = [axis.snap(u) for axis, u in zip(axes, unit.T, strict=True)]
        return self._points(0, np.column_stack(snapped))

    def near(self, center: Points, radius: float, n: int, rng: np.random.Generator) -> Points:
        """Sample n points around one point, within its subspace; some may be equal.

        About two of the ordered parameters take a Gaussian step whose standard deviation is
        `radius`; unordered categories change with a fixed probability.
        """
        i = int(center.subspace[0])
        axes = self.subspaces[i]
        middle = center.unit[0, [self._column[name] for name in axes]]
        steps = rng.random((n, len(axes))) < _CHANGES / max(_CHANGES, len(axes))
        stepped = np.clip(middle + radius * rng.standard_normal((n, len(axes))), 0, 1)
        redrawn = rng.random((n, len(axes)))
        redraws = rng.random((n, len(axes))) < _CATEGORY_CHANGES
        u = np.empty((n, len(axes)))
        for j, axis in enumerate(axes.values()):
            moved = stepped[:, j] if axis.ordered else redrawn[:, j]
            moves = steps[:, j] if axis.ordered else redraws[:, j]
            u[:, j] = np.where(moves, axis.snap(moved), middle[j])
        return self._points(i, u)

    def params(self, points: Points) -> tuple[dict[str, Any], ...]:
        """Return the parameters of the candidates at these points."""
        params: list[dict[str, Any]] = [{} for _ in range(len(points))]
        for i, axes in enumerate(self.subspaces):
            rows = np.flatnonzero(points.subspace == i)
            for name, axis in axes.items():
                values = axis.values_at(points.unit[rows, self._column[name]])
                for row, value in zip(rows, values, strict=True):
                    params[row][name] = value
        if self._located:
            keys = points.identities()
            params = [
                self._located.get(key, values) for key, values in zip(keys, params, strict=True)
            ]
        return tuple(params)

    def locate(self, params: Mapping[str, Any]) -> Points:
        """Find the point of a candidate; raise ValueError if it is not in the space.

        `params` returns exactly these parameters for this point.
        """
        reasons = []
        for i, axes in enumerate(self.subspaces):
            if set(axes) != set(params):
                reasons.append(f"it has the parameters {sorted(params)}, not {sorted(axes)}")
                continue
            try:
                u = [axis.locate(params[name]) for name, axis in axes.items()]
            except ValueError as error:
                reasons.append(str(error))
                continue
            point = self._points(i, np.array([u]))
            self._located[point.identities()[0]] = dict(params)
            return point
        raise ValueError(f"the candidate {dict(params)!r} is not in param_grid: {reasons[-1]}")

    def find(self, params: Mapping[str, Any]) -> Points:
        """Find the point of a candidate; no points if it is not in the space."""
        with suppress(ValueError):
            return self.locate(params)
        return self.none

    def own_points(self, params: Mapping[str, Any]) -> Points:
        """Find the points of an estimator's own parameters, one for each set of names."""
        parts = [self.none]
        for names in dict.fromkeys(tuple(axes) for axes in self.subspaces):
            with suppress(KeyError, ValueError, TypeError):
                parts.append(self.locate({name: params[name] for name in names}))
        return Points.concatenate(parts)

    def _points(self, i: int, u: NDArray[np.float64]) -> Points:
        unit = np.full((len(u), len(self.names)), math.nan)
        unit[:, [self._column[name] for name in self.subspaces[i]]] = u
        return Points(np.full(len(u), i), unit)

    # ------------------------------------------------------------ features of the surrogate
    def features(self, points: Points) -> NDArray[np.float64]:
        """Encode points, shape (n_points, n_features), so that Euclidean distances are meaningful.

        An ordered parameter is one column in [0, 1]; it is 0.5 where a point does not have the
        parameter. Unordered categories are one-hot encoded with sqrt(1/2), so that any two have
        distance 1; and so are the dicts of param_grid, if there are several.
        """
        blocks = [block for _, block in self._blocks(points)]
        return np.hstack([np.empty((len(points), 0)), *blocks])

    @property
    def owner(self) -> NDArray[np.int_]:
        """Number, from 0, of each feature's parameter, shape (n_features,)."""
        names = [name for name, block in self._blocks(self.none) for _ in range(block.shape[1])]
        return np.unique(names, return_inverse=True)[1] if names else np.empty(0, dtype=int)

    def _blocks(self, points: Points) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Yield the name of each parameter ("" for the dicts) with its columns of features."""
        height = math.sqrt(0.5)
        for name in self.names:
            u = points.unit[:, self._column[name]]
            axes = [axes.get(name) for axes in self.subspaces]
            has_order = np.array([axis is not None and axis.ordered for axis in axes])
            if has_order.any():
                yield name, np.where(has_order[points.subspace] & ~np.isnan(u), u, 0.5)[:, None]
            levels, n_levels = self._levels[name]
            if n_levels + has_order.any() > 1:
                block = np.zeros((len(points), n_levels))
                for i, level in levels.items():
                    rows = np.flatnonzero(points.subspace == i)
                    block[rows, level[(u[rows] * len(level)).astype(int)]] = height
                yield name, block
        if len(self.subspaces) > 1:
            yield (
                "",
                np.where(points.subspace[:, None] == np.arange(len(self.subspaces)), height, 0),
            )


def _levels(axes: Sequence[Axis | None]) -> tuple[dict[int, NDArray[np.int_]], int]:
    """Number the unordered categories of a parameter, equal ones alike; also return how many.

    Numbers are by subspace, in the order of coordinates.
    """
    numbers: dict[Any, int] = {}
    levels = {
        i: np.array([numbers.setdefault(key_of(value), len(numbers)) for value in axis.values])
        for i, axis in enumerate(axes)
        if isinstance(axis, Categories) and not axis.ordered
    }
    return levels, len(numbers)


def _n_points(axes: Mapping[str, Axis]) -> float:
    return math.prod(axis.n_points for axis in axes.values())


def divide(n: int, sizes: list[float]) -> list[int]:
    """Divide n evenly among subspaces; what smaller ones cannot hold goes to larger ones."""
    shares: dict[int, int] = {}
    for position, i in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[i] = int(min(sizes[i], n // (len(sizes) - position)))
        n -= shares[i]
    return [shares[i] for i in range(len(sizes))]


def _grid(axes: Mapping[str, Axis]) -> NDArray[np.float64]:
    """Return the coordinates of all points of a subspace that has no distribution."""
    columns = [axis.coordinates for axis in axes.values() if isinstance(axis, Categories)]
    rows = list(itertools.product(*columns))
    return np.array(rows, dtype=float).reshape(len(rows), len(axes))


def _sobol(axes: Mapping[str, Axis], n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return coordinates of n different points; of fewer if no more are found."""
    if n == 0:
        return np.empty((0, len(axes)))
    sampler = qmc.Sobol(len(axes), rng=rng)
    block_size = 2 ** math.ceil(math.log2(max(n, 2)))
    seen: dict[bytes, NDArray[np.float64]] = {}
    blocks_without_new_point = 0
    while blocks_without_new_point < _BLOCKS_WITHOUT_NEW_POINT and len(seen) < n:
        before = len(seen)
        points = np.clip(sampler.random(block_size), EDGE, 1 - EDGE)
        snapped = [axis.snap(u) for axis, u in zip(axes.values(), points.T, strict=True)]
        for row in np.column_stack(snapped):
            seen.setdefault(row.tobytes(), row)
        blocks_without_new_point = 0 if len(seen) > before else blocks_without_new_point + 1
    return np.array(list(seen.values())[:n])
