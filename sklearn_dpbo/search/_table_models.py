"""Set up the estimator of a search on one table, and warn of its models (zone: released)."""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from ..exceptions import LowUtilityWarning
from ..learners._base import PrivateLearner
from ..learners._columns import declared_levels
from ..learners._declaration import PrivateTraining
from ..learners._labels import public_classes
from ..learners._private_training import private_training
from ..metrics._of_counts import ConfusionScore
from ..metrics._response import Responses
from ..metrics._scorers import PrivateScorer
from ..prediction.candidates import Candidates
from ..prediction.fitting import set_candidate
from ..privacy.checks import as_floats
from ..privacy.warn import warn
from ..records.pickles import packed
from ..records.split import Problem
from ..records.tables import is_frame
from ._one_table import Plan
from ._utility import largest_loss

# Number of bins of the range of targets, in which frequencies are counted.
_N_TARGETS = 16
# Predictions of a regressor within this share of the range of targets count as one value.
_ALIKE = 1e-3
_N_MADE_UP = 1000
# Number of made-up targets.
_N_LIKELY = 500


def likely_targets(steps: NDArray[Any]) -> Responses:
    """Make up targets and predictions; `steps` divide the range of targets: see `labels_of`.

    Targets are normal, with a standard deviation of a sixth of their range. Predictions explain
    half of their variance.
    """
    target_range = (steps[-1] - steps[0]) / (len(steps) - 1) * len(steps)
    deviation = target_range / 6 * math.sqrt(0.5)  # of predictions, and of residuals
    normal = ndtri((np.arange(_N_LIKELY) + 0.5) / _N_LIKELY)
    predicted = steps.mean() + deviation * normal
    y = predicted + deviation * np.random.default_rng(0).permutation(normal)
    return Responses(y, None, {"predict": predicted})


def warn_of_model(
    estimator: Any, candidates: Candidates, labels: NDArray[Any], rng: np.random.Generator
) -> None:
    """Warn of columns that noise hides, and of a constant model if labels are scored."""
    if isinstance(model := last_step(estimator), PrivateLearner):
        model._warn_of_columns()
        if any("predict" in scorer.response_method for scorer in candidates.scorers):
            _warn_if_constant(model, labels, rng)


def warn_of_search(search: Any, plan: Plan, n_wanted: float, candidates: Candidates) -> None:
    """Warn that a search costs accuracy, if it fits few candidates or has good defaults.

    Called before anything is charged; it uses public facts alone.
    """
    n = len(plan.params)
    units = candidates.problem.units
    model = last_step(search.estimator)
    few = search.n_fits is None and n < n_wanted
    has_defaults = isinstance(model, PrivateLearner) and plan.epsilon < search.epsilon
    if not few and not has_defaults:
        return
    message = ""
    if few:
        message = f"{n} of {n_wanted:,} candidates are fitted (n_fits sets another number). "
    fits = plan.in_words(type(search.estimator).__name__)
    message += f"A search costs accuracy: {fits} each, take the place of one with "
    message += f"epsilon={search.epsilon:g}"
    if candidates.scorer.is_mean:
        epsilon = (1 - search.score_share) * search.epsilon
        loss = largest_loss(candidates.scorer, units, plan.n_compared, epsilon)
        message += f", and the noise of the choice among them, on {units.m:,} {units.name}s, "
        message += f"loses up to {loss:.2g} of {candidates.scorer.name} on average"
    values = "values known to be good"
    if has_defaults:
        values = f"the defaults of {type(model).__name__}"
    message += f". One fit with {values}, without a search (param_grid=None), may be better. "
    message += "Nothing has been charged yet"
    warn(message, LowUtilityWarning)


def labels_of(estimator: Any, training: PrivateTraining, y: Any) -> NDArray[Any]:
    """Return the public labels: classes or, for regression, numbers spread over target bounds."""
    params = estimator.get_params(deep=True)
    if is_classifier(estimator):
        named = training.classes is not None
        return public_classes(params.get(training.classes), y, warns=named)
    bounds = as_floats(params.get(training.target_bounds))
    if bounds is None or bounds.shape != (2,) or not bounds[0] < bounds[1]:
        raise ValueError(
            f"give {training.target_bounds}=(low, high) to {type(estimator).__name__}: the lowest "
            "target and the highest, such as (0, 100), chosen without looking at the data"
        )
    steps = (np.arange(_N_TARGETS) + 0.5) / _N_TARGETS
    return np.asarray(bounds[0] + steps * (bounds[1] - bounds[0]))


def with_classes(estimator: Any, training: PrivateTraining, labels: NDArray[Any]) -> Any:
    """Set the classes of a copy of the estimator: its declaration of privacy may need them."""
    params = {} if training.classes is None else {training.classes: labels}
    return clone(estimator).set_params(**params)


def with_budget(estimator: Any, plan: Plan, training: PrivateTraining, labels: NDArray[Any]) -> Any:
    """Set the privacy of each fit, and classes, in a copy of the estimator.

    Raises ValueError for a candidate that changes these, or that has a ledger.
    """
    fixed: dict[str, Any] = dict(plan.settings)
    prepared_estimator = with_classes(estimator, training, labels).set_params(**fixed)
    if training.classes is not None:
        fixed[training.classes] = labels
    private_training(prepared_estimator)  # raises if its guarantee does not cover the settings
    for secret_fit in plan.fits:
        candidate = set_candidate(clone(prepared_estimator), secret_fit.params)
        params = candidate.get_params(deep=True)
        for name, value in params.items():
            if name.rpartition("__")[2] == "ledger" and value is not None:
                raise ValueError(
                    f"give the ledger to the search, for all fits; the estimator has {name}"
                )
        changed = [name for name in fixed if not np.array_equal(params[name], fixed[name])]
        if changed or private_training(candidate) != training:
            raise ValueError(
                f"{secret_fit.params} changes {changed or 'the kind of guarantee'}, which the "
                "search sets itself so that all fits together keep its epsilon: leave that out, "
                "and search over single parameters of one kind of estimator"
            )
    return prepared_estimator


def depends_on_labels(scorer: PrivateScorer, labels: NDArray[Any]) -> bool:
    """Return True if a score depends on the frequencies of labels."""
    if isinstance(scorer, ConfusionScore):
        return scorer.prepare(labels).first is not None
    rare = np.concatenate([labels, np.repeat(labels[:1], 9 * len(labels))])
    return packed(scorer.prepare(labels)) != packed(scorer.prepare(rare))


def declared_of(estimator: Any, X: Any) -> dict[int, NDArray[Any]]:
    """Return the categories that a learner declares for columns of a frame, by position."""
    if isinstance(estimator, PrivateLearner) and is_frame(X):
        return declared_levels(X, estimator.categories)[1]
    return {}


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, also of nested ones; other estimators as they are."""
    while isinstance(estimator, Pipeline):
        estimator = estimator[-1]
    return estimator


def _warn_if_constant(model: Any, labels: NDArray[Any], rng: np.random.Generator) -> None:
    """Warn if a released learner predicts one value for made-up records all over its ranges."""
    model = copy(model)
    vars(model).pop("feature_names_in_", None)  # scikit-learn would warn of an array without names
    predicted = np.unique(model.predict(model._made_up(_N_MADE_UP, rng)))
    alike = not is_classifier(model) and np.ptp(predicted) < _ALIKE * np.ptp(labels)
    if len(predicted) == 1 or alike:
        warn(
            f"The chosen model predicts one value, {predicted.tolist()[0]!r}, for made-up records "
            "all over the ranges of its columns. Perhaps the other classes are rare (choose by "
            "'balanced_accuracy' or 'roc_auc'), there are too few records for this epsilon, or "
            "`bounds`, if you gave any, are in other units or far too wide",
            LowUtilityWarning,
        )


def condition_of(estimator: Any, training: PrivateTraining, prediction: str) -> str:
    """Describe the condition of the guarantee about the estimator."""
    condition = (
        f"{type(estimator).__name__} trains as privately as it declares "
        f"({training.composition}, {training.neighbours}); "
    )
    if training.condition:
        condition += f"{training.condition}; "
    if isinstance(estimator, Pipeline) and prediction != "separate":
        condition += "what its other steps make of a record depends on that record alone; "
    return condition


def prepared(scorers: dict[str, PrivateScorer], problem: Problem) -> tuple[PrivateScorer, ...]:
    """Prepare scorers for the labels of made-up records."""
    return tuple(scorer.prepare(problem.training.y).release() for scorer in scorers.values())
