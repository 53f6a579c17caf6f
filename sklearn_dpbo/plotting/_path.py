"""`SearchPathDisplay`: the candidates that a search evaluated (zone: released)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..metrics._make import selecting_scorer
from ._common import BLUE, VERMILION, figure_and_axes, legend_above, text_color
from ._parameters import ParameterAxis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection


class SearchPathDisplay:
    """Candidates of a search: two parameters, or one parameter over the order of evaluation.

    Create it with `from_search`. Candidates that were explored within the training set, candidates
    that were scored on the validation set, and the chosen candidate have different markers. The
    colour shows the public score.

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
        cls, search: Any, x: str | None = None, y: str | None = None, *, ax: Axes | None = None
    ) -> Self:
        """Draw the candidates of a fitted search on `ax`, or in a new figure.

        Parameters
        ----------
        search : PrivateBayesSearchCV
            A search fitted with `WorstCase`: other strategies do not release their path.
        x, y : str, default=None
            Names of parameters. One parameter is drawn over the number of the candidate. If both
            are None, the two parameters with the most values are drawn.
        """
        check_is_fitted(search, "cv_results_")
        results = search.cv_results_
        if not hasattr(search, "best_index_") or np.ma.is_masked(results["validated"]):
            raise ValueError(
                f"{search.strategy!r} does not release which candidates it evaluated, so there is "
                "no path to draw"
            )
        columns = {
            key.removeprefix("param_"): column
            for key, column in results.items()
            if key.startswith("param_")
        }
        names = [name for name in (x, y) if name is not None] or _most_varied(columns)
        if not names or not columns.keys() >= set(names):
            raise ValueError(f"the search has the parameters {list(columns)}; found {names}")
        axes = [ParameterAxis.of(name, columns[name], search.param_grid) for name in names]
        if len(axes) == 1:
            numbers = np.arange(1, len(results["params"]) + 1, dtype=float)
            axes.insert(0, ParameterAxis("number of the candidate", numbers))
        display = cls(
            *axes,
            validated=np.asarray(results["validated"]),
            public_scores=results["public_score"],
            failed=np.array([error is not None for error in results["fit_error"]]),
            chosen=search.best_index_,
            score_name=selecting_scorer(search).name,
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the candidates on `ax`, or in a new figure."""
        self.figure_, self.ax_ = figure_and_axes(ax, (6.4, 4.8))
        explored = ~self.validated & ~self.failed & ~np.isnan(self.public_scores)
        chosen = np.arange(len(self.failed)) == self.chosen
        self.explored_ = self._scatter(
            explored,
            "explored (training set)",
            c=self.public_scores[explored],
            cmap="cividis",
            s=34,
            zorder=2,
            edgecolors=text_color(),
            linewidths=0.5,
        )
        hollow = {"marker": "s", "facecolors": "none", "edgecolors": BLUE}
        validated = self.validated & ~self.failed & ~chosen
        self.validated_ = self._scatter(validated, "validated", s=48, zorder=3, **hollow)
        self.failed_ = self._scatter(self.failed, "fit failed", marker="x", c=text_color(), s=30)
        self.chosen_ = self._scatter(chosen, "chosen", marker="*", c=VERMILION, s=220, zorder=4)
        self.x.apply(self.ax_, "x")
        self.y.apply(self.ax_, "y")
        self.colorbar_ = None
        if explored.any():
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


def _most_varied(columns: dict[str, np.ma.MaskedArray[Any, Any]]) -> list[str]:
    """Select the two parameters with the most values, in the order of the columns."""
    n_values = {k: len({repr(v) for v in np.ma.compressed(c)}) for k, c in columns.items()}
    most = sorted(n_values, key=n_values.__getitem__, reverse=True)[:2]
    return [name for name in columns if name in most]
