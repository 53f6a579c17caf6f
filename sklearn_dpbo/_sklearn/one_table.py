"""The `fit` of a search that protects every record of one table (zone: released)."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from .._data.divided_table import DividedTable
from .._data.pickles import packed
from .._data.tables import n_rows
from .._evaluation.evaluator import Evaluator
from .._evaluation.fitting import FitOptions, set_candidate
from .._evaluation.progress import watched
from .._evaluation.secret_fits import SecretFit, try_out
from .._params import as_floats
from .._privacy.accounting import TRAINING, Budget, PrivacyLoss, warn_of_weak_guarantee
from .._privacy.mechanisms import Mechanisms
from .._privacy.noise import Noise
from .._space.space import SearchSpace
from ..exceptions import LowUtilityWarning, PrivacyWarning
from ..learners._labels import public_classes
from ..learners._private_training import PrivateTraining, private_training
from ..report._report import PREDICTION_CONDITIONS, PrivacyReport
from ..scoring._make import is_several
from ..scoring._scorers import PrivateScorer
from ..strategies._one_table import OneTable, Plan
from ..strategies._release import rehearse
from .results import fitted_attributes, note_on_error, spent_before
from .search_parameters import n_iter_of

__all__ = ["depends_on_labels", "fit_one_table", "oracle_on"]

# Into how many parts the range of targets is cut to say how frequent they are.
_N_TARGETS = 16
# Of so many values of a parameter or fewer, each is tried on made-up records.
_MANY = 8
# Predictions of a regressor that differ by less, as a share of the range of targets, are alike.
_ALIKE = 1e-3
_NOT_PROTECTED = (
    "how long the fit took, which says something about how many models were fitted; the number of "
    "records and columns, dtypes, group identifiers, classes and bounds; and whatever else is "
    "computed from the records, including another run of this fit"
)


def fit_one_table(
    search: Any,
    X: Any,
    y: Any,
    groups: Any,
    scorers: dict[str, PrivateScorer],
    strategy: OneTable,
    mechanisms: Mechanisms,
    options: FitOptions,
) -> dict[str, Any]:
    """Return the fitted attributes of a search; nothing is charged if it raises for a parameter.

    Parameters
    ----------
    search : PrivateBayesSearchCV
        Its parameters have been checked.
    X, y, groups
        As `fit` was given them: protected.
    scorers, strategy, options
        Made from its parameters.
    mechanisms : Mechanisms
        With the budget of the search, which is charged to its ledger.
    """
    training = _training_of(search, groups)
    rng = np.random.default_rng(check_random_state(search.random_state).randint(2**31 - 1, size=4))
    labels, classes = _labels(search.estimator, training, y), is_classifier(search.estimator)
    budget = mechanisms.budget
    table = DividedTable.divide(
        X, y, groups, labels, classes, lambda m: strategy.n_val(m, budget.epsilon), rng
    )
    if training.groups is not None and groups is not None:
        table = table.grouped(training.groups)
    m = table.units.m + table.units_val.m
    warn_of_weak_guarantee(budget, m, table.units.name, stacklevel=5)
    plan = _plan(search, strategy, training, table, (budget.epsilon, budget.delta), rng)
    if strategy.n_fits is None:
        _warn_of_few_fits(search, strategy, plan, table)
    prepared = _prepared(search.estimator, plan, training, labels)
    _check_fits(plan, training, prepared)
    options = replace(options, estimator=prepared)
    even = np.full(len(labels), 1 / len(labels))
    with closing(oracle_on(options, table, scorers, even, rng)) as uncharged:
        with warnings.catch_warnings():  # a fit's own budget is not what is spent
            warnings.filterwarnings("ignore", ".* promise little", PrivacyWarning)
            try_out(_some(plan), table.training, uncharged)
        rehearse({}, uncharged, budget.epsilon)
    options = replace(options, estimator=_seeded(options.estimator, mechanisms.noise))
    each = f"epsilon={plan.epsilon:.3g}" + f", delta={plan.delta:.3g}" * (plan.delta > 0)
    how = f"{plan.runs.number} of {type(search.estimator).__name__}, with {each}"
    # Every record pays for what is released of its own part: two budgets, charged as one.
    on_second_part = replace(mechanisms, budget=Budget(budget.epsilon))
    with watched(search), note_on_error(lambda: spent_before(budget)):
        budget.charge(PrivacyLoss(budget.epsilon, budget.delta, TRAINING, how))
        if any(depends_on_labels(scorer, labels) for scorer in scorers.values()):
            even = strategy.frequent_labels(table, on_second_part)
        with closing(oracle_on(options, table, scorers, even, rng)) as oracle:
            release, estimator = strategy.search(plan, table, oracle, on_second_part)
            _warn_if_constant(estimator, oracle.problem.training.X, labels, rng)
    several = is_several(search.scoring)
    names = list(scorers) if several else []
    report = _report(table, oracle.problem.protected, strategy, mechanisms, on_second_part, search)
    _report_on(estimator, report)
    return {
        **fitted_attributes(release, names),
        "privacy_": report,
        "scorer_": dict(zip(names, oracle.scorers, strict=True)) if several else oracle.scorer,
        "multimetric_": several,
        "n_splits_": 1,
        **({"best_estimator_": estimator} if search.refit else {}),
    }


def _training_of(search: Any, groups: Any) -> PrivateTraining:
    """Return how the estimator protects its records, if that is as it has to be."""
    training = private_training(search.estimator)
    grids = [search.param_grid] if isinstance(search.param_grid, Mapping) else search.param_grid
    taken = {str(name) for name in (training.epsilon, training.delta, training.classes)}
    if searched := sorted(taken & {str(name) for grid in grids for name in grid}):
        raise ValueError(
            f"param_grid has {searched}: the search sets these itself, so that all fits together "
            f"have epsilon={search.epsilon:g}. Leave them out"
        )
    if groups is not None and training.groups is None:
        raise ValueError(
            f"{type(search.estimator).__name__} protects single records and no groups: leave "
            "groups out if each record is another person's, or keep one record of each"
        )
    _refuse_own_noise(search.estimator)
    return training


def _refuse_own_noise(estimator: Any) -> None:
    """Raise ValueError if a part of an estimator has a seed for its noise, or a ledger."""
    for name, value in estimator.get_params(deep=True).items():
        leaf = name.rpartition("__")[2]
        if leaf == "noise_random_state" and value is not None:
            raise ValueError(f"give noise_random_state to the search; the estimator has {name}")
        if leaf == "ledger" and value is not None:
            raise ValueError(
                f"give the ledger to the search, which charges it once; the estimator has {name}"
            )


def _labels(estimator: Any, training: PrivateTraining, y: Any) -> NDArray[Any]:
    """Return the classes; of regression, numbers spread over the bounds of targets."""
    params = estimator.get_params(deep=True)
    if is_classifier(estimator):
        given = None if training.classes is None else params[training.classes]
        return public_classes(given, y)
    bounds = None if training.target_bounds is None else as_floats(params[training.target_bounds])
    if bounds is None or bounds.shape != (2,) or not bounds[0] < bounds[1]:
        raise ValueError(
            f"give {training.target_bounds}=(low, high) to {type(estimator).__name__}: the lowest "
            "target and the highest, chosen without looking at the data, (0, 100) say; found "
            f"{bounds if bounds is None else bounds.tolist()}"
        )
    dtype = getattr(y, "dtype", None)
    if getattr(dtype, "kind", "O") not in "biufO":
        raise ValueError(f"y has to be numbers; found an array of {dtype}")
    steps = (np.arange(_N_TARGETS) + 0.5) / _N_TARGETS
    return np.asarray(bounds[0] + steps * (bounds[1] - bounds[0]))


def _plan(
    search: Any,
    strategy: OneTable,
    training: PrivateTraining,
    table: DividedTable,
    budget: tuple[float, float],
    rng: np.random.Generator,
) -> Plan:
    if training.composition != "pure" and budget[1] == 0:
        raise ValueError(
            f"delta is 0, and {type(search.estimator).__name__} needs one: pass delta=1e-6, for "
            "example; far less than 1 divided by the number of records"
        )
    grids = [search.param_grid] if isinstance(search.param_grid, Mapping) else search.param_grid
    return strategy.plan(
        list(grids),
        training.fit,
        training.from_release,
        n_iter_of(search, SearchSpace(search.param_grid), strategy),
        table.units.m + table.units_val.m,
        budget,
        rng,
        search.estimator.get_params(deep=True),
    )


def _warn_of_few_fits(search: Any, strategy: OneTable, plan: Plan, table: DividedTable) -> None:
    """Warn if fewer candidates are fitted than elsewhere."""
    space = SearchSpace(search.param_grid)
    wanted = min(space.n_points, n_iter_of(search, space, strategy))
    if len(plan.params) < wanted:
        warnings.warn(
            f"{len(plan.params)} of {wanted:,} candidates are fitted, as each fit costs: "
            f"{table.units.m + table.units_val.m:,} {table.units.name}s with "
            f"epsilon={search.epsilon:g} are few. One fit with parameters that are known to be "
            "good, without a search, may be better. OneTable(n_fits=...) sets another number",
            LowUtilityWarning,
            stacklevel=6,
        )


def _warn_if_constant(
    estimator: Any, made_up: Any, labels: NDArray[Any], rng: np.random.Generator
) -> None:
    """Warn if the model that is released predicts the same for records all over its bounds."""
    last = estimator
    while isinstance(last, Pipeline):
        last = last[-1]
    constant = False
    # A model that cannot predict these records is released all the same: it has been paid for.
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        if (bounds := getattr(last, "bounds", None)) is not None:
            low, high = (np.asarray(each, dtype=float) for each in bounds)
            estimator, shape = last, (n_rows(made_up), last.n_features_in_)
            made_up = low + (high - low) * rng.random(shape)
        predicted = np.asarray(estimator.predict(made_up))
        if is_classifier(last):
            constant, what = bool((predicted == predicted[0]).all()), "class"
        else:
            constant, what = bool(np.ptp(predicted) < _ALIKE * np.ptp(labels)), "value"
    if constant:
        warnings.warn(
            f"The chosen model predicts one {what}, {predicted.tolist()[0]!r}, for "
            f"{len(predicted)} made-up records all over its bounds. Perhaps the columns are in "
            "units far from `bounds`, the bounds are so wide that records hardly differ within "
            "them (zeros of one-hot columns become -1 with bounds=(0, 1)), or the records are too "
            "few for this epsilon. Compare the bounds with what the columns may hold, search over "
            "other parameters, or use a larger epsilon",
            LowUtilityWarning,
            stacklevel=5,
        )


def _prepared(estimator: Any, plan: Plan, training: PrivateTraining, labels: NDArray[Any]) -> Any:
    """Return the estimator with epsilon, delta and classes set."""
    params: dict[str, Any] = {training.epsilon: plan.epsilon}
    if training.delta is not None:
        params[training.delta] = plan.delta
    if training.classes is not None:
        params[training.classes] = labels
    prepared = clone(estimator).set_params(**params)
    private_training(prepared)  # raises if its guarantee does not go so far
    return prepared


def _check_fits(plan: Plan, training: PrivateTraining, prepared: Any) -> None:
    """Raise ValueError if parameters of a fit change how private it is, as a whole step may."""
    own = prepared.get_params(deep=True)
    names = [name for name in (training.epsilon, training.delta, training.classes) if name]
    for each in plan.fits:
        candidate = set_candidate(clone(prepared), each.params)
        if private_training(candidate) != training:
            raise ValueError(
                f"{each.params} has another kind of guarantee than the rest of param_grid: search "
                "over one kind of estimator at a time"
            )
        params = candidate.get_params(deep=True)
        if changed := [name for name in names if not np.array_equal(params[name], own[name])]:
            raise ValueError(
                f"{each.params} changes {changed}, which the search sets itself: search over "
                "single parameters, not over whole estimators that train privately"
            )
        _refuse_own_noise(candidate)


def _seeded(estimator: Any, noise: Noise) -> Any:
    """Return the estimator; in tests, where the search's noise is seeded, with a seed, too."""
    names = [] if noise.secure else list(estimator.get_params(deep=True))
    seeds = [name for name in names if name.rpartition("__")[2] == "noise_random_state"]
    return estimator.set_params(**{name: noise.uniform(2**31) for name in seeds})


def oracle_on(
    options: FitOptions,
    table: DividedTable,
    scorers: dict[str, PrivateScorer],
    frequent: NDArray[np.float64],
    rng: np.random.Generator,
) -> Evaluator:
    """Return what evaluates models on the second part, with made-up records as the training set."""
    problem = table.problem(frequent, rng)
    y = problem.training.y
    prepared = tuple(scorer.prepare(y).release() for scorer in scorers.values())
    return Evaluator(options, problem, prepared)


def depends_on_labels(scorer: PrivateScorer, labels: NDArray[Any]) -> bool:
    """Whether a score is another where the labels are differently frequent."""
    rare = np.concatenate([labels, np.repeat(labels[:1], 9 * len(labels))])
    return packed(scorer.prepare(labels)) != packed(scorer.prepare(rare))


def _some(plan: Plan) -> list[SecretFit]:
    """Return some of the fits, in which all values occur; of many numbers, the extremes."""
    values: dict[str, dict[str, Any]] = {}
    for each in plan.fits:
        for name, value in each.params.items():
            values.setdefault(name, {})[repr(value)] = value
    wanted = {
        (name, text)
        for name, found in values.items()
        for text in (_extremes(found) if len(found) > _MANY else found)
    }
    chosen: list[SecretFit] = []
    for each in plan.fits:
        own = {(name, repr(value)) for name, value in each.params.items()}
        if own & wanted or not chosen:
            chosen.append(each)
            wanted -= own
    return chosen


def _extremes(values: dict[str, Any]) -> list[str]:
    """Return the keys of the lowest and highest number, and of what is no number."""
    of_numbers = {text: v for text, v in values.items() if isinstance(v, Real)}
    ends = [f(of_numbers, key=of_numbers.__getitem__) for f in (min, max) if of_numbers]
    return [*ends, *(text for text in values if text not in of_numbers)]


def _report_on(estimator: Any, report: PrivacyReport) -> None:
    """Let a model, or the last step of a pipeline, report all that was fitted: not its own fit."""
    while isinstance(estimator, Pipeline):
        estimator = estimator[-1]
    if hasattr(estimator, "privacy_"):
        estimator.privacy_ = report


def _report(
    table: DividedTable,
    protected: str,
    strategy: OneTable,
    mechanisms: Mechanisms,
    on_second_part: Mechanisms,
    search: Any,
) -> PrivacyReport:
    budget, noise = mechanisms.budget, mechanisms.noise
    training = private_training(search.estimator)
    return PrivacyReport(
        title="Differentially private hyper-parameter search on one table",
        epsilon=budget.epsilon,
        delta=budget.delta,
        unit=table.units.name,
        m=table.units.m + table.units_val.m,
        data="table",
        protected=protected,
        not_protected=_NOT_PROTECTED,
        assumption=None,
        condition=(
            f"{type(search.estimator).__name__} trains as privately as it declares "
            f"({training.composition}, {training.neighbours}); "
            + f"{training.condition}; " * bool(training.condition)
            + "what its other steps make of a record depends on that record alone; "
            * (isinstance(search.estimator, Pipeline) and search.prediction != "separate")
            + PREDICTION_CONDITIONS[search.prediction].replace("training", "made-up")
        ),
        released=strategy.released.removesuffix("" if search.refit else " and best_estimator_"),
        spends=(*budget.losses, *on_second_part.budget.losses),
        noise=f"{noise.description}; of the models: {training.noise}",
        secure=noise.secure,
        receipts=budget.receipts,
    )
