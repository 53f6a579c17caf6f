"""Released scores side by side (zone: released)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..metrics._make import selecting_scorer
from ._common import BLUE, VERMILION, figure_and_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ScoreDisplay:
    """Released scores with their intervals, one search or estimator per row.

    Create it with `from_estimator`. An interval contains the exact score *on the validation set*
    with a probability of 95 %. It covers the noise of the release, not the sampling of the
    validation set.

    Parameters
    ----------
    scores, intervals, names : array-like of shape (n_rows,), (n_rows, 2) and (n_rows,)
        The released scores, lower and upper ends of their intervals, and labels of the rows.
    score_name : str, default="score"
        Name of the scores, for the label of the axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    scores_, intervals_ : matplotlib PathCollection and LineCollection
    """

    def __init__(
        self,
        scores: ArrayLike,
        intervals: ArrayLike,
        *,
        names: Sequence[str],
        score_name: str = "score",
    ) -> None:
        self.scores = scores
        self.intervals = intervals
        self.names = names
        self.score_name = score_name

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the released scores of one or several fitted estimators; `ax` is that of `plot`.

        Parameters
        ----------
        estimator : estimator, list of estimators, or dict of names to estimators
            Fitted estimators with ``best_score_`` and ``best_score_interval_``:
            `PrivateThresholdClassifier`, `PrivateConfigurator` or `PrivateBayesSearchCV`. All
            should have the same kind of score. One search with several scores has a row for each
            score; several such searches have a row each, with the score that selects.
        """
        if getattr(estimator, "multimetric_", False):
            scores = estimator.best_scores_
            intervals = estimator.best_score_intervals_
            display = cls(list(scores.values()), list(intervals.values()), names=list(scores))
            return display.plot(ax)
        if isinstance(estimator, Mapping):
            estimators = dict(estimator)
        elif isinstance(estimator, list | tuple):
            estimators = {f"estimator {i}": fitted for i, fitted in enumerate(estimator, 1)}
        else:
            estimators = {type(estimator).__name__: estimator}
        if not estimators:
            raise ValueError("pass at least one fitted search or estimator; found none")
        for name, fitted in estimators.items():
            check_is_fitted(fitted, "privacy_")
            if not hasattr(fitted, "best_score_"):
                raise ValueError(f"{name} has released no score (score_share=0): leave it out")
        score_names = {_score_name(fitted) for fitted in estimators.values()}
        display = cls(
            np.array([fitted.best_score_ for fitted in estimators.values()]),
            np.array([fitted.best_score_interval_ for fitted in estimators.values()]),
            names=[str(name) for name in estimators],
            score_name=score_names.pop() if len(score_names) == 1 else "score",
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the scores on `ax`, or in a new figure."""
        n = len(self.names)
        self.figure_, self.ax_ = figure_and_axes(ax, (6.4, 1.2 + 0.45 * n))
        rows = np.arange(n)
        low, high = np.transpose(self.intervals)
        self.intervals_ = self.ax_.hlines(rows, low, high, color=BLUE, lw=3, alpha=0.6)
        self.scores_ = self.ax_.scatter(self.scores, rows, color=VERMILION, zorder=3)
        self.ax_.set_yticks(rows, labels=self.names)
        self.ax_.set_ylim(n - 0.4, -0.6)
        self.ax_.set_xlabel(f"{self.score_name}: released, and 95 % interval of the noise")
        return self


def _score_name(search: Any) -> str:
    return selecting_scorer(search).name if hasattr(search, "scorer_") else "score"
