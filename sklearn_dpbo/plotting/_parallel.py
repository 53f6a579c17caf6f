"""`ParallelCoordinatesDisplay`: candidates as lines across all parameters (zone: released)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ._common import (
    BLUE,
    VERMILION,
    figure_and_axes,
    legend_above,
    released_candidates,
    text_color,
)
from ._parameters import ParameterAxis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Colormap

__all__ = ["ParallelCoordinatesDisplay"]


class ParallelCoordinatesDisplay:
    """The candidates of a search as lines across all of its parameters.

    Create it with `from_search`. The colour of a line is the candidate's score within the training
    set. The other candidates were scored on the validation set; these scores are not released.

    Parameters
    ----------
    parameters : list of ParameterAxis
        The axes, from left to right, with the positions of the candidates.
    public_scores, failed, chosen, score_name : ndarray, ndarray, int, str
        As in `SearchPathDisplay`.
    other : str, default="validated"
        Legend label of the candidates without a public score.

    Attributes
    ----------
    ax_, figure_, legend_ : matplotlib Axes, Figure and Legend
    scored_, others_, failed_ : matplotlib LineCollection
        Candidates with a public score, without one, and those whose fit failed.
    chosen_ : matplotlib Line2D
    texts_ : list of matplotlib Text
        Values beside the axes.
    colorbar_ : matplotlib Colorbar or None
        None without public scores.
    """

    def __init__(
        self,
        parameters: Sequence[ParameterAxis],
        *,
        public_scores: NDArray[np.float64],
        failed: NDArray[np.bool_],
        chosen: int,
        score_name: str = "score",
        other: str = "validated",
    ) -> None:
        self.parameters = parameters
        self.public_scores = public_scores
        self.failed = failed
        self.chosen = chosen
        self.score_name = score_name
        self.other = other

    @classmethod
    def from_search(
        cls,
        search: Any,
        *,
        parameters: Sequence[str] | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the candidates of a fitted search; `ax` and other arguments are those of `plot`.

        Parameters
        ----------
        search : PrivateBayesSearchCV
            A fitted search that released a candidate.
        parameters : list of str, default=None
            Names of the parameters to draw, in this order; None draws all.
        """
        released = released_candidates(search)
        names = list(released.columns) if parameters is None else list(parameters)
        if not names:
            raise ValueError("the search has no parameters to draw")
        display = cls(
            [ParameterAxis.of(n, released.column(n), search.param_grid) for n in names],
            public_scores=released.public_scores,
            failed=released.failed,
            chosen=released.chosen,
            score_name=released.score_name,
            other="to choose from" if released.validated is None else "validated",
        )
        return display.plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        cmap: str | Colormap = "cividis",
        colorbar: bool = True,
    ) -> Self:
        """Draw the candidates on `ax`, or in a new figure.

        Parameters
        ----------
        cmap : str or Colormap, default="cividis"
            Colour map of the public scores.
        colorbar : bool, default=True
            Whether to add a colour bar, if there are public scores.
        """
        n = len(self.parameters)
        self.figure_, self.ax_ = figure_and_axes(ax, (max(6.4, 1.6 * n), 4.8))
        scored = ~np.isnan(self.public_scores) & ~self.failed
        others = ~scored & ~self.failed
        others[self.chosen] = False
        self.others_ = self._lines(others, self.other, alpha=0.7, colors=BLUE, lw=0.8)
        self.failed_ = self._lines(
            self.failed, "fit failed", colors=text_color(), lw=0.8, ls=":", alpha=0.6
        )
        self.scored_ = self._lines(scored, "explored (training set)", cmap=cmap, lw=1.4, alpha=0.9)
        self.scored_.set_array(self.public_scores[scored])
        self.scored_.update_scalarmappable()  # so that the legend shows a colour of the map
        chosen = [axis.heights[self.chosen] for axis in self.parameters]
        (self.chosen_,) = self.ax_.plot(
            range(n), chosen, color=VERMILION, lw=2.5, marker="o", label="chosen", zorder=4
        )
        self._draw_parameter_axes()
        self.colorbar_ = None
        if colorbar and scored.any():
            self.colorbar_ = self.figure_.colorbar(self.scored_, ax=self.ax_)
            self.colorbar_.set_label(f"{self.score_name} within the training set")
        self.legend_ = legend_above(self.ax_)
        return self

    def _lines(self, which: NDArray[np.bool_], label: str, **style: Any) -> LineCollection:
        """Draw some of the candidates; an empty selection gets no entry in the legend."""
        from matplotlib.collections import LineCollection

        heights = np.column_stack([axis.heights[which] for axis in self.parameters])
        x: NDArray[np.float64] = np.arange(heights.shape[1], dtype=float)
        if len(x) == 1:  # a line needs two points: draw a short one across the only axis
            x, heights = np.array([-0.05, 0.05]), np.repeat(heights, 2, axis=1)
        lines = [np.column_stack([x, row]) for row in heights]
        label = label if which.any() else "_nothing"
        collection = LineCollection(lines, label=label, **style)
        self.ax_.add_collection(collection)
        return collection

    def _draw_parameter_axes(self) -> None:
        """Draw one vertical line per parameter, with values beside it."""
        n = len(self.parameters)
        box = {"pad": 1, "alpha": 0.75, "lw": 0, "facecolor": self.ax_.get_facecolor()}
        self.ax_.set(xlim=(-0.35, n - 0.8), ylim=(-0.06, 1.06), yticks=[])
        self.ax_.set_xticks(range(n), labels=[axis.name for axis in self.parameters])
        longest = max(len(axis.name) for axis in self.parameters)
        if n * longest > 70:
            self.ax_.tick_params(axis="x", labelrotation=15)
        self.ax_.spines[["left", "right", "top", "bottom"]].set_visible(False)
        self.texts_ = []
        for i, axis in enumerate(self.parameters):
            self.ax_.axvline(i, color=text_color(), lw=0.8, zorder=3)
            self.texts_ += [
                self.ax_.text(
                    i - 0.04,
                    height,
                    text,
                    ha="right",
                    va="center",
                    size="small",
                    bbox=box,
                    zorder=5,
                )
                for height, text in axis.ticks()
            ]
