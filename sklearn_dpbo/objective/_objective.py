"""`PrivateObjective`: one validation score with noise for each setting asked for (zone: released).

The setting is fitted and counted by the evaluator that searches use, and the count is released by
the mechanisms. Nothing here sees it without noise.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce
from typing import Any, NamedTuple, NoReturn

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import check_random_state

from .._data.units import Units
from .._evaluation.evaluator import Evaluator
from .._evaluation.fitting import FitOptions, set_candidate
from .._evaluation.protected_values import check_prediction
from .._privacy.accounting import Budget, Purpose
from .._privacy.mechanisms import Mechanisms
from .._privacy.noise import noise_source
from .._privacy.noisy_counts import NoisyCounts, noise_std
from .._privacy.sensitive import Sensitive
from .._sklearn.search_parameters import prepared
from ..evaluation._privacy import validation_report
from ..exceptions import BudgetExceededError, LowUtilityWarning
from ..ledger._budget import budget_on
from ..ledger._ledger import PrivacyLedger
from ..report._report import PrivacyReport
from ..scoring._make import resolve_scorer
from ..scoring._scorers import CONFIDENCE
from ..strategies._release import count_scores, public_model
from ._inputs import check_parameters, identity, problem_of
from ._optimizers import on_trials, on_vectors, plain
from ._sharing import Sharing

__all__ = ["Best", "Call", "PrivateObjective"]

_RELEASED = "the scores that calls return, for at most {} settings, and what `best` returns"
_NOT_PROTECTED = (
    "the training set, on which each setting was fitted; the schema of the validation set (number "
    "of units, columns, dtypes); which settings were asked for, and how long each call took (see "
    "`call_seconds`); and whatever else is computed from the validation records, including another "
    "objective"
)
# Share of the score's range beyond which noise is warned of.
_TOO_MUCH_NOISE = 0.05


class Call(NamedTuple):
    """A setting that was asked for, and what was returned for it.

    Parameters
    ----------
    params : dict
        The setting.
    score : float
        Its validation score with noise; NaN if it could not be fitted.
    """

    params: dict[str, Any]
    score: float


class Best(NamedTuple):
    """What `PrivateObjective.best` chose.

    Parameters
    ----------
    params : dict
        The setting chosen.
    score : float
        Its validation score with noise.
    interval : tuple of float
        Where its validation score without noise lies, with probability 95 %.
    """

    params: dict[str, Any]
    score: float
    interval: tuple[float, float]


class PrivateObjective:
    """The validation score of a setting, with noise, for an optimiser of your own.

    Called with a setting, the objective fits it on the training set, which is not protected, scores
    it on the validation set, which is, and returns the score with noise. All calls together, and
    `best`, are (epsilon, delta)-differentially private with respect to one record (or group of
    records) of the validation set, whatever the optimiser does with the scores: each setting may
    depend on all scores before.

    Parameters
    ----------
    estimator : estimator object
        As `PrivateBayesSearchCV` takes it.
    X_train : array-like of shape (n_samples, n_features)
        The training set: not protected.
    y_train : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Targets of X_train.
    X_val : array-like of shape (n_val, n_features)
        The validation set: protected, and used for nothing but scores.
    y_val : array-like of shape (n_val,) or (n_val, n_outputs)
        Targets of X_val: protected, too.
    scoring : str, PrivateScorer or None, default=None
        One score, as `PrivateBayesSearchCV` takes it. For scores that are not an average over
        records ("f1", "roc_auc" and "r2", for example), calls return a stand-in that ranks settings
        about as the score does, and may be far off in level; `best` returns the score itself.
    epsilon : float, default=1.0
        Privacy loss of everything that is released, in all.
    delta : float, default=0.0
        In [0, 1). With 0, the noise of a call is in proportion to `n_calls`; with delta > 0, to its
        square root, where that is less.
    n_calls : int, default=20
        The most settings that may be scored. The noise of all is set by this number, also if fewer
        are asked for.
    groups_val : array-like of shape (n_val,), default=None
        Whom each validation record belongs to: then all records of one group (a patient, say) are
        one protected unit.
    best_share : float or None, default=None
        Share of epsilon that is kept for `best`: 0.6 of it for a choice by permute-and-flip, the
        rest for the score of the setting chosen. With 0, `best` takes the largest score that calls
        returned. None is 0.7, or 0 if that makes the choice better, as it does for very few calls.
    fit_params : dict, default=None
        Other arguments of the estimator's `fit`.
    ledger : PrivacyLedger or None, default=None
        What (epsilon, delta) are charged to, all of it before the first call's draw.
    prediction : {"together", "separate"}, default="together"
        As for `PrivateBayesSearchCV`.
    error_score : "raise" or float, default=np.nan
        What a call does whose fit fails: raise, or else warn and return NaN. That uses up no call.
    call_seconds : float or None, default=None
        A call, or `best`, takes a whole multiple of these seconds, so that its duration says less
        of the protected records. None adds nothing.
    random_state : int, RandomState instance or None, default=None
        For public randomness: how the training set is cut where a score needs that.
    noise_random_state : int or None, default=None
        An integer replaces the noise by a seeded generator's: for tests only. Warns.

    Attributes
    ----------
    noise_std_ : float
        Standard deviation of the noise of a call's score, in the units of the score. Known before
        the first call.
    n_calls_left_ : int
        How many more settings may be scored.
    calls_ : list of Call
        Settings that were asked for, and what was returned for them (private).
    scorer_ : PrivateScorer
        The score used; as a function, ``scorer_(estimator, X, y)``, it is not private.
    privacy_ : PrivacyReport
        The privacy report: print it.

    Raises
    ------
    ValueError
        If anything is malformed. Nothing is released or spent then.
    BudgetExceededError
        If the ledger does not have (epsilon, delta).

    See Also
    --------
    PrivateBayesSearchCV : The whole search; its choice has far less noise than these scores, since
        it releases no other.

    Notes
    -----
    The theorem, its proof and what is assumed are in the documentation, "A private objective".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn_dpbo import PrivateObjective
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, X_val, y, y_val = train_test_split(X, y, test_size=0.5, random_state=0)
    >>> objective = PrivateObjective(
    ...     LogisticRegression(solver="liblinear"), X, y, X_val, y_val, epsilon=5.0, n_calls=3
    ... )
    >>> scores = [objective({"C": C}) for C in (0.01, 1.0, 100.0)]
    >>> objective.best()  # doctest: +SKIP
    Best(params={'C': 100.0}, score=0.954, interval=(0.921, 0.987))
    """

    def __init__(
        self,
        estimator: Any,
        X_train: Any,
        y_train: Any,
        X_val: Any,
        y_val: Any,
        *,
        scoring: Any = None,
        epsilon: float = 1.0,
        delta: float = 0.0,
        n_calls: int = 20,
        groups_val: Any = None,
        best_share: float | None = None,
        fit_params: Mapping[str, Any] | None = None,
        ledger: PrivacyLedger | None = None,
        prediction: str = "together",
        error_score: Any = np.nan,
        call_seconds: float | None = None,
        random_state: Any = None,
        noise_random_state: int | None = None,
    ) -> None:
        check_parameters(estimator, epsilon, delta, n_calls, best_share, error_score, call_seconds)
        check_prediction(prediction)
        scorer = resolve_scorer(scoring, estimator)
        if best_share == 0 and not scorer.is_mean:
            raise ValueError(
                f"scoring={scorer.name!r} is not an average over records, and so calls do not "
                "return the score itself: best() has to release it. Leave out best_share=0"
            )
        rng = check_random_state(random_state)
        problem = problem_of(estimator, X_train, y_train, X_val, y_val, groups_val, fit_params, rng)
        options = FitOptions(clone(estimator), error_score, separate=prediction == "separate")
        scorer = prepared(scorer, problem.training.y)
        self._evaluator = Evaluator(options, problem, (scorer,))
        weakref.finalize(self, self._evaluator.close)
        self._public = self._evaluator.public(None, np.random.default_rng(rng.randint(2**31 - 1)))
        noise = noise_source(noise_random_state, stacklevel=3)
        share = partial(
            Sharing.of, int(n_calls), best_share=best_share, is_mean=bool(scorer.is_mean)
        )
        needed = float(delta) if share(float(epsilon), float(delta)).calls.gaussian else 0.0
        what = f"scores of up to {n_calls} settings"
        unit = problem.units.name
        budget = budget_on(
            ledger,
            float(epsilon),
            needed,
            what=what,
            mechanism=type(self).__name__,
            unit=unit,
            estimator=estimator,
        )
        self._check_ledger = partial(_check_ledger, ledger, budget, what, unit)
        self._sharing = share(budget.epsilon, budget.delta)
        self._mechanisms = Mechanisms(budget, noise)
        self._answer = self._mechanisms.answers(
            self._sharing.calls, purpose=Purpose.CALLS, each="settings"
        )
        self._prediction, self._call_seconds = prediction, call_seconds
        self._lock = threading.RLock()
        self._known: dict[Any, Call] = {}  # by what the setting is
        self._scored: list[_Scored] = []
        self._choosing = False
        self._chosen: int | None = None
        self._best: Best | None = None
        self._first_failure: str | None = None
        self._offset = 0.0 if scorer.is_mean else self._prepare_stand_in()
        self._warn_of_noise(delta)

    def __call__(self, params: Mapping[str, Any]) -> float:
        """Return the validation score of a setting, with noise.

        Asked for the same setting again, it returns the same number, and that uses up no call. (The
        integer 1 and the float 1.0 are two settings.)

        Parameters
        ----------
        params : dict
            Parameters of the estimator, as its `set_params` takes them.

        Returns
        -------
        score : float
            The larger, the better. It may lie beyond the score's bounds, as noise is added to it.
            NaN if the setting cannot be fitted.

        Raises
        ------
        BudgetExceededError
            If all calls have been made, `best` has chosen, or the ledger refuses the charge.
            Nothing is drawn then.
        ValueError
            If the estimator has no such parameters, or does not predict row by row.
        """
        params = self._checked(params)
        key = identity(params)
        with self._lock:
            if key not in self._known:
                self._check_calls_left()
                with self._rounded_time():
                    self._score(key, params)
            return self._known[key].score

    def best(self) -> Best:
        """Choose the best of the settings that were scored, and return it with its score.

        By a private draw, after which no more settings can be scored; or, if `best_share` is 0, the
        one with the largest score that a call returned, with an interval that holds for all calls
        together. Asked again, it returns the same.

        Returns
        -------
        best : Best
            With `params`, `score` and `interval`.

        Raises
        ------
        ValueError
            If no setting has been scored yet.
        """
        with self._lock:
            if not self._scored:
                raise ValueError(self._why_nothing_was_scored())
            if not self._sharing.epsilon_choice:
                return self._largest()
            if self._best is None:
                with self._rounded_time():
                    self._best = self._drawn()
            return self._best

    def optuna(self, space: Mapping[str, Any] | Callable[[Any], dict[str, Any]]) -> Any:
        """Return the objective of an Optuna study, for ``study.optimize``.

        Parameters
        ----------
        space : dict or callable
            Names of parameters to lists (categories), Optuna's distributions, or scipy.stats'
            `uniform`, `loguniform` and `randint`. Or, to define it by run, a function of a trial
            that suggests parameters and returns them as a dict.

        Returns
        -------
        objective : callable
            Takes a trial. The study must maximise, and stops when all calls have been used up.
            Settings cannot be pruned: each intermediate score would be a release of its own.
        """
        return on_trials(self, space)

    def skopt(self, dimensions: list[Any]) -> Any:
        """Return the objective for `gp_minimize` and other functions of scikit-optimize.

        Parameters
        ----------
        dimensions : list of skopt.space.Dimension
            Each with the name of its parameter.

        Returns
        -------
        objective : callable
            Takes a list of values, one for each dimension, and returns the *negative* of the score;
            of settings that cannot be fitted, that of the lowest score returned so far.
        """
        return on_vectors(self, dimensions, self._lowest)

    @property
    def noise_std_(self) -> float:
        scorer, units = self._evaluator.scorer, self._evaluator.problem.units
        scale = self._answer.scale(scorer.sensitivity(units))
        return scorer.line(units)[1] * noise_std(scale, self._sharing.calls.gaussian)

    @property
    def n_calls_left_(self) -> int:
        return 0 if self._choosing else self._answer.n_left

    @property
    def calls_(self) -> list[Call]:
        return [Call(dict(params), score) for params, score in self._known.values()]

    @property
    def scorer_(self) -> Any:
        return self._evaluator.scorer

    @property
    def privacy_(self) -> PrivacyReport:
        return validation_report(
            self._evaluator.problem,
            self._mechanisms,
            self._prediction,
            title="Differentially private scores of settings",
            not_protected=_NOT_PROTECTED,
            released=_RELEASED.format(self._sharing.calls.n),
        )

    def __repr__(self) -> str:
        budget, n = self._mechanisms.budget, self._sharing.calls.n
        left = "best() has chosen" if self._choosing else f"{self.n_calls_left_} of {n} calls left"
        stand_in = "" if self.scorer_.is_mean else ", calls return a stand-in for the score"
        return (
            f"<PrivateObjective of {type(self._evaluator.options.estimator).__name__}, "
            f"scoring={self.scorer_.name!r}, epsilon={budget.epsilon:g}, delta={budget.delta:g}: "
            f"{left}, noise_std_={self.noise_std_:.2g}{stand_in}>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a PrivateObjective holds protected records and a budget that must not be spent twice, "
            "and cannot be pickled or copied: call it in the process that made it (in Optuna, "
            "study.optimize(..., n_jobs=1))"
        )

    def _prepare_stand_in(self) -> float:
        """Let the score be compared near the estimator's own setting; return what its line misses.

        Fits that setting within the training set. Its score on other public records is known, and
        what the line makes of its statistic there. If it cannot be fitted, nothing is known.
        """
        oracle = self._evaluator
        try:
            model = public_model({}, self._public, oracle)
        except Exception:  # whatever a fit raises: settings that are asked for may do better
            return 0.0
        public = oracle.scorer.predictions(*model)
        if oracle.scorer.selects_at:
            oracle.select_at(public)
        scorer, units = oracle.scorer, Units.of(len(public.response))
        values = scorer.record_values(public.y, public.response, public.classes)
        (statistic,) = scorer.statistics(values, public.y, units)
        offset, slope = scorer.line(units)
        missing = scorer.exact(public.y, public.response, public.classes)
        missing -= offset + slope * statistic
        return float(missing) if math.isfinite(missing) else 0.0

    def _warn_of_noise(self, delta: float) -> None:
        scorer, units = self._evaluator.scorer, self._evaluator.problem.units
        limit = _TOO_MUCH_NOISE * scorer.line(units)[1] * scorer.largest(units)
        if self.noise_std_ > limit:
            advice = "" if delta else ", pass delta (1e-6, say)"
            warnings.warn(
                f"The scores that calls return have noise of standard deviation "
                f"{self.noise_std_:.2g}, in units of {scorer.name}: more than most settings differ "
                f"by. Allow fewer calls{advice}, use more validation records or a larger epsilon; "
                "or let PrivateBayesSearchCV choose, which shows no scores of single settings",
                LowUtilityWarning,
                stacklevel=3,
            )

    def _why_nothing_was_scored(self) -> str:
        if self._first_failure is None:
            return "no setting has been scored yet: call the objective first"
        return (
            f"none of the {len(self._known)} settings asked for could be scored, and nothing was "
            f"spent. The first failed with {self._first_failure}"
        )

    def _lowest(self) -> float:
        """Return the lowest score that a call returned; before, a score that is low."""
        lowest = self.scorer_.bounds[0]
        known = (call.score for call in self._known.values() if math.isfinite(call.score))
        return min(known, default=lowest if math.isfinite(lowest) else 0.0)

    def check(self, params: Mapping[str, Any]) -> None:
        """Raise ValueError unless a setting has parameters of the estimator; it is not scored.

        Parameters
        ----------
        params : dict
            Parameters of the estimator, as its `set_params` takes them.
        """
        self._checked(params)

    def _checked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(params, Mapping) or not all(isinstance(name, str) for name in params):
            raise ValueError(
                f'a setting is a dict of parameters, such as {{"C": 1.0}}; found {params!r}'
            )
        found = {name: clone(plain(value), safe=False) for name, value in params.items()}
        set_candidate(clone(self._evaluator.options.estimator), found)
        return found

    def _check_calls_left(self) -> None:
        self._mechanisms.budget.require_own_process()
        if self._choosing:
            raise BudgetExceededError(
                "best() has chosen among the settings that were scored, and the budget is spent. "
                "A new objective costs epsilon again"
            )
        if self._answer.n_left == 0:
            raise BudgetExceededError(
                f"all {self._sharing.calls.n} calls have been made, and the budget has no more. "
                "best() returns the best of these settings; n_calls= says beforehand how many "
                "there may be"
            )
        self._check_ledger()

    @contextlib.contextmanager
    def _rounded_time(self) -> Iterator[None]:
        """Leave after a whole multiple of `call_seconds`, by an error, too."""
        start = time.monotonic()
        try:
            yield
        finally:
            if self._call_seconds is not None:
                time.sleep((start - time.monotonic()) % self._call_seconds)

    def _score(self, key: Any, params: dict[str, Any]) -> None:
        """Fit a setting, release its score, and keep that."""
        oracle = self._evaluator
        evaluation = oracle((params,))
        (error,) = evaluation.fit_errors
        if error is not None:
            warnings.warn(
                f"{params} failed on the training set, and has no score; that uses up no call: "
                f"{error}",
                FitFailedWarning,
                stacklevel=3,
            )
            self._first_failure = self._first_failure or error
            self._known[key] = Call(params, np.nan)
            return
        noisy = self._answer(evaluation.statistics)
        # One step: after an interrupt, a setting is there with all that belongs to it, or not.
        self._scored.append(_Scored(params, evaluation.statistics, noisy))
        offset, slope = oracle.scorer.line(oracle.problem.units)
        self._known[key] = Call(params, offset + slope * noisy.counts[0] + self._offset)

    def _largest(self) -> Best:
        scorer, units = self._evaluator.scorer, self._evaluator.problem.units
        params, _, noisy = max(self._scored, key=lambda each: each.noisy.counts)
        # The noise of the largest is not that of any, and when to stop may depend on the scores:
        # the intervals of all possible calls hold together.
        confidence = 1 - (1 - CONFIDENCE) / self._sharing.calls.n
        value = scorer.value(noisy.counts, units)
        low, high = scorer.interval(noisy, units, confidence)
        return Best(dict(params), value, (min(low, value), max(high, value)))

    def _drawn(self) -> Best:
        """Choose a setting, and release its score. If interrupted, the next call goes on."""
        oracle, mechanisms = self._evaluator, self._mechanisms
        self._choosing = True
        if self._chosen is None:
            table = reduce(Sensitive.followed_by, (each.statistics for each in self._scored))
            epsilon = self._sharing.epsilon_choice
            self._chosen = mechanisms.select(table, epsilon, purpose=Purpose.CANDIDATE)
        params, statistics, _ = self._scored[self._chosen]
        counted = count_scores(
            params,
            statistics,
            oracle,
            mechanisms.budget.epsilon_left,
            lambda params: public_model(params, self._public, oracle),
        )
        ((score, interval),), _ = counted.release(oracle.problem.units, mechanisms)
        return Best(dict(params), score, interval)


class _Scored(NamedTuple):
    """A setting that was fitted, its statistic, and that with noise."""

    params: dict[str, Any]
    statistics: Sensitive
    noisy: NoisyCounts


def _check_ledger(ledger: PrivacyLedger | None, budget: Budget, what: str, unit: str) -> None:
    """Raise what the charge would raise, before anything protected is predicted for it."""
    if ledger is not None and not budget.reserved:
        ledger.check((budget.epsilon, budget.delta), what=what, unit=unit)
