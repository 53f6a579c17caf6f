"""Scores as integers of known sensitivity (zone: sensitive).

A score on a validation set of m units is a function of one or two integer *statistics*, of which
the first orders the candidates. One unit moves a statistic by at most its sensitivity, and that
bound is exact, because integers are summed: no rounding error can exceed it.

==========  ==============================================  ================================
score       statistics                                      sensitivity
==========  ==============================================  ================================
mean gain   sum over units of g in {0, ..., G}              G
ROC AUC     sum over positive i, negative j of              2 (W^2 (m - 1) + floor(W^2 / 4))
            w_i w_j (2 [s_i > s_j] + [s_i = s_j]),
            and the sum of w_i over positive i              W
==========  ==============================================  ================================

A unit's gain is the mean of its records' gains; its records' weights add up to W. When each record
is a unit, W = 1, and the pairs have sensitivity 2 (m - 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .._data.tables import dense, n_rows
from .._data.units import Units
from . import _gains as gains

__all__ = ["MeanGain", "PrivateScorer", "RocAuc", "method_of", "respond"]

# Steps between a unit's lowest and highest gain; gains are rounded to the nearest step.
_GRID = 2**20
# What a group's records weigh together in the pairs of the ROC AUC, as far as int64 has room.
_GROUP_WEIGHT = 2**10


def respond(estimator, X, response_method: tuple[str, ...]) -> np.ndarray:
    """Return what the first of these methods that the fitted estimator has says of X.

    Raises
    ------
    AttributeError
        If it has none of them.
    ValueError
        If the response has not one row per row of X.
    """
    method = method_of(estimator, response_method)
    response = dense(getattr(estimator, method)(X))
    n = n_rows(X)
    if response.shape[:1] != (n,):
        raise ValueError(
            f"{type(estimator).__name__}.{method} gave an array of shape {response.shape} for "
            f"{n} rows; the scoring needs one row of it for each"
        )
    return response


def method_of(estimator, response_method: tuple[str, ...]) -> str:
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
    response_method : tuple of str
        Methods of the estimator; the first that it has is called.
    bounds : tuple of float
        Lowest and highest possible score.
    task : "classification", "regression" or None
        What it is for; None for both.
    custom : bool
        Whether the gain is a user's, and may not be computed record by record.
    prepared : bool
        Whether `prepare` made it.
    lipschitz : float or None
        For scores of a linear classifier's margin: how far, at most, a record's gain changes with
        its margin, per unit.
    lowest_at_zero : bool
        Whether a margin of 0 gains the least, as a record does that cannot be predicted.
    is_mean : bool
        Whether it is the mean of gains of single records (`record_gains`), and so on a line with
        its only statistic.
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

    def prepare(self, y_train) -> PrivateScorer:
        """Return this scorer with all that depends on the (public) training labels fixed."""
        return self

    def record_values(self, y, response, classes) -> np.ndarray:
        """Return one number per record, which depends on that record alone."""
        raise NotImplementedError

    def lowest_values(self, y, n: int) -> np.ndarray:
        """Return the worst such number for each record."""
        raise NotImplementedError

    def statistics(self, values: np.ndarray, y, units: Units) -> tuple[int, ...]:
        """Return the integer statistics; the first is larger for better candidates."""
        raise NotImplementedError

    def sensitivity(self, units: Units) -> tuple[int, ...]:
        """Return how far one unit can move each statistic."""
        raise NotImplementedError

    def largest(self, units: Units) -> int:
        """Return the largest possible value of the first statistic; the smallest is 0."""
        raise NotImplementedError

    def line(self, units: Units) -> tuple[float, float]:
        """Return (a, b) such that the score is a + b times the first statistic, or nearly so.

        Public, and for guidance only.
        """
        raise NotImplementedError

    def value(self, statistics: Sequence[int], units: Units) -> float:
        """Return the score, within bounds, for any integers in place of the statistics."""
        raise NotImplementedError

    def interval(self, low, high, units: Units) -> tuple[float, float]:
        """Return the range of `value` for statistics between low and high."""
        raise NotImplementedError

    def record_gains(self, estimator, X, y=None) -> np.ndarray:
        """Return the gain of each record of data that need no protection, if it is a mean."""
        raise NotImplementedError

    def __call__(self, estimator, X, y=None) -> float:
        """Return the score of a fitted estimator on data that need no protection."""
        scorer = self if self.prepared else self.prepare(y)
        values, y = scorer._values_of(estimator, X, y)
        units = Units.of(len(values))
        return scorer.value(scorer.statistics(values, y, units), units)

    def _values_of(self, estimator, X, y):
        y = dense(y)
        response = respond(estimator, X, self.response_method)
        return self.record_values(y, response, getattr(estimator, "classes_", None)), y


@dataclass(frozen=True, repr=False)
class MeanGain(PrivateScorer):
    """Mean over units of a gain in [a, b], clipped to it and rounded to a grid.

    ``rows`` are integers in {0, ..., _GRID}, or in {0, 1} for a gain that is a or b.
    """

    name: str
    gain: gains.Gain
    bounds: tuple[float, float]
    response_method: tuple[str, ...]
    params: dict = field(default_factory=dict)
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

    def prepare(self, y_train) -> MeanGain:
        if self.gain.one_output and y_train is not None and dense(y_train).ndim > 1:
            raise ValueError(
                f"scoring={self.name!r} takes one label per record; y has shape "
                f"{dense(y_train).shape}. Use 'accuracy' (all labels right), or "
                "make_private_scorer(gain, bounds=(a, b))"
            )
        gain = self.gain.prepare(y_train)
        bounds = self.bounds if gain.takes_bounds or gain.bounds is None else gain.bounds
        return replace(self, gain=gain, bounds=bounds, prepared=True)

    def record_values(self, y, response, classes) -> np.ndarray:
        """round(G (clip(gain, a, b) - a) / (b - a)); a gain that is not a number counts as a."""
        a, b = self.bounds
        with np.errstate(over="ignore"):  # far outside is outside
            gain = np.asarray(self.gain(y, response, classes), dtype=float)
        if gain.shape != (len(response),):
            raise ValueError(
                f"the gain of {self!r} must give one number per record: expected shape "
                f"({len(response)},), found {gain.shape}"
            )
        with np.errstate(over="ignore"):  # far outside is outside
            share = np.clip((np.where(np.isnan(gain), a, gain) - a) / (b - a), 0, 1)
        return np.rint(share * (1 if self.gain.counts else _GRID)).astype(np.int64)

    def record_gains(self, estimator, X, y=None) -> np.ndarray:
        """Return the gain of each record of data that need no protection, shape (n_records,)."""
        values, _ = self._values_of(estimator, X, y)
        a, b = self.bounds
        return a + (b - a) * values / (1 if self.gain.counts else _GRID)

    def lowest_values(self, y, n: int) -> np.ndarray:
        return np.zeros(n, dtype=np.int64)

    def _steps(self, units: Units) -> int:
        """G: a mean over a group takes the fine grid even where a record only counts."""
        return 1 if self.gain.counts and not units.grouped else _GRID

    def fine(self, values: np.ndarray, units: Units) -> np.ndarray:
        """Return `rows` in the steps that means over units are taken in."""
        return values * _GRID if self.gain.counts and units.grouped else values

    def statistics(self, values: np.ndarray, y, units: Units) -> tuple[int, ...]:
        return (int(units.mean(self.fine(values, units)).sum()),)

    def sensitivity(self, units: Units) -> tuple[int, ...]:
        return (self._steps(units),)

    def largest(self, units: Units) -> int:
        return self._steps(units) * units.m

    def line(self, units: Units) -> tuple[float, float]:
        a, b = self.bounds
        return a, (b - a) / self.largest(units)

    def value(self, statistics: Sequence[int], units: Units) -> float:
        a, b = self.bounds
        share = statistics[0] / (self._steps(units) * units.m)
        return a + (b - a) * min(max(share, 0.0), 1.0)

    def interval(self, low, high, units: Units) -> tuple[float, float]:
        return self.value(low, units), self.value(high, units)

    def __repr__(self) -> str:
        bounds = {"bounds": self.bounds} if self.gain.takes_bounds else {}
        params = {**bounds, **self.params}
        return _call("make_private_scorer", self.name, params)


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

    def prepare(self, y_train) -> RocAuc:
        classes = np.unique(dense(y_train))
        if len(classes) != 2 or dense(y_train).ndim > 1:
            raise ValueError(
                f"scoring='roc_auc' takes two classes; y has {len(classes)}. Use 'accuracy', "
                "'balanced_accuracy' or 'neg_log_loss'"
            )
        prevalence = float(gains.equal(dense(y_train), classes[1]).mean())
        return replace(self, positive=classes[1], prevalence=prevalence, prepared=True)

    def record_values(self, y, response, classes) -> np.ndarray:
        s = np.array(response[:, 1] if response.ndim == 2 else response, dtype=float)
        wrong = np.isnan(s) | (gains.encode(y, classes) < 0)
        s[wrong] = self.lowest_values(y, len(s))[wrong]
        return s

    def lowest_values(self, y, n: int) -> np.ndarray:
        """Whatever is not positive counts as negative, and is worst when it scores highest."""
        return np.where(gains.equal(y, self.positive), -np.inf, np.inf)

    def _weight(self, units: Units) -> int:
        """W, such that 2 (W m)^2 stays below 2^62."""
        return min(_GROUP_WEIGHT, max(1, 2**30 // units.m)) if units.grouped else 1

    def statistics(self, values: np.ndarray, y, units: Units) -> tuple[int, ...]:
        w, positive = units.spread(self._weight(units)), gains.equal(y, self.positive)
        order = np.argsort(values[~positive])
        s_negative = values[~positive][order]
        below = np.concatenate([[0], np.cumsum(w[~positive][order])])
        # 2 [s_i > s_j] + [s_i = s_j]  =  [s_i > s_j] + [s_i >= s_j]
        pairs = sum(
            below[np.searchsorted(s_negative, values[positive], side)] for side in ("left", "right")
        )
        return int((w[positive] * pairs).sum()), int(w[positive].sum())

    def sensitivity(self, units: Units) -> tuple[int, ...]:
        W = self._weight(units)
        return max(1, 2 * (W * W * (units.m - 1) + W * W // 4)), W

    def largest(self, units: Units) -> int:
        return (self._weight(units) * units.m) ** 2 // 2

    def line(self, units: Units) -> tuple[float, float]:
        """With the training set's share of positives in place of the validation set's."""
        total = self._weight(units) * units.m
        return 0.0, 1 / (2 * self.prevalence * (1 - self.prevalence) * total**2)

    def _share(self, pairs: int, positives: int, units: Units) -> float:
        """pairs / (2 P N), within [0, 1]; 1/2 where one of the classes is absent."""
        all_pairs = 2 * positives * (self._weight(units) * units.m - positives)
        return min(max(pairs / all_pairs, 0.0), 1.0) if all_pairs > 0 else 0.5

    def value(self, statistics: Sequence[int], units: Units) -> float:
        pairs, positives = statistics
        return self._share(pairs, positives, units)

    def interval(self, low, high, units: Units) -> tuple[float, float]:
        """P N is smallest at an end of the range of P, and largest nearest to P = N."""
        total = self._weight(units) * units.m
        ends = [min(max(p, 0), total) for p in (low[1], high[1])]
        middle = min(max(total // 2, ends[0]), ends[1])
        fewest = min(ends, key=lambda p: p * (total - p))
        if fewest * (total - fewest) == 0:
            return 0.0, 1.0
        return self._share(low[0], middle, units), self._share(high[0], fewest, units)

    def __repr__(self) -> str:
        return _call("make_private_scorer", self.name, {})


def _call(function: str, name: str, params: dict) -> str:
    return f"{function}({', '.join([repr(name), *(f'{k}={v!r}' for k, v in params.items())])})"
