"""The side that holds no records: adds up what sites release (zone: released)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn.base import clone

from .._data.fit_parameters import check_fit_params
from .._data.split import Training
from .._data.tables import n_rows
from .._evaluation.fitting import fit
from .._privacy.noisy_counts import NoisyCounts
from .._sklearn.delegation import replace_fitted
from ..papers.kharkovskii2020._offers import MessageError
from ..scoring._scorers import CONFIDENCE, Score, score_and_interval
from ._answers import Counts, Vote
from ._messages import VERSION, check_message
from ._plan import Plan, checked_names, refuse_in_process, together
from ._reports import site_report
from ._result import Result
from ._votes import n_finalists, ranked

__all__ = ["FederatedCoordinator"]


class FederatedCoordinator:
    """The coordinator of a `PrivateFederatedSearch`: asks the sites and adds up their answers.

    It holds no records. `ask` returns the next message for a site, and `tell` receives the answer
    of the `FederatedSite`. Nobody has to trust the coordinator: it learns votes and noisy counts
    only.

    Parameters
    ----------
    search : PrivateFederatedSearch
        The same as at the sites. It is not fitted.
    X, y : array-like
        The training set and its targets, which are public.
    sites : iterable of str
        Names of the sites.
    **fit_params : dict
        For the estimator's `fit`, as in `PrivateBayesSearchCV.fit`.

    Attributes
    ----------
    sites : list of str
        Names of the sites that have not been dropped.
    waiting : list of str
        Sites whose answer is needed before anything else can be asked.
    done : bool
        Whether all sites have answered.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_dpbo import PrivateFederatedSearch
    >>> from sklearn_dpbo.federated import FederatedCoordinator, FederatedSite
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> public = X[:169], y[:169]
    >>> search = PrivateFederatedSearch(
    ...     LogisticRegression(solver="liblinear"), {"C": [0.01, 0.1, 1.0]}, epsilon=2.0
    ... )
    >>> records = {"north": slice(169, 369), "south": slice(369, 569)}
    >>> sites = {
    ...     name: FederatedSite(search, *public, X_val=X[rows], y_val=y[rows], name=name)
    ...     for name, rows in records.items()
    ... }
    >>> coordinator = FederatedCoordinator(search, *public, sites=records)
    >>> while not coordinator.done:
    ...     for name in coordinator.waiting:
    ...         coordinator.tell(name, sites[name].answer(coordinator.ask(name)))
    >>> coordinator.result().best_params_  # doctest: +SKIP
    {'C': 1.0}
    """

    def __init__(
        self, search: Any, X: Any, y: Any = None, *, sites: Iterable[str], **fit_params: Any
    ) -> None:
        self._plan, self._search = Plan.of(search), search
        refuse_in_process(self._plan)
        self.sites = checked_names(sites)
        check_fit_params(fit_params, n_rows(X))
        self._training = Training(X, y, fit_params)
        self._scorer = self._plan.prepared(y)
        self._votes: dict[str, Vote] = {}
        self._finalists: list[int] = []
        self._counts: dict[str, Counts] = {}
        self._told: dict[tuple[str, str], dict[str, Any]] = {}

    @property
    def waiting(self) -> list[str]:
        """Sites whose answer is missing before anything else can be asked."""
        missing = [name for name in self.sites if name not in self._votes]
        return missing or [name for name in self.sites if name not in self._counts]

    @property
    def done(self) -> bool:
        """Whether all have answered."""
        return not self.waiting

    def ask(self, site: str) -> dict[str, Any] | None:
        """Return the next message for a site, or None while others have to answer first.

        The message stays the same until the site has answered. The last message is the result.
        """
        self._check_site(site)
        ask = {"type": "ask", "version": VERSION}
        if site not in self._votes:
            return {**ask, "what": "vote", "plan": self._plan.facts}
        if any(name not in self._votes for name in self.sites):
            return None
        if site not in self._counts:
            return {**ask, "what": "counts", "candidates": self._decided()}
        if self.waiting:
            return None
        best, scores = self._scored()
        (score, interval), done = scores[best], {"type": "done", "version": VERSION}
        return {**done, "candidate": best, "score": score, "interval": list(interval)}

    def tell(self, site: str, message: dict[str, Any]) -> None:
        """Receive the answer of a site.

        The site's name is as the connection has verified it, and not taken from the message. The
        same answer may arrive twice. A message that is malformed, was not asked for, or differs
        from what the site said before raises MessageError, and changes nothing.
        """
        self._check_site(site)
        check_message(message, "tell")
        what = str(message.get("what"))
        if (site, what) in self._told:
            if message != self._told[site, what]:
                raise MessageError(f"the site {site!r} has already sent a different answer: {what}")
            return
        if what == "counts" and self._finalists:
            arguments = self._plan, self._scorer, self._training.y, self._finalists
            self._counts[site] = Counts.read(message, self._votes[site], *arguments)
        else:
            check_message(message, "tell", "vote")
            vote = Vote.read(message, len(self._plan.candidates))
            others = [each.units for name, each in self._votes.items() if name != site]
            together(self._scorer, [*others, vote.units])
            self._votes[site] = vote
        self._told[site, what] = message

    def drop(self, site: str) -> None:
        """Go on without a site, for good. What it has spent is spent.

        Before the finalists are known, its vote does not count; afterwards its vote has counted,
        and the score is that of the other sites.
        """
        self._check_site(site)
        if len(self.sites) == 1:
            raise ValueError(f"{site!r} is the only remaining site and cannot be dropped")
        self.sites.remove(site)
        self._counts.pop(site, None)
        if not self._finalists:
            self._votes.pop(site, None)

    def result(self) -> Any:
        """Return a clone of the search, fitted: with `best_params_` and all others."""
        found = self.released()
        fitted = found.attributes()
        if self._search.refit:
            candidate = self._plan.options.candidate(fitted["best_params_"])
            fitted["best_estimator_"] = fit(candidate, self._training)
        search = clone(self._search)
        replace_fitted(search, fitted)
        return search

    def released(self) -> Result:
        """Return what follows from the answers of all sites."""
        if self.waiting:
            raise ValueError(
                f"the sites {self.waiting} have not answered yet; drop(name) goes on without one"
            )
        best, scores = self._scored()
        reports = {
            name: site_report(self._plan, name, self._votes[name].units, counts.spent)
            for name, counts in self._counts.items()
        }
        votes = {name: vote.candidate for name, vote in self._votes.items()}
        return Result(self._plan, self._scorer, best, scores, reports, votes, self._failed)

    def _check_site(self, site: str) -> None:
        if site not in self.sites:
            raise ValueError(f"site must be one of {self.sites}; found {site!r:.100}")

    @property
    def _failed(self) -> frozenset[int]:
        """Candidates that could not be fitted at some site."""
        return frozenset[int]().union(*(vote.failed for vote in self._votes.values()))

    def _decided(self) -> list[int]:
        """Return the finalists; they are decided when all have voted, once."""
        if not self._finalists:
            votes = {name: vote.candidate for name, vote in self._votes.items()}
            m = {name: vote.units.m for name, vote in self._votes.items()}
            named = [c for c in ranked(votes, m, self._plan.weights) if c not in self._failed]
            if not named:
                raise ValueError(
                    f"every candidate that has a vote failed to fit at some site: {votes}"
                )
            self._finalists = named[: self._most_finalists()]
        return list(self._finalists)

    def _most_finalists(self) -> int:
        if self._plan.finalists is not None:
            return self._plan.finalists
        pooled = together(self._scorer, [vote.units for vote in self._votes.values()])
        steps = self._scorer.query.largest(pooled) / self._scorer.query.sensitivity(pooled)
        return n_finalists(len(self._votes), steps, self._plan.epsilon * self._plan.score_share)

    def _scored(self) -> tuple[int, dict[int, Score]]:
        """Return the best finalist, and the scores of all with intervals.

        All intervals hold together: the best one is chosen by what was released.
        """
        confidence = 1 - (1 - CONFIDENCE) / len(self._finalists)
        units = together(self._scorer, [self._votes[name].units for name in self._counts])
        scores = {}
        for candidate in self._finalists:
            noisy = NoisyCounts.added([each.noisy[candidate] for each in self._counts.values()])
            scores[candidate] = score_and_interval(self._scorer, units, noisy, confidence)
        return max(scores, key=lambda candidate: scores[candidate][0]), scores
