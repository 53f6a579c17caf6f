"""Gains: the score of each record, computed from that record alone (zone: sensitive)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .._data.tables import dense
from .._params import as_floats, is_finite
from ._labels import encode

__all__ = ["NAMED", "Custom", "Gain", "MarginGain", "check_same_shape"]


class Gain:
    """Base class of gains; the defaults are those of a count of correct predictions.

    Attributes
    ----------
    task : "classification", "regression" or None
        Kind of problem that the gain is for; None for both.
    response_method : tuple of str
        Methods of the estimator that give its response; the first that it has is called.
    bounds : tuple (low, high) of float, or None
        Lowest and highest gain; None if users have to choose them.
    takes_bounds : bool
        Whether users may choose the bounds; otherwise they follow from the gain.
    one_output : bool
        Whether it takes one label per record only.
    counts : bool
        Whether every gain is one of the two bounds.
    """

    task: str | None = "classification"
    response_method: tuple[str, ...] = ("predict",)
    takes_bounds = False
    one_output = True
    counts = False

    @property
    def bounds(self) -> tuple[float, float] | None:
        return (0.0, 1.0)

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        """Return the gain of each record.

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, n_outputs), or None
            Labels.
        response : ndarray of shape (n,) or (n, k)
            Response of the estimator to each record.
        classes : ndarray of shape (n_classes,), list of them or None
            ``classes_`` of the fitted estimator: one array per output, None for regressors.

        Returns
        -------
        gains : ndarray of shape (n,)
            Larger for better predictions; -inf or NaN counts as the lower bound.
        """
        raise NotImplementedError

    def prepare(self, y_train: Any) -> Gain:
        """Return this gain with everything set that depends on the training labels.

        Parameters
        ----------
        y_train : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
            Public.

        Raises
        ------
        ValueError
            If the gain does not fit these labels.
        """
        return self

    def bounds_from(self, y_train: Any) -> tuple[float, float]:
        """Return bounds for labels like these; only if none need be given, and there are none.

        Parameters
        ----------
        y_train : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Public.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Custom(Gain):
    """A user's ``gain(y_true, response)``."""

    function: Callable[..., Any]
    task = None
    bounds = None
    takes_bounds = True
    one_output = False

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> Any:
        # With several outputs, classes is a list and response has no column per class.
        one_output = isinstance(classes, np.ndarray)
        binary = one_output and len(classes) == 2 and response.shape[1:] == (2,)
        return self.function(y, response[:, 1] if binary else response)


class Accuracy(Gain):
    """[y = prediction]; for several outputs, [all predictions are correct]."""

    counts = True
    one_output = False

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        check_same_shape(y, response)
        correct: NDArray[Any] = y == response
        return correct if correct.ndim == 1 else np.all(correct, axis=1)


@dataclass(frozen=True, eq=False)
class WeightedAccuracy(Gain):
    """w(y) [y = prediction], with public class weights w."""

    class_weight: Mapping[Any, float] | None = None

    def __post_init__(self) -> None:
        if self.class_weight is None:
            return
        weights = list(self.class_weight.values())
        if not (all(w >= 0 and is_finite(w) for w in weights) and any(w > 0 for w in weights)):
            raise ValueError(
                "class_weight is a dict from label to weight, none negative and at least one "
                f"positive; found {self.class_weight!r}"
            )

    def prepare(self, y_train: Any) -> WeightedAccuracy:
        """Set w(c) = 1 / (K pi_c), with K classes of prevalence pi_c in training, if not given."""
        labels, counts = np.unique(dense(y_train), return_counts=True)
        if self.class_weight is not None:
            lacking = [label for label in labels.tolist() if label not in self.class_weight]
            if lacking:
                raise ValueError(
                    f"class_weight has no weight for the labels {lacking} of y; it has "
                    f"{self.class_weight!r}"
                )
            return self
        weights = counts.sum() / (len(labels) * counts)
        return WeightedAccuracy(dict(zip(labels.tolist(), weights.tolist(), strict=True)))

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, float(max((self.class_weight or {None: 1.0}).values())))

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        check_same_shape(y, response)
        given = cast(Mapping[Any, float], self.class_weight)
        # The last weight is for labels that are not among the classes (position -1).
        weight = [given.get(c, 0.0) for c in np.asarray(classes).tolist()] + [0.0]
        gains: NDArray[Any] = np.array(weight)[encode(y, classes)] * (y == response)
        return gains


@dataclass(frozen=True)
class NegativeCost(Gain):
    """-C[y, prediction], with a public matrix C of costs; classes in sorted order."""

    cost_matrix: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        C = as_floats(self.cost_matrix)
        if C is None or C.ndim != 2 or C.shape[0] != C.shape[1] or np.ptp(C) == 0:
            raise ValueError(
                "cost_matrix is a square table of finite numbers, not all the same: a row per true "
                f"class, a column per predicted class; found {self.cost_matrix!r}"
            )
        object.__setattr__(self, "cost_matrix", tuple(map(tuple, C.tolist())))

    def prepare(self, y_train: Any) -> NegativeCost:
        """Check that there is a row for each class."""
        labels = np.unique(dense(y_train)).tolist()
        if len(labels) != len(self.cost_matrix):
            raise ValueError(
                f"cost_matrix is for {len(self.cost_matrix)} classes; y has {len(labels)}: {labels}"
            )
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        costs = [cost for row in self.cost_matrix for cost in row]
        return (-max(costs), -min(costs))

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        check_same_shape(y, response)
        true, predicted = encode(y, classes), encode(response, classes)
        cost = np.array(self.cost_matrix)[true, predicted]
        return np.where((true >= 0) & (predicted >= 0), -cost, -np.inf)


@dataclass(frozen=True)
class TopK(Gain):
    """[fewer than k classes have a higher score than y]; of equal scores, later classes first."""

    k: int = 2
    counts = True
    response_method = ("predict_proba", "decision_function")

    def prepare(self, y_train: Any) -> TopK:
        n_classes = len(np.unique(dense(y_train)))
        is_integer = isinstance(self.k, Integral) and not isinstance(self.k, bool)
        if not (is_integer and 1 <= self.k < n_classes):
            raise ValueError(
                f"'top_k_accuracy' takes k from 1 to one less than the number of classes, "
                f"{n_classes}; found k={self.k!r}: make_private_scorer('top_k_accuracy', k=...)"
            )
        return self

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        if response.ndim == 1:
            response = np.stack([-response, response], axis=1)
        response = _one_column_per_class(response, classes)
        code = encode(y, classes)
        own = np.take_along_axis(response, code[:, None], axis=1)
        later = np.arange(response.shape[1]) > code[:, None]
        ahead = (response > own) | ((response == own) & later)
        gains: NDArray[Any] = (
            (code >= 0) & (ahead.sum(axis=1) < self.k) & ~np.isnan(response).any(axis=1)
        )
        return gains


def _one_column_per_class(response: NDArray[Any], classes: Any) -> NDArray[Any]:
    """Check that there is one column per class: broadcasting others would mix up records."""
    response = response[:, None] if response.ndim == 1 else response
    if response.shape[1:] != (len(classes),):
        raise ValueError(
            f"{response.shape[1]} scores per record for {len(classes)} classes: the scoring needs "
            "one score per class"
        )
    return response


SAMPLE_RATIOS = ("f1", "jaccard", "precision", "recall")


@dataclass(frozen=True)
class SampleRatio(Gain):
    """A ratio of numbers of labels of one record, which has several of them: 0 if it is 0 / 0.

    Parameters
    ----------
    kind : {"f1", "jaccard", "precision", "recall"}
        Which: with t labels, p predicted and b that are both, 2 b / (t + p), b / (t + p - b), b / p
        or b / t.
    """

    kind: str
    one_output = False

    def prepare(self, y_train: Any) -> SampleRatio:
        y = dense(y_train)
        if y.ndim != 2 or not np.isin(y, (0, 1)).all():
            raise ValueError(
                f"'{self.kind}_samples' takes a column of zeros and ones for each label; y has "
                f"shape {y.shape}. Use '{self.kind}' or '{self.kind}_macro'"
            )
        return self

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        check_same_shape(y, response)
        t, p, b = ((a != 0).sum(axis=1) for a in (y, response, (y != 0) & (response != 0)))
        over, under = {
            "f1": (2 * b, t + p),
            "jaccard": (b, t + p - b),
            "precision": (b, p),
            "recall": (b, t),
        }[self.kind]
        return np.where(under > 0, over / np.maximum(under, 1), 0.0)


class Brier(Gain):
    """-sum_c (p_c - [y = c])^2."""

    response_method = ("predict_proba",)
    bounds = (-2.0, 0.0)

    def prepare(self, y_train: Any) -> Brier:
        """Take half of it for two classes, as scikit-learn does."""
        return BinaryBrier() if len(np.unique(dense(y_train))) <= 2 else self

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        code, response = encode(y, classes), _one_column_per_class(response, classes)
        loss = ((response - (np.arange(len(classes)) == code[:, None])) ** 2).sum(axis=1)
        return np.where(code >= 0, -loss, -np.inf)


class BinaryBrier(Brier):
    """-(p_1 - y)^2, for two classes."""

    bounds = (-1.0, 0.0)

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        return super().__call__(y, response, classes) / 2


class LogLoss(Gain):
    """ln p_y, clipped to the bounds."""

    response_method = ("predict_proba",)
    takes_bounds = True
    bounds = (math.log(0.01), 0.0)

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        code, response = encode(y, classes), _one_column_per_class(response, classes)
        p = np.take_along_axis(response, code[:, None], axis=1)[:, 0]
        with np.errstate(divide="ignore"):
            return np.where(code >= 0, np.log(p), -np.inf)


class MarginGain(Gain):
    """phi(u) of the margin u: the decision value, with its sign changed for the first class."""

    response_method = ("decision_function",)

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant of phi: ``|phi(u) - phi(u')| <= lipschitz |u - u'|``."""
        return 1.0

    def phi(self, margin: Any) -> Any:
        """Return the gain of each margin.

        Parameters
        ----------
        margin : float or ndarray of float
            Positive for correct predictions.

        Returns
        -------
        gains : float or ndarray of the same shape
            Within the bounds.
        """
        raise NotImplementedError

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        if response.ndim != 1:
            raise ValueError(
                "margins are for two classes; found several decision values per record"
            )
        code = encode(y, classes)
        return np.where(code >= 0, self.phi(np.where(code == 1, response, -response)), -np.inf)


class Ramp(MarginGain):
    """1 less the ramp loss ``min(1, max(0, 1 - u))``."""

    def phi(self, margin: Any) -> Any:
        return np.clip(margin, 0, 1)


@dataclass(frozen=True)
class NormalizedSigmoid(MarginGain):
    """``1 / (1 + exp(-slope u))``."""

    slope: float = 1.0

    def __post_init__(self) -> None:
        if not (self.slope > 0 and is_finite(self.slope)):
            raise ValueError(f"slope is positive; found {self.slope!r}")

    @property
    def lipschitz(self) -> float:
        """Largest derivative of the sigmoid."""
        return self.slope / 4

    def phi(self, margin: Any) -> Any:
        return expit(self.slope * margin)


def check_same_shape(y: NDArray[Any], response: NDArray[Any]) -> None:
    if y.shape != response.shape:
        raise ValueError(f"y has shape {y.shape}, the predictions have shape {response.shape}")


NAMED: dict[str, Callable[..., Gain]] = {
    "accuracy": Accuracy,
    **{f"{name}_samples": partial(SampleRatio, name) for name in SAMPLE_RATIOS},
    "neg_brier_score": Brier,
    "neg_cost": NegativeCost,
    "neg_log_loss": LogLoss,
    "normalized_sigmoid": NormalizedSigmoid,
    "ramp": Ramp,
    "top_k_accuracy": TopK,
    "weighted_accuracy": WeightedAccuracy,
}
