"""Scores that are functions of the confusion matrix (zone: sensitive).

*Choice.* Let f be the metric, and C0 a public confusion matrix, in shares. To first order,
``f(C) = f(C0) + sum_ij (C_ij - C0_ij) G_ij`` with G the gradient of f at C0: a mean of gains. All
candidates see the same number of records of each class, so subtracting a constant from a row of G
changes no order; the lowest gain of each row is made 0. The sensitivity is then the largest
difference *within* a row.

*Score.* The confusion matrix of the chosen candidate is released with noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.tables import dense
from .._data.units import Units
from .._params import check_number
from .._privacy.noisy_counts import NoisyCounts
from . import _gains as gains
from ._confusion_metrics import AVERAGES, Metric, gradient
from ._histogram import ScoreHistogram
from ._intervals import nearest_counts, simulated_interval
from ._labels import encode, position_of
from ._mean_gain import MeanGain
from ._names import refuse_others
from ._scorers import scorer_repr
from ._statistics import CellCounts, Predictions, Statistics, total_weight

__all__ = ["CONFUSION", "ConfusionCounts", "ConfusionScorer", "MatrixGain", "confusion_scorer"]

# As many numbers as the square of this are released.
_MOST_CLASSES = 50
# Share of correct predictions of each class, where nothing public is known.
_ASSUMED_RECALL = 0.8


@dataclass(frozen=True, eq=False)
class MatrixGain(gains.Gain):
    """M[true class, predicted class], of a public matrix with entries in [0, 1].

    Parameters
    ----------
    matrix : tuple of tuple of float
        The lowest entry of each row is 0, the largest of all is 1.
    classes : ndarray of shape (n_classes,)
        Sorted.
    """

    matrix: tuple[tuple[float, ...], ...]
    classes: Any

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        true, predicted = encode(y, self.classes), encode(response, self.classes)
        known = (true >= 0) & (predicted >= 0)
        return np.where(known, np.array(self.matrix)[true, predicted], 0.0)


@dataclass(frozen=True, eq=False)
class ConfusionCounts(CellCounts):
    """Numbers of records by true class and predicted class.

    The first K numbers are those of the first class. A record that cannot be predicted, or whose
    label is not in the training set, counts as predicted wrongly, as the next class.
    """

    classes: NDArray[Any]
    response_method = ("predict",)
    what = "confusion matrix"

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        """K times the true class plus the predicted one."""
        return self._cells(encode(y, self.classes), encode(response, self.classes))

    def lowest_values(self, y: Any, n: int) -> NDArray[np.intp]:
        return self._cells(encode(y, self.classes), np.full(n, -1))

    def _cells(self, true: NDArray[np.intp], predicted: NDArray[np.intp]) -> NDArray[np.intp]:
        K = len(self.classes)
        true = np.where(true < 0, (predicted + 1) % K, true)
        return K * true + np.where(predicted < 0, (true + 1) % K, predicted)

    @property
    def n_cells(self) -> int:
        return len(self.classes) ** 2


@dataclass(frozen=True, eq=False, repr=False)
class ConfusionScorer(MeanGain):
    """A metric of the confusion matrix.

    As a mean of gains, it is the statistic of the choice: the metric's gradient, see above.

    Parameters
    ----------
    metric : Metric
        Its positive class is set by `prepare`.
    pos_label : object, default=1
        The positive class, if the metric has one.
    classes : ndarray of shape (n_classes,) or None
        Set by `prepare`.
    offset, slope : float
        The metric is about ``offset + slope (mean gain)``.
    histogram : ScoreHistogram or None
        Histogram from which the confusion matrix is computed, if it is not counted by itself.
    """

    metric: Metric = field(default_factory=lambda: Metric("accuracy"))
    pos_label: Any = 1
    classes: Any = None
    offset: float = 0.0
    slope: float = 1.0
    histogram: ScoreHistogram | None = None
    is_mean = False

    @property
    def selects_at(self) -> bool:
        """The gradient of recalls is the same everywhere, as they are means over one class."""
        return self.metric.name not in ("accuracy", "balanced_accuracy", "recall")

    @classmethod
    def of(
        cls, name: str, metric: Metric, pos_label: Any, params: dict[str, Any]
    ) -> ConfusionScorer:
        """Return the scorer of this name; what depends on the training labels is not set yet."""
        return cls(
            name,
            gains.Accuracy(),
            metric.bounds,
            ("predict",),
            params,
            metric=metric,
            pos_label=pos_label,
        )

    def prepare(self, y_train: Any) -> ConfusionScorer:
        y = dense(y_train)
        if y.ndim > 1:
            raise ValueError(
                f"scoring={self.name!r} takes one label per record; y has shape {y.shape}. Use "
                f"'accuracy' (all labels right), or '{self.name.split('_')[0]}_samples'"
            )
        classes, sizes = np.unique(y, return_counts=True)
        if not 2 <= len(classes) <= _MOST_CLASSES:
            raise ValueError(
                f"scoring={self.name!r} takes from 2 to {_MOST_CLASSES} classes; y has "
                f"{len(classes)}"
                + (". Use 'accuracy' or 'top_k_accuracy'" if len(classes) > 2 else "")
            )
        metric = self.metric
        if metric.average == "binary":
            metric = replace(metric, positive=self._position(classes))
        prepared = replace(self, metric=metric, classes=classes, prepared=True)
        # As if each class were recognised equally well, and errors were as frequent as classes.
        assumed = np.outer(sizes, (1 - _ASSUMED_RECALL) * sizes / sizes.sum())
        return prepared._linear_at(assumed + np.diag(_ASSUMED_RECALL * sizes))

    def _position(self, classes: NDArray[Any]) -> int:
        if len(classes) > 2:
            raise ValueError(
                f"scoring={self.name!r} is for two classes, and y has {len(classes)}: use "
                f"'{self.name}_macro', '{self.name}_micro' or '{self.name}_weighted'"
            )
        return position_of(self.pos_label, classes, self.name)

    def selecting_at(self, public: Predictions, linear: bool = False) -> ConfusionScorer:
        return self._linear_at(self._matrix(public))

    def _matrix(self, public: Predictions, sample_weight: Any = None) -> NDArray[np.float64]:
        """Return the confusion matrix of public predictions."""
        K = len(self.classes)
        cells = ConfusionCounts(self.classes).record_values(
            public.y, public.response, public.classes
        )
        w = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        return np.bincount(cells, weights=w, minlength=K * K).reshape(K, K).astype(float)

    def _linear_at(self, C: NDArray[np.float64]) -> ConfusionScorer:
        G = gradient(self.metric, C)
        lowest = G.min(axis=1, keepdims=True)
        slope = float((G - lowest).max())
        if slope == 0:  # no prediction changes the metric: then all candidates are as good
            return replace(self, gain=MatrixGain(_table(0 * G), self.classes), slope=1.0)
        shares = C / C.sum()
        offset = float(self.metric(C) - (shares * G).sum() + (shares * lowest).sum())
        matrix = _table((G - lowest) / slope)
        return replace(self, gain=MatrixGain(matrix, self.classes), offset=offset, slope=slope)

    @property
    def gain_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    @property
    def positive(self) -> Any:
        """The positive class, if the metric has one."""
        return self.classes[self.metric.positive] if self.metric.average == "binary" else None

    def releasing_from(
        self, histogram: ScoreHistogram, public: Predictions, m: int, epsilon: float
    ) -> ConfusionScorer | None:
        return replace(self, histogram=histogram) if histogram.cut is not None else None

    @property
    def counts(self) -> Statistics:
        return self.histogram or ConfusionCounts(self.classes)

    def line(self, units: Units) -> tuple[float, float]:
        return self.offset, self.slope / self.largest(units)

    def value(self, counts: Sequence[int], units: Units) -> float:
        C = nearest_counts(counts, total_weight(units))
        return float(self.metric(self._matrices(C)))

    def interval(self, noisy: NoisyCounts, units: Units, confidence: float) -> tuple[float, float]:
        def ends(counts: NDArray[np.float64]) -> tuple[Any, Any]:
            C = self._matrices(counts)
            return self.metric(C, "low"), self.metric(C, "high")

        total = total_weight(units)
        return simulated_interval(ends, noisy, confidence, self.bounds, total)

    def _matrices(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.histogram is not None:
            return self.histogram.confusion(counts)
        K = len(self.classes)
        return counts.reshape(*counts.shape[:-1], K, K)

    def exact(
        self, y: Any, response: NDArray[Any], classes: Any, sample_weight: Any = None
    ) -> float:
        C = self._matrix(Predictions(y, response, classes), sample_weight)
        return float(self.metric(C))

    def __repr__(self) -> str:
        return scorer_repr(self.name, self.params)


def _table(matrix: NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, matrix.tolist()))


_OF_ONE_CLASS = {
    "f1": "f",
    "fbeta": "f",
    "precision": "precision",
    "recall": "recall",
    "jaccard": "jaccard",
}
_OF_ALL = ("balanced_accuracy", "cohen_kappa", "geometric_mean", "matthews_corrcoef")
# By name: the metric, and the average over classes, None for metrics of the whole matrix.
CONFUSION: dict[str, tuple[str, str | None]] = {
    **{name: (name, None) for name in _OF_ALL},
    **{name: (metric, "binary") for name, metric in _OF_ONE_CLASS.items()},
    **{
        f"{name}_{average}": (metric, average)
        for name, metric in _OF_ONE_CLASS.items()
        for average in AVERAGES[1:]
    },
}
_PARAMS: dict[str, dict[str, tuple[Any, ...]]] = {
    "balanced_accuracy": {"adjusted": (False, True)},
    "cohen_kappa": {"weights": (None, "linear", "quadratic")},
}


def confusion_scorer(
    name: str, params: dict[str, Any], kind: type[ConfusionScorer] = ConfusionScorer
) -> ConfusionScorer:
    """Return the scorer of this name, one of `CONFUSION` or "accuracy", of this class.

    Raises
    ------
    ValueError
        If a parameter is not one of this score, or has a value that it does not take.
    """
    metric, average = CONFUSION.get(name, (name, None))
    allowed = _PARAMS.get(name, {})
    known = ("beta",) if name.startswith("fbeta") else tuple(allowed)
    refuse_others(name, params, *known, *(("pos_label",) if average == "binary" else ()))
    if name.startswith("fbeta"):
        beta: Any = params.get("beta")
        check_number("beta of 'fbeta'", beta, "a positive number", lambda b: b > 0)
        own: tuple[tuple[str, Any], ...] = (("beta", float(beta)),)
    else:
        own = tuple((key, params[key]) for key in allowed if key in params)
        for key, value in own:
            if value not in allowed[key]:
                raise ValueError(f"{key} of {name!r} is one of {allowed[key]}; found {value!r}")
    pos_label = params.get("pos_label", 1)
    return kind.of(name, Metric(metric, average, params=own), pos_label, params)
