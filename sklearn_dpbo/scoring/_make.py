"""From ``scoring=`` to a score of known sensitivity (zone: sensitive)."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping

from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import get_scorer_names

from . import _gains as gains
from ._scorers import MeanGain, PrivateScorer, RocAuc

__all__ = ["make_private_scorer", "resolve_scorer", "resolve_scorers", "selecting_scorer"]


def make_private_scorer(gain, *, bounds=None, response_method=None, **params) -> PrivateScorer:
    """Make a score with a proven sensitivity, for ``scoring=``.

    Parameters
    ----------
    gain : callable or str
        ``gain(y_true, response)`` returns one gain per record, shape (n_records,), larger for
        better, and each computed from its own record alone. `response` is what
        `response_method` returns; for ``predict_proba`` of two classes, the second's column.
        Labels are passed as they are in ``y_val``.

        Or a name: ``"accuracy"``, ``"top_k_accuracy"`` (parameter ``k=2``),
        ``"balanced_accuracy"`` (``class_weight=None``: a dict from label to weight; None takes
        the training set's prevalences), ``"neg_cost"`` (``cost_matrix``: a row per true class and
        a column per predicted one, in sorted order), ``"neg_brier_score"``, ``"neg_log_loss"``
        (bounds (ln 0.01, 0) if not given), ``"roc_auc"``, ``"ramp"`` and ``"normalized_sigmoid"``
        (``slope=1.0``) of a linear classifier's margin, and with bounds
        ``"neg_mean_absolute_error"``, ``"neg_mean_squared_error"`` and
        ``"neg_mean_pinball_loss"`` (``alpha=0.5``).
    bounds : tuple (a, b) of float, in units of the gain
        Gains are clipped to them, so they must be chosen without looking at the validation
        data. The noise is in proportion to b - a.
    response_method : str or sequence of str, default="predict"
        Method of the fitted estimator to call; of several, the first that it has. Only for a
        callable gain.
    **params
        Of a named gain, as listed above.

    Returns
    -------
    scorer : PrivateScorer

    Raises
    ------
    ValueError
        If the name, a parameter or the bounds make no sense.

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
    if not isinstance(gain, str) or (gain not in gains.NAMED and gain != "roc_auc"):
        raise ValueError(_no_sensitivity(gain))
    if response_method is not None:
        raise ValueError(f"{gain!r} chooses its response_method itself; leave it out")
    if gain == "roc_auc":
        if bounds is not None or params:
            raise ValueError("'roc_auc' takes neither bounds nor parameters")
        return RocAuc()
    return _named(gain, bounds, params)


def _named(name: str, bounds, params: dict) -> PrivateScorer:
    try:
        gain = gains.NAMED[name](**params)
    except TypeError as error:
        raise ValueError(f"parameters of {name!r}: {error}") from None
    if bounds is not None and not gain.takes_bounds:
        raise ValueError(f"{name!r} has bounds of its own; leave bounds out")
    bounds = _check_bounds(name, gain.bounds if bounds is None else bounds)
    return MeanGain(name, gain, bounds, gain.response_method, params)


def _check_bounds(name: str, bounds) -> tuple[float, float]:
    try:
        a, b = (float(bound) for bound in bounds)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"the gain {name!r} needs bounds=(a, b), chosen without looking at the validation "
            f"data, e.g. make_private_scorer({name!r}, bounds=(-100, 0)); found {bounds!r}"
        ) from None
    if not (math.isfinite(b - a) and a < b):
        raise ValueError(f"bounds are finite with a < b; found {bounds!r}")
    return a, b


def resolve_scorers(scoring, estimator, selects) -> dict[str, PrivateScorer]:
    """Return the scorers that ``scoring=`` asks for, by name, the one that selects first.

    Parameters
    ----------
    scoring : str, PrivateScorer, None, or a list, tuple or dict of several
    estimator : estimator
    selects : str or None
        The name of the one that selects; None is the first.

    Raises
    ------
    ValueError
        If the sensitivity of one is not known, two have the same name, or none has that of
        `selects`.
    """
    if isinstance(scoring, Mapping):
        named = [(name, resolve_scorer(each, estimator)) for name, each in scoring.items()]
    elif isinstance(scoring, list | tuple | set):
        scorers = [resolve_scorer(each, estimator) for each in scoring]
        named = [(scorer.name, scorer) for scorer in scorers]
    else:
        scorer = resolve_scorer(scoring, estimator)
        named = [(scorer.name, scorer)]
    found = dict(named)
    if not named or len(found) < len(named) or not all(isinstance(n, str) for n in found):
        raise ValueError(
            "scoring= has one score, or several of different names (with a dict you choose them); "
            f"found {scoring!r}"
        )
    if selects is None:
        return found
    if selects not in found:
        raise ValueError(f"refit={selects!r} names no score; scoring has {list(found)}")
    return {selects: found.pop(selects), **found}


def resolve_scorer(scoring, estimator) -> PrivateScorer:
    """Return the scorer that ``scoring=`` asks for.

    Raises
    ------
    ValueError
        If it is anything whose sensitivity is not known; the message says what to use instead.
    """
    if scoring is None:
        if is_classifier(estimator):
            return make_private_scorer("accuracy")
        raise ValueError(
            f"scoring=None means accuracy, which {type(estimator).__name__} has none of: say what "
            "a prediction is worth, within which bounds, e.g. "
            "scoring=make_private_scorer('neg_mean_absolute_error', bounds=(-100, 0))"
        )
    scorer = make_private_scorer(scoring) if isinstance(scoring, str) else scoring
    if not isinstance(scorer, PrivateScorer):
        raise ValueError(_no_sensitivity(scoring))
    if scorer.task == "classification" and is_regressor(estimator):
        raise ValueError(
            f"scoring={scorer.name!r} is for classifiers and {type(estimator).__name__} is a "
            "regressor: use make_private_scorer('neg_mean_absolute_error', bounds=(-100, 0))"
        )
    return scorer


def selecting_scorer(search) -> PrivateScorer:
    """Return the score by which a fitted search chose, of several or of one."""
    scorer = search.scorer_
    return next(iter(scorer.values())) if isinstance(scorer, dict) else scorer


def _no_sensitivity(scoring) -> str:
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        near = difflib.get_close_matches(scoring, [*gains.NAMED, "roc_auc"], n=1, cutoff=0.7)
        if near:
            return f"scoring={scoring!r} is no score; did you mean {near[0]!r}?"
    return (
        f"scoring={scoring!r} has no proven sensitivity to one record, so it cannot be made "
        f"private. Use one of {sorted([*gains.NAMED, 'roc_auc'])}, or "
        "make_private_scorer(gain, bounds=(a, b)) with a gain computed record by record."
    )
