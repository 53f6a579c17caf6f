"""scikit-learn's scorers by name: those that are known here, and why others are not (zone: public).

Every name of ``sklearn.metrics.get_scorer_names()`` is either a key of a table of scores in this
package, or of `REFUSED`.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

from sklearn import metrics

__all__ = ["REFUSED", "like_name", "name_and_params", "refuse_others"]

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
    "'geometric_mean' or 'balanced_accuracy'",
)
# Names that cannot be made private: why, and the nearest that works.
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
        "'neg_median_absolute_error', or make_private_scorer('neg_mean_pinball_loss', alpha=0.95)",
    ),
    "positive_likelihood_ratio": _LIKELIHOOD_RATIO,
    "neg_negative_likelihood_ratio": _LIKELIHOOD_RATIO,
    "d2_brier_score": (_SKILL, "'neg_brier_score'"),
    "d2_log_loss_score": (_SKILL, "'neg_log_loss'"),
    "d2_absolute_error_score": (
        "divides by deviations from the median of the validation labels, which is not a sum over "
        "records",
        "'r2' or 'neg_mean_absolute_error'",
    ),
}

# By the function of sklearn.metrics: the name here, of which `_with_average` makes longer ones.
_BY_FUNCTION: dict[str, str] = {
    "accuracy_score": "accuracy",
    "average_precision_score": "average_precision",
    "balanced_accuracy_score": "balanced_accuracy",
    "brier_score_loss": "neg_brier_score",
    "cohen_kappa_score": "cohen_kappa",
    "explained_variance_score": "explained_variance",
    "f1_score": "f1",
    "fbeta_score": "fbeta",
    "jaccard_score": "jaccard",
    "log_loss": "neg_log_loss",
    "matthews_corrcoef": "matthews_corrcoef",
    "mean_absolute_error": "neg_mean_absolute_error",
    "mean_absolute_percentage_error": "neg_mean_absolute_percentage_error",
    "mean_gamma_deviance": "neg_mean_gamma_deviance",
    "mean_pinball_loss": "neg_mean_pinball_loss",
    "mean_poisson_deviance": "neg_mean_poisson_deviance",
    "mean_squared_error": "neg_mean_squared_error",
    "mean_squared_log_error": "neg_mean_squared_log_error",
    "median_absolute_error": "neg_median_absolute_error",
    "precision_score": "precision",
    "r2_score": "r2",
    "recall_score": "recall",
    "roc_auc_score": "roc_auc",
    "root_mean_squared_error": "neg_root_mean_squared_error",
    "root_mean_squared_log_error": "neg_root_mean_squared_log_error",
    "top_k_accuracy_score": "top_k_accuracy",
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
_WITHOUT_EFFECT = {"zero_division": (0, 0.0), "replace_undefined_by": (0, 0.0)}
# By score: the parameters of scikit-learn's function that it has here as well.
_SHARED: dict[str, tuple[str, ...]] = {
    "average_precision": ("pos_label",),
    "balanced_accuracy": ("adjusted",),
    "cohen_kappa": ("weights",),
    "f1": ("pos_label",),
    "fbeta": ("beta", "pos_label"),
    "jaccard": ("pos_label",),
    "neg_mean_pinball_loss": ("alpha",),
    "precision": ("pos_label",),
    "recall": ("pos_label",),
    "top_k_accuracy": ("k",),
}
# By score: what is part of a name here, and a parameter (not at its default) there.
_OVER_CLASSES = {f"_{each}": {"average": each} for each in ("macro", "micro", "weighted")}
_OVER_LABELS = {**_OVER_CLASSES, "_samples": {"average": "samples"}}
_SUFFIXES: dict[str, dict[str, dict[str, str]]] = {
    "fbeta": _OVER_CLASSES,
    **dict.fromkeys(("f1", "jaccard", "precision", "recall"), _OVER_LABELS),
    "roc_auc": {
        "_ovo": {"multi_class": "ovo"},
        "_ovo_weighted": {"multi_class": "ovo", "average": "weighted"},
        "_ovr": {"multi_class": "ovr"},
        "_ovr_weighted": {"multi_class": "ovr", "average": "weighted"},
    },
}


def like_name(scoring: Any) -> str | None:
    """Return the name that a metric's function, its name or a usual abbreviation has here, if any.

    Parameters
    ----------
    scoring : object
        What was passed as ``scoring=``.
    """
    if isinstance(scoring, str):
        name = scoring.lower()
        return _BY_FUNCTION.get(name) or _ALIASES.get(name)
    name = getattr(scoring, "__name__", "")
    return _BY_FUNCTION.get(name) if getattr(metrics, name, None) is scoring else None


def name_and_params(scorer: Any) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the parameters that a scorer of scikit-learn has here; None if none.

    Parameters
    ----------
    scorer : object
        What `sklearn.metrics.make_scorer` or `get_scorer` returned, perhaps.
    """
    function = getattr(scorer, "_score_func", None)
    kwargs = getattr(scorer, "_kwargs", None)
    function_name = getattr(function, "__name__", "")
    name = _BY_FUNCTION.get(function_name)
    if name is None or not isinstance(kwargs, Mapping):
        return None
    if getattr(metrics, function_name, None) is not function:
        return None  # a function of another library, or of the user's
    if scorer._sign != (-1 if name.startswith("neg_") else 1):
        return None
    return _translated(function, name, kwargs)


def _translated(function: Any, name: str, kwargs: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return name and parameters here; raise ValueError for a parameter that there is not here."""
    defaults = {each.name: each.default for each in signature(function).parameters.values()}
    params = {
        key: value
        for key, value in kwargs.items()
        if not _among(value, (defaults.get(key, Parameter.empty), *_WITHOUT_EFFECT.get(key, ())))
    }
    own = {key: params.pop(key) for key in _SHARED.get(name, ()) if key in params}
    suffixes = {"": {}, **_SUFFIXES.get(name, {})}
    suffix = next((suffix for suffix, needed in suffixes.items() if params == needed), None)
    if suffix is None:
        found, *others = (_as_arguments(each) for each in (params, *suffixes.values()))
        others = [*_SHARED.get(name, ()), *filter(None, others)]
        raise ValueError(
            f"scoring=make_scorer({function.__name__}, {found}) has no equal here. Parameters of "
            f"that function that have: {'; '.join(others) or 'none'}"
        )
    if suffix and own.get("pos_label", 1) is None:  # as in scikit-learn's own scorers
        del own["pos_label"]
    return name + suffix, own


def _as_arguments(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in params.items())


def _among(value: Any, values: tuple[Any, ...]) -> bool:
    return any(value is v or (type(value) is type(v) and value == v) for v in values)


def refuse_others(name: str, params: Mapping[str, Any], *known: str) -> None:
    """Raise ValueError if there are other parameters than those of the score."""
    if others := {key: params[key] for key in sorted(set(params) - set(known))}:
        own = f"; it has {sorted(known)}" if known else ""
        raise ValueError(f"{name!r} has no parameters {_as_arguments(others)}{own}")
