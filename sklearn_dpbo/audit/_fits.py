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
# Smallest number of fits with which pairs of training sets are compared.
_FEW = 50
# Number of records to predict: of all, and of those that differ.
_N_PROBES = 4
# Other libraries' estimators accept seeds below this.
_SEEDS = 2**31 - 1

# Positional and keyword arguments of `fit`.
FitArguments = tuple[tuple[Any, ...], dict[str, Any]]


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
        It must have no ledger, because an audit fits it 2 n times.
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
    validation_sets = (held_out, held_out_neighbour)
    pair = [(train, dict(zip(names, data, strict=False))) for data in validation_sets]
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

    The mechanism is ``estimator.fit``. There are several pairs of training sets that differ in one
    unit. A few fits find the pair that is easiest to distinguish. The estimator is then fitted n
    times on each side of this pair; one half of these fits chooses the event, and the other half
    bounds epsilon (see `audit_mechanism`). The claim is the guarantee that the estimator declares
    (`PrivateTraining`), for one unit replaced: if it declares epsilon for one record added or
    removed, the claim is twice this epsilon. If it declares a profile, the claim is its epsilon at
    a delta of 0.05.

    Parameters
    ----------
    estimator : estimator
        An estimator that protects the records it is fitted on, and declares how, such as a
        `PrivateTableSearchCV`. With Gaussian noise and a small delta, thousands of fits give a
        small bound: set epsilon to 2 or 3, and delta to 0.05.
    X, y : array-like
        A few records that span the allowed range (see `training_neighbours`), and their labels. An
        audit does not protect them.
    n : int, default=2000
        Number of fits on each of the two training sets, 100 or more. The choice of the pair needs n
        / 10 more for each pair.
    groups : array-like of shape (n_samples,), default=None
        Group of each record; all records of one group are then replaced.
    pairs : dict of str to pair of tuples (X, y) or (X, y, groups), default=None
        Training sets to compare; the keys say what changes. None takes those of
        `training_neighbours`.
    confidence : float, default=0.99
        As in `audit_mechanism`.
    output : callable, default=None
        Takes a fitted estimator and returns the output to compare: a number, a text, or a sequence
        or dict of these. None compares the numbers in the fitted attributes. For a search, it also
        compares the best candidate; for a model without `coef_`, predictions for the records in
        which the training sets differ and for a few others. A fit that raises an error counts as an
        output.
    random_state : int, default=None
        Seed of the noise, if the estimator allows one. The audit is then reproducible, but it
        audits the seeded generator and not the noise that is used in production. None draws new
        noise, whatever seed the estimator has.
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
    all_data = (X, y) if groups is None else (X, y, groups)
    has_groups = any(len(data) > 2 for data in [all_data, *(first for first, _ in pairs.values())])
    if training.groups is None and has_groups:
        raise ValueError(
            f"{type(estimator).__name__} protects single records, not groups: leave out groups"
        )
    if training.classes is not None and params[training.classes] is None:
        prepared.set_params(**{training.classes: np.unique(np.asarray(y))})
    claim = training.claim(params)
    seeds = _seeds(random_state)

    def fit_arguments(data: Sequence[Any]) -> FitArguments:
        return tuple(data[:2]), dict(zip([str(training.groups)], data[2:], strict=False))

    def outputs(name: str, n: int) -> tuple[list[Any], list[Any]]:
        fit = _Fit(prepared, seeded, output, _probes(X, *pairs[name]))
        seeds_of_fits = [next(seeds) for _ in range(n)]
        return runs_on([fit_arguments(data) for data in pairs[name]], fit, seeds_of_fits, n_jobs)

    # Once without catching errors, which later count as outputs.
    _Fit(prepared, seeded, output).fitted(fit_arguments(all_data), *next(seeds))
    name = next(iter(pairs))
    if len(pairs) > 1:
        n_few = max(_FEW, n // 10)
        name = max(pairs, key=lambda name: rough_bound(outputs(name, n_few), claim[1]))
    subject = f"{type(estimator).__name__}, {name}"
    return report_on(subject, outputs(name, n), *claim, confidence)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Function that fits a clone of an estimator with new noise, and returns its output.

    `seeded`: names of parameters that also get the seed; `probes`: tables of records to predict.
    """

    estimator: Any
    seeded: list[str]
    output: Callable[[Any], Any] | None
    probes: Sequence[Any] = ()

    def __call__(self, arguments: FitArguments, seed: int | None) -> Any:
        try:
            estimator = self.fitted(arguments, seed)
        except Exception as error:
            return {"error": type(error).__name__}
        if self.output is not None:
            return self.output(estimator)
        return _released(estimator, self.probes)

    def fitted(self, arguments: FitArguments, seed: int | None) -> Any:
        estimator = clone(self.estimator).set_params(**dict.fromkeys(self.seeded, seed))
        args, kwargs = arguments
        with uncounted(), warnings.catch_warnings(), seed_noise(None if seed is None else (seed,)):
            warnings.simplefilter("ignore")
            return estimator.fit(*args, **kwargs)


def _is_search(estimator: Any) -> bool:
    return isinstance(estimator, DelegatesToBest)


def _prepared(estimator: Any) -> Any:
    """Clone an estimator; ValueError if it has a ledger.

    A search gets a seed for its candidates: if all fits evaluate the same ones, the audit is more
    sensitive.
    """
    for name, value in estimator.get_params().items():
        if name.rpartition("__")[2] == "ledger" and value is not None:
            raise ValueError(
                f"an audit fits thousands of times, which no ledger can pay for: set {name}=None"
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
    """Select a few records of X, and a few in which the data sets differ."""
    probes = [(X, np.arange(min(_N_PROBES, n_rows(X))))]
    if len(rows := np.flatnonzero(differing(data[0], neighbour[0]))[:_N_PROBES]):
        probes += [(data[0], rows), (neighbour[0], rows)]
    return [take_rows(as_table(table), rows) for table, rows in probes]


def _released(estimator: Any, probes: Sequence[Any]) -> dict[str, Any]:
    """Collect the numbers that a fitted estimator shows, as in `audit_estimator`."""
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
    """Name the numbers or texts in a value; other values, and large arrays, have none."""
    if isinstance(value, Real):
        return {name: value}
    values = np.empty(0)
    if isinstance(value, list | tuple | np.ndarray):
        with suppress(ValueError):  # of different lengths
            values = np.asarray(value)
    if values.size > _LARGEST or values.dtype.kind not in "biufUS":
        return {}
    return {f"{name}[{i}]": number for i, number in enumerate(values.ravel().tolist())}
