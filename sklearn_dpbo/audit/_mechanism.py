"""Run a mechanism many times on two neighbouring data sets, and bound epsilon (zone: public)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

from joblib import Parallel, delayed

from ..privacy.checks import check_number
from ._events import as_tables, choose_event, epsilon_lower_bound
from ._report import AuditReport, Floats

# Failure probability of bounds that only decide which data sets get more runs.
_ROUGH = 0.1


def audit_mechanism(
    mechanism: Callable[[Any], Any],
    pair: tuple[Any, Any],
    n: int = 4000,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.99,
    subject: str | None = None,
    n_jobs: int | None = None,
) -> AuditReport:
    """Bound the epsilon of any mechanism from below, by running it on two neighbours.

    Half of the runs choose an event E in which the outputs differ; the other half bound its
    probabilities, ``epsilon >= ln((P(E) - delta) / P'(E))``, in both directions. See "Audits" in
    the documentation.

    Parameters
    ----------
    mechanism : callable
        Takes a data set and returns a number, a text, or a sequence or dict of these. Its noise
        must be new in each call.
    pair : tuple of two data sets
        Neighbours in the sense of the mechanism's guarantee, as different as it allows. An audit
        does not protect them, because it repeats the release n times.
    n : int, default=4000
        Number of runs on each data set, 100 or more.
    epsilon : float, default=None
        The claimed epsilon, with which the bound is compared; None if nothing is claimed.
    delta : float, default=0.0
        The claimed delta, in [0, 1).
    confidence : float, default=0.99
        Probability that the bound holds, in (0.5, 1).
    subject : str, default=None
        Name of what is audited, for the report; None is the mechanism's name.
    n_jobs : int or None, default=None
        Number of parallel jobs, as joblib takes it.

    Returns
    -------
    report : AuditReport
        Print it, or plot it.

    Examples
    --------
    >>> from random import Random
    >>> from sklearn_dpbo.audit import audit_mechanism
    >>> coin = Random(0)
    >>> def randomized_response(bit):  # epsilon = ln 3
    ...     return bit if coin.random() < 0.75 else 1 - bit
    >>> report = audit_mechanism(randomized_response, (0, 1), n=4000, epsilon=1.1)
    >>> report.refuted, report.epsilon_lower_bound > 0.9
    (False, True)
    """
    check(n, epsilon, delta, confidence)
    name: str = getattr(mechanism, "__name__", type(mechanism).__name__)
    outputs = runs_on(pair, mechanism, [() for _ in range(n)], n_jobs)
    return report_on(subject or name, outputs, epsilon, delta, confidence)


def check(n: int, epsilon: float | None, delta: float, confidence: float) -> None:
    """Raise ValueError if a parameter of an audit is out of its range."""
    check_number("n", n, "a whole number from 100 up", lambda n: n >= 100, Integral)
    check_number("epsilon", epsilon, "0 and up", lambda e: e >= 0, optional=True)
    check_number("delta", delta, "in [0, 1)", lambda d: 0 <= d < 1)
    check_number("confidence", confidence, "in (0.5, 1)", lambda c: 0.5 < c < 1)


def runs_on(
    pair: Sequence[Any],
    mechanism: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    n_jobs: int | None,
) -> tuple[list[Any], list[Any]]:
    """Run a mechanism on both data sets, once for each tuple of further arguments.

    Runs alternate between the data sets, so that changes over time do not distinguish them.
    """
    calls = (delayed(mechanism)(data, *args) for args in arguments for data in pair)
    outputs = Parallel(n_jobs=n_jobs)(calls)
    return outputs[::2], outputs[1::2]


def report_on(
    subject: str,
    outputs: tuple[list[Any], list[Any]],
    epsilon: float | None,
    delta: float,
    confidence: float,
) -> AuditReport:
    """Choose events on the first half of the runs, and bound epsilon on the second half."""
    names, table, neighbour = as_tables(*outputs)
    reports = [
        _bounded(subject, names, pair, epsilon, delta, confidence)
        for pair in ((table, neighbour), (neighbour, table))
    ]
    return max(reports, key=lambda report: report.epsilon_lower_bound)


def _bounded(
    subject: str,
    names: list[str],
    pair: Sequence[Floats],
    epsilon: float | None,
    delta: float,
    confidence: float,
) -> AuditReport:
    """Report on an event that is more probable on the first data set."""
    half = len(pair[0]) // 2
    n = len(pair[0]) - half
    # Two directions, and two bounds in each.
    tail = (1 - confidence) / 4
    event = choose_event(names, pair[0][:half], pair[1][:half], delta=delta, tail=tail)
    scores = event.score(pair[0][half:]), event.score(pair[1][half:])
    k, k_neighbour = (int((s >= event.threshold).sum()) for s in scores)
    bound = max(0.0, float(epsilon_lower_bound(k, k_neighbour, n, delta=delta, tail=tail)))
    evidence = (
        f"The event ({event.text}) occurred in {k:,} of {n:,} runs on one data set and in "
        f"{k_neighbour:,} of {n:,} on its neighbour. {half:,} other runs on each were used to "
        "choose it."
    )
    return AuditReport(
        subject, epsilon, delta, bound, confidence, event.text, evidence, scores, event.threshold
    )


def rough_bound(outputs: tuple[list[Any], list[Any]], delta: float) -> float:
    """Estimate a lower bound of epsilon; it is too large, as the same runs choose the event."""
    names, table, neighbour = as_tables(*outputs)
    pairs = ((table, neighbour), (neighbour, table))
    return max(choose_event(names, *pair, delta=delta, tail=_ROUGH).bound for pair in pairs)
