"""From ``scoring=`` to a score of known sensitivity (zone: sensitive)."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import get_scorer_names
from sklearn.utils.metadata_routing import get_routing_for_object

from .._params import as_floats, check_number
from ._gains import GAINS, Custom, Named
from ._kinds import refuse_clusterer, without_default
from ._metrics import CONFUSION, signed
from ._names import REFUSED, like_name, name_and_params, refuse_others
from ._of_counts import RANKING, VARIANCE, ConfusionScore, RankingScore, VarianceExplained
from ._scorers import MeanScore, PrivateScorer

__all__ = [
    "NAMES",
    "NO_WEIGHTS",
    "is_several",
    "make_private_scorer",
    "resolve_scorer",
    "resolve_scorers",
    "selecting_scorer",
]

NO_WEIGHTS = (
    "scores are not weighted here, weights concern fits alone. Pass them to fit, and let no score "
    "request them (set_score_request(sample_weight=False)). To let some validation records count "
    'more, use a gain of your own, make_private_scorer(gain, bounds=(a, b)), or "weighted_accuracy"'
    ", whose weights are public and follow from the record itself"
)
# Roots of means of these gains.
_ROOTS = {
    "neg_root_mean_squared_error": "neg_mean_squared_error",
    "neg_root_mean_squared_log_error": "neg_mean_squared_log_error",
}
_CHOICES: dict[str, dict[str, tuple[Any, ...]]] = {
    "balanced_accuracy": {"adjusted": (False, True)},
    "cohen_kappa": {"weights": (None, "linear", "quadratic")},
}
_POSITIVE = ("average_precision", "f1", "fbeta", "jaccard", "precision", "recall", "roc_auc")


def _parameters(name: str) -> tuple[str, ...]:
    own = GAINS[name].params if name in GAINS else tuple(_CHOICES.get(name, ()))
    own += ("beta",) * name.startswith("fbeta") + ("largest_error",) * (name in VARIANCE)
    return own + ("pos_label",) * (name in _POSITIVE)


# All names, with their parameters.
NAMES = {
    name: _parameters(name) for name in sorted({*GAINS, *_ROOTS, *RANKING, *VARIANCE, *CONFUSION})
}


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
        they are in ``y_val``.

        Or the name of a metric, such as ``"f1"`` (``pos_label=1``) or ``"fbeta"`` (``beta``). The
        documentation's page "Choose a metric" lists all names with their parameters.
    bounds : tuple (a, b) of float, in units of the gain
        Gains are clipped to these bounds. Choose them without looking at the validation data. The
        noise is in proportion to b - a. A callable gain needs them. For a loss, the default is
        learned from the training labels. Other names have their own.
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
        methods = response_method or "predict"
        methods = (methods,) if isinstance(methods, str) else tuple(methods)
        given = _check_bounds(name, bounds)
        custom: PrivateScorer = MeanScore.of(name, Custom(gain), {}, given, response_method=methods)
        return custom
    if not isinstance(gain, str) or gain not in NAMES:
        raise ValueError(_unknown_sensitivity_message(gain))
    if response_method is not None:
        raise ValueError(f"{gain!r} chooses its response_method itself; leave it out")
    if "average" in params and f"{gain}_macro" in NAMES:
        raise ValueError(f"the average is part of the name: use {gain}_macro, for example")
    refuse_others(gain, params, NAMES[gain])
    base = _ROOTS.get(gain, gain)
    if bounds is not None and not (base in GAINS and GAINS[base].takes_bounds):
        raise ValueError(f"{gain!r} has bounds of its own; leave bounds out")
    if base in GAINS:
        return _mean_score(gain, base, bounds, params)
    _check_params(gain, params)
    if gain in VARIANCE:
        return VarianceExplained(gain, (-math.inf, 1.0), params)
    if gain in CONFUSION:
        return ConfusionScore(gain, (-1.0 if signed(gain, params) else 0.0, 1.0), params)
    methods = ("predict_proba",) if gain == "roc_auc_ovr" else RankingScore.response_method
    return RankingScore(gain, (0.0, 1.0), params, response_method=methods)


def _mean_score(name: str, base: str, bounds: Any, params: dict[str, Any]) -> PrivateScorer:
    checked = GAINS[base].check(None, **params)
    given = None if bounds is None else _check_bounds(name, bounds)
    if given is not None and name.startswith("neg_") and given[0] >= 0:
        raise ValueError(
            f"{name!r} is 0 for a perfect prediction and negative otherwise, so bounds={given} "
            f"would clip every gain: did you mean bounds=({-given[1]:g}, {0.0 - given[0]:g})?"
        )
    scorer: PrivateScorer = MeanScore.of(
        name,
        Named(base, checked),
        params,
        given,
        response_method=GAINS[base].methods,
        root=name in _ROOTS,
    )
    return scorer


def _check_params(name: str, params: dict[str, Any]) -> None:
    if name.startswith("fbeta"):
        if "beta" not in params:
            raise ValueError(f"{name!r} needs beta: make_private_scorer({name!r}, beta=2), say")
        check_number("beta of 'fbeta'", params["beta"], "a positive number", lambda b: b > 0)
    if "largest_error" in params:
        c = params["largest_error"]
        check_number("largest_error", c, "a positive number", lambda v: v > 0, optional=True)
    for key, allowed in _CHOICES.get(name, {}).items():
        if key in params and params[key] not in allowed:
            raise ValueError(f"{key} of {name!r} is one of {allowed}; found {params[key]!r}")


def _check_bounds(name: str, bounds: Any) -> tuple[float, float]:
    pair = as_floats(list(bounds)) if np.iterable(bounds) else None
    if pair is not None and pair.shape == (2,):
        a, b = pair.tolist()
        if a < b and math.isfinite(b - a):
            return a, b
    raise ValueError(
        f"the gain {name!r} needs bounds=(a, b), finite with a < b and chosen without looking at "
        f"the validation data, e.g. make_private_scorer({name!r}, bounds=(-100, 0)); found "
        f"{bounds!r}"
    )


def is_several(scoring: Any) -> bool:
    """Whether ``scoring=`` is a collection of metrics; any other object is one metric."""
    return isinstance(scoring, Mapping | list | tuple | set)


def resolve_scorers(scoring: Any, estimator: Any, selects: str | None) -> dict[str, PrivateScorer]:
    """Return the scorers for ``scoring=``, by name, starting with the one that selects.

    Parameters
    ----------
    scoring : str, PrivateScorer, None, or a list, tuple, set or dict of several
        None is accuracy or, of regressors, R2; a dict is from name to score.
    estimator : estimator
        What is scored, to find scores of the wrong kind.
    selects : str or None
        Name of the scorer that selects; None is the first.

    Returns
    -------
    scorers : dict of str to PrivateScorer
        One or more.

    Raises
    ------
    ValueError
        If the sensitivity of one is not known, two have the same name, or none is called
        `selects`.
    """
    if isinstance(scoring, Mapping):
        named = [(name, resolve_scorer(each, estimator)) for name, each in scoring.items()]
    elif is_several(scoring):
        scorers = [resolve_scorer(each, estimator) for each in scoring]
        named = [(scorer.name, scorer) for scorer in scorers]
    else:
        scorer = resolve_scorer(scoring, estimator)
        named = [(scorer.name, scorer)]
    found = dict(named)
    if not named or len(found) < len(named) or not all(isinstance(n, str) for n in found):
        raise ValueError(
            "scoring= takes one metric, or several with different names (a dict names them); "
            f"found {scoring!r}"
        )
    found = _sharing(found)
    if selects is None:
        return found
    if selects not in found:
        raise ValueError(f"refit={selects!r} names no score; scoring has {list(found)}")
    return {selects: found.pop(selects), **found}


def _sharing(scorers: dict[str, PrivateScorer]) -> dict[str, PrivateScorer]:
    """Let accuracy be computed from the confusion matrix, if that is released for another score."""
    if not any(isinstance(scorer, ConfusionScore) for scorer in scorers.values()):
        return scorers
    counted = ConfusionScore("accuracy", (0.0, 1.0), {})
    return {
        name: counted if scorer.name == "accuracy" else scorer for name, scorer in scorers.items()
    }


def resolve_scorer(scoring: Any, estimator: Any) -> PrivateScorer:
    """Return the scorer for ``scoring=``.

    Parameters
    ----------
    scoring : str, PrivateScorer or None
        None is accuracy or, of regressors, R2.
    estimator : estimator
        What is scored, to find scores of the wrong kind.

    Raises
    ------
    ValueError
        If the sensitivity is not known; the message says what to use instead.
    """
    if scoring is None:
        if is_classifier(estimator):
            return make_private_scorer("accuracy")
        if is_regressor(estimator):
            return make_private_scorer("r2")
        raise ValueError(without_default(estimator))
    if is_several(scoring):
        raise ValueError(f"scoring= takes one score here; found {scoring!r}")
    scorer = make_private_scorer(scoring) if isinstance(scoring, str) else scoring
    if _is_weighted(scorer):
        raise ValueError(f"a scorer of scikit-learn in scoring= asks for weights: {NO_WEIGHTS}")
    known = name_and_params(scorer, NAMES)
    if known is not None:
        name, params = known
        scorer = _same_response(scoring, make_private_scorer(name, **params))
    if not isinstance(scorer, PrivateScorer):
        raise ValueError(_unknown_sensitivity_message(scoring))
    if not scorer.custom:
        refuse_clusterer(estimator, scorer.name)
    if scorer.task == "classification" and is_regressor(estimator):
        raise ValueError(
            f"scoring={scorer.name!r} is for classifiers and {type(estimator).__name__} is a "
            "regressor: use 'r2' or 'neg_mean_absolute_error'"
        )
    return scorer


def _is_weighted(scorer: Any) -> bool:
    """Whether a scorer of scikit-learn has weights, or requests them."""
    requests = getattr(get_routing_for_object(scorer), "score", None)
    requested = None if requests is None else requests.requests.get("sample_weight")
    fixed = getattr(scorer, "_kwargs", None)
    has = isinstance(fixed, Mapping) and fixed.get("sample_weight") is not None
    return has or requested not in (None, False)


def _same_response(theirs: Any, ours: PrivateScorer) -> PrivateScorer:
    """Return our scorer if it asks estimators for the same as that of scikit-learn."""
    methods = getattr(theirs, "_response_method", "predict")
    asked = {methods} if isinstance(methods, str) else set(methods)
    if asked & set(ours.response_method):
        return ours
    raise ValueError(
        f"scoring={theirs!r} is computed from {' or '.join(sorted(asked))}; here {ours.name!r} "
        f"is computed from {' or '.join(ours.response_method)}. Use make_scorer(..., "
        f"response_method={ours.response_method[0]!r}), or scoring={ours.name!r}"
    )


def selecting_scorer(search: Any) -> PrivateScorer:
    """Return the score by which a fitted search selected its candidate."""
    scorer: PrivateScorer | dict[str, PrivateScorer] = search.scorer_
    return next(iter(scorer.values())) if isinstance(scorer, dict) else scorer


def _unknown_sensitivity_message(scoring: Any) -> str:
    """Return what is wrong with ``scoring=`` and what to use instead."""
    if isinstance(scoring, str) and scoring in REFUSED:
        reason, nearest = REFUSED[scoring]
        return f"scoring={scoring!r} {reason}, so it cannot be made private. Use {nearest}"
    meant = like_name(scoring)
    what = "has no proven sensitivity to one record, so it cannot be made private"
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        what = "is not a score"
        near = difflib.get_close_matches(meant or scoring.lower(), NAMES, n=1, cutoff=0.7)
        if near:
            return f"scoring={scoring!r} is not a score; did you mean {near[0]!r}?"
    elif meant:
        return f"scoring= takes a name or a scorer, not a function; did you mean {meant!r}?"
    return (
        f"scoring={scoring!r} {what}. Use a name such as 'f1', 'roc_auc', 'neg_log_loss' or 'r2' "
        '(the documentation\'s page "Choose a metric" lists all), or make_private_scorer(gain, '
        "bounds=(a, b)) with a gain computed record by record."
    )
