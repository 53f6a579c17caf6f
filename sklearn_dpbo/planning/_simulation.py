"""Simulated runs of a planned search on public data (zone: released)."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
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
from .._privacy.noise import Noise, SeededNoise
from .._privacy.sensitive import Sensitive
from ..exceptions import InsecureNoiseWarning
from ..scoring._make import selecting_scorer
from ..scoring._mean_gain import MeanGain
from ..scoring._response import respond
from ..scoring._scorers import PrivateScorer
from ..scoring._statistics import Statistics
from ..strategies._worst_case import WorstCase
from ._bounds import UtilityBounds

__all__ = ["Simulation", "simulate"]


@dataclass(frozen=True)
class Simulation:
    """Errors of simulated runs of a search.

    Parameters
    ----------
    bounds : UtilityBounds
        The errors that are guaranteed.
    regret : ndarray of shape (n_runs,)
        Exact score of the best candidate minus that of the chosen one, on the validation part.
    score_error : ndarray of shape (n_runs,)
        Distance of the released score from the exact one of the chosen candidate.
    n_candidates : int
        How many candidates were validated (in the last run).
    covered : bool, default=True
        Whether the bounds cover the score: whether it is a mean.
    """

    bounds: UtilityBounds
    regret: NDArray[np.float64]
    score_error: NDArray[np.float64]
    n_candidates: int
    covered: bool = True

    def table(self) -> list[dict[str, Any]]:
        """Return a row for the regret and one for the score error, as ``pandas.DataFrame`` takes.

        Returns
        -------
        rows : list of dict
            With the keys "error" (its name), "mean", "quantile" (at the confidence of the bounds),
            "promised" (the guaranteed error) and "within" (the share of the runs that kept it). The
            last two are NaN if the score is a ratio, because nothing is guaranteed then.
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

    def _within(self, errors: NDArray[np.float64], promised: float) -> float:
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
    bounds: UtilityBounds,
    search: Any,
    X: Any,
    y: Any,
    *,
    n_runs: int,
    random_state: Any,
    n_jobs: int | None,
) -> Simulation:
    """Run a search many times, with fresh noise, on data that are *treated as public*.

    The data are split once into `bounds.m` records to validate on and the others to train on. If
    the candidates that are evaluated do not depend on the noise (``guidance="public"`` or
    ``"none"``), the search runs once and only the choice and the score are drawn n_runs times;
    otherwise everything is repeated. Parameters are those of `SearchPlan.simulate`.
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
        n_iter=bounds.n_candidates,
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
    return Simulation(bounds, regret, score_error, len(path.candidates), is_mean)


@dataclass(frozen=True)
class _Counted:
    """What a candidate is compared by, and what is released of it, without noise.

    Parameters
    ----------
    scorer : PrivateScorer
        Prepared to release this candidate's score.
    statistic, counts : tuple of int
        Without noise, because the data are public.
    """

    scorer: PrivateScorer
    statistic: tuple[int, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(
        cls,
        estimator: Any,
        params: dict[str, Any],
        parts: list[Any],
        scorer: PrivateScorer,
        units: Units,
        epsilon: float,
    ) -> _Counted:
        X, X_val, y, y_val = parts
        model = set_candidate(clone(estimator), params).fit(X, y)
        if scorer.releases_at:
            public = scorer.predictions(model, X_val, y_val)
            scorer = scorer.releasing_at(public, units.m, epsilon)
        statistic, counts = (
            _statistics(each, model, X_val, np.asarray(y_val), units)
            for each in (scorer, scorer.counts)
        )
        return cls(scorer, statistic, counts)


@dataclass(frozen=True)
class _Path:
    """The candidates that a search validated, with their exact statistics.

    Parameters
    ----------
    search : PrivateBayesSearchCV
        Fitted.
    units : Units
        Of its validation set.
    candidates : tuple of _Counted
        Those that could be fitted.
    """

    search: Any
    units: Units
    candidates: tuple[_Counted, ...]

    @classmethod
    def of(cls, search: Any, parts: list[Any], bounds: UtilityBounds, seeds: list[int]) -> _Path:
        X, X_val, y, y_val = parts
        search = clone(search).set_params(random_state=seeds[0], noise_random_state=seeds[1])
        with warnings.catch_warnings():  # the data are public, so the noise may be seeded
            warnings.simplefilter("ignore", InsecureNoiseWarning)
            search.fit(X, y, X_val=X_val, y_val=y_val)
        if len(getattr(search, "best_scores_", ())) > 1:
            raise ValueError("the plan is for one score, and scoring has several: pass one of them")
        scorer = selecting_scorer(search)
        _check_gains(scorer, bounds)
        if scorer.selects_at:
            chosen = set_candidate(clone(search.estimator), search.best_params_).fit(X, y)
            scorer = scorer.selecting_at(scorer.predictions(chosen, X_val, y_val))
        results, units = search.cv_results_, Units.of(bounds.m)
        epsilon = _spent(search)[Purpose.SCORE]
        rows = zip(results["params"], results["validated"], results["fit_error"], strict=True)
        counted = Parallel(n_jobs=search.n_jobs)(
            delayed(_Counted.of)(search.estimator, params, parts, scorer, units, epsilon)
            for params, validated, error in rows
            if validated and error is None
        )
        return cls(search, units, tuple(counted))

    def draw(self, noise: Noise) -> tuple[float, float]:
        """Return (regret, score error) of one choice and one released score."""
        spent, candidates = _spent(self.search), self.candidates
        score, choice = spent[Purpose.SCORE], spent.get(Purpose.CANDIDATE, 1)
        mechanisms = Mechanisms(Budget(2 * (choice + score)), noise)
        statistics = [each.statistic for each in candidates]
        table = Sensitive(statistics, candidates[0].scorer.sensitivity(self.units))
        best = candidates[mechanisms.select(table, choice, purpose=Purpose.CANDIDATE)]
        counts = Sensitive([best.counts], best.scorer.counts.sensitivity(self.units))
        noisy = mechanisms.release_counts(counts, score, purpose=Purpose.SCORE)
        exact = best.scorer.value(best.counts, self.units)
        most = max(each.scorer.value(each.counts, self.units) for each in candidates)
        return most - exact, abs(best.scorer.value(noisy.counts, self.units) - exact)


def _spent(search: Any) -> dict[str, float]:
    return {loss.purpose: loss.epsilon for loss in search.privacy_.spends}


def _statistics(
    counted: Statistics, model: Any, X_val: Any, y_val: Any, units: Units
) -> tuple[int, ...]:
    response = respond(model, X_val, counted.response_method)
    values = counted.record_values(y_val, response, getattr(model, "classes_", None))
    return counted.statistics(values, y_val, units)


def _check_gains(scorer: PrivateScorer, bounds: UtilityBounds) -> None:
    """Raise ValueError if the plan is for other gains than the scorer's."""
    a, b = scorer.bounds
    if abs(b - a - bounds.score_range) > 1e-9 * bounds.score_range:
        raise ValueError(
            f"the plan is for gains that differ by score_range={bounds.score_range:g} at most; "
            f"scoring={scorer!r} has the bounds {(a, b)}. Plan with score_range={b - a:g}"
        )
    if isinstance(scorer, MeanGain) and scorer.is_mean and scorer.gain.counts != bounds.counts:
        kind = "all or nothing" if scorer.gain.counts else "rounded, with gains in between"
        raise ValueError(
            f"the plan has counts={bounds.counts}; gains of scoring={scorer!r} are {kind}. Plan "
            f"with counts={not bounds.counts}"
        )


def _strategy_of(search: Any, bounds: UtilityBounds) -> WorstCase:
    """Return the search's strategy, with the planned shares of epsilon."""
    strategy = getattr(search, "strategy", None)
    if strategy is None:
        raise ValueError(f"search is a PrivateBayesSearchCV; found {search!r}")
    if strategy == "worst_case":
        strategy = WorstCase()
    if not isinstance(strategy, WorstCase):
        raise ValueError(f"plans are for strategy='worst_case'; found {strategy!r}")
    planned: WorstCase = clone(strategy).set_params(score_share=bounds.score_share)
    if planned.guidance not in ("private", "both"):
        return planned
    if bounds.guidance_share == 0:
        raise ValueError(
            f"guidance={planned.guidance!r} takes a share of epsilon from the choice: plan with "
            f"guidance_share={planned.guidance_share!r}"
        )
    planned.set_params(guidance_share=bounds.guidance_share)
    return planned
