"""What a search on one table sets in its estimator, and warns of in a model (zone: released)."""

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
    """Return made-up targets, with predictions; `steps` divide their range, as of `labels_of`.

    They are normal, six deviations are that range, and predictions explain half of them.
    """
    of_each = (steps[-1] - steps[0]) / (len(steps) - 1) * len(steps) / 6 * math.sqrt(0.5)
    normal = ndtri((np.arange(_N_LIKELY) + 0.5) / _N_LIKELY)
    predicted = steps.mean() + of_each * normal
    y = predicted + of_each * np.random.default_rng(0).permutation(normal)
    return Responses(y, None, {"predict": predicted})


def warn_of_model(
    estimator: Any, candidates: Candidates, labels: NDArray[Any], rng: np.random.Generator
) -> None:
    """Warn of columns that noise hides, and of a model of one class where labels are scored."""
    if isinstance(model := last_step(estimator), PrivateLearner):
        model._warn_of_columns()
        if any("predict" in scorer.response_method for scorer in candidates.scorers):
            _warn_if_constant(model, labels, rng)


def warn_of_search(search: Any, plan: Plan, n_wanted: float, candidates: Candidates) -> None:
    """Warn of what a search costs, if it fits few candidates or could do without.

    Before anything is charged, by public facts alone.
    """
    n, units, model = len(plan.params), candidates.problem.units, last_step(search.estimator)
    few = search.n_fits is None and n < n_wanted
    good = isinstance(model, PrivateLearner) and plan.epsilon < search.epsilon
    if not few and not good:
        return
    each = plan.in_words(type(search.estimator).__name__)
    said = f"{n} of {n_wanted:,} candidates are fitted (n_fits sets another number). " * few
    said += f"A search costs accuracy: {each} each, take the place of one with "
    said += f"epsilon={search.epsilon:g}"
    if candidates.scorer.is_mean:
        epsilon = (1 - search.score_share) * search.epsilon
        loss = largest_loss(candidates.scorer, units, plan.n_compared, epsilon)
        said += f", and the noise of the choice among them, on {units.m:,} {units.name}s, loses up "
        said += f"to {loss:.2g} of {candidates.scorer.name} on average"
    known = f"the defaults of {type(model).__name__}" if good else "values known to be good"
    said += f". One fit with {known}, without a search (param_grid=None), may be better. Nothing "
    said += "has been charged yet"
    warn(said, LowUtilityWarning)


def labels_of(estimator: Any, training: PrivateTraining, y: Any) -> NDArray[Any]:
    """Return the classes; of regression, numbers spread over the bounds of targets."""
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
    """Return the estimator with the classes, on which a declared profile may depend."""
    own = {} if training.classes is None else {training.classes: labels}
    return clone(estimator).set_params(**own)


def with_budget(estimator: Any, plan: Plan, training: PrivateTraining, labels: NDArray[Any]) -> Any:
    """Return the estimator with the settings of fits and classes, which no candidate may change."""
    own: dict[str, Any] = dict(plan.settings)
    found = with_classes(estimator, training, labels).set_params(**own)
    if training.classes is not None:
        own[training.classes] = labels
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


def depends_on_labels(scorer: PrivateScorer, labels: NDArray[Any]) -> bool:
    """Whether a score depends on how frequent the labels are."""
    if isinstance(scorer, ConfusionScore):
        return scorer.prepare(labels).first is not None
    rare = np.concatenate([labels, np.repeat(labels[:1], 9 * len(labels))])
    return packed(scorer.prepare(labels)) != packed(scorer.prepare(rare))


def declared_of(estimator: Any, X: Any) -> dict[int, NDArray[Any]]:
    """Return the categories that a learner knows of the columns of a frame, by position."""
    if isinstance(estimator, PrivateLearner) and is_frame(X):
        return declared_levels(X, estimator.categories)[1]
    return {}


def last_step(estimator: Any) -> Any:
    while isinstance(estimator, Pipeline):
        estimator = estimator[-1]
    return estimator


def _warn_if_constant(model: Any, labels: NDArray[Any], rng: np.random.Generator) -> None:
    """Warn if a released learner predicts the same for made-up records all over its range."""
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
    """Return what the guarantee takes for granted of the estimator."""
    in_pipeline = isinstance(estimator, Pipeline) and prediction != "separate"
    return (
        f"{type(estimator).__name__} trains as privately as it declares "
        f"({training.composition}, {training.neighbours}); "
        + f"{training.condition}; " * bool(training.condition)
        + "what its other steps make of a record depends on that record alone; " * in_pipeline
    )


def prepared(scorers: dict[str, PrivateScorer], problem: Problem) -> tuple[PrivateScorer, ...]:
    """Return scorers, prepared by the labels of made-up records."""
    return tuple(scorer.prepare(problem.training.y).release() for scorer in scorers.values())
