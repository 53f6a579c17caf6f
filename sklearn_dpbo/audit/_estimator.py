"""Fit an estimator many times on two neighbouring training sets (zone: public)."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_regressor
from sklearn.pipeline import Pipeline

from .._data.tables import n_rows, take_rows
from ..learners._declaration import PrivateTraining
from ..learners._private_training import private_training
from ._report import AuditReport
from ._runs import check, check_neighbours, differing, fits_on, report_on, rough_bound, seeds_from
from ._training_sets import Neighbours, training_neighbours

__all__ = ["audit_estimator"]

# Size of the largest array of a fitted model that is compared.
_LARGEST = 256
# Smallest number of fits to compare pairs of training sets by.
_FEW = 50
# Number of given records to predict, and of those that differ.
_N_PROBES = 4
# Other libraries' estimators accept seeds below this.
_SEEDS = 2**31 - 1


def audit_estimator(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    n: int = 2000,
    *,
    groups: ArrayLike | None = None,
    pairs: Mapping[str, Neighbours] | None = None,
    confidence: float = 0.99,
    n_events: int = 1,
    output: Callable[[Any], Any] | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> AuditReport:
    """Bound the epsilon of an estimator from below, by fitting it on two training sets.

    The mechanism is ``estimator.fit``. A few fits on several pairs of training sets, each of which
    differ in one unit, find the pair that shows most. The estimator is then fitted n times on each
    side of it; one half of these fits chooses the event, and the other half bounds epsilon (see
    `audit_mechanism`). The claim is what the estimator declares (`PrivateTraining`), for one unit
    replaced: if it declares epsilon for one record added or removed, the claim is twice as much.

    Parameters
    ----------
    estimator : estimator
        One that protects the records it is fitted on, and declares how; or a search with
        ``protect="all"`` and a `random_state`, so that it always cuts the table the same way.
        Its noise must be fresh in each fit. At a small delta, thousands of fits show little of
        Gaussian noise: set its epsilon to 2 or 3, and its delta to 0.05.
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
    confidence, n_events : float and int, default=0.99 and 1
        As in `audit_mechanism`.
    output : callable, default=None
        Takes a fitted estimator and returns what to compare: a number, a text, or a sequence or
        dict of them. None compares the numbers in its fitted attributes and, without `coef_`, its
        predictions for the records in which the training sets differ and a few others. A fit that
        raises an error counts as an output.
    random_state : int, default=None
        Seeds the noise, if the estimator allows that: the audit is then reproducible, but of the
        seeded generator and not of the noise that is used in production.
    n_jobs, progress : int or None and bool, default=None and False
        As in `audit_mechanism`.

    Returns
    -------
    report : AuditReport
        Print it, or plot it.

    Examples
    --------
    >>> from sklearn_dpbo.audit import audit_estimator
    >>> from sklearn_dpbo.learners import PrivateRidge
    >>> ridge = PrivateRidge(y_bounds=(-1, 1), epsilon=3.0, delta=0.05)
    >>> X, y = [[-1.0], [1.0], [0.0]], [-1.0, 1.0, 0.0]
    >>> report = audit_estimator(ridge, X, y, n=200, random_state=0)
    >>> report.epsilon, report.refuted
    (3.0, False)
    """
    check(n, None, 0.0, confidence, n_events)
    if pairs is None:
        pairs = training_neighbours(X, y, groups, regression=is_regressor(estimator))
    for pair in pairs.values():
        check_neighbours(*pair)
    grouped = groups is not None or any(len(pair[0]) == 3 for pair in pairs.values())
    fit = _Fit.of(estimator, X, y, grouped, output)
    seeds = iter(seeds_from(random_state, 1 + 2 * n * (1 + len(pairs)), _SEEDS))
    fit.fitted((X, y) if groups is None else (X, y, groups), next(seeds))  # so that errors show
    epsilon, delta = fit.claim()

    def outputs(name: str, n: int) -> tuple[list[Any], list[Any]]:
        pair, own = pairs[name], list(islice(seeds, 2 * n))
        return fits_on(pair, fit.predicting(pair), own, n_jobs, progress)

    name, *others = pairs
    if others:
        n_few = max(_FEW, n // 10)
        rough = {each: rough_bound(outputs(each, n_few), delta) for each in pairs}
        name = max(rough, key=rough.__getitem__)
    subject = f"{type(estimator).__name__}, {name}"
    return report_on(subject, outputs(name, n), epsilon, delta, confidence, n_events)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Fits a clone of an estimator, and returns what is compared.

    `training`: what it declares; `probes`: records that are predicted.
    """

    estimator: Any
    training: PrivateTraining
    probes: tuple[Any, ...]
    output: Callable[[Any], Any] | None

    @classmethod
    def of(
        cls, estimator: Any, X: Any, y: Any, grouped: bool, output: Callable[[Any], Any] | None
    ) -> _Fit:
        """Check an estimator, and prepare it."""
        training, params = _training_of(estimator), estimator.get_params(deep=True)
        if grouped and training.groups is None:
            raise ValueError(
                f"{type(estimator).__name__} protects single records and no groups: leave groups "
                "out"
            )
        for name, value in params.items():
            if name.rpartition("__")[2] in ("ledger", "noise_random_state") and value is not None:
                raise ValueError(
                    f"{name} is set, but an audit needs thousands of fits with fresh noise: set "
                    f"{name}=None"
                )
        prepared = clone(estimator)
        if training.classes is not None and params[training.classes] is None:
            prepared.set_params(**{training.classes: np.unique(np.asarray(y))})
        if _is_search(estimator) and params["random_state"] is None:
            prepared.set_params(random_state=0)
        table = X if hasattr(X, "shape") else np.asarray(X)
        return cls(prepared, training, (_few_rows(table, np.arange(n_rows(table))),), output)

    def claim(self) -> tuple[float, float]:
        """Return epsilon and delta of a fit, for neighbours in which one unit is replaced."""
        params = self.estimator.get_params(deep=True)
        delta = 0.0 if self.training.delta is None else params[self.training.delta]
        return self.training.fit.of_replacement(params[self.training.epsilon], delta)

    def predicting(self, pair: Neighbours) -> _Fit:
        """Return a copy that also predicts the records in which these training sets differ."""
        rows = np.flatnonzero(differing(pair[0][0], pair[1][0]))
        tables = [_few_rows(data[0], rows) for data in pair] if len(rows) else []
        return replace(self, probes=(*self.probes, *tables))

    def __call__(self, data: tuple[Any, ...], seed: int | None) -> Any:
        try:
            estimator = self.fitted(data, seed)
        except Exception as error:
            return {"error": type(error).__name__}
        if self.output is not None:
            return self.output(estimator)
        found = _numbers(estimator)
        return found if "coef_[0]" in found else found | _predictions(estimator, self.probes)

    def fitted(self, data: tuple[Any, ...], seed: int | None) -> Any:
        X, y, *groups = data
        estimator = clone(self.estimator)
        if seed is not None:
            estimator.set_params(**dict.fromkeys(_seed_names(estimator), seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return estimator.fit(X, y, **{str(self.training.groups): each for each in groups})


def _training_of(estimator: Any) -> PrivateTraining:
    """Return what an estimator declares; a search with ``protect="all"`` is private as it is."""
    if _is_search(estimator):
        return PrivateTraining("approximate", groups="groups")
    return private_training(estimator)


def _is_search(estimator: Any) -> bool:
    return getattr(estimator, "protect", None) == "all"


def _seed_names(estimator: Any) -> list[str]:
    """Return the parameters that seed the noise: those of a search seed its models, too."""
    if _is_search(estimator):
        return ["noise_random_state"]
    seeds = ("noise_random_state", "random_state")
    return [name for name in estimator.get_params(deep=True) if name.rpartition("__")[2] in seeds]


def _few_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    return take_rows(X, rows[:_N_PROBES])


def _numbers(estimator: Any) -> dict[str, Any]:
    """Return the numbers in public fitted attributes: of the model, and of a search around it."""
    found: dict[str, Any] = {}
    model = getattr(estimator, "best_estimator_", estimator)
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    for part in (estimator, last):
        for name, value in vars(part).items():
            if name.endswith("_") and not name.startswith("_"):
                found |= _named(name, value)
    return found


def _predictions(estimator: Any, probes: Sequence[Any]) -> dict[str, Any]:
    """Return what a fitted estimator predicts for some records; nothing where it fails."""
    names = ("decision_function", "predict_proba", "predict")
    name = next((each for each in names if hasattr(estimator, each)), None)
    found: dict[str, Any] = {}
    for i, rows in enumerate(probes if name else ()):
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found |= _named(f"{name} {i}", getattr(estimator, str(name))(rows))
    return found


def _named(name: str, value: Any) -> dict[str, Any]:
    """Return numbers or texts, each with a name; nothing for other values, or if they are many."""
    if not isinstance(value, Real | list | tuple | np.ndarray):
        return {}
    try:
        values = np.asarray(value)
    except ValueError:  # of different lengths
        return {}
    if values.size > _LARGEST or values.dtype.kind not in "biufUS":
        return {}
    if values.ndim == 0:
        return {name: values.item()}
    return {f"{name}[{i}]": each for i, each in enumerate(values.ravel().tolist())}
