"""What all pictures share: axes, colours, and the settings of a search (zone: released)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..scoring._make import selecting_scorer

__all__ = ["BLUE", "GREEN", "VERMILION", "Tried", "axes_for", "foreground", "legend_above", "tried"]

# Of Okabe and Ito's palette, which colour-blind readers can tell apart; legible on white and black.
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"


def axes_for(ax, figsize=None):
    """Return (figure, axes): those given, or new ones."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                'pictures need matplotlib: pip install "sklearn_dpbo[plots]"'
            ) from error
        _, ax = plt.subplots(figsize=figsize, layout="constrained")
    return ax.figure, ax


def foreground() -> str:
    """Return the colour of text in the present style: dark on light, light on dark."""
    from matplotlib import rcParams

    return rcParams["text.color"]


def legend_above(ax, ncols=2):
    """Return a legend above the axes, where it covers no data."""
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


@dataclass(frozen=True)
class Tried:
    """The settings that a search released, in the order in which it tried them.

    Parameters
    ----------
    columns : dict of MaskedArray of shape (n_settings,)
        Values of each parameter; masked where a setting does not have it.
    validated : ndarray of bool, shape (n_settings,), or None
        None if it is not released which were.
    public_scores : ndarray of shape (n_settings,)
        NaN where there is none.
    failed : ndarray of bool, shape (n_settings,)
    chosen : int
    score_name : str
    """

    columns: dict
    validated: np.ndarray | None
    public_scores: np.ndarray
    failed: np.ndarray
    chosen: int
    score_name: str

    def column(self, name: str) -> np.ma.MaskedArray:
        """Return the values of a parameter; ValueError if there is none of that name."""
        if name not in self.columns:
            raise ValueError(f"the search has the parameters {list(self.columns)}; found {name!r}")
        return self.columns[name]


def tried(search) -> Tried:
    """Return what a fitted search says of its settings.

    Raises
    ------
    NotFittedError
        If it has not been fitted.
    ValueError
        If it released a score and no setting.
    """
    check_is_fitted(search, "cv_results_")
    if not hasattr(search, "best_index_"):
        raise ValueError(
            f"{search.strategy!r} released a score, no setting, and not what it tried: there is "
            "nothing to draw but the score (ScoreDisplay). setting_share=0.5 releases a setting too"
        )
    results = search.cv_results_
    prefix = "param_"
    return Tried(
        {k.removeprefix(prefix): v for k, v in results.items() if k.startswith(prefix)},
        None if np.ma.is_masked(results["validated"]) else np.asarray(results["validated"]),
        results["public_score"],
        np.array([error is not None for error in results["fit_error"]]),
        search.best_index_,
        selecting_scorer(search).name,
    )
