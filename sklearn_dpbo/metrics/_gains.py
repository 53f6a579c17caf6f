"""Gains: one number for each record, computed from that record alone (zone: sensitive).

``gain(y, response, classes)`` is larger for better predictions; -inf and NaN count as the lower
bound. `GAINS` has an entry for each gain with a name; scores hold it as a `Named`.
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
    """Entry of a gain.

    Parameters
    ----------
    function : callable or None
        ``function(y, response, classes, **params)`` returns the gain of each record. None if `make`
        returns it.
    bounds : tuple (low, high) of float, callable or None
        Lowest and highest gain; or ``bounds(y_train, gain)`` returns them. None if the search
        learns them.
    methods : tuple of str
        Methods of the estimator; the first one that it has returns the response.
    task : "classification" or "regression"
        Kind of problem.
    params : tuple of str
        Parameters in `make_private_scorer`.
    make : callable or None
        ``make(y_train, **params)`` returns the gain for these training labels, or raises
        ValueError.
    counts : bool
        Whether every gain is one of the bounds.
    constant : "median", "mean", "shares" or ""
        Constant prediction whose losses help to learn bounds; "" for gains that are not losses.
    most : float
        Largest loss that scikit-learn computes.
    one_output : bool
        Whether a record has a single label.
    """

    function: Any = None
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
    """Gain of `GAINS` with its parameters."""

    name: str
    params: dict[str, Any]

    def check(self, response: NDArray[Any]) -> None:
        """Raise ValueError if the gain needs probabilities and public responses are not."""
        if GAINS[self.name].methods == _PROBABILITIES:
            wrong = response[~are_probabilities(response)]
            if len(wrong):
                raise ValueError(
                    "predict_proba must return probabilities of all classes, from 0 to 1 with the "
                    f"sum 1; for {len(wrong)} of {len(response)} public records it returned other "
                    f"numbers, such as {wrong[0]}, so {self.name} is undefined. Use "
                    "CalibratedClassifierCV to get probabilities"
                )

    @ignore_float_errors()
    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> Any:
        gain = GAINS[self.name]
        if gain.methods == ("predict",) and y.shape != response.shape:
            raise ValueError(f"y has shape {y.shape}, the predictions have shape {response.shape}")
        return gain.function(y, response, classes, **self.params)


@dataclass(frozen=True, eq=False)
class Custom:
    """User's ``gain(y_true, response)``, which is called with one record at a time.

    Texts are passed as objects, so that no dtype tells how long other records' texts are. Each call
    uses a new copy of the function: what it stores of public records reaches neither the user's
    function nor the copies that get protected records.
    """

    function: Callable[..., Any]

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        copy: Custom = fresh(packed(self))
        return copy.of_each(y, response, classes)

    def of_each(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        """Return the gain of each record, shape (n,)."""
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
                f"the gain {name} gets one record at a time, and must return an array of one "
                f"number; found {gain.dtype} of shape {gain.shape}"
            )
        return gain.astype(float)


@dataclass(frozen=True, eq=False)
class OfCell:
    """Gain that is an entry of a public matrix: row of the true, column of the predicted class.

    It is -inf if one of them is unknown.
    """

    matrix: Any
    classes: Any

    @property
    def bounds(self) -> Bounds:
        return float(np.min(self.matrix)), float(np.max(self.matrix))

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        true, predicted = encode(y, self.classes), encode(response, self.classes)
        both_known = (true >= 0) & (predicted >= 0)
        return np.where(both_known, np.asarray(self.matrix)[true, predicted], -np.inf)


# ------------------------------------------------------------ gains of predicted labels
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
    weights = [class_weight.get(label, -1.0) for label in labels]
    all_weights = [*weights, *class_weight.values()]
    if not (all(w >= 0 and is_finite(w) for w in all_weights) and any(weights)):
        raise ValueError(
            f"class_weight must be a dict with a weight for each label of y, {labels}, none "
            f"negative and at least one positive; found {class_weight!r}"
        )
    return OfCell(np.diag(weights), classes)


def _cost(y: Any, cost_matrix: Any = None) -> OfCell:
    """-C[y, prediction], with a public matrix C of costs; classes in sorted order."""
    classes = np.unique(dense(y))
    C = as_floats(cost_matrix)
    if C is None or C.shape != (len(classes),) * 2 or np.ptp(C) == 0:
        raise ValueError(
            "cost_matrix must be a square table of finite numbers that are not all the same, with "
            f"a row per true class and a column per predicted class, for {len(classes)} classes; "
            f"found {cost_matrix!r}"
        )
    return OfCell(-C, classes)


# ------------------------------------------------------------ gains of predicted scores
def _one_column_per_class(response: NDArray[Any], classes: Any) -> NDArray[Any]:
    """Return the response as one column per class; raise ValueError for another number of them.

    Broadcasting another number would mix up records.
    """
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
    response = _one_column_per_class(response, classes)
    code = encode(y, classes)[:, None]
    of_true_class = np.take_along_axis(response, code, axis=1)
    later = np.arange(response.shape[1]) > code
    is_ahead = (response > of_true_class) | ((response == of_true_class) & later)
    in_top_k = is_ahead.sum(axis=1) < k
    gains: NDArray[Any] = (code[:, 0] >= 0) & in_top_k & ~np.isnan(response).any(axis=1)
    return gains


def _few(y: Any, k: Any = 2) -> Named:
    n = len(np.unique(dense(y)))
    check_number("k", k, f"a number of classes below {n}", lambda k: 1 <= k < n, Integral)
    return Named("top_k_accuracy", {"k": k})


def _probabilities(response: NDArray[Any], classes: Any) -> Floats:
    """Return probabilities of all classes, shape (n, n_classes); NaN where they are not."""
    response = _one_column_per_class(response, classes)
    return np.where(are_probabilities(response)[:, None], response, np.nan)


def _brier(y: Any, response: NDArray[Any], classes: Any) -> Floats:
    """-sum_c (p_c - [y = c])^2; half of it for two classes, as scikit-learn does."""
    code = encode(y, classes)
    response = _probabilities(response, classes)
    loss = ((response - (np.arange(len(classes)) == code[:, None])) ** 2).sum(axis=1)
    return np.where(code >= 0, -loss / (2 if len(classes) <= 2 else 1), -np.inf)


def _log_loss(y: Any, response: NDArray[Any], classes: Any) -> Floats:
    """ln p_y, with probabilities clipped at the rounding error, as scikit-learn does."""
    code = encode(y, classes)
    response = _probabilities(response, classes)
    p = np.take_along_axis(response, code[:, None], axis=1)[:, 0]
    return np.where(code >= 0, np.log(np.maximum(p, np.finfo(p.dtype).eps)), -np.inf)


def _of_margin(phi: Callable[..., Any]) -> Callable[..., Floats]:
    """Return the gain ``phi(margin)``: the decision value, with a minus for the first class."""

    def gain(y: Any, response: NDArray[Any], classes: Any, **params: Any) -> Floats:
        if response.ndim != 1:
            raise ValueError(
                "margins are for two classes; found several decision values per record"
            )
        code = encode(y, classes)
        margin = np.where(code == 1, response, -response)
        return np.where(code >= 0, phi(margin, **params), -np.inf)

    return gain


# ------------------------------------------------------------ losses of predicted numbers
def _minus(loss: Callable[..., Any], constant: str = "median") -> Gain:
    """Return the entry of the gain ``-loss(y, prediction)``, averaged over outputs."""

    def gain(y: Any, response: NDArray[Any], classes: Any, **params: Any) -> Floats:
        gains: Floats = -loss(y.astype(float), response, **params)
        return gains if gains.ndim == 1 else gains.mean(axis=1)

    return Gain(gain, None, task="regression", constant=constant, one_output=False)


def _pinball(y: Floats, p: Floats, alpha: float = 0.5) -> Floats:
    loss: Floats = np.maximum(alpha * (y - p), (alpha - 1) * (y - p))
    return loss


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
