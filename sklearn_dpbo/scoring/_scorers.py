"""`PrivateScorer`: the interface of all scores (zone: sensitive).

A search uses a score twice. One integer *statistic* per candidate ranks the candidates; then
integers of the chosen candidate alone, its *counts*, are released with noise, and the score is
computed from them. One unit changes either by at most a sensitivity. This bound is exact, because
sums of integers have no rounding error.

=============  ========================================  ==========================================
module         statistic                                 counts
=============  ========================================  ==========================================
`_mean_gain`   sum of gains                              the same
`_confusion`   sum of the metric's gradients             confusion matrix, or histogram of scores
`_matthews`    public table of MCC, by how many of each  confusion matrix
               class are predicted correctly
`_ranking`     pairs in the right order, and others:     histogram of scores, or pairs and number
               see `_orders`                             of positives
`_regression`  sum of squared errors, clipped, or        sums of errors, labels and their squares,
               number of small errors                    or histogram of errors
=============  ========================================  ==========================================

A unit's gain is the mean of its records' gains; in counts, its records weigh W together. The proofs
are in the documentation, "The guarantee".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from .._data.tables import dense, n_rows
from .._data.units import Units
from .._privacy.noisy_counts import NoisyCounts
from ._histogram import ScoreHistogram
from ._response import respond
from ._statistics import Predictions, Statistics

__all__ = [
    "CONFIDENCE",
    "PrivateScorer",
    "Score",
    "computing",
    "score_and_interval",
    "scorer_repr",
]

# Of all intervals that are released.
CONFIDENCE = 0.95
# A score with noise, and where it lies without.
Score: TypeAlias = tuple[float, tuple[float, float]]


class PrivateScorer(Statistics):
    """A score whose sensitivity to one privacy unit is proven.

    Create it with `make_private_scorer`. It is also an ordinary scikit-learn scorer:
    ``scorer(estimator, X, y)`` computes the score exactly, *without privacy*.

    Attributes
    ----------
    name : str
        Name of the score, or of the function that computes the gain.
    params : dict
        Of `make_private_scorer`, as given.
    response_method : tuple of str
        Methods of the estimator; the first one that it has is called.
    bounds : tuple (low, high) of float
        Lowest and highest possible score.
    task : "classification", "regression" or None
        Kind of problem that the score is for; None for both.
    custom : bool
        Whether the gain is a user's function, which might depend on other records.
    prepared : bool
        Whether it was returned by `prepare`.
    lipschitz : float or None
        For scores of a linear classifier's margin: the Lipschitz constant of a record's gain as a
        function of its margin.
    lowest_at_zero : bool
        Whether a margin of 0 has the lowest gain, which a record also has if it cannot be
        predicted.
    is_mean : bool
        Whether it is the mean of gains of single records (`record_gains`), and so a linear function
        of its only statistic.
    selects_at : bool
        Whether public predictions determine how records count in the choice; see `selecting_at`.
    releases_at : bool
        Whether public predictions determine what is released; see `releasing_at`.
    """

    name: str
    params: dict[str, Any]
    is_mean = False
    prepared = False
    bounds: tuple[float, float]

    # What users give (labels, functions, tables) need not be comparable.
    __eq__, __hash__ = object.__eq__, object.__hash__

    @property
    def definition(self) -> tuple[Any, ...]:
        """What `make_private_scorer` was given: of equal ones, scores are comparable."""
        return self.name, sorted(self.params.items())

    @property
    def task(self) -> str | None:
        return None

    @property
    def selects_at(self) -> bool:
        return False

    @property
    def releases_at(self) -> bool:
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

    def without_public(self) -> PrivateScorer:
        """Return this scorer, prepared to work without predictions of public records.

        Raises
        ------
        ValueError
            If it cannot.
        """
        if self.releases_at:
            raise ValueError(
                f"scoring={self.name!r} needs predictions of public records, and here all records "
                "are protected. Use one that does not, such as 'accuracy', 'f1', 'roc_auc', "
                "'neg_brier_score', 'r2' or 'neg_mean_absolute_error'"
            )
        return self

    def selecting_at(self, public: Predictions, linear: bool = False) -> PrivateScorer:
        """Return this scorer, prepared to tell candidates apart that are about as good as this.

        Parameters
        ----------
        public : Predictions
            Of a candidate that is good on public records.
        linear : bool, default=False
            Whether the statistic has to be a sum over units.
        """
        return self

    def releasing_at(
        self, public: Predictions, m: int, epsilon: float, shared: bool = False
    ) -> PrivateScorer:
        """Return this scorer, prepared to release the score of this candidate.

        Parameters
        ----------
        public : Predictions
            Of the candidate that was chosen.
        m : int
            Number of protected units.
        epsilon : float
            Of the release.
        shared : bool, default=False
            Whether other scores are released that could be computed from the same counts.
        """
        return self

    def releasing_from(
        self, histogram: ScoreHistogram, public: Predictions, m: int, epsilon: float
    ) -> PrivateScorer | None:
        """Return this scorer, to be computed from such counts; None if it cannot be.

        Parameters
        ----------
        histogram : ScoreHistogram
            Of two classes, with an edge where the classifier changes its mind.
        public, m, epsilon
            As for `releasing_at`, with the response that the histogram is of.
        """
        return None

    @property
    def counts(self) -> Statistics:
        """What is released of the chosen candidate; equal ones of several scores are shared."""
        return self

    def largest(self, units: Units) -> int:
        """Return the largest possible value of the statistic; the smallest is 0.

        Parameters
        ----------
        units : Units
            Protected units; only their number, and whether they are groups, is used.
        """
        raise NotImplementedError

    def line(self, units: Units) -> tuple[float, float]:
        """Return (a, b) such that the score is about a + b times the statistic.

        Public, and for guidance only. Exact if `is_mean`.

        Parameters
        ----------
        units : Units
            Protected units; only their number, and whether they are groups, is used.
        """
        raise NotImplementedError

    def value(self, counts: Sequence[int], units: Units) -> float:
        """Return the score, within `bounds`.

        Parameters
        ----------
        counts : sequence of int
            What `counts` are, or any integers in their place (such as noisy ones).
        units : Units
            Protected units; only their number, and whether they are groups, is used.
        """
        raise NotImplementedError

    def interval(self, noisy: NoisyCounts, units: Units, confidence: float) -> tuple[float, float]:
        """Return where the score of the counts without noise lies, with this probability.

        Parameters
        ----------
        noisy : NoisyCounts
            What was released.
        units : Units
            Protected units; only their number, and whether they are groups, is used.
        confidence : float
            In (0, 1).
        """
        raise NotImplementedError

    def exact(
        self, y: Any, response: NDArray[Any], classes: Any, sample_weight: Any = None
    ) -> float:
        """Return the score of predictions of public records.

        Parameters
        ----------
        y, response, classes
            As in `record_values`.
        sample_weight : array-like of shape (n,), default=None
            Not negative.
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

    def predictions(self, estimator: Any, X: Any, y: Any = None) -> Predictions:
        """Return what a fitted estimator predicts for records that need no protection.

        Parameters
        ----------
        estimator, X, y
            As in `record_gains`.
        """
        y = self._labels(X, y)
        response = respond(estimator, X, self.response_method)
        return Predictions(y, response, getattr(estimator, "classes_", None))

    def __call__(self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the score of a fitted estimator on data that need no protection."""
        labels = self._labels(X, y)
        scorer = self if self.prepared else self.prepare(labels)
        found = scorer.predictions(estimator, X, labels)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, found.response)
        with computing(scorer):
            return scorer.exact(found.y, found.response, found.classes, sample_weight)

    def _labels(self, X: Any, y: Any) -> Any:
        """Return y as an array; raise ValueError unless there are rows, and a label for each."""
        labels, n = dense(y), n_rows(X)
        if n == 0:
            raise ValueError(f"scoring={self.name!r}: X has 0 rows, and there is nothing to score")
        if labels is None and self.custom:
            return None
        if labels is None or labels.shape[:1] != (n,):
            found = "is None" if labels is None else f"has shape {labels.shape}"
            raise ValueError(
                f"scoring={self.name!r} compares predictions with y: X has {n} rows, and y {found}"
            )
        return labels


@contextmanager
def computing(scorer: PrivateScorer) -> Iterator[None]:
    """Raise ValueError if public labels or predictions are not numbers, or too large for floats."""
    try:
        yield
    except (OverflowError, TypeError) as error:
        raise ValueError(
            f"{scorer!r} cannot be computed from these labels and predictions: {error}"
        ) from error


def score_and_interval(
    scorer: PrivateScorer, units: Units, noisy: NoisyCounts, confidence: float = CONFIDENCE
) -> Score:
    """Return the score of released counts, and where it lies without noise (95 %).

    The score is in its interval, also where rounding, or mending counts that are not possible, puts
    it beside: a longer interval contains the exact score as often.
    """
    value = scorer.value(noisy.counts, units)
    low, high = scorer.interval(noisy, units, confidence)
    return value, (min(low, value), max(high, value))


def scorer_repr(name: str, params: Mapping[str, Any]) -> str:
    """Return the call of `make_private_scorer` that makes a scorer."""
    arguments = [repr(name), *(f"{key}={value!r}" for key, value in params.items())]
    return f"make_private_scorer({', '.join(arguments)})"
