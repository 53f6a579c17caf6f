"""What all plots share: axes, colours, and the candidates of a search (zone: released)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..scoring._make import selecting_scorer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.legend import Legend

__all__ = [
    "BLUE",
    "GREEN",
    "VERMILION",
    "ReleasedCandidates",
    "figure_and_axes",
    "legend_above",
    "released_candidates",
    "text_color",
]

# From Okabe and Ito's palette, which is safe for colour-blind readers; legible on white and black.
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"


def figure_and_axes(
    ax: Axes | None, figsize: tuple[float, float] | None = None
) -> tuple[Figure | SubFigure, Axes]:
    """Return the given axes and their figure, or new ones."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError('plots need matplotlib: pip install "sklearn_dpbo[plots]"') from error
        _, ax = plt.subplots(figsize=figsize, layout="constrained")
    return ax.figure, ax


def text_color() -> str:
    """Return the text colour of the current style: dark on light, or light on dark."""
    from matplotlib import rcParams

    color: str = rcParams["text.color"]
    return color


def legend_above(ax: Axes, ncols: int = 2) -> Legend:
    """Add a legend above the axes, where it covers no data."""
    return ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=ncols,
        frameon=False,
        fontsize="small",
        borderaxespad=0.2,
        columnspacing=1.0,
        handletextpad=0.5,
    )


@dataclass(frozen=True, eq=False)
class ReleasedCandidates:
    """The candidates that a search released, in the order of ``cv_results_``.

    `columns`: values of each parameter, masked where it is not set; `validated`: None if it is not
    released which ones were; `public_scores`: NaN where there is none.
    """

    columns: dict[str, np.ma.MaskedArray[Any, Any]]
    validated: NDArray[np.bool_] | None
    public_scores: NDArray[np.float64]
    failed: NDArray[np.bool_]
    chosen: int
    score_name: str

    def column(self, name: str) -> np.ma.MaskedArray[Any, Any]:
        """Return the values of a parameter; raise ValueError if it does not exist."""
        if name not in self.columns:
            raise ValueError(f"the search has the parameters {list(self.columns)}; found {name!r}")
        return self.columns[name]


def released_candidates(search: Any) -> ReleasedCandidates:
    check_is_fitted(search, "cv_results_")
    if not hasattr(search, "best_index_"):
        raise ValueError(
            f"{search.strategy!r} released a score but no candidate, so only the score can be "
            "drawn (ScoreDisplay). With candidate_share=0.5 it also releases a candidate"
        )
    results = search.cv_results_
    prefix = "param_"
    return ReleasedCandidates(
        {k.removeprefix(prefix): v for k, v in results.items() if k.startswith(prefix)},
        None if np.ma.is_masked(results["validated"]) else np.asarray(results["validated"]),
        results["public_score"],
        np.array([error is not None for error in results["fit_error"]]),
        search.best_index_,
        selecting_scorer(search).name,
    )
