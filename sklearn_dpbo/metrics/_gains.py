"""Gains: one number for each record, computed from that record alone (zone: sensitive).

``gain(y, response, classes)`` is larger for better predictions; -inf and NaN count as the lower
bound. `GAINS` says what is known of those that have a name; in a score they are `Named`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

from ..privacy.checks import as_floats, check_number, is_finite
from ..privacy.float_errors import ignore_float_errors
from ..records.pickles import fresh, packed
from ..records.tables import dense, without_length
from ._labels import encode
from ._response import are_probabilities

Floats = NDArray[np.float64]
Bounds: TypeAlias = tuple[float, float]
_PROBABILITIES, _MARGINS = ("predict_proba",), ("decision_function",)


@dataclass(frozen=True, eq=False)
class Gain:
    """What is known of a gain.

    `of(y, response, classes, **params)` returns the gain of each record. `bounds` are the lowest
    and highest gain, a function of training labels and what `make` returned, or None: learnt.
    Bounds of losses may be learnt by those of a `constant` prediction, the "median", "mean" or
    "shares" of labels; `most` is the largest loss that scikit-learn computes. `methods` of the
    estimator give its response. `make(y, **params)` returns the gain for these training labels, or
    raises ValueError. `counts`: every gain is one of the bounds. `one_output`: it takes one label
    per record only.
    """

    of: Any = None
    bounds: Bounds | Callable[[Any, Any], Bounds] | None = (0.0, 1.0)
    methods: tuple[str, ...] = ("predict",)
    task: str | None = "classification"
    params: tuple[str, ...] = ()
    make: Callable[..., Any] | None = None
    counts: bool = False
    constant: str = ""
    most: float = math.inf
    one_output: bool = True


@dataclass(frozen=True, eq=False)
class Named:
    """A gain of `GAINS` with its parameters."""

    name: str
    params: dict[str, Any]

    def check(self, response: NDArray[Any]) -> None:
        """Raise ValueError if it takes probabilities, and public responses are others."""
        if GAINS[self.name].methods == _PROBABILITIES:
            wrong = response[~are_probabilities(response)]
            if len(wrong):
                raise ValueError(
                    "predict_proba returned what is not a probability of each class, from 0 to 1 "
                    f"with the sum 1, for {len(wrong)} of {len(response)} public records, such as "
                    f"{wrong[0]}: {self.name} is not defined. CalibratedClassifierCV gives "
                    "probabilities"
                )

    @ignore_float_errors()
    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> Any:
        known = GAINS[self.name]
        if known.methods == ("predict",) and y.shape != response.shape:
            raise ValueError(f"y has shape {y.shape}, the predictions have shape {response.shape}")
        return known.of(y, response, classes, **self.params)


@dataclass(frozen=True, eq=False)
class Custom:
    """A user's ``gain(y_true, response)``, which gets one record at a time.

    No type tells it how long other texts are. A copy of it is called: what that keeps of public
    records reaches neither the user's own nor the copies that get protected ones.
    """

    function: Callable[..., Any]

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        own: Custom = fresh(packed(self))
        return own.of_each(y, response, classes)

    def of_each(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        """Return the gain of each record."""
        rows = np.arange(len(response))[:, None]
        gains = [self.of_one(None if y is None else y[i], response[i], classes) for i in rows]
        return np.concatenate([np.zeros(0), *gains])

    def of_one(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        """Return the gain of one record, shape (1,)."""
        # With several outputs, classes is a list and response has no column per class.
        one_output = isinstance(classes, np.ndarray)
        binary = one_output and len(classes) == 2 and response.shape[1:] == (2,)
        response = response[:, 1] if binary else without_length(response)
        gain = np.asarray(self.function(None if y is None else without_length(y), response))
        if gain.shape != (1,) or gain.dtype.kind not in "biufO":
            name = getattr(self.function, "__name__", type(self.function).__name__)
            raise ValueError(
                f"the gain {name} gets one record at a time, and has to return an array of one "
                f"number; found {gain.dtype} of shape {gain.shape}"
            )
        return gain.astype(float)


@dataclass(frozen=True, eq=False)
class OfCell:
    """M[true class, predicted class], of a public matrix; -inf if either is not known."""

    matrix: Any
    classes: Any

    @property
    def bounds(self) -> Bounds:
        return float(np.min(self.matrix)), float(np.max(self.matrix))

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        true, predicted = encode(y, self.classes), encode(response, self.classes)
        known = (true >= 0) & (predicted >= 0)
        return np.where(known, np.asarray(self.matrix)[true, predicted], -np.inf)


# ------------------------------------------------------------ of labels
def _correct(y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
    """[y = prediction]; for several outputs, [all predictions are correct]."""
    correct: NDArray[Any] = y == response
    return correct if correct.ndim == 1 else np.all(correct, axis=1)


def _weighted(y: Any, class_weight: Any = None) -> OfCell:
    """w(y) [y = prediction]; w(c) = 1 / (K pi_c) for K classes of prevalence pi_c, if not given."""
    classes, counts = np.unique(dense(y), return_counts=True)
    labels = classes.tolist()
    if class_weight is None:
        class_weight = dict(zip(labels, counts.sum() / (len(labels) * counts), strict=True))
    w = [class_weight.get(label, -1.0) for label in labels]
    if not (all(v >= 0 and is_finite(v) for v in [*w, *class_weight.values()]) and any(w)):
        raise ValueError(
            f"class_weight is a dict with a weight for each label of y, {labels}, none "
            f"negative and at least one positive; found {class_weight!r}"
        )
    return OfCell(np.diag(w), classes)


def _cost(y: Any, cost_matrix: Any = None) -> OfCell:
    """-C[y, prediction], with a public matrix C of costs; classes in sorted order."""
    C, classes = as_floats(cost_matrix), np.unique(dense(y))
    if C is None or C.shape != (len(classes),) * 2 or np.ptp(C) == 0:
        raise ValueError(
            "cost_matrix is a square table of finite numbers, not all the same: a row per true "
            f"class, a column per predicted class, of {len(classes)} classes; found {cost_matrix!r}"
        )
    return OfCell(-C, classes)


# ------------------------------------------------------------ of scores
def _one_column_per_class(response: NDArray[Any], classes: Any) -> NDArray[Any]:
    """Check that there is one column per class: broadcasting others would mix up records."""
    response = response[:, None] if response.ndim == 1 else response
    if response.shape[1:] != (len(classes),):
        raise ValueError(
            f"{response.shape[1]} scores per record for {len(classes)} classes: the scoring needs "
            "one score per class"
        )
    return response


def _top_k(y: Any, response: NDArray[Any], classes: Any, k: int = 2) -> NDArray[Any]:
    """[fewer than k classes have a higher score than y]; of equal scores, later classes first."""
    if response.ndim == 1:
        response = np.stack([-response, response], axis=1)
    response, code = _one_column_per_class(response, classes), encode(y, classes)[:, None]
    own = np.take_along_axis(response, code, axis=1)
    later = np.arange(response.shape[1]) > code
    ahead = ((response > own) | ((response == own) & later)).sum(axis=1)
    gains: NDArray[Any] = (code[:, 0] >= 0) & (ahead < k) & ~np.isnan(response).any(axis=1)
    return gains


def _few(y: Any, k: Any = 2) -> Named:
    n = len(np.unique(dense(y)))
    check_number("k", k, f"a number of classes below {n}", lambda k: 1 <= k < n, Integral)
    return Named("top_k_accuracy", {"k": k})


def _probabilities(response: NDArray[Any], classes: Any) -> Floats:
    """Return probabilities of all classes; NaN where a record's response is none."""
    response = _one_column_per_class(response, classes)
    return np.where(are_probabilities(response)[:, None], response, np.nan)


def _brier(y: Any, response: NDArray[Any], classes: Any) -> Floats:
    """-sum_c (p_c - [y = c])^2; half of it for two classes, as scikit-learn does."""
    code, response = encode(y, classes), _probabilities(response, classes)
    loss = ((response - (np.arange(len(classes)) == code[:, None])) ** 2).sum(axis=1)
    return np.where(code >= 0, -loss / (2 if len(classes) <= 2 else 1), -np.inf)


def _log_loss(y: Any, response: NDArray[Any], classes: Any) -> Floats:
    """ln p_y, of probabilities up to the rounding error, as scikit-learn does."""
    code, response = encode(y, classes), _probabilities(response, classes)
    p = np.take_along_axis(response, code[:, None], axis=1)[:, 0]
    return np.where(code >= 0, np.log(np.maximum(p, np.finfo(p.dtype).eps)), -np.inf)


def _of_margin(phi: Callable[..., Any]) -> Callable[..., Floats]:
    """Make a gain of the margin: the decision value, its sign changed for the first class."""

    def gain(y: Any, response: NDArray[Any], classes: Any, **params: Any) -> Floats:
        if response.ndim != 1:
            raise ValueError(
                "margins are for two classes; found several decision values per record"
            )
        code = encode(y, classes)
        margin = np.where(code == 1, response, -response)
        return np.where(code >= 0, phi(margin, **params), -np.inf)

    return gain


# ------------------------------------------------------------ of numbers
def _minus(loss: Callable[..., Any], constant: str = "median") -> Gain:
    """Return the gain that is minus a loss of ``(y, prediction)``, averaged over outputs."""

    def gain(y: Any, response: NDArray[Any], classes: Any, **params: Any) -> Floats:
        found: Floats = -loss(y.astype(float), response, **params)
        return found if found.ndim == 1 else found.mean(axis=1)

    return Gain(gain, None, task="regression", constant=constant, one_output=False)


def _pinball(y: Floats, p: Floats, alpha: float = 0.5) -> Floats:
    found: Floats = np.maximum(alpha * (y - p), (alpha - 1) * (y - p))
    return found


def _poisson(y: Floats, p: Floats) -> Floats:
    return np.where((y >= 0) & (p > 0), 2 * (xlogy(y, y / p) - y + p), np.inf)


def _gamma(y: Floats, p: Floats) -> Floats:
    return np.where((y > 0) & (p > 0), 2 * (np.log(p / y) + y / p - 1), np.inf)


_LOSSES: dict[str, Callable[..., Any]] = {
    "absolute_error": lambda y, p: np.abs(y - p),
    "absolute_percentage_error": lambda y, p: (
        np.abs(y - p) / np.maximum(np.abs(y), np.finfo(float).eps)
    ),
    "gamma_deviance": _gamma,
    "poisson_deviance": _poisson,
    "squared_error": lambda y, p: (y - p) ** 2,
    "squared_log_error": lambda y, p: (np.log1p(y) - np.log1p(p)) ** 2,
}

GAINS: dict[str, Gain] = {
    "accuracy": Gain(_correct, counts=True, one_output=False),
    "neg_brier_score": Gain(
        _brier, lambda y, p: (-1.0 if len(np.unique(dense(y))) <= 2 else -2.0, 0.0), _PROBABILITIES
    ),
    "neg_cost": Gain(bounds=lambda y, gain: gain.bounds, params=("cost_matrix",), make=_cost),
    "neg_log_loss": Gain(
        _log_loss, (math.log(0.01), 0.0), _PROBABILITIES, constant="shares", most=-math.log(2**-52)
    ),
    "neg_mean_pinball_loss": replace(_minus(_pinball), params=("alpha",)),
    "normalized_sigmoid": Gain(
        _of_margin(lambda u, slope=1.0: expit(slope * u)), methods=_MARGINS, params=("slope",)
    ),
    # 1 less the ramp loss min(1, max(0, 1 - u))
    "ramp": Gain(_of_margin(lambda u: np.clip(u, 0, 1)), methods=_MARGINS),
    "top_k_accuracy": Gain(
        _top_k,
        methods=("predict_proba", "decision_function"),
        params=("k",),
        make=_few,
        counts=True,
    ),
    "weighted_accuracy": Gain(
        bounds=lambda y, gain: gain.bounds, params=("class_weight",), make=_weighted
    ),
    **{
        f"neg_mean_{name}": _minus(loss, "mean" if name.endswith("deviance") else "median")
        for name, loss in _LOSSES.items()
    },
}
