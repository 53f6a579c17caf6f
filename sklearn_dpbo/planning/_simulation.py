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

from .._data.tables import n_rows
from .._params import check_number
from ..exceptions import InsecureNoiseWarning
from ..strategies._worst_case import WorstCase
from ._bounds import UtilityBounds
from ._rehearsal import Rehearsal

__all__ = ["Simulation", "simulate"]


@dataclass(frozen=True, eq=False)
class Simulation:
    """Errors of simulated runs of a search, in units of the score.

    Parameters
    ----------
    bounds : UtilityBounds
        The plan. Its errors are guaranteed, or estimated if it is a pilot's plan.
    regret : ndarray of shape (n_runs,)
        Exact score of the best candidate minus that of the chosen one.
    score_error : ndarray of shape (n_runs,)
        Distance of the released score from the exact one of the chosen candidate.
    half_width, inside : ndarray of shape (n_runs,)
        Half the width of ``best_score_interval_``, and whether it contains the exact score.
    n_candidates : int
        How many candidates were validated (in the last run).
    covered : bool, default=True
        Whether theorems bound the errors: the score is a mean of gains with given bounds.
    by_score_alone : bool, default=True
        Whether candidates are chosen by validation scores alone; else no theorem bounds the regret.
    """

    bounds: UtilityBounds
    regret: NDArray[np.float64]
    score_error: NDArray[np.float64]
    half_width: NDArray[np.float64]
    inside: NDArray[np.bool_]
    n_candidates: int
    covered: bool = True
    by_score_alone: bool = True

    @property
    def coverage(self) -> float:
        """Share of the runs whose interval contains the exact score; it should be 0.95 or more."""
        return float(self.inside.mean())

    def table(self) -> list[dict[str, Any]]:
        """Return a row for the regret and one for the score error, as ``pandas.DataFrame`` takes.

        Keys are "error" (its name), "mean", "quantile" (at the confidence of the bounds),
        "promised" (the guaranteed error; NaN if no theorem covers the score), "estimated" (that of
        a pilot's plan, else NaN) and "within" (the share of the runs that kept to it; NaN if there
        is neither).
        """
        return [
            self._row("regret", self.regret, self.bounds.regret, self.by_score_alone),
            self._row("score_error", self.score_error, self.bounds.score_error),
        ]

    def _row(
        self, name: str, errors: NDArray[np.float64], planned: float, bounded: bool = True
    ) -> dict[str, Any]:
        estimated, covered = not self.bounds.guaranteed, self.covered and bounded
        known = (covered or estimated) and not math.isnan(planned)
        within = float((errors <= planned * (1 + 1e-9)).mean())
        return {
            "error": name,
            "mean": float(errors.mean()),
            "quantile": float(np.quantile(errors, self.bounds.confidence)),
            "promised": planned if covered else math.nan,
            "estimated": planned if estimated else math.nan,
            "within": within if known else math.nan,
        }

    def __str__(self) -> str:
        b = self.bounds
        lines = [
            f"{len(self.regret)} simulated runs: m = {b.m:,}, epsilon = {b.epsilon:.4g}, "
            f"{self.n_candidates} candidates validated"
        ]
        for row in self.table():
            lines.append(
                f"  {row['error']:<12} mean {row['mean']:.2g}, {b.confidence:.3g} quantile "
                f"{row['quantile']:.2g}; {_compared_with_plan(row)}"
            )
        lines.append(
            f"  {'interval':<12} median half-width {np.median(self.half_width):.2g}; contains the "
            f"exact score in {self.coverage:.1%} of the runs"
        )
        return "\n".join(lines)


def _compared_with_plan(row: dict[str, Any]) -> str:
    if math.isnan(row["within"]):
        return "no theorem bounds it"
    word = "estimated" if math.isnan(row["promised"]) else "promised"
    return f"{word} {row[word]:.2g}, kept in {row['within']:.1%} of the runs"


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
    """Run a search many times, with new noise, on data that are *treated as public*.

    Only the choice and the score are repeated if the evaluated candidates do not depend on the
    noise (``guidance="public"`` or ``"none"``), else everything. Parameters: `SearchPlan.simulate`.
    """
    check_number("n_runs", n_runs, "1 or more", lambda n: n >= 1, Integral)
    if n_rows(X) <= bounds.m:
        raise ValueError(
            f"X has {n_rows(X):,} records: too few to hold out m={bounds.m:,} of them and to train "
            "on the rest"
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
        release="best",
    )
    parts = train_test_split(X, y, test_size=bounds.m, random_state=rng.randint(2**31 - 1))
    n_paths = n_runs if strategy.guidance == "private" else 1
    draws = []
    for _ in range(n_paths):
        rehearsal = Rehearsal.of(strategy, bounds, n_runs // n_paths)
        seeds = rng.randint(2**31 - 1, size=2).tolist()
        _fit(clone(search).set_params(random_state=seeds[0]), rehearsal, parts, seeds[1])
        draws += rehearsal.draws
    regret, score_error, half_width, inside = (np.array(each) for each in zip(*draws, strict=True))
    scorer = rehearsal.scorer
    by_score_alone = strategy.prior_weight == 0 or strategy.guidance in ("none", "private")
    covered = bounds.guaranteed and scorer.is_mean and not scorer.release_uses_public
    return Simulation(
        bounds,
        regret,
        score_error,
        half_width,
        inside,
        rehearsal.n_candidates,
        covered,
        by_score_alone,
    )


def _fit(search: Any, rehearsal: Rehearsal, parts: list[Any], seed: int) -> None:
    X, X_val, y, y_val = parts
    search.set_params(strategy=rehearsal, noise_random_state=seed)
    with warnings.catch_warnings():  # the data are public, so the noise may be seeded
        warnings.simplefilter("ignore", InsecureNoiseWarning)
        warnings.filterwarnings("ignore", message="param_grid has")  # n_iter is the plan's
        search.fit(X, y, X_val=X_val, y_val=y_val)


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
    if planned.guidance != "private":
        return planned
    if bounds.guidance_share == 0:
        raise ValueError(
            f"guidance={planned.guidance!r} takes a share of epsilon from the choice: plan with "
            f"guidance_share={planned.guidance_share!r}"
        )
    planned.set_params(guidance_share=bounds.guidance_share)
    return planned
