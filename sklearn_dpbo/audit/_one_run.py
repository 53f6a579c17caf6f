"""Bound epsilon from one release of many numbers (zone: public)."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy.stats import binom

from .._params import check_number

__all__ = ["OneRunReport", "audit_one_run", "chance_of_guesses"]


@dataclass(frozen=True)
class OneRunReport:
    """What one release told of its canaries.

    Parameters
    ----------
    subject : str
    epsilon : float or None
        What is claimed.
    delta : float
    epsilon_lower_bound : float
        With probability `confidence` over the audit, no smaller epsilon can be true.
    confidence : float
    n_canaries, n_guesses, n_right : int
    """

    subject: str
    epsilon: float | None
    delta: float
    epsilon_lower_bound: float
    confidence: float
    n_canaries: int
    n_guesses: int
    n_right: int

    @property
    def refuted(self) -> bool:
        """Whether the claim cannot be true, with that confidence. False is no proof of it."""
        return self.epsilon is not None and self.epsilon_lower_bound > self.epsilon

    def __str__(self) -> str:
        claim = "" if self.epsilon is None else f" Claimed: {self.epsilon:g}."
        verdict = " THE CLAIM IS REFUTED." if self.refuted else ""
        return textwrap.fill(
            f"Audit of one run of {self.subject}: epsilon is at least "
            f"{self.epsilon_lower_bound:.3f} at delta = {self.delta:g}, with "
            f"{100 * self.confidence:g} % confidence.{claim}{verdict} Of {self.n_canaries:,} "
            f"canaries {self.n_guesses:,} were guessed, {self.n_right:,} of them right.",
            100,
        )


def chance_of_guesses(n_right: int, n_guesses: int, m: int, epsilon: float, delta: float) -> float:
    """Return how probable so many right guesses are at most, under (epsilon, delta)-privacy.

    Of m independent fair bits r are guessed; W of the guesses are right. Then

        P(W >= v) <= P(B >= v) + 2 m delta max_i P(v > B >= v - i) / i

    with B binomial of r trials with probability ``e^epsilon / (e^epsilon + 1)``.

    References
    ----------
    Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023,
    Theorem 5.2.
    """
    v, B = n_right, binom(n_guesses, 1 / (1 + np.exp(-epsilon)))
    slack = 0.0
    if v > 0 and delta > 0:
        steps = np.arange(1, v + 1)
        slack = float(np.max(np.cumsum(B.pmf(v - steps)) / steps))
    return min(1.0, float(B.sf(v - 1)) + 2 * m * delta * slack)


def audit_one_run(
    mechanism: Callable,
    canaries: tuple,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.99,
    n_guesses: int | None = None,
    score: Callable | None = None,
    subject: str | None = None,
    random_state: int | None = None,
) -> OneRunReport:
    """Bound epsilon from below by one release that says something about every record.

    For each record a coin decides which of two values it has; from the release it is guessed
    which, where that is clearest. It applies to mechanisms that release something of each record
    (`GaussianCurator`, or many counts at once), and tells next to nothing where all records make
    one number: use `audit_search` or `audit_mechanism` there.

    Parameters
    ----------
    mechanism : callable
        Of a table of shape (m, n_features); by default of what it returns, row i belongs to row i.
    canaries : tuple of two arrays of shape (m, n_features)
        The two values of each record. The guarantee must be about replacing one by the other.
    epsilon : float, default=None
        What is claimed, for the report.
    delta : float, default=0.0
        What is claimed.
    confidence : float, default=0.99
    n_guesses : int, default=None
        How many canaries to guess; chosen beforehand. None is a hundredth, and 10 at least.
    score : callable, default=None
        Of the release; returns a number for each canary, larger where the first value is likelier.
        None compares squared distances.
    subject : str, default=None
    random_state : int, default=None
        Of the coins.

    Returns
    -------
    report : OneRunReport

    Raises
    ------
    ValueError
        If a parameter makes no sense.

    References
    ----------
    Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023.
    """
    A, B = (np.asarray(values, dtype=float) for values in canaries)
    if A.shape != B.shape or A.ndim != 2 or not len(A):
        raise ValueError(f"canaries are two tables of one shape; found {A.shape} and {B.shape}")
    m = len(A)
    r = min(m, max(10, m // 100)) if n_guesses is None else n_guesses
    check_number(
        "n_guesses", r, f"1 to {m}, the number of canaries", lambda r: 1 <= r <= m, Integral
    )
    check_number("delta", delta, "in [0, 1)", lambda d: 0 <= d < 1)
    check_number("confidence", confidence, "in (0.5, 1)", lambda c: 0.5 < c < 1)

    first = np.random.default_rng(random_state).integers(0, 2, m).astype(bool)
    release = mechanism(np.where(first[:, None], A, B))
    likelier = _nearer(release, A, B) if score is None else np.asarray(score(release), dtype=float)
    if likelier.shape != (m,):
        raise ValueError(f"score returns one number for each canary; found shape {likelier.shape}")
    clearest = np.argsort(-np.abs(likelier), kind="stable")[:r]
    n_right = int(((likelier > 0) == first)[clearest].sum())
    name = getattr(mechanism, "__name__", type(mechanism).__name__)
    bound = _epsilon_lower_bound(n_right, r, m, delta, confidence)
    return OneRunReport(subject or name, epsilon, delta, bound, confidence, m, r, n_right)


def _nearer(release, A, B) -> np.ndarray:
    release = np.asarray(release, dtype=float)
    if release.shape != A.shape:
        raise ValueError(
            f"the release has shape {release.shape} and the canaries {A.shape}: pass score="
        )
    return ((release - B) ** 2).sum(axis=1) - ((release - A) ** 2).sum(axis=1)


def _epsilon_lower_bound(n_right, n_guesses, m, delta, confidence) -> float:
    """Return the largest epsilon (rounded down) that is rejected; 0 if none is."""

    def rejected(epsilon: float) -> bool:
        return chance_of_guesses(n_right, n_guesses, m, epsilon, delta) <= 1 - confidence

    low, high = 0.0, 1.0
    if not rejected(low):
        return 0.0
    while rejected(high) and high < 64:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low
