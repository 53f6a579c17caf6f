"""`PrivateObjective`: a noisy validation score for each candidate asked for (zone: released).

The session fits the candidate, counts what it predicts, and releases the score. Nothing here sees
it without noise.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple, NoReturn

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import check_random_state

from ..exceptions import BudgetExceededError, LowUtilityWarning
from ..metrics._make import resolve_scorer
from ..metrics._response import Predictions
from ..metrics._scorers import PrivateScorer
from ..prediction.fitting import FitOptions, set_candidate
from ..prediction.session import Session
from ..privacy.accounting import CHOICE
from ..privacy.float_errors import ignore_float_errors
from ..privacy.ledger._ledger import PrivacyLedger
from ..privacy.mechanisms import COUNTS, Price
from ..privacy.noisy_counts import noise_std
from ..privacy.report._report import PrivacyReport
from ..privacy.rounding import divide
from ..privacy.sensitive import Sensitive
from ..privacy.spending import Spending
from ..privacy.warn import warn
from ..records.units import Units, unit_name
from ._choice import prepare_choice
from ._explore import PublicEvaluator
from ._optuna import on_trials, plain
from ._parameters import check_values, prepare_scorer
from ._release import Design, release_scores
from ._results import clipping_in_words

_NOT_PROTECTED = (
    "the training set, on which each candidate was fitted; the schema of the validation set "
    "(number of units, group identifiers, columns, dtypes); which candidates were asked for, and "
    "how long each call took (see `call_seconds`); and whatever else is computed from the "
    "validation records, including another objective"
)
# Of what is kept for `best`, the part for the score: the rest pays for the choice.
_SCORE_SHARE = 0.4
# Share of the score's range beyond which noise is warned of.
_TOO_MUCH_NOISE = 0.05


class Call(NamedTuple):
    """A candidate that was asked for, and the score that was returned.

    Parameters
    ----------
    params : dict
        The candidate.
    score : float
        Its validation score with noise; NaN if it could not be fitted.
    """

    params: dict[str, Any]
    score: float


class Best(NamedTuple):
    """The candidate that `PrivateObjective.best` chose, and its score.

    Parameters
    ----------
    params : dict
        The chosen candidate.
    score : float
        Its validation score with noise.
    interval : tuple of float
        Contains its validation score without noise with probability 95 %.
    """

    params: dict[str, Any]
    score: float
    interval: tuple[float, float]


class PrivateObjective:
    """Noisy validation scores of candidates, for Optuna or another optimiser.

    Call the objective with a candidate. It fits the candidate on the training set, which is not
    protected, scores it on the validation set, which is protected, and returns the score with
    noise. All calls and `best` together are (epsilon, delta)-differentially private with respect to
    one record (or group of records) of the validation set. This holds for every optimiser: each
    candidate may depend on all earlier scores (proof: "Use Optuna or your own optimiser" in the
    documentation). A `PrivateBayesSearchCV` releases far less, with far less noise.

    Parameters
    ----------
    estimator : estimator object
        As in `PrivateBayesSearchCV`.
    X_train, y_train : array-like
        The training set and its targets: not protected.
    X_val, y_val : array-like
        The validation set and its targets: protected, and used for scores only.
    scoring : str, PrivateScorer or None, default=None
        One metric, as in `PrivateBayesSearchCV`. If it is not an average over records ("f1",
        "roc_auc" and "r2", for example), calls return a proxy. The proxy ranks candidates about as
        the metric does, but its level may be far off. `best` returns the metric itself.
    epsilon : float, default=1.0
        Total privacy loss of all calls and `best`.
    delta : float, default=0.0
        In [0, 1). With 0, the noise of a call is proportional to `n_calls`, else to its square
        root, where that is less.
    n_calls : int, default=20
        Largest number of candidates. It determines the noise, even if you score fewer.
    groups_val : array-like of shape (n_val,), default=None
        The group (for example, the patient) of each validation record, to be protected together.
    best_share : float, default=0.7
        Share of epsilon that is reserved for `best`, from 0.001 to 0.999: 0.6 of it for a selection
        by permute-and-flip, the rest for the score.
    fit_params : dict, default=None
        Other arguments of the estimator's `fit`. What may hold records has to be marked as public,
        as in ``{"eval_set": public([(X_stop, y_stop)])}``.
    ledger : PrivacyLedger or None, default=None
        The ledger that is charged all of (epsilon, delta) before the first release.
    prediction : {"auto", "together", "separate"}, default="auto"
        As in `PrivateBayesSearchCV`.
    error_score : "raise" or float, default=np.nan
        If a fit fails, "raise" raises its error; otherwise the call warns and returns NaN. A failed
        fit uses no call.
    call_seconds : float or None, default=None
        Each call, and `best`, waits until a whole multiple of this many seconds has passed, so its
        duration reveals less about the protected records. None adds no wait.
    random_state : int, RandomState instance or None, default=None
        For public randomness: how the training set is split, where a metric needs that.

    Attributes
    ----------
    noise_std_ : float
        Standard deviation of the noise of a call's score.
    n_calls_left_ : int
        How many more candidates can be scored.
    calls_ : list of Call
        Candidates that were asked for, and the noisy scores that were returned (private).
    scorer_ : PrivateScorer
        The metric. Calling it as ``scorer_(estimator, X, y)`` is not private.
    privacy_ : PrivacyReport
        The privacy report: print it.

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
        best_share: float = 0.7,
        fit_params: Mapping[str, Any] | None = None,
        ledger: PrivacyLedger | None = None,
        prediction: str = "auto",
        error_score: Any = np.nan,
        call_seconds: float | None = None,
        random_state: Any = None,
    ) -> None:
        params = {"estimator": estimator, "epsilon": epsilon, "delta": delta, "n_calls": n_calls}
        params |= {"best_share": best_share, "prediction": prediction}
        check_values({**params, "error_score": error_score, "call_seconds": call_seconds})
        if X_val is None:
            raise ValueError("X_val and y_val are the protected records; found None")
        scorer = resolve_scorer(scoring, estimator)
        self._best_share, self._call_seconds = best_share, call_seconds
        gaussian = self._price_of(float(epsilon), float(delta), n_calls).gaussian
        spending = Spending.begin(
            ledger,
            float(epsilon),
            float(delta) if gaussian else 0.0,
            unit=unit_name(groups_val),
            what=f"scores of up to {n_calls} candidates",
            mechanism=type(self).__name__,
            estimator=estimator,
        )
        self._price = self._price_of(spending.epsilon, spending.delta, n_calls)
        rng = check_random_state(random_state)
        options = FitOptions(clone(estimator), error_score, prediction=prediction)
        val = {"X_val": X_val, "y_val": y_val, "groups_val": groups_val, "split_params": {}}
        fit_params = dict(fit_params or {})
        data = estimator, X_train, y_train, fit_params
        self._session = Session.holding(spending, *data, cv=None, rng=rng, copies=True, **val)
        self._units = self._session.units
        scorers = [prepare_scorer(scorer, self._session.training.y)]
        self._candidates = self._session.search(options, scorers, adaptive=True)
        self._seed = rng.randint(2**31 - 1)
        self._answer = self._session.answers(
            self._price, purpose="scores of the candidates asked for"
        )
        self._lock = threading.RLock()
        self._known: dict[Any, Call] = {}  # by `_identity` of the candidate
        self._scored: list[tuple[dict[str, Any], Sensitive]] = []
        self._choosing = False
        self._chosen: int | None = None
        self._best: Best | None = None
        self._unknown = ""
        self._offset = 0.0 if scorer.is_mean else self._proxy_offset()
        self._candidates.design = Design.of(self._candidates, best_share * _SCORE_SHARE * epsilon)
        self._warn_of_noise(delta)

    def __call__(self, params: Mapping[str, Any]) -> float:
        """Return the validation score of a candidate, with noise: larger is better.

        The score may lie outside the metric's range, and is NaN if the candidate cannot be fitted.
        The same candidate again gets the same number and uses no call. (The integer 1 and the float
        1.0 make two candidates.) BudgetExceededError is raised, and nothing released, if all calls
        have been used, `best` has chosen, or the ledger refuses the charge.

        Parameters
        ----------
        params : dict
            Parameters of the estimator, as its `set_params` takes them.
        """
        params = self._checked(params)
        key = _identity(params)
        with self._lock:
            if key not in self._known:
                self._check_calls_left()
                with self._rounded_time():
                    self._score(key, params)
            return self._known[key].score

    def best(self) -> Best:
        """Choose the best of the scored candidates, and return it with its score.

        The choice is a private selection, after which no more candidates can be scored. Further
        calls of `best` return the same.
        """
        with self._lock:
            if not self._scored:
                raise ValueError(
                    "no candidate has been scored: call the objective first, with one that can be "
                    "fitted"
                )
            if self._best is None:
                with self._rounded_time():
                    self._best = self._drawn()
                if self._unknown:
                    warn(self._unknown, LowUtilityWarning)
            return self._best

    def optuna(self, suggest: Callable[[Any], dict[str, Any]]) -> Any:
        """Return the objective of an Optuna study, for ``study.optimize``.

        The study must maximise, and stops when all calls have been used. With ``n_jobs``, trials
        that other threads have begun by then are pruned.

        Parameters
        ----------
        suggest : callable
            Takes a trial, suggests parameters, and returns them as a dict.
        """
        return on_trials(self, suggest)

    @property
    def noise_std_(self) -> float:
        scorer: PrivateScorer = self._candidates.scorer
        scale = self._price.scale(scorer.query.sensitivity(self._units))
        return scorer.line(self._units)[1] * noise_std(scale, self._price.gaussian)

    @property
    def n_calls_left_(self) -> int:
        return 0 if self._choosing else self._answer.n_left

    @property
    def calls_(self) -> list[Call]:
        return [Call(dict(params), score) for params, score in self._known.values()]

    @property
    def scorer_(self) -> Any:
        return self._candidates.scorer

    @property
    def privacy_(self) -> PrivacyReport:
        """The privacy report of what was released so far: print it."""
        return self._session.report(
            condition=self._candidates.condition,
            title="Differentially private scores of candidates",
            not_protected=_NOT_PROTECTED,
            released=clipping_in_words(self._candidates.scorers)
            + f"the scores that calls return, for at most {self._price.n} candidates, and what "
            "`best` returns",
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a PrivateObjective cannot be pickled or copied: it holds protected records, and a "
            "budget that must not be spent twice. Use it in the process that made it"
        )

    def __repr__(self) -> str:
        spending, n = self._session, self._price.n
        left = "best() has chosen" if self._choosing else f"{self.n_calls_left_} of {n} calls left"
        proxy = "" if self.scorer_.is_mean else ", calls return a proxy for the metric"
        return (
            f"<PrivateObjective of {type(self._candidates.options.estimator).__name__}, "
            f"scoring={self.scorer_.name!r}, epsilon={spending.epsilon:g}, "
            f"delta={spending.delta:g}: {left}, noise_std_={self.noise_std_:.2g}{proxy}>"
        )

    def _price_of(self, epsilon: float, delta: float, n_calls: int) -> Price:
        """Price all calls together, beside what is kept for `best`."""
        _, left = divide(epsilon, self._best_share)
        return Price.shared(n_calls, left, delta, COUNTS)

    def _proxy_offset(self) -> float:
        """Compute what the line through integers misses at the estimator's own parameters.

        The score that selects is set to tell candidates like that one apart, where it needs this.
        """
        candidates = self._candidates
        public = PublicEvaluator.of(candidates, None, np.random.default_rng(self._seed))
        options = replace(candidates.options, error_score=np.nan)
        (own,) = replace(public, options=options)(({},))
        if own.answers is None:  # other candidates may be fitted without an error
            return 0.0
        return self._missed(own.answers(candidates.scorer.response_method))

    @ignore_float_errors()
    def _missed(self, answers: Predictions) -> float:
        """Compute what the line misses of the score of these public predictions."""
        candidates = self._candidates
        if candidates.scorer.choice_uses_public:
            candidates.select_by(candidates.scorer.choice(answers))
        scorer, units = candidates.scorer, Units.of(len(answers.response))
        values = scorer.query.record_values(answers.y, answers.response, answers.classes)
        (statistic,) = scorer.query.statistics(values, answers.y, units)
        offset, slope = scorer.line(units)
        missing = scorer.exact(answers) - offset - slope * statistic
        return float(missing) if math.isfinite(missing) else 0.0

    def _warn_of_noise(self, delta: float) -> None:
        scorer, units = self._candidates.scorer, self._units
        limit = _TOO_MUCH_NOISE * scorer.line(units)[1] * scorer.query.largest(units)
        if self.noise_std_ > limit:
            advice = "" if delta else ", pass delta (for example 1e-6)"
            warn(
                f"The noise of each score has standard deviation {self.noise_std_:.2g}, in units "
                f"of {scorer.name}: more than most candidates differ by. Allow fewer calls"
                f"{advice}, use more validation records or a larger epsilon. Or use "
                "PrivateBayesSearchCV, which has less noise because it releases one score only",
                LowUtilityWarning,
            )

    def _checked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(params, Mapping) or not all(isinstance(name, str) for name in params):
            raise ValueError(
                f'a candidate is a dict of parameters, such as {{"C": 1.0}}; found {params!r}. '
                "(For an Optuna study: study.optimize(objective.optuna(suggest)))"
            )
        own = {name: clone(plain(value), safe=False) for name, value in params.items()}
        set_candidate(clone(self._candidates.options.estimator), own)
        return own

    def _check_calls_left(self) -> None:
        self._session.require_own_process()
        if self._choosing:
            raise BudgetExceededError(
                "best() has chosen, and the budget is spent: no more candidates can be scored. A "
                "new objective costs epsilon again"
            )
        if self._answer.n_left == 0:
            raise BudgetExceededError(
                f"all {self._price.n} calls have been used. best() returns the best of "
                "these candidates. To score more, pass a larger n_calls to a new objective"
            )

    @contextlib.contextmanager
    def _rounded_time(self) -> Iterator[None]:
        """Leave after a whole multiple of `call_seconds`, also by an error."""
        start = time.monotonic()
        try:
            yield
        finally:
            if self._call_seconds is not None:
                time.sleep((start - time.monotonic()) % self._call_seconds)

    def _score(self, key: Any, params: dict[str, Any]) -> None:
        """Fit a candidate, release its score, and keep that."""
        (error,) = self._candidates.fit((params,))
        if error is not None:
            warn(
                f"{params} failed on the training set and has no score; this used no call: {error}",
                FitFailedWarning,
            )
            self._known[key] = Call(params, np.nan)
            return
        self._release(key, params)

    @ignore_float_errors()
    def _release(self, key: Any, params: dict[str, Any]) -> None:
        """Release the score of a candidate that was fitted, and keep it."""
        scorer = self._candidates.scorer
        statistic = self._session.compare([params], scorer.query)
        noisy = self._answer(statistic)
        # One step: an interrupt leaves all of a candidate, or nothing.
        self._scored.append((params, statistic))
        offset, slope = scorer.line(self._units)
        self._known[key] = Call(params, offset + slope * noisy.counts[0] + self._offset)

    @ignore_float_errors()
    def _drawn(self) -> Best:
        """Choose a candidate, and release its score.

        If interrupted, the next call goes on; or, if a draw was lost, it is refused.
        """
        self._choosing = True
        if self._chosen is None:
            self._chosen = self._choose()
        params, statistics = self._scored[self._chosen]
        released = release_scores(params, statistics, self._session)
        ((score, interval),) = released.scores
        self._unknown = released.unknown or self._unknown
        return Best(dict(params), score, interval)

    def _choose(self) -> int:
        """Select the best of the scored candidates; the one with the best score is counted."""
        session, scorer = self._session, self._candidates.scorer
        scored, tables = zip(*self._scored, strict=True)
        known = {id(params): score for params, score in self._known.values()}
        best = max(scored, key=lambda params: known[id(params)])
        ranked = prepare_choice(
            scorer,
            len(scored),
            self._units,
            session.all_but(self._best_share * _SCORE_SHARE),
            lambda query: session.counts(best, query),
            session,
        )
        self._unknown = ranked.unknown
        query = ranked.scorer.query
        if query is scorer.query:
            table = reduce(Sensitive.followed_by, tables)
        else:
            table = session.compare(scored, query)
        return session.select(table, ranked.epsilon, purpose=CHOICE)


def _identity(params: dict[str, Any]) -> Any:
    """Return a key that is equal for equal candidates; a unique key if they cannot be compared."""
    try:
        return joblib.hash(params)
    except Exception:  # for example, lambdas cannot be pickled
        return object()
