"""`PrivateFederatedSearch`: all sites in one process (zone: released)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin

from ..ledger._ledger import PrivacyLedger
from ..search._delegation import DelegatesToBest, refuse_steps_before, replace_fitted
from ..search._results import already_released, note_on_error
from ..strategies._utility import noise_hints, warn_of_low_utility
from ._coordinator import FederatedCoordinator
from ._plan import Plan, checked_names, together
from ._site import FederatedSite, evaluate

__all__ = ["PrivateFederatedSearch"]


class PrivateFederatedSearch(DelegatesToBest, MetaEstimatorMixin, BaseEstimator):
    """Private hyper-parameter search on the validation records of several sites.

    The training set and the list of candidates are public. Each site votes for the candidate that
    is best on its own validation records (permute-and-flip). The two candidates with the most votes
    are the finalists; each site releases its counts for them with discrete Laplace noise. The noisy
    counts are added, and the better finalist wins. Votes and counts together are pure epsilon-DP
    with respect to one record (or group of records) of any site, whoever sees them. No party has to
    be trusted, and nothing is encrypted. If one party may see all records, let it make a
    `PrivateBayesSearchCV` of them: that has far less noise.

    `fit` runs all sites in one process. On several machines, use a `federated.FederatedSite` at
    each site and one `federated.FederatedCoordinator`, all made from the same search. For the
    theorem, its proof, and what a malicious party can do, see the documentation, "Search across
    several hospitals".

    Parameters
    ----------
    estimator : estimator object
        Fitted on the training set at every site. Give it a random_state, so that all sites fit the
        same models. It must predict row by row, and be picklable.
    param_grid : dict or list of dict
        As in `PrivateBayesSearchCV`. All candidates of a grid are evaluated, unless n_iter is less;
        a larger space is sampled, with the estimator's own parameters.
    epsilon : float, default=1.0
        Privacy loss of each record at its site. A person with records at two sites loses up to
        twice as much.
    n_iter : int or None, default=None
        Largest number of candidates. None means all of a grid, or 64 if there is a distribution.
    scoring : str, PrivateScorer or None, default=None
        A metric that is counted record by record, so that the counts of sites add up: an average of
        gains such as "accuracy", a function of the confusion matrix such as "f1", or "r2". None
        means accuracy for classifiers and R2 for regressors.
    score_share : float, default=0.4
        Share of epsilon, in (0, 1), for the counts. The vote gets the rest.
    n_jobs, refit : int or None, bool, default=None and True
        As in scikit-learn: whether to keep `best_estimator_`, fitted on the training set.
    error_score : "raise" or float, default=np.nan
        If a fit fails, "raise" raises its error; otherwise the search warns. A failed candidate is
        never chosen.
    random_state : int, RandomState instance or None, default=None
        For public randomness: which candidates are sampled. Never for noise.
    prediction : {"auto", "together", "separate"}, default="auto"
        How candidates predict validation sets, as in `PrivateBayesSearchCV`.

    Attributes
    ----------
    best_params_, best_index_ : dict, int
        The chosen candidate and its position in `cv_results_` (private).
    best_score_, best_score_interval_ : float, tuple of float
        Its score on the records of all sites, with noise (private), and an interval that contains
        the score without noise with probability 95 % (private). Large losses count as
        ``scorer_.clipping`` says.
    votes_, finalists_ : dict of str to int, list of int
        Which candidate each site voted for, and those that were counted, the one with the most
        votes first (private).
    cv_results_ : dict of arrays
        The candidates and, if there are two finalists, their noisy scores and intervals:
        ``mean_test_score``, ``low_test_score``, ``high_test_score`` (private).
    privacy_ : dict of str to PrivacyReport
        One privacy report for each site: print it. Only after `fit`.
    best_estimator_ : estimator
        Fitted on the training set with `best_params_`. Only if refit.
    scorer_ : PrivateScorer
        The metric. Calling it as ``scorer_(estimator, X, y)`` is not private.
    multimetric_, n_splits_ : bool, int
        Always False and 1.
    n_features_in_, feature_names_in_, classes_ : int, ndarray, ndarray
        Those of `best_estimator_`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_dpbo import PrivateFederatedSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> sites = {"north": (X[169:369], y[169:369]), "south": (X[369:], y[369:])}
    >>> search = PrivateFederatedSearch(
    ...     LogisticRegression(solver="liblinear"), {"C": [0.01, 0.1, 1.0, 10.0]}, epsilon=2.0
    ... ).fit(X[:169], y[:169], sites=sites)
    >>> search.best_params_, search.best_score_  # doctest: +SKIP
    ({'C': 10.0}, 0.936)
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        epsilon: float = 1.0,
        n_iter: int | None = None,
        scoring: Any = None,
        score_share: float = 0.4,
        n_jobs: int | None = None,
        refit: bool = True,
        error_score: Any = np.nan,
        random_state: Any = None,
        prediction: str = "auto",
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.n_iter = n_iter
        self.scoring = scoring
        self.score_share = score_share
        self.n_jobs = n_jobs
        self.refit = refit
        self.error_score = error_score
        self.random_state = random_state
        self.prediction = prediction

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sites: Mapping[str, Any] | None = None,
        ledgers: Mapping[str, PrivacyLedger | None] | None = None,
        **fit_params: Any,
    ) -> Self:
        """Let all sites vote and count, and refit the best candidate on the training set.

        Parameters
        ----------
        X, y : array-like
            The training set and its targets: not protected.
        sites : mapping of str to tuple
            The protected records of each site, by its name: ``(X_val, y_val)``, or ``(X_val,
            y_val, groups_val)`` to protect all records of a group (for example, of a patient)
            together. No record may be at two sites.
        ledgers : mapping of str to PrivacyLedger or None, default=None
            The ledger of each site that has one, by the site's name.
        **fit_params : dict
            For the estimator's `fit`, as in `PrivateBayesSearchCV.fit`.

        Raises
        ------
        BudgetExceededError, LedgerError
            If a ledger refuses epsilon. The error's notes name the sites that have been charged.
            With any other error, nothing has been released or spent.
        """
        refuse_steps_before(self)
        plan = Plan.of(self)
        records = _records(sites)
        ledgers = dict(ledgers or {})
        if unknown := [name for name in ledgers if name not in records]:
            raise ValueError(f"ledgers must be for the sites {list(records)}; found {unknown}")
        held = {
            name: FederatedSite(
                plan, X, y, **given, name=name, ledger=ledgers.get(name), **fit_params
            )
            for name, given in records.items()
        }
        coordinator = FederatedCoordinator(plan, X, y, sites=held)
        units = together(coordinator._scorer, [site._units for site in held.values()])
        with note_on_error(lambda: _charged(held)):
            evaluate(list(held.values()))
            while not coordinator.done:
                for name in coordinator.waiting:
                    answer = held[name].answer(coordinator.ask(name) or {})
                    coordinator.tell(name, answer or {})
        fitted = coordinator._attributes()
        fitted["privacy_"] = {name: site.privacy_ for name, site in held.items()}
        with note_on_error(lambda: already_released(fitted)):
            if self.refit:
                oracle = next(iter(held.values()))._evaluator
                fitted["best_estimator_"] = oracle.fitted(fitted["best_params_"])
        replace_fitted(self, fitted)
        if len(plan.candidates) > 1:
            largest = max((site._units for site in held.values()), key=lambda each: each.m)
            scorer, epsilon = self.scorer_, plan.epsilon - plan.epsilon_of_counts
            interval = self.best_score_interval_
            warn_of_low_utility(
                noise_hints(scorer, largest, (), epsilon=epsilon)
                + noise_hints(scorer, units, (), interval=interval)
            )
        return self


def _records(sites: Any) -> dict[str, dict[str, Any]]:
    """Return X_val, y_val and groups_val of each site, by name."""
    if not isinstance(sites, Mapping):
        raise ValueError(
            "sites must be a dict from names to records, {'north': (X_val, y_val), ...}; found "
            f"{type(sites).__name__}"
        )
    for name in checked_names(sites):
        if not isinstance(sites[name], tuple | list) or len(sites[name]) not in (2, 3):
            raise ValueError(
                f"the records of a site must be (X_val, y_val) or (X_val, y_val, groups_val); "
                f"found {type(sites[name]).__name__} for {name!r}"
            )
    names = "X_val", "y_val", "groups_val"
    return {name: dict(zip(names, given, strict=False)) for name, given in sites.items()}


def _charged(held: Mapping[str, FederatedSite]) -> str:
    """Return a sentence that names the sites that were charged, or an empty string."""
    names = [name for name, site in held.items() if site._mechanisms.budget.reserved]
    return f"epsilon counts as spent at the sites {names}; there is no result" if names else ""
