"""`PrivacyUtilityDisplay`: guaranteed errors as functions of epsilon (zone: released)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..planning._plan import SearchPlan
from ..planning._solve import plan_of
from ._common import BLUE, GREEN, VERMILION, figure_and_axes, legend_above, text_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PrivacyUtilityDisplay"]

# By default, so many points from the plan's epsilon divided by a factor to it multiplied by that.
_N_POINTS, _FACTOR = 41, 10.0


class PrivacyUtilityDisplay:
    """Guaranteed error of the choice and of the score, as functions of epsilon.

    Create it with `from_search`, `from_plan` or `SearchPlan.plot`. The dotted line is the error
    of a score that comes from sampling the validation set. Where the curves are below this line,
    the noise for privacy matters less than the size of the validation set.

    Parameters
    ----------
    epsilon : ndarray of shape (n_points,)
        Privacy parameter of the whole search, per unit.
    regret, score_error : ndarray of shape (n_points,)
        Guaranteed error of the choice and of the released score at each epsilon, in units of the
        score.
    sampling_error : float
        Sampling error of a score, in units of the score.
    point : tuple (epsilon, regret, score_error) or None, default=None
        A search or plan to be marked.
    label : str, default=""
        Assumptions of the curves, for the label of the axis.
    guaranteed : bool, default=True
        Whether errors are those of theorems; else they are estimates, from a pilot's predictions.

    Attributes
    ----------
    ax_, figure_, legend_ : matplotlib Axes, Figure and Legend
    regret_, score_error_, sampling_error_ : matplotlib Line2D
        The curves.
    point_ : matplotlib PathCollection or None
        Markers of the point.
    """

    def __init__(
        self,
        epsilon: NDArray[np.float64],
        *,
        regret: NDArray[np.float64],
        score_error: NDArray[np.float64],
        sampling_error: float,
        point: tuple[float, float, float] | None = None,
        label: str = "",
        guaranteed: bool = True,
    ) -> None:
        self.epsilon = epsilon
        self.regret = regret
        self.score_error = score_error
        self.sampling_error = sampling_error
        self.point = point
        self.label = label
        self.guaranteed = guaranteed

    @classmethod
    def from_search(
        cls, search: Any, *, confidence: float = 0.95, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw the curves for the m and the candidates of a fitted search, and mark the search.

        Other arguments are those of `from_plan`.

        Parameters
        ----------
        search : PrivateBayesSearchCV
            A search fitted with `WorstCase` and a score that is a mean of gains.
        confidence : float, default=0.95
            Probability of each guarantee, in [0.5, 1 - 1e-9].
        """
        return cls.from_plan(plan_of(search, confidence), ax=ax, **kwargs)

    @classmethod
    def from_plan(
        cls,
        plan: SearchPlan,
        *,
        epsilon: ArrayLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curves for a plan's numbers of units and candidates, and mark its epsilon.

        `ax` and other arguments are those of `plot`.

        Parameters
        ----------
        plan : SearchPlan
            The plan; errors at other values of epsilon are computed from it.
        epsilon : array-like, default=None
            Values of epsilon to draw, at least 1e-9; None is from a tenth of the plan's to ten
            times it.
        """
        if epsilon is None:
            low = max(plan.epsilon / _FACTOR, 1e-9)
            epsilon = np.geomspace(low, plan.epsilon * _FACTOR, _N_POINTS)
        epsilons = np.asarray(epsilon, dtype=float)
        each = [replace(plan, epsilon=float(e)) for e in epsilons]
        display = cls(
            epsilons,
            regret=np.array([p.regret for p in each]),
            score_error=np.array([p.score_error for p in each]),
            sampling_error=plan.sampling_error,
            point=(plan.epsilon, plan.regret, plan.score_error),
            label=f"m = {plan.m:,}, {plan.n_iter:,} candidates, probability {plan.confidence:.6g}",
            guaranteed=plan.errors.guaranteed,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves on `ax`, or in a new figure."""
        self.figure_, self.ax_ = figure_and_axes(ax, (6.4, 4.4))
        draw = self.ax_.plot
        # A logarithmic axis cannot show an error of 0.
        regret, score_error = (
            np.where(errors > 0, errors, np.nan) for errors in (self.regret, self.score_error)
        )
        unknown = " (no bound is known)" if np.isnan(self.regret).all() else ""
        (self.regret_,) = draw(self.epsilon, regret, color=BLUE, label=f"choice: regret{unknown}")
        (self.score_error_,) = draw(
            self.epsilon, score_error, color=VERMILION, ls="--", label="released score: error"
        )
        self.sampling_error_ = self.ax_.axhline(
            self.sampling_error, color=GREEN, ls=":", label="sampling of the validation set"
        )
        self.point_ = None
        if self.point is not None:
            epsilon, *errors = self.point
            self.ax_.axvline(epsilon, color=text_color(), lw=0.6, alpha=0.6)
            self.point_ = self.ax_.scatter(
                [epsilon] * 2,
                [error or np.nan for error in errors],
                color=[BLUE, VERMILION],
                zorder=3,
                label=f"epsilon = {epsilon:.3g}",
            )
        self.ax_.set(xscale="log", yscale="log", xlabel="epsilon")
        kind = "guaranteed" if self.guaranteed else "estimated"
        self.ax_.set_ylabel(f"{kind} error\n({self.label})" if self.label else "error")
        self.legend_ = legend_above(self.ax_)
        return self
