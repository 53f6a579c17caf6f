"""The counts of an evaluation, designed from public predictions (zone: released)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from ...records.subgroups import Subgroups
from ...records.tables import dense
from .._errors import ErrorHistogram, Moments
from .._histogram import ScoreHistogram, n_bins, usual_cut
from .._labels import encode, position_of
from .._make import make_private_scorer
from .._queries import GRID, MOST_CLASSES, Confusion, Query
from .._registry import OF_ERRORS
from .._response import Predictions, Responses, are_probabilities, class_scores
from ._base import Evaluation
from ._classifier import ClassifierEvaluation
from ._curves import moments_of
from ._regressor import RegressorEvaluation

METHODS = ("predict_proba", "decision_function")
# Steps per unit of the seven sums: fewer steps, and so more noise, where a sum matters less for the
# scores computed from it. The last two (variation of squares) hardly add to the sensitivity, which
# is 3.02 GRID.
_STEPS = (GRID, GRID, 27 * GRID // 128, GRID // 4, GRID // 2, GRID, GRID)
# Errors, and distances of labels from their mean, are clipped to _REACH times the _QUANTILE of
# public ones, which suits normal ones, or to the quantile _COUNTED if that is larger.
_REACH = 2.0
_QUANTILE = 0.95
_COUNTED = 0.99


def check_task(estimator: Any, y: Any, subgroups: Subgroups | None = None) -> None:
    """Raise ValueError unless this kind of estimator and labels can be evaluated."""
    name = type(estimator).__name__
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError(f"only classifiers and regressors can be evaluated; found {name}")
    check_labels(estimator, y)
    if is_regressor(estimator) and subgroups is not None:
        raise ValueError(
            f"subgroups are for classifiers; found {name}. Sums of errors change by up to twice "
            "their range if a record changes its subgroup"
        )
    if is_classifier(estimator) and not any(hasattr(estimator, method) for method in METHODS):
        raise ValueError(
            f"curves need predict_proba or decision_function, and {name} has neither. For a "
            "classifier of labels only, release a score instead, such as scoring='f1_macro' of a "
            "search"
        )


def check_labels(estimator: Any, y: Any) -> None:
    """Raise ValueError unless these public labels are of the kind that the estimator predicts."""
    if y is None or np.ndim(y) == 0 or dense(y).ndim != 1:
        raise ValueError(f"an evaluation needs one label per record; y has shape {np.shape(y)}")
    if is_regressor(estimator):
        return
    name = type(estimator).__name__
    labels = np.unique(dense(y))
    classes = getattr(estimator, "classes_", None)
    if classes is not None and set(labels.tolist()).isdisjoint(np.ravel(classes).tolist()):
        raise ValueError(
            f"no label of y, {labels[:9].tolist()}, is among classes_ of {name}: {classes}"
        )
    if not 2 <= (K := len(labels)) <= MOST_CLASSES:
        raise ValueError(f"an evaluation needs 2 to {MOST_CLASSES} classes; y has {K}")


def needs(estimator: Any, y: Any, subgroups: Subgroups | None = None) -> tuple[Query, ...]:
    """Return queries that need the same predictions as those of the design."""
    check_task(estimator, y, subgroups)
    if is_regressor(estimator):
        return (Moments(0.0, 1.0, 1.0, _STEPS),)
    classes = np.unique(dense(y))
    positives = (1,) if len(classes) == 2 else tuple(range(len(classes)))
    edges = tuple((0.5,) for _ in positives)
    return ScoreHistogram(edges, classes, positives, METHODS), Confusion(classes)


def evaluation_of(
    responses: Responses,
    *,
    m: int,
    epsilon: float,
    thresholds: tuple[float, ...] = (),
    pos_label: Any = None,
    largest_error: float | None = None,
    subgroups: Subgroups | None = None,
) -> Evaluation:
    """Return the evaluation to release for a fitted model, given its responses to public records.

    Bins have additional edges at `thresholds`. With subgroups, their number suits a subgroup of
    mean size.
    """
    if responses.classes is None:
        n = n_bins(m, epsilon / 3)  # a third of epsilon pays for the histogram
        return _of_regressor(responses, largest_error, n, thresholds)
    classes = np.asarray(responses.classes)
    K = len(classes)
    public = responses(METHODS)
    if K > 2 and (pos_label is not None or thresholds):
        raise ValueError(f"pos_label and thresholds are for two classes; the model has {K}")
    cut: dict[str, Any] = {}
    G = 1 if subgroups is None else subgroups.n
    crossed: dict[str, Any] = {"n_subgroups": G, "subgroups": tuple(range(G))}
    m = max(m // G, 1)
    if K > 2:  # half of epsilon pays for the histograms; a record is in one bin of each
        positives = tuple(range(K))
        n = n_bins(m, epsilon / 2 / K)
    else:
        positives = (1 if pos_label is None else position_of(pos_label, classes),)
        cut = _cut_of(responses, public, classes, positives)
        n = n_bins(m, epsilon)
    histogram = ScoreHistogram.at(public, classes, positives, METHODS, n, also=thresholds, **cut)
    histogram = replace(histogram, **crossed)
    matrix = () if K == 2 else (Confusion(classes, **crossed),)
    parts: tuple[Query, ...] = (*matrix, histogram)
    moments = None
    if responses.method(METHODS) == "predict_proba" and are_probabilities(public.response).all():
        if not all(0 <= t <= 1 for t in thresholds):
            raise ValueError(
                f"thresholds of probabilities must be in [0, 1]; found {[*thresholds]}"
            )
        columns = class_scores(public.response, positives).T
        moments = tuple(
            moments_of(scores, edges, histogram.separate)
            for scores, edges in zip(columns, histogram.edges, strict=True)
        )
    if K == 2:
        names = ["roc_auc", "average_precision"]
        options = {"pos_label": pos_label}
    else:
        names = ["roc_auc_ovr"] if moments else []
        options = {}
    scorers = {
        name: make_private_scorer(name, **options)
        .prepare(classes)
        .release(responses, m, epsilon / len(parts), (histogram,))
        for name in names
    }
    return ClassifierEvaluation(parts, scorers, moments, _subgroups=subgroups)


def _of_regressor(
    responses: Responses, largest_error: float | None, n: int, tolerances: tuple[float, ...]
) -> Evaluation:
    """Choose the bounds of the sums, and n bins of errors, from public records."""
    public = responses(("predict",))
    y = public.y.astype(float)
    centre = float(np.mean(y))
    errors = np.abs(y - public.response.astype(float))
    errors = errors[np.isfinite(errors)]
    c_e = _bound(errors) if largest_error is None else float(largest_error)
    c_y = max(_bound(np.abs(y - centre)), largest_error or 0.0)
    sums = Moments(centre, c_y, c_e, _STEPS)
    evenly = np.linspace(0, c_e, n - n // 2 + 1)[1:]
    quantiles = np.quantile(errors, np.arange(1, n // 2) / (n // 2))
    edges = [*evenly, *quantiles, 2 * c_e, 4 * c_e, *tolerances]
    histogram = ErrorHistogram(tuple(np.unique(edges).tolist()))
    scorers = {
        name: make_private_scorer(name).prepare(y).release(given=(sums,)) for name in OF_ERRORS
    }
    return RegressorEvaluation((sums, histogram), scorers)


def _bound(sizes: NDArray[Any]) -> float:
    """Choose a bound that nearly all of these sizes stay below."""
    usual = _REACH * float(np.quantile(sizes, _QUANTILE))
    return max(usual, float(np.quantile(sizes, _COUNTED, method="higher"))) or 1.0


def _cut_of(
    responses: Responses, public: Predictions, classes: NDArray[Any], positives: tuple[int, ...]
) -> dict[str, Any]:
    """Find the score from which on a classifier predicts the positive one of two classes.

    "follows" is there if all public predictions agree with this "cut". Without agreement for any
    candidate, the cut is the usual one.
    """
    scores = class_scores(public.response, positives)[:, 0]
    predicted = encode(responses(("predict",)).response, classes) == positives[0]
    usual = usual_cut(public.response, positives[0])
    # The scores of both classes add up to this: the model's threshold may be for the other class.
    total = 1.0 if np.ndim(public.response) == 2 else 0.0
    mirrored = [float(np.nextafter(total - cut, np.inf)) for cut in responses.cuts]
    for cut in (usual, *responses.cuts, *mirrored):
        if np.array_equal(scores >= cut, predicted):
            return {"cut": cut, "follows": True}
    return {"cut": usual}
