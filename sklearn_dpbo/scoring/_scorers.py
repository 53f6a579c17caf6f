"""Scores as integers of known sensitivity (zone: sensitive).

A score on a validation set of m units is a function of one or two integer *statistics*; the first
one ranks the candidates. One unit changes a statistic by at most its sensitivity. This bound is
exact, because sums of integers have no rounding error.

==========  ==============================================  ================================
score       statistics                                      sensitivity
==========  ==============================================  ================================
mean gain   sum over units of g in {0, ..., G}              G
ROC AUC     sum over positive i, negative j of              2 (W^2 (m - 1) + floor(W^2 / 4))
            w_i w_j (2 [s_i > s_j] + [s_i = s_j]),
            and the sum of w_i over positive i              W
==========  ==============================================  ================================

A unit's gain is the mean of its records' gains; the weights of its records add up to W. When each
record is a unit, W = 1, and the sum over pairs has sensitivity 2 (m - 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.tables import dense, n_rows
from .._data.units import Units
from . import _gains as gains

__all__ = ["MeanGain", "PrivateScorer", "RocAuc", "method_of", "respond"]

# Steps between a unit's lowest and highest gain; gains are rounded to the nearest step.
_GRID = 2**20
# Largest total weight W of a group's records in the ROC AUC, if the sums fit into int64.
_GROUP_WEIGHT = 2**10


def respond(estimator: Any, X: Any, response_method: tuple[str, ...]) -> NDArray[Any]:
    """Return the response of a fitted estimator to X.

    Parameters
    ----------
    estimator : estimator
        A fitted one.
    X : table of shape (n, n_features)
        Records to predict.
    response_method : tuple of str
        Names of methods; the first that the estimator has is called.

    Returns
    -------
    response : ndarray of shape (n,) or (n, k)
        A single column becomes one-dimensional.

    Raises
    ------
    AttributeError
        If the estimator has none of the methods.
    ValueError
        If the response has not one row per row of X.
    """
    method = method_of(estimator, response_method)
    response: NDArray[Any] = dense(getattr(estimator, method)(X))
    n = n_rows(X)
    if response.shape[:1] != (n,):
        raise ValueError(
            f"{type(estimator).__name__}.{method} returned an array of shape {response.shape} for "
            f"{n} rows; the scoring needs one row of it for each"
        )
    return response


def method_of(estimator: Any, response_method: tuple[str, ...]) -> str:
    """Return the first of these methods that the estimator has; AttributeError if none."""
    method = next((name for name in response_method if hasattr(estimator, name)), None)
    if method is None:
        raise AttributeError(
            f"{type(estimator).__name__} has none of the methods {list(response_method)} that "
            "the scoring needs"
        )
    return method


class PrivateScorer:
    """A score whose sensitivity to one protected unit is proven.

    Made by `make_private_scorer`. It is also an ordinary scikit-learn scorer: called as
    ``scorer(estimator, X, y)`` it computes the score exactly, *without privacy*.

    Attributes
    ----------
    name : str
        Name of the score, or of the function that computes the gain.
    response_method : tuple of str
        Methods of the estimator; the first that it has is called.
    bounds : tuple (low, high) of float
        Lowest and highest possible score.
    task : "classification", "regression" or None
        Kind of problem that the score is for; None for both.
    custom : bool
        Whether the gain is a user's function, which may depend on other records, too.
    prepared : bool
        Whether it was returned by `prepare`.
    lipschitz : float or None
        For scores of a linear classifier's margin: the Lipschitz constant of a record's gain as a
        function of its margin.
    lowest_at_zero : bool
        Whether a margin of 0 has the lowest gain, as a record has that cannot be predicted.
    is_mean : bool
        Whether it is the mean of gains of single records (`record_gains`), and therefore a linear
        function of its only statistic.
    """

    name: str
    is_mean = False
    prepared = False
    response_method: tuple[str, ...]
    bounds: tuple[float, float]

    @property
    def task(self) -> str | None:
        return None

    @property
    def custom(self) -> bool:
        return False

    @property
    def lipschitz(self) -> float | None:
        return None

    @property
    def lowest_at_zero(self) -> bool:
        return False

    def prepare(self, y_train: Any) -> PrivateScorer:
        """Return this scorer with everything set that depends on the training labels.

        Parameters
        ----------
        y_train : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
            Public.

        Raises
        ------
        ValueError
            If the score does not fit these labels.
        """
        return self

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        """Return one value per record, which depends on that record alone.

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, n_outputs), or None
            Labels of the records.
        response : ndarray of shape (n,) or (n, k)
            Response of the estimator to each record, see `response_method`.
        classes : ndarray of shape (n_classes,), list of them or None
            ``classes_`` of the fitted estimator: one array per output, None for regressors.

        Returns
        -------
        values : ndarray of shape (n,)
            What `statistics` takes; not in units of the score.
        """
        raise NotImplementedError

    def lowest_values(self, y: Any, n: int) -> NDArray[Any]:
        """Return the worst possible value of each record.

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, n_outputs), or None
            Labels of the records.
        n : int
            Number of records.

        Returns
        -------
        values : ndarray of shape (n,)
            As returned by `record_values`.
        """
        raise NotImplementedError

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        """Return the integer statistics; the first is larger for better candidates.

        Parameters
        ----------
        values : ndarray of shape (n,)
            As returned by `record_values`.
        y : ndarray of shape (n,) or (n, n_outputs), or None
            Labels of the records.
        units : Units
            Which of the n records belong to the same unit.
        """
        raise NotImplementedError

    def sensitivity(self, units: Units) -> tuple[int, ...]:
        """Return how far one unit can change each statistic.

        Parameters
        ----------
        units : Units
            Protected units; only their number, and whether they are groups, is used.
        """
        raise NotImplementedError

    def largest(self, units: Units) -> int:
        """Return the largest possible value of the first statistic; the smallest is 0.

        Parameters
        ----------
        units : Units
            Protected units; only their number, and whether they are groups, is used.
        """
        raise NotImplementedError

    def line(self, units: Units) -> tuple[float, float]:
        """Return (a, b) such that the score is about a + b times the first statistic.

        Public, and for guidance only. Exact if `is_mean`.

        Parameters
        ----------
        units : Units
            Protected units; only their number, and whether they are groups, is used.
        """
        raise NotImplementedError

    def value(self, statistics: Sequence[int], units: Units) -> float:
        """Return the score, within `bounds`.

        Parameters
        ----------
        statistics : sequence of int
            Statistics, or any integers in their place (such as noisy statistics).
        units : Units
            Protected units; only their number, and whether they are groups, is used.
        """
        raise NotImplementedError

    def interval(
        self, low: Sequence[int], high: Sequence[int], units: Units
    ) -> tuple[float, float]:
        """Return the lowest and highest `value` for statistics between low and high.

        Parameters
        ----------
        low, high : sequence of int
            Lower and upper bound of each statistic.
        units : Units
            Protected units; only their number, and whether they are groups, is used.
        """
        raise NotImplementedError

    def record_gains(self, estimator: Any, X: Any, y: Any = None) -> NDArray[np.float64]:
        """Return the gain of each record, *without privacy*; only if `is_mean`.

        Parameters
        ----------
        estimator : estimator
            A fitted one.
        X : table of shape (n, n_features)
            Records that need no protection.
        y : array-like of shape (n,) or (n, n_outputs), or None
            Their labels.

        Returns
        -------
        gains : ndarray of shape (n,)
            Within `bounds`.
        """
        raise NotImplementedError

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Return the score of a fitted estimator on data that need no protection."""
        scorer = self if self.prepared else self.prepare(y)
        values, y = scorer._values_and_labels(estimator, X, y)
        units = Units.of(len(values))
        return scorer.value(scorer.statistics(values, y, units), units)

    def _values_and_labels(self, estimator: Any, X: Any, y: Any) -> tuple[NDArray[Any], Any]:
        y = dense(y)
        response = respond(estimator, X, self.response_method)
        return self.record_values(y, response, getattr(estimator, "classes_", None)), y


@dataclass(frozen=True, repr=False)
class MeanGain(PrivateScorer):
    """Mean over units of a gain, clipped to [a, b] and rounded to a grid.

    Values of records are integers in {0, ..., _GRID}, or in {0, 1} if every gain is a or b.
    """

    name: str
    gain: gains.Gain
    bounds: tuple[float, float]
    response_method: tuple[str, ...]
    params: dict[str, Any] = field(default_factory=dict)
    prepared: bool = False
    is_mean = True

    @property
    def task(self) -> str | None:
        return self.gain.task

    @property
    def custom(self) -> bool:
        return isinstance(self.gain, gains.Custom)

    @property
    def lipschitz(self) -> float | None:
        return getattr(self.gain, "lipschitz", None)

    @property
    def lowest_at_zero(self) -> bool:
        return isinstance(self.gain, gains.MarginGain) and self.gain.phi(0.0) == self.bounds[0]

    def prepare(self, y_train: Any) -> MeanGain:
        if self.gain.one_output and y_train is not None and dense(y_train).ndim > 1:
            raise ValueError(
                f"scoring={self.name!r} takes one label per record; y has shape "
                f"{dense(y_train).shape}. Use 'accuracy' (all labels right), or "
                "make_private_scorer(gain, bounds=(a, b))"
            )
        gain = self.gain.prepare(y_train)
        bounds = self.bounds if gain.takes_bounds or gain.bounds is None else gain.bounds
        return replace(self, gain=gain, bounds=bounds, prepared=True)

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.int64]:
        """round(G (clip(gain, a, b) - a) / (b - a)); a gain that is not a number counts as a."""
        a, b = self.bounds
        with np.errstate(over="ignore"):  # numbers that overflow are clipped
            gain = np.asarray(self.gain(y, response, classes), dtype=float)
            if gain.shape != (len(response),):
                raise ValueError(
                    f"the gain of {self!r} must return one number per record: expected shape "
                    f"({len(response)},), found {gain.shape}"
                )
            share = np.clip((np.where(np.isnan(gain), a, gain) - a) / (b - a), 0, 1)
        return np.rint(share * self._record_steps).astype(np.int64)

    def record_gains(self, estimator: Any, X: Any, y: Any = None) -> NDArray[np.float64]:
        values, _ = self._values_and_labels(estimator, X, y)
        a, b = self.bounds
        found: NDArray[np.float64] = a + (b - a) * values / self._record_steps
        return found

    def lowest_values(self, y: Any, n: int) -> NDArray[np.int64]:
        return np.zeros(n, dtype=np.int64)

    @property
    def _record_steps(self) -> int:
        """Largest value of a record."""
        return 1 if self.gain.counts else _GRID

    def _unit_steps(self, units: Units) -> int:
        """Return G: means over groups need the fine grid even if records only count."""
        return _GRID if units.grouped else self._record_steps

    def fine(self, values: NDArray[np.int64], units: Units) -> NDArray[np.int64]:
        """Return the values of records in the steps of means over units.

        Parameters
        ----------
        values : ndarray of shape (n,)
            As returned by `record_values`.
        units : Units
            Which of the n records belong to the same unit.
        """
        return values * (self._unit_steps(units) // self._record_steps)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        return (int(units.mean(self.fine(values, units)).sum()),)

    def sensitivity(self, units: Units) -> tuple[int, ...]:
        return (self._unit_steps(units),)

    def largest(self, units: Units) -> int:
        return self._unit_steps(units) * units.m

    def line(self, units: Units) -> tuple[float, float]:
        a, b = self.bounds
        return a, (b - a) / self.largest(units)

    def value(self, statistics: Sequence[int], units: Units) -> float:
        a, b = self.bounds
        share = statistics[0] / self.largest(units)
        return a + (b - a) * min(max(share, 0.0), 1.0)

    def interval(
        self, low: Sequence[int], high: Sequence[int], units: Units
    ) -> tuple[float, float]:
        return self.value(low, units), self.value(high, units)

    def __repr__(self) -> str:
        bounds = {"bounds": self.bounds} if self.gain.takes_bounds else {}
        params = {**bounds, **self.params}
        return _repr(self.name, params)


@dataclass(frozen=True, repr=False)
class RocAuc(PrivateScorer):
    """Area under the ROC curve, from pairs of a positive and a negative record."""

    positive: object = None
    prevalence: float = 0.5
    prepared: bool = False
    name = "roc_auc"
    task = "classification"
    response_method = ("decision_function", "predict_proba")
    bounds = (0.0, 1.0)

    def prepare(self, y_train: Any) -> RocAuc:
        y = dense(y_train)
        classes = np.unique(y)
        if len(classes) != 2 or y.ndim > 1:
            raise ValueError(
                f"scoring='roc_auc' takes two classes; y has {len(classes)}. Use 'accuracy', "
                "'balanced_accuracy' or 'neg_log_loss'"
            )
        prevalence = float(gains.equal(y, classes[1]).mean())
        return replace(self, positive=classes[1], prevalence=prevalence, prepared=True)

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.float64]:
        s = np.array(response[:, 1] if response.ndim == 2 else response, dtype=float)
        invalid = np.isnan(s) | (gains.encode(y, classes) < 0)
        s[invalid] = self.lowest_values(y, len(s))[invalid]
        return s

    def lowest_values(self, y: Any, n: int) -> NDArray[np.float64]:
        """-inf for positive records; others are negative, and worst with the highest score."""
        return np.where(gains.equal(y, self.positive), -np.inf, np.inf)

    def _unit_weight(self, units: Units) -> int:
        """Return W, such that 2 (W m)^2 stays below 2^62."""
        return min(_GROUP_WEIGHT, max(1, 2**30 // units.m)) if units.grouped else 1

    def _total_weight(self, units: Units) -> int:
        return self._unit_weight(units) * units.m

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        w = units.record_weights(self._unit_weight(units))
        positive = gains.equal(y, self.positive)
        order = np.argsort(values[~positive])
        s_negative = values[~positive][order]
        below = np.concatenate([[0], np.cumsum(w[~positive][order])])
        # 2 [s_i > s_j] + [s_i = s_j]  =  [s_i > s_j] + [s_i >= s_j]
        s_positive = values[positive]
        n_less = np.searchsorted(s_negative, s_positive, "left")
        n_not_greater = np.searchsorted(s_negative, s_positive, "right")
        pairs = below[n_less] + below[n_not_greater]
        return int((w[positive] * pairs).sum()), int(w[positive].sum())

    def sensitivity(self, units: Units) -> tuple[int, ...]:
        W = self._unit_weight(units)
        return max(1, 2 * (W * W * (units.m - 1) + W * W // 4)), W

    def largest(self, units: Units) -> int:
        return self._total_weight(units) ** 2 // 2

    def line(self, units: Units) -> tuple[float, float]:
        """The validation set's share of positives is taken to be the training set's."""
        total = self._total_weight(units)
        return 0.0, 1 / (2 * self.prevalence * (1 - self.prevalence) * total**2)

    def _area(self, pairs: int, positives: int, units: Units) -> float:
        """pairs / (2 P N), within [0, 1]; 1/2 where one of the classes is absent."""
        all_pairs = 2 * positives * (self._total_weight(units) - positives)
        return min(max(pairs / all_pairs, 0.0), 1.0) if all_pairs > 0 else 0.5

    def value(self, statistics: Sequence[int], units: Units) -> float:
        pairs, positives = statistics
        return self._area(pairs, positives, units)

    def interval(
        self, low: Sequence[int], high: Sequence[int], units: Units
    ) -> tuple[float, float]:
        """P N is smallest at an end of the range of P, and largest nearest to P = N."""
        total = self._total_weight(units)
        ends = [min(max(p, 0), total) for p in (low[1], high[1])]
        middle = min(max(total // 2, ends[0]), ends[1])
        fewest = min(ends, key=lambda p: p * (total - p))
        if fewest * (total - fewest) == 0:
            return 0.0, 1.0
        return self._area(low[0], middle, units), self._area(high[0], fewest, units)

    def __repr__(self) -> str:
        return _repr(self.name, {})


def _repr(name: str, params: Mapping[str, Any]) -> str:
    arguments = [repr(name), *(f"{key}={value!r}" for key, value in params.items())]
    return f"make_private_scorer({', '.join(arguments)})"
