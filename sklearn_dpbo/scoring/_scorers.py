"""`PrivateScorer`: the interface of all scores (zone: sensitive).

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.tables import dense
from .._data.units import Units
from ._response import respond

__all__ = ["PrivateScorer", "scorer_repr"]


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

    def unclipped(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.float64]:
        """Return the gain of each public record, outside of `bounds`, too; only if `custom`.

        Parameters
        ----------
        y, response, classes
            As in `record_values`.
        """
        raise NotImplementedError

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        """Return the share of these public records whose gains lie outside of `bounds`.

        Parameters
        ----------
        y, response, classes
            As in `record_values`.
        """
        return 0.0

    def weighted(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
        """Return the score with a weight for each record, *without privacy*.

        Parameters
        ----------
        estimator, X, y
            As in `record_gains`.
        sample_weight : array-like of shape (n,)
            Not negative.
        """
        raise NotImplementedError

    def __call__(self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the score of a fitted estimator on data that need no protection."""
        scorer = self if self.prepared else self.prepare(y)
        if sample_weight is not None:
            return scorer.weighted(estimator, X, y, sample_weight)
        values, y = scorer._values_and_labels(estimator, X, y)
        units = Units.of(len(values))
        return scorer.value(scorer.statistics(values, y, units), units)

    def _values_and_labels(self, estimator: Any, X: Any, y: Any) -> tuple[NDArray[Any], Any]:
        y = dense(y)
        response = respond(estimator, X, self.response_method)
        return self.record_values(y, response, getattr(estimator, "classes_", None)), y


def scorer_repr(name: str, params: Mapping[str, Any]) -> str:
    """Return the call of `make_private_scorer` that makes a scorer."""
    arguments = [repr(name), *(f"{key}={value!r}" for key, value in params.items())]
    return f"make_private_scorer({', '.join(arguments)})"
