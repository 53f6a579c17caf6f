"""What a planned search guarantees (zone: released)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._privacy.checks import check_number
from ..plotting._utility import PrivacyUtilityDisplay
from ..report._card import Row, card, in_lines
from ._bounds import MeanErrors, mean_of_choice, quantile_of_choice
from ._pilot import N_DRAWS, PilotErrors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MAX_CANDIDATES", "SearchPlan"]

# The search for an answer stops here.
MAX_CANDIDATES = 10**6
# Factors of the plan's m and epsilon in its table.
_FACTORS = (0.25, 0.5, 1, 2, 4)
_ANSWERS = {
    "m": "m: the smallest number of records, or groups, that meets the targets",
    "epsilon": "epsilon: the smallest that meets the targets",
    "n_iter": "n_iter: the largest number of candidates that meets the targets "
    f"({MAX_CANDIDATES:,} stands for that many and more)",
    "nothing": "nothing: m, n_iter and epsilon were all given",
}


@dataclass(frozen=True)
class SearchPlan:
    """Numbers of a planned search and its errors, made by `plan_search`.

    Parameters
    ----------
    m : int
        Number of units (records, or groups) that models are compared on.
    n_iter : int
        Number of candidates, all of them counted as validated.
    epsilon : float
        Privacy loss of the whole search.
    errors : MeanErrors or PilotErrors
        How noise affects the metric: by theorems for a mean, estimated from a pilot for others.
    score_share : float, default=0.4
        Share of epsilon for the released score.
    confidence : float, default=0.95
        Probability of each guarantee.
    target_regret, target_score_error : float or None, default=None
        The largest errors asked for, in units of the score.
    solved_for : {"m", "n_iter", "epsilon", "nothing"}, default="nothing"
        Which of the numbers is the answer.
    n : int or None, default=None
        With ``protect="all"``, the number of units of the whole table.
    fits : str, default=""
        With ``protect="all"``, how many models are fitted, and on what.
    fit_epsilon, fit_delta : float or None, default=None
        With ``protect="all"``, each fit is (fit_epsilon, fit_delta)-private.
    """

    m: int
    n_iter: int
    epsilon: float
    errors: MeanErrors | PilotErrors
    score_share: float = 0.4
    confidence: float = 0.95
    target_regret: float | None = None
    target_score_error: float | None = None
    solved_for: str = "nothing"
    n: int | None = None
    fits: str = ""
    fit_epsilon: float | None = None
    fit_delta: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("m", self.m), ("n_iter", self.n_iter)):
            check_number(name, value, "a whole number from 1 up", lambda n: n >= 1, Integral)
        check_number("epsilon", self.epsilon, "a finite number from 1e-9 up", lambda e: e >= 1e-9)
        check_number("score_share", self.score_share, "in (0, 1)", lambda s: 0 < s < 1)
        ends = "in [0.5, 1 - 1e-9]"
        check_number("confidence", self.confidence, ends, lambda c: 0.5 <= c <= 1 - 1e-9)

    @property
    def epsilon_select(self) -> float:
        """Privacy loss of the choice."""
        return self.epsilon * (1 - self.score_share)

    @property
    def epsilon_score(self) -> float:
        """Privacy loss of the score; it also gets the choice's share if there is no choice.

        Not with ``protect="all"``, where the number of models may be secret.
        """
        alone = self.n_iter == 1 and self.n is None
        return self.epsilon * (1 if alone else self.score_share)

    @property
    def regret(self) -> float:
        """Bound on the score of the best candidate minus that of the chosen one (Theorem 1).

        Both are scores on the validation set, without noise.
        """
        t = quantile_of_choice(self.n_iter, 1 - self.confidence)
        return self._regret(max(0, math.ceil(t * self._choice_scale) - 1))

    @property
    def expected_regret(self) -> float:
        """Bound on the mean of that difference (Theorem 2)."""
        return self._regret(mean_of_choice(self.n_iter) * self._choice_scale)

    @cached_property
    def score_error(self) -> float:
        """Bound on the distance of the released score from the exact one (Theorem 3).

        With `scoring`, an estimate of half the width of ``best_score_interval_``.
        """
        return self.errors.score_error(self.m, self.epsilon_score, self.confidence)

    @property
    def sampling_error(self) -> float:
        """How far one candidate's score is from that on the population, about.

        It is the same with and without privacy.
        """
        return self.errors.sampling_error(self.m, self.confidence)

    @property
    def targets(self) -> dict[str, float]:
        """The targets that were given, by the name of the error."""
        given = {"regret": self.target_regret, "score_error": self.target_score_error}
        return {error: target for error, target in given.items() if target is not None}

    @property
    def meets_targets(self) -> bool:
        """Whether no error exceeds its target."""
        return all(getattr(self, error) <= target for error, target in self.targets.items())

    @property
    def _choice_scale(self) -> float:
        return 2 * self.errors.sensitivity(self.m) / self.epsilon_select

    def _regret(self, steps: float) -> float:
        return self.errors.regret(steps, self.m) if self.n_iter > 1 else 0.0

    def table(
        self, *, epsilon: ArrayLike | None = None, m: ArrayLike | None = None
    ) -> list[dict[str, Any]]:
        """Return the errors over a grid, as ``pandas.DataFrame`` takes them.

        Parameters
        ----------
        epsilon, m : number or array-like, default=None
            Values of the grid; None is from a quarter to four times the plan's.

        Returns
        -------
        rows : list of dict
            With the keys m, epsilon, regret, expected_regret, score_error, sampling_error and
            meets_targets.
        """
        ms = [max(1, round(f * self.m)) for f in _FACTORS] if m is None else np.ravel(m).tolist()
        epsilons = np.multiply(self.epsilon, _FACTORS) if epsilon is None else np.ravel(epsilon)
        plans = [
            replace(self, m=m, epsilon=e) for m in dict.fromkeys(ms) for e in map(float, epsilons)
        ]
        names = ("m", "epsilon", "regret", "expected_regret", "score_error", "sampling_error")
        return [{name: getattr(plan, name) for name in (*names, "meets_targets")} for plan in plans]

    def plot(
        self, ax: Axes | None = None, *, epsilon: ArrayLike | None = None
    ) -> PrivacyUtilityDisplay:
        """Draw both errors against epsilon, on `ax` or in a new figure, and mark the plan.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on.
        epsilon : array-like, default=None
            Values of epsilon; None is from a tenth of the plan's to ten times it.

        Returns
        -------
        display : PrivacyUtilityDisplay
        """
        if epsilon is None:
            epsilon = np.geomspace(max(self.epsilon / 10, 1e-9), self.epsilon * 10, 41)
        rows = self.table(epsilon=epsilon, m=self.m)
        drawn = ("epsilon", "regret", "score_error")
        kind = "guaranteed" if self.errors.guaranteed else "estimated"
        return PrivacyUtilityDisplay(
            **{name: np.array([row[name] for row in rows]) for name in drawn},
            sampling_error=self.sampling_error,
            point=(self.epsilon, self.regret, self.score_error),
            label=f"{kind} error\n(m = {self.m:,}, {self.n_iter:,} candidates, probability "
            f"{self.confidence:.6g})",
        ).plot(ax)

    def __str__(self) -> str:
        return in_lines(self._title, self._rows())

    def _repr_html_(self) -> str:
        """Return the plan as a self-contained HTML fragment, for notebooks."""
        *rows, not_covered = self._rows()
        return card(self._title, rows, folded=[not_covered])

    @property
    def _title(self) -> str:
        units = (
            f"{self.m:,} validation records (or groups), at most {self.n_iter:,} candidates"
            if self.n is None
            else f"a table of {self.n:,} records (or groups), all of which are protected"
        )
        return f"Plan: {units}, epsilon = {three_digits(self.epsilon)}"

    def _rows(self) -> list[Row]:
        p, errors = f"with probability {self.confidence:.6g}", self.errors
        score_error = three_digits(self.score_error)
        asked = {"regret": "", "score_error": ""}
        asked |= {name: f" (asked for: {target:g})" for name, target in self.targets.items()}
        choice = (
            f"the chosen candidate's score on {self.m:,} records is within "
            f"{three_digits(self.regret)} of the best one's {p}{asked['regret']}, and at most "
            f"{three_digits(self.expected_regret)} below it on average (Theorems 1 and 2)"
        )
        score = (
            f"the released score is within {score_error} of the chosen candidate's {p} "
            f"(Theorem 3){asked['score_error']}. This and the choice hold together with "
            f"probability {2 * self.confidence - 1:.6g}"
        )
        if isinstance(errors, PilotErrors):
            choice += ", converted to the score at the pilot: not a theorem for the score"
            if math.isnan(self.regret):
                choice = "no bound on the regret is known for this score"
            score = (
                f"best_score_interval_ of scoring={errors.scorer!r} is the released score +-"
                f"{score_error}{asked['score_error']}. This is an estimate, the median over "
                f"{N_DRAWS} simulations of the noise, for a candidate that predicts as the pilot "
                f"does: its score is {errors.score:.3g} on {len(errors.public.response):,} public "
                "records"
            )
        sampling = (
            f"the score of one candidate on {self.m:,} records is within about "
            f"{three_digits(self.sampling_error)} of that on their population {p}. This error "
            "comes on top, with or without privacy"
        )
        not_covered = (
            "the quality of the candidates; and public scores, which the choice adds by default "
            "(WorstCase(prior_weight=0) leaves them out). With groups, m is their number (use "
            "counts=False)"
        )
        return [
            ("Fits", [self.fits]) if self.fits else ("Solved for", [_ANSWERS[self.solved_for]]),
            ("Choice", [choice]),
            ("Score", [score]),
            ("Sampling", [sampling]),
            ("Not covered", [not_covered]),
        ]


def three_digits(x: float) -> str:
    """Write a number with three digits, rounded up."""
    if not x > 0:
        return f"{x:g}"
    unit = 10.0 ** (math.floor(math.log10(x)) - 2)
    return f"{math.ceil(x / unit * (1 - 1e-12)) * unit:.4g}"
