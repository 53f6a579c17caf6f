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
# Steps of squares, of labels and errors themselves, and of absolute errors: what matters less for
# numbers computed from them gets a smaller part of the noise's scale. The last two, of what squares
# vary by, hardly add to the sensitivity: it is 3.02 GRID.
_STEPS = (GRID, GRID, 27 * GRID // 128, GRID // 4, GRID // 2, GRID, GRID)
# Errors, and distances of labels from their mean, count fully up to this multiple of this quantile
# of public ones: enough for normal ones; or else for this share of them.
_REACH, _QUANTILE, _COUNTED = 2.0, 0.95, 0.99


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
            f"curves need predict_proba or decision_function, and {name} has "
            "neither. For a classifier of labels only, release a score instead, such as "
            "scoring='f1_macro' of a search"
        )


def check_labels(estimator: Any, y: Any) -> None:
    """Raise ValueError unless these public labels are of the kind that the estimator predicts."""
    if y is None or np.ndim(y) == 0 or dense(y).ndim != 1:
        raise ValueError(f"an evaluation takes one label per record; y has shape {np.shape(y)}")
    if is_regressor(estimator):
        return
    name = type(estimator).__name__
    labels, known = np.unique(dense(y)), getattr(estimator, "classes_", None)
    if known is not None and set(labels.tolist()).isdisjoint(np.ravel(known).tolist()):
        raise ValueError(
            f"no label of y, {labels[:9].tolist()}, is among classes_ of {name}: {known}"
        )
    if not 2 <= (K := len(labels)) <= MOST_CLASSES:
        raise ValueError(f"an evaluation takes from 2 to {MOST_CLASSES} classes; y has {K}")


def needs(estimator: Any, y: Any, subgroups: Subgroups | None = None) -> tuple[Query, ...]:
    """Return counts with the same requirements on predictions as those of a design."""
    check_task(estimator, y, subgroups)
    if is_regressor(estimator):
        return (Moments(0.0, 1.0, 1.0, _STEPS),)
    classes = np.unique(dense(y))
    positives = (1,) if len(classes) == 2 else tuple(range(len(classes)))
    edges = ((0.5,),) * len(positives)
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

    Additional edges lie at `thresholds`. With subgroups, bins suit one of the mean size.
    """
    if responses.classes is None:
        n = n_bins(m, epsilon / 3)  # a third of epsilon pays for the histogram
        return _of_regressor(responses, largest_error, n, thresholds)
    classes = np.asarray(responses.classes)
    K, public = len(classes), responses(METHODS)
    if K > 2 and (pos_label is not None or thresholds):
        raise ValueError(f"pos_label and thresholds are for two classes; the model has {K}")
    own: dict[str, Any] = {}
    G = 1 if subgroups is None else subgroups.n
    crossed: dict[str, Any] = {"n_subgroups": G, "subgroups": tuple(range(G))}
    m = max(m // G, 1)
    if K > 2:  # half of epsilon pays for the histograms; a record is in one bin of each
        positives, n = tuple(range(K)), n_bins(m, epsilon / 2 / K)
    else:
        positives = (1 if pos_label is None else position_of(pos_label, classes),)
        own, n = _cut_of(responses, public, classes, positives), n_bins(m, epsilon)
    histogram = ScoreHistogram.at(public, classes, positives, METHODS, n, also=thresholds, **own)
    histogram = replace(histogram, **crossed)
    matrix = () if K == 2 else (Confusion(classes, **crossed),)
    parts: tuple[Query, ...] = (*matrix, histogram)
    moments = None
    if responses.method(METHODS) == "predict_proba" and are_probabilities(public.response).all():
        if not all(0 <= t <= 1 for t in thresholds):
            raise ValueError(f"thresholds of probabilities are from 0 to 1; found {[*thresholds]}")
        columns = class_scores(public.response, positives).T
        moments = tuple(
            moments_of(scores, edges, histogram.separate)
            for scores, edges in zip(columns, histogram.edges, strict=True)
        )
    names = ("roc_auc", "average_precision") if K == 2 else ("roc_auc_ovr",) * bool(moments)
    options = {"pos_label": pos_label} if K == 2 else {}
    given = (responses, m, epsilon / len(parts), (histogram,))
    scorers = {
        name: make_private_scorer(name, **options).prepare(classes).release(*given)
        for name in names
    }
    return ClassifierEvaluation(parts, scorers, moments, _subgroups=subgroups)


def _of_regressor(
    responses: Responses, largest_error: float | None, n: int, tolerances: tuple[float, ...]
) -> Evaluation:
    """Choose the constants of sums, and n bins of errors, by public records."""
    public = responses(("predict",))
    y = public.y.astype(float)
    centre, errors = float(np.mean(y)), np.abs(y - public.response.astype(float))
    errors = errors[np.isfinite(errors)]
    c_e = _bound(errors) if largest_error is None else float(largest_error)
    c_y = max(_bound(np.abs(y - centre)), largest_error or 0.0)
    sums = Moments(centre, c_y, c_e, _STEPS)
    evenly, shares = np.linspace(0, c_e, n - n // 2 + 1)[1:], np.arange(1, n // 2) / (n // 2)
    edges = [*evenly, *np.quantile(errors, shares), 2 * c_e, 4 * c_e, *tolerances]
    histogram = ErrorHistogram(tuple(np.unique(edges).tolist()))
    scorers = {
        name: make_private_scorer(name).prepare(y).release(given=(sums,)) for name in OF_ERRORS
    }
    return RegressorEvaluation((sums, histogram), scorers)


def _bound(sizes: NDArray[Any]) -> float:
    """Return what larger ones than nearly all of these count as."""
    usual = _REACH * float(np.quantile(sizes, _QUANTILE))
    return max(usual, float(np.quantile(sizes, _COUNTED, method="higher"))) or 1.0


def _cut_of(
    responses: Responses, public: Predictions, classes: NDArray[Any], positives: tuple[int, ...]
) -> dict[str, Any]:
    """Return from which score on a classifier predicts the positive one of two classes.

    And whether all public predictions follow it, or no known threshold.
    """
    scores = class_scores(public.response, positives)[:, 0]
    predicted = encode(responses(("predict",)).response, classes) == positives[0]
    usual, whole = usual_cut(public.response, positives[0]), float(np.ndim(public.response) == 2)
    # The model may have set its threshold to the score of the other class.
    others = [float(np.nextafter(whole - cut, np.inf)) for cut in responses.cuts]
    for cut in (usual, *responses.cuts, *others):
        if np.array_equal(scores >= cut, predicted):
            return {"cut": cut, "follows": True}
    return {"cut": usual}
