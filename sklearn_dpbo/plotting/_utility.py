"""`PrivacyUtilityDisplay`: what privacy costs, as guaranteed (zone: released)."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np

from ..planning._bounds import UtilityBounds, utility_of
from ._common import BLUE, GREEN, VERMILION, axes_for, foreground, legend_above

__all__ = ["PrivacyUtilityDisplay"]

_N_POINTS = 120
_REACH = 30.0


class PrivacyUtilityDisplay:
    """Guaranteed error of the choice and of the score, as functions of epsilon.

    Make it with `from_search`, `from_bounds` or `SearchPlan.plot`. The dotted line is what the
    sampling of the validation set does to a score in any case: where the curves are below it,
    noise is not what limits the search.

    Parameters
    ----------
    epsilon : ndarray of shape (n_points,)
    regret, score_error : ndarray of shape (n_points,)
    sampling_error : float
    point : tuple (epsilon, regret, score_error) or None
        Where a search or a plan stands.
    label : str, default=""
        What the curves are for.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    regret_, score_error_, sampling_error_ : matplotlib Line2D
    point_ : matplotlib PathCollection or None
    legend_ : matplotlib Legend
    """

    def __init__(
        self, epsilon, *, regret, score_error, sampling_error, point=None, label=""
    ) -> None:
        self.epsilon = epsilon
        self.regret = regret
        self.score_error = score_error
        self.sampling_error = sampling_error
        self.point = point
        self.label = label

    @classmethod
    def from_search(cls, search, *, confidence=0.95, ax=None, **kwargs) -> Self:
        """Draw the curves for the m and the candidates of a fitted search, and where it stands.

        Parameters
        ----------
        search : PrivateBayesSearchCV
            Fitted with `WorstCase`, and a score that is a mean of gains.
        confidence : float, default=0.95
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            As `from_bounds` takes them.

        Returns
        -------
        display : PrivacyUtilityDisplay

        Raises
        ------
        NotFittedError
            If the search has not been fitted.
        ValueError
            If the theorems do not cover it.
        """
        return cls.from_bounds(utility_of(search, confidence), ax=ax, **kwargs)

    @classmethod
    def from_bounds(
        cls, bounds: UtilityBounds, *, epsilon=None, mark=True, ax=None, **kwargs
    ) -> Self:
        """Draw the curves for given numbers.

        Parameters
        ----------
        bounds : UtilityBounds or SearchPlan
            Of m records and n candidates.
        epsilon : array-like, default=None
            Where to draw; None is up to 30 times smaller and larger than that of bounds.
        mark : bool, default=True
            Whether to mark the epsilon of bounds.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            As `plot` takes them.

        Returns
        -------
        display : PrivacyUtilityDisplay
        """
        if epsilon is None:
            low = max(bounds.epsilon / _REACH, 1e-9)
            epsilon = np.geomspace(low, bounds.epsilon * _REACH, _N_POINTS)
        epsilon = np.asarray(epsilon, dtype=float)
        each = [replace(bounds, epsilon=float(e)) for e in epsilon]
        display = cls(
            epsilon,
            regret=np.array([b.regret for b in each]),
            score_error=np.array([b.score_error for b in each]),
            sampling_error=bounds.binomial_error,
            point=(bounds.epsilon, bounds.regret, bounds.score_error) if mark else None,
            label=f"m = {bounds.m:,}, {bounds.n_candidates:,} candidates, "
            f"probability {bounds.confidence:.6g}",
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax=None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.

        Returns
        -------
        self : PrivacyUtilityDisplay
        """
        self.figure_, self.ax_ = axes_for(ax, (6.4, 4.4))
        draw = self.ax_.plot
        # What is guaranteed to be exact has no place on a logarithmic axis.
        regret, score_error = (
            np.where(errors > 0, errors, np.nan) for errors in (self.regret, self.score_error)
        )
        (self.regret_,) = draw(self.epsilon, regret, color=BLUE, label="choice: regret")
        (self.score_error_,) = draw(
            self.epsilon, score_error, color=VERMILION, ls="--", label="released score: error"
        )
        self.sampling_error_ = self.ax_.axhline(
            self.sampling_error, color=GREEN, ls=":", label="sampling of the validation set"
        )
        self.point_ = None
        if self.point is not None:
            epsilon, *errors = self.point
            self.ax_.axvline(epsilon, color=foreground(), lw=0.6, alpha=0.6)
            self.point_ = self.ax_.scatter(
                [epsilon] * 2,
                [error or np.nan for error in errors],
                color=[BLUE, VERMILION],
                zorder=3,
                label=f"epsilon = {epsilon:.3g}",
            )
        self.ax_.set(xscale="log", yscale="log", xlabel="epsilon")
        self.ax_.set_ylabel(f"guaranteed error\n({self.label})" if self.label else "error")
        self.legend_ = legend_above(self.ax_)
        return self
