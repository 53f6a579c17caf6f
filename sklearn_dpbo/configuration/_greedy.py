"""Greedy algorithms with an exponent: knapsack, maximum weight independent set (zone: sensitive).

Items are taken in the order of ``w_i / d_i^rho``. Two of them change places where their scores are
equal, at ``rho = ln(w_i / w_j) / ln(d_i / d_j)``. Scores are compared as ``ln w_i - rho ln d_i``,
which cannot overflow; among equals, the first item comes first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._families import GreedyOrRounding, without_words

__all__ = ["Graph", "IndependentSet", "Knapsack", "KnapsackItems"]

# Intervals of parameters narrower than this (and than this share of the parameter) are passed over.
_SLIVER = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class KnapsackItems:
    """A knapsack problem.

    Parameters
    ----------
    values : array-like of shape (n_items,)
        0 or more.
    sizes : array-like of shape (n_items,)
        Positive.
    capacity : float
        0 or more.

    Raises
    ------
    ValueError
        If that is not so. The message says nothing of the numbers, which are sensitive.
    """

    values: np.ndarray
    sizes: np.ndarray
    capacity: float

    def __post_init__(self):
        values, sizes = _vector("values", self.values), _vector("sizes", self.sizes)
        if len(values) != len(sizes):
            raise ValueError("values and sizes have an entry per item each; found other lengths")
        if not (sizes > 0).all():
            raise ValueError("sizes are positive numbers; found others")
        capacity = without_words(float, self.capacity)
        if capacity is None or not 0 <= capacity < np.inf:
            raise ValueError("capacity is a number from 0 up; found another")
        vars(self).update(values=values, sizes=sizes, capacity=capacity)

    def __repr__(self) -> str:
        return f"<KnapsackItems: {len(self.values)} items>"


class Knapsack(GreedyOrRounding):
    """Take items in the order of ``value / size^rho``, each that still fits.

    ``rho = 1`` is the classic rule, ``rho = 0`` takes the most valuable first (Gupta and
    Roughgarden, "A PAC approach to application-specific algorithm selection", ITCS 2016).

    Parameters
    ----------
    utility_as : {"share", "objective"}, default="share"
        The value that is taken: as a share of the value of all items, or as it is.
    """

    interval = (0.0, 3.0)

    def breakpoints(self, instance: KnapsackItems) -> np.ndarray:
        """Return ``ln(v_i / v_j) / ln(s_i / s_j)`` for all pairs of items."""
        return _crossings(_log(instance.values), np.log(instance.sizes))

    def _objectives(self, instance, parameters):
        v, s = instance.values, instance.sizes
        left, taken = np.full(len(parameters), instance.capacity), np.zeros(len(parameters))
        for item in _order(_log(v), np.log(s), parameters).T:
            fits = s[item] <= left
            left -= np.where(fits, s[item], 0)
            taken += np.where(fits, v[item], 0)
        return taken

    def _share(self, instance, objective):
        return _share(objective, instance.values.sum())


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A graph with weights on its nodes.

    Parameters
    ----------
    weights : array-like of shape (n_nodes,)
        0 or more.
    edges : array-like of int, shape (n_edges, 2)
        Pairs of node numbers, in any order; a pair may stand there several times.

    Raises
    ------
    ValueError
        If that is not so. The message says nothing of the numbers, which are sensitive.
    """

    weights: np.ndarray
    edges: np.ndarray

    def __post_init__(self):
        weights = _vector("weights", self.weights)
        edges = without_words(np.asarray, self.edges)
        if edges is not None and edges.size == 0:
            edges = edges.reshape(-1, 2).astype(int)
        if edges is None or edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
            raise ValueError("edges are pairs of node numbers, shape (n_edges, 2); found others")
        if ((edges < 0) | (edges >= len(weights))).any() or (edges[:, 0] == edges[:, 1]).any():
            raise ValueError("edges join two different nodes, numbered from 0; found others")
        vars(self).update(weights=weights, edges=edges)

    @property
    def adjacency(self) -> np.ndarray:
        """Whether two nodes are joined, shape (n_nodes, n_nodes)."""
        A = np.zeros((len(self.weights),) * 2, dtype=bool)
        A[self.edges[:, 0], self.edges[:, 1]] = A[self.edges[:, 1], self.edges[:, 0]] = True
        return A

    def __repr__(self) -> str:
        return f"<Graph: {len(self.weights)} nodes>"


class IndependentSet(GreedyOrRounding):
    """Take nodes in the order of ``weight / (1 + degree)^rho``, each that joins none taken.

    A node that is taken is removed together with its neighbours. ``rho = 0`` takes the heaviest
    first; ``rho = 1`` is the rule of Sakai, Togasaki and Yamazaki, "A note on greedy algorithms for
    the maximum weighted independent set problem", Discrete Applied Mathematics 126, 2003.

    Parameters
    ----------
    degrees : {"updated", "fixed"}, default="updated"
        Whether degrees are counted in what is left of the graph, or once in the whole of it.
    utility_as : {"share", "objective"}, default="share"
        The weight that is taken: as a share of the weight of all nodes, or as it is.
    """

    interval = (0.0, 3.0)

    def __init__(self, *, degrees="updated", utility_as="share") -> None:
        super().__init__(utility_as=utility_as)
        self.degrees = degrees

    def check(self, interval):
        """Raise ValueError if a parameter of the family makes no sense."""
        super().check(interval)
        if self.degrees not in ("updated", "fixed"):
            raise ValueError(f"degrees is 'updated' or 'fixed'; found {self.degrees!r}")

    def breakpoints(self, instance: Graph) -> np.ndarray:
        """Return where two nodes change places, by the degrees that decide.

        With fixed degrees, ``ln(w_i / w_j) / ln((1 + d_i) / (1 + d_j))`` for all pairs. With
        updated ones, the ends of the intervals on which the nodes taken, in their order, are the
        same: each step of a run holds as long as the node taken beats every other that is left, a
        linear inequality in rho.
        """
        if self.degrees == "fixed":
            degree = instance.adjacency.sum(axis=1)
            return _crossings(_log(instance.weights), np.log1p(degree))
        return _ends_of_runs(lambda rho: self._run(instance, rho)[1:])

    def _objectives(self, instance, parameters):
        return self._run(instance, parameters)[0]

    def _share(self, instance, objective):
        return _share(objective, instance.weights.sum())

    def _run(self, instance: Graph, rho: np.ndarray):
        """Return, for each parameter, the weight taken, and between which others that is so."""
        A, w, fixed = instance.adjacency, instance.weights, self.degrees == "fixed"
        log_w, runs = _log(w), np.arange(len(rho))
        left = np.ones((len(rho), len(w)), dtype=bool)
        degree = np.broadcast_to(A.sum(axis=1), left.shape).copy()
        taken, low, high = np.zeros(len(rho)), np.full(len(rho), -np.inf), np.full(len(rho), np.inf)
        while left.any():
            log_d = np.log1p(degree)
            score = np.where(left, log_w - rho[:, None] * log_d, -np.inf)
            # Where all that is left weighs nothing, argmax finds a node that is gone.
            node = np.where(left & (score == score.max(axis=1, keepdims=True)), 1, 0).argmax(axis=1)
            active = left[runs, node]
            taken += np.where(active, w[node], 0)
            with np.errstate(invalid="ignore"):
                a = log_w[node][:, None] - log_w
            _narrow(low, high, a, log_d[runs, node][:, None] - log_d, left)
            gone = left & (A[node] | (np.arange(len(w)) == node[:, None])) & active[:, None]
            left &= ~gone
            if not fixed:
                degree -= gone.astype(int) @ A.astype(int)
        return taken, low, high


def _vector(name: str, numbers) -> np.ndarray:
    numbers = without_words(np.asarray, numbers, dtype=float)
    if numbers is None or numbers.ndim != 1 or not ((numbers >= 0) & (numbers < np.inf)).all():
        raise ValueError(f"{name} are numbers from 0 up, in one dimension; found others")
    return numbers


def _log(w: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(w)


def _share(objective: np.ndarray, most: float) -> np.ndarray:
    """Return objective / most, also rounded never above 1; 0 where there is nothing to take."""
    return np.minimum(objective / most, 1.0) if most > 0 else np.zeros(len(objective))


def _crossings(log_w: np.ndarray, log_d: np.ndarray) -> np.ndarray:
    """Return ``ln(w_i / w_j) / ln(d_i / d_j)`` for all pairs with finite logs, d_i != d_j."""
    i, j = np.triu_indices(len(log_w), 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = (log_w[i] - log_w[j]) / (log_d[i] - log_d[j])
    return rho[np.isfinite(rho)]


def _order(log_w: np.ndarray, log_d: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """Return the items from the highest to the lowest score, one row per parameter."""
    return np.argsort(rho[:, None] * log_d - log_w, axis=1, kind="stable")


def _narrow(low, high, a, c, others) -> None:
    """Narrow [low, high], row by row, to where ``a - rho c >= 0`` for all the others."""
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = a / c
    others = others & ~np.isnan(rho)  # two weights of 0 never change places
    np.minimum(high, np.where(others & (c > 0), rho, np.inf).min(axis=1), out=high)
    np.maximum(low, np.where(others & (c < 0), rho, -np.inf).max(axis=1), out=low)


def _ends_of_runs(run) -> np.ndarray:
    """Return the ends of the intervals on which runs are the same, on the whole line.

    ``run(rho)`` returns, for an array of parameters, the interval around each. Whatever lies
    between the intervals found so far is tried in its middle, until nothing does.
    """
    found: list[np.ndarray] = []
    gaps = np.array([[-np.inf, np.inf]])
    while len(gaps):
        below, above = gaps.T
        rho = _middle(below, above)
        low, high = run(rho)
        # The parameter itself belongs to its run, also where rounding says that it does not.
        low, high = np.minimum(low, rho), np.maximum(high, rho)
        found += [low, high]
        gaps = np.concatenate([np.stack([below, low], axis=1), np.stack([high, above], axis=1)])
        gaps = gaps[gaps[:, 0] < gaps[:, 1]]
        scale = np.maximum(1, np.abs(gaps).min(axis=1))
        gaps = gaps[gaps[:, 1] - gaps[:, 0] > _SLIVER * scale]
    ends = np.concatenate(found)
    return ends[np.isfinite(ends)]


def _middle(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Return a point of each gap: its middle or, where it has one end, beyond that."""
    a, b = np.where(np.isinf(above), 0, above), np.where(np.isinf(below), 0, below)
    low = np.where(np.isinf(below), a - 2 * np.maximum(1, np.abs(a)), below)
    high = np.where(np.isinf(above), b + 2 * np.maximum(1, np.abs(b)), above)
    return low + (high - low) / 2
