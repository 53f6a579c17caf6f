"""`PrivateScorer`: the interface of all scores, and means of gains (zone: sensitive).

A search uses a score twice. One integer of `query` ranks the candidates; then the integers of
`counts`, of the chosen candidate alone, are released with noise, and the score is computed from
them.

* `prepare` sets what depends on the training labels,
* `with_bounds` sets where losses are clipped, by public predictions if there are any,
* `choice` lets the first query tell candidates apart that are as good as a public one, `adapt`
  those that are as good as one counted on the validation set, and `for_choice` ranks candidates as
  the score does if noise allows it,
* `release` sets the second one,
* `value` and `interval` say what released integers mean.

Each returns a new scorer, or a number. `_of_counts` has the scores that are no means of gains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from ..privacy.float_errors import ignore_float_errors
from ..privacy.noisy_counts import NoisyCounts
from ..records.tables import dense, n_rows
from ..records.units import Units
from . import _bounds
from ._gains import GAINS, Gain, Named
from ._intervals import likely, sampled_mean, simulated_interval, without_noise
from ._queries import GRID, Cells, MeanOf, Query
from ._response import Predictions, respond
from ._unknown import settled

Floats = NDArray[np.float64]
# What `prepare` or `release` will set.
UNSET: Any = None
# Of all intervals that are released.
CONFIDENCE = 0.95
# A score with noise, and where it lies without.
Score: TypeAlias = tuple[float, tuple[float, float]]
# Returns predictions of public records, by the first of these methods that the estimator has.
Public: TypeAlias = Callable[[tuple[str, ...]], Predictions] | None
# What is released anyway, so that scores may follow from it; None if it is one score alone.
Given: TypeAlias = Sequence[Query] | None

# A difference of scores that candidates are not told apart by.
_NEGLIGIBLE = 0.01
# Of an interval that is missed by a standard deviation of normal noise.
_LIKELY = 0.68


@dataclass(frozen=True, eq=False, repr=False)
class PrivateScorer:
    """A score whose sensitivity to one privacy unit is proven.

    Create it with `make_private_scorer`. It is also an ordinary scikit-learn scorer:
    ``scorer(estimator, X, y)`` computes the score exactly, *without privacy*. Losses above a public
    bound count as this bound, as `clipping` says. Bounds that a search learns from its training
    labels are in its ``scorer_``: before the search, nothing is clipped at them.

    Parameters
    ----------
    name : str
        Name of the score, or of the function that computes the gain.
    bounds : tuple (low, high) of float
        Lowest and highest possible score.
    params : dict
        Of `make_private_scorer`, as given.
    query : Query
        Its integer ranks the candidates.
    counts : Query
        What is released of the chosen candidate; equal ones of several scores are shared.
    ends : tuple (low, high) of float, default=(0.0, 1.0)
        Scores that the lowest and the highest integer of `query` stand for, about.
    shares : tuple of float, default=()
        Shares of the classes, as far as known, if `first` depends on classes.
    task : "classification", "regression" or None
        Kind of problem that the score is for; None for both.
    choice_uses_public, release_uses_public : bool
        Whether public predictions determine how records count in the choice; and what is released.
    response_method : tuple of str
        Methods of the estimator; the first one that it has is called.
    """

    name: str
    bounds: tuple[float, float]
    params: dict[str, Any]
    query: Query = UNSET
    counts: Query = UNSET
    ends: tuple[float, float] = (0.0, 1.0)
    shares: tuple[float, ...] = ()
    task: str | None = "classification"
    choice_uses_public: bool = False
    release_uses_public: bool = False
    response_method: tuple[str, ...] = ("predict",)

    @property
    def custom(self) -> bool:
        """Whether the gain is a user's function, which might depend on other records."""
        return self.task is None

    @property
    def is_mean(self) -> bool:
        """Whether this is a mean of `record_gains`, and so a linear function of one integer."""
        return False

    @property
    def score_range(self) -> float:
        """The largest difference of scores; of R2, that of perfect and of constant predictions."""
        low, high = self.bounds
        return high - low if math.isfinite(high - low) else 1.0

    @property
    def clipping(self) -> str:
        """What records beyond the bounds count as, in words; empty if there are none."""
        return ""

    # ------------------------------------------------------------ what is set when
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

    def choice(self, public: Predictions) -> PrivateScorer:
        """Return this scorer, prepared to tell candidates apart that are about as good as this.

        Parameters
        ----------
        public : Predictions
            By a candidate that is good on public records.
        """
        return self

    @property
    def is_loss(self) -> bool:
        """Whether this is minus a loss without a largest value, or a root of one."""
        return False

    @property
    def learns_bounds(self) -> bool:
        """Whether public records say where losses are clipped."""
        return False

    def with_bounds(
        self, y_train: Any, public: Sequence[Predictions], choice: float, score: float
    ) -> Self:
        """Return this prepared scorer with losses clipped where bias and noise balance.

        Parameters
        ----------
        y_train : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The training labels.
        public : sequence of Predictions
            By candidates, for the same public rows, which they were not fitted on; may be empty.
        choice, score : float
            Epsilon m of the choice and of the released score.
        """
        return self

    def for_public(self) -> PrivateScorer:
        """Return this prepared scorer for public records: it clips no loss, but huge ones."""
        return self

    def share_cut_off(self, public: Predictions) -> float:
        """Return which share of the sum of these losses clipping cuts off."""
        return 0.0

    def of_scikit_learn(self, public: Predictions) -> float:
        """Return the score without learnt bounds; NaN if scikit-learn has none."""
        try:
            with ignore_float_errors():
                found = self.without_learnt_bounds().exact(public)
        except ValueError:
            return math.nan
        return found if math.isfinite(found) else math.nan

    @property
    def first(self) -> Cells | None:
        """What is worth releasing of a good candidate before the choice, if anything is."""
        return None

    def adapt(self, noisy: NoisyCounts, units: Units) -> PrivateScorer:
        """Return this scorer, prepared by the released counts of `first`."""
        return self

    def of_shares(self, shares: Floats, m: int) -> PrivateScorer:
        """Return this scorer, prepared for m units with these released shares of the classes."""
        return self

    def faithful(self, units: Units) -> Iterator[PrivateScorer]:
        """Yield scorers that rank candidates as the score does, the most faithful first."""
        yield from ()

    def for_choice(self, units: Units, n_candidates: int, epsilon: float) -> PrivateScorer:
        """Return the scorer that ranks candidates: a faithful one whose noise is negligible.

        Of n candidates, the noise of a choice makes differences of ``2 D ln n / epsilon`` likely.
        """
        for scorer in self.faithful(units):
            n = max(2, n_candidates)  # of one alone, copies may be compared
            steps = 2 * scorer.query.sensitivity(units) * math.log(n) / epsilon
            if steps * scorer.line(units)[1] <= _NEGLIGIBLE:
                return scorer
        return self

    def release(
        self, public: Public = None, m: int = 1, epsilon: float = 1.0, given: Given = None
    ) -> Self:
        """Return this scorer, prepared to release the score of the candidate that was chosen.

        Parameters
        ----------
        public : callable or None
            Returns predictions by the candidate; None if all records are protected.
        m : int
            Number of protected units.
        epsilon : float
            Of the release.
        given : sequence of Query, or None
            What is released anyway: used if the score follows from it. None if this score is
            released alone; else others may be computed from the same counts.

        Raises
        ------
        ValueError
            If public predictions are needed, and there are none.
        """
        return self

    def line(self, units: Units) -> tuple[float, float]:
        """Return (a, b) such that the score is about a + b times the integer of the query.

        Public, and for guidance only. Exact if `is_mean`.
        """
        low, high = self.ends
        return low, (high - low) / self.query.largest(units)

    # ------------------------------------------------------------ the score
    def raw(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        """Return the score of each row of counts; see `_metrics` on `undefined`."""
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
        found = self.raw(likely(self.counts, counts, units), units)[0]
        return float(np.clip(found, *self.bounds))

    def interval(
        self, noisy: NoisyCounts, units: Units, confidence: float, sampling: float = 0.0
    ) -> tuple[float, float]:
        """Return where the score of the counts without noise lies, with this probability.

        Parameters
        ----------
        noisy : NoisyCounts
            What was released.
        units : Units
            As for `value`.
        confidence : float
            In (0, 1).
        sampling : float, default=0.0
            1 for the score of the population that these are a random sample of; 0 for the score of
            these records.
        """
        return simulated_interval(
            lambda counts, end: self.raw(counts, units, end),
            self.counts,
            noisy,
            units,
            confidence,
            self.bounds,
            sampling,
        )

    def sampled(
        self, noisy: NoisyCounts, units: Units, confidence: float, sampling: float
    ) -> tuple[float, float]:
        """Return what `interval` would be if the counts had no noise."""
        return self.interval(without_noise(noisy), units, confidence, sampling)

    def exact(self, public: Predictions, sample_weight: Any = None) -> float:
        """Return the score of predictions of public records."""
        raise NotImplementedError

    def record_gains(self, estimator: Any, X: Any, y: Any = None) -> Floats:
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
        found, query = self.predictions(estimator, X, y), cast(MeanOf, self.query)
        with _computing(self):
            return query.clipped(found.y, found.response, found.classes)

    def predictions(self, estimator: Any, X: Any, y: Any = None) -> Predictions:
        """Return what a fitted estimator predicts for records that need no protection."""
        y = self._labels(X, y)
        response = respond(estimator, X, self.response_method)
        self.query.check(response)
        return Predictions(y, response, getattr(estimator, "classes_", None))

    def __call__(self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the score of a fitted estimator on data that need no protection."""
        labels = self._labels(X, y)
        scorer = self.prepare(labels).without_learnt_bounds() if self.query is None else self
        found = scorer.predictions(estimator, X, labels)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, found.response)
        with _computing(scorer):
            return scorer.exact(found, sample_weight)

    def without_learnt_bounds(self) -> PrivateScorer:
        """Return this prepared scorer, without bounds that are not given."""
        return self

    def _labels(self, X: Any, y: Any) -> Any:
        """Return y as an array; raise ValueError unless there are rows, and a label for each."""
        labels, n = dense(y), n_rows(X)
        shape = (n,) if labels is None and self.custom else np.shape(labels)
        if n == 0 or shape[:1] != (n,):
            found = f"X has {n} rows, and y {'is None' if labels is None else f'has shape {shape}'}"
            raise ValueError(f"scoring={self.name!r} takes records with a label each: {found}")
        return labels

    def __repr__(self) -> str:
        arguments = [repr(self.name), *(f"{k}={v!r}" for k, v in self.params.items())]
        return f"make_private_scorer({', '.join(arguments)})"


@dataclass(frozen=True, eq=False, repr=False)
class MeanScore(PrivateScorer):
    """Mean over units of a gain, or minus the square root of a mean loss; clipped to `bounds`."""

    query: MeanOf = UNSET
    counts: MeanOf = UNSET
    gain: str = ""
    # The largest loss of a constant prediction, or that scikit-learn computes.
    most: float = math.inf

    @property
    def is_mean(self) -> bool:
        return self.custom or self.gain == self.name

    @property
    def clipping(self) -> str:
        a, b = self.bounds
        if self.custom:
            return f"each gain clipped to [{a:.4g}, {b:.4g}]"
        if not self.is_loss:
            return ""
        loss = self.gain.removeprefix("neg_").removeprefix("mean_").replace("_", " ")
        loss = loss.removeprefix("" if self.is_mean else "squared ").removeprefix("absolute ")
        below = f", below {-b:.4g} as {-b:.4g}" * (b < 0)
        return f"each {loss} above {-a:.4g} counted as {-a:.4g}{below}"

    @classmethod
    def of(cls, name: str, gain: str, params: dict[str, Any]) -> MeanScore:
        """Return the score that is the mean of a gain of `GAINS`, or the root of one."""
        known = GAINS[gain]
        bounds = params.get("bounds", known.bounds)
        return cls(
            name,
            bounds if isinstance(bounds, tuple) else (-math.inf, 0.0),
            params,
            task=known.task,
            gain=gain,
            response_method=known.methods,
        )

    def prepare(self, y_train: Any) -> MeanScore:
        if self.custom:
            return self
        known = GAINS[self.gain]
        if not self.is_mean or known.one_output:
            check_one_output(self.name, y_train)
        own = {key: value for key, value in self.params.items() if key != "bounds"}
        gain = known.make(y_train, **own) if known.make else Named(self.gain, own)
        bounds: Any = self.params.get("bounds", known.bounds)
        bounds = bounds(y_train, gain) if callable(bounds) else bounds
        constant = None
        if self.learns_bounds:
            constant = _bounds.of_constant(gain, known.constant, y_train)
            bounds = bounds or (-_bounds.of_labels(constant), 0.0)
        if not np.isfinite(bounds).all():
            raise ValueError(
                f"scoring={self.name!r}: the loss of predicting the same for all training records "
                "is infinite. A deviance or a log error needs labels that are not negative, and "
                "some that are positive. If labels are so large that it exceeds the range of "
                "floats, rescale them. Or give bounds"
            )
        if not self.is_mean and "bounds" not in self.params:
            bounds = (-math.sqrt(-bounds[0]), 0.0)
        found = self.with_gain(gain, bounds, 1 if known.counts else GRID)
        return found if constant is None else replace(found, most=_largest(known, constant))

    def with_gain(self, gain: Any, bounds: tuple[float, float], steps: int = GRID) -> MeanScore:
        """Return the score with this gain between these bounds."""
        a, b = bounds
        of_gain = bounds if self.is_mean else (-(a**2), -(b**2))
        query = MeanOf(gain, of_gain, self.response_method, steps)
        counts = replace(query, spread=True)
        return replace(self, bounds=bounds, query=query, counts=counts, ends=bounds)

    @property
    def is_loss(self) -> bool:
        return self.gain in GAINS and bool(GAINS[self.gain].constant)

    @property
    def learns_bounds(self) -> bool:
        return self.is_loss and "bounds" not in self.params

    @ignore_float_errors()
    def with_bounds(
        self, y_train: Any, public: Sequence[Predictions], choice: float, score: float
    ) -> MeanScore:
        if not self.learns_bounds:
            return self
        known, query = GAINS[self.gain], self.counts
        constant = self._finite(_bounds.of_constant(query.gain, known.constant, y_train))
        gains = [query.unclipped(each.y, each.response, each.classes) for each in public]
        losses = self._finite(-np.array(gains)) if gains else constant[None]
        good = losses[np.argmin(losses.mean(axis=1))]
        least = -known.bounds[0] if isinstance(known.bounds, tuple) else 0.0
        for_score = max(least, _bounds.of_score(good, constant, score))
        found = self._clipped_at(min(for_score, known.most))
        highest = max(least, _bounds.highest_of_choice(losses, constant, choice))
        highest = min(highest, known.most)
        compared = self._clipped_at(_bounds.of_choice(losses, highest, choice))
        return replace(found, query=compared.query, ends=compared.ends)

    def _finite(self, losses: Floats) -> Floats:
        return np.where(np.isfinite(losses), losses, self.most)

    def _clipped_at(self, loss: float) -> MeanScore:
        """Return this scorer with a loss that larger ones count as."""
        lowest = -loss if self.is_mean else -math.sqrt(loss)
        return self.with_gain(self.query.gain, (lowest, 0.0), self.query.steps)

    def for_public(self) -> MeanScore:
        if not self.learns_bounds:
            return self
        return self._clipped_at(min(_bounds.MOST_IN_PUBLIC * self.most, GAINS[self.gain].most))

    def share_cut_off(self, public: Predictions) -> float:
        args = public.y, public.response, public.classes
        counted, whole = self.counts.clipped(*args), self._finite(-self.counts.unclipped(*args))
        return 1 + float(counted.sum() / (whole.sum() or 1.0))

    def raw(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        a, b = self.counts.bounds
        share = np.clip(counts[:, 0] / self.counts.largest(units), 0.0, 1.0)
        found: Floats = self._score(a + (b - a) * share)
        return found

    def _score(self, mean: Any) -> Any:
        return mean if self.is_mean else -np.sqrt(-mean)

    def interval(
        self, noisy: NoisyCounts, units: Units, confidence: float, sampling: float = 0.0
    ) -> tuple[float, float]:
        """Around the nearest possible sum: the noise has some width then, at the bounds, too."""
        nearest, most = self.counts.within_range(noisy.counts, units), self.counts.largest(units)
        (ends,) = replace(noisy, counts=tuple(nearest[:1].tolist())).interval(confidence)
        shares = ends[0] / most, ends[1] / most
        if sampling:
            # Less than the second sum, by what its noise has.
            within = max(0.0, float(nearest[1:].sum()) - noisy.scale) / most
            shares = sampled_mean(nearest[0] / most, within, shares, units.m, confidence)
        counts = np.array(shares)[:, None] * most
        low, high = np.clip(self.raw(counts, units), *self.bounds).tolist()
        return low, high

    def sampled(
        self, noisy: NoisyCounts, units: Units, confidence: float, sampling: float
    ) -> tuple[float, float]:
        first, *spread = noisy.counts
        less = (math.floor(count - noisy.scale) for count in spread)
        noisy = replace(noisy, counts=(first, *less))
        return super().sampled(noisy, units, confidence, sampling)

    def exact(self, public: Predictions, sample_weight: Any = None) -> float:
        found = self.counts.clipped(public.y, public.response, public.classes)
        return float(self._score(np.average(found, weights=sample_weight)))

    def without_learnt_bounds(self) -> MeanScore:
        if not self.learns_bounds:
            return self
        return replace(self, counts=replace(self.counts, bounds=(-math.inf, 0.0)))


@contextmanager
def _computing(scorer: PrivateScorer) -> Iterator[None]:
    """Raise ValueError if public labels or predictions are no numbers, or exceed floats."""
    try:
        with ignore_float_errors():
            yield
    except (OverflowError, TypeError) as error:
        raise ValueError(f"{scorer!r} cannot be computed: {error}") from error


def check_one_output(name: str, y_train: Any) -> None:
    """Raise ValueError if there are several labels per record."""
    if dense(y_train).ndim > 1:
        raise ValueError(
            f"scoring={name!r} takes one label per record; y has shape {dense(y_train).shape}. "
            "Use 'accuracy' (all labels right), 'neg_mean_squared_error', or "
            "make_private_scorer(gain, bounds=(a, b))"
        )


def _largest(known: Gain, constant: Floats) -> float:
    """Return the largest loss that scikit-learn computes, or else that of a constant prediction."""
    found = float(np.max(constant, where=np.isfinite(constant), initial=0.0)) or 1.0
    return known.most if math.isfinite(known.most) else found


@lru_cache(maxsize=16)  # of the last evaluation, say: warned of, then shown
@ignore_float_errors()
def score_and_interval(
    scorer: PrivateScorer,
    units: Units,
    noisy: NoisyCounts,
    confidence: float = CONFIDENCE,
    sampling: float = 0.0,
) -> Score:
    """Return the score of released counts, and where it lies without noise (95 %).

    Cells of unknown labels count if they exceed the noise. A ratio without a lowest value, such as
    R2, has the whole range until its denominator exceeds the noise. Its value is then what it
    exceeds with a probability of 84 %, but at least scikit-learn's for 0 / 0. The score is in its
    interval, also where rounding, or mending counts that are not possible, puts it beside: a longer
    interval contains the exact score as often.
    """
    counts, noisy = settled(scorer.counts, noisy)
    scorer = replace(scorer, counts=counts)
    value = scorer.value(noisy.counts, units)
    low, high = scorer.interval(noisy, units, confidence, sampling)
    if low == -math.inf:
        least, _ = scorer.interval(noisy, units, _LIKELY)
        value, high = max(least, 0.0), scorer.bounds[1]
    return value, (min(low, value), max(high, value))
