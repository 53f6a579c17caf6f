"""The search space: parameter grids and distributions, to candidates (zone: public)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from .axes import EDGE, axis_of, found, same

__all__ = ["Candidates", "Points", "SearchSpace"]

# Sobol points are drawn in blocks until enough differ; a space that yields none in this many is
# taken to be exhausted.
_BLOCKS_WITHOUT_NEWS = 8
# In a neighbourhood, how often a parameter that is a category changes.
_CATEGORY_CHANGES = 0.2
# In a neighbourhood of many parameters, how many of them change on average.
_CHANGES = 2.0


@dataclass(frozen=True)
class Points:
    """Points of the search space.

    Parameters
    ----------
    subspace : ndarray of int, shape (n_points,)
        Which of the dicts of param_grid each belongs to.
    unit : ndarray of shape (n_points, n_parameters)
        Coordinates in the unit cube, one column per parameter of the whole space in
        alphabetical order; NaN where a point does not have the parameter.
    """

    subspace: np.ndarray
    unit: np.ndarray

    def __len__(self) -> int:
        return len(self.subspace)

    def take(self, index) -> Points:
        """Return the points at these positions."""
        return Points(self.subspace[index], self.unit[index])

    @classmethod
    def concatenate(cls, several: list[Points]) -> Points:
        """Return all of them, one after another."""
        return cls(
            np.concatenate([points.subspace for points in several]),
            np.concatenate([points.unit for points in several]),
        )

    def identities(self) -> list[bytes]:
        """Return something hashable for each point: the same for the same setting."""
        rows = np.column_stack([self.subspace, np.nan_to_num(self.unit, nan=-1.0)])
        return [row.tobytes() for row in rows]


@dataclass(frozen=True)
class Candidates:
    """Parameter settings to evaluate, in order.

    Parameters
    ----------
    params : tuple of dict
        As `set_params` takes them.
    points : Points
        Where they lie.
    """

    params: tuple[dict, ...]
    points: Points

    def __len__(self) -> int:
        return len(self.params)


class SearchSpace:
    """Settings described as `GridSearchCV` and `RandomizedSearchCV` take them, mixed freely.

    Parameters
    ----------
    param_grid : dict or list of dict
        Parameter names to lists of values (categories, of any Python objects) or to
        distributions with a ``ppf`` (or ``icdf``) method, such as those of scipy.stats. Each of
        several dicts is a space of its own, which makes conditional spaces.

    Raises
    ------
    ValueError
        If it is empty or malformed; the message names the parameter.
    """

    def __init__(self, param_grid):
        grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
        if isinstance(grids, str) or not isinstance(grids, Iterable) or not (grids := list(grids)):
            raise ValueError(f"param_grid is a dict or a non-empty list of dicts; {found(grids)}")
        for grid in grids:
            if not isinstance(grid, Mapping):
                raise ValueError(f"each entry of param_grid is a dict; {found(grid)}")
        self.subspaces = [
            {str(name): axis_of(name, grid[name]) for name in sorted(grid, key=str)}
            for grid in grids
        ]
        self.names = sorted({name for axes in self.subspaces for name in axes})
        self._column = {name: i for i, name in enumerate(self.names)}
        self._located: dict[bytes, dict] = {}

    @property
    def n_points(self) -> float:
        """How many different settings there are: infinity, with distributions."""
        return sum(_n_points(axes) for axes in self.subspaces)

    def examples(self) -> list[dict]:
        """Return one setting of each subspace, to try the parameter names on."""
        middle = np.array([0.5])
        return [
            {name: axis.values_at(axis.snap(middle))[0] for name, axis in axes.items()}
            for axes in self.subspaces
        ]

    def design(self, n: int, rng: np.random.Generator) -> Candidates:
        """Return at most n settings that fill the space, as `fill` finds them."""
        return self.candidates(self.fill(n, rng))

    def fill(self, n: int, rng: np.random.Generator) -> Points:
        """Return at most n points that fill the space.

        The whole grid, in `ParameterGrid`'s order, if it has no more than n points; else a
        scrambled Sobol sequence without duplicates, shared out evenly among the subspaces.
        """
        shares = _share_out(n, [_n_points(axes) for axes in self.subspaces])
        several = []
        for i, (axes, share) in enumerate(zip(self.subspaces, shares, strict=True)):
            whole = share >= _n_points(axes)
            several.append(self._points(i, _grid(axes) if whole else _sobol(axes, share, rng)))
        return Points.concatenate(several)

    def at(self, unit: np.ndarray) -> Points:
        """Return the points at these coordinates of the first subspace, each moved to a value.

        Parameters
        ----------
        unit : ndarray of shape (n_points, n_parameters), in [0, 1]
        """
        axes = self.subspaces[0].values()
        snapped = [axis.snap(u) for axis, u in zip(axes, unit.T, strict=True)]
        return self._points(0, np.column_stack(snapped))

    def near(self, center: Points, radius: float, n: int, rng: np.random.Generator) -> Points:
        """Return n points around one point (not all distinct), within its subspace.

        Some of the coordinates, about two, take a Gaussian step of this standard deviation;
        categories without order change with a fixed probability.
        """
        i = int(center.subspace[0])
        axes = self.subspaces[i]
        at = center.unit[0, [self._column[name] for name in axes]]
        moves = rng.random((n, len(axes))) < _CHANGES / max(_CHANGES, len(axes))
        steps = np.clip(at + radius * rng.standard_normal((n, len(axes))), 0, 1)
        jumps = rng.random((n, len(axes)))
        changes = rng.random((n, len(axes))) < _CATEGORY_CHANGES
        u = np.empty((n, len(axes)))
        for j, axis in enumerate(axes.values()):
            moved = steps[:, j] if axis.ordered else jumps[:, j]
            moving = moves[:, j] if axis.ordered else changes[:, j]
            u[:, j] = np.where(moving, axis.snap(moved), at[j])
        return self._points(i, u)

    def candidates(self, points: Points) -> Candidates:
        """Return the settings at these points."""
        params: list[dict] = [{} for _ in range(len(points))]
        for i, axes in enumerate(self.subspaces):
            rows = np.flatnonzero(points.subspace == i)
            for name, axis in axes.items():
                values = axis.values_at(points.unit[rows, self._column[name]])
                for row, value in zip(rows, values, strict=True):
                    params[row][name] = value
        if self._located:
            known = [self._located.get(identity) for identity in points.identities()]
            params = [given or setting for given, setting in zip(known, params, strict=True)]
        return Candidates(tuple(params), points)

    def locate(self, setting: Mapping) -> Points:
        """Return the point of a setting; `candidates` will give it back to the last digit.

        Raises
        ------
        ValueError
            If it is not in the space; the message says why.
        """
        reasons = []
        for i, axes in enumerate(self.subspaces):
            if set(axes) != set(setting):
                reasons.append(f"it has the parameters {sorted(setting)}, not {sorted(axes)}")
                continue
            try:
                u = [axis.locate(setting[name]) for name, axis in axes.items()]
            except ValueError as error:
                reasons.append(str(error))
                continue
            point = self._points(i, np.array([u]))
            self._located[point.identities()[0]] = dict(setting)
            return point
        raise ValueError(f"the setting {dict(setting)!r} is not in param_grid: {reasons[-1]}")

    def _points(self, i: int, u: np.ndarray) -> Points:
        unit = np.full((len(u), len(self.names)), math.nan)
        unit[:, [self._column[name] for name in self.subspaces[i]]] = u
        return Points(np.full(len(u), i), unit)

    # ------------------------------------------------------------ what a surrogate sees
    def features(self, points: Points) -> np.ndarray:
        """Return points as rows between which distance means something.

        A parameter with an order is one column, in [0, 1]. Two different categories without
        order have distance 1, whichever they are (a column each, of height sqrt(1/2)), and so
        have two different dicts of param_grid. What a point does not have is in the middle, or
        at no category.

        Returns
        -------
        features : ndarray of shape (n_points, n_features)
        """
        columns = [column for _, column in self._columns(points)]
        return np.column_stack(columns) if columns else np.empty((len(points), 0))

    @property
    def owner(self) -> np.ndarray:
        """Number of the parameter that each feature belongs to, from 0 on, in order."""
        nothing = self._points(0, np.empty((0, len(self.subspaces[0]))))
        names = [name for name, _ in self._columns(nothing)]
        return np.unique(names, return_inverse=True)[1] if names else np.empty(0, dtype=int)

    def _columns(self, points: Points):
        """Yield (name, column) of each feature."""
        height = math.sqrt(0.5)
        for name in self.names:
            u = points.unit[:, self._column[name]]
            axes = [axes.get(name) for axes in self.subspaces]
            has_order = np.array([axis is not None and axis.ordered for axis in axes])
            if has_order.any():
                yield name, np.where(has_order[points.subspace] & ~np.isnan(u), u, 0.5)
            levels = _levels(axes)
            for places in levels if len(levels) + has_order.any() > 1 else []:
                column = np.zeros(len(points))
                for i, coordinate in places:
                    column[(points.subspace == i) & (u == coordinate)] = height
                yield name, column
        if len(self.subspaces) > 1:
            for i in range(len(self.subspaces)):
                yield "", np.where(points.subspace == i, height, 0.0)


def _levels(axes) -> list[list[tuple[int, float]]]:
    """Return, for each different category, where it stands: (subspace, coordinate) pairs."""
    values: list = []
    levels: list[list[tuple[int, float]]] = []
    for i, axis in enumerate(axes):
        if axis is None or axis.ordered:
            continue
        for value, coordinate in zip(axis.values, axis.coordinates.tolist(), strict=True):
            known = next((k for k, v in enumerate(values) if same(v, value)), None)
            if known is None:
                known = len(values)
                values.append(value)
                levels.append([])
            levels[known].append((i, coordinate))
    return levels


def _n_points(axes: dict) -> float:
    return math.prod(axis.n_points for axis in axes.values())


def _share_out(n: int, sizes: list[float]) -> list[int]:
    """Divide n evenly, but give no subspace more than its size: the smallest choose first."""
    shares = [0] * len(sizes)
    for position, i in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[i] = int(min(sizes[i], n // (len(sizes) - position)))
        n -= shares[i]
    return shares


def _grid(axes: dict) -> np.ndarray:
    """Return the coordinates of every point of an all-list space."""
    rows = list(itertools.product(*(axis.coordinates for axis in axes.values())))
    return np.array(rows, dtype=float).reshape(len(rows), len(axes))


def _sobol(axes: dict, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the coordinates of n distinct points, or of as many as turn up."""
    if n == 0:
        return np.empty((0, len(axes)))
    sampler, size = qmc.Sobol(len(axes), rng=rng), 2 ** math.ceil(math.log2(max(n, 2)))
    seen: dict[bytes, np.ndarray] = {}
    blocks_without_news = 0
    while blocks_without_news < _BLOCKS_WITHOUT_NEWS and len(seen) < n:
        before = len(seen)
        points = np.clip(sampler.random(size), EDGE, 1 - EDGE)
        snapped = [axis.snap(u) for axis, u in zip(axes.values(), points.T, strict=True)]
        for row in np.column_stack(snapped):
            seen.setdefault(row.tobytes(), row)
        blocks_without_news = 0 if len(seen) > before else blocks_without_news + 1
    return np.array(list(seen.values())[:n])
