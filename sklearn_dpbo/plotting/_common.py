"""Axes, colours and legends of all plots (zone: released)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.legend import Legend


# From Okabe and Ito's palette, which is safe for colour-blind readers; legible on white and black.
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"


def figure_and_axes(
    ax: Axes | None, figsize: tuple[float, float] | None = None
) -> tuple[Figure | SubFigure, Axes]:
    """Return `ax` and its figure, or new ones if it is None."""
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


def legend_above(ax: Axes) -> Legend:
    """Add a legend above the axes, where it covers no data."""
    return ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=2,
        frameon=False,
        fontsize="small",
        borderaxespad=0.2,
        columnspacing=1.0,
        handletextpad=0.5,
    )
