"""The side that holds records: one vote and one release of counts (zone: boundary)."""

from __future__ import annotations

import threading
import zlib
from copy import deepcopy
from numbers import Integral
from typing import Any, NoReturn

import numpy as np

from .._privacy.accounting import CHOICE, SCORE, warn_of_weak_guarantee
from .._privacy.mechanisms import Mechanisms
from .._privacy.noise import noise_source
from .._sklearn.results import note_on_error, spent_before
from ..ledger._budget import budget_on
from ..ledger._ledger import PrivacyLedger
from ..papers.kharkovskii2020._offers import MessageError
from ..report._report import PrivacyReport
from ._holding import Holding, evaluate
from ._messages import VERSION, check_message, different_numbers
from ._plan import Plan, refuse_in_process
from ._reports import Spent, site_report

__all__ = ["FederatedSite"]


class FederatedSite:
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
        plan = Plan.of(search)
        if not isinstance(search, Plan):  # which `fit` passes
            refuse_in_process(plan)
        if X_val is None:
            raise ValueError(f"X_val and y_val of the site {name!r} are missing; found None")
        self.name = name
        self.result: dict[str, Any] | None = None
        self._plan = plan
        self._holding = Holding.of(plan, X, y, (X_val, y_val, groups_val), fit_params)
        noise = noise_source(_seed(plan.noise_random_state, name), stacklevel=3)
        released = "vote and counts" if plan.trust == "nobody" else "part in choice and score"
        budget = budget_on(
            ledger,
            plan.epsilon,
            what=f"{released} of the site {name!r}",
            mechanism="PrivateFederatedSearch",
            unit=self._holding.units.name,
            estimator=plan.options.estimator,
        )
        units = self._holding.units
        warn_of_weak_guarantee(budget, units.m, units.name, stacklevel=3)
        self._mechanisms = Mechanisms(budget, noise)
        self._sent: dict[str, dict[str, Any]] = {}
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
            check_message(message, "done")
            self.result = deepcopy(message)
            return None
        check_message(message, "ask")
        if message.get("what") == "vote":
            answer = self._vote
        else:
            check_message(message, "ask", "counts")
            answer = self._count
        with self._lock, note_on_error(self._spent_in_words):
            return deepcopy(answer(message))

    @property
    def epsilon_left(self) -> float:
        """What of epsilon the site has not spent on this search."""
        return self._mechanisms.budget.epsilon_left

    @property
    def privacy_(self) -> PrivacyReport:
        """The site's privacy report, once it has released its counts."""
        if "counts" not in self._sent:
            raise AttributeError("privacy_ is available once the site has released its counts")
        return site_report(
            self._plan,
            self.name,
            self._holding.units,
            Spent.from_message(self._sent["counts"]),
        )

    def close(self) -> None:
        """Forget what was counted; to be called when all is over."""
        self._holding.forget()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a FederatedSite holds protected records, and cannot be copied or pickled")

    def _vote(self, message: dict[str, Any]) -> dict[str, Any]:
        self._check_plan(message.get("plan"))
        if "vote" not in self._sent:
            holding, mechanisms = self._holding, self._mechanisms
            if not holding.evaluated:
                evaluate([holding])
            chosen = mechanisms.select(
                holding.statistics,
                mechanisms.budget.epsilon_beside(self._plan.score_share),
                purpose=CHOICE,
                detail=", as the vote of the site",
            )
            self._send(
                "vote",
                candidate=holding.fitted[chosen],
                failed=sorted({*range(len(self._plan.candidates))} - {*holding.fitted}),
                m=holding.units.m,
                unit=holding.units.name,
            )
        return self._sent["vote"]

    def _count(self, message: dict[str, Any]) -> dict[str, Any]:
        candidates = message.get("candidates")
        if "counts" in self._sent:
            released = self._sent["counts"]["candidates"]
            if candidates != released:
                raise MessageError(
                    f"a site releases counts once, and has released those of {released}; found "
                    f"candidates {candidates!r:.100}"
                )
            return self._sent["counts"]
        if "vote" not in self._sent:
            raise MessageError("the vote comes before the counts: ask for it first")
        holding, mechanisms = self._holding, self._mechanisms
        chosen = different_numbers(candidates, "candidates", len(self._plan.candidates))
        if not set(chosen) <= set(holding.fitted):
            raise MessageError(f"some of {chosen!r:.100} could not be fitted at {self.name!r}")
        table, left = holding.counts(chosen), mechanisms.budget.epsilon_left
        detail = f"counted with {len(chosen)} finalists" if len(chosen) > 1 else ""
        noisy = mechanisms.release_counts(table, left, purpose=SCORE, detail=detail)
        holding.forget()
        self._send(
            "counts",
            candidates=chosen,
            counts=np.reshape(noisy.counts, (len(chosen), -1)).tolist(),
            scale=noisy.scale,
            **Spent.of(mechanisms).to_message(),
        )
        return self._sent["counts"]

    def _send(self, what: str, **facts: Any) -> None:
        """Keep an answer: what was released is sent again, and never drawn again."""
        kind = {"type": "tell", "version": VERSION, "what": what}
        self._sent[what] = {**kind, **facts, "epsilon_left": self.epsilon_left}

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


def _seed(seed: Any, name: str) -> Any:
    """Return another seed for each site; None if the noise is not seeded."""
    plain = isinstance(seed, Integral) and not isinstance(seed, bool) and int(seed) >= 0
    return int(seed) + zlib.crc32(name.encode()) if plain else seed
