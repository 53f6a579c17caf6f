"""The evaluation of a regressor (zone: released)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._params import check_number
from ._base import Estimate, Evaluation
from ._plots import ALPHA, BAND

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RegressorEvaluation"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class RegressorEvaluation(Evaluation):
    """Numbers and figures of a regressor on protected records, all from one release.

    Returned by `private_evaluation`, and kept by a search with ``release="evaluation"``. Half of
    epsilon pays for five sums (of squared and absolute errors, of labels and their squares, of
    errors), half for a histogram of residuals, label minus prediction. If all records of a group
    are protected together, the group has the weight of one record, however many records it has.

    Attributes
    ----------
    m : int
        Number of protected records, or groups.
    privacy_ : PrivacyReport
        The privacy report; print it.
    """

    @property
    def largest_error(self) -> float:
        """The largest possible error; larger ones were clipped to it."""
        return float(self._parts[0].c_e)

    def score(self, name: str) -> Estimate:
        """Return a number by name.

        Parameters
        ----------
        name : str
            "r2" (its interval begins at -inf if the noise may hide all variance of the labels),
            "mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "mean_error"
            (of label minus prediction), or "share_of_larger_errors": of records whose error is
            larger than `largest_error`.
        """
        if name in self._scorers:
            return self._score(self._scorers[name], 0)
        c = self.largest_error
        known: dict[str, tuple[Callable[[Floats], Floats], int, float, float]] = {
            "mean_squared_error": (self._mse, 0, 0, c**2),
            "root_mean_squared_error": (lambda n: np.sqrt(self._mse(n)), 0, 0, c),
            "mean_absolute_error": (lambda n: c * self._means(n)[4], 0, 0, c),
            "mean_error": (lambda n: c * self._means(n)[3], 0, -c, c),
            "share_of_larger_errors": (
                lambda n: self._shares(n)[:, [0, -1]].sum(axis=-1),
                -1,
                0,
                1,
            ),
        }
        if name not in known:
            raise ValueError(f"score takes one of {[*self._scorers, *known]}; found {name!r}")
        compute, part, low, high = known[name]
        return self._estimate(lambda n, _: compute(n), part, (low, high))

    def residual_quantile(self, q: float) -> Estimate:
        """Return a quantile of label minus prediction, at most `largest_error` in size.

        The interval consists of the bins in which the quantile may lie, given the noise.

        Parameters
        ----------
        q : float
            The quantile, in [0, 1].
        """
        check_number("q", q, "in [0, 1]", lambda share: 0 <= share <= 1)
        edges = self._edges
        low, high = self._band(lambda n, _: self._below_edges(n))
        surely_above = float(max(edges[high < q], default=edges[0]))
        surely_below = float(min(edges[low > q], default=edges[-1]))
        value = float(np.interp(q, self._below_edges(self._counts())[0], edges))
        return Estimate(value, min(value, surely_above), max(value, surely_below))

    def residual_histogram(self) -> tuple[Floats, Floats]:
        """Return the histogram of label minus prediction.

        Returns
        -------
        counts : ndarray of shape (n_bins,)
            Non-negative numbers of records (or groups), with noise.
        edges : ndarray of shape (n_bins + 1,)
            The first is -inf, the last inf.
        """
        edges = np.concatenate([[-np.inf], self._edges, [np.inf]])
        return self.m * self._shares(self._counts())[0], edges

    def plot_residuals(self, ax: Axes | None = None) -> Axes:
        """Draw the histogram of label minus prediction, with a 95 % band for each bin.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        ax : matplotlib Axes
        """
        import matplotlib.pyplot as plt

        ax = ax or plt.subplots(layout="constrained")[1]
        shares, edges = self._shares(self._counts())[0], self._edges
        interval = self._band(lambda n, _: np.clip(self._shares(n), 0, 1))
        density, low, high = (each[1:-1] / np.diff(edges) for each in (shares, *interval))
        ax.stairs(density, edges, color="C0")
        ax.stairs(high, edges, baseline=low, color="C0", alpha=ALPHA, fill=True, label=BAND)
        ax.axvline(0, color="k", ls=":", lw=1)
        outside = shares[0] + shares[-1]
        ax.set(
            xlabel=f"label minus prediction ({outside:.1%} lie further out)",
            ylabel="density",
            ylim=(0, None),
        )
        ax.legend(loc="upper left", fontsize="small")
        return ax

    def scores(self) -> dict[str, Estimate]:
        """Return the main numbers by name.

        Returns
        -------
        scores : dict of str to Estimate
        """
        names = ("r2", "mean_absolute_error", "root_mean_squared_error", "mean_error")
        return {
            **{name: self.score(name) for name in names},
            "median_residual": self.residual_quantile(0.5),
            "residual_quantile_5": self.residual_quantile(0.05),
            "residual_quantile_95": self.residual_quantile(0.95),
            "share_of_larger_errors": self.score("share_of_larger_errors"),
        }

    def _figures(self) -> dict[str, Any]:
        counts, edges = self.residual_histogram()
        return {
            "largest_error": self.largest_error,
            "residual_histogram": {"counts": counts.tolist(), "edges": edges[1:-1].tolist()},
        }

    def _means(self, counts: Floats) -> Floats:
        """Return the means of e^2, t^2, t, e and |e|, see `Moments`."""
        means: Floats = self._parts[0].means(counts, self.m)
        return means

    def _mse(self, counts: Floats) -> Floats:
        found: Floats = self.largest_error**2 * np.clip(self._means(counts)[0], 0, 1)
        return found

    @property
    def _edges(self) -> Floats:
        return np.array(self._parts[-1].edges)

    def _shares(self, counts: Floats) -> Floats:
        """Return the share of records in each bin."""
        return counts / (self.m * self._weight)

    def _below_edges(self, counts: Floats) -> Floats:
        """Return the share of records below each edge."""
        return np.cumsum(self._shares(counts), axis=-1)[:, :-1]
