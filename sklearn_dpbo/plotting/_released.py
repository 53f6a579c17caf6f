"""Released scores side by side, and the budget of a ledger (zone: released)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..ledger._ledger import require_ledger
from ..scoring._make import selecting_scorer
from ._common import BLUE, VERMILION, axes_for, foreground, legend_above

__all__ = ["LedgerDisplay", "ScoreDisplay"]


class ScoreDisplay:
    """Released scores with their intervals, one search or estimator per row.

    Make it with `from_search` or `from_estimator`. An interval says where the score *on the
    validation set* lies, with probability 95 %; how the validation set was sampled is not in it.

    Parameters
    ----------
    scores : array-like of shape (n_searches,)
    intervals : array-like of shape (n_searches, 2)
    names : list of str
    score_name : str, default="score"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    scores_ : matplotlib PathCollection
    intervals_ : matplotlib LineCollection
    """

    def __init__(self, scores, intervals, *, names, score_name="score") -> None:
        self.scores = scores
        self.intervals = intervals
        self.names = names
        self.score_name = score_name

    @classmethod
    def from_search(cls, search, *, ax=None, **kwargs) -> Self:
        """Draw what one search or several released; of one with several scores, all of them.

        Parameters
        ----------
        search : PrivateBayesSearchCV, list of them, or dict of names to them
            Fitted. Their scores should be of one kind.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            As `plot` takes them.

        Returns
        -------
        display : ScoreDisplay

        Raises
        ------
        NotFittedError
            If one of them has not been fitted.
        ValueError
            If there is none.
        """
        if isinstance(search, list | tuple):
            search = {f"search {i}": each for i, each in enumerate(search, 1)}
        return cls.from_estimator(search, ax=ax, **kwargs)

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, **kwargs) -> Self:
        """Draw what one fitted estimator released, or several.

        Parameters
        ----------
        estimator : estimator, list of estimators, or dict of names to estimators
            Fitted: `PrivateThresholdClassifier`, `PrivateConfigurator`, `PrivateBayesSearchCV`,
            whatever has ``best_score_`` and ``best_score_interval_``. Their scores should be of
            one kind. One search with several scores has a row for each; of several such searches,
            the score that selects is drawn.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            As `plot` takes them.

        Returns
        -------
        display : ScoreDisplay

        Raises
        ------
        NotFittedError
            If one of them has not been fitted.
        ValueError
            If there is none.
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
            raise ValueError("a fitted search or estimator is needed, or several; found none")
        for each in estimator.values():
            check_is_fitted(each, "best_score_")
        kinds = {_name_of_score(each) for each in estimator.values()}
        display = cls(
            np.array([each.best_score_ for each in estimator.values()]),
            np.array([each.best_score_interval_ for each in estimator.values()]),
            names=[str(name) for name in estimator],
            score_name=kinds.pop() if len(kinds) == 1 else "score",
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax=None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.

        Returns
        -------
        self : ScoreDisplay
        """
        n = len(self.names)
        self.figure_, self.ax_ = axes_for(ax, (6.4, 1.2 + 0.45 * n))
        rows, (low, high) = np.arange(n), np.transpose(self.intervals)
        self.intervals_ = self.ax_.hlines(rows, low, high, color=BLUE, lw=3, alpha=0.6)
        self.scores_ = self.ax_.scatter(self.scores, rows, color=VERMILION, zorder=3)
        self.ax_.set_yticks(rows, labels=self.names)
        self.ax_.set_ylim(n - 0.4, -0.6)
        self.ax_.set_xlabel(f"{self.score_name}: released, and 95 % interval of the noise")
        return self


class LedgerDisplay:
    """What has been spent of a privacy budget, charge by charge.

    Make it with `from_ledger`.

    Parameters
    ----------
    epsilon : array-like of shape (n_charges,)
        Of each charge.
    assumed : array-like of bool, shape (n_charges,)
        Whether it rests on an assumption.
    times : list of datetime
    limit : float
        The budget's epsilon.
    delta : float, default=0.0
        The budget's delta.
    dataset : str, default=""

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    worst_case_, assumed_ : matplotlib FillBetweenPolyCollection
    limit_ : matplotlib Line2D
    legend_ : matplotlib Legend
    """

    def __init__(self, epsilon, assumed, *, times, limit, delta=0.0, dataset="") -> None:
        self.epsilon = epsilon
        self.assumed = assumed
        self.times = times
        self.limit = limit
        self.delta = delta
        self.dataset = dataset

    @classmethod
    def from_ledger(cls, ledger, *, ax=None, **kwargs) -> Self:
        """Draw the charges of a ledger.

        Parameters
        ----------
        ledger : PrivacyLedger
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            As `plot` takes them.

        Returns
        -------
        display : LedgerDisplay

        Raises
        ------
        LedgerError
            If it cannot be read.
        ValueError
            If it is no ledger.
        """
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

    def plot(self, ax=None, *, by="number") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        by : {"number", "time"}, default="number"
            What stands on the horizontal axis: the number of the charge, or its time (UTC).

        Returns
        -------
        self : LedgerDisplay
        """
        if by not in ("number", "time"):
            raise ValueError(f'by is "number" or "time"; found {by!r}')
        self.figure_, self.ax_ = axes_for(ax, (6.4, 4.0))
        safe = np.cumsum(np.where(self.assumed, 0.0, self.epsilon))
        total = np.cumsum(self.epsilon)
        x = self._places(by)
        steps = [np.r_[0.0, sums, sums[-1:]] for sums in (safe, total)]
        style = {"step": "post", "lw": 1, "alpha": 0.45}
        self.worst_case_ = self.ax_.fill_between(
            x, 0, steps[0], color=BLUE, label="worst case", **style
        )
        self.assumed_ = self.ax_.fill_between(
            x,
            steps[0],
            steps[1],
            color=VERMILION,
            hatch="//",
            label="on assumptions" if any(self.assumed) else "_nothing",
            **style,
        )
        self.limit_ = self.ax_.axhline(self.limit, color=foreground(), ls="--", label=self._limit())
        self.ax_.set(ylabel="sum of epsilon", ylim=(0, 1.08 * max([self.limit, *total])))
        self.ax_.set_xlabel({"number": "charge", "time": "time (UTC) of charges"}[by] + self._of())
        self.legend_ = legend_above(self.ax_, ncols=3)
        return self

    def _places(self, by: str):
        """Return the start, one place for each charge, and the end."""
        n = len(self.epsilon)
        if by == "number" or n == 0:
            from matplotlib.ticker import MaxNLocator

            self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
            self.ax_.set_xlim(0.5, max(n, 1) + 0.5)
            self.ax_.tick_params(axis="x", labelbottom=n > 0)
            return np.r_[0.5, np.arange(n + (n > 0)) + 0.5]
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

        locator = AutoDateLocator()
        self.ax_.xaxis.set_major_locator(locator)
        self.ax_.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        days = date2num(self.times)
        reach = max(0.05 * np.ptp(days), 1 / 1440)
        return np.r_[days[0] - reach, days, days[-1] + reach]

    def _limit(self) -> str:
        more = ", more by zCDP" if self.delta > 0 else ""
        return f"budget: {self.limit:g}{more}"

    def _of(self) -> str:
        return f" to {self.dataset!r}" if self.dataset else ""


def _name_of_score(search) -> str:
    return selecting_scorer(search).name if hasattr(search, "scorer_") else "score"
