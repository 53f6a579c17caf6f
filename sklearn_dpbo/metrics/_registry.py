"""Registry of the metrics that are computed from counts, one entry each (zone: sensitive).

Scores, the choice among candidates, intervals, evaluations, comparisons, the list in the
documentation and the tests read these entries. To add a metric, add its entry;
`tests/core/test_registry.py` reports what is wrong with it. Means of gains are in `_gains`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from sklearn import metrics

from . import _metrics, _ranking


@dataclass(frozen=True, eq=False)
class Metric:
    """Entry of a metric.

    `bounds` are the lowest and the highest value. The other fields have defaults: `params` names
    the metric's parameters in `make_private_scorer`; `reference` is scikit-learn's scorer if it has
    another name, or None if there is none; figures show `label` instead of the name.
    """

    bounds: tuple[float, float]
    params: tuple[str, ...] = field(default=(), kw_only=True)
    reference: Any = field(default="", kw_only=True)
    label: str = field(default="", kw_only=True)


@dataclass(frozen=True, eq=False)
class OfMatrix(Metric):
    """Entry of a metric of the confusion matrix.

    ``function(C, undefined, **params)`` computes it, see `_metrics`. `follows` names what it is
    determined by: the number of "correct" predictions, the sizes and "recalls" of the classes, or
    the whole "matrix".

    `order` describes how the metric ranks predictions for the same records. "fixed" and "by sizes"
    are sums over cells whose weights are constant, or depend only on the sizes of the classes.
    Otherwise ``order(M, **params)`` yields rankings with bounds of their slopes, see `_ranking`.

    A metric of the positive class of two has the parameter "pos_label"; `function` and `order` get
    the position of this class as `positive`.
    """

    function: Callable[..., Any]
    follows: Literal["correct", "recalls", "matrix"]
    order: Literal["fixed", "by sizes"] | Callable[..., Any]

    @property
    def of_one(self) -> bool:
        """Return True for a metric of the positive class of two."""
        return "pos_label" in self.params


@dataclass(frozen=True, eq=False)
class OfScores(Metric):
    """Entry of an area under a curve, computed from what one of `methods` returns.

    With two classes, a positive record counts in the choice only for the negative ones that it
    beats beyond `floor`, a share of them.
    """

    floor: float
    methods: tuple[str, ...] = ("decision_function", "predict_proba")


_SHARE = (0.0, 1.0)
_SIGNED = (-1.0, 1.0)


def _of_class(
    name: str, label: str, parts: Any, slopes: Any, **examples: Any
) -> dict[str, OfMatrix]:
    """Return the entries of a metric of one class, and of its averages over the classes.

    `parts` returns the metric's numerator and denominator, and `slopes` bounds them; None if the
    denominator is the size of the class. `examples` has a value of each required parameter.
    """
    entries = {}
    score = getattr(metrics, f"{name}_score")
    for average in ("", *_metrics.AVERAGES):
        order: Any = "by sizes" if average == "macro" else "fixed"
        if slopes and average != "micro":
            order = partial(_ranking.rankings_of_classes, parts, slopes, average)
        follows: Any = "matrix" if slopes or average == "macro" else "recalls"
        entries[f"{name}_{average}" if average else name] = OfMatrix(
            _SHARE,
            partial(_metrics.of_classes, parts, average),
            "correct" if average == "micro" else follows,
            order,
            params=(*examples,) if average else (*examples, "pos_label"),
            reference=metrics.make_scorer(score, average=average or "binary", **examples),
            label=f"{label} ({average})" if average else label,
        )
    return entries


OF_MATRIX: dict[str, OfMatrix] = {
    "accuracy": OfMatrix(_SHARE, _metrics.accuracy, "correct", "fixed"),
    "balanced_accuracy": OfMatrix(_SHARE, _metrics.balanced_accuracy, "recalls", "by sizes"),
    "cohen_kappa": OfMatrix(
        _SIGNED, _metrics.kappa, "matrix", _ranking.kappa_rankings, params=("weights",),
        reference=metrics.make_scorer(metrics.cohen_kappa_score), label="Cohen's kappa",
    ),
    "informedness": OfMatrix(
        _SIGNED, _metrics.informedness, "recalls", "by sizes",
        reference=metrics.make_scorer(metrics.balanced_accuracy_score, adjusted=True),
    ),
    "matthews_corrcoef": OfMatrix(
        _SIGNED, _metrics.matthews, "matrix", _ranking.matthews_rankings,
        label="Matthews correlation",
    ),
    **_of_class("f1", "F1", _metrics.f_measure, _ranking.f_slopes),
    **_of_class("fbeta", "F-beta", _metrics.f_measure, _ranking.f_slopes, beta=1),
    **_of_class("jaccard", "Jaccard index", _metrics.jaccard, _ranking.jaccard_slopes),
    **_of_class("precision", "precision", _metrics.precision, _ranking.precision_slopes),
    **_of_class("recall", "recall", _metrics.recall, None),
}  # fmt: skip
OF_SCORES: dict[str, OfScores] = {
    # The average precision depends mostly on the highest scores.
    "average_precision": OfScores(_SHARE, 0.7, params=("pos_label",)),
    "roc_auc": OfScores(_SHARE, 0.5, params=("pos_label",), label="ROC AUC"),
    "roc_auc_ovr": OfScores(
        _SHARE, 0.0, ("predict_proba",), label="ROC AUC (one class against the rest)"
    ),
}
OF_ERRORS: dict[str, Metric] = {
    "explained_variance": Metric((-math.inf, 1.0), params=("largest_error",)),
    "r2": Metric((-math.inf, 1.0), params=("largest_error",), label="R2"),
}
METRICS: dict[str, Metric] = {**OF_MATRIX, **OF_SCORES, **OF_ERRORS}
