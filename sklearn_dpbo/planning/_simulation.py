"""What a planned search would give, tried on data that need no protection (zone: released)."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from .._data.tables import n_rows
from .._data.units import Units
from .._evaluation.fitting import set_candidate
from .._params import check_number
from .._privacy.accounting import Budget, Purpose
from .._privacy.mechanisms import Mechanisms
from .._privacy.noise import SeededNoise
from .._privacy.sensitive import Sensitive
from ..exceptions import InsecureNoiseWarning
from ..scoring._make import selecting_scorer
from ..scoring._scorers import respond
from ..strategies._worst_case import WorstCase
from ._bounds import UtilityBounds

__all__ = ["Simulation", "simulate"]


@dataclass(frozen=True)
class Simulation:
    """What some runs of a search gave, with the noise taken off again.

    Parameters
    ----------
    bounds : UtilityBounds
        What is promised of them.
    regret : ndarray of shape (n_runs,)
        Score of the best candidate less that of the chosen one, both exact, on the validation part.
    score_error : ndarray of shape (n_runs,)
        Distance of the released score from the chosen one's.
    n_candidates : int
        How many were validated (in the last run).
    covered : bool
        Whether the score is a mean, and so covered by the bounds.
    """

    bounds: UtilityBounds
    regret: np.ndarray
    score_error: np.ndarray
    n_candidates: int
    covered: bool = True

    def table(self) -> list[dict]:
        """Return a row for the regret and one for the score error, as ``pandas.DataFrame`` takes.

        ``promised`` is the bound, ``within`` the share of the runs that kept it, ``quantile`` the
        measured counterpart of the bound. The first two are
        NaN for a ratio score, of which nothing is promised.
        """
        return [
            {
                "error": name,
                "mean": float(errors.mean()),
                "quantile": float(np.quantile(errors, self.bounds.confidence)),
                "promised": promised if self.covered else math.nan,
                "within": self._within(errors, promised),
            }
            for name, errors, promised in (
                ("regret", self.regret, self.bounds.regret),
                ("score_error", self.score_error, self.bounds.score_error),
            )
        ]

    def _within(self, errors, promised: float) -> float:
        return float((errors <= promised * (1 + 1e-9)).mean()) if self.covered else math.nan

    def __str__(self) -> str:
        b = self.bounds
        lines = [
            f"{len(self.regret)} simulated runs: m = {b.m:,}, epsilon = {b.epsilon:.4g}, "
            f"{self.n_candidates} candidates validated"
        ]
        for row in self.table():
            promise = "nothing promised: the score is a ratio"
            if self.covered:
                promise = f"promised {row['promised']:.2g}, kept in {row['within']:.1%} of the runs"
            lines.append(
                f"  {row['error']:<12} mean {row['mean']:.2g}, {b.confidence:.3g} quantile "
                f"{row['quantile']:.2g}; {promise}"
            )
        return "\n".join(lines)


def simulate(
    bounds: UtilityBounds, search, X, y, *, n_iter, n_runs=100, random_state=None, n_jobs=None
) -> Simulation:
    """Run a search many times, with fresh noise, on data that are *treated as public*.

    The data are split once: `bounds.m` records to validate on, the rest to train on. Where noise
    has no part in which candidates are evaluated (``guidance="public"`` or ``"none"``), the search
    is made once, the candidates it validated are fitted once more, and choice and score are drawn
    n_runs times from their exact scores; else all of it is done n_runs times.

    Parameters
    ----------
    bounds : UtilityBounds
    search : PrivateBayesSearchCV
        With `WorstCase`. It is not changed; its ledger is not charged.
    X, y : array-like
        Never the records that are to be protected: exact scores are computed and returned.
    n_iter : int
    n_runs : int, default=100
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None

    Raises
    ------
    ValueError
        If there are too few records, or the search does not match the bounds.
    """
    check_number("n_runs", n_runs, "1 or more", lambda n: n >= 1, Integral)
    if n_rows(X) <= bounds.m:
        raise ValueError(
            f"X has {n_rows(X):,} records: too few to hold out m={bounds.m:,} of them and train on "
            "the rest"
        )
    rng = check_random_state(random_state)
    strategy = _strategy_of(search, bounds)
    search = clone(search).set_params(
        strategy=strategy,
        epsilon=bounds.epsilon,
        n_iter=n_iter,
        n_jobs=n_jobs,
        refit=False,
        ledger=None,
    )
    parts = train_test_split(X, y, test_size=bounds.m, random_state=rng.randint(2**31 - 1))
    n_paths = n_runs if strategy.guidance in ("private", "both") else 1
    errors = []
    for _ in range(n_paths):
        path = _Path.of(search, parts, bounds, rng.randint(2**31 - 1, size=2).tolist())
        noise = SeededNoise(rng.randint(2**31 - 1))
        errors += [path.draw(noise) for _ in range(n_runs // n_paths)]
    regret, score_error = np.array(errors).T
    is_mean = selecting_scorer(path.search).is_mean
    return Simulation(bounds, regret, score_error, len(path.statistics), is_mean)


@dataclass(frozen=True)
class _Path:
    """The candidates that a search validated, with exact scores: they are public here."""

    search: Any
    units: Units
    statistics: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, search, parts, bounds: UtilityBounds, seeds) -> _Path:
        X, X_val, y, y_val = parts
        search = clone(search).set_params(random_state=seeds[0], noise_random_state=seeds[1])
        with warnings.catch_warnings():  # these data need no protection from whoever has the seed
            warnings.simplefilter("ignore", InsecureNoiseWarning)
            search.fit(X, y, X_val=X_val, y_val=y_val)
        if len(getattr(search, "best_scores_", ())) > 1:
            raise ValueError("the plan is of one score, and scoring has several: pass one of them")
        scorer = selecting_scorer(search)
        _refuse_other_gains(scorer, bounds)
        results, units = search.cv_results_, Units.of(bounds.m)
        rows = zip(results["params"], results["validated"], results["fit_error"], strict=True)
        statistics = Parallel(n_jobs=search.n_jobs)(
            delayed(_statistics)(search.estimator, params, parts, scorer, units)
            for params, validated, error in rows
            if validated and error is None
        )
        return cls(search, units, tuple(statistics))

    def draw(self, noise) -> tuple[float, float]:
        """Return (regret, score error) of one choice and one released score."""
        scorer = selecting_scorer(self.search)
        spent = {loss.purpose: loss.epsilon for loss in self.search.privacy_.spends}
        score, choice = spent[Purpose.SCORE], spent.get(Purpose.CANDIDATE, 1)
        table = Sensitive(self.statistics, scorer.sensitivity(self.units))
        mechanisms = Mechanisms(Budget(2 * (choice + score)), noise)
        chosen = mechanisms.select(table.column(0), choice, purpose=Purpose.CANDIDATE)
        counts = mechanisms.release_counts(table.take(chosen), score, purpose=Purpose.SCORE)
        exact = [scorer.value(each, self.units) for each in self.statistics]
        released = scorer.value([count.count for count in counts], self.units)
        return max(exact) - exact[chosen], abs(released - exact[chosen])


def _statistics(estimator, params: dict, parts, scorer, units: Units) -> tuple[int, ...]:
    X, X_val, y, y_val = parts
    model = set_candidate(clone(estimator), params).fit(X, y)
    y_val = np.asarray(y_val)
    response = respond(model, X_val, scorer.response_method)
    values = scorer.record_values(y_val, response, getattr(model, "classes_", None))
    return scorer.statistics(values, y_val, units)


def _refuse_other_gains(scorer, bounds: UtilityBounds) -> None:
    """Raise ValueError if the plan is for gains of another kind."""
    a, b = scorer.bounds
    if abs(b - a - bounds.score_range) > 1e-9 * bounds.score_range:
        raise ValueError(
            f"the plan is for gains that differ by score_range={bounds.score_range:g} at most; "
            f"scoring={scorer!r} has the bounds {(a, b)}. Plan with score_range={b - a:g}"
        )
    if scorer.is_mean and scorer.gain.counts != bounds.counts:
        kind = "all or nothing" if scorer.gain.counts else "rounded, with gains in between"
        raise ValueError(
            f"the plan has counts={bounds.counts}; gains of scoring={scorer!r} are {kind}. Plan "
            f"with counts={not bounds.counts}"
        )


def _strategy_of(search, bounds: UtilityBounds) -> WorstCase:
    """Return the search's strategy, with the shares of epsilon that were planned."""
    strategy = getattr(search, "strategy", None)
    if strategy is None:
        raise ValueError(f"search is a PrivateBayesSearchCV; found {search!r}")
    if strategy == "worst_case":
        strategy = WorstCase()
    if not isinstance(strategy, WorstCase):
        raise ValueError(f"plans are for strategy='worst_case'; found {strategy!r}")
    strategy = clone(strategy).set_params(score_share=bounds.score_share)
    if strategy.guidance not in ("private", "both"):
        return strategy
    if bounds.guidance_share == 0:
        raise ValueError(
            f"guidance={strategy.guidance!r} takes a share of epsilon from the choice: plan with "
            f"guidance_share={strategy.guidance_share!r}"
        )
    return strategy.set_params(guidance_share=bounds.guidance_share)
