"""The search space: parameter grids and distributions, to candidates (zone: public)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number

import numpy as np
from scipy.stats import qmc

__all__ = ["Candidates", "SearchSpace"]

# Sobol points are drawn in blocks until enough differ; a space that yields none in this many is
# taken to be exhausted.
_BLOCKS_WITHOUT_NEWS = 8
# Keeps quantiles of unbounded distributions finite.
_EDGE = 2.0**-40


@dataclass(frozen=True)
class Candidates:
    """Parameter settings to evaluate, in order.

    Parameters
    ----------
    params : tuple of dict
        As `set_params` takes them.
    unit : ndarray of shape (n_candidates, n_parameters)
        The same settings in the unit cube, one column per parameter of the whole space in
        alphabetical order; NaN where a setting does not have the parameter.
    """

    params: tuple[dict, ...]
    unit: np.ndarray

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
            raise ValueError(f"param_grid is a dict or a non-empty list of dicts; {_found(grids)}")
        for grid in grids:
            if not isinstance(grid, Mapping):
                raise ValueError(f"each entry of param_grid is a dict; {_found(grid)}")
        self.subspaces = [
            {str(name): _axis(name, grid[name]) for name in sorted(grid, key=str)} for grid in grids
        ]
        self.names = sorted({name for axes in self.subspaces for name in axes})

    def examples(self) -> list[dict]:
        """Return one setting of each subspace, to try the parameter names on."""
        middle = np.array([0.5])
        return [
            {name: axis.at(middle)[1][0] for name, axis in axes.items()} for axes in self.subspaces
        ]

    def design(self, n: int, rng: np.random.Generator) -> Candidates:
        """Return at most n settings that fill the space.

        The whole grid, in `ParameterGrid`'s order, if it has no more than n points; else a
        scrambled Sobol sequence without duplicates, shared out evenly among the subspaces.
        """
        shares = _share_out(n, [_n_points(axes) for axes in self.subspaces])
        params, unit = [], []
        for axes, share in zip(self.subspaces, shares, strict=True):
            whole = share >= _n_points(axes)
            for u, setting in _grid(axes) if whole else _sobol(axes, share, rng):
                params.append(setting)
                unit.append([u.get(name, math.nan) for name in self.names])
        return Candidates(tuple(params), np.array(unit, dtype=float).reshape(len(params), -1))


@dataclass(frozen=True)
class _Categories:
    """A list of values: unordered, but a list of numbers keeps its order in the unit cube."""

    values: tuple
    coordinates: np.ndarray

    @property
    def n_points(self) -> float:
        return len(self.values)

    def at(self, u: np.ndarray):
        """Return the values whose slices of [0, 1) hold u, with their keys and coordinates."""
        index = np.minimum((u * len(self.values)).astype(int), len(self.values) - 1)
        return index.tolist(), [self.values[i] for i in index], self.coordinates[index]


@dataclass(frozen=True)
class _Distribution:
    """A distribution, through its quantile function."""

    name: str
    quantile: Callable
    discrete: bool
    n_points: float = math.inf

    def at(self, u: np.ndarray):
        """Return the u-quantiles as plain Python numbers, with their keys and coordinates."""
        try:
            values = np.asarray(self.quantile(u), dtype=float)
        except TypeError as error:
            raise ValueError(
                f"param_grid[{self.name!r}]: quantiles of the distribution cannot be computed "
                f"({error}); give it its parameters, as in scipy.stats.randint(1, 10)"
            ) from None
        if not np.isfinite(values).all():
            raise ValueError(
                f"param_grid[{self.name!r}]: some quantiles of the distribution are not finite; "
                "check its parameters"
            )
        whole = self.discrete and (values == np.rint(values)).all()
        values = (values.astype(int) if whole else values).tolist()
        return values, values, u


def _axis(name, values):
    quantile = getattr(values, "ppf", None) or getattr(values, "icdf", None)
    if callable(quantile) and not isinstance(values, type):
        return _Distribution(name, quantile, _is_discrete(values))
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Sequence | np.ndarray):
        hint = "; write [value] for a single value" if isinstance(values, str | Number) else ""
        raise ValueError(
            f"param_grid[{name!r}] is a list of values or a distribution with a ppf method"
            f"{hint}; {_found(values)}"
        )
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError(f"param_grid[{name!r}] is one-dimensional; found shape {values.shape}")
    if len(values) == 0:
        raise ValueError(f"param_grid[{name!r}] is empty; give at least one value")
    return _Categories(tuple(values), _coordinates(values))


def _is_discrete(distribution) -> bool:
    kinds = [kind.__name__ for kind in type(distribution).__mro__]
    return hasattr(distribution, "pmf") and "ContinuousDistribution" not in kinds


def _coordinates(values) -> np.ndarray:
    """Place numbers by rank (a grid is even on the scale its author chose), others in order."""
    numeric = all(isinstance(v, Number) and not isinstance(v, bool | complex) for v in values)
    if numeric and not any(math.isnan(v) for v in values):
        distinct = sorted(set(values))
        return (np.array([distinct.index(v) for v in values]) + 0.5) / len(distinct)
    return (np.arange(len(values)) + 0.5) / len(values)


def _n_points(axes: dict) -> float:
    return math.prod(axis.n_points for axis in axes.values())


def _share_out(n: int, sizes: list[float]) -> list[int]:
    """Divide n evenly, but give no subspace more than its size: the smallest choose first."""
    shares = [0] * len(sizes)
    for position, i in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[i] = int(min(sizes[i], n // (len(sizes) - position)))
        n -= shares[i]
    return shares


def _grid(axes: dict):
    """Yield (coordinates, setting) of every point of an all-list space."""
    for index in itertools.product(*(range(axis.n_points) for axis in axes.values())):
        chosen = list(zip(axes.items(), index, strict=True))
        yield (
            {name: axis.coordinates[i] for (name, axis), i in chosen},
            {name: axis.values[i] for (name, axis), i in chosen},
        )


def _sobol(axes: dict, n: int, rng: np.random.Generator):
    """Yield (coordinates, setting) of n distinct points, or of as many as turn up."""
    if n == 0:
        return
    sampler, size = qmc.Sobol(len(axes), rng=rng), 2 ** math.ceil(math.log2(max(n, 2)))
    seen, blocks_without_news = set(), 0
    while blocks_without_news < _BLOCKS_WITHOUT_NEWS:
        before = len(seen)
        points = np.clip(sampler.random(size), _EDGE, 1 - _EDGE)
        columns = [axis.at(u) for axis, u in zip(axes.values(), points.T, strict=True)]
        keys, values, coordinates = (zip(*c, strict=True) for c in zip(*columns, strict=True))
        for key, value, unit in zip(keys, values, coordinates, strict=True):
            if key not in seen:
                seen.add(key)
                yield dict(zip(axes, unit, strict=True)), dict(zip(axes, value, strict=True))
            if len(seen) == n:
                return
        blocks_without_news = 0 if len(seen) > before else blocks_without_news + 1


def _found(thing) -> str:
    return f"found {thing!r} ({type(thing).__name__})"
