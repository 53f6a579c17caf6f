"""scikit-learn's scorers: what they are called here, and why others are refused (zone: public).

Every name of ``sklearn.metrics.get_scorer_names()`` is either one of this package, or a key of
`REFUSED`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from inspect import signature
from typing import Any

from sklearn import metrics

from ._metrics import AVERAGES

__all__ = ["REFUSED", "like_name", "name_and_params", "references", "refuse_others"]

_CLUSTERS = (
    "compares groupings, whose numbers are not comparable between candidates",
    "make_private_scorer(gain, bounds=(a, b)) with a gain per record, such as minus its "
    "distance from the centre",
)
_SKILL = (
    "divides a mean by the cost of predicting the validation labels' own shares, and orders "
    "candidates as that mean does"
)
_LIKELIHOOD_RATIO = (
    "has no upper bound: a single false positive can double it",
    "'balanced_accuracy'",
)
_OTHER_AREA = ("is a mean over pairs of classes, or weighted by noisy counts", "'roc_auc_ovr'")
_NO_SUM = "is a quantile of errors, or divides by one, which is not a sum over records"
# Names that are not made private: why, and the nearest that works.
REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            "adjusted_mutual_info_score",
            "adjusted_rand_score",
            "completeness_score",
            "fowlkes_mallows_score",
            "homogeneity_score",
            "mutual_info_score",
            "normalized_mutual_info_score",
            "rand_score",
            "v_measure_score",
        ),
        _CLUSTERS,
    ),
    "neg_max_error": (
        "is decided by a single record, and that is what privacy hides",
        "'neg_mean_absolute_error', or make_private_scorer('neg_mean_pinball_loss', alpha=0.95)",
    ),
    "neg_median_absolute_error": (_NO_SUM, "'neg_mean_absolute_error'"),
    "d2_absolute_error_score": (_NO_SUM, "'r2' or 'neg_mean_absolute_error'"),
    "positive_likelihood_ratio": _LIKELIHOOD_RATIO,
    "neg_negative_likelihood_ratio": _LIKELIHOOD_RATIO,
    "d2_brier_score": (_SKILL, "'neg_brier_score'"),
    "d2_log_loss_score": (_SKILL, "'neg_log_loss'"),
    **dict.fromkeys(("roc_auc_ovo", "roc_auc_ovo_weighted", "roc_auc_ovr_weighted"), _OTHER_AREA),
}

# What else people call scores.
_ALIASES: dict[str, str] = {
    "auc": "roc_auc",
    "kappa": "cohen_kappa",
    "mae": "neg_mean_absolute_error",
    "mape": "neg_mean_absolute_percentage_error",
    "mcc": "matthews_corrcoef",
    "mse": "neg_mean_squared_error",
    "rmse": "neg_root_mean_squared_error",
}
# Values, besides defaults, that change nothing here.
_WITHOUT_EFFECT = {
    "pos_label": (None,),
    "replace_undefined_by": (0, 0.0),
    "zero_division": (0, 0.0),
}


@cache
def references() -> dict[str, Any]:
    """Return scikit-learn's scorers by the name that they have here."""
    found = {name: metrics.get_scorer(name) for name in metrics.get_scorer_names()}
    found = {name: scorer for name, scorer in found.items() if name not in REFUSED}
    found["top_k_accuracy"] = metrics.make_scorer(metrics.top_k_accuracy_score)
    found["cohen_kappa"] = metrics.make_scorer(metrics.cohen_kappa_score)
    found["neg_mean_pinball_loss"] = metrics.make_scorer(
        metrics.mean_pinball_loss, greater_is_better=False
    )
    found["fbeta"] = metrics.make_scorer(metrics.fbeta_score, beta=1)
    for average in AVERAGES:
        found[f"fbeta_{average}"] = metrics.make_scorer(
            metrics.fbeta_score, beta=1, average=average
        )
    return found


def like_name(scoring: Any) -> str | None:
    """Return the name that a metric's function, its name or a usual abbreviation has here."""
    text = isinstance(scoring, str)
    for name, scorer in references().items():
        function = scorer._score_func
        if function.__name__ == scoring.lower() if text else function is scoring:
            return name
    return _ALIASES.get(scoring.lower()) if text else None


def name_and_params(scorer: Any, own: Mapping[str, Collection[str]]) -> Any:
    """Return the name and the parameters that a scorer of scikit-learn has here; None if none.

    Parameters
    ----------
    scorer : object
        What `sklearn.metrics.make_scorer` or `get_scorer` returned, perhaps.
    own : mapping of str to collection of str
        The parameters that each score has here.

    Raises
    ------
    ValueError
        If its function is known, and its parameters are not.
    """
    function, kwargs = getattr(scorer, "_score_func", None), getattr(scorer, "_kwargs", None)
    known = {
        name: each
        for name, each in references().items()
        if each._score_func is function and each._sign == getattr(scorer, "_sign", 0)
    }
    if function is None or not known or not isinstance(kwargs, Mapping):
        return None
    tried = []
    for name, reference in known.items():
        needed = _telling(reference, own[name])
        if _telling(scorer, own[name]) == needed:
            return name, {key: kwargs[key] for key in own[name] if key in kwargs}
        tried += [_as_arguments(needed), *own[name]]
    raise ValueError(
        f"scoring=make_scorer({function.__name__}, {_as_arguments(_telling(scorer, ()))}) has no "
        "equal here. Parameters of that function that have: "
        + ("; ".join(dict.fromkeys(filter(None, tried))) or "none")
    )


def _telling(scorer: Any, own: Collection[str]) -> dict[str, Any]:
    """Return the parameters of a scorer that make it another metric than the function alone."""
    defaults = signature(scorer._score_func).parameters
    return {
        key: value
        for key, value in scorer._kwargs.items()
        if key not in own
        and not any(
            value is v or (type(value) is type(v) and value == v)
            for v in (getattr(defaults.get(key), "default", key), *_WITHOUT_EFFECT.get(key, ()))
        )
    }


def _as_arguments(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in params.items())


def refuse_others(name: str, params: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise ValueError if there are other parameters than those of the score."""
    if others := {key: params[key] for key in sorted(set(params) - set(known))}:
        own = f"; it has {sorted(known)}" if known else ""
        raise ValueError(f"{name!r} has no parameters {_as_arguments(others)}{own}")
