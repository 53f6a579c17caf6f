"""`PrivateThresholdClassifier`: a decision threshold from protected records (zone: released)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from ._delegation import RoutesToEstimator, delegate
from .checks import check_number
from .configuration.piecewise import PiecewiseConstant
from .fitting import fit
from .holdout import Problem, hold_out
from .mechanisms import draw_grid_point, release_counts
from .noise import noise_source
from .privacy import Budget, Secret, leaving_no_frame, round_down
from .quiet import quiet
from .report import PREDICTIONS_ROW_BY_ROW, TRAINING_NOT_PROTECTED, PrivacyReport
from .rowwise import RowByRowCheck, protected_rows
from .scorers import MeanGain, PrivateScorer, method_of, respond
from .scoring import resolve_scorer
from .search import PrivateBayesSearchCV
from .units import Units

__all__ = ["PrivateThresholdClassifier"]

_RESPONSE_METHODS = {
    "auto": ("predict_proba", "decision_function"),
    "predict_proba": ("predict_proba",),
    "decision_function": ("decision_function",),
}
_CONFIDENCE = 0.95


def _inner_has(attribute: str):
    """Return a check that the fitted (or, before `fit`, the given) estimator has this."""

    def check(self) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), attribute)
        return True

    return check


class PrivateThresholdClassifier(
    ClassifierMixin, RoutesToEstimator, MetaEstimatorMixin, BaseEstimator
):
    """Tune a classifier's decision threshold with differential privacy for the validation set.

    The private counterpart of scikit-learn's `TunedThresholdClassifierCV`. The classifier is fitted
    on a training set, which is not protected; its threshold is drawn by the exponential mechanism
    from a public grid, by what a held-out validation set, which is protected, says of each; and
    the score at that threshold is released with noise. All that is pure epsilon-DP with respect to
    one record (or group of records) of the validation set.

    Parameters
    ----------
    estimator : estimator object
        A binary classifier with `predict_proba` or `decision_function`. Its predictions must be
        made row by row; this is checked on training records. One that is fitted already goes into
        a ``FrozenEstimator``. A `PrivateBayesSearchCV` is given the same validation set, and what
        it spends is added up in `privacy_`.
    epsilon : float, default=1.0
        Privacy loss of the threshold and its score together; what a search in `estimator` spends
        comes on top.
    scoring : str or PrivateScorer, default="balanced_accuracy"
        What a *label* is worth: "accuracy", "balanced_accuracy" (with public class weights: those
        of the training set if not given), ``make_private_scorer("neg_cost", cost_matrix=...)``, or
        a gain of your own, ``make_private_scorer(gain, bounds=(a, b))``.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        What the threshold is applied to; "auto" takes `predict_proba` if there is one.
    thresholds : int or array-like of float, default=2**14
        The public thresholds to choose from. A number of them: half are spread evenly over [0, 1]
        (for `decision_function`, over the range of the training set's values), and half are
        quantiles of what the estimator says of the training set. Or the thresholds themselves,
        chosen without looking at the validation data.
    score_share : float, default=0.4
        Share of epsilon for the score, in (0, 1).
    cv : splitter or iterable of one (train, test) pair, default=None
        What to hold out if X_val is not given to `fit`; as for `PrivateBayesSearchCV`.
    random_state : int, RandomState instance or None, default=None
        For public randomness: how the default hold-out is cut. Never for noise.
    noise_random_state : int or None, default=None
        An integer replaces the noise by a seeded generator's: for tests only. Warns.

    Attributes
    ----------
    estimator_ : estimator
        Fitted on the training set alone.
    best_threshold_ : float
        One of the public thresholds (private): the second class is predicted from it on upwards.
    best_score_ : float
        The validation score at that threshold with noise, within the scorer's bounds (private).
    best_score_interval_ : tuple of float
        Where that score lies without noise, with probability 95 % (private).
    privacy_ : PrivacyReport
        The privacy statement: print it.
    scorer_ : PrivateScorer
        The score used; as a function, ``scorer_(estimator, X, y)``, it is not private.
    classes_ : ndarray of shape (2,)
    n_features_in_ : int
        Only if the fitted estimator has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if the fitted estimator has it.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : The same without privacy.
    sklearn.model_selection.FixedThresholdClassifier : Takes `estimator_` and `best_threshold_`.

    Notes
    -----
    The share of records that lie between two thresholds bounds how far their scores differ; so the
    threshold drawn loses little as soon as the estimator spreads the records out. Theorem and
    proof: documentation, "Thresholds".

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn_dpbo import PrivateThresholdClassifier
    >>> X, y = make_classification(4_000, weights=[0.9], random_state=0)
    >>> X, X_val, y, y_val = train_test_split(X, y, test_size=0.5, random_state=0)
    >>> tuned = PrivateThresholdClassifier(LogisticRegression(), epsilon=1.0)
    >>> tuned.fit(X, y, X_val=X_val, y_val=y_val).best_threshold_  # doctest: +SKIP
    0.1174
    """

    def __init__(
        self,
        estimator,
        *,
        epsilon=1.0,
        scoring="balanced_accuracy",
        response_method="auto",
        thresholds=2**14,
        score_share=0.4,
        cv=None,
        random_state=None,
        noise_random_state=None,
    ):
        self.estimator = estimator
        self.epsilon = epsilon
        self.scoring = scoring
        self.response_method = response_method
        self.thresholds = thresholds
        self.score_share = score_share
        self.cv = cv
        self.random_state = random_state
        self.noise_random_state = noise_random_state

    def fit(self, X, y, *, X_val=None, y_val=None, groups_val=None, **fit_params):
        """Fit the estimator on the training set, and tune its threshold privately.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training set: not protected. Without X_val, one part of it is held out as the
            validation set (see `cv`).
        y : array-like of shape (n_samples,)
            Two classes.
        X_val : array-like of shape (n_val, n_features), default=None
            The validation set: protected, and used for nothing but the threshold and its score.
        y_val : array-like of shape (n_val,), default=None
        groups_val : array-like of shape (n_val,), default=None
            Whom each validation record belongs to: then all records of one group (a patient, say)
            are one protected unit. Without X_val: one entry for each row of X.
        **fit_params : dict
            For the estimator's `fit`, or as metadata routing has it.

        Returns
        -------
        self : PrivateThresholdClassifier

        Raises
        ------
        ValueError
            If anything is malformed, or predictions are not made row by row. Nothing is released or
            spent then, but by a search in `estimator` that had ended before; the error says so.
        """
        self._validate(y)
        scorer, noise = self._scorer(), noise_source(self.noise_random_state, stacklevel=3)
        routed = self._route(fit_params)
        problem = hold_out(
            self.estimator,
            X,
            y,
            routed["estimator"],
            cv=self.cv,
            rng=check_random_state(self.random_state),
            X_val=X_val,
            y_val=y_val,
            groups_val=groups_val,
            split_params=routed["splitter"],
        )
        scorer = scorer.prepare(problem.y_train)
        estimator = self._fit_estimator(problem)
        try:
            released = self._tune(estimator, problem, scorer, noise)
        except BaseException as error:
            for name, value in _released_by(estimator).items():
                error.add_note(f"released and paid for before this, by the search: {name}={value}")
            raise
        kept = {k: v for k, v in vars(self).items() if not k.endswith("_")}
        self.__dict__ = {**kept, "estimator_": estimator, "scorer_": scorer, **released}
        return self

    def _fit_estimator(self, problem: Problem):
        estimator = clone(self.estimator)
        of_search = {}
        if isinstance(estimator, PrivateBayesSearchCV):
            of_search = {
                "X_val": problem.X_val,
                "y_val": problem.y_val,
                "groups_val": problem.units.labels(),
            }
        return fit(estimator, problem.X_train, problem.y_train, problem.fit_params | of_search)

    def _tune(self, estimator, problem: Problem, scorer: MeanGain, noise) -> dict:
        """Return the fitted attributes that are released."""
        by_label = _ByLabel(scorer, _RESPONSE_METHODS[self.response_method])
        check = RowByRowCheck.on(problem.X_train, problem.y_train)
        probes = check.predictions(estimator, by_label)
        labels = np.resize(estimator.classes_, len(probes))
        check.check_gain(scorer, labels, estimator.classes_)
        grid = self._grid(respond(estimator, problem.X_train, by_label.response_method))

        budget, units = Budget(self.epsilon), problem.units
        for_the_score = Fraction(self.epsilon) * Fraction(self.score_share)
        total = _total(estimator, by_label, problem, grid)
        index = draw_grid_point(
            total.then(lambda u: u.runs(np.arange(len(grid)))),
            *scorer.sensitivity(units),
            round_down(Fraction(self.epsilon) - for_the_score),
            n_points=len(grid),
            largest=scorer.largest(units),
            budget=budget,
            noise=noise,
            release="choice of the threshold",
        )
        (noisy,) = release_counts(
            total.measured(lambda u: [[int(u(index))]], scorer.sensitivity(units)),
            budget.epsilon_left,
            budget=budget,
            noise=noise,
            release="score at the threshold",
        )
        low, high = noisy.interval(_CONFIDENCE)
        return {
            "best_threshold_": float(grid[index]),
            "best_score_": scorer.value((noisy.count,), units),
            "best_score_interval_": scorer.interval((low,), (high,), units),
            "privacy_": _statement(estimator, problem, budget, noise),
        }

    def _grid(self, response: np.ndarray) -> np.ndarray:
        """Return the public thresholds, ascending; those of the training set by quantiles."""
        if not isinstance(self.thresholds, Integral):
            return np.sort(np.asarray(self.thresholds, dtype=float))
        scores = _of_second_class(response)
        scores = scores[np.isfinite(scores)]
        if not len(scores):
            raise ValueError(
                f"{type(self.estimator).__name__} gives no finite number for any training record: "
                "there is nothing to set a threshold in"
            )
        low, high = (0.0, 1.0) if response.ndim == 2 else (scores.min(), scores.max())
        if low == high:  # of an estimator that says the same of everything
            low, high = low - 1, high + 1
        n_even = -(-int(self.thresholds) // 2)
        even = np.linspace(low, high, n_even)
        shares = (np.arange(int(self.thresholds) - n_even) + 0.5) / (self.thresholds - n_even)
        return np.sort(np.concatenate([even, np.quantile(scores, shares)]))

    def predict(self, X):
        """Predict the second class where the response is at least `best_threshold_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "estimator_")
        method = method_of(self.estimator_, _RESPONSE_METHODS[self.response_method])
        scores = _of_second_class(getattr(self.estimator_, method)(X))
        return self.classes_[(scores >= self.best_threshold_).astype(int)]

    predict_proba = delegate(
        "predict_proba", "Predict class probabilities.", to="estimator_", check=_inner_has
    )
    predict_log_proba = delegate(
        "predict_log_proba", "Predict class log-probabilities.", to="estimator_", check=_inner_has
    )
    decision_function = delegate(
        "decision_function", "Return decision values.", to="estimator_", check=_inner_has
    )

    @property
    def classes_(self):
        """Class labels."""
        return self._of_estimator("classes_")

    @property
    def n_features_in_(self):
        """Number of features that the estimator was fitted on."""
        return self._of_estimator("n_features_in_")

    @property
    def feature_names_in_(self):
        """Names of the features that the estimator was fitted on, if it had names."""
        return self._of_estimator("feature_names_in_")

    def _of_estimator(self, attribute: str):
        if not hasattr(self, "estimator_"):
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted")
        return getattr(self.estimator_, attribute)

    def __sklearn_tags__(self):
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.pairwise = inner.input_tags.pairwise
        return tags

    def _validate(self, y) -> None:
        check_number("epsilon", self.epsilon, "a number from 1e-9 up", lambda e: e >= 1e-9)
        check_number("score_share", self.score_share, "in (0, 1)", lambda s: 0 < s < 1)
        if self.response_method not in _RESPONSE_METHODS:
            raise ValueError(
                f"response_method is one of {sorted(_RESPONSE_METHODS)}; found "
                f"{self.response_method!r}"
            )
        if not hasattr(self.estimator, "fit") or isinstance(self.estimator, type):
            raise ValueError(
                f"estimator is an object with a fit method, such as LogisticRegression(); found "
                f"{self.estimator!r}"
            )
        if isinstance(self.estimator, PrivateBayesSearchCV) and not self.estimator.refit:
            raise ValueError("a search in `estimator` must refit: its model gets the threshold")
        if isinstance(self.cv, str) and self.cv == "prefit":
            raise ValueError(
                "cv='prefit' is not needed: pass a fitted classifier in a FrozenEstimator, and the "
                "protected records as X_val and y_val"
            )
        self._validate_thresholds()
        if (kind := type_of_target(y, input_name="y")) != "binary":
            raise ValueError(f"Only binary classification is supported. Unknown label type: {kind}")

    def _validate_thresholds(self) -> None:
        if np.ndim(self.thresholds) == 0:
            what = "a whole number, 2 to 2**24, or an array"
            check_number("thresholds", self.thresholds, what, lambda n: 2 <= n <= 2**24, Integral)
            return
        given = np.asarray(self.thresholds, dtype=float)
        if given.ndim != 1 or len(given) < 2 or not np.isfinite(given).all():
            raise ValueError("thresholds are two finite numbers or more; found others")

    def _scorer(self) -> MeanGain:
        scorer = resolve_scorer(self.scoring, self.estimator)
        if not (scorer.is_mean and scorer.response_method == ("predict",)):
            raise ValueError(
                f"scoring={scorer.name!r} is not the mean of what single labels are worth, so that "
                'no threshold follows from it. Use "accuracy", "balanced_accuracy", '
                'make_private_scorer("neg_cost", cost_matrix=[[0, 1], [5, 0]]), or '
                "make_private_scorer(gain, bounds=(a, b)) with gain(y_true, labels)"
            )
        return scorer


@dataclass(frozen=True)
class _ByLabel(PrivateScorer):
    """Per record: the response, and what either label is worth, in steps; shape (n, 3)."""

    scorer: MeanGain
    response_method: tuple[str, ...]

    def rows(self, y, response, classes) -> np.ndarray:
        """Return columns (response of the second class, gain of the first, of the second)."""
        worth = [self.scorer.rows(y, np.full(len(y), label), classes) for label in classes]
        return np.stack([_of_second_class(response), *worth], axis=1).astype(float)

    def lowest(self, y, n):
        """A record that cannot be predicted is worth the least, whatever the threshold."""
        return np.zeros((n, 3))


def _of_second_class(response: np.ndarray) -> np.ndarray:
    """Return one number per record, larger where the second class is more likely."""
    if response.ndim == 2 and response.shape[1] == 2:
        return response[:, 1]
    if response.ndim == 1:
        return response
    raise ValueError(f"expected the responses of two classes; found shape {response.shape}")


@leaving_no_frame
def _total(estimator, by_label: _ByLabel, problem: Problem, grid: np.ndarray) -> Secret:
    """Return the score of each threshold, in steps, as a function of its position in the grid."""
    with quiet():
        rows = protected_rows(estimator, by_label, problem.X_val, problem.y_val, problem.units)
        score, (first, second) = rows[:, 0], rows[:, 1:].T.astype(np.int64)
        fine, units = by_label.scorer.fine, problem.units
        # The second class is predicted at thresholds 0, ..., place - 1.
        place = np.searchsorted(grid, score, side="right")
        start, place, jumps = _jumps(place, fine(first, units), fine(second, units), units)
        ends = (0.0, len(grid) - 1.0)
        return Secret(PiecewiseConstant.from_jumps(ends, start, place, jumps))


def _jumps(place, first, second, units: Units):
    """Return the sum over units at the lowest threshold, and where and how far it jumps."""
    if not units.grouped:
        return int(second.sum()), place, first - second
    sizes = np.diff(units.ends)
    unit = np.repeat(np.arange(units.m), sizes)
    order = units.order[np.lexsort((place[units.order], unit))]
    # Each unit's sum at the lowest threshold, and after each of its records has changed sides.
    start = np.add.reduceat(second[units.order], units.ends[:-1])
    change = np.cumsum((first - second)[order])
    before = np.concatenate([[0], change])[units.ends[:-1]]
    after = start[unit] + change - before[unit]
    mean = _rounded(after, sizes[unit])
    previous = np.concatenate([[0], mean[:-1]])
    previous[units.ends[:-1]] = _rounded(start, sizes)
    return int(_rounded(start, sizes).sum()), place[order], mean - previous


def _rounded(totals, sizes):
    """Divide integers, rounded as `Units.mean` does."""
    return (2 * totals + sizes) // (2 * sizes)


def _released_by(estimator) -> dict:
    """Return what a search inside has released."""
    if not isinstance(estimator, PrivateBayesSearchCV):
        return {}
    names = ("best_params_", "best_score_", "best_score_interval_")
    return {name: getattr(estimator, name) for name in names}


def _statement(estimator, problem: Problem, budget: Budget, noise) -> PrivacyReport:
    """Return what was protected; with a search inside, what that spent on the same records too."""
    spends, delta, secure, assumption = budget.losses, 0.0, noise.secure, None
    released = "best_threshold_, best_score_, best_score_interval_"
    epsilon = Fraction(budget.epsilon)
    if isinstance(estimator, PrivateBayesSearchCV):
        inner = estimator.privacy_
        spends, delta, assumption = inner.spends + spends, inner.delta, inner.assumption
        secure = secure and inner.secure
        epsilon += Fraction(inner.epsilon)
        released += f"; and of the search in estimator_: {inner.released}"
    return PrivacyReport(
        title="Differentially private decision threshold",
        epsilon=_rounded_up(epsilon),
        delta=delta,
        unit=problem.units.name,
        m=problem.units.m,
        data="validation set",
        protected=problem.protected,
        not_protected=TRAINING_NOT_PROTECTED.format("estimator_"),
        assumption=assumption,
        condition=PREDICTIONS_ROW_BY_ROW,
        released=released,
        spends=spends,
        noise=noise.description,
        secure=secure,
    )


def _rounded_up(x: Fraction) -> float:
    return -round_down(-x)
