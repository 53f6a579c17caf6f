"""What is known of each metric that is computed from counts: one entry each (zone: sensitive).

Scores, the choice among candidates, intervals, evaluations, comparisons, the list in the
documentation and the tests read these entries. To add a metric, add its entry: what is wrong with
it, `tests/core/test_registry.py` says. Means of gains have theirs in `_gains`.
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
    """What is known of every metric.

    `bounds` are the lowest and the highest value. The rest is needed only where it is not usual:
    `params` are parameters of `make_private_scorer`; `reference` is scikit-learn's scorer if that
    has another name, or None if there is none; figures show `label` instead of the name.
    """

    bounds: tuple[float, float]
    params: tuple[str, ...] = field(default=(), kw_only=True)
    reference: Any = field(default="", kw_only=True)
    label: str = field(default="", kw_only=True)


@dataclass(frozen=True, eq=False)
class OfMatrix(Metric):
    """A metric of the confusion matrix.

    ``of(C, undefined, **params)`` computes it, see `_metrics`. It follows from how many predictions
    are "correct", from the sizes and "recalls" of the classes, or else from the "matrix".

    `order` says how predictions of the same records are ranked: as a sum over cells with weights
    that are always the same ("fixed"), or depend on the sizes of the classes alone ("by sizes"). Or
    else ``order(M, **params)`` yields rankings with bounds of their slopes, see `_ranking`.

    A metric of the positive class of two has the parameter "pos_label"; `of` and `order` get the
    number of this class as `positive`.
    """

    of: Callable[..., Any]
    follows: Literal["correct", "recalls", "matrix"]
    order: Literal["fixed", "by sizes"] | Callable[..., Any]

    @property
    def of_one(self) -> bool:
        """Whether it is of the positive class of two."""
        return "pos_label" in self.params


@dataclass(frozen=True, eq=False)
class OfScores(Metric):
    """An area under a curve, from what these methods return.

    Between two classes, a positive record has to beat this share (`floor`) of the negative ones
    before it counts in the choice.
    """

    floor: float
    methods: tuple[str, ...] = ("decision_function", "predict_proba")


_SHARE, _SIGNED = (0.0, 1.0), (-1.0, 1.0)


def _of_class(name: str, label: str, of: Any, slopes: Any, **needed: Any) -> dict[str, OfMatrix]:
    """Return the entries of a metric of one class against the others, and of its averages.

    Without slopes it is a share of the class. `needed` are parameters, with an example.
    """
    found, score = {}, getattr(metrics, f"{name}_score")
    for average in ("", *_metrics.AVERAGES):
        order: Any = "by sizes" if average == "macro" else "fixed"
        if slopes and average != "micro":
            order = partial(_ranking.rankings_of_classes, of, slopes, average)
        follows: Any = "matrix" if slopes or average == "macro" else "recalls"
        found[f"{name}_{average}" if average else name] = OfMatrix(
            _SHARE,
            partial(_metrics.of_classes, of, average),
            "correct" if average == "micro" else follows,
            order,
            params=(*needed, *["pos_label"][: not average]),
            reference=metrics.make_scorer(score, average=average or "binary", **needed),
            label=f"{label} ({average})" if average else label,
        )
    return found


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
    # What matters to the average precision happens among the highest scores.
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
