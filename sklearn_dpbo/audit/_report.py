"""What an audit found, as text and as a picture (zone: public)."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

import numpy as np

__all__ = ["AuditReport"]


@dataclass(frozen=True)
class AuditReport:
    """What an audit found.

    Parameters
    ----------
    subject : str
        What was audited.
    epsilon : float or None
        What it claims; None if nothing was claimed.
    delta : float
    epsilon_lower_bound : float
        With probability `confidence` over the audit, no smaller epsilon can be true.
    confidence : float
    n_runs : int
        Runs of each data set. One half of them chose the event, the other bounded epsilon.
    event : str
        In which the outputs differ.
    counts : tuple of int
        How often it came about in the second half of the runs: on the data set where it is more
        probable, and on the other.
    scores : tuple of ndarray of shape (n_runs // 2,)
        The number that the event compares with `threshold`, of the same runs.
    threshold : float
    """

    subject: str
    epsilon: float | None
    delta: float
    epsilon_lower_bound: float
    confidence: float
    n_runs: int
    event: str
    counts: tuple[int, int]
    scores: tuple[np.ndarray, np.ndarray] = field(repr=False)
    threshold: float

    @property
    def refuted(self) -> bool:
        """Whether the claim cannot be true, with that confidence.

        False is no proof of the claim: other data sets or events might tell more.
        """
        return self.epsilon is not None and self.epsilon_lower_bound > self.epsilon

    def __str__(self) -> str:
        n = self.n_runs - self.n_runs // 2
        claim = "" if self.epsilon is None else f" Claimed: {self.epsilon:g}."
        verdict = {True: " THE CLAIM IS REFUTED.", False: ""}[self.refuted]
        text = (
            f"Audit of {self.subject}: epsilon is at least {self.epsilon_lower_bound:.3f}"
            + f" at delta = {self.delta:g}" * (self.delta > 0)
            + f", with {100 * self.confidence:g} % confidence.{claim}{verdict} The event ("
            f"{self.event}) came about in {self.counts[0]:,} of {n:,} runs on one data set and in "
            f"{self.counts[1]:,} of {n:,} on its neighbour; {self.n_runs - n:,} other runs of each "
            "had been used to choose it."
        )
        return textwrap.fill(text, 100)

    def plot(self, ax=None):
        """Draw both distributions of outputs, the event, and the bound.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            None makes a figure.

        Returns
        -------
        ax : matplotlib.axes.Axes

        Raises
        ------
        ImportError
            Without matplotlib: ``pip install "sklearn_dpbo[plots]"``.
        """
        if ax is None:
            from matplotlib import pyplot as plt

            ax = plt.subplots(figsize=(6, 3.6), layout="constrained")[1]
        edges, ticks = _bins(np.concatenate(self.scores))
        weights = np.full(len(self.scores[0]), 1 / len(self.scores[0]))
        for scores, label, style in zip(
            self.scores, ("one data set", "its neighbour"), ("-", "--"), strict=True
        ):
            shape = {"histtype": "step", "linestyle": style, "linewidth": 1.8}
            ax.hist(scores, edges, weights=weights, label=label, **shape)
        first = edges[np.searchsorted(edges, self.threshold, side="right") - 1]
        ax.axvspan(first, edges[-1], alpha=0.12, color="tab:gray", label="the event")
        if ticks is not None:
            ax.set_xticks(*ticks)
        claim = "" if self.epsilon is None else f" (claimed: {self.epsilon:g})"
        ax.set(ylabel="share of the runs", xlabel=textwrap.shorten(self.event, 70))
        ax.set_title(f"{self.subject}\nepsilon is at least {self.epsilon_lower_bound:.2f}{claim}")
        ax.legend()
        return ax


def _bins(scores: np.ndarray):
    """Return the edges of a histogram, and (positions, labels) of ticks if values are few."""
    values = np.unique(scores)
    if len(values) > 40:
        return np.histogram_bin_edges(scores, 40), None
    # Each value gets a bin of its own, however near it is to the next.
    middles = (values[1:] + values[:-1]) / 2
    ends = [2 * values[0] - middles[0], 2 * values[-1] - middles[-1]] if len(values) > 1 else None
    edges = np.array([ends[0], *middles, ends[1]]) if ends else values[0] + np.array([-0.5, 0.5])
    ticks = (values, [f"{v:.3g}" for v in values]) if len(values) <= 8 else None
    return edges, ticks
