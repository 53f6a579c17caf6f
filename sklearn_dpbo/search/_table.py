"""`PrivateTableSearchCV`: every record of one table is protected (zone: released)."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.utils import get_tags

from ..exceptions import LowUtilityWarning, PrivacyWarning
from ..learners._declaration import PrivateTraining
from ..learners._private_training import private_training
from ..metrics._precision import warn_of_expected_width
from ..metrics._scorers import PrivateScorer
from ..metrics.evaluations._design import needs
from ..prediction.candidates import Candidates
from ..prediction.first_try import try_out
from ..prediction.fitting import FitOptions, set_candidate
from ..prediction.progress import CallbackSupportMixin, watched
from ..prediction.record_owner import TableOwner
from ..prediction.session import Session
from ..privacy.accounting import TRAINING
from ..privacy.float_errors import ignore_float_errors
from ..privacy.ledger._ledger import PrivacyLedger
from ..privacy.mechanisms import Price
from ..privacy.report._html import ShowsPrivacy
from ..privacy.report._report import PrivacyReport, report_of
from ..privacy.spending import Spending
from ..records.remembered import remember_fitted, remember_scored
from ..records.units import Units, unit_name
from ._delegation import (
    DelegatesToBest,
    public_generator,
    refuse_steps_before,
    replace_fitted,
)
from ._one_table import (
    LABEL_SHARE,
    Plan,
    default_fits,
    frequent_labels,
    held_out,
    plan_fits,
    search_table,
)
from ._parameters import check_parameters, n_listed, own_names, scorers_of, space_of
from ._release import Design, expected_widths
from ._results import also_released, clipping_in_words, note_on_error, results_of, spent_before
from ._space import SearchSpace
from ._table_models import (
    condition_of,
    declared_of,
    depends_on_labels,
    labels_of,
    last_step,
    likely_targets,
    prepared,
    warn_of_model,
    warn_of_search,
    with_budget,
    with_classes,
)
from ._utility import released_hints, warn_of_low_utility

_RELEASED = (
    "best_params_, best_index_, best_score_, best_score_population_interval_, best_score_interval_"
)
_NOT_PROTECTED = (
    "how long the fit took, which says something about how many models were fitted; the number of "
    "records (or groups) and columns, dtypes, group identifiers, classes and bounds; and whatever "
    "else is computed from the records, including another run of this fit"
)


class _Setup(NamedTuple):
    """Scorers by name, the search space, and the budget of the first part."""

    scorers: dict[str, PrivateScorer]
    space: SearchSpace
    first: Spending


class PrivateTableSearchCV(
    DelegatesToBest, ShowsPrivacy, CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator
):
    """Fit, or search, on one table of which every record is protected.

    The best parameters, the score and the fitted model are (epsilon, delta)-differentially private
    with respect to every record (or group of records), and may all be published. The table is cut
    into two parts by row number, or by group. Models that train privately are fitted on the first
    part and compared on the second. Each record lies in one part only, so each part can spend all
    of epsilon. If some records may be used openly, `PrivateBayesSearchCV` is more accurate.

    Parameters
    ----------
    estimator : estimator object
        One that trains privately, as `PrivateLogisticRegression` does, or a pipeline that ends in
        one. The search sets its epsilon, delta and classes.
    param_grid : dict, list of dict or None, default=None
        Parameter names and their values, as in `PrivateBayesSearchCV`. None fits once, with the
        estimator's own parameters, and releases a private score of the model: with few records,
        that is often better than a search, because each fit costs privacy. The estimator's own
        parameters are the first candidate, if they are in the space.
    epsilon : float, default=1.0
        Privacy loss of everything that is released, in total.
    delta : float, default=1e-6
        In [0, 1), and far below 1 divided by the number of records. Most estimators need it.
    scoring : str, PrivateScorer, list, dict or None, default=None
        The metric, as in `PrivateBayesSearchCV`. Label frequencies that it needs are released
        first, with 5 % of the second part's epsilon.
    n_fits : int or None, default=None
        Number of fits. Up to 4 are made exactly, and their costs add up. More are a number on
        average: a random number of random candidates is fitted, only the best model is released,
        and the number stays secret, which makes each fit cheaper. None derives it from the number
        of records and epsilon: 24 if their product is 10,000 or more, else 2 to 4. Models that cost
        no further privacy, such as those of `PrivateRidge` with another `alpha`, are not counted.
    test_size : float or None, default=None
        Share of the records (or groups) in the second part, in (0, 1), as in `train_test_split`. A
        larger one makes the intervals of scores narrower, and the model worse. None: 0.2, or 0.1 if
        the number of records times epsilon is below 10,000.
    score_share : float, default=0.4
        Share of the second part's epsilon for the released score; the choice has the rest. A single
        model is not chosen, and its score has all of it.
    release : {"best", "evaluation"}, default="best"
        What is released of the second part. "best": the chosen model's score. "evaluation": also an
        evaluation of it, as `evaluation_`: what `private_evaluation` returns. Its bins lie where
        made-up records of the declared schema have their scores. Metric and evaluation divide the
        share of epsilon for scores as in `PrivateBayesSearchCV`.
    refit : bool or str, default=True
        Whether to keep `best_estimator_`, the model that was evaluated. With several metrics, the
        name of the one that selects; with False it is the first.
    n_jobs : int or None, default=None
        As in joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds public randomness: the cut of the table, candidates and made-up records. It never
        seeds noise, so results differ between runs.
    verbose : int, default=0
        If positive, a line says how many models are fitted, and how private each is.
    ledger : PrivacyLedger or None, default=None
        Where (epsilon, delta) are charged, before anything is fitted on records.
    prediction : {"auto", "together", "separate"}, default="auto"
        As in `PrivateBayesSearchCV`.

    Attributes
    ----------
    best_params_ : dict
        The chosen candidate (private).
    best_index_ : int
        Its position in `cv_results_` (private).
    best_score_ : float
        Its score on the second part, with noise (private).
    best_score_population_interval_ : tuple of float
        Interval for the score in the population (95 %, private), as for `PrivateBayesSearchCV`:
        models are compared on the records of the second part that give the score, too. If their
        number is secret, its mean takes its place.
    best_score_interval_ : tuple of float
        Contains the score without noise with a probability of 95 % (private).
    best_scores_, best_score_population_intervals_, best_score_intervals_ : dict
        The same for every metric, by name (private). Only if `scoring` is a list or a dict.
    best_estimator_ : estimator
        The chosen model, fitted on the first part (private). Only if refit.
    cv_results_ : dict of arrays
        Candidates. Which of them were fitted is masked if that is secret.
    evaluation_ : ClassifierEvaluation or RegressorEvaluation
        Numbers and figures of the chosen model (private). Only with ``release="evaluation"``.
    privacy_ : PrivacyReport
        The privacy report: print it.
    released_ : SearchResult
        Everything that was released, in one object: ``released_.to_json()`` is a file to publish.
    scorer_ : PrivateScorer, or dict of them
        The metric used. Called as a function, ``scorer_(estimator, X, y)``, it is not private.
    multimetric_ : bool
        Whether `scoring` is a collection of metrics, such as a list or a dict.
    n_splits_ : int
        1: how often records are held out.
    n_features_in_ : int
        Number of features. Only if refit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if all are strings. Only if refit.
    classes_ : ndarray of shape (n_classes,)
        Class labels. Only if refit and a classifier.

    See Also
    --------
    PrivateBayesSearchCV : Estimators without private training, on a public training set.
    sklearn_dpbo.learners : Estimators that train privately.

    Notes
    -----
    Theorem and proof are on the documentation's page "The guarantee for one table".

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn_dpbo import PrivateTableSearchCV
    >>> from sklearn_dpbo.learners import PrivateLogisticRegression
    >>> X, y = make_classification(10_000, n_features=5, random_state=0)
    >>> search = PrivateTableSearchCV(PrivateLogisticRegression(classes=[0, 1])).fit(X, y)
    >>> search.best_score_  # doctest: +SKIP
    0.94
    """

    @own_names
    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        scoring: Any = None,
        n_fits: int | None = None,
        test_size: float | None = None,
        score_share: float = 0.4,
        release: str = "best",
        refit: bool | str = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        ledger: PrivacyLedger | None = None,
        prediction: str = "auto",
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.scoring = scoring
        self.n_fits = n_fits
        self.test_size = test_size
        self.score_share = score_share
        self.release = release
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.ledger = ledger
        self.prediction = prediction

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.sparse = False
        tags.non_deterministic = True
        return tags

    def private_training(self) -> PrivateTraining:
        """Declare the privacy of `fit`, for searches and pipelines around this one."""
        return PrivateTraining("approximate", groups="groups")

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Fit models on one part of the table, and release the best of them, and its score.

        Parameters
        ----------
        X : array of shape (n_samples, n_features) or pandas.DataFrame
            The table: all of its records are protected.
        y : array-like of shape (n_samples,)
            Targets of X.
        groups : array-like of shape (n_samples,), default=None
            Whom each record belongs to. All records of one group (of one patient, for example) are
            then protected together.

        Returns
        -------
        self : PrivateTableSearchCV

        Raises
        ------
        ValueError
            If an argument is malformed, the estimator does not train privately, or a candidate
            fails on made-up records: nothing is fitted on records, released or spent.
        BudgetExceededError, LedgerError
            If the ledger refuses epsilon: nothing is released then.
        """
        refuse_steps_before(self, protects_all=True)
        scorers, space, first = self._setup(groups)
        training = private_training(self.estimator)
        rng = public_generator(self.random_state)
        labels = labels_of(self.estimator, training, y)
        table = self._divide(X, y, groups, training, labels, rng)
        units = table.schema.units
        first.warn_if_weak(units.m, units.name)
        estimator = with_classes(self.estimator, training, labels)
        plan = self._plan(estimator, space, training, units.m, first, rng)
        n_wanted = min(space.n_points, n_listed(space))
        options = FitOptions(
            with_budget(self.estimator, plan, training, labels),
            n_jobs=self.n_jobs,
            prediction=self.prediction,
        )
        report = needs(self.estimator, labels) if self.release == "evaluation" else ()
        even = np.full(len(labels), 1 / len(labels))
        problem = table.problem(even, rng)
        tried = Candidates(options, problem, prepared(scorers, problem), report=report)
        warned = self._try(plan, tried, table, first.epsilon, labels)
        warn_of_search(self, plan, n_wanted, tried)
        second = first.of_other_records()
        with watched(self), note_on_error(lambda: spent_before(first)), ignore_float_errors():
            # Every record pays for releases of its own part: the first part pays for all fits.
            fits = plan.in_words(type(self.estimator).__name__)
            models = first.privately_fitted(Price(1, first.epsilon, first.delta), TRAINING, fits)
            models.charge()
            counts_labels = any(depends_on_labels(scorer, labels) for scorer in scorers.values())
            shares = frequent_labels(table, second) if counts_labels else even
            session = Session.of_table(table, second, shares, rng)
            candidates = session.search(options, prepared(scorers, session.problem), report=report)
            if counts_labels and table.schema.classes:
                candidates.select_by(candidates.scorer.of_shares(shares, session.units.m))
            release, estimator = search_table(plan, session, models, self.score_share)
        also = also_released(self, release, list(scorers))
        privacy = self._report(first, training, plan, session, units, tried.condition, also)
        if hasattr(model := last_step(estimator), "privacy_"):
            model.privacy_ = privacy  # of all that was fitted, not of its own fit
        fitted = results_of(self, release, list(scorers), candidates, privacy)
        replace_fitted(self, fitted | ({"best_estimator_": estimator} if self.refit else {}))
        remember_scored(self, X)
        remember_fitted(self, X)
        remember_fitted(vars(self).get("best_estimator_"), X)
        warn_of_model(estimator, candidates, labels, rng)
        scores = [released.score for released in release.scores]
        hints = released_hints(candidates, scores, (), compares=len(plan.params) > 1)
        warn_of_low_utility(release.hints + (() if warned else hints))
        return self

    def _setup(self, groups: Any) -> _Setup:
        """Check the parameters, and set up scorers, space and the budget of the first part."""
        check_parameters(self)
        if self.release == "all":
            raise ValueError(
                'release="all" needs candidates that cost nothing to fit; with one protected table '
                'release is "best" or "evaluation"'
            )
        if not self.score_share <= 1 - LABEL_SHARE - 1e-6:
            raise ValueError(
                f"score_share must be less than {1 - LABEL_SHARE}, as the choice needs the rest; "
                f"found {self.score_share!r}"
            )
        scorers = scorers_of(self)
        grid = {} if self.param_grid is None else self.param_grid
        space = space_of(grid, self.estimator)
        first = Spending.begin(
            self.ledger,
            self.epsilon,
            self.delta,
            what="a fitted model and its score",
            mechanism=type(self).__name__,
            unit=unit_name(groups),
            estimator=self.estimator,
        )
        return _Setup(scorers, space, first)

    def _divide(
        self,
        X: Any,
        y: Any,
        groups: Any,
        training: PrivateTraining,
        labels: NDArray[Any],
        rng: np.random.Generator,
    ) -> TableOwner:
        """Divide the table into two parts, and return their owner."""
        if groups is not None and training.groups is None:
            raise ValueError(
                f"{type(self.estimator).__name__} protects single records and no groups: leave "
                "groups out if each record is another person's, or keep one record of each"
            )
        n_val = partial(held_out, epsilon=self.epsilon, share=self.test_size)
        classifies = is_classifier(self.estimator)
        levels = declared_of(self.estimator, X)
        name = None if groups is None else str(training.groups)
        return TableOwner.dividing(X, y, groups, labels, classifies, n_val, rng, levels, name=name)

    def _plan(
        self,
        estimator: Any,
        space: SearchSpace,
        training: PrivateTraining,
        m: int,
        first: Spending,
        rng: np.random.Generator,
    ) -> Plan:
        """Plan the fits, and print the plan if `verbose`."""
        plan = plan_fits(
            space,
            training,
            first.epsilon,
            first.delta,
            n_fits=self.n_fits or default_fits(m, self.epsilon),
            n_candidates=n_listed(space),
            first=estimator.get_params(deep=True),
            declared=lambda fit: private_training(set_candidate(clone(estimator), fit.params)),
            rng=rng,
        )
        if self.verbose:
            print(plan.in_words(type(self.estimator).__name__), flush=True)
        return plan

    def _try(
        self, plan: Plan, tried: Candidates, table: TableOwner, epsilon: float, labels: NDArray[Any]
    ) -> bool:
        """Fit and score all candidates on made-up records; return True if that warned.

        It warns if intervals of scores will be wide. Their width can be expected for means and, as
        targets have bounds, for regressors.
        """
        share = 1.0 if plan.has_one_model else self.score_share
        tried.design = Design.of(tried, share * epsilon)
        with warnings.catch_warnings():  # a fit's own budget is not what is spent
            warnings.filterwarnings("ignore", ".* promise little", PrivacyWarning)
            warnings.simplefilter("ignore", LowUtilityWarning)  # of made-up records
            try_out(plan.fits, table.schema.fit_params, tried)
        means = all(scorer.is_mean for scorer in tried.scorers)
        if tried.report or not (means or is_regressor(self.estimator)):
            return False
        return warn_of_expected_width(
            lambda e: expected_widths(tried, None if means else likely_targets(labels), share * e),
            table.schema.units,
            epsilon,
            "" if means else ", if targets have a deviation of a sixth of their bounds",
        )

    def _report(
        self,
        first: Spending,
        training: PrivateTraining,
        plan: Plan,
        session: Session,
        units: Units,
        condition: str,
        also: str,
    ) -> PrivacyReport:
        """Make the privacy report of both parts."""
        model = " and best_estimator_" if self.refit else ""
        return report_of(
            first.spent,
            title="Differentially private hyper-parameter search on one table",
            unit=units.name,
            m=units.m,
            data="table",
            condition=condition_of(self.estimator, training, self.prediction) + condition,
            protected=session.problem.protected,
            not_protected=_NOT_PROTECTED,
            released=clipping_in_words(session.candidates.scorers) + also + _RELEASED + model,
            spends=(*first.spent.spends, *session.spent.spends),
            noise=f"{first.spent.noise}; of the models: {training.noise}" + plan.in_bits,
        )
