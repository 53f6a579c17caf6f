"""Run a mechanism many times on two neighbouring data sets, and bound epsilon (zone: public)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from ..exceptions import PrivacyWarning
from ._report import AuditReport
from ._runs import check, check_neighbours, fits_on, report_on, runs_on, seeds_from

__all__ = ["audit_mechanism", "audit_search"]


def audit_mechanism(
    mechanism: Callable[[Any], Any],
    pair: tuple[Any, Any],
    n: int = 4000,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.99,
    n_events: int = 1,
    subject: str | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> AuditReport:
    """Bound the epsilon of any mechanism from below, by running it on two neighbours.

    Half of the runs choose an event E in which the outputs differ; the other half bound its
    probabilities, ``epsilon >= ln((P(E) - delta) / P'(E))``, in both directions. See "Audits" in
    the documentation.

    Parameters
    ----------
    mechanism : callable
        Takes a data set and returns a number, a text, or a sequence or dict of them. Its noise must
        be fresh in each call.
    pair : tuple of two data sets
        Neighbours in the sense of the mechanism's guarantee; `sklearn_dpbo.audit.cases` has the
        worst ones. An audit does not protect them, because it repeats the release n times.
    n : int, default=4000
        Number of runs on each data set, 100 or more.
    epsilon : float, default=None
        The claimed epsilon, to compare the bound with; None if nothing is claimed.
    delta : float, default=0.0
        The claimed delta, in [0, 1).
    confidence : float, default=0.99
        Probability that the bound holds, in (0.5, 1).
    n_events : int, default=1
        Number of events to test in each direction, 1 or more.
    subject : str, default=None
        What is audited, for the report; None is the mechanism's name.
    n_jobs : int or None, default=None
        Number of parallel jobs, as joblib takes it.
    progress : bool, default=False
        Whether to show a progress bar (needs tqdm).

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
    check(n, epsilon, delta, confidence, n_events)
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError(f"pair must be two data sets; found {pair!r:.100}")
    outputs = runs_on(pair, mechanism, n, n_jobs, progress)
    name: str = getattr(mechanism, "__name__", type(mechanism).__name__)
    return report_on(subject or name, outputs, epsilon, delta, confidence, n_events)


def audit_search(
    search: Any,
    train: tuple[Any, ...],
    held_out: tuple[Any, ...],
    held_out_neighbour: tuple[Any, ...],
    n: int = 2000,
    *,
    confidence: float = 0.99,
    n_events: int = 1,
    output: Callable[[Any], Any] | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> AuditReport:
    """Bound the epsilon of a whole estimator from below, by fitting it on two validation sets.

    The mechanism is ``search.fit(*train, X_val=..., y_val=...)``; see `audit_mechanism`.

    Parameters
    ----------
    search : PrivateBayesSearchCV or PrivateThresholdClassifier
        Without a ledger, because an audit fits it 2 n times.
    train : tuple (X, y)
        The training set.
    held_out, held_out_neighbour : tuple (X_val, y_val) or (X_val, y_val, groups_val)
        Validation sets that differ in one record (one group);
        `sklearn_dpbo.audit.cases.opposed_models` has the worst ones. An audit does not protect
        them.
    n : int, default=2000
        Number of fits on each validation set, 100 or more.
    confidence, n_events : float and int, default=0.99 and 1
        As in `audit_mechanism`.
    output : callable, default=None
        Takes a fitted estimator and returns what to compare, as a mechanism does. None compares the
        chosen candidate or threshold, the released score, and the mean of each parameter over the
        validated candidates.
    random_state : int, default=None
        Seeds the noise, as in `audit_estimator`.
    n_jobs, progress : int or None and bool, default=None and False
        As in `audit_mechanism`.

    Returns
    -------
    report : AuditReport
        Print it, or plot it.
    """
    check(n, None, 0.0, confidence, n_events)
    if getattr(search, "ledger", None) is not None:
        raise ValueError(
            f"an audit fits the search {2 * n:,} times, and no ledger pays for that: set "
            "ledger=None"
        )
    check_neighbours(held_out, held_out_neighbour)
    fit = _Fit(_with_fixed_candidates(search), tuple(train), output or released)
    seeds = seeds_from(random_state, 2 * n)
    claim = fit.fitted(held_out, seeds[0]).privacy_
    outputs = fits_on((held_out, held_out_neighbour), fit, seeds, n_jobs, progress)
    subject = type(search).__name__
    return report_on(subject, outputs, claim.epsilon, claim.delta, confidence, n_events)


def released(search: Any) -> dict[str, Any]:
    """Return the released numbers of a fitted search or threshold classifier."""
    found = {f"best {name}": v for name, v in getattr(search, "best_params_", {}).items()}
    found |= {
        name: getattr(search, name)
        for name in ("best_threshold_", "best_score_")
        if hasattr(search, name)
    }
    results = getattr(search, "cv_results_", {"params": []})
    # `validated` is masked where it is not released, so it may be neither True nor False.
    candidate_params = [
        params
        for params, validated in zip(results["params"], results.get("validated", ()), strict=True)
        if validated is True or validated is np.True_
    ]
    for name in sorted({name for params in candidate_params for name in params}):
        values = [params[name] for params in candidate_params if name in params]
        if all(isinstance(v, Real) for v in values):
            found[f"mean {name}"] = float(np.mean(values))
    return found


class _Fit:
    """Fits a clone of a search on a validation set, and returns its `output`."""

    def __init__(self, search: Any, train: tuple[Any, ...], output: Callable[[Any], Any]) -> None:
        self.search, self.train, self.output = search, train, output

    def __call__(self, held_out: tuple[Any, ...], seed: int | None) -> Any:
        return self.output(self.fitted(held_out, seed))

    def fitted(self, held_out: tuple[Any, ...], seed: int | None) -> Any:
        names = ("X_val", "y_val", "groups_val")
        search = clone(self.search)
        if seed is not None:
            search.set_params(noise_random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            return search.fit(*self.train, **dict(zip(names, held_out, strict=False)))


def _with_fixed_candidates(search: Any) -> Any:
    """Return a clone that evaluates the same candidates in each fit: a more sensitive audit."""
    search = clone(search)
    params = search.get_params(deep=False)
    if "random_state" in params and params["random_state"] is None:
        search.set_params(random_state=0)
    return search.set_params(refit=False) if "refit" in params else search
