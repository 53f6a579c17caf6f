"""Fit an estimator many times on two neighbouring data sets, and bound epsilon (zone: public)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_regressor
from sklearn.pipeline import Pipeline

from ..learners._private_training import private_training
from ..privacy.accounting import uncounted
from ..privacy.noise import seed_noise
from ..records.tables import as_table, n_rows, take_rows
from ..search._delegation import DelegatesToBest
from ._mechanism import check, report_on, rough_bound, runs_on
from ._neighbours import Neighbours, check_neighbours, differing, training_neighbours
from ._report import AuditReport

# Size of the largest array of a fitted model that is compared.
_LARGEST = 256
# Smallest number of fits to compare pairs of training sets by.
_FEW = 50
# Number of given records to predict, and of those that differ.
_N_PROBES = 4
# Other libraries' estimators accept seeds below this.
_SEEDS = 2**31 - 1

# The arguments of `fit`, without and with names.
Given = tuple[tuple[Any, ...], dict[str, Any]]


def audit_search(
    search: Any,
    train: tuple[Any, ...],
    held_out: tuple[Any, ...],
    held_out_neighbour: tuple[Any, ...],
    n: int = 2000,
    *,
    confidence: float = 0.99,
    output: Callable[[Any], Any] | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
) -> AuditReport:
    """Bound the epsilon of a whole search from below, by fitting it on two validation sets.

    The mechanism is ``search.fit(*train, X_val=..., y_val=...)``; see `audit_mechanism`.

    Parameters
    ----------
    search : PrivateBayesSearchCV or PrivateThresholdClassifier
        Without a ledger, because an audit fits it 2 n times.
    train : tuple (X, y)
        The training set.
    held_out, held_out_neighbour : tuple (X_val, y_val) or (X_val, y_val, groups_val)
        Validation sets that differ in one record (one group); `opposed_models` has the worst ones.
        An audit does not protect them.
    n : int, default=2000
        Number of fits on each validation set, 100 or more.
    confidence : float, default=0.99
        As in `audit_mechanism`.
    output, random_state : callable and int, default=None
        As in `audit_estimator`.
    n_jobs : int or None, default=None
        As in `audit_mechanism`.

    Returns
    -------
    report : AuditReport
        Print it, or plot it.

    Examples
    --------
    >>> from sklearn_dpbo import PrivateBayesSearchCV
    >>> from sklearn_dpbo.audit import ConstantClassifier, audit_search, opposed_models
    >>> search = PrivateBayesSearchCV(ConstantClassifier(), {"label": [0, 1]}, epsilon=2.0)
    >>> report = audit_search(search, *opposed_models(), n=100, random_state=0)
    >>> report.refuted
    False
    """
    check(n, None, 0.0, confidence)
    check_neighbours(held_out, held_out_neighbour)
    prepared = _prepared(search)
    if "refit" in prepared.get_params(deep=False):
        prepared.set_params(refit=False)
    names = ("X_val", "y_val", "groups_val")
    both = (held_out, held_out_neighbour)
    pair = [(train, dict(zip(names, data, strict=False))) for data in both]
    fit = _Fit(prepared, [], output)
    seeds = _seeds(random_state)
    claim = fit.fitted(pair[0], *next(seeds)).privacy_
    outputs = runs_on(pair, fit, [next(seeds) for _ in range(n)], n_jobs)
    return report_on(type(search).__name__, outputs, claim.epsilon, claim.delta, confidence)


def audit_estimator(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    n: int = 2000,
    *,
    groups: ArrayLike | None = None,
    pairs: Mapping[str, Neighbours] | None = None,
    confidence: float = 0.99,
    output: Callable[[Any], Any] | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
) -> AuditReport:
    """Bound the epsilon of an estimator from below, by fitting it on two training sets.

    The mechanism is ``estimator.fit``. A few fits on several pairs of training sets, each of which
    differ in one unit, find the pair that shows most. The estimator is then fitted n times on each
    side of it; one half of these fits chooses the event, and the other half bounds epsilon (see
    `audit_mechanism`). The claim is what the estimator declares (`PrivateTraining`), for one unit
    replaced: if it declares epsilon for one record added or removed, the claim is twice as much. Of
    a declared profile, it is the epsilon at a delta of 0.05.

    Parameters
    ----------
    estimator : estimator
        One that protects the records it is fitted on, and declares how, such as a
        `PrivateTableSearchCV`. At a small delta, thousands of fits show little of Gaussian noise:
        set its epsilon to 2 or 3, and its delta to 0.05.
    X, y : array-like
        A few records that span the allowed range (see `training_neighbours`), and their labels. An
        audit does not protect them.
    n : int, default=2000
        Number of fits on each of the two training sets, 100 or more. To choose the pair takes a
        tenth of it, for each pair.
    groups : array-like of shape (n_samples,), default=None
        Whom each record belongs to; all records of one group are then replaced.
    pairs : dict of str to pair of tuples (X, y) or (X, y, groups), default=None
        Training sets to compare; the keys say what changes. None takes those of
        `training_neighbours`.
    confidence : float, default=0.99
        As in `audit_mechanism`.
    output : callable, default=None
        Takes a fitted estimator and returns what to compare: a number, a text, or a sequence or
        dict of them. None compares the numbers in its fitted attributes; of a search, also the best
        candidate; and of a model without `coef_` its predictions for the records in which the
        training sets differ and a few others.
        A fit that raises an error counts as an output.
    random_state : int, default=None
        Seeds the noise, if the estimator allows that: the audit is then reproducible, but of the
        seeded generator and not of the noise that is used in production. None draws fresh noise,
        whatever seed the estimator has.
    n_jobs : int or None, default=None
        As in `audit_mechanism`.

    Returns
    -------
    report : AuditReport
        Print it, or plot it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dpbo.audit import audit_estimator
    >>> from sklearn_dpbo.learners import PrivateRidge
    >>> ridge = PrivateRidge(y_bounds=(-1, 1), epsilon=3.0, delta=0.05)
    >>> X, y = np.array([[-1.0], [1.0], [0.0]]), [-1.0, 1.0, 0.0]
    >>> report = audit_estimator(ridge, X, y, n=200, random_state=0)
    >>> report.epsilon, report.refuted
    (3.0, False)
    """
    check(n, None, 0.0, confidence)
    if pairs is None:
        pairs = training_neighbours(X, y, groups, regression=is_regressor(estimator))
    for pair in pairs.values():
        check_neighbours(*pair)
    prepared = _prepared(estimator)
    training = private_training(estimator)
    params = prepared.get_params()
    # Estimators of other libraries seed their noise by `random_state`. Searches do not.
    seeded = [name for name in params if name.rpartition("__")[2] == "random_state"]
    seeded = [] if _is_search(estimator) else seeded
    whole = (X, y) if groups is None else (X, y, groups)
    if training.groups is None and max(map(len, [whole, *(one for one, _ in pairs.values())])) > 2:
        raise ValueError(
            f"{type(estimator).__name__} protects single records and no groups: leave groups out"
        )
    if training.classes is not None and params[training.classes] is None:
        prepared.set_params(**{training.classes: np.unique(np.asarray(y))})
    claim = training.claim(params)
    seeds = _seeds(random_state)

    def given(data: Sequence[Any]) -> Given:
        return tuple(data[:2]), dict(zip([str(training.groups)], data[2:], strict=False))

    def outputs(name: str, n: int) -> tuple[list[Any], list[Any]]:
        fit = _Fit(prepared, seeded, output, _probes(X, *pairs[name]))
        own = [next(seeds) for _ in range(n)]
        return runs_on([given(data) for data in pairs[name]], fit, own, n_jobs)

    _Fit(prepared, seeded, output).fitted(given(whole), *next(seeds))  # so that errors show
    name = next(iter(pairs))
    if len(pairs) > 1:
        n_few = max(_FEW, n // 10)
        name = max(pairs, key=lambda name: rough_bound(outputs(name, n_few), claim[1]))
    subject = f"{type(estimator).__name__}, {name}"
    return report_on(subject, outputs(name, n), *claim, confidence)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Fits a clone of an estimator with fresh noise, and returns what is compared.

    `seeded`: parameters that take the seed, too; `probes`: records that are predicted.
    """

    estimator: Any
    seeded: list[str]
    output: Callable[[Any], Any] | None
    probes: Sequence[Any] = ()

    def __call__(self, given: Given, seed: int | None) -> Any:
        try:
            estimator = self.fitted(given, seed)
        except Exception as error:
            return {"error": type(error).__name__}
        if self.output is not None:
            return self.output(estimator)
        return _released(estimator, self.probes)

    def fitted(self, given: Given, seed: int | None) -> Any:
        estimator = clone(self.estimator).set_params(**dict.fromkeys(self.seeded, seed))
        seeded = seed_noise(None if seed is None else (seed,))
        with uncounted(), warnings.catch_warnings(), seeded:
            warnings.simplefilter("ignore")
            return estimator.fit(*given[0], **given[1])


def _is_search(estimator: Any) -> bool:
    return isinstance(estimator, DelegatesToBest)


def _prepared(estimator: Any) -> Any:
    """Return a clone without a ledger; of a search, one that always evaluates the same candidates.

    That makes its audit more sensitive.
    """
    for name, value in estimator.get_params().items():
        if name.rpartition("__")[2] == "ledger" and value is not None:
            raise ValueError(
                f"an audit fits thousands of times, and no ledger pays for that: set {name}=None"
            )
    prepared = clone(estimator)
    if _is_search(estimator) and estimator.random_state is None:
        prepared.set_params(random_state=0)
    return prepared


def _seeds(random_state: int | None) -> Iterator[tuple[int | None]]:
    """Yield seeds of fits, or always None without a `random_state`."""
    rng = None if random_state is None else np.random.default_rng(random_state)
    while True:
        yield (None if rng is None else int(rng.integers(_SEEDS)),)


def _probes(X: Any, data: Sequence[Any], neighbour: Sequence[Any]) -> list[Any]:
    """Return a few records, and some in which the data sets differ."""
    probes = [(X, np.arange(min(_N_PROBES, n_rows(X))))]
    if len(rows := np.flatnonzero(differing(data[0], neighbour[0]))[:_N_PROBES]):
        probes += [(data[0], rows), (neighbour[0], rows)]
    return [take_rows(as_table(table), rows) for table, rows in probes]


def _released(estimator: Any, probes: Sequence[Any]) -> dict[str, Any]:
    """Return the numbers that a fitted estimator shows, as in `audit_estimator`."""
    released = {f"best {name}": v for name, v in getattr(estimator, "best_params_", {}).items()}
    model = getattr(estimator, "best_estimator_", estimator)
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    for part in (estimator, last):
        for name, value in vars(part).items():
            if name.endswith("_") and not name.startswith("_"):
                released |= _named(name, value)
    if "coef_[0]" not in released:
        names = ("decision_function", "predict_proba", "predict")
        name = next((method for method in names if hasattr(estimator, method)), "predict")
        for i, rows in enumerate(probes):
            with suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                released |= _named(f"{name} {i}", getattr(estimator, name)(rows))
    return released


def _named(name: str, value: Any) -> dict[str, Any]:
    """Return numbers or texts, each with a name; nothing for other values, or if they are many."""
    if isinstance(value, Real):
        return {name: value}
    values = np.empty(0)
    if isinstance(value, list | tuple | np.ndarray):
        with suppress(ValueError):  # of different lengths
            values = np.asarray(value)
    if values.size > _LARGEST or values.dtype.kind not in "biufUS":
        return {}
    return {f"{name}[{i}]": number for i, number in enumerate(values.ravel().tolist())}
