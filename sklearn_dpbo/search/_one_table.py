"""The `fit` of a search that protects every record of one table (zone: released)."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from .._data.divided_table import DividedTable
from .._data.pickles import packed
from .._data.units import Units
from .._evaluation.evaluator import Evaluator
from .._evaluation.fitting import FitOptions, set_candidate
from .._evaluation.progress import watched
from .._evaluation.secret_fits import try_out
from .._privacy.accounting import TRAINING, Budget, PrivacyLoss, warn_of_weak_guarantee
from .._privacy.checks import as_floats
from .._privacy.mechanisms import Mechanisms
from .._privacy.warn import warn
from ..exceptions import LowUtilityWarning, PrivacyWarning
from ..learners._base import PrivateLearner
from ..learners._declaration import PrivateTraining
from ..learners._labels import public_classes
from ..learners._private_training import private_training
from ..report._report import PrivacyReport, report_of
from ..scoring._of_counts import ConfusionScore
from ..scoring._precision import warn_of_expected_width
from ..scoring._scorers import PrivateScorer
from ..strategies._one_table import Plan
from ..strategies._release import expected_widths
from ..strategies._utility import released_hints
from ._delegation import public_generator, refuse_steps_before
from ._parameters import setup_of
from ._results import clipping_in_words, note_on_error, results_of, spent_before

__all__ = ["fit_one_table"]

# Number of bins of the range of targets, in which frequencies are counted.
_N_TARGETS = 16
# Predictions of a regressor within this share of the range of targets count as one value.
_ALIKE = 1e-3
_N_MADE_UP = 1000
_NOT_PROTECTED = (
    "how long the fit took, which says something about how many models were fitted; the number of "
    "records (or groups) and columns, dtypes, group identifiers, classes and bounds; and whatever "
    "else is computed from the records, including another run of this fit"
)

# Fitted attributes, and what to warn of once they are set.
Fitted = tuple[dict[str, Any], tuple[str, ...]]


def fit_one_table(search: Any, X: Any, y: Any, groups: Any, others: dict[str, Any]) -> Fitted:
    """Return the fitted attributes of a search that protects all of X and y, and hints.

    `others` are the other arguments of `fit`; only groups are allowed.
    """
    refuse_steps_before(search, protects_all=True)
    groups = others.pop("groups", None) if groups is None else groups
    others["cv"] = search.cv
    if names := [name for name, value in others.items() if value is not None]:
        raise ValueError(
            'protect="all" takes one table, as X and y (and groups), and cuts it itself; found '
            f"{names} as well"
        )
    setup = setup_of(search, groups)
    training, name = private_training(search.estimator), type(search.estimator).__name__
    scorers, space, n_iter, strategy, mechanisms, options = setup
    budget, rng = mechanisms.budget, public_generator(search.random_state)
    if groups is not None and training.groups is None:
        raise ValueError(
            f"{name} protects single records and no groups: leave groups out if each record is "
            "another person's, or keep one record of each"
        )
    labels = _labels(search.estimator, training, y)
    n_val = partial(strategy.n_val, epsilon=budget.epsilon)
    classifies = is_classifier(search.estimator)
    table = DividedTable.divide(X, y, groups, labels, classifies, n_val, rng)
    if groups is not None:
        table = table.grouped(str(training.groups))
    warn_of_weak_guarantee(budget, _m(table), table.units.name)
    own = search.estimator.get_params(deep=True)
    plan = strategy.plan(space, training, _m(table), budget, n_iter=n_iter, first=own, rng=rng)
    if strategy.n_fits is None and len(plan.params) < (wanted := min(space.n_points, n_iter)):
        warn(
            f"{len(plan.params)} of {wanted:,} candidates are fitted, as each fit costs: "
            f"{_m(table):,} {table.units.name}s with epsilon={search.epsilon:g} are few. One fit "
            "with parameters that are known to be good, without a search, may be better. "
            "OneTable(n_fits=...) sets another number",
            LowUtilityWarning,
        )
    options = replace(options, estimator=_with_budget(search.estimator, plan, training, labels))
    shares = np.full(len(labels), 1 / len(labels))
    uncharged = _oracle(options, table, scorers, shares, rng)
    with warnings.catch_warnings():  # a fit's own budget is not what is spent
        warnings.filterwarnings("ignore", ".* promise little", PrivacyWarning)
        warnings.simplefilter("ignore", LowUtilityWarning)  # of made-up records
        try_out(plan.fits, table.training, uncharged)
    warned = _warn_of_wide_intervals(uncharged, strategy, plan, table, budget)
    # Every record pays for what is released of its own part: two budgets, charged as one.
    on_second_part = replace(mechanisms, budget=Budget(budget.epsilon))
    with watched(search), note_on_error(lambda: spent_before(budget)):
        budget.charge(PrivacyLoss(budget.epsilon, budget.delta, TRAINING, plan.in_words(name)))
        counted = any(_depends_on_labels(scorer, labels) for scorer in scorers.values())
        if counted:
            shares = strategy.frequent_labels(table, on_second_part)
        oracle = _oracle(options, table, scorers, shares, rng)
        if counted and classifies:
            oracle.select_by(oracle.scorer.of_shares(shares, table.units_val.m))
        release, estimator = strategy.search(plan, table, oracle, on_second_part)
        if isinstance(model := _last_step(estimator), PrivateLearner):
            model._warn_of_columns()
            if any("predict" in scorer.response_method for scorer in scorers.values()):
                _warn_if_constant(model, labels, rng)
    report = _report(
        search,
        table,
        mechanisms,
        protected=oracle.problem.protected,
        released=clipping_in_words(oracle.scorers)
        + strategy.released.removesuffix("" if search.refit else " and best_estimator_"),
        delta=budget.delta,
        spends=(*budget.losses, *on_second_part.budget.losses),
        noise=f"{mechanisms.noise.description}; of the models: {training.noise}" + plan.in_bits,
        condition=_condition(search, training) + uncharged.condition,
    )
    # A model, or the last step of a pipeline, reports all that was fitted: not its own fit.
    if hasattr(last := _last_step(estimator), "privacy_"):
        last.privacy_ = report
    fitted = results_of(search, release, list(scorers), oracle, report)
    hints = release.hints
    if not warned:
        several = len(plan.params) > 1
        hints += released_hints(oracle, release.scores, (), compares=several)
    return fitted | ({"best_estimator_": estimator} if search.refit else {}), hints


def _warn_of_wide_intervals(
    oracle: Evaluator, strategy: Any, plan: Plan, table: DividedTable, budget: Budget
) -> bool:
    """Warn if means will have wide intervals; of other scores, nothing is known beforehand."""
    share = 1.0 if plan.has_one_model else strategy.score_share
    return all(scorer.is_mean for scorer in oracle.scorers) and warn_of_expected_width(
        lambda epsilon: expected_widths(oracle, None, share * epsilon),
        Units(_m(table), table.units.labels),
        budget.epsilon,
    )


def _condition(search: Any, training: PrivateTraining) -> str:
    """Return what the guarantee of a search takes for granted of its estimator."""
    in_pipeline = isinstance(search.estimator, Pipeline) and search.prediction != "separate"
    return (
        f"{type(search.estimator).__name__} trains as privately as it declares "
        f"({training.composition}, {training.neighbours}); "
        + f"{training.condition}; " * bool(training.condition)
        + "what its other steps make of a record depends on that record alone; " * in_pipeline
    )


def _m(table: DividedTable) -> int:
    """Return the number of units of both parts."""
    return table.units.m + table.units_val.m


def _labels(estimator: Any, training: PrivateTraining, y: Any) -> NDArray[Any]:
    """Return the classes; of regression, numbers spread over the bounds of targets."""
    params = estimator.get_params(deep=True)
    if is_classifier(estimator):
        return public_classes(params.get(training.classes), y)
    bounds = as_floats(params.get(training.target_bounds))
    if bounds is None or bounds.shape != (2,) or not bounds[0] < bounds[1]:
        raise ValueError(
            f"give {training.target_bounds}=(low, high) to {type(estimator).__name__}: the lowest "
            "target and the highest, chosen without looking at the data, (0, 100) say"
        )
    steps = (np.arange(_N_TARGETS) + 0.5) / _N_TARGETS
    return np.asarray(bounds[0] + steps * (bounds[1] - bounds[0]))


def _with_budget(
    estimator: Any, plan: Plan, training: PrivateTraining, labels: NDArray[Any]
) -> Any:
    """Return the estimator with epsilon, delta and classes set, which no candidate may change."""
    values: dict[str | None, Any] = {
        training.epsilon: plan.epsilon,
        training.delta: plan.delta,
        training.classes: labels,
    }
    own = {name: value for name, value in values.items() if name is not None}
    found = clone(estimator).set_params(**own)
    private_training(found)  # raises if its guarantee does not go so far
    for each in plan.fits:
        candidate = set_candidate(clone(found), each.params)
        params = candidate.get_params(deep=True)
        for name, value in params.items():
            if name.rpartition("__")[2] == "ledger" and value is not None:
                raise ValueError(
                    f"give the ledger to the search, for all fits; the estimator has {name}"
                )
        changed = [name for name in own if not np.array_equal(params[name], own[name])]
        if changed or private_training(candidate) != training:
            raise ValueError(
                f"{each.params} changes {changed or 'the kind of guarantee'}, which the search "
                "sets itself so that all fits together keep its epsilon: leave that out, and "
                "search over single parameters of one kind of estimator"
            )
    return found


def _oracle(
    options: FitOptions,
    table: DividedTable,
    scorers: dict[str, PrivateScorer],
    frequent: NDArray[np.float64],
    rng: np.random.Generator,
) -> Evaluator:
    """Return what evaluates models on the second part, with made-up records as the training set."""
    problem = table.problem(frequent, rng)
    y = problem.training.y
    return Evaluator(
        options, problem, tuple(each.prepare(y).release() for each in scorers.values())
    )


def _depends_on_labels(scorer: PrivateScorer, labels: NDArray[Any]) -> bool:
    """Whether a score depends on how frequent the labels are."""
    if isinstance(scorer, ConfusionScore):
        return scorer.prepare(labels).first is not None
    rare = np.concatenate([labels, np.repeat(labels[:1], 9 * len(labels))])
    return packed(scorer.prepare(labels)) != packed(scorer.prepare(rare))


def _last_step(estimator: Any) -> Any:
    while isinstance(estimator, Pipeline):
        estimator = estimator[-1]
    return estimator


def _warn_if_constant(model: Any, labels: NDArray[Any], rng: np.random.Generator) -> None:
    """Warn if a released learner predicts the same for made-up records all over its range."""
    model = copy(model)
    vars(model).pop("feature_names_in_", None)  # scikit-learn would warn of an array without names
    low, high = model.center_ - model.scale_, model.center_ + model.scale_
    made_up = low + (high - low) * rng.random((_N_MADE_UP, model.n_features_in_))
    predicted = np.unique(model.predict(made_up))
    alike = not is_classifier(model) and np.ptp(predicted) < _ALIKE * np.ptp(labels)
    if len(predicted) == 1 or alike:
        warn(
            f"The chosen model predicts one value, {predicted.tolist()[0]!r}, for made-up records "
            "all over the ranges of its columns. Perhaps the other classes are rare (choose by "
            "'balanced_accuracy' or 'roc_auc'), there are too few records for this epsilon, or "
            "`bounds`, if you gave any, are in other units or far too wide",
            LowUtilityWarning,
        )


def _report(
    search: Any, table: DividedTable, mechanisms: Mechanisms, *, condition: str = "", **facts: Any
) -> PrivacyReport:
    return report_of(
        mechanisms,
        title="Differentially private hyper-parameter search on one table",
        unit=table.units.name,
        m=_m(table),
        data="table",
        condition=condition,
        **{"not_protected": _NOT_PROTECTED} | facts,
    )
