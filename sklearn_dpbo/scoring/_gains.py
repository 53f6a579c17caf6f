"""What each prediction is worth: gains computed record by record (zone: sensitive).

A gain is called as ``gain(y, response, classes)`` with the labels, shape (n,) or (n, n_outputs);
the estimator's response, shape (n,) or (n, k); and the fitted estimator's ``classes_`` (None for
regressors). It returns a float array of shape (n,), larger for better.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy.special import expit

from .._data.tables import dense
from .._params import is_finite

__all__ = ["NAMED", "Custom", "encode"]


def encode(y, classes) -> np.ndarray:
    """Return the position of each label in the sorted classes; -1 for labels not among them."""
    if "O" in (np.asarray(y).dtype.kind, np.asarray(classes).dtype.kind):
        return _encode_objects(y, classes)
    index = np.searchsorted(classes, y)
    index[index == len(classes)] = 0
    return np.where(classes[index] == y, index, -1)


def _encode_objects(y, classes) -> np.ndarray:
    """Look labels up one by one: where they have no order, sorted search mixes records up."""
    place = {label: i for i, label in enumerate(np.asarray(classes).tolist())}

    def one(label) -> int:
        try:
            return place.get(label, -1)
        except Exception:  # of a label that cannot be hashed or compared
            return -1

    return np.array([one(label) for label in np.asarray(y).tolist()], dtype=int)


class Gain:
    """What a gain declares; the defaults are those of a count of right answers.

    Attributes
    ----------
    task : "classification", "regression" or None
        What it is for; None for both.
    counts : bool
        Whether every gain is one of the two bounds.
    takes_bounds : bool
        Whether users choose the bounds; else they follow from the gain.
    one_output : bool
        Whether it takes one label per record.
    """

    task: str | None = "classification"
    response_method: tuple[str, ...] = ("predict",)
    takes_bounds = False
    one_output = True
    counts = False

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Lowest and highest gain; None if users have to choose them."""
        return (0.0, 1.0)

    def __call__(self, y, response, classes) -> np.ndarray:
        """Return the gain of each record, shape (n,)."""
        raise NotImplementedError

    def prepare(self, y_train) -> Gain:
        """Return this gain with all that depends on the (public) training labels fixed."""
        return self


def equal(y, label) -> np.ndarray:
    """Return [y_i = label]; a comparison that fails (of a missing value, say) is a no."""

    def one(value) -> bool:
        try:
            return bool(value == label)
        except Exception:
            return False

    try:
        return (y == label).astype(bool)
    except Exception:
        return np.array([one(value) for value in y])


@dataclass(frozen=True)
class Custom(Gain):
    """A user's ``gain(y_true, response)``."""

    function: Callable
    task = None
    bounds = None
    takes_bounds = True
    one_output = False

    def __call__(self, y, response, classes):
        # Several outputs have a list of classes, and no binary probabilities.
        one_output = isinstance(classes, np.ndarray)
        binary = one_output and len(classes) == 2 and response.shape[1:] == (2,)
        return self.function(y, response[:, 1] if binary else response)


class Accuracy(Gain):
    """[y = prediction]; for several outputs, [all of them are right]."""

    counts = True
    one_output = False

    def __call__(self, y, response, classes):
        _same_shape(y, response)
        hit = y == response
        return hit if hit.ndim == 1 else hit.all(axis=1)


@dataclass(frozen=True)
class WeightedAccuracy(Gain):
    """w(y) [y = prediction], with public class weights w."""

    class_weight: dict | None = None

    def __post_init__(self):
        weights = [] if self.class_weight is None else list(self.class_weight.values())
        if self.class_weight is not None and not (
            all(w >= 0 and is_finite(w) for w in weights) and any(w > 0 for w in weights)
        ):
            raise ValueError(
                "class_weight is a dict from label to weight, none negative and one positive at "
                f"least; found {self.class_weight!r}"
            )

    def prepare(self, y_train):
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

    def __call__(self, y, response, classes):
        _same_shape(y, response)
        # The last entry is for labels that the estimator does not know, and never predicts.
        assert self.class_weight is not None, "`prepare` sets it"
        weight = [self.class_weight.get(c, 0.0) for c in np.asarray(classes).tolist()] + [0.0]
        return np.array(weight)[encode(y, classes)] * (y == response)


@dataclass(frozen=True)
class NegativeCost(Gain):
    """-C[y, prediction], with a public matrix C of costs; classes in sorted order."""

    cost_matrix: tuple[tuple[float, ...], ...]

    def __post_init__(self):
        try:
            C = np.array(self.cost_matrix, dtype=float)
        except (TypeError, ValueError, OverflowError):
            C = np.empty(0)
        if C.ndim != 2 or len(set(C.shape)) > 1 or not np.isfinite(C).all() or np.ptp(C) == 0:
            raise ValueError(
                "cost_matrix is a square table of finite numbers, not all the same: a row per true "
                f"class, a column per predicted class; found {self.cost_matrix!r}"
            )
        object.__setattr__(self, "cost_matrix", tuple(map(tuple, C.tolist())))

    def prepare(self, y_train):
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

    def __call__(self, y, response, classes):
        _same_shape(y, response)
        true, predicted = encode(y, classes), encode(response, classes)
        cost = np.array(self.cost_matrix)[true, predicted]
        return np.where((true >= 0) & (predicted >= 0), -cost, -np.inf)


@dataclass(frozen=True)
class TopK(Gain):
    """[fewer than k classes score higher], later classes first among equals."""

    k: int = 2
    counts = True
    response_method = ("predict_proba", "decision_function")

    def prepare(self, y_train):
        n_classes = len(np.unique(dense(y_train)))
        whole = isinstance(self.k, Integral) and not isinstance(self.k, bool)
        if not (whole and 1 <= self.k < n_classes):
            raise ValueError(
                f"'top_k_accuracy' takes k from 1 to one less than the number of classes, "
                f"{n_classes}; found k={self.k!r}: make_private_scorer('top_k_accuracy', k=...)"
            )
        return self

    def __call__(self, y, response, classes):
        if response.ndim == 1:
            response = np.stack([-response, response], axis=1)
        response = _by_class(response, classes)
        code = encode(y, classes)
        own = np.take_along_axis(response, code[:, None], axis=1)
        later = np.arange(response.shape[1]) > code[:, None]
        ahead = (response > own) | ((response == own) & later)
        return (code >= 0) & (ahead.sum(axis=1) < self.k) & ~np.isnan(response).any(axis=1)


def _by_class(response, classes) -> np.ndarray:
    """Return one column per class: a row that is none would be spread over other records."""
    response = response[:, None] if response.ndim == 1 else response
    if response.shape[1:] != (len(classes),):
        raise ValueError(
            f"{response.shape[1]} scores per record for {len(classes)} classes: the scoring needs "
            "one score per class"
        )
    return response


class Brier(Gain):
    """-sum_c (p_c - [y = c])^2."""

    response_method = ("predict_proba",)
    bounds = (-2.0, 0.0)

    def prepare(self, y_train):
        """Take half of it for two classes, as scikit-learn does."""
        return BinaryBrier() if len(np.unique(dense(y_train))) <= 2 else self

    def __call__(self, y, response, classes):
        code, response = encode(y, classes), _by_class(response, classes)
        loss = ((response - (np.arange(len(classes)) == code[:, None])) ** 2).sum(axis=1)
        return np.where(code >= 0, -loss, -np.inf)


class BinaryBrier(Brier):
    """-(p_1 - y)^2, for two classes."""

    bounds = (-1.0, 0.0)

    def __call__(self, y, response, classes):
        return super().__call__(y, response, classes) / 2


class LogLoss(Gain):
    """ln p_y, clipped to the bounds."""

    response_method = ("predict_proba",)
    takes_bounds = True
    bounds = (math.log(0.01), 0.0)

    def __call__(self, y, response, classes):
        code, response = encode(y, classes), _by_class(response, classes)
        p = np.take_along_axis(response, code[:, None], axis=1)[:, 0]
        with np.errstate(divide="ignore"):
            return np.where(code >= 0, np.log(p), -np.inf)


class MarginGain(Gain):
    """phi(u) of the margin u: the decision value, negative for records of the first class.

    Attributes
    ----------
    lipschitz : float
        ``|phi(u) - phi(u')| <= lipschitz |u - u'|``.
    """

    response_method = ("decision_function",)

    @property
    def lipschitz(self) -> float:
        return 1.0

    def phi(self, margin):
        """Return the gain of a margin, elementwise."""
        raise NotImplementedError

    def __call__(self, y, response, classes):
        if response.ndim != 1:
            raise ValueError("margins are for two classes; found several decision values a record")
        code = encode(y, classes)
        return np.where(code >= 0, self.phi(np.where(code == 1, response, -response)), -np.inf)


class Ramp(MarginGain):
    """1 less the ramp loss ``min(1, max(0, 1 - u))``."""

    def phi(self, margin):
        """Return the gain of a margin, elementwise."""
        return np.clip(margin, 0, 1)


@dataclass(frozen=True)
class NormalizedSigmoid(MarginGain):
    """``1 / (1 + exp(-slope u))``."""

    slope: float = 1.0

    def __post_init__(self):
        if not (self.slope > 0 and is_finite(self.slope)):
            raise ValueError(f"slope is positive; found {self.slope!r}")

    @property
    def lipschitz(self) -> float:
        return self.slope / 4

    def phi(self, margin):
        """Return the gain of a margin, elementwise."""
        return expit(self.slope * margin)


class AbsoluteLoss(Gain):
    """-|y - prediction|, averaged over outputs."""

    task = "regression"
    takes_bounds = True
    one_output = False
    bounds = None

    def loss(self, error):
        """Return the loss of an error, elementwise."""
        return np.abs(error)

    def __call__(self, y, response, classes):
        _same_shape(y, response)
        loss = self.loss(y.astype(float) - response)
        return -loss if loss.ndim == 1 else -loss.mean(axis=1)


class SquaredLoss(AbsoluteLoss):
    """-(y - prediction)^2, averaged over outputs."""

    def loss(self, error):
        """Return the loss of an error, elementwise."""
        return error**2


@dataclass(frozen=True)
class PinballLoss(AbsoluteLoss):
    """-max(alpha e, (alpha - 1) e) with e = y - prediction, averaged over outputs."""

    alpha: float = 0.5

    def __post_init__(self):
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha is a quantile, from 0 to 1; found {self.alpha!r}")

    def loss(self, error):
        """Return the loss of an error, elementwise."""
        return np.maximum(self.alpha * error, (self.alpha - 1) * error)


def _same_shape(y, response) -> None:
    if y.shape != response.shape:
        raise ValueError(f"y has shape {y.shape}, the predictions have shape {response.shape}")


NAMED = {
    "accuracy": Accuracy,
    "balanced_accuracy": WeightedAccuracy,
    "neg_brier_score": Brier,
    "neg_cost": NegativeCost,
    "neg_log_loss": LogLoss,
    "neg_mean_absolute_error": AbsoluteLoss,
    "neg_mean_pinball_loss": PinballLoss,
    "neg_mean_squared_error": SquaredLoss,
    "normalized_sigmoid": NormalizedSigmoid,
    "ramp": Ramp,
    "top_k_accuracy": TopK,
}
