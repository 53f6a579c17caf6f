"""The side that holds records: one vote and one release of counts (zone: boundary)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from copy import deepcopy
from functools import reduce
from typing import Any, cast

import numpy as np

from .._evaluation.fitting import report_failures
from .._privacy.accounting import CHOICE, SCORE
from .._privacy.sensitive import Sensitive
from ..ledger._ledger import PrivacyLedger
from ..report._report import TRAINING_NOT_PROTECTED
from ..search._results import note_on_error, spent_before
from ._holder import Holder
from ._messages import VERSION, MessageError, check_message, numbers
from ._plan import Plan

__all__ = ["FederatedSite", "evaluate"]


class FederatedSite(Holder):
    """One site of a `PrivateFederatedSearch`: holds validation records and answers messages.

    Whatever a `FederatedCoordinator` asks, it votes once and releases one set of counts. Both
    together are pure epsilon-DP with respect to one of its records (or groups). To a repeated
    question it sends the same answer.

    Parameters
    ----------
    search : PrivateFederatedSearch
        A search with the same parameters at all sites and at the coordinator. It is not fitted. If
        candidates are sampled from distributions, its `random_state` must be an integer.
    X, y : array-like
        The training set and its targets, which are public and the same at all sites.
    X_val, y_val : array-like
        The site's validation records and their targets, which are protected.
    groups_val : array-like of shape (n_val,), default=None
        The group of each validation record, to be protected together.
    name : str, default="site"
        Name of the site, for its privacy report and its ledger's history.
    ledger : PrivacyLedger or None, default=None
        The site's own ledger. It is charged epsilon before the first release.
    **fit_params : dict
        For the estimator's `fit`, as in `PrivateBayesSearchCV.fit`.

    Attributes
    ----------
    name : str
    result : dict or None
        The result, as the coordinator sent it at the end.
    privacy_ : PrivacyReport
        The site's privacy report: print it.
    """

    def __init__(
        self,
        search: Any,
        X: Any,
        y: Any = None,
        *,
        X_val: Any,
        y_val: Any = None,
        groups_val: Any = None,
        name: str = "site",
        ledger: PrivacyLedger | None = None,
        **fit_params: Any,
    ) -> None:
        plan = self._plan = Plan.of(search)
        self.name = name
        self.result: dict[str, Any] | None = None
        self._hold(
            (X, y, X_val, y_val, groups_val),
            fit_params,
            plan.prepared,
            plan.options,
            np.random.RandomState(plan.seed),
            epsilon=plan.epsilon,
            ledger=ledger,
            what=f"vote and counts of the site {name!r}",
            mechanism="PrivateFederatedSearch",
            title=f"Differentially private federated search: the site {name!r}",
            not_protected=TRAINING_NOT_PROTECTED.format("best_estimator_")
            + "; and records of the same person at another site, where they are paid for again",
            released="the site's vote and its counts of the finalists",
        )
        self._fitted: list[int] = []
        self._statistics: Sensitive | None = None
        self._sent: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}  # questions, answers
        self._lock = threading.Lock()

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to a message. The final message is kept in `result`: None is returned.

        Messages come from `FederatedCoordinator.ask`; `FederatedCoordinator.tell` takes the answer.

        Raises
        ------
        MessageError
            If the message is malformed, is about another search, or asks for counts before the vote
            or for other counts than before: nothing is released then. It is a ValueError.
        BudgetExceededError, LedgerError
            If the ledger refuses epsilon: nothing is released then.
        """
        if isinstance(message, dict) and message.get("type") == "done":
            check_message(message, version=VERSION)
            self.result = deepcopy(message)
            return None
        check_message(message, type="ask", version=VERSION)
        what = str(message.get("what"))
        with self._lock, note_on_error(self._spent_in_words):
            if what not in self._sent:
                facts = self._vote(message) if what == "vote" else self._count(message)
                told = {"type": "tell", "version": VERSION, "what": what, **facts}
                self._sent[what] = deepcopy(message), told
            # What was released is sent again, and never drawn again.
            asked, answer = self._sent[what]
            if message != asked:
                raise MessageError(
                    f"a site answers once, and has answered {asked!r:.200}; found {message!r:.200}"
                )
            return deepcopy(answer)

    def _vote(self, message: dict[str, Any]) -> dict[str, Any]:
        self._check_plan(message.get("plan"))
        if self._statistics is None:
            evaluate([self])
        budget, n = self._mechanisms.budget, len(self._plan.candidates)
        chosen = self._mechanisms.select(
            cast(Sensitive, self._statistics),
            budget.epsilon_beside(self._plan.score_share),
            purpose=CHOICE,
            detail=", as the vote of the site",
        )
        failed = sorted({*range(n)} - {*self._fitted})
        units = {"m": self._units.m, "unit": self._units.name}
        return {"candidate": self._fitted[chosen], "failed": failed, **units}

    def _count(self, message: dict[str, Any]) -> dict[str, Any]:
        check_message(message, what="counts")
        if "vote" not in self._sent:
            raise MessageError("the vote comes before the counts: ask for it first")
        chosen = numbers("candidates", message.get("candidates"), len(self._plan.candidates))
        if not chosen or not set(chosen) <= set(self._fitted):
            raise MessageError(f"none of, or some that failed at {self.name!r}: {chosen!r:.100}")
        detail = f"counted with {len(chosen)} finalists" if len(chosen) > 1 else ""
        noisy = self._mechanisms.release_counts(
            self._counts(chosen), self._mechanisms.budget.epsilon_left, purpose=SCORE, detail=detail
        )
        self._statistics = None  # its noisy form has been released
        rows = np.reshape(noisy.counts, (len(chosen), -1)).tolist()
        return {"candidates": chosen, "counts": rows}

    def _counts(self, candidates: list[int]) -> Sensitive:
        """Return what the scores of these candidates are computed from, a row for each."""
        scorer, rows = self._evaluator.scorer, [self._fitted.index(i) for i in candidates]
        if scorer.counts is scorer.query:
            return cast(Sensitive, self._statistics).take(rows)
        chosen = (self._plan.candidates[i] for i in candidates)
        counts = (self._evaluator.counts(each, scorer.counts) for each in chosen)
        return reduce(Sensitive.followed_by, counts)

    def _check_plan(self, theirs: Any) -> None:
        ours = self._plan.facts
        if not isinstance(theirs, dict):
            raise MessageError(f"expected the plan of the search, a dict; found {theirs!r:.200}")
        if other := [name for name in ours if theirs.get(name) != ours[name]]:
            raise MessageError(
                f"the coordinator has another plan than the site {self.name!r}: "
                + "; ".join(f"{n} is {theirs.get(n)!r:.200}, here {ours[n]!r:.200}" for n in other)
                + ". All sides need the same search, and an integer random_state if candidates are "
                "sampled"
            )

    def _spent_in_words(self) -> str:
        spent = spent_before(self._mechanisms.budget)
        return spent and f"At the site {self.name!r}, {spent}"


def evaluate(sites: Sequence[FederatedSite]) -> None:
    """Fit all candidates, once for all these sites, and then let them predict at each."""
    first, *others = sites
    candidates = first._plan.candidates
    for site in sites:
        if site._evaluator.scorer.choice_uses_public:
            site._own_predictions()
    first._evaluator.share_fits(candidates, [site._evaluator for site in others])
    for site in sites:
        oracle = site._evaluator
        errors = oracle.fit_candidates(candidates)
        if site is first:
            report_failures(errors)
        site._fitted = [i for i, error in enumerate(errors) if error is None]
        site._statistics = oracle.compare(
            [candidates[i] for i in site._fitted], oracle.scorer.query
        )
