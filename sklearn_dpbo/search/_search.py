"""`PrivateBayesSearchCV`, whose `fit` shows the complete flow of data (zone: released)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin

from ..metrics.evaluations._design import needs
from ..prediction.progress import CallbackSupportMixin, watched
from ..privacy.ledger._ledger import PrivacyLedger
from ..privacy.report._html import ShowsPrivacy
from ..privacy.report._report import TRAINING_NOT_PROTECTED
from ..records.remembered import remember_fitted, remember_scored
from ..records.subgroups import Subgroups
from ._delegation import (
    DelegatesToBest,
    RoutesToEstimator,
    replace_fitted,
)
from ._parameters import own_names, prepare_scorer, setup_of
from ._release import Design
from ._results import (
    already_released,
    also_released,
    clipping_in_words,
    note_on_error,
    results_of,
    spent_before,
)
from ._strategy import Strategy, Task
from ._utility import warn_of_low_utility

_TIMED = " How many were explored depends on how long fits on the training set took (timeout)."


class PrivateBayesSearchCV(
    DelegatesToBest,
    RoutesToEstimator,
    ShowsPrivacy,
    CallbackSupportMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Hyper-parameter search with differential privacy.

    The search fits candidates on a training set and scores them on a validation set. The training
    set is not protected; the validation set is: `best_params_` and `best_score_` are
    (epsilon, delta)-differentially private for each record (or group of records) of it. If the
    training set is sensitive, too, use `PrivateTableSearchCV`.

    Parameters
    ----------
    estimator : estimator object
        With scikit-learn's interface, and picklable. Parts of it that are not listed are called on
        one record at a time (see `prediction`). Its predictions must not leave anything behind in
        module globals or files.
    param_grid : dict or list of dict
        Parameter names and their values: lists (categories) or scipy.stats distributions, also
        mixed. scikit-optimize's dimensions and Optuna's distributions will do, too. A list has at
        most 20,000 values. A list of dicts is a conditional space. A grid of lists is evaluated
        completely, unless `n_iter` is smaller; in a larger space, the strategy chooses candidates.
    epsilon : float, default=1.0
        Privacy loss of everything that is released, in total.
    delta : float, default=0.0
        In [0, 1). The worst-case strategy needs none, and uses it only with ``release="all"``.
    strategy : "worst_case" or Strategy, default="worst_case"
        How to search. An object sets the strategy's parameters, e.g.
        ``WorstCase(guidance="none", score_share=0.5)``.
    n_iter : int or None, default=None
        Maximum number of fits, which is not the number of candidates: a third of the fits explore
        within the training set, and good candidates are then fitted again, on the whole of it, to
        be validated. Of ``n_iter=8``, three explore and five candidates are validated. None
        validates each candidate of a grid of lists, and explores none; it is 64 if there is a
        distribution or the grid has more than 100,000. If it is smaller than the grid, a warning
        says so. Not counted are fits within the training set that show, where nothing is explored,
        how candidates predict: for scores such as "f1", "roc_auc" or "r2" one for each candidate
        that is validated, up to 32; for "accuracy" one for every six. `WorstCase(public_scores=)`
        says which.
    scoring : str, PrivateScorer, list, dict or None, default=None
        The metric. None is accuracy for classifiers and R2 for regressors. Otherwise a name, such
        as "f1", "roc_auc" or "neg_mean_absolute_error" (the documentation's page "Choose a
        metric" lists all), a scorer of scikit-learn, or a result of `make_private_scorer`. Several
        metrics, as a list or a dict of names, are all released for the chosen candidate; they
        divide the share of epsilon that scores have.
    n_jobs : int or None, default=None
        As in joblib. The result does not depend on it.
    refit : bool or str, default=True
        Whether to keep `best_estimator_`, fitted on the training set (never on validation records).
        With several metrics, the name of the one that selects; with False it is the first.
    cv : splitter or iterable of one (train, test) pair, default=None
        What to hold out if `fit` gets no X_val. It must make exactly one split. None holds out a
        quarter of the rows, selected by row number, and raises a `PrivacyWarning`.
    verbose : int, default=0
        If positive, a line is printed per candidate fitted, with its number among all such fits,
        and what it was fitted for: "fitted to be validated" or "explored within the training set".
        Nothing printed depends on the validation set.
        scikit-learn's callbacks (`set_callbacks`, from version 1.9 on) work without it.
    error_score : "raise" or float, default=np.nan
        What a failed fit does: raise, or warn. A failed candidate is never chosen.
    random_state : int, RandomState instance or None, default=None
        Seeds public randomness: candidates, and the splits of the training set and of the default
        hold-out set. It never seeds noise, so results differ between runs.
    ledger : PrivacyLedger or None, default=None
        Where (epsilon, delta) are charged, before any noise is generated.
    prediction : {"auto", "together", "separate"}, default="auto"
        How a candidate predicts the validation set, so that no record has a part in what another
        gets. "auto": parts of the model of which it is known that they treat each record by itself
        (most estimators of scikit-learn) are called on all records at once, and all others (a class
        of your own, your function in a `FunctionTransformer`, `NMF`) on one record (or group) at a
        time, beside training records. "separate": so is the whole model, whatever it consists of.
        "together": everything is called on all records at once, if you know that your own code,
        too, treats each record by itself; a check on training records finds honest mistakes.
    release : {"best", "evaluation", "all"}, default="best"
        What is released besides the choice, without more epsilon. "best": the chosen candidate's
        score. "evaluation": also an evaluation of it, as `evaluation_`: what `private_evaluation`
        returns. Some metrics follow from its counts ("roc_auc", "average_precision", "f1" and
        other functions of the confusion matrix of two classes): then metric and evaluation
        together have the share of epsilon for scores. Otherwise each has half of it. "all": the
        scores of every validated candidate, as columns ``mean_test_score``, ``low_test_score``,
        ``high_test_score`` and ``rank_test_score`` of `cv_results_`. They share the epsilon for
        scores, so the noise of each grows with the number of candidates (with its square root if
        delta > 0). The choice keeps its own share, because it is more accurate without that noise.
        Candidates then predict the validation set twice. Only `WorstCase` releases more than
        "best".
    timeout : float or None, default=None
        Seconds after which the exploration within the training set ends; what is being fitted then
        is finished, and as many candidates as without it, or fewer, are validated. The result then
        depends on how fast the machine is, too. An error says if nothing is explored.

    Attributes
    ----------
    best_params_ : dict
        The chosen candidate (private).
    best_index_ : int
        Its position in `cv_results_` (private).
    best_score_ : float
        Its validation score with noise, within the scorer's bounds (private). Large losses count
        as ``scorer_.clipping`` says: "each error above 12.3 counted as 12.3". With strategies other
        than `WorstCase`, the score that they release, if any; see `privacy_`.
    best_score_population_interval_ : tuple of float
        Interval for the score in the population that the validation set is a random sample of
        (95 %, private): it covers noise, sampling, and the choice. The best of T validated
        candidates is chosen for being lucky, too, so its lower end misses with a T-th of the
        probability. NaN with strategies of other papers (Kusner et al.): what they release has
        errors that are not known to be those of a score of these records. Of "r2" and
        "explained_variance", longer than need be, as ``release="evaluation"`` counts more sums.
    best_score_interval_ : tuple of float
        Contains the score of these validation records without noise with a probability of 95 %
        (private).
    best_scores_, best_score_population_intervals_, best_score_intervals_ : dict
        The same for every metric, by name (private). Only if `scoring` is a list or a dict. A
        metric that does not select may have been moved either way by the choice: both ends of its
        interval for the population allow for that.
    best_estimator_ : estimator
        Fitted on the training set with `best_params_`. With `WorstCase`, it is the model that was
        evaluated. Not protected. Only if refit.
    cv_results_ : dict of arrays
        Candidates tried, in order; failures; whether each was scored on the validation set
        (``validated``), otherwise its score within the training set (``public_score``) and its fit
        time. All of it is public or released; it has no validation scores, except with
        ``release="all"``. It has no times of anything that ran during or after predictions on the
        validation set, because these times could reveal something about the records.
    choice_counts_ : ndarray of shape (n_classes, n_classes) or (n_classes,), or None
        Released before the choice, with noise, because class shares and errors may differ from
        those in the training set (private): the validation set's confusion matrix of a candidate
        that is good within the training set, or, for metrics of ranks, how many records each class
        has. None if the metric does not need it, or if there are too few records to show it.
    evaluation_ : ClassifierEvaluation or RegressorEvaluation
        Numbers and figures of the chosen candidate (private). Only with
        ``release="evaluation"``.
    privacy_ : PrivacyReport
        The privacy report: print it.
    released_ : SearchResult
        Everything that was released, in one object: ``released_.to_json()`` is a file to publish.
    scorer_ : PrivateScorer, or dict of them
        The metric used, as released. Called as a function, ``scorer_(estimator, X, y)``, it is
        exact and not private; its attribute `clipping` says what larger losses count as.
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
    PrivateTableSearchCV : One table, all of whose records are protected.
    make_private_scorer : Metrics with known sensitivity.
    public : Marks arguments of `fit`, such as `eval_set`, as public.
    plan_search : How many validation records, which epsilon, how many candidates.
    sklearn.model_selection.GridSearchCV : Search without privacy.

    Notes
    -----
    Theorem, proof and conditions are on the documentation's page "The guarantee".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn_dpbo import PrivateBayesSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, X_val, y, y_val = train_test_split(X, y, test_size=0.5, random_state=0)
    >>> search = PrivateBayesSearchCV(
    ...     LogisticRegression(solver="liblinear"), {"C": [0.01, 0.1, 1.0, 10.0]}, epsilon=2.0
    ... ).fit(X, y, X_val=X_val, y_val=y_val)
    >>> search.best_params_, search.best_score_  # doctest: +SKIP
    ({'C': 10.0}, 0.954)
    """

    @own_names
    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        strategy: str | Strategy = "worst_case",
        n_iter: int | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str = True,
        cv: Any = None,
        verbose: int = 0,
        error_score: Any = np.nan,
        random_state: Any = None,
        ledger: PrivacyLedger | None = None,
        prediction: str = "auto",
        release: str = "best",
        timeout: float | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.strategy = strategy
        self.n_iter = n_iter
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.refit = refit
        self.cv = cv
        self.verbose = verbose
        self.error_score = error_score
        self.random_state = random_state
        self.ledger = ledger
        self.prediction = prediction
        self.release = release
        self.timeout = timeout

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        groups_val: Any = None,
        subgroups_val: Any = None,
        subgroups: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Search, release the result with noise, and refit on the training set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training set: not protected. Without X_val, a part of it is held out as the
            validation set (see `cv`).
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets of X.
        X_val : array-like of shape (n_val, n_features), default=None
            The validation set: protected, and used for scores only.
        y_val : array-like of shape (n_val,) or (n_val, n_outputs), default=None
            Targets of X_val: protected.
        groups_val : array-like of shape (n_val,), default=None
            Whom each validation record belongs to. All records of one group (of one patient, for
            example) are then one privacy unit. Without X_val: one entry for each row of X.
        subgroups_val, subgroups : default=None
            As for `private_evaluation`: `evaluation_` then has scores by subgroup. Only with
            ``release="evaluation"``. Without X_val: one entry for each row of X.
        **fit_params : dict
            For the estimator's `fit`, or for metadata routing. Arrays with one entry for each row
            of X, such as weights, are split as X is. Otherwise a number, text, None, or anything
            that is marked as public, as in ``eval_set=public([(X_stop, y_stop)])``.

        Returns
        -------
        self : PrivateBayesSearchCV

        Raises
        ------
        TypeError
            If protected records are given by position, or by another name.
        ValueError
            If an argument is malformed, or one that may hold records is not marked as public:
            nothing is fitted, released or spent. Also if a candidate does not predict row by row,
            or if all candidates fail: nothing is released or spent.
        """
        setup = setup_of(self, groups_val)
        checked_subgroups = Subgroups.of(subgroups, subgroups_val)
        evaluates = self.release == "evaluation"
        if checked_subgroups and not evaluates:
            raise ValueError('subgroups are a part of the evaluation: set release="evaluation"')
        validation = {"X_val": X_val, "y_val": y_val, "groups_val": groups_val}
        validation |= {"subgroups_val": subgroups_val, "subgroups": checked_subgroups}
        session, rng = self._hold_out(X, y, fit_params, setup.spending, **validation)
        y = session.training.y
        candidates = session.search(
            setup.options,
            [prepare_scorer(scorer, session) for scorer in setup.scorers.values()],
            report=needs(self.estimator, y, checked_subgroups) if evaluates else (),
            releases_all=self.release == "all",
        )
        candidates.design = Design.of(candidates, session.epsilon)  # if the strategy sets no other
        n_fits = int(min(setup.n_iter, setup.space.n_points))
        names = list(setup.scorers)
        with watched(self, n_fits, self.verbose) as candidates.progress:
            with note_on_error(lambda: spent_before(session)):
                task = Task(setup.space, session, setup.n_iter, rng, self.timeout)
                release = setup.strategy.run(task)
            scorers = release.scorers or candidates.scorers
            clipping = clipping_in_words(scorers) if release.scores else ""
            timed = "" if self.timeout is None else _TIMED
            privacy = session.report(
                condition=candidates.condition,
                title="Differentially private hyper-parameter search",
                not_protected=TRAINING_NOT_PROTECTED.format("best_estimator_"),
                released=clipping
                + also_released(self, release, names)
                + setup.strategy.released
                + timed,
                assumption=setup.strategy.assumption,
            )
            fitted = results_of(self, release, names, candidates, privacy)
            with note_on_error(lambda: already_released(fitted)):
                if self.refit:
                    fitted["best_estimator_"] = candidates.fitted(fitted["best_params_"])
            replace_fitted(self, fitted)
            remember_scored(self, X_val)
            remember_fitted(self, X)
            remember_fitted(vars(self).get("best_estimator_"), X)
        warn_of_low_utility(release.hints)
        return self
