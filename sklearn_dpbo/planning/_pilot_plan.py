"""Plans for scores other than means, by public predictions of a pilot model (zone: released)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from .._data.units import Units
from ._pilot import N_DRAWS, Pilot
from ._plan import SOLVED, SearchPlan, three_digits

__all__ = ["PilotPlan"]

# Plots cover the plan's epsilon divided and multiplied by this, with so many points.
_RANGE_FACTOR, _N_POINTS = 10.0, 25


@dataclass(frozen=True, kw_only=True)
class PilotPlan(SearchPlan):
    """A plan whose errors are estimated from public predictions, made by `plan_search`.

    `score_error` is half the width of ``best_score_interval_`` (95 %) for the pilot's predictions,
    scaled to m records. `regret` and `expected_regret` are those of Theorems 1 and 2 for the
    statistic that ranks candidates, converted to the score to first order; NaN if that is not
    known. Other parameters are those of `SearchPlan`.

    Parameters
    ----------
    pilot : Pilot
        The score, and public predictions.
    target_interval : float or None, default=None
        The largest half-width asked for, in units of the score.
    """

    pilot: Pilot = field(repr=False)
    target_interval: float | None = None
    errors_of_targets: ClassVar[dict[str, str]] = {
        "target_regret": "regret",
        "target_interval": "score_error",
    }
    range_of_m: ClassVar[tuple[int, int]] = (10, 10**6)
    range_of_epsilon: ClassVar[tuple[float, float]] = (1e-3, 1e3)
    tolerance: ClassVar[float] = 0.02
    guaranteed: ClassVar[bool] = False

    @property
    def score_error(self) -> float:
        """Half the width of the interval of the released score."""
        return self.pilot.half_width(self.m, self.epsilon_score)

    @property
    def sampling_error(self) -> float:
        """How far the pilot's score on m records is from that on their population (bootstrap)."""
        z = NormalDist().inv_cdf((1 + self.confidence) / 2)
        return z * self.pilot.spread / math.sqrt(self.m)

    @property
    def binomial_error(self) -> float:
        """The same, because the score is not a mean: its sampling error is estimated."""
        return self.sampling_error

    @property
    def _steps(self) -> int:
        return self.pilot.scorer.query.sensitivity(Units.of(self.m))

    def _as_score(self, steps: float, n_rounded: int) -> float:
        per_step = self.pilot.score_per_step(self.m)
        if per_step is None and n_rounded:
            return math.nan
        low, high = self.pilot.scorer.bounds
        return min(steps * (per_step or 0.0), high - low)

    @property
    def drawn_at(self) -> dict[str, Any]:
        """Where errors are drawn: at fewer points, as each takes a while."""
        ends = self.epsilon / _RANGE_FACTOR, self.epsilon * _RANGE_FACTOR
        return {"epsilon": np.geomspace(*ends, _N_POINTS)}

    def _lines(self) -> list[tuple[str, str]]:
        pilot = self.pilot
        name, n = f"scoring={pilot.scorer!r}", f"{pilot.n_records:,} public records"
        p = f"with probability {self.confidence:.6g}"
        asked = _asked(self.target_interval)
        return [
            ("Solved for", f"{SOLVED[self.solved_for]}{self._closeness}"),
            (
                "Score",
                f"best_score_interval_ of {name} is the released score +-"
                f"{three_digits(self.score_error)}{asked}, if the chosen candidate predicts as the "
                f"pilot does, whose score is {pilot.score:.3g} on {n}. This is an estimate: the "
                f"median over {N_DRAWS} simulations of the noise. That the interval contains the "
                "score with probability 0.95 does not depend on the pilot",
            ),
            ("Choice", self._choice(p)),
            (
                "Sampling",
                f"the pilot's score on {self.m:,} records is within "
                f"{three_digits(self.sampling_error)} of that on their population {p} "
                "(bootstrap). This error comes on top, with or without privacy",
            ),
            (
                "Not covered",
                "the quality of the candidates. The privacy guarantee does not depend on the plan. "
                "With groups_val, m counts groups",
            ),
        ]

    @property
    def _closeness(self) -> str:
        return f", to within {self.tolerance:.0%}" * (self.solved_for in ("m", "epsilon"))

    def _choice(self, p: str) -> str:
        regret = self.regret
        if math.isnan(regret):
            return "no bound on the regret is known for this score"
        floor = ", among candidates that differ in positive records above the median negative only"
        only = floor if self.pilot.scorer.name == "roc_auc" else ""
        return (
            f"the chosen candidate's validation score is within {three_digits(regret)} of the best "
            f"one's {p}{_asked(self.target_regret)}, and at most "
            f"{three_digits(self.expected_regret)} below it on average: Theorems 1 and 2 for the "
            f"statistic that ranks candidates, converted to the score to first order at the pilot"
            f"{only}; not a theorem for the score"
        )


def _asked(target: float | None) -> str:
    return "" if target is None else f" (asked for: {target:g})"
