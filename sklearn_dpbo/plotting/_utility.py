"""`PrivacyUtilityDisplay`: errors of a planned search as functions of epsilon (zone: released)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ._common import BLUE, GREEN, VERMILION, figure_and_axes, legend_above, text_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PrivacyUtilityDisplay"]


class PrivacyUtilityDisplay:
    """Errors of the choice and of the score, as functions of epsilon.

    Returned by `SearchPlan.plot`. The dotted line is the error of a score that comes from sampling
    the validation set. Where the curves are below this line, the noise for privacy matters less
    than the size of the validation set.

    Parameters
    ----------
    epsilon : ndarray of shape (n_points,)
        Privacy parameter of the whole search, per unit.
    regret, score_error : ndarray of shape (n_points,)
        Error of the choice and of the released score at each epsilon, in units of the score.
    sampling_error : float
        Sampling error of a score, in units of the score.
    point : tuple (epsilon, regret, score_error)
        The plan, which is marked.
    label : str, default="error"
        Label of the axis of errors.

    Attributes
    ----------
    ax_, figure_, legend_ : matplotlib Axes, Figure and Legend
    regret_, score_error_, sampling_error_ : matplotlib Line2D
        The curves.
    point_ : matplotlib PathCollection
        Markers of the plan.
    """

    def __init__(
        self,
        epsilon: NDArray[np.float64],
        *,
        regret: NDArray[np.float64],
        score_error: NDArray[np.float64],
        sampling_error: float,
        point: tuple[float, float, float],
        label: str = "error",
    ) -> None:
        self.epsilon = epsilon
        self.regret = regret
        self.score_error = score_error
        self.sampling_error = sampling_error
        self.point = point
        self.label = label

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves on `ax`, or in a new figure."""
        self.figure_, self.ax_ = figure_and_axes(ax, (6.4, 4.4))
        unknown = " (no bound is known)" if np.isnan(self.regret).all() else ""
        # A logarithmic axis cannot show an error of 0.
        (self.regret_,) = self.ax_.plot(
            self.epsilon, _positive(self.regret), color=BLUE, label=f"choice: regret{unknown}"
        )
        (self.score_error_,) = self.ax_.plot(
            self.epsilon,
            _positive(self.score_error),
            color=VERMILION,
            ls="--",
            label="released score: error",
        )
        self.sampling_error_ = self.ax_.axhline(
            self.sampling_error, color=GREEN, ls=":", label="sampling of the validation set"
        )
        epsilon, *errors = self.point
        self.ax_.axvline(epsilon, color=text_color(), lw=0.6, alpha=0.6)
        self.point_ = self.ax_.scatter(
            [epsilon] * 2,
            _positive(errors),
            color=[BLUE, VERMILION],
            zorder=3,
            label=f"epsilon = {epsilon:.3g}",
        )
        self.ax_.set(xscale="log", yscale="log", xlabel="epsilon", ylabel=self.label)
        self.legend_ = legend_above(self.ax_)
        return self


def _positive(errors: NDArray[np.float64] | list[float]) -> NDArray[np.float64]:
    """Return NaN instead of 0."""
    return np.where(np.asarray(errors) > 0, errors, np.nan)
