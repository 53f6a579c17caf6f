"""`SearchPathDisplay`: the candidates in the order of their evaluation (zone: released)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ._common import (
    BLUE,
    VERMILION,
    ReleasedCandidates,
    figure_and_axes,
    legend_above,
    released_candidates,
    text_color,
)
from ._parameters import ParameterAxis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.colors import Colormap

__all__ = ["SearchPathDisplay"]


class SearchPathDisplay:
    """Candidates in the order in which a search evaluated them, in one or two parameters.

    Create it with `from_search`. Candidates that were explored within the training set, those that
    were scored on the validation set, and the chosen one have different markers; the colour is the
    public score.

    Parameters
    ----------
    x, y : ParameterAxis
        The axes, with the positions of the candidates.
    validated : ndarray of bool, shape (n_candidates,)
        Whether the candidate was scored on the validation set.
    public_scores : ndarray of shape (n_candidates,)
        Scores within the training set; NaN for candidates without one.
    failed : ndarray of bool, shape (n_candidates,)
        Whether fitting the candidate failed.
    chosen : int
        Position of the chosen candidate.
    score_name : str, default="score"
        Name of the score, for the colour bar.

    Attributes
    ----------
    ax_, figure_, legend_ : matplotlib Axes, Figure and Legend
    path_ : matplotlib Line2D
        Line from each candidate to the next.
    explored_, validated_, failed_, chosen_ : matplotlib PathCollection
        Markers of the candidates.
    colorbar_ : matplotlib Colorbar or None
        None without public scores.
    """

    def __init__(
        self,
        x: ParameterAxis,
        y: ParameterAxis,
        *,
        validated: NDArray[np.bool_],
        public_scores: NDArray[np.float64],
        failed: NDArray[np.bool_],
        chosen: int,
        score_name: str = "score",
    ) -> None:
        self.x = x
        self.y = y
        self.validated = validated
        self.public_scores = public_scores
        self.failed = failed
        self.chosen = chosen
        self.score_name = score_name

    @classmethod
    def from_search(
        cls,
        search: Any,
        x: str | None = None,
        y: str | None = None,
        *,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the path of a fitted search; `ax` and other arguments are those of `plot`.

        Parameters
        ----------
        search : PrivateBayesSearchCV
            A search fitted with `WorstCase`: other strategies do not release their path.
        x, y : str, default=None
            Names of parameters. If one is given, it is drawn over the number of the candidate. If
            none is given, the two parameters with the most values are drawn.
        """
        released = released_candidates(search)
        if released.validated is None:
            raise ValueError(
                f"{search.strategy!r} does not release which candidates it evaluated, so there is "
                "no path to draw: cv_results_ lists all candidates that could be chosen"
            )
        names = [name for name in (x, y) if name is not None] or _most_varied(released)
        axes = [ParameterAxis.of(n, released.column(n), search.param_grid) for n in names]
        if len(axes) == 1:
            axes.insert(0, ParameterAxis.number(len(released.failed)))
        display = cls(
            *axes,
            validated=released.validated,
            public_scores=released.public_scores,
            failed=released.failed,
            chosen=released.chosen,
            score_name=released.score_name,
        )
        return display.plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        cmap: str | Colormap = "cividis",
        colorbar: bool = True,
        path_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the path on `ax`, or in a new figure.

        Parameters
        ----------
        cmap : str or Colormap, default="cividis"
            Colour map of the public scores.
        colorbar : bool, default=True
            Whether to add a colour bar, if there are public scores.
        path_kw : dict, default=None
            Passed to matplotlib's ``plot`` for the line from candidate to candidate.
        """
        self.figure_, self.ax_ = figure_and_axes(ax, (6.4, 4.8))
        x, y = self.x.positions, self.y.positions
        style: dict[str, Any] = {"lw": 0.6, "alpha": 0.35, "color": text_color(), "zorder": 1}
        (self.path_,) = self.ax_.plot(x, y, **style | (path_kw or {}))
        scored = ~np.isnan(self.public_scores)
        explored = ~self.validated & ~self.failed
        others = self.validated & ~self.failed
        others[self.chosen] = False
        self.explored_ = self._scatter(
            explored & scored,
            "explored (training set)",
            c=self.public_scores[explored & scored],
            cmap=cmap,
            s=34,
            zorder=2,
            edgecolors=text_color(),
            linewidths=0.5,
        )
        self.validated_ = self._scatter(
            others, "validated", s=48, marker="s", facecolors="none", edgecolors=BLUE, zorder=3
        )
        self.failed_ = self._scatter(self.failed, "fit failed", marker="x", c=text_color(), s=30)
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

    def _scatter(self, which: NDArray[np.bool_], label: str, **style: Any) -> PathCollection:
        """Draw some of the candidates; an empty selection gets no entry in the legend."""
        label = label if which.any() else "_nothing"
        return self.ax_.scatter(
            self.x.positions[which], self.y.positions[which], label=label, **style
        )


def _most_varied(released: ReleasedCandidates) -> list[str]:
    """Return the names of the two parameters with the most values, in the order of the columns."""
    if not released.columns:
        raise ValueError("the search has no parameters to draw")
    n_values = {
        name: len({repr(v) for v in np.ma.compressed(column)})
        for name, column in released.columns.items()
    }
    most = sorted(n_values, key=n_values.__getitem__, reverse=True)[:2]
    return [name for name in released.columns if name in most]
