"""The side that holds no records: adds up what sites release (zone: released)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from .._data.fit_parameters import check_fit_params
from .._data.split import Training
from .._data.tables import dense, n_rows, take_rows
from .._data.units import Units
from .._evaluation.fitting import fit
from .._privacy.noisy_counts import NoisyCounts
from ..scoring._scorers import CONFIDENCE, Score, score_and_interval
from ..search._delegation import replace_fitted
from ..search._results import fitted_attributes
from ..strategies._base import Candidate, Release
from ._messages import VERSION, MessageError, check_message, number, numbers
from ._plan import Plan, checked_names, together, units_of

__all__ = ["FederatedCoordinator"]

# Two finalists cost little, and nothing if all sites vote for the same candidate.
_N_FINALISTS = 2
# Largest number of units of a site, and largest count, that is believed.
_MOST_UNITS, _LARGEST_COUNT = 2**40, 2**62
# A ledger may have rounded a site's epsilon down: its noise is larger by this much at most.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class _Vote:
    """One site's vote, the candidates that failed there, and its protected units."""

    candidate: int
    failed: frozenset[int]
    units: Units

    @classmethod
    def read(cls, message: dict[str, Any], n: int) -> Self:
        unit, failed = message.get("unit"), numbers("failed", message.get("failed"), n)
        (candidate,) = numbers("candidate", [message.get("candidate")], n)
        within = f"from 1 to {_MOST_UNITS}"
        m = number("m", message.get("m"), within, lambda m: 1 <= m <= _MOST_UNITS)
        if candidate in failed or unit not in ("record", "group"):
            raise MessageError(
                "a vote must be for a candidate that could be fitted, of a site whose unit is "
                f"'record' or 'group'; found {message!r:.200}"
            )
        return cls(candidate, frozenset(failed), units_of(m, unit == "group"))


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
    >>> from sklearn_dpbo.objective import FederatedCoordinator, FederatedSite
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
        self.sites = checked_names(sites)
        check_fit_params(fit_params, n_rows(X))
        self._training = Training(X, y, fit_params)
        self._scorer = self._plan.prepared(y)
        self._votes: dict[str, _Vote] = {}
        self._finalists: list[int] = []
        self._counts: dict[str, list[tuple[int, ...]]] = {}

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
        ask, waiting = {"type": "ask", "version": VERSION}, self.waiting
        if waiting and site not in waiting:
            return None
        if site not in self._votes:
            return {**ask, "what": "vote", "plan": self._plan.facts}
        if waiting:
            return {**ask, "what": "counts", "candidates": self._decided()}
        best, scores = self._scored()
        (score, interval), done = scores[best], {"type": "done", "version": VERSION}
        return {**done, "candidate": best, "score": score, "interval": list(interval)}

    def tell(self, site: str, message: dict[str, Any]) -> None:
        """Receive the answer of a site.

        The site's name is as the connection has verified it, and not taken from the message. A
        message that is malformed or was not asked for, or a second answer, raises MessageError, and
        changes nothing.
        """
        self._check_site(site)
        check_message(message, type="tell", version=VERSION)
        if site not in self._votes:
            check_message(message, what="vote")
            vote = _Vote.read(message, len(self._plan.candidates))
            together(self._scorer, [*(each.units for each in self._votes.values()), vote.units])
            self._votes[site] = vote
        elif self._finalists and site not in self._counts:
            self._counts[site] = self._read_counts(message)
        else:
            raise MessageError(f"nothing is asked of the site {site!r} now; found {message!r:.200}")

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
        """Return a clone of the search, fitted: with `best_params_` and all others.

        But for `privacy_`: each `FederatedSite` has its own report.
        """
        fitted = self._attributes()
        if self._search.refit:
            candidate = self._plan.options.candidate(fitted["best_params_"])
            fitted["best_estimator_"] = fit(candidate, self._training)
        search = clone(self._search)
        replace_fitted(search, fitted)
        return search

    def _attributes(self) -> dict[str, Any]:
        """Return the fitted attributes, but for the model and the sites' reports."""
        if self.waiting:
            raise ValueError(
                f"the sites {self.waiting} have not answered yet; drop(name) goes on without one"
            )
        best, scores = self._scored()
        candidates = tuple(
            Candidate(
                params, fit_error="could not be fitted at some site" if i in self._failed else None
            )
            for i, params in enumerate(self._plan.candidates)
        )
        several = {i: [found] for i, found in scores.items()} if len(scores) > 1 else None
        release = Release(candidates, best, [scores[best]], all_scores=several)
        return {
            **fitted_attributes(release, []),
            "votes_": {name: vote.candidate for name, vote in self._votes.items()},
            "finalists_": list(scores),
            "scorer_": self._scorer,
            "multimetric_": False,
            "n_splits_": 1,
        }

    def _check_site(self, site: str) -> None:
        if site not in self.sites:
            raise ValueError(f"site must be one of {self.sites}; found {site!r:.100}")

    @property
    def _failed(self) -> frozenset[int]:
        """Candidates that could not be fitted at some site."""
        return frozenset[int]().union(*(vote.failed for vote in self._votes.values()))

    def _decided(self) -> list[int]:
        """Return the finalists; they are decided when all have voted, once.

        A vote counts as many times as its site has units. The first in the list wins a tie.
        """
        if not self._finalists:
            weight: Counter[int] = Counter()
            for vote in self._votes.values():
                weight[vote.candidate] += vote.units.m
            named = sorted(weight.keys() - self._failed, key=lambda c: (-weight[c], c))
            if not named:
                raise ValueError(
                    f"every candidate that has a vote failed to fit at some site: {sorted(weight)}"
                )
            self._finalists = named[:_N_FINALISTS]
        return list(self._finalists)

    def _read_counts(self, message: dict[str, Any]) -> list[tuple[int, ...]]:
        """Return a site's counts of the finalists, which have the form that was agreed."""
        check_message(message, what="counts", candidates=self._finalists)
        y, query, rows = self._training.y, self._scorer.counts, message.get("counts")
        one = None if y is None else dense(take_rows(y, np.arange(1)))
        q = len(query.statistics(query.lowest_values(one, 1), one, Units(1)))
        if not isinstance(rows, list) or len(rows) != len(self._finalists):
            rows = [None]
        if not all(isinstance(row, list) and len(row) == q and all(map(_is, row)) for row in rows):
            raise MessageError(
                f"expected {len(self._finalists)} lists of {q} integers; found {message!r:.200}"
            )
        return [tuple(row) for row in rows]

    def _scored(self) -> tuple[int, dict[int, Score]]:
        """Return the best finalist, and the scores of all with intervals.

        All intervals hold together: the best one is chosen by what was released.
        """
        t, k = len(self._finalists), len(self._counts)
        units = together(self._scorer, [self._votes[name].units for name in self._counts])
        D = self._scorer.counts.sensitivity(units)
        scale = t * D / self._plan.epsilon_of_counts * (1 + _ROUNDING)
        scores = {}
        for i, candidate in enumerate(self._finalists):
            columns = zip(*(rows[i] for rows in self._counts.values()), strict=True)
            noisy = NoisyCounts(tuple(map(sum, columns)), scale, draws=k)
            confidence = 1 - (1 - CONFIDENCE) / t
            scores[candidate] = score_and_interval(self._scorer, units, noisy, confidence)
        return max(scores, key=lambda candidate: scores[candidate][0]), scores


def _is(count: Any) -> bool:
    return type(count) is int and abs(count) < _LARGEST_COUNT
