"""The correlation of scores of neighbouring data sets, from public pairs (zone: public).

Assumption 1 of Kusner et al. (ICML 2015) makes the scores f of a data set and f' of a neighbour
two tasks of one Gaussian process, ``cov(f(l), f'(l')) = k1 k2(l, l')``, observed with noise of
variance s. The vectors ``(f + f') / sqrt(2)`` and ``(f - f') / sqrt(2)`` are then independent, with
covariances ``(1 + k1) K2 + s I`` and ``(1 - k1) K2 + s I``, which one eigendecomposition of K2
makes diagonal for all k1 at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...search._likelihood import fit_kernel
from ...search._surrogate import Kernel

PAPER_GRID = np.arange(1, 20) / 20
LOG_GRID = 1 - np.logspace(0, -12, 121)


@dataclass(frozen=True, eq=False)
class DatasetKernel:
    """The result of `estimate_dataset_kernel`.

    Parameters
    ----------
    k1 : float
        The most likely value on the grid.
    grid, log_likelihood : ndarray of shape (n_values,)
        The values of k1 that were compared, ascending, and the log-likelihood of all pairs at each.
    kernel : Kernel
        k2, with variance 1.
    noise : float
        Standard deviation of an observation, in units of `prior_scale`.
    prior_mean, prior_scale : float
        Scores were standardised to ``(score - prior_mean) / prior_scale``.
    """

    k1: float
    grid: np.ndarray
    log_likelihood: np.ndarray
    kernel: Kernel
    noise: float
    prior_mean: float
    prior_scale: float


def estimate_dataset_kernel(
    scores: ArrayLike,
    neighbour_scores: ArrayLike,
    candidates: ArrayLike,
    *,
    kernel: str = "squared_exponential",
    length_scale: Any = None,
    noise: float | None = None,
    prior_mean: float | None = None,
    prior_scale: float | None = None,
    grid: ArrayLike | None = None,
) -> DatasetKernel:
    """Choose k1 by the likelihood of public neighbouring pairs, assumed to be independent.

    Parameters
    ----------
    scores, neighbour_scores : array-like of shape (n_pairs, n_candidates)
        Scores of each candidate on each data set, and on its neighbour. They must be *public*:
        `neighbouring_scores` makes them from public records.
    candidates : array-like of shape (n_candidates, n_features)
        Places of the candidates; in the unit cube if the length-scale is to be learnt.
    kernel : {"squared_exponential", "matern32", "matern52"}, default="squared_exponential"
        Shape of k2.
    length_scale : float or array-like of shape (n_features,), default=None
        Length-scale of k2, in units of the features. If this parameter or one of the next three is
        None, it is learnt by the marginal likelihood of the mean scores over all pairs.
    noise : float, default=None
        Standard deviation of an observation, in units of prior_scale.
    prior_mean, prior_scale : float, default=None
        Mean and standard deviation of scores under the prior.
    grid : array-like of shape (n_values,), default=None
        Values of k1 to compare, in [-1, 1). None takes the paper's grid, 0.05 to 0.95, and values
        with 1 - k1 spaced logarithmically from 1 down to 1e-12.

    Returns
    -------
    estimate : DatasetKernel
        The most likely k1, and the parameters that it was estimated with.
    """
    F, G, X = (np.asarray(a, dtype=float) for a in (scores, neighbour_scores, candidates))
    if F.ndim != 2 or F.shape != G.shape or X.ndim != 2 or X.shape[0] != F.shape[1]:
        raise ValueError(
            "scores and neighbour_scores need one row per pair and one column per candidate, and "
            f"candidates one row per candidate; found shapes {F.shape}, {G.shape} and {X.shape}"
        )
    if not all(np.isfinite(a).all() for a in (F, G, X)):
        raise ValueError("some scores or candidates are not finite numbers")
    k1 = np.union1d(PAPER_GRID, LOG_GRID) if grid is None else np.sort(np.asarray(grid, float))
    if not (k1.size and (k1 >= -1).all() and (k1 < 1).all()):
        raise ValueError(f"grid must have values of k1 in [-1, 1); found {k1}")

    learnt, learnt_noise, learnt_mean = fit_kernel(X, F.mean(0), kernel, np.arange(X.shape[1]))
    mean = learnt_mean if prior_mean is None else float(prior_mean)
    scale = float(np.sqrt(learnt.variance)) if prior_scale is None else float(prior_scale)
    sigma = float(np.sqrt(learnt_noise)) / scale if noise is None else float(noise)
    if not (scale > 0 and sigma > 0):
        raise ValueError(f"prior_scale and noise must be positive; found {scale!r} and {sigma!r}")
    k2 = Kernel(kernel, learnt.length_scale if length_scale is None else length_scale)
    log_likelihood = _log_likelihood((F - mean) / scale, (G - mean) / scale, k2(X, X), sigma, k1)
    best = float(k1[np.argmax(log_likelihood)])
    return DatasetKernel(best, k1, log_likelihood, k2, sigma, mean, scale)


def _log_likelihood(
    f: np.ndarray, g: np.ndarray, K2: np.ndarray, sigma: float, grid: np.ndarray
) -> np.ndarray:
    """Return the log-likelihood of all pairs (rows of f and g) for each k1 of the grid."""
    eigenvalues, U = np.linalg.eigh(K2)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    total = np.zeros(len(grid))
    for sign, rotated in ((1, (f + g) / np.sqrt(2)), (-1, (f - g) / np.sqrt(2))):
        squares = ((rotated @ U) ** 2).sum(axis=0)
        variance = (1 + sign * grid)[:, None] * eigenvalues + sigma**2
        total -= 0.5 * (len(f) * np.log(2 * np.pi * variance) + squares / variance).sum(axis=1)
    return total


def neighbouring_scores(
    gains: ArrayLike, m: int, n_pairs: int, rng: np.random.Generator, *, change: str = "replace"
) -> tuple[np.ndarray, np.ndarray]:
    """Draw public data sets of m records, and a neighbour of each; return their scores.

    Parameters
    ----------
    gains : array-like of shape (n_candidates, n_records)
        Gain of each candidate's model on each *public* record.
    m : int
        Number of records in a data set, 1 or more; drawn with replacement if there are not more
        than m records.
    n_pairs : int
        Number of data sets to draw.
    rng : numpy.random.Generator
        Draws the records.
    change : {"replace", "add_or_remove"}, default="replace"
        How a neighbour differs: one record is replaced (as this package protects), or one is
        added or removed, each with probability 1/2 (as in the paper).

    Returns
    -------
    scores, neighbour_scores : ndarray of shape (n_pairs, n_candidates)
        Scores of each candidate on each data set, and on its neighbour.
    """
    gain = np.asarray(gains, dtype=float)
    if change not in ("replace", "add_or_remove"):
        raise ValueError(f"change is 'replace' or 'add_or_remove'; found {change!r}")
    n_records = gain.shape[1]
    scores, neighbours = np.empty((2, n_pairs, len(gain)))
    for i in range(n_pairs):
        rows = rng.choice(n_records, m + 1, replace=n_records <= m)
        total = gain[:, rows[:m]].sum(axis=1)
        added = gain[:, rows[m]]
        removed = gain[:, rows[0]]
        scores[i] = total / m
        if change == "replace":
            neighbours[i] = (total - removed + added) / m
        elif m == 1 or rng.random() < 0.5:
            neighbours[i] = (total + added) / (m + 1)
        else:
            neighbours[i] = (total - removed) / (m - 1)
    return scores, neighbours
