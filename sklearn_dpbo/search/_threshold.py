"""`PrivateThresholdClassifier`: a decision threshold from protected records (zone: released)."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LowUtilityWarning
from ..metrics._make import resolve_scorer
from ..metrics._precision import Width, expected_width, warn_of_expected_width, wide_hint
from ..metrics._released import ReleasedScore
from ..metrics._response import Predictions, class_scores, method_of
from ..metrics._scorers import PrivateScorer
from ..metrics._unknown import unknown_hint
from ..prediction.fitting import fit
from ..prediction.progress import CallbackSupportMixin, watched
from ..prediction.session import Session
from ..prediction.threshold_curve import LabelGains
from ..privacy.float_errors import ignore_float_errors
from ..privacy.ledger._ledger import PrivacyLedger
from ..privacy.report._html import ShowsPrivacy
from ..privacy.report._report import TRAINING_NOT_PROTECTED, PrivacyReport
from ..privacy.spending import Spending
from ..privacy.suppress_output import without_autologging
from ..privacy.warn import warn
from ..records.pickles import fresh, packed
from ..records.split import Training
from ..records.tables import dense
from ..records.units import Units, unit_name
from ._choice import prepare_choice
from ._delegation import Delegates, RoutesToEstimator, replace_fitted
from ._parameters import RESPONSE_METHODS, check_parameters, fit_takes
from ._public_thresholds import best_public, public_responses, public_thresholds
from ._released import THRESHOLD, SearchResult


class _Adapted(NamedTuple):
    """A scorer adapted to a public threshold, this threshold, and public predictions by it."""

    scorer: PrivateScorer
    threshold: float
    public: Predictions | None


class PrivateThresholdClassifier(
    ClassifierMixin,
    Delegates,
    RoutesToEstimator,
    ShowsPrivacy,
    CallbackSupportMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Tune a classifier's decision threshold with differential privacy for the validation set.

    The private counterpart of scikit-learn's `TunedThresholdClassifierCV`. The classifier is fitted
    on a training set, which is not protected. The exponential mechanism selects its threshold from
    a public grid, by the scores on a validation set, which is protected. The score at that
    threshold is released with noise. Together this is pure epsilon-DP with respect to one record
    (or group of records) of the validation set.

    Parameters
    ----------
    estimator : estimator object
        A binary classifier with `predict_proba` or `decision_function`. Put a classifier that is
        already fitted into a ``FrozenEstimator``, such as the ``best_estimator_`` of a private
        search.
    epsilon : float, default=1.0
        Privacy loss of the threshold and its score together. A search on the same records before
        it costs its own epsilon, and both add up.
    scoring : str, PrivateScorer or scikit-learn scorer, default="balanced_accuracy"
        A metric of *labels*: "f1", "precision", "matthews_corrcoef" or another function of the
        confusion matrix (``make_private_scorer("f1", pos_label="yes")``); "accuracy"; a cost
        matrix, ``make_private_scorer("neg_cost", cost_matrix=...)``; or the mean of your own gain,
        ``make_private_scorer(gain, bounds=(a, b))``.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        The response that the threshold is applied to; "auto" uses `predict_proba` if it exists.
    thresholds : int or array-like of float, default=2**12
        The public thresholds to choose from. An integer is their number; they are placed by at
        most 4,096 training records. A quarter is evenly spaced over [0, 1] (for
        `decision_function`, over the range of responses), a quarter consists of quantiles of
        responses, and half lie where the score *on the training set* is good, many of them several
        times. An array has the thresholds themselves, chosen without looking at the validation
        data.
    score_share : float, default=0.4
        Share of epsilon that the released score gets, in (0, 1).
    cv : splitter or iterable of one (train, test) pair, default=None
        What to hold out if `fit` gets no X_val; as for `PrivateBayesSearchCV`.
    random_state : int, RandomState instance or None, default=None
        Seed of public randomness, such as the default hold-out set. It does not seed noise.
    ledger : PrivacyLedger or None, default=None
        The ledger to which epsilon is charged, before noise is generated.
    prediction : {"auto", "together", "separate"}, default="auto"
        How the validation set is predicted; as for `PrivateBayesSearchCV`.

    Attributes
    ----------
    estimator_ : estimator
        Fitted on the training set alone.
    best_threshold_ : float
        One of the public thresholds (private). The second class is predicted from it upwards.
    best_score_ : float
        The validation score of `predict`, with noise, within the scorer's bounds (private).
    best_score_interval_ : tuple of float
        Interval that contains the score without noise, with probability 95 % (private).
    best_score_population_interval_ : tuple of float
        Interval for the score in the population that the records are a random sample of (95 %,
        private), as for `PrivateBayesSearchCV`: every different threshold counts as a candidate.
    choice_counts_ : ndarray of shape (2, 2) or None
        Released before the choice, with noise: the validation set's confusion matrix at a threshold
        that is good for the training set (private). See `PrivateBayesSearchCV`.
    privacy_ : PrivacyReport
        The privacy report; print it.
    released_ : SearchResult
        Everything that was released, in one object: ``released_.to_json()`` is a file to publish.
    scorer_ : PrivateScorer
        The scorer used. As a function, ``scorer_(estimator, X, y)``, it is exact and not private.
    classes_ : ndarray of shape (2,)
    n_features_in_ : int
        Only if the fitted estimator has it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Only if the fitted estimator has it.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : The same without privacy.
    sklearn.model_selection.FixedThresholdClassifier : Takes `estimator_` and `best_threshold_`.

    Notes
    -----
    The share of records between two thresholds bounds how far their scores differ, so the selected
    threshold loses little unless many records have nearly the same response. For theorem and proof
    see "Tune a decision threshold" in the documentation. For functions of the confusion matrix, a
    copy is fitted on four fifths of the training set; the threshold that is best for the rest is
    counted on the validation set before the choice (`choice_counts_`).

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

    estimator_: Any
    best_threshold_: float
    best_score_: float
    best_score_interval_: tuple[float, float]
    best_score_population_interval_: tuple[float, float]
    choice_counts_: NDArray[np.float64] | None
    privacy_: PrivacyReport
    released_: SearchResult
    scorer_: PrivateScorer

    def __init__(
        self,
        estimator: Any,
        *,
        epsilon: float = 1.0,
        scoring: Any = "balanced_accuracy",
        response_method: str = "auto",
        thresholds: Any = 2**12,
        score_share: float = 0.4,
        cv: Any = None,
        random_state: Any = None,
        ledger: PrivacyLedger | None = None,
        prediction: str = "auto",
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.scoring = scoring
        self.response_method = response_method
        self.thresholds = thresholds
        self.score_share = score_share
        self.cv = cv
        self.random_state = random_state
        self.ledger = ledger
        self.prediction = prediction

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        X_val: Any = None,
        y_val: Any = None,
        groups_val: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the estimator on the training set and tune its threshold privately.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training set, not protected. Without X_val, a part of it is held out as the
            validation set (see `cv`).
        y : array-like of shape (n_samples,)
            Labels of X, of two classes.
        X_val : array-like of shape (n_val, n_features), default=None
            The validation set, protected and used only for the threshold and its score.
        y_val : array-like of shape (n_val,), default=None
            Labels of X_val, also protected.
        groups_val : array-like of shape (n_val,), default=None
            Group of each validation record. All records of a group (such as a patient) are then
            one privacy unit. Without X_val: one entry for each row of X.
        **fit_params : dict
            Parameters of the estimator's `fit`, or metadata to route; as for
            `PrivateBayesSearchCV`.

        Returns
        -------
        self : PrivateThresholdClassifier

        Raises
        ------
        TypeError
            If protected records are passed by position, or by another name.
        ValueError
            If a parameter is invalid, or predictions are not made row by row. Nothing is released
            or spent then.
        """
        check_parameters(self)
        scorer = self._label_scorer()
        spending = Spending.begin(
            self.ledger,
            self.epsilon,
            what="choice and score of a threshold",
            mechanism=type(self).__name__,
            unit=unit_name(groups_val),
            estimator=self.estimator,
        )
        validation = {"X_val": X_val, "y_val": y_val, "groups_val": groups_val}
        session, rng = self._hold_out(X, y, fit_params, spending, **validation)
        kind = type_of_target(session.training.y, input_name="y")
        labels = np.unique(dense(session.training.y))
        if kind != "binary" or len(labels) != 2:
            raise ValueError(
                "Only binary classification is supported. Unknown label type: "
                f"{kind} (y has {len(labels)} classes)"
            )
        scorer = scorer.prepare(session.training.y)
        with watched(self):
            estimator = fit(clone(self.estimator), session.training)
            classes: Any = getattr(estimator, "classes_", None)
            if not np.array_equal(classes, labels):
                raise ValueError(
                    f"{type(estimator).__name__} is no classifier of the labels {labels.tolist()} "
                    f"of y: its classes_ are {classes}"
                )
            with without_autologging():
                scorer, threshold, public = self._adapt(estimator, session.training, scorer, rng)
                warned = self._warn_of_wide_interval(scorer, public, session.units)
                unknown, released = self._tune(estimator, session, scorer, threshold)
                replace_fitted(self, {"estimator_": estimator, "scorer_": scorer, **released})
        width = Width.of(scorer, (self.best_score_, self.best_score_interval_))
        for hint in filter(None, (unknown, "" if warned else wide_hint([width]))):
            warn(hint, LowUtilityWarning)
        return self

    def _label_scorer(self) -> PrivateScorer:
        """Return the scorer; raise ValueError if it, or the estimator, has no threshold."""
        methods = RESPONSE_METHODS[self.response_method]
        name = type(self.estimator).__name__
        if fit_takes(self.estimator, ["groups_val"]):
            raise ValueError(
                f"{name} spends a privacy budget of its own: fit it first, and then tune "
                "FrozenEstimator(search.best_estimator_). Both losses add up"
            )
        if not any(hasattr(self.estimator, method) for method in methods):
            raise ValueError(
                f"{name} has no method {' or '.join(methods)}, to which a threshold could apply"
            )
        scorer: PrivateScorer = resolve_scorer(self.scoring, self.estimator)
        if scorer.task == "regression" or scorer.response_method != ("predict",):
            raise ValueError(
                f"scoring={scorer.name!r} is not a metric of labels, so it says nothing about a "
                'threshold. Use "f1", "balanced_accuracy", "accuracy", or '
                "make_private_scorer(gain, bounds=(a, b)) with gain(y_true, labels)"
            )
        return scorer

    def _adapt(
        self, estimator: Any, training: Training, scorer: PrivateScorer, rng: np.random.Generator
    ) -> _Adapted:
        """Adapt the scorer to the best threshold on public records; a mean needs none."""
        if scorer.is_mean:
            return _Adapted(scorer, 0.0, None)
        methods = RESPONSE_METHODS[self.response_method]
        classes = estimator.classes_
        y, responses = public_responses(fresh(packed(estimator)), estimator, training, methods, rng)
        threshold, labels = best_public(scorer.exact, y, responses, classes)
        public = Predictions(y, labels, classes)
        return _Adapted(scorer.choice(public), threshold, public)

    def _warn_of_wide_interval(
        self, scorer: PrivateScorer, public: Predictions | None, units: Units
    ) -> bool:
        """Warn, before any charge, if the score will have a wide interval; return True if so."""
        sensitivity = scorer.counts.sensitivity(units) / self.score_share
        predictions = None if public is None else lambda _: public
        return warn_of_expected_width(
            lambda epsilon: [
                partial(expected_width, scorer, predictions, units, sensitivity / epsilon)
            ],
            units,
            self.epsilon,
        )

    @ignore_float_errors()
    def _tune(
        self, estimator: Any, session: Session, scorer: PrivateScorer, public_threshold: float
    ) -> tuple[str, dict[str, Any]]:
        """Choose the threshold and release its score; return the released fitted attributes.

        Also returns a warning of records with unknown labels, or "". `public_threshold` is the best
        one on public records.
        """
        label_gains = LabelGains(scorer.counts, RESPONSE_METHODS[self.response_method])
        model = session.ask(estimator, label_gains, prediction=self.prediction)
        units = session.units
        grid = self.thresholds
        if isinstance(grid, Integral):
            fitted = fresh(model.pickled)
            grid = public_thresholds(fitted, label_gains, scorer.query, session.training, int(grid))
        grid = np.sort(np.asarray(grid, dtype=float))
        curve = session.curve(model, label_gains)
        ranked = prepare_choice(
            scorer,
            len(grid),
            units,
            session.all_but(float(self.score_share)),
            lambda query: curve.at([public_threshold], query),
            session,
        )
        index = session.draw_exponentially(
            curve.at(grid, ranked.scorer.query),
            ranked.epsilon,
            purpose="choice of the threshold",
        )
        noisy = session.release(
            curve.at([float(grid[index])], scorer.counts),
            purpose="score at the threshold",
        )
        released = ReleasedScore(scorer, noisy, units, len(np.unique(grid)))
        unknown = unknown_hint(scorer.counts, noisy, units) or ranked.unknown
        privacy = session.report(
            condition=model.parts.condition(self.prediction, units.name),
            title="Differentially private decision threshold",
            not_protected=TRAINING_NOT_PROTECTED.format("estimator_"),
            released="best_threshold_, best_score_, best_score_population_interval_, "
            "best_score_interval_, choice_counts_",
        )
        value, interval = released.score
        return unknown, {
            "best_threshold_": float(grid[index]),
            "best_score_": value,
            "best_score_interval_": interval,
            "best_score_population_interval_": released.population,
            "choice_counts_": ranked.counts,
            "privacy_": privacy,
            "released_": SearchResult.of(
                THRESHOLD,
                privacy,
                {scorer.name: released},
                best_threshold=float(grid[index]),
                choice_counts=ranked.counts,
            ),
        }

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the second class where the response is at least `best_threshold_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records to predict.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "estimator_")
        method = method_of(self.estimator_, RESPONSE_METHODS[self.response_method])
        scores = class_scores(dense(getattr(self.estimator_, method)(X)))[:, 0]
        labels: NDArray[Any] = self.classes_[(scores >= self.best_threshold_).astype(int)]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
