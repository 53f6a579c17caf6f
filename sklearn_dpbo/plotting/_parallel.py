"""`ParallelCoordinatesDisplay`: settings as lines across all parameters (zone: released)."""

from __future__ import annotations

from typing import Self

import numpy as np

from ._common import BLUE, VERMILION, axes_for, foreground, legend_above, tried
from ._parameters import ParameterAxis

__all__ = ["ParallelCoordinatesDisplay"]


class ParallelCoordinatesDisplay:
    """The settings of a search as lines across all of its parameters.

    Make it with `from_search`. Coloured lines are settings that were scored within the training
    set; the others were scored on the validation set, whose scores are not to be had.

    Parameters
    ----------
    parameters : list of ParameterAxis
    public_scores : ndarray of shape (n_settings,)
        NaN where there is none.
    failed : ndarray of bool, shape (n_settings,)
    chosen : int
    score_name : str, default="score"
    other : str, default="validated"
        What settings without a public score are called.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    scored_, others_, failed_ : matplotlib LineCollection
    chosen_ : matplotlib Line2D
    texts_ : list of matplotlib Text
        Values beside the axes.
    colorbar_ : matplotlib Colorbar or None
    legend_ : matplotlib Legend
    """

    def __init__(
        self, parameters, *, public_scores, failed, chosen, score_name="score", other="validated"
    ) -> None:
        self.parameters = parameters
        self.public_scores = public_scores
        self.failed = failed
        self.chosen = chosen
        self.score_name = score_name
        self.other = other

    @classmethod
    def from_search(cls, search, *, parameters=None, ax=None, **kwargs) -> Self:
        """Draw the settings of a fitted search.

        Parameters
        ----------
        search : PrivateBayesSearchCV
        parameters : list of str, default=None
            Names, in order; None is all.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            As `plot` takes them.

        Returns
        -------
        display : ParallelCoordinatesDisplay

        Raises
        ------
        NotFittedError
            If the search has not been fitted.
        ValueError
            If it released no setting, or a parameter is not there.
        """
        known = tried(search)
        names = list(known.columns) if parameters is None else list(parameters)
        if not names:
            raise ValueError("the search has no parameters to draw")
        display = cls(
            [ParameterAxis.of(n, known.column(n), search.param_grid) for n in names],
            public_scores=known.public_scores,
            failed=known.failed,
            chosen=known.chosen,
            score_name=known.score_name,
            other="to choose from" if known.validated is None else "validated",
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, *, cmap="cividis", colorbar=True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        cmap : str or Colormap, default="cividis"
            Of the public scores.
        colorbar : bool, default=True

        Returns
        -------
        self : ParallelCoordinatesDisplay
        """
        n = len(self.parameters)
        self.figure_, self.ax_ = axes_for(ax, (max(6.4, 1.6 * n), 4.8))
        scored = ~np.isnan(self.public_scores) & ~self.failed
        others = ~scored & ~self.failed
        others[self.chosen] = False
        plain = {"colors": BLUE, "lw": 0.8}
        self.others_ = self._lines(others, self.other, alpha=0.7, **plain)
        self.failed_ = self._lines(
            self.failed, "fit failed", colors=foreground(), lw=0.8, ls=":", alpha=0.6
        )
        self.scored_ = self._lines(scored, "explored (training set)", cmap=cmap, lw=1.4, alpha=0.9)
        self.scored_.set_array(self.public_scores[scored])
        self.scored_.update_scalarmappable()  # the legend takes the colour that is there
        chosen = [axis.heights[self.chosen] for axis in self.parameters]
        (self.chosen_,) = self.ax_.plot(
            range(n), chosen, color=VERMILION, lw=2.5, marker="o", label="chosen", zorder=4
        )
        self._write_axes()
        self.colorbar_ = None
        if colorbar and scored.any():
            self.colorbar_ = self.figure_.colorbar(self.scored_, ax=self.ax_)
            self.colorbar_.set_label(f"{self.score_name} within the training set")
        self.legend_ = legend_above(self.ax_)
        return self

    def _lines(self, which, label: str, **style):
        from matplotlib.collections import LineCollection

        heights = np.column_stack([axis.heights[which] for axis in self.parameters])
        at = np.arange(heights.shape[1])
        if len(at) == 1:  # lines need two ends: short ones across the only axis
            at, heights = np.array([-0.05, 0.05]), np.repeat(heights, 2, axis=1)
        lines = [np.column_stack([at, row]) for row in heights]
        label = label if which.any() else "_nothing"
        return self.ax_.add_collection(LineCollection(lines, label=label, **style))

    def _write_axes(self) -> None:
        """Draw one vertical line per parameter, with values beside it."""
        n, box = len(self.parameters), {"pad": 1, "alpha": 0.75, "lw": 0}
        box["facecolor"] = self.ax_.get_facecolor()
        self.ax_.set(xlim=(-0.35, n - 0.8), ylim=(-0.06, 1.06), yticks=[])
        self.ax_.set_xticks(range(n), labels=[axis.name for axis in self.parameters])
        longest = max(len(axis.name) for axis in self.parameters)
        if n * longest > 70:
            self.ax_.tick_params(axis="x", labelrotation=15)
        self.ax_.spines[["left", "right", "top", "bottom"]].set_visible(False)
        self.texts_, style = [], {"bbox": box, "zorder": 5}
        for i, axis in enumerate(self.parameters):
            self.ax_.axvline(i, color=foreground(), lw=0.8, zorder=3)
            self.texts_ += [
                self.ax_.text(
                    i - 0.04, height, text, ha="right", va="center", size="small", **style
                )
                for height, text in axis.ticks()
            ]
