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

from .._params import as_floats
from . import _gains as gains
from ._confusion import CONFUSION, ConfusionScorer, confusion_scorer
from ._kinds import refuse_clusterer, without_default
from ._losses import LOSSES
from ._matthews import MatthewsScorer
from ._mean_gain import MeanGain
from ._names import REFUSED, like_name, name_and_params
from ._ranking import RANKING, ranking_scorer
from ._regression import REGRESSION, regression_scorer
from ._scorers import PrivateScorer

__all__ = [
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
_NAMES = sorted([*gains.NAMED, *RANKING, *REGRESSION, *LOSSES, *CONFUSION])


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
        return MeanGain(name, gains.Custom(gain), _check_bounds(name, bounds), methods)
    if not isinstance(gain, str) or gain not in _NAMES:
        raise ValueError(_unknown_sensitivity_message(gain))
    if response_method is not None:
        raise ValueError(f"{gain!r} chooses its response_method itself; leave it out")
    if gain in REGRESSION:
        if bounds is not None and gain.startswith("neg_root"):
            bounds = _check_losses(gain, _check_bounds(gain, bounds))
        return regression_scorer(gain, bounds, params)
    if gain in gains.NAMED or gain in LOSSES:
        return _mean_of(gain, bounds, params)
    if bounds is not None:
        raise ValueError(f"{gain!r} has bounds of its own; leave bounds out")
    if gain.startswith("fbeta") and "beta" not in params:
        raise ValueError(f"{gain!r} needs beta: make_private_scorer({gain!r}, beta=2), for example")
    if "average" in params and f"{gain}_macro" in CONFUSION:
        raise ValueError(f"the average is part of the name: use {gain}_macro, for example")
    if gain == "matthews_corrcoef":
        return confusion_scorer(gain, params, MatthewsScorer)
    return confusion_scorer(gain, params) if gain in CONFUSION else ranking_scorer(gain, params)


def _mean_of(name: str, bounds: Any, params: dict[str, Any]) -> PrivateScorer:
    try:
        gain = {**gains.NAMED, **LOSSES}[name](**params)
    except TypeError as error:
        problem = str(error).split("__init__() ")[-1]
        raise ValueError(f"parameters of {name!r}: {problem}") from None
    if bounds is not None and not gain.takes_bounds:
        raise ValueError(f"{name!r} has bounds of its own; leave bounds out")
    if bounds is not None:
        bounds = _check_bounds(name, bounds)
        if name.startswith("neg_"):
            bounds = _check_losses(name, bounds)
        return MeanGain(name, gain, bounds, gain.response_method, params)
    bounds = gain.bounds or (-math.inf, 0.0)  # until they are learnt from the training labels
    learns = gain.bounds is None
    return MeanGain(name, gain, bounds, gain.response_method, params, learns_bounds=learns)


def _check_losses(name: str, bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the bounds of minus a loss, or say that they are the wrong way round."""
    if bounds[0] >= 0:
        raise ValueError(
            f"{name!r} is 0 for a perfect prediction and negative otherwise, so bounds={bounds} "
            f"would clip every gain: did you mean bounds=({-bounds[1]:g}, {0.0 - bounds[0]:g})?"
        )
    return bounds


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
    if not any(isinstance(scorer, ConfusionScorer) for scorer in scorers.values()):
        return scorers
    return {
        name: confusion_scorer("accuracy", {}) if scorer.name == "accuracy" else scorer
        for name, scorer in scorers.items()
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
    known = name_and_params(scorer)
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
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        near = difflib.get_close_matches(meant or scoring.lower(), _NAMES, n=1, cutoff=0.7)
        if near:
            return f"scoring={scoring!r} is not a score; did you mean {near[0]!r}?"
        return (
            f"scoring={scoring!r} is not a score. Use a name such as 'f1', 'roc_auc', "
            "'neg_log_loss' or 'r2' (the documentation's page \"Choose a metric\" lists all), "
            "or make_private_scorer(gain, bounds=(a, b)) with a gain computed record by record."
        )
    if meant:
        return f"scoring= takes a name or a scorer, not a function; did you mean {meant!r}?"
    return (
        f"scoring={scoring!r} has no proven sensitivity to one record, so it cannot be made "
        "private. Use a name such as 'f1', 'roc_auc', 'neg_log_loss' or 'r2' (the documentation's "
        'page "Choose a metric" lists all), or make_private_scorer(gain, bounds=(a, b)) with a '
        "gain computed record by record."
    )
