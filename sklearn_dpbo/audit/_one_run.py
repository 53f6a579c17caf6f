"""Bound epsilon from one release of many numbers (zone: public)."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from .._privacy.checks import check_number
from ._report import AuditReport, check_claim

__all__ = ["audit_one_run", "chance_of_guesses"]


def chance_of_guesses(n_right: int, n_guesses: int, m: int, epsilon: float, delta: float) -> float:
    """Bound the probability of so many right guesses under (epsilon, delta)-privacy.

    Of m independent fair bits r are guessed, and W of the guesses are right. Then

        P(W >= v) <= P(B >= v) + 2 m delta max_i P(v > B >= v - i) / i

    where B is binomial with r trials of probability ``e^epsilon / (e^epsilon + 1)`` (Steinke, Nasr
    and Jagielski, NeurIPS 2023, Theorem 5.2).
    """
    v, B = n_right, binom(n_guesses, 1 / (1 + np.exp(-epsilon)))
    slack = 0.0
    if v > 0 and delta > 0:
        steps = np.arange(1, v + 1)
        slack = float(np.max(np.cumsum(B.pmf(v - steps)) / steps))
    return min(1.0, float(B.sf(v - 1)) + 2 * m * delta * slack)


def audit_one_run(
    mechanism: Callable[[NDArray[np.float64]], Any],
    canaries: tuple[ArrayLike, ArrayLike],
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.99,
    n_guesses: int | None = None,
    score: Callable[[Any], ArrayLike] | None = None,
    subject: str | None = None,
    random_state: int | None = None,
) -> AuditReport:
    """Bound epsilon from below by one release that depends on every record separately.

    A coin decides which of two values each record has. The values are guessed from the release, for
    the records where they are clearest (Steinke, Nasr and Jagielski, NeurIPS 2023). Use it for
    mechanisms that release something for each record (`GaussianCurator`, or many counts at once).
    Where all records are combined into one number it shows almost nothing: use `audit_search` or
    `audit_mechanism` there.

    Parameters
    ----------
    mechanism : callable
        Takes a table of shape (m, n_features) and returns the release. Without `score`, that is a
        table of the same shape whose row i belongs to record i.
    canaries : tuple of two arrays of shape (m, n_features)
        The two values of each record. The audited guarantee must hold for replacing one by the
        other.
    epsilon : float, default=None
        The claimed epsilon, to compare the bound with; None if nothing is claimed.
    delta : float, default=0.0
        The claimed delta, in [0, 1).
    confidence : float, default=0.99
        Probability that the bound holds, in (0.5, 1).
    n_guesses : int, default=None
        How many canaries to guess; choose it before the release. None is m / 100, but at least 10.
    score : callable, default=None
        Takes the release and returns a number for each canary, larger where the first value is
        likelier and negative where the second one is. None compares squared distances.
    subject : str, default=None
        What is audited, for the report; None is the mechanism's name.
    random_state : int, default=None
        Seeds the coins.

    Returns
    -------
    report : AuditReport
        Print it, or plot it.
    """
    A, B = (np.asarray(values, dtype=float) for values in canaries)
    if A.shape != B.shape or A.ndim != 2 or not len(A):
        raise ValueError(f"canaries must be two tables of one shape; found {A.shape} and {B.shape}")
    m = len(A)
    r = min(m, max(10, m // 100)) if n_guesses is None else n_guesses
    check_number(
        "n_guesses", r, f"1 to {m}, the number of canaries", lambda r: 1 <= r <= m, Integral
    )
    check_claim(epsilon, delta, confidence)
    first = np.random.default_rng(random_state).integers(0, 2, m).astype(bool)
    release = mechanism(np.where(first[:, None], A, B))
    scores = _difference_of_distances(release, A, B) if score is None else score(release)
    scores = np.asarray(scores, dtype=float)
    if scores.shape != (m,):
        raise ValueError(
            f"score must return one number for each canary; found shape {scores.shape}"
        )
    clearest = np.argsort(-np.abs(scores), kind="stable")[:r]
    n_right = int(((scores > 0) == first)[clearest].sum())
    name = getattr(mechanism, "__name__", type(mechanism).__name__)
    bound = _epsilon_lower_bound(n_right, r, m, delta, confidence)
    evidence = f"Of {m:,} canaries {r:,} were guessed, {n_right:,} of them right."
    event, sides = "score >= 0", (scores[first], scores[~first])
    return AuditReport(
        subject or name, epsilon, delta, bound, confidence, event, evidence, sides, 0.0
    )


def _difference_of_distances(
    release: Any, A: NDArray[np.float64], B: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the squared distance of each row to that of B minus the one to that of A."""
    release = np.asarray(release, dtype=float)
    if release.shape != A.shape:
        raise ValueError(
            f"the release has shape {release.shape}, the canaries {A.shape}: pass score=, a "
            "function that returns a number for each canary"
        )
    to_A: NDArray[np.float64] = ((release - A) ** 2).sum(axis=1)
    to_B: NDArray[np.float64] = ((release - B) ** 2).sum(axis=1)
    return to_B - to_A


def _epsilon_lower_bound(
    n_right: int, n_guesses: int, m: int, delta: float, confidence: float
) -> float:
    """Return the largest epsilon (rounded down) that is rejected; 0 if none is."""

    def rejected(epsilon: float) -> bool:
        return chance_of_guesses(n_right, n_guesses, m, epsilon, delta) <= 1 - confidence

    low, high = 0.0, 64.0
    if not rejected(low):
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low
