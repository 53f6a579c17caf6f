"""`PrivateScorer`: the interface of all scores, and means of gains (zone: sensitive).

A search uses two queries of a score. The integer of `query` ranks the candidates. The integers of
`counts` are released with noise, for the chosen candidate only, and the score is computed from
them. A search calls these methods:

* `prepare` sets whatever depends on the training labels.
* `choice` takes predictions of a good candidate for public records, and adjusts `query` to compare
  candidates that are about as good.
* `with_bounds` sets the bounds at which losses are clipped, by public predictions if there are any.
* `adapt` does the same by noisy counts of a good candidate's predictions for the validation set
  (the query `first`), which are released before the choice.
* `for_choice` replaces `query` by one that ranks as the score itself does, if noise allows it.
* `release` sets `counts`, where `prepare` has not done so.
* `value` and `interval` compute the score and its interval from released integers.

No method changes the scorer: each returns a scorer (the same one if nothing changes), or numbers.
`_of_counts` has the scores that are not means of gains.
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
# Stands for a field that `prepare` or `release` sets.
UNSET: Any = None
# Confidence of all released intervals.
CONFIDENCE = 0.95
# A noisy score, and an interval for the score without noise.
Score: TypeAlias = tuple[float, tuple[float, float]]
# A function of names of methods: it returns predictions for public records, by the first method
# that the estimator has. None without public records.
Public: TypeAlias = Callable[[tuple[str, ...]], Predictions] | None
# Queries that are released anyway, from which scores can be computed; None if nothing but one score
# is released.
Given: TypeAlias = Sequence[Query] | None

# Noise of a choice is negligible if the differences of scores that it may hide are at most this.
_NEGLIGIBLE = 0.01
# Confidence of an interval of one standard deviation on either side, for normal noise.
_LIKELY = 0.68


@dataclass(frozen=True, eq=False, repr=False)
class PrivateScorer:
    """A score whose sensitivity to one privacy unit is proven.

    Create it with `make_private_scorer`. It is also an ordinary scikit-learn scorer:
    ``scorer(estimator, X, y)`` computes the score without noise, *without privacy*. Losses above a
    public bound count as this bound; `clipping` describes it. If you give no bounds, a search
    learns them, and they are in its ``scorer_``. A scorer from before the search then clips no
    losses.

    Parameters
    ----------
    name : str
        Name of the score, or of the function that computes the gain.
    bounds : tuple (low, high) of float
        Lowest and highest possible score.
    params : dict
        Parameters given to `make_private_scorer`.
    query : Query
        Query whose integer ranks the candidates.
    counts : Query
        Query that is released for the chosen candidate; scores with equal ones share a release.
    ends : tuple (low, high) of float, default=(0.0, 1.0)
        Scores for the lowest and the highest integer of `query`, between which `line` interpolates.
    shares : tuple of float, default=()
        Estimated shares of the classes, if `first` depends on classes.
    task : "classification", "regression" or None
        Kind of problem that the score is for; None for both.
    choice_uses_public : bool
        Whether public predictions change `query` (in `choice`).
    release_uses_public : bool
        Whether public predictions change `counts` (in `release`).
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
        """True if the gain is a user's function, which is for any kind of problem."""
        return self.task is None

    @property
    def is_mean(self) -> bool:
        """True for a mean of `record_gains`, which is a linear function of the first integer."""
        return False

    @property
    def score_range(self) -> float:
        """The highest minus the lowest score; 1 if there is no lowest one, as for R2."""
        low, high = self.bounds
        return high - low if math.isfinite(high - low) else 1.0

    @property
    def clipping(self) -> str:
        """The clipping of losses or gains, in words; empty if nothing is clipped."""
        return ""

    # ------------------------------------------------------------ preparation, step by step
    def prepare(self, y_train: Any) -> PrivateScorer:
        """Return this scorer with everything set that depends on the training labels.

        Parameters
        ----------
        y_train : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
            Public labels.

        Raises
        ------
        ValueError
            If the score does not fit these labels.
        """
        return self

    def choice(self, public: Predictions) -> PrivateScorer:
        """Return this scorer, prepared to compare candidates about as good as that of `public`.

        Parameters
        ----------
        public : Predictions
            Predictions of that candidate, which is good on public records.
        """
        return self

    @property
    def is_loss(self) -> bool:
        """True for minus a mean loss, or its root, if losses are clipped at a chosen bound.

        That bound is the user's, or it is learnt (`learns_bounds`).
        """
        return False

    @property
    def learns_bounds(self) -> bool:
        """True if the bounds of losses are learnt from public records."""
        return False

    def with_bounds(
        self, y_train: Any, public: Sequence[Predictions], choice: float, score: float
    ) -> Self:
        """Return this prepared scorer with losses clipped where bias and noise balance.

        The choice and the released score have bounds of their own. With m protected units, noise is
        in proportion to the bound and to 1 / (epsilon m).

        Parameters
        ----------
        y_train : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The training labels.
        public : sequence of Predictions
            Predictions of each candidate for the same public rows, which it was not fitted on; may
            be empty.
        choice : float
            Epsilon of the choice, times m.
        score : float
            Epsilon of the released score, times m.
        """
        return self

    def for_public(self) -> PrivateScorer:
        """Return this prepared scorer for scores of public records.

        Unless a user gave bounds, it clips only losses far above those of a constant prediction.
        """
        return self

    def share_cut_off(self, public: Predictions) -> float:
        """Return the share of the sum of losses that is removed by clipping; 0 without losses."""
        return 0.0

    def of_scikit_learn(self, public: Predictions) -> float:
        """Compute the score without learnt bounds; NaN where scikit-learn's is undefined."""
        try:
            with ignore_float_errors():
                score = self.without_learnt_bounds().exact(public)
        except ValueError:
            return math.nan
        return score if math.isfinite(score) else math.nan

    @property
    def first(self) -> Cells | None:
        """Query to release for a good candidate before the choice; None if `adapt` needs none."""
        return None

    def adapt(self, noisy: NoisyCounts, units: Units) -> PrivateScorer:
        """Return this scorer with `query` adjusted to the released counts of `first`."""
        return self

    def of_shares(self, shares: Floats, m: int) -> PrivateScorer:
        """Return this scorer with `query` adjusted to the released shares of classes in m units."""
        return self

    def faithful(self, units: Units) -> Iterator[PrivateScorer]:
        """Yield scorers whose `query` ranks candidates about as the score does.

        The best approximation comes first. Later ones have less noise.
        """
        yield from ()

    def for_choice(self, units: Units, n_candidates: int, epsilon: float) -> PrivateScorer:
        """Return the scorer that ranks candidates: the first faithful one with negligible noise.

        The noise of a choice among n candidates is likely to hide differences of up to
        ``2 D ln n / epsilon`` between the integers of two candidates, where D is the sensitivity of
        the query. If no scorer has negligible noise, return this one.
        """
        n = max(2, n_candidates)  # ln 1 = 0 would mean no noise
        for scorer in self.faithful(units):
            D = scorer.query.sensitivity(units)
            hidden = 2 * D * math.log(n) / epsilon
            _, score_per_step = scorer.line(units)
            if hidden * score_per_step <= _NEGLIGIBLE:
                return scorer
        return self

    def release(
        self, public: Public = None, m: int = 1, epsilon: float = 1.0, given: Given = None
    ) -> Self:
        """Return this scorer, prepared to release the score of the chosen candidate.

        Parameters
        ----------
        public : callable or None
            ``public(response_method)`` returns predictions of the candidate for public records;
            None if all records are protected.
        m : int
            Number of protected units.
        epsilon : float
            Privacy loss of the release.
        given : sequence of Query, or None
            Queries that are released anyway: if the score can be computed from one of them, that
            one is used. None if this score is released alone; empty if it is the first of
            several, which may be computed from its counts.

        Raises
        ------
        ValueError
            If public predictions are needed, and there are none.
        """
        return self

    def line(self, units: Units) -> tuple[float, float]:
        """Return (a, b): the score is about a + b times the integer of `query`.

        This is public, and used for guidance only. If `is_mean`, and if `query` and `counts` clip
        at the same bounds, it is exact up to rounding.
        """
        low, high = self.ends
        return low, (high - low) / self.query.largest(units)

    # ------------------------------------------------------------ the score
    def raw(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        """Compute the score of each row of counts, before it is clipped to `bounds`.

        Parameters
        ----------
        counts : ndarray of shape (n_rows, n_counts)
            Sums of integers (`Query.summed`): changed to possible ones, or simulated.
        units : Units
            Protected units, as for `value`.
        undefined : float or None
            Value of ratios whose denominator is not positive, for simulated counts, which may be
            negative. None for counts that are possible without noise. See `_metrics`.
        """
        raise NotImplementedError

    def value(self, counts: Sequence[int], units: Units) -> float:
        """Compute the score, within `bounds`.

        Parameters
        ----------
        counts : sequence of int
            Statistics of the query `counts`, exact or noisy.
        units : Units
            Protected units; only their number, and whether they are groups, is used.
        """
        score = self.raw(likely(self.counts, counts, units), units)[0]
        return float(np.clip(score, *self.bounds))

    def interval(
        self, noisy: NoisyCounts, units: Units, confidence: float, sampling: float = 0.0
    ) -> tuple[float, float]:
        """Return an interval for the score of the counts without noise.

        Parameters
        ----------
        noisy : NoisyCounts
            Released counts.
        units : Units
            Protected units, as for `value`.
        confidence : float
            Probability that the interval contains the score, in (0, 1).
        sampling : float, default=0.0
            0 for the score of these records, 1 for the score of the population whose random sample
            they are; of scores that are no means, a factor of the sampling error.
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
        """Return the `interval` of the sampling error alone: as if the counts had no noise."""
        return self.interval(without_noise(noisy), units, confidence, sampling)

    def exact(self, public: Predictions, sample_weight: Any = None) -> float:
        """Compute the score of predictions for public records, without noise."""
        raise NotImplementedError

    def record_gains(self, estimator: Any, X: Any, y: Any = None) -> Floats:
        """Return the gain of each record, *without privacy*; only if `is_mean`.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator.
        X : table of shape (n, n_features)
            Records that need no protection.
        y : array-like of shape (n,) or (n, n_outputs), or None
            Their labels.

        Returns
        -------
        gains : ndarray of shape (n,)
            Within the bounds of `query`: after a search, these may be others than `bounds`.
        """
        query = cast(MeanOf, self.query)
        predictions = self.predictions(estimator, X, y)
        with _computing(self):
            return query.clipped(predictions.y, predictions.response, predictions.classes)

    def predictions(self, estimator: Any, X: Any, y: Any = None) -> Predictions:
        """Return a fitted estimator's predictions for records that need no protection."""
        y = self._labels(X, y)
        response = respond(estimator, X, self.response_method)
        self.query.check(response)
        return Predictions(y, response, getattr(estimator, "classes_", None))

    def __call__(self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Compute the score of a fitted estimator on data that need no protection."""
        labels = self._labels(X, y)
        scorer = self.prepare(labels).without_learnt_bounds() if self.query is None else self
        predictions = scorer.predictions(estimator, X, labels)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, predictions.response)
        with _computing(scorer):
            return scorer.exact(predictions, sample_weight)

    def without_learnt_bounds(self) -> PrivateScorer:
        """Return this prepared scorer, with no bounds of losses but those that the user gave."""
        return self

    def _labels(self, X: Any, y: Any) -> Any:
        """Return y as an array; ValueError unless there are rows, and a label each if needed."""
        labels = dense(y)
        n = n_rows(X)
        if n == 0:
            raise ValueError(f"scoring={self.name!r} needs at least one record; X has 0 rows")
        shape = (n,) if labels is None and self.custom else np.shape(labels)
        if shape[:1] != (n,):
            of_y = "is None" if labels is None else f"has shape {shape}"
            raise ValueError(
                f"scoring={self.name!r} needs one label per record; X has {n} rows, and y {of_y}"
            )
        return labels

    def __repr__(self) -> str:
        arguments = [repr(self.name), *(f"{k}={v!r}" for k, v in self.params.items())]
        return f"make_private_scorer({', '.join(arguments)})"


@dataclass(frozen=True, eq=False, repr=False)
class MeanScore(PrivateScorer):
    """Mean over units of a gain, or minus the square root of a mean loss; clipped to `bounds`.

    `gain` is the name of the gain, or "" for a user's function. `most` is scikit-learn's own limit
    of the loss (it clips probabilities, for example) or, if there is none, the largest loss of a
    constant prediction for the training records. It replaces losses that are infinite or missing.
    """

    query: MeanOf = UNSET
    counts: MeanOf = UNSET
    gain: str = ""
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
        # Such as "each error above 50 counted as 50, below 10 as 10", for
        # neg_root_mean_squared_error with bounds=(-50, -10).
        loss = self.gain.removeprefix("neg_").removeprefix("mean_").replace("_", " ")
        loss = loss.removeprefix("" if self.is_mean else "squared ").removeprefix("absolute ")
        below = f", below {-b:.4g} as {-b:.4g}" if b < 0 else ""
        return f"each {loss} above {-a:.4g} counted as {-a:.4g}{below}"

    @classmethod
    def of(cls, name: str, gain: str, params: dict[str, Any]) -> MeanScore:
        """Return the score that is the mean of a gain of `GAINS`, or the root of one."""
        entry = GAINS[gain]
        bounds = params.get("bounds", entry.bounds)
        return cls(
            name,
            bounds if isinstance(bounds, tuple) else (-math.inf, 0.0),
            params,
            task=entry.task,
            gain=gain,
            response_method=entry.methods,
        )

    def prepare(self, y_train: Any) -> MeanScore:
        if self.custom:
            return self
        entry = GAINS[self.gain]
        if not self.is_mean or entry.one_output:
            check_one_output(self.name, y_train)
        params = {key: value for key, value in self.params.items() if key != "bounds"}
        gain = entry.make(y_train, **params) if entry.make else Named(self.gain, params)
        steps = 1 if entry.counts else GRID
        if "bounds" in self.params:
            # A user's bounds are those of the score. For a root, the squared error of a record is
            # clipped at the square of a bound.
            return self.with_gain(gain, self.params["bounds"], steps)
        gain_bounds: Any = entry.bounds
        if callable(gain_bounds):
            gain_bounds = gain_bounds(y_train, gain)
        constant_losses = None
        if self.learns_bounds:
            constant_losses = _bounds.of_constant(gain, entry.constant, y_train)
            gain_bounds = gain_bounds or (-_bounds.of_labels(constant_losses), 0.0)
        if not np.isfinite(gain_bounds).all():
            raise ValueError(
                f"scoring={self.name!r}: the loss of a constant prediction for the training "
                "records is infinite. Deviances and log errors need labels that are not negative, "
                "and some that are positive. If labels are so large that losses exceed the range "
                "of floats, rescale them, or pass bounds"
            )
        score_bounds = gain_bounds if self.is_mean else (-math.sqrt(-gain_bounds[0]), 0.0)
        scorer = self.with_gain(gain, score_bounds, steps)
        if constant_losses is None:
            return scorer
        return replace(scorer, most=_largest_loss(entry, constant_losses))

    def with_gain(
        self, gain: Any, score_bounds: tuple[float, float], steps: int = GRID
    ) -> MeanScore:
        """Return the score with this gain, and these bounds of the score."""
        a, b = score_bounds
        gain_bounds = score_bounds if self.is_mean else (-(a**2), -(b**2))
        query = MeanOf(gain, gain_bounds, self.response_method, steps)
        counts = replace(query, spread=True)
        return replace(self, bounds=score_bounds, query=query, counts=counts, ends=score_bounds)

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
        entry = GAINS[self.gain]
        query = self.counts
        constant = self._finite(_bounds.of_constant(query.gain, entry.constant, y_train))
        gains = [query.unclipped(p.y, p.response, p.classes) for p in public]
        losses = self._finite(-np.array(gains)) if gains else constant[None]
        best = losses[np.argmin(losses.mean(axis=1))]
        # No lower than the bound of the entry, and no higher than the largest loss.
        least = -entry.bounds[0] if isinstance(entry.bounds, tuple) else 0.0
        # The released score has one bound, and the choice another: a lower bound means less noise,
        # and a choice need not tell bad candidates apart.
        bound_of_score = max(least, _bounds.of_score(best, constant, score))
        scorer = self._clipped_at(min(bound_of_score, entry.most))
        highest = max(least, _bounds.highest_of_choice(losses, constant, choice))
        highest = min(highest, entry.most)
        for_choice = self._clipped_at(_bounds.of_choice(losses, highest, choice))
        return replace(scorer, query=for_choice.query, ends=for_choice.ends)

    def _finite(self, losses: Floats) -> Floats:
        """Replace infinite and missing losses by `most`."""
        return np.where(np.isfinite(losses), losses, self.most)

    def _clipped_at(self, loss: float) -> MeanScore:
        """Return this scorer with losses clipped at `loss`."""
        lowest = -loss if self.is_mean else -math.sqrt(loss)
        return self.with_gain(self.query.gain, (lowest, 0.0), self.query.steps)

    def for_public(self) -> MeanScore:
        if not self.learns_bounds:
            return self
        return self._clipped_at(min(_bounds.MOST_IN_PUBLIC * self.most, GAINS[self.gain].most))

    def share_cut_off(self, public: Predictions) -> float:
        args = public.y, public.response, public.classes
        gains = self.counts.clipped(*args)
        losses = self._finite(-self.counts.unclipped(*args))
        return 1 + float(gains.sum() / losses.sum()) if losses.any() else 0.0

    def raw(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        a, b = self.counts.bounds
        share = np.clip(counts[:, 0] / self.counts.largest(units), 0.0, 1.0)
        scores: Floats = self._score(a + (b - a) * share)
        return scores

    def _score(self, mean: Any) -> Any:
        """Compute the score from a mean gain."""
        return mean if self.is_mean else -np.sqrt(-mean)

    def interval(
        self, noisy: NoisyCounts, units: Units, confidence: float, sampling: float = 0.0
    ) -> tuple[float, float]:
        """Return an interval around the possible sum that is nearest to the noisy one.

        Noise may make a sum impossible, such as negative. An interval around such a sum may be
        impossible as a whole: clipped to `bounds`, it would have the width 0.
        """
        nearest = self.counts.within_range(noisy.counts, units)
        most = self.counts.largest(units)
        (ends,) = replace(noisy, counts=tuple(nearest[:1].tolist())).interval(confidence)
        shares = ends[0] / most, ends[1] / most
        if sampling:
            # A likely lower bound of the second sum: the noisy one less the scale of its noise.
            within = max(0.0, float(nearest[1:].sum()) - noisy.scale) / most
            shares = sampled_mean(nearest[0] / most, within, shares, units.m, confidence)
        counts = np.array(shares)[:, None] * most
        low, high = np.clip(self.raw(counts, units), *self.bounds).tolist()
        return low, high

    def sampled(
        self, noisy: NoisyCounts, units: Units, confidence: float, sampling: float
    ) -> tuple[float, float]:
        """Return the `interval` of the sampling error alone.

        The variance between units is g (1 - g) of their mean less the mean of g (1 - g), the second
        sum. So a lower bound of that sum, the noisy one less the scale of its noise, is cautious.
        """
        total, *spread = noisy.counts
        lower_bounds = (math.floor(count - noisy.scale) for count in spread)
        noisy = replace(noisy, counts=(total, *lower_bounds))
        return super().sampled(noisy, units, confidence, sampling)

    def exact(self, public: Predictions, sample_weight: Any = None) -> float:
        gains = self.counts.clipped(public.y, public.response, public.classes)
        return float(self._score(np.average(gains, weights=sample_weight)))

    def without_learnt_bounds(self) -> MeanScore:
        if not self.learns_bounds:
            return self
        return replace(self, counts=replace(self.counts, bounds=(-math.inf, 0.0)))


@contextmanager
def _computing(scorer: PrivateScorer) -> Iterator[None]:
    """Raise ValueError where the score of public labels and predictions cannot be computed.

    OverflowError and TypeError, by labels or predictions that are no floats, become ValueError.
    """
    try:
        with ignore_float_errors():
            yield
    except (OverflowError, TypeError) as error:
        raise ValueError(f"{scorer!r} cannot be computed: {error}") from error


def check_one_output(name: str, y_train: Any) -> None:
    """Raise ValueError unless labels have one dimension."""
    if dense(y_train).ndim > 1:
        raise ValueError(
            f"scoring={name!r} supports one label per record; y has shape {dense(y_train).shape}. "
            "Use 'accuracy' (all labels right), 'neg_mean_squared_error', or "
            "make_private_scorer(gain, bounds=(a, b))"
        )


def _largest_loss(entry: Gain, constant_losses: Floats) -> float:
    """Return the largest loss that scikit-learn computes; see `MeanScore.most`."""
    if math.isfinite(entry.most):
        return entry.most
    finite = np.isfinite(constant_losses)
    return float(np.max(constant_losses, where=finite, initial=0.0)) or 1.0


@lru_cache(maxsize=16)  # each is asked for twice: for warnings, then to be shown
@ignore_float_errors()
def score_and_interval(
    scorer: PrivateScorer,
    units: Units,
    noisy: NoisyCounts,
    confidence: float = CONFIDENCE,
    sampling: float = 0.0,
) -> Score:
    """Return the score of released counts, and its interval.

    Cells of unknown labels are used if their counts exceed the noise.

    A ratio such as R2 has no lowest value. Unless its denominator exceeds the noise, its interval
    is the whole range, without a lower end. The score is then the lower end of a 68 % interval (the
    exact score exceeds it with a probability of 84 %), or 0 if that is negative. scikit-learn's R2
    is 0, too, if all labels are equal and some prediction is wrong.

    The interval is extended to contain the score, which may lie beside it because of rounding, or
    because impossible counts were replaced by possible ones. A longer interval contains the exact
    score at least as often.
    """
    counts, noisy = settled(scorer.counts, noisy)
    scorer = replace(scorer, counts=counts)
    value = scorer.value(noisy.counts, units)
    low, high = scorer.interval(noisy, units, confidence, sampling)
    if low == -math.inf:
        exceeded, _ = scorer.interval(noisy, units, _LIKELY)
        value = max(exceeded, 0.0)
        high = scorer.bounds[1]
    return value, (min(low, value), max(high, value))
