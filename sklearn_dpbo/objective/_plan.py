"""What all sites and the coordinator have to agree on first; all public (zone: released)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from .._data.units import Units
from .._evaluation.fitting import FitOptions
from ..scoring._make import resolve_scorer
from ..scoring._of_counts import RankingScore
from ..scoring._scorers import PrivateScorer
from ..search._parameters import check_parameters, n_iter_of, prepare_scorer, space_of
from ..strategies._proposals import Domain
from ..strategies._worst_case import WorstCase
from ._messages import plain

__all__ = ["Plan", "checked_names", "together", "units_of"]


@dataclass(frozen=True, eq=False)
class Plan:
    """The candidates, how they are fitted and scored, and what a site spends on what.

    `scorer` is not prepared for training labels yet; `seed` is for public randomness.
    """

    candidates: tuple[dict[str, Any], ...]
    options: FitOptions
    scorer: PrivateScorer
    epsilon: float
    score_share: float
    seed: int

    @classmethod
    def of(cls, search: Any) -> Self:
        """Return the plan that follows from the parameters of a search; a plan as it is."""
        if isinstance(search, cls):
            return search
        if type(search).__name__ != "PrivateFederatedSearch":
            raise ValueError(f"search must be a PrivateFederatedSearch; found {search!r}")
        check_parameters(search)
        if isinstance(search.refit, str):
            raise ValueError(f"refit is True or False; found {search.refit!r}")
        scorer: PrivateScorer = resolve_scorer(search.scoring, search.estimator)
        if isinstance(scorer, RankingScore):
            raise ValueError(
                f"scoring={scorer.name!r} compares pairs of records, and no site sees a pair of "
                "two sites. Use a metric that is counted record by record: 'accuracy', 'f1', "
                "'balanced_accuracy', 'neg_brier_score', 'r2', ..."
            )
        seed = check_random_state(search.random_state).randint(2**31 - 1)
        return cls(
            _candidates(search, seed),
            FitOptions(search.estimator, search.error_score, search.n_jobs, search.prediction),
            scorer,
            float(search.epsilon),
            float(search.score_share),
            seed,
        )

    def prepared(self, y: Any) -> PrivateScorer:
        """Return the scorer, prepared by training labels alone: the same at every site."""
        return prepare_scorer(self.scorer, y).release()

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What two sides compare, in terms of JSON."""
        texts = [repr(sorted((k, plain(v)) for k, v in c.items())) for c in self.candidates]
        digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
        return {
            "estimator": repr(self.options.estimator),
            "scoring": repr(self.scorer),
            "epsilon": self.epsilon,
            "score_share": self.score_share,
            "candidates": f"{len(self.candidates)} with digest {digest[:32]}",
        }

    @property
    def epsilon_of_counts(self) -> float:
        """What of epsilon a site keeps for its counts: all, if there is nothing to choose."""
        return self.epsilon * (self.score_share if len(self.candidates) > 1 else 1.0)


def checked_names(names: Iterable[str]) -> list[str]:
    """Return the names of sites as a list, or raise ValueError."""
    several = [] if isinstance(names, str) else list(names)
    named = bool(several) and all(isinstance(name, str) and name for name in several)
    if not named or len(set(several)) < len(several):
        raise ValueError(
            f"sites must have names, each a non-empty str and no two the same; found {names!r:.200}"
        )
    return several


def units_of(m: int, grouped: bool) -> Units:
    """Return this many units; which rows they have is not known, and not asked."""
    return Units(m, np.empty(0, dtype=np.intp) if grouped else None)


def together(scorer: PrivateScorer, several: Sequence[Units]) -> Units:
    """Return the units of all sites, or raise ValueError if their counts do not add up."""
    if len({units.grouped for units in several}) > 1:
        raise ValueError(
            "some sites protect records and others groups, so their counts do not add up. At the "
            "sites without groups, give each record its own group: groups_val=range(n)"
        )
    pooled = units_of(sum(units.m for units in several), several[0].grouped)
    D = scorer.counts.sensitivity
    if any(D(units) != D(pooled) for units in several):
        raise ValueError(
            f"{pooled.m:,} groups are too many for scoring={scorer.name!r}: counts of the sites "
            "would not add up. Use records as units, or an average such as 'accuracy'"
        )
    return pooled


def _candidates(search: Any, seed: int) -> tuple[dict[str, Any], ...]:
    """Return all of a grid, or n points that fill the space, the estimator's own among them."""
    space = space_of(search)
    n = n_iter_of(search, space, WorstCase())
    points = space.fill(n, np.random.default_rng(seed))
    if len(points) < space.n_points:
        own = space.own_points(search.estimator.get_params(deep=True))
        points = Domain.of(space, [own, points]).points.take(slice(n))
    return space.params(points)
