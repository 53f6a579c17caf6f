"""Plan a search: how many records, how much epsilon, how many candidates (zone: released)."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from .._card import card
from ._bounds import UtilityBounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..plotting._utility import PrivacyUtilityDisplay

__all__ = ["MAX_CANDIDATES", "SOLVED", "SearchPlan", "three_digits"]

# The search for an answer stops here.
MAX_CANDIDATES = 10**6
# Factors of the plan's m and epsilon in its table.
_FACTORS = (0.25, 0.5, 1, 2, 4)

# Notebooks show these on a click.
_FOLDED = ("Not covered",)

SOLVED = {
    "m": "m: the smallest number of records, or groups, that meets the targets",
    "epsilon": "epsilon: the smallest that meets the targets",
    "n_iter": "n_iter: the largest number of candidates that meets the targets "
    f"({MAX_CANDIDATES:,} stands for that many and more)",
    "nothing": "nothing: m, n_iter and epsilon were all given",
}


@dataclass(frozen=True)
class SearchPlan(UtilityBounds):
    """Numbers of a planned search and the errors guaranteed with them, made by `plan_search`.

    Parameters
    ----------
    m, n_candidates : int
        These and the next are those of `sklearn_dpbo.planning.UtilityBounds`.
    epsilon, score_share, guidance_share, confidence, score_range : float
        As in `UtilityBounds`.
    counts : bool, default=True
        As in `UtilityBounds`.
    target_regret, target_score_error : float or None, default=None
        The largest regret and score error asked for, in units of the score.
    solved_for : {"m", "n_iter", "epsilon", "nothing"}, default="m"
        Which of the numbers is the answer.
    """

    target_regret: float | None = None
    target_score_error: float | None = None
    solved_for: str = "m"
    # The error of each target; where an answer is searched, and how closely.
    errors_of_targets: ClassVar[dict[str, str]] = {
        "target_regret": "regret",
        "target_score_error": "score_error",
    }
    range_of_m: ClassVar[tuple[int, int]] = (1, 10**12)
    range_of_epsilon: ClassVar[tuple[float, float]] = (1e-9, 1e9)
    tolerance: ClassVar[float] = 0.0

    @property
    def n_iter(self) -> int:
        """Number of candidates, all of them counted as validated."""
        return self.n_candidates

    @property
    def meets_targets(self) -> bool:
        """Whether no error exceeds its target."""
        return all(getattr(self, error) <= target for error, target in self.targets().items())

    def targets(self) -> dict[str, float]:
        """Return the targets that were given, by the name of the error."""
        found = {error: getattr(self, name) for name, error in self.errors_of_targets.items()}
        return {error: target for error, target in found.items() if target is not None}

    def table(
        self,
        *,
        epsilon: float | Iterable[float] | None = None,
        m: int | Iterable[int] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the errors over a grid, as ``pandas.DataFrame`` takes them.

        Parameters
        ----------
        epsilon, m : number or iterable of numbers, default=None
            Values of the grid; None is from a quarter to four times the plan's.

        Returns
        -------
        rows : list of dict
            With the keys m, epsilon, regret, expected_regret, score_error, sampling_error and
            meets_targets.
        """
        ms = [max(1, round(f * self.m)) for f in _FACTORS] if m is None else _as_list(m)
        epsilons = [f * self.epsilon for f in _FACTORS] if epsilon is None else _as_list(epsilon)
        plans = [replace(self, m=m, epsilon=e) for m in dict.fromkeys(ms) for e in epsilons]
        names = ("m", "epsilon", "regret", "expected_regret", "score_error", "sampling_error")
        return [{name: getattr(plan, name) for name in (*names, "meets_targets")} for plan in plans]

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> PrivacyUtilityDisplay:
        """Plot both errors against epsilon, by `PrivacyUtilityDisplay.from_bounds`."""
        from ..plotting._utility import PrivacyUtilityDisplay

        return PrivacyUtilityDisplay.from_bounds(self, ax=ax, **{**self.drawn_at, **kwargs})

    @property
    def drawn_at(self) -> dict[str, Any]:
        """Where errors are drawn, for `PrivacyUtilityDisplay.from_bounds`."""
        return {}

    def __str__(self) -> str:
        lines = [self._title]
        for heading, text in self._lines():
            lines += textwrap.wrap(
                text, 100, initial_indent=f"  {heading:<12}", subsequent_indent=" " * 14
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the plan as a self-contained HTML fragment, for notebooks."""
        rows = [(heading, [text]) for heading, text in self._lines()]
        folded = [row for row in rows if row[0] in _FOLDED]
        return card(self._title, [row for row in rows if row not in folded], folded=folded)

    @property
    def _title(self) -> str:
        return (
            f"Plan: {self.m:,} validation records (or groups), at most {self.n_iter:,} candidates, "
            f"epsilon = {three_digits(self.epsilon)}"
        )

    def _lines(self) -> list[tuple[str, str]]:
        p = f"with probability {self.confidence:.6g}"
        regret_target, score_target = (
            "" if target is None else f"; asked for: {target:g}"
            for target in (self.target_regret, self.target_score_error)
        )
        regret, mean_regret = three_digits(self.regret), three_digits(self.expected_regret)
        binomial, sampling = three_digits(self.binomial_error), three_digits(self.sampling_error)
        sampling_is_larger = self.binomial_error > max(self.regret, self.score_error)
        return [
            ("Solved for", SOLVED[self.solved_for]),
            (
                "Choice",
                f"the chosen candidate's validation score is within {regret} of the best one's {p} "
                f"(Theorem 1{regret_target}), and at most {mean_regret} below it on average "
                "(Theorem 2)",
            ),
            (
                "Score",
                f"the released score is within {three_digits(self.score_error)} of the chosen "
                f"candidate's {p} (Theorem 3{score_target})",
            ),
            ("Both", f"hold together with probability {2 * self.confidence - 1:.6g}"),
            (
                "Sampling",
                f"the score of one candidate on {self.m:,} records is within {binomial} of its "
                f"score on their population {p} (binomial, for a score halfway between the "
                f"bounds), within {sampling} for any score (Theorem 4). This error comes on top of "
                "those above, with or without privacy, and is "
                f"{'larger' if sampling_is_larger else 'smaller'} than they are",
            ),
            (
                "Not covered",
                "the quality of the candidates; the public scores that the choice adds by default "
                "(the first statement then holds for the sum; WorstCase(prior_weight=0) leaves "
                "them out); and metrics that are not means over records, "
                "such as f1 and roc_auc (for these, pass scoring= and a pilot model). The privacy "
                "guarantee does not depend on the plan. With groups_val, m counts groups (use "
                "counts=False)",
            ),
        ]


def three_digits(x: float) -> str:
    """Write a number with three digits, rounded up."""
    if x <= 0:
        return f"{x:g}"
    unit = 10.0 ** (math.floor(math.log10(x)) - 2)
    return f"{math.ceil(x / unit * (1 - 1e-12)) * unit:.4g}"


def _as_list(numbers: Any) -> list[Any]:
    return [numbers] if isinstance(numbers, Real) else list(numbers)
