"""`SearchPathDisplay`: the path of a search through its space (zone: released)."""

from __future__ import annotations

from typing import Self

import numpy as np

from ._common import BLUE, VERMILION, Tried, axes_for, foreground, legend_above, tried
from ._parameters import ParameterAxis

__all__ = ["SearchPathDisplay"]


class SearchPathDisplay:
    """Settings in the order in which a search tried them, in one or two parameters.

    Make it with `from_search`. Settings that were explored within the training set, those that
    were scored on the validation set, and the one that was chosen are marked apart; colour is the
    public score. All of that is public or was released.

    Parameters
    ----------
    x, y : ParameterAxis
        Where the settings are drawn.
    validated : ndarray of bool, shape (n_settings,)
    public_scores : ndarray of shape (n_settings,)
        NaN where there is none.
    failed : ndarray of bool, shape (n_settings,)
    chosen : int
    score_name : str, default="score"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    path_ : matplotlib Line2D
        From each setting to the next.
    explored_, validated_, failed_, chosen_ : matplotlib PathCollection
    colorbar_ : matplotlib Colorbar or None
    legend_ : matplotlib Legend

    See Also
    --------
    ParallelCoordinatesDisplay : The same in all parameters at once.
    """

    def __init__(
        self, x, y, *, validated, public_scores, failed, chosen, score_name="score"
    ) -> None:
        self.x = x
        self.y = y
        self.validated = validated
        self.public_scores = public_scores
        self.failed = failed
        self.chosen = chosen
        self.score_name = score_name

    @classmethod
    def from_search(cls, search, x=None, y=None, *, ax=None, **kwargs) -> Self:
        """Draw the path of a fitted search.

        Parameters
        ----------
        search : PrivateBayesSearchCV
            Fitted with `WorstCase`: other strategies do not release their path.
        x, y : str, default=None
            Names of parameters. With one of them, it is drawn over the settings' number; with
            none, two are taken, those with the most values.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            As `plot` takes them.

        Returns
        -------
        display : SearchPathDisplay

        Raises
        ------
        NotFittedError
            If the search has not been fitted.
        ValueError
            If its path was not released, or a parameter is not there.
        """
        known = tried(search)
        if known.validated is None:
            raise ValueError(
                f"{search.strategy!r} does not release which settings it tried: cv_results_ lists "
                "what the setting was drawn from, and there is no path to draw"
            )
        names = [name for name in (x, y) if name is not None] or _most_varied(known)
        axes = [ParameterAxis.of(n, known.column(n), search.param_grid) for n in names]
        if len(axes) == 1:
            axes.insert(0, ParameterAxis.number(len(known.failed)))
        display = cls(
            *axes,
            validated=known.validated,
            public_scores=known.public_scores,
            failed=known.failed,
            chosen=known.chosen,
            score_name=known.score_name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, *, cmap="cividis", colorbar=True, path_kw=None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        cmap : str or Colormap, default="cividis"
            Of the public scores.
        colorbar : bool, default=True
        path_kw : dict, default=None
            For the line from setting to setting.

        Returns
        -------
        self : SearchPathDisplay
        """
        self.figure_, self.ax_ = axes_for(ax, (6.4, 4.8))
        x, y = self.x.positions, self.y.positions
        style = {"lw": 0.6, "alpha": 0.35, "color": foreground(), "zorder": 1} | (path_kw or {})
        (self.path_,) = self.ax_.plot(x, y, **style)
        scored = ~np.isnan(self.public_scores)
        explored = ~self.validated & ~self.failed
        others = self.validated & ~self.failed
        others[self.chosen] = False
        edge = {"edgecolors": foreground(), "linewidths": 0.5}
        self.explored_ = self._scatter(
            explored & scored,
            "explored (training set)",
            c=self.public_scores[explored & scored],
            cmap=cmap,
            s=34,
            zorder=2,
            **edge,
        )
        self.validated_ = self._scatter(
            others, "validated", s=48, marker="s", facecolors="none", edgecolors=BLUE, zorder=3
        )
        self.failed_ = self._scatter(self.failed, "fit failed", marker="x", c=foreground(), s=30)
        self.chosen_ = self._scatter(
            np.arange(len(x)) == self.chosen, "chosen", marker="*", c=VERMILION, s=220, zorder=4
        )
        self.x.apply(self.ax_, "x")
        self.y.apply(self.ax_, "y")
        self.colorbar_ = None
        if colorbar and (explored & scored).any():
            self.colorbar_ = self.figure_.colorbar(self.explored_, ax=self.ax_)
            self.colorbar_.set_label(f"{self.score_name} within the training set")
        self.legend_ = legend_above(self.ax_)
        return self

    def _scatter(self, which, label: str, **style):
        """Draw some of the settings; what is not there is not in the legend either."""
        label = label if which.any() else "_nothing"
        return self.ax_.scatter(
            self.x.positions[which], self.y.positions[which], label=label, **style
        )


def _most_varied(known: Tried) -> list[str]:
    """Return the names of the two parameters with the most values, in the order of the columns."""
    if not known.columns:
        raise ValueError("the search has no parameters to draw")
    n_values = {
        name: len({repr(v) for v in np.ma.compressed(column)})
        for name, column in known.columns.items()
    }
    most = sorted(n_values, key=n_values.__getitem__, reverse=True)[:2]
    return [name for name in known.columns if name in most]
