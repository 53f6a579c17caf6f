"""Released scores side by side, and the budget of a ledger (zone: released)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..ledger._budget import require_ledger
from ..ledger._ledger import PrivacyLedger
from ..scoring._make import selecting_scorer
from ._common import BLUE, VERMILION, figure_and_axes, legend_above, text_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LedgerDisplay", "ScoreDisplay"]


class ScoreDisplay:
    """Released scores with their intervals, one search or estimator per row.

    Create it with `from_search` or `from_estimator`. An interval contains the score *on the
    validation set* with a probability of 95 %. It covers the noise of the release, not the sampling
    of the validation set.

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
    def from_search(cls, search: Any, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the released scores of one or several searches; `ax` is that of `plot`.

        Parameters
        ----------
        search : PrivateBayesSearchCV, list of them, or dict of names to them
            Fitted searches. Use one kind of score for all of them. Of one search with several
            scores, all scores are drawn.
        """
        if isinstance(search, list | tuple):
            search = {f"search {i}": each for i, each in enumerate(search, 1)}
        return cls.from_estimator(search, ax=ax, **kwargs)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the released scores of one or several fitted estimators; `ax` is that of `plot`.

        Parameters
        ----------
        estimator : estimator, list of estimators, or dict of names to estimators
            Fitted estimators with ``best_score_`` and ``best_score_interval_``:
            `PrivateThresholdClassifier`, `PrivateConfigurator` or `PrivateBayesSearchCV`. Use one
            kind of score for all of them. One search with several scores has a row for each; of
            several such searches, only the score that selects is drawn.
        """
        if getattr(estimator, "multimetric_", False):
            scores, intervals = estimator.best_scores_, estimator.best_score_intervals_
            display = cls(list(scores.values()), list(intervals.values()), names=list(scores))
            return display.plot(ax, **kwargs)
        if isinstance(estimator, list | tuple):
            estimator = {f"estimator {i}": each for i, each in enumerate(estimator, 1)}
        if not isinstance(estimator, Mapping):
            estimator = {type(estimator).__name__: estimator}
        if not estimator:
            raise ValueError("give at least one fitted search or estimator; found none")
        for name, each in estimator.items():
            check_is_fitted(each, "privacy_")
            if not hasattr(each, "best_score_"):
                raise ValueError(f"{name} has released no score (score_share=0): leave it out")
        score_names = {_score_name(each) for each in estimator.values()}
        display = cls(
            np.array([each.best_score_ for each in estimator.values()]),
            np.array([each.best_score_interval_ for each in estimator.values()]),
            names=[str(name) for name in estimator],
            score_name=score_names.pop() if len(score_names) == 1 else "score",
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the scores on `ax`, or in a new figure."""
        n = len(self.names)
        self.figure_, self.ax_ = figure_and_axes(ax, (6.4, 1.2 + 0.45 * n))
        rows, (low, high) = np.arange(n), np.transpose(self.intervals)
        self.intervals_ = self.ax_.hlines(rows, low, high, color=BLUE, lw=3, alpha=0.6)
        self.scores_ = self.ax_.scatter(self.scores, rows, color=VERMILION, zorder=3)
        self.ax_.set_yticks(rows, labels=self.names)
        self.ax_.set_ylim(n - 0.4, -0.6)
        self.ax_.set_xlabel(f"{self.score_name}: released, and 95 % interval of the noise")
        return self


class LedgerDisplay:
    """The spent part of a privacy budget, charge by charge; create it with `from_ledger`.

    Parameters
    ----------
    epsilon, assumed, times : array-like of shape (n_charges,)
        Epsilon and time of each charge, and whether it depends on an assumption.
    limit, delta : float
        Epsilon and delta of the budget.
    dataset : str, default=""
        Name of the data set, for the label of the axis.

    Attributes
    ----------
    ax_, figure_, legend_ : matplotlib Axes, Figure and Legend
    worst_case_, assumed_ : matplotlib FillBetweenPolyCollection
        Sums of epsilon, without and with assumptions.
    limit_ : matplotlib Line2D
        Epsilon of the budget.
    """

    def __init__(
        self,
        epsilon: ArrayLike,
        assumed: ArrayLike,
        *,
        times: Sequence[datetime],
        limit: float,
        delta: float = 0.0,
        dataset: str = "",
    ) -> None:
        self.epsilon = epsilon
        self.assumed = assumed
        self.times = times
        self.limit = limit
        self.delta = delta
        self.dataset = dataset

    @classmethod
    def from_ledger(cls, ledger: PrivacyLedger, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the charges of a ledger, which is read once; other arguments are those of `plot`."""
        require_ledger(ledger)
        content = ledger.to_dict()
        history, budget = content["history"], content["budget"]
        display = cls(
            np.array([entry["epsilon"] for entry in history], dtype=float),
            np.array([entry["assumption"] is not None for entry in history], dtype=bool),
            times=[datetime.fromisoformat(entry["time"]) for entry in history],
            limit=budget["epsilon"],
            delta=budget["delta"],
            dataset=content["dataset"],
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, by: str = "number") -> Self:
        """Draw the charges on `ax`, or in a new figure.

        Parameters
        ----------
        by : {"number", "time"}, default="number"
            The horizontal axis: the number of the charge, or its time (UTC).
        """
        if by not in ("number", "time"):
            raise ValueError(f'by is "number" or "time"; found {by!r}')
        self.figure_, self.ax_ = figure_and_axes(ax, (6.4, 4.0))
        assumed = np.asarray(self.assumed, dtype=bool)
        worst_case = np.cumsum(np.where(assumed, 0.0, self.epsilon))
        total = np.cumsum(self.epsilon)
        x = self._step_positions(by)
        steps = [np.r_[0.0, sums, sums[-1:]] for sums in (worst_case, total)]
        self.worst_case_ = self.ax_.fill_between(
            x, 0, steps[0], color=BLUE, label="worst case", step="post", lw=1, alpha=0.45
        )
        self.assumed_ = self.ax_.fill_between(
            x,
            steps[0],
            steps[1],
            color=VERMILION,
            hatch="//",
            label="on assumptions" if assumed.any() else "_nothing",
            step="post",
            lw=1,
            alpha=0.45,
        )
        more = ", more by zCDP" if self.delta > 0 else ""
        self.limit_ = self.ax_.axhline(
            self.limit, color=text_color(), ls="--", label=f"budget: {self.limit:g}{more}"
        )
        self.ax_.set(ylabel="sum of epsilon", ylim=(0, 1.08 * max([self.limit, *total])))
        of_dataset = f" to {self.dataset!r}" if self.dataset else ""
        self.ax_.set_xlabel(("charge" if by == "number" else "time (UTC) of charges") + of_dataset)
        self.legend_ = legend_above(self.ax_, ncols=3)
        return self

    def _step_positions(self, by: str) -> NDArray[np.float64]:
        """Return the start of the axis, the position of each charge, and the end."""
        n = np.size(self.epsilon)
        positions: NDArray[np.float64]
        if by == "number" or n == 0:
            from matplotlib.ticker import MaxNLocator

            self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
            self.ax_.set_xlim(0.5, max(n, 1) + 0.5)
            self.ax_.tick_params(axis="x", labelbottom=n > 0)
            positions = np.r_[0.5, np.arange(n + (n > 0)) + 0.5]
            return positions
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

        locator = AutoDateLocator()
        self.ax_.xaxis.set_major_locator(locator)
        self.ax_.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        days = date2num(self.times)
        margin = max(0.05 * np.ptp(days), 1 / 1440)
        positions = np.r_[days[0] - margin, days, days[-1] + margin]
        return positions


def _score_name(search: Any) -> str:
    return selecting_scorer(search).name if hasattr(search, "scorer_") else "score"
