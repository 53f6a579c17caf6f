"""The counts of an evaluation, designed from public predictions (zone: released)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.multiclass import type_of_target

from .._data.tables import dense
from ..scoring._histogram import ScoreHistogram, class_scores, n_bins, usual_cut
from ..scoring._labels import equal, position_of
from ..scoring._make import make_private_scorer
from ..scoring._queries import GRID, Confusion, Moments, Query, Residuals
from ..scoring._response import Predictions, Responses
from ..scoring._scorers import PrivateScorer
from ._curves import moments_of

__all__ = [
    "METHODS",
    "ClassifierDesign",
    "Design",
    "check_task",
    "design_of",
    "error_sums",
    "needs",
]

METHODS = ("predict_proba", "decision_function")
# As many numbers as the square of this are released.
_MOST_CLASSES = 50
# Steps of squares, of absolute errors, and of labels and errors themselves: what matters less for
# the numbers computed from them gets a smaller part of the noise's scale.
_STEPS = (GRID, GRID, GRID // 2, GRID // 4, GRID // 4)
# The largest error that counts, as a multiple of the quantile of absolute errors of public records;
# and the share of labels whose distance from their mean counts fully.
_QUANTILE, _REACH, _COUNTED = 0.95, 2.0, 0.99


@dataclass(frozen=True, eq=False)
class Design:
    """What is counted for an evaluation.

    Parameters
    ----------
    parts : tuple of Query
        Released, each with the same share of epsilon.
    histogram : ScoreHistogram or Residuals
        The last part.
    scorers : dict of str to PrivateScorer
        Scores that are computed from a part, as a search releases them.
    """

    parts: tuple[Query, ...]
    histogram: Any
    scorers: dict[str, PrivateScorer]


@dataclass(frozen=True, eq=False)
class ClassifierDesign(Design):
    """The counts of a classifier.

    Parameters
    ----------
    labels : Query
        The first part: has the confusion matrix. For two classes it is the histogram.
    moments : tuple of ndarray of shape (2, n_bins), or None
        Mean and mean square of the probabilities in each bin, per score.
    positive : int
        Position of the positive class of two.
    """

    labels: Any
    moments: tuple[NDArray[np.float64], ...] | None
    positive: int = 1


def check_task(estimator: Any, y: Any) -> None:
    """Raise ValueError unless this kind of estimator and labels can be evaluated."""
    name = type(estimator).__name__
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError(f"only classifiers and regressors can be evaluated; found {name}")
    if np.ndim(y) == 0 or dense(y).ndim != 1:
        raise ValueError("an evaluation takes one label per record; y has another shape")
    if is_regressor(estimator):
        return
    if not any(hasattr(estimator, method) for method in METHODS):
        raise ValueError(
            f"curves need predict_proba or decision_function, and {name} has "
            "neither. For a classifier of labels only, release a score instead, such as "
            "scoring='f1_macro' of a search"
        )
    if type_of_target(y) not in ("binary", "multiclass"):
        raise ValueError(f"y must have class labels; found {type_of_target(y)} ones")
    if len(np.unique(dense(y))) < 2:
        raise ValueError("the public labels y have a single class; pass records of every class")
    if len(np.unique(dense(y))) > _MOST_CLASSES:
        raise ValueError(f"an evaluation takes up to {_MOST_CLASSES} classes; y has more")


def needs(estimator: Any, y: Any) -> tuple[Query, ...]:
    """Return counts with the same requirements on predictions as those of a design.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    y : array-like of shape (n_samples,)
        Public labels.

    Raises
    ------
    ValueError
        If this kind of estimator and labels cannot be evaluated.
    """
    check_task(estimator, y)
    if is_regressor(estimator):
        return (Residuals((0.0,)),)
    classes = np.unique(dense(y))
    K = len(classes)
    histogram = ScoreHistogram(((0.5,),) * (K if K > 2 else 1), classes, METHODS)
    return histogram, Confusion(classes)


def design_of(
    responses: Responses,
    *,
    m: int,
    epsilon: float,
    spread: bool,
    thresholds: tuple[float, ...] = (),
    pos_label: Any = None,
    largest_error: float | None = None,
) -> Design:
    """Return the counts to release for a fitted model.

    Parameters
    ----------
    responses : Responses
        Of the model, to public records.
    m : int
        Number of protected units.
    epsilon : float
        Privacy loss of all parts together.
    spread : bool
        Whether half of the bins are evenly spaced, because the model may have been fitted on them.
    thresholds : tuple of float
        Additional edges of bins.
    pos_label : object
        The positive class; None is the second one.
    largest_error : float or None
        Errors are clipped to this; None chooses it by the public records.
    """
    if responses.classes is None:
        return _of_regressor(responses, m, epsilon, largest_error)
    classes = np.asarray(responses.classes)
    public = responses(METHODS)
    if len(classes) > 2:
        _refuse(pos_label, thresholds, public, responses)
        return _of_many_classes(responses, m, epsilon, spread)
    positive = 1 if pos_label is None else position_of(pos_label, classes)
    given = _of_second(thresholds, public.response, positive)
    cut = _cut_of(responses, public, equal(responses(("predict",)).response, classes[1]))
    used = usual_cut(public.response) if cut is None else cut
    labels = ScoreHistogram.at(
        public, classes, METHODS, n_bins(m, epsilon), spread=spread, cut=used, also=given
    )
    histogram = labels if cut is not None else replace(labels, cut=None)
    scorers = {}
    for name in ("roc_auc", "average_precision"):
        scorer = make_private_scorer(name, pos_label=pos_label).prepare(classes)
        scorers[name] = scorer.release(responses, m, epsilon, (histogram,))
    moments = _moments(responses, histogram)
    return ClassifierDesign((histogram,), histogram, scorers, labels, moments, positive)


def _of_many_classes(responses: Responses, m: int, epsilon: float, spread: bool) -> Design:
    """Half of epsilon pays for the histograms of K scores; a record is in one bin of each."""
    public = responses(METHODS)
    bins = n_bins(m, epsilon / 2 / len(public.classes))
    histogram = ScoreHistogram.at(public, public.classes, METHODS, bins, spread=spread)
    confusion, moments = Confusion(public.classes), _moments(responses, histogram)
    scorers = {}
    if moments is not None:
        scorer = make_private_scorer("roc_auc_ovr").prepare(public.classes)
        scorers["roc_auc"] = scorer.release(responses, m, epsilon / 2, (histogram,))
    return ClassifierDesign((confusion, histogram), histogram, scorers, confusion, moments)


def _of_regressor(responses: Responses, m: int, epsilon: float, largest: float | None) -> Design:
    public = responses(("predict",))
    y, response = public.y.astype(float), public.response.astype(float)
    sums = error_sums(y, response, largest)
    histogram = Residuals.at(y - response, n_bins(m, epsilon / 2), sums.c_e)
    scorer = make_private_scorer("r2").prepare(y).release(responses, m, epsilon / 2, (sums,))
    return Design((sums, histogram), histogram, {"r2": scorer})


def error_sums(
    y: NDArray[np.float64], response: NDArray[np.float64], largest_error: float | None
) -> Moments:
    """Choose the constants of sums by public records."""
    centre, errors = float(np.mean(y)), np.abs(y - response)
    c_y = float(np.quantile(np.abs(y - centre), _COUNTED, method="higher"))
    c_e = _REACH * float(np.quantile(errors[np.isfinite(errors)], _QUANTILE))
    if largest_error is not None:
        c_e = float(largest_error)
    return Moments(centre, c_y if c_y > 0 else 1.0, c_e if c_e > 0 else 1.0, _STEPS)


def _moments(responses: Responses, histogram: ScoreHistogram) -> Any:
    if responses.method(METHODS) != "predict_proba":
        return None
    scores = class_scores(responses(METHODS).response).T
    return tuple(moments_of(s, e) for s, e in zip(scores, histogram.edges, strict=True))


def _cut_of(responses: Responses, public: Predictions, second: NDArray[np.bool_]) -> float | None:
    """Return the score from which a classifier predicts the second class.

    None, with a warning, if public predictions follow no known threshold.
    """
    scores, usual = class_scores(public.response)[:, 0], usual_cut(public.response)
    for cut in (usual, *responses.cuts):
        if np.array_equal(scores >= cut, second):
            return cut
    apart = float(np.mean((scores >= usual) != second))
    warnings.warn(
        f"{responses.name}.predict does not follow the scores of "
        f"{responses.method(METHODS)} for {apart:.1%} of the public records. Numbers without a "
        f"threshold are for the labels by scores above {usual:.3g}, not for its predictions",
        UserWarning,
        stacklevel=4,
    )
    return None


def _of_second(
    thresholds: tuple[float, ...], response: NDArray[Any], positive: int
) -> tuple[float, ...]:
    """Return thresholds of the positive class's score as thresholds of the second class's."""
    if positive == 1:
        return thresholds
    whole = 1.0 if np.ndim(response) == 2 else 0.0
    return tuple(float(np.nextafter(whole - t, np.inf)) for t in thresholds)


def _refuse(pos_label: Any, thresholds: Any, public: Predictions, responses: Responses) -> None:
    K = len(public.classes)
    if pos_label is not None or len(thresholds):
        raise ValueError(f"pos_label and thresholds are for two classes; the model has {K}")
    if np.ndim(public.response) != 2 or public.response.shape[1] != K:
        raise ValueError(
            f"{responses.name}.{responses.method(METHODS)} does not return one column for "
            f"each of its {K} classes (perhaps because of decision_function_shape='ovo')"
        )
