"""From ``scoring=`` to a score of known sensitivity (zone: sensitive)."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.base import is_classifier, is_clusterer, is_outlier_detector, is_regressor
from sklearn.utils.metadata_routing import get_routing_for_object

from ..exceptions import InvalidParameterError
from ..privacy.checks import as_floats, check_number
from ._gains import GAINS, Custom, Gain
from ._metrics import AVERAGES
from ._of_counts import ConfusionScore, RankingScore
from ._queries import same
from ._registry import METRICS, OF_MATRIX, Metric, OfMatrix, OfScores
from ._scorers import MeanScore, PrivateScorer
from ._variance import VarianceExplained

NO_WEIGHTS = (
    "sample weights are used for fits, not for scores. Pass them to fit, and do not request them "
    "for the score (set_score_request(sample_weight=False)). To give some validation records more "
    'weight, use "weighted_accuracy", whose weights depend on the label, or your own gain, '
    "make_private_scorer(gain, bounds=(a, b))"
)
# Scores that are minus the root of minus the mean of a gain.
_ROOTS = {
    "neg_root_mean_squared_error": "neg_mean_squared_error",
    "neg_root_mean_squared_log_error": "neg_mean_squared_log_error",
}
_OF_CLUSTERERS = (
    "the numbers of clusters are not comparable with y: score each record by itself, as in "
    "make_private_scorer(gain, bounds=(-10, 0), response_method='transform') with "
    "def gain(y, distances): return -distances.min(axis=1)"
)
# Entries of all metrics by name. Accuracy is a mean of gains, unless a confusion matrix is released
# anyway.
_ENTRIES: dict[str, Gain | Metric] = (
    METRICS | GAINS | {name: GAINS[_ROOTS[name]] for name in _ROOTS}
)
NAMES = {name: _ENTRIES[name] for name in sorted(_ENTRIES)}


def make_private_scorer(
    gain: Callable[..., Any] | str,
    *,
    bounds: Iterable[float] | None = None,
    response_method: str | Sequence[str] | None = None,
    **params: Any,
) -> PrivateScorer:
    """Make a score with a proven sensitivity, for ``scoring=``.

    Parameters
    ----------
    gain : callable or str
        ``gain(y_true, response)`` returns one real number per record, shape (n_records,); complex
        numbers, dates and text are errors. A larger gain is a better prediction, and each is
        computed from its own record alone. `response` is what `response_method` returns; for
        ``predict_proba`` with two classes, the column of the second class. Labels are passed as
        they are in ``y_val``; texts, in `y_true` and `response`, as an array of objects, whose
        dtype does not tell how long another record's text is.

        Or the name of a metric, such as ``"f1"`` (``pos_label=1``) or ``"fbeta"`` (``beta``). The
        documentation's page "Choose a metric" lists all names with their parameters.
    bounds : tuple (a, b) of float, in units of the gain
        Gains are clipped to these bounds. Choose them without looking at the validation data. The
        noise is in proportion to b - a. A callable gain needs them. For a loss, the default
        balances bias and noise, by losses within the training set. Other names have their own.
    response_method : str or sequence of str, default="predict"
        Method of the fitted estimator to call; if several are given, the first that it has. For a
        callable gain only.
    **params
        Parameters of a named metric.

    Returns
    -------
    scorer : PrivateScorer
        For ``scoring=``.

    Raises
    ------
    ValueError
        If the name, a parameter or the bounds are invalid.

    Examples
    --------
    >>> from sklearn_dpbo import make_private_scorer
    >>> make_private_scorer("neg_mean_absolute_error", bounds=(-50, 0))
    make_private_scorer('neg_mean_absolute_error', bounds=(-50.0, 0.0))
    """
    if callable(gain):
        if params:
            raise ValueError(f"a callable gain takes no parameters; found {sorted(params)}")
        name = getattr(gain, "__name__", type(gain).__name__)
        if name in NAMES:
            raise ValueError(
                f"{name!r} is the name of a metric, as which the score would be published: give "
                "your function another name"
            )
        methods = response_method or "predict"
        methods = (methods,) if isinstance(methods, str) else tuple(methods)
        pair = _check_bounds(name, bounds)
        scorer = MeanScore(name, pair, {"bounds": pair}, task=None, response_method=methods)
        return scorer.with_gain(Custom(gain), pair)
    if not isinstance(gain, str) or gain not in NAMES:
        raise ValueError(_unknown(gain))
    if response_method is not None:
        raise ValueError(f"{gain!r} chooses its response_method itself; leave it out")
    entry = NAMES[gain]
    if unknown := sorted(set(params) - set(entry.params)):
        raise ValueError(f"{gain!r} has no parameters {unknown}; it has {list(entry.params)}")
    _check_params(gain, params)
    if bounds is not None:
        if not (isinstance(entry, Gain) and entry.constant):
            raise ValueError(f"{gain!r} has bounds of its own; leave bounds out")
        params = {"bounds": _check_bounds(gain, bounds, below=0.0)} | params
    if isinstance(entry, Gain):
        return MeanScore.of(gain, _ROOTS.get(gain, gain), params)
    if isinstance(entry, OfMatrix):
        return ConfusionScore.of(gain, params)
    if isinstance(entry, OfScores):
        return RankingScore(gain, entry.bounds, params, response_method=entry.methods)
    return VarianceExplained(gain, entry.bounds, params)


def labels_scorer(name: str, params: Any, classes: Any, pos_label: Any) -> ConfusionScore:
    """Return the metric of the confusion matrix with this name, for these classes."""
    if OF_MATRIX[name].of_one:
        params = {"pos_label": pos_label} | params
    scorer = make_private_scorer(name, **params)
    return ConfusionScore.of(name, scorer.params).of_labels(classes)


def _check_params(name: str, params: dict[str, Any]) -> None:
    """Raise ValueError for missing or invalid parameters of a metric."""
    if "beta" in NAMES[name].params and "beta" not in params:
        raise ValueError(f"{name!r} needs beta: make_private_scorer({name!r}, beta=2)")
    for key in {"beta", "largest_error", "slope"} & set(params):
        check_number(key, params[key], "a positive number", lambda value: value > 0)
    if "alpha" in params:
        check_number("alpha", params["alpha"], "a quantile, from 0 to 1", lambda a: 0 <= a <= 1)
    if params.get("weights") not in (None, "linear", "quadratic"):
        raise ValueError(
            f'weights must be None, "linear" or "quadratic"; found {params["weights"]!r}'
        )


def _check_bounds(name: str, bounds: Any, below: float = math.inf) -> tuple[float, float]:
    """Return the bounds as floats; raise ValueError unless a < b, both finite, and a < below."""
    pair = as_floats(list(bounds)) if np.iterable(bounds) else None
    if pair is not None and pair.shape == (2,):
        a, b = pair.tolist()
        if a < min(b, below) and math.isfinite(b - a):
            return a, b
    raise ValueError(
        f"the gain {name!r} needs bounds=(a, b), finite with a < b and chosen without looking at "
        f"the validation data, e.g. bounds=(-100, 0) where gains are negative; found {bounds!r}"
    )


def is_several(scoring: Any) -> bool:
    """Return True if ``scoring=`` is a collection of metrics; any other object is one metric."""
    return isinstance(scoring, Mapping | list | tuple | set)


def resolve_scorers(scoring: Any, estimator: Any, selects: str | None) -> dict[str, PrivateScorer]:
    """Return the scorers for ``scoring=`` by name, the one called `selects` first.

    If `selects` is None, they keep their order.
    """
    requested = list(scoring) if is_several(scoring) else [scoring]
    values = scoring.values() if isinstance(scoring, Mapping) else requested
    resolved = [resolve_scorer(value, estimator) for value in values]
    names = requested if isinstance(scoring, Mapping) else [scorer.name for scorer in resolved]
    scorers = dict(zip(names, resolved, strict=True))
    all_text = all(isinstance(name, str) for name in scorers)
    if not resolved or len(scorers) < len(resolved) or not all_text:
        raise ValueError(
            "scoring= takes one metric, or several with different names (a dict names them); "
            f"found {scoring!r}"
        )
    for name, scorer in scorers.items():
        if name in NAMES and scorer.name != name:
            raise ValueError(
                f"scoring= calls a score {name!r}, and it is {scorer.name!r}: give it another name"
            )
    scorers = _sharing(scorers)
    if selects is None:
        return scorers
    if selects not in scorers:
        raise ValueError(f"refit={selects!r} names no score; scoring has {list(scorers)}")
    return {selects: scorers.pop(selects), **scorers}


def _sharing(scorers: dict[str, PrivateScorer]) -> dict[str, PrivateScorer]:
    """Compute accuracy from the confusion matrix, if that is released for another score."""
    if not any(isinstance(scorer, ConfusionScore) for scorer in scorers.values()):
        return scorers
    accuracy = ConfusionScore.of("accuracy", {})
    return {
        name: accuracy if scorer.name == "accuracy" else scorer for name, scorer in scorers.items()
    }


def resolve_scorer(scoring: Any, estimator: Any) -> PrivateScorer:
    """Return the scorer for ``scoring=``, if it suits the kind of estimator."""
    if scoring is None and (is_classifier(estimator) or is_regressor(estimator)):
        scoring = "accuracy" if is_classifier(estimator) else "r2"
    if scoring is None:
        how = "a gain of each record by itself, make_private_scorer(gain, bounds=(a, b))"
        if is_clusterer(estimator):
            how = _OF_CLUSTERERS
        if is_outlier_detector(estimator):
            how = "'balanced_accuracy', for example, if y is 1 for inliers and -1 for outliers"
        raise InvalidParameterError(
            f"{type(estimator).__name__} is neither a classifier nor a regressor, so it needs "
            f"scoring=: {how}"
        )
    if is_several(scoring):
        raise ValueError(f"scoring= takes one score here; found {scoring!r}")
    scorer = make_private_scorer(scoring) if isinstance(scoring, str) else scoring
    if not isinstance(scorer, PrivateScorer):
        scorer = _like(scoring)
    if is_clusterer(estimator) and not scorer.custom:
        raise ValueError(f"{type(estimator).__name__} is a clusterer, and {_OF_CLUSTERERS}")
    if scorer.task == "classification" and is_regressor(estimator):
        raise ValueError(
            f"scoring={scorer.name!r} is for classifiers and {type(estimator).__name__} is a "
            "regressor: use 'r2' or 'neg_mean_absolute_error'"
        )
    return scorer


@cache
def references() -> dict[str, Any]:
    """Return scikit-learn's scorers, by the names of the same metrics here."""
    scorers = {name: _reference(name, entry) for name, entry in NAMES.items()}
    return {name: scorer for name, scorer in scorers.items() if scorer is not None}


def _reference(name: str, entry: Gain | Metric) -> Any:
    """Return scikit-learn's scorer of a metric; None if it has none.

    It is the one of this name, the `reference` of the entry, or the scorer of a gain's loss.
    """
    if isinstance(entry, Metric):
        return None if entry.reference is None else metrics.get_scorer(entry.reference or name)
    if name in metrics.get_scorer_names():
        return metrics.get_scorer(name)
    loss = getattr(metrics, name.removeprefix("neg_"), None)
    return loss and metrics.make_scorer(loss, greater_is_better=False)


def _like(theirs: Any) -> PrivateScorer:
    """Return the private scorer that computes the same as a scorer of scikit-learn."""
    requests = getattr(get_routing_for_object(theirs), "score", None)
    weights = None if requests is None else requests.requests.get("sample_weight")
    kwargs = getattr(theirs, "_kwargs", {})
    if weights not in (None, False) or kwargs.get("sample_weight") is not None:
        raise ValueError(f"a scikit-learn scorer in scoring= requests weights, but {NO_WEIGHTS}")
    methods = getattr(theirs, "_response_method", "predict")
    response_methods = {methods} if isinstance(methods, str) else set(methods)
    function = getattr(theirs, "_score_func", None)
    for name, reference in references().items():
        if reference._score_func is not function or reference._sign != theirs._sign:
            continue
        params = NAMES[name].params
        if same(_fixed_arguments(reference, params), _fixed_arguments(theirs, params)):
            ours = make_private_scorer(
                name, **{key: kwargs[key] for key in params if key in kwargs}
            )
            if response_methods & set(ours.response_method):
                return ours
    raise ValueError(_unknown(theirs))


def _fixed_arguments(theirs: Any, params: Iterable[str]) -> dict[str, Any]:
    """Return the arguments of scikit-learn's scorer that are not parameters of the metric here."""
    parameters = signature(theirs._score_func).parameters.values()
    arguments = {parameter.name: parameter.default for parameter in parameters} | theirs._kwargs
    if arguments.get("zero_division") == 0:
        arguments["zero_division"] = "warn"  # which computes the same
    if arguments.get("average") in AVERAGES:
        arguments.pop("pos_label", None)  # used for one class only
    return {key: value for key, value in arguments.items() if key not in params}


def selecting_scorer(search: Any) -> PrivateScorer:
    """Return the score by which a fitted search selected its candidate."""
    scorer: PrivateScorer | dict[str, PrivateScorer] = search.scorer_
    return next(iter(scorer.values())) if isinstance(scorer, dict) else scorer


def _unknown(scoring: Any) -> str:
    """Return the error message for a metric that is not supported."""
    problem = "has no proven sensitivity to one record, so it cannot be made private"
    if isinstance(scoring, str) and scoring not in metrics.get_scorer_names():
        near = difflib.get_close_matches(scoring.lower(), NAMES, n=1, cutoff=0.7)
        problem = f"is not a score; did you mean {near[0]!r}" if near else "is not a score"
    return (
        f"scoring={scoring!r} {problem}. Use a name such as 'f1', 'roc_auc', 'neg_log_loss' or "
        "'r2' (the documentation's page \"Choose a metric\" lists all), or "
        "make_private_scorer(gain, bounds=(a, b)) with a gain computed record by record."
    )
