"""Greedy algorithms with an exponent: knapsack, maximum weight independent set (zone: sensitive).

Items are taken in the order of their scores ``w_i / d_i^rho``. The order of two items changes where
their scores are equal, at ``rho = ln(w_i / w_j) / ln(d_i / d_j)``. Scores are compared as
``ln w_i - rho ln d_i``, which cannot overflow; of equal scores, the first item comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...privacy.float_errors import ignore_float_errors
from ._families import BaseFamily, converted

# Intervals of parameters narrower than this (and than this share of the parameter) are ignored.
_SLIVER = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class KnapsackItems:
    """A knapsack problem; error messages do not quote its numbers, which are sensitive.

    Parameters
    ----------
    values : array-like of shape (n_items,)
        Value of each item; 0 or more.
    sizes : array-like of shape (n_items,)
        Size of each item; positive.
    capacity : float
        Largest sum of the sizes of the items taken; 0 or more.
    """

    values: NDArray[np.float64]
    sizes: NDArray[np.float64]
    capacity: float

    def __post_init__(self) -> None:
        values = _vector("values", self.values)
        sizes = _vector("sizes", self.sizes)
        if len(values) != len(sizes):
            raise ValueError("values and sizes must have one entry per item; found other lengths")
        if not (sizes > 0).all():
            raise ValueError("sizes must be positive numbers; found others")
        capacity = converted(float, self.capacity)
        if capacity is None or not 0 <= capacity < np.inf:
            raise ValueError("capacity must be a number from 0 up")
        vars(self).update(values=values, sizes=sizes, capacity=capacity)

    def __repr__(self) -> str:
        return f"<KnapsackItems: {len(self.values)} items>"


class Knapsack(BaseFamily):
    """Take items in the order of ``value / size^rho``, each that still fits.

    ``rho = 1`` is the classic rule, ``rho = 0`` takes the most valuable first (Gupta and
    Roughgarden, "A PAC approach to application-specific algorithm selection", ITCS 2016).

    The utility is the value taken as a share of the value of all items.
    """

    interval = (0.0, 3.0)

    def breakpoints(self, instance: KnapsackItems) -> NDArray[np.float64]:
        """Return ``ln(v_i / v_j) / ln(s_i / s_j)`` for all pairs of items."""
        return _crossings(_log(instance.values), np.log(instance.sizes))

    def _objectives(
        self, instance: KnapsackItems, parameters: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        values = instance.values
        sizes = instance.sizes
        free = np.full(len(parameters), instance.capacity)
        taken = np.zeros(len(parameters))
        order = np.argsort(
            parameters[:, None] * np.log(sizes) - _log(values), axis=1, kind="stable"
        )
        for item in order.T:
            fits = sizes[item] <= free
            free -= np.where(fits, sizes[item], 0)
            taken += np.where(fits, values[item], 0)
        return taken

    def _range(self, instance: KnapsackItems) -> tuple[float, float]:
        return 0.0, instance.values.sum()


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A graph with weights on its nodes; error messages do not quote its numbers.

    Parameters
    ----------
    weights : array-like of shape (n_nodes,)
        Weight of each node; 0 or more.
    edges : array-like of int, shape (n_edges, 2)
        Pairs of node numbers, in any order; duplicates are allowed.
    """

    weights: NDArray[np.float64]
    edges: NDArray[np.integer]

    def __post_init__(self) -> None:
        weights = _vector("weights", self.weights)
        edges: NDArray[Any] | None = converted(np.asarray, self.edges)
        if edges is not None and edges.size == 0:
            edges = edges.reshape(-1, 2).astype(int)
        if edges is None or edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
            raise ValueError(
                "edges must be pairs of node numbers, of shape (n_edges, 2); found others"
            )
        if ((edges < 0) | (edges >= len(weights))).any() or (edges[:, 0] == edges[:, 1]).any():
            raise ValueError("edges must join two different nodes, numbered from 0; found others")
        vars(self).update(weights=weights, edges=edges)

    @property
    def adjacency(self) -> NDArray[np.bool_]:
        """Adjacency matrix of shape (n_nodes, n_nodes): True if an edge joins the two nodes."""
        A = np.zeros((len(self.weights),) * 2, dtype=bool)
        A[self.edges[:, 0], self.edges[:, 1]] = A[self.edges[:, 1], self.edges[:, 0]] = True
        return A

    def __repr__(self) -> str:
        return f"<Graph: {len(self.weights)} nodes>"


class _GreedyRun(NamedTuple):
    """Result of one run per parameter; each array has shape (n_parameters,).

    `weight` is the sum of the weights taken. Parameters from `low` to `high` take the same nodes in
    the same order.
    """

    weight: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class IndependentSet(BaseFamily):
    """Take nodes in the order of ``weight / (1 + degree)^rho``, never two neighbours.

    A node that is taken is removed together with its neighbours, and degrees count the remaining
    nodes only. ``rho = 0`` takes the heaviest first; ``rho = 1`` is the rule of Sakai, Togasaki and
    Yamazaki (Discrete Applied Mathematics 126, 2003).

    The utility is the weight taken as a share of the weight of all nodes.
    """

    interval = (0.0, 3.0)

    def breakpoints(self, instance: Graph) -> NDArray[np.float64]:
        """Return the parameters at which the order of the nodes taken can change.

        These are the ends of the intervals on which each step takes the same node: its score is at
        least that of any other remaining node, a linear inequality in rho.
        """

        def interval_around(rho: NDArray[np.float64]) -> tuple[Any, Any]:
            run = self._run(instance, rho)
            return run.low, run.high

        return _ends_of_runs(interval_around)

    def _objectives(self, instance: Graph, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._run(instance, parameters).weight

    def _range(self, instance: Graph) -> tuple[float, float]:
        return 0.0, instance.weights.sum()

    def _run(self, instance: Graph, rho: NDArray[np.float64]) -> _GreedyRun:
        """Run the algorithm for each parameter in `rho`, of shape (n_parameters,)."""
        A = instance.adjacency
        w = instance.weights
        log_w = _log(w)
        runs = np.arange(len(rho))
        remains = np.ones((len(rho), len(w)), dtype=bool)
        degree = np.broadcast_to(A.sum(axis=1), remains.shape).copy()
        weight = np.zeros(len(rho))
        low = np.full(len(rho), -np.inf)
        high = np.full(len(rho), np.inf)
        while remains.any():
            log_d = np.log1p(degree)
            score = np.where(remains, log_w - rho[:, None] * log_d, -np.inf)
            # If all remaining nodes have weight 0, argmax of the scores alone would find a node
            # that is gone.
            is_best = remains & (score == score.max(axis=1, keepdims=True))
            node = np.where(is_best, 1, 0).argmax(axis=1)
            active = remains[runs, node]
            weight += np.where(active, w[node], 0)
            # The node stays ahead of the others where a - rho c >= 0.
            with ignore_float_errors():
                c = log_d[runs, node][:, None] - log_d
                meets = (log_w[node][:, None] - log_w) / c
            can_meet = remains & ~np.isnan(meets)  # the order of two weights of 0 never changes
            high = np.minimum(high, np.where(can_meet & (c > 0), meets, np.inf).min(axis=1))
            low = np.maximum(low, np.where(can_meet & (c < 0), meets, -np.inf).max(axis=1))
            gone = remains & (A[node] | (np.arange(len(w)) == node[:, None])) & active[:, None]
            remains &= ~gone
            degree -= gone.astype(int) @ A.astype(int)
        return _GreedyRun(weight, low, high)


def _vector(name: str, numbers: ArrayLike) -> NDArray[np.float64]:
    vector: NDArray[np.float64] | None = converted(np.asarray, numbers, dtype=float)
    if vector is None or vector.ndim != 1 or not ((vector >= 0) & (vector < np.inf)).all():
        raise ValueError(f"{name} must be numbers from 0 up, in one dimension; found others")
    return vector


def _log(w: NDArray[np.float64]) -> NDArray[np.float64]:
    with ignore_float_errors():
        return np.log(w)


def _crossings(log_w: NDArray[np.float64], log_d: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``ln(w_i / w_j) / ln(d_i / d_j)`` for all pairs with finite logs, d_i != d_j."""
    i, j = np.triu_indices(len(log_w), 1)
    with ignore_float_errors():
        rho = (log_w[i] - log_w[j]) / (log_d[i] - log_d[j])
    return rho[np.isfinite(rho)]


def _ends_of_runs(
    interval_around: Callable[[NDArray[np.float64]], tuple[Any, Any]],
) -> NDArray[np.float64]:
    """Find the ends of all intervals of parameters, on the real line, whose runs are the same.

    ``interval_around(rho)`` returns (low, high) of the interval around each parameter. It is called
    in the middle of each gap between known intervals until there are no gaps.
    """
    all_ends: list[np.ndarray] = []
    gaps = np.array([[-np.inf, np.inf]])
    while len(gaps):
        below, above = gaps.T
        rho = _middle(below, above)
        low, high = interval_around(rho)
        # The parameter belongs to the interval around it; with rounding errors it might not.
        low, high = np.minimum(low, rho), np.maximum(high, rho)
        all_ends += [low, high]
        gaps = np.concatenate([np.stack([below, low], axis=1), np.stack([high, above], axis=1)])
        gaps = gaps[gaps[:, 0] < gaps[:, 1]]
        scale = np.maximum(1, np.abs(gaps).min(axis=1))
        gaps = gaps[gaps[:, 1] - gaps[:, 0] > _SLIVER * scale]
    ends: NDArray[np.float64] = np.concatenate(all_ends)
    return ends[np.isfinite(ends)]


def _middle(below: NDArray[np.float64], above: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the middle of each gap or, if the gap is infinite, a point beyond its one end."""
    a, b = np.where(np.isinf(above), 0, above), np.where(np.isinf(below), 0, below)
    low = np.where(np.isinf(below), a - 2 * np.maximum(1, np.abs(a)), below)
    high = np.where(np.isinf(above), b + 2 * np.maximum(1, np.abs(b)), above)
    middle: NDArray[np.float64] = low + (high - low) / 2
    return middle
