"""The counts of an evaluation, designed from public predictions (zone: released)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.multiclass import type_of_target

from .._data.tables import dense
from ..scoring._confusion import ConfusionCounts
from ..scoring._error_sums import ErrorSums
from ..scoring._histogram import ScoreHistogram, class_scores, n_bins, usual_cut
from ..scoring._labels import equal
from ..scoring._ranking import Ranking, ranking_scorer
from ..scoring._response import method_of, respond
from ..scoring._statistics import Predictions, Statistics
from ._curves import moments_of
from ._errors import ResidualHistogram, error_sums

__all__ = ["AREAS", "ClassifierDesign", "RegressorDesign", "check_task", "design_of", "needs"]

# Names of the areas under curves.
AREAS = ("roc_auc", "average_precision")

_METHODS = ("predict_proba", "decision_function")
# As many numbers as the square of this are released.
_MOST_CLASSES = 50


@dataclass(frozen=True, eq=False)
class ClassifierDesign:
    """The counts of a classifier.

    Parameters
    ----------
    histogram : ScoreHistogram
        Histogram of the score of the positive class, or of each class.
    confusion : ConfusionCounts or None
        None for two classes, where the matrix follows from the histogram.
    moments : tuple of ndarray of shape (2, n_bins), or None
        Mean and mean square of the probabilities in each bin, per score.
    positive : int
        Position of the positive class of two.
    edge : int
        Edge of the histogram from which the second class is predicted, unless another threshold is
        given.
    areas : tuple of Ranking
        For two classes, the scores that are computed from the histogram.
    """

    histogram: ScoreHistogram
    confusion: ConfusionCounts | None
    moments: tuple[NDArray[np.float64], ...] | None
    positive: int = 1
    edge: int = 0
    areas: tuple[Ranking, ...] = ()

    @property
    def parts(self) -> tuple[Statistics, ...]:
        """The parts that are released, each with the same share of epsilon."""
        return (self.histogram,) if self.confusion is None else (self.confusion, self.histogram)


@dataclass(frozen=True, eq=False)
class RegressorDesign:
    """The counts of a regressor."""

    sums: ErrorSums
    histogram: ResidualHistogram

    @property
    def parts(self) -> tuple[Statistics, ...]:
        """The parts that are released, each with the same share of epsilon."""
        return self.sums, self.histogram


def check_task(estimator: Any, y: Any) -> None:
    """Raise ValueError unless this kind of estimator and labels can be evaluated."""
    name = type(estimator).__name__
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError(f"only classifiers and regressors can be evaluated; found {name}")
    if np.ndim(y) == 0 or dense(y).ndim != 1:
        raise ValueError("an evaluation takes one label per record; y has another shape")
    if is_regressor(estimator):
        return
    if not any(hasattr(estimator, method) for method in _METHODS):
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


def needs(estimator: Any, y: Any) -> tuple[Statistics, ...]:
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
        return (ResidualHistogram((0.0,)),)
    classes = np.unique(dense(y))
    K = len(classes)
    histogram = ScoreHistogram(((0.5,),) * (K if K > 2 else 1), classes, _METHODS, K > 2)
    return histogram, ConfusionCounts(classes)


def design_of(
    model: Any,
    X: Any,
    y: Any,
    *,
    m: int,
    epsilon: float,
    spread: bool,
    thresholds: tuple[float, ...] = (),
    pos_label: Any = None,
    largest_error: float | None = None,
) -> ClassifierDesign | RegressorDesign:
    """Return the counts to release for a fitted model.

    Parameters
    ----------
    model : estimator
        Fitted.
    X, y : table, array-like
        Public records.
    m : int
        Number of protected units.
    epsilon : float
        Privacy loss of all parts together.
    spread : bool
        Whether half of the bins are evenly spaced, because the model may have been fitted on X.
    thresholds : tuple of float
        Additional edges of bins.
    pos_label : object
        The positive class; None is the second one.
    largest_error : float or None
        Errors are clipped to this; None chooses it by X and y.
    """
    y = dense(y)
    if is_regressor(model):
        return _of_regressor(y, respond(model, X, ("predict",)), m, epsilon, largest_error)
    classes = np.asarray(model.classes_)
    public = Predictions(y, respond(model, X, _METHODS), classes)
    if len(classes) > 2:
        _refuse(pos_label, thresholds, public, model)
        return _of_many_classes(public, m, epsilon, spread)
    positive = _position(pos_label, classes)
    given = _of_second(thresholds, public.response, positive)
    labels = respond(model, X, ("predict",))
    cut = _cut_of(model, public, equal(labels, classes[1]))
    used = usual_cut(public.response) if cut is None else cut
    histogram = ScoreHistogram.at(
        public, classes, _METHODS, n_bins(m, epsilon), spread=spread, cut=used, also=given
    )
    edge = histogram.edges[0].index(used)
    if cut is None:
        histogram = replace(histogram, cut=None)
    moments = _moments(public, histogram)
    areas = _areas(histogram, public, pos_label, m, epsilon)
    return ClassifierDesign(histogram, None, moments, positive, edge, areas)


def _areas(
    histogram: ScoreHistogram, public: Predictions, pos_label: Any, m: int, epsilon: float
) -> tuple[Ranking, ...]:
    given = {} if pos_label is None else {"pos_label": pos_label}
    prepared = (ranking_scorer(name, given).prepare(public.classes) for name in AREAS)
    return tuple(scorer.releasing_from(histogram, public, m, epsilon) for scorer in prepared)


def _of_many_classes(public: Predictions, m: int, epsilon: float, spread: bool) -> ClassifierDesign:
    """Half of epsilon pays for the histograms of K scores; a record is in one bin of each."""
    K = len(public.classes)
    bins = n_bins(m, epsilon / 2 / K)
    histogram = ScoreHistogram.at(public, public.classes, _METHODS, bins, True, spread=spread)
    confusion = ConfusionCounts(public.classes)
    return ClassifierDesign(histogram, confusion, _moments(public, histogram))


def _of_regressor(
    y: NDArray[Any], response: NDArray[Any], m: int, epsilon: float, largest: float | None
) -> RegressorDesign:
    y, response = y.astype(float), response.astype(float)
    sums = error_sums(y, response, largest)
    return RegressorDesign(
        sums, ResidualHistogram.at(y - response, n_bins(m, epsilon / 2), sums.c_e)
    )


def _moments(public: Predictions, histogram: ScoreHistogram) -> Any:
    if np.ndim(public.response) != 2 or histogram.response_method[0] != "predict_proba":
        return None
    scores = class_scores(public.response).T
    return tuple(moments_of(s, e) for s, e in zip(scores, histogram.edges, strict=True))


def _cut_of(model: Any, public: Predictions, second: NDArray[np.bool_]) -> float | None:
    """Return the score from which a classifier predicts the second class.

    None, with a warning, if public predictions follow no known threshold.
    """
    scores, usual = class_scores(public.response)[:, 0], usual_cut(public.response)
    own = (getattr(model, name, None) for name in ("best_threshold_", "threshold"))
    for cut in (usual, *(float(t) for t in own if isinstance(t, Real))):
        if np.array_equal(scores >= cut, second):
            return cut
    apart = float(np.mean((scores >= usual) != second))
    warnings.warn(
        f"{type(model).__name__}.predict does not follow the scores of "
        f"{method_of(model, _METHODS)} for {apart:.1%} of the public records. Numbers without a "
        f"threshold are for the labels by scores above {usual:.3g}, not for its predictions",
        UserWarning,
        stacklevel=4,
    )
    return None


def _position(pos_label: Any, classes: NDArray[Any]) -> int:
    if pos_label is None:
        return 1
    found = np.flatnonzero(equal(classes, pos_label))
    if not len(found):
        raise ValueError(f"pos_label is one of the classes {classes.tolist()}; found {pos_label!r}")
    return int(found[0])


def _of_second(
    thresholds: tuple[float, ...], response: NDArray[Any], positive: int
) -> tuple[float, ...]:
    """Return thresholds of the positive class's score as thresholds of the second class's."""
    if positive == 1:
        return thresholds
    whole = 1.0 if np.ndim(response) == 2 else 0.0
    return tuple(float(np.nextafter(whole - t, np.inf)) for t in thresholds)


def _refuse(pos_label: Any, thresholds: Any, public: Predictions, model: Any) -> None:
    K = len(public.classes)
    if pos_label is not None or len(thresholds):
        raise ValueError(f"pos_label and thresholds are for two classes; the model has {K}")
    if np.ndim(public.response) != 2 or public.response.shape[1] != K:
        raise ValueError(
            f"{type(model).__name__}.{method_of(model, _METHODS)} does not return one column for "
            f"each of its {K} classes (perhaps because of decision_function_shape='ovo')"
        )
