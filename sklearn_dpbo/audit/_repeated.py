"""Run a mechanism many times on two neighbouring data sets, and bound epsilon (zone: public)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from .._data.tables import dense, n_rows
from .._evaluation.progress import progress_bar
from .._params import check_number
from ..exceptions import PrivacyWarning
from ._events import as_tables, choose_events, epsilon_lower_bound
from ._report import AuditReport

__all__ = ["audit_mechanism", "audit_search"]

_N_CHUNKS = 100


def audit_mechanism(
    mechanism: Callable,
    pair: tuple,
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
    """Bound from below the epsilon of any mechanism, by running it on two neighbours.

    Half of the runs choose an event E in which the outputs differ; the other half bound its
    probabilities, ``epsilon >= ln((P(E) - delta) / P'(E))``. Both directions are tried, each with
    `n_events` events, and the confidence is shared among all of these (Bonferroni) and between
    the two Clopper-Pearson bounds of each.

    Parameters
    ----------
    mechanism : callable
        Of a data set; returns a number, a text, or a sequence or dict of them. Its noise must be
        fresh in each call.
    pair : tuple of two data sets
        Neighbours: what the mechanism's guarantee is about. See `sklearn_dpbo.audit.cases` for the
        worst ones. They are not protected by an audit, which repeats the release n times.
    n : int, default=4000
        Runs of each data set, at least 100.
    epsilon : float, default=None
        What is claimed, for the report.
    delta : float, default=0.0
        What is claimed.
    confidence : float, default=0.99
    n_events : int, default=1
        In each direction.
    subject : str, default=None
        For the report; None is the mechanism's name.
    n_jobs : int or None, default=None
        As joblib takes it.
    progress : bool, default=False
        Whether to show a bar (with tqdm).

    Returns
    -------
    report : AuditReport

    Raises
    ------
    ValueError
        If a parameter makes no sense.

    References
    ----------
    Ding, Wang, Wang, Zhang and Kifer, "Detecting violations of differential privacy", CCS 2018;
    Jagielski, Ullman and Oprea, "Auditing differentially private machine learning", NeurIPS 2020.

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
    _check(n, epsilon, delta, confidence, n_events)
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError(f"pair is two data sets; found {pair!r:.100}")
    calls = [delayed(_repeat)(mechanism, pair[side], part) for side, part in _chunks(n)]
    outputs = _collect(calls, n, n_jobs, progress)
    name = subject or getattr(mechanism, "__name__", type(mechanism).__name__)
    return _report(name, outputs, epsilon, delta, confidence, n_events)


def audit_search(
    search,
    train: tuple,
    held_out: tuple,
    held_out_neighbour: tuple,
    n: int = 2000,
    *,
    confidence: float = 0.99,
    n_events: int = 1,
    output: Callable | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> AuditReport:
    """Bound from below the epsilon of a whole estimator, by fitting it on two validation sets.

    As `audit_mechanism`, of ``search.fit(*train, X_val=..., y_val=...)``.

    Parameters
    ----------
    search : PrivateBayesSearchCV or PrivateThresholdClassifier
        Without a ledger: an audit fits it 2 n times. Its `memory` saves time if fits are slow.
    train : tuple (X, y)
    held_out, held_out_neighbour : tuple (X_val, y_val) or (X_val, y_val, groups_val)
        Validation sets that differ in one record (one group). They are not protected by an audit.
        `sklearn_dpbo.audit.cases.opposed_models` has the worst ones.
    n : int, default=2000
        Fits on each validation set, at least 100.
    confidence : float, default=0.99
    n_events : int, default=1
        In each direction.
    output : callable, default=None
        What to look at in a fitted estimator: a number, a text, or a sequence or dict of them. None
        is the candidate or threshold chosen, the released score, and the means of the parameters of
        the candidates that were validated.
    random_state : int, default=None
        Seeds the noise: the audit is reproducible then, and is one of the seeded generator's
        formulas instead of the noise that is used in earnest.
    n_jobs : int or None, default=None
        As joblib takes it.
    progress : bool, default=False
        Whether to show a bar (with tqdm).

    Returns
    -------
    report : AuditReport

    Raises
    ------
    ValueError
        If a parameter makes no sense, or the validation sets are no neighbours.
    """
    _check(n, None, 0.0, confidence, n_events)
    if getattr(search, "ledger", None) is not None:
        raise ValueError(f"an audit fits the search {2 * n:,} times: take its ledger away")
    _refuse_other_than_neighbours(held_out, held_out_neighbour)
    once = _Fit(_with_fixed_candidates(search), tuple(train), output or released)
    seeds = [None] * (2 * n) if random_state is None else _seeds(random_state, 2 * n)
    sides = (held_out, held_out_neighbour)
    calls = [
        delayed(_repeat_fit)(once, sides[side], [seeds[2 * i + side] for i in part])
        for side, part in _chunks(n)
    ]
    statement = once.fitted(held_out, seeds[0]).privacy_
    outputs = _collect(calls, n, n_jobs, progress)
    claim = statement.epsilon, statement.delta
    return _report(type(search).__name__, outputs, *claim, confidence, n_events)


def released(search) -> dict:
    """Return the released numbers of a fitted search or threshold classifier."""
    found = {f"best {name}": v for name, v in getattr(search, "best_params_", {}).items()}
    found |= {
        n: getattr(search, n) for n in ("best_threshold_", "best_score_") if hasattr(search, n)
    }
    results = getattr(search, "cv_results_", {"params": []})
    path = [
        params
        for params, seen in zip(results["params"], results.get("validated", ()), strict=True)
        if seen is True or seen is np.True_
    ]
    for name in sorted({name for params in path for name in params}):
        values = [params[name] for params in path if name in params]
        if all(isinstance(v, Real) for v in values):
            found[f"mean {name}"] = float(np.mean(values))
    return found


class _Fit:
    """A search, to be fitted on one validation set or another."""

    def __init__(self, search, train: tuple, output: Callable):
        self.search, self.train, self.output = search, train, output

    def fitted(self, held_out: tuple, seed: int | None):
        names = ("X_val", "y_val", "groups_val")
        search = clone(self.search)
        if seed is not None:
            search.set_params(noise_random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            return search.fit(*self.train, **dict(zip(names, held_out, strict=False)))


def _repeat_fit(once: _Fit, held_out: tuple, seeds: list) -> list:
    return [once.output(once.fitted(held_out, seed)) for seed in seeds]


def _repeat(mechanism: Callable, data, part: range) -> list:
    return [mechanism(data) for _ in part]


def _chunks(n: int):
    """Yield (which data set, which of its runs), in turns."""
    for part in np.array_split(np.arange(n), min(_N_CHUNKS, n)):
        yield 0, part
        yield 1, part


def _collect(calls: list, n: int, n_jobs, progress: bool) -> tuple[list, list]:
    """Return the outputs of the runs on either data set."""
    # Not every backend of joblib gives results while it works.
    done = Parallel(n_jobs=n_jobs, return_as="generator" if progress else "list")(calls)
    outputs: tuple[list, list] = ([], [])
    for i, found in enumerate(progress_bar(done, len(calls), "audit", shown=progress)):
        outputs[i % 2].extend(found)
    return outputs


def _report(subject, outputs, epsilon, delta, confidence, n_events) -> AuditReport:
    """Choose events on the first half of the runs, bound epsilon on the second."""
    columns, *tables = as_tables(*outputs)
    n = len(tables[0])
    # Two directions, n_events each, two bounds each.
    bound = {"delta": delta, "tail": (1 - confidence) / (4 * n_events)}
    found = []
    for direction in (1, -1):
        first, second = tables[::direction]
        events = choose_events(columns, first[: n // 2], second[: n // 2], n_events, **bound)
        for event in events:
            tested = first[n // 2 :], second[n // 2 :]
            k = event.count(tested[0]), event.count(tested[1])
            value = float(epsilon_lower_bound(k[0], k[1], len(tested[0]), **bound))
            found.append((value, event, k, (event.score(tested[0]), event.score(tested[1]))))
    if not found:
        nothing = (np.zeros(n - n // 2),) * 2
        return AuditReport(
            subject,
            epsilon,
            delta,
            0.0,
            confidence,
            n,
            "all outputs are the same",
            (0, 0),
            nothing,
            0.0,
        )
    value, event, k, scores = max(found, key=lambda each: each[0])
    return AuditReport(
        subject,
        epsilon,
        delta,
        max(0.0, value),
        confidence,
        n,
        event.text,
        k,
        scores,
        event.threshold,
    )


def _with_fixed_candidates(search):
    """Return a clone whose public choices are the same in each fit: that tells the more."""
    search = clone(search)
    params = search.get_params(deep=False)
    if "random_state" in params and params["random_state"] is None:
        search.set_params(random_state=0)
    return search.set_params(refit=False) if "refit" in params else search


def _seeds(random_state: int, n: int) -> list[int]:
    return np.random.default_rng(random_state).integers(2**62, size=n).tolist()


def _refuse_other_than_neighbours(held_out, held_out_neighbour) -> None:
    """Without this, an audit of no neighbours would refute any mechanism."""
    for part in (held_out, held_out_neighbour):
        if not isinstance(part, tuple | list) or len(part) not in (2, 3):
            raise ValueError("a validation set is (X_val, y_val) or (X_val, y_val, groups_val)")
    if (
        len(held_out) != len(held_out_neighbour)
        or len({n_rows(x) for x in (*held_out, *held_out_neighbour)}) != 1
    ):
        raise ValueError("neighbours have the same number of rows, and both or neither have groups")
    differ = np.zeros(n_rows(held_out[0]), dtype=bool)
    for a, b in zip(held_out, held_out_neighbour, strict=True):
        differ |= _differing(a, b)
    units = int(differ.sum())
    if len(held_out) == 3:
        if _differing(held_out[2], held_out_neighbour[2]).any():
            raise ValueError("neighbours have the same groups: who has which rows is public")
        units = len(set(np.asarray(dense(held_out[2]))[differ].tolist()))
    if units > 1:
        what = "group" if len(held_out) == 3 else "record"
        raise ValueError(f"neighbours differ in one {what}; these differ in {units}")


def _differing(a, b) -> np.ndarray:
    a, b = (np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=object) for x in (a, b))
    same = np.frompyfunc(lambda x, y: x == y or (x != x and y != y), 2, 1)(a, b).astype(bool)
    return ~same.reshape(len(same), -1).all(axis=1)


def _check(n, epsilon, delta, confidence, n_events) -> None:
    check_number("n", n, "a whole number from 100 up", lambda n: n >= 100, Integral)
    if epsilon is not None:
        check_number("epsilon", epsilon, "None or 0 and up", lambda e: e >= 0)
    check_number("delta", delta, "in [0, 1)", lambda d: 0 <= d < 1)
    check_number("confidence", confidence, "in (0.5, 1)", lambda c: 0.5 < c < 1)
    check_number("n_events", n_events, "1 or more", lambda k: k >= 1, Integral)
