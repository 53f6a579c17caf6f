"""The report of an audit, as text and as a plot (zone: public)."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AuditReport"]

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AuditReport:
    """Result of an audit by many runs on two neighbouring data sets.

    Parameters
    ----------
    subject : str
        What was audited.
    epsilon, delta : float
        The claim; epsilon is None if nothing is claimed.
    epsilon_lower_bound, confidence : float
        A smaller epsilon is refuted, with this probability over the audit.
    n_runs : int
        Number of runs on each data set. One half of them chose the event, the other half bounded
        epsilon.
    event : str
        The event in which the outputs differ, in words.
    counts : tuple of int
        How often the event occurred in the second half of the runs: on the data set where it is
        more probable, and on the other one.
    scores : tuple of two ndarray
        The numbers that the event compares with `threshold`, one for each of the same runs.
    threshold : float
        The event has occurred if the score is at least this.
    """

    subject: str
    epsilon: float | None
    delta: float
    epsilon_lower_bound: float
    confidence: float
    n_runs: int
    event: str
    counts: tuple[int, int]
    scores: tuple[Floats, Floats] = field(repr=False)
    threshold: float

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, with that confidence.

        False does not prove the claim: other data sets or events may give a larger bound.
        """
        return self.epsilon is not None and self.epsilon_lower_bound > self.epsilon

    def __str__(self) -> str:
        n = self.n_runs - self.n_runs // 2
        claim = "" if self.epsilon is None else f" Claimed: {self.epsilon:g}."
        verdict = " THE CLAIM IS REFUTED." if self.refuted else ""
        text = (
            f"Audit of {self.subject}: epsilon is at least {self.epsilon_lower_bound:.3f}"
            + f" at delta = {self.delta:g}" * (self.delta > 0)
            + f", with {100 * self.confidence:g} % confidence.{claim}{verdict} The event ("
            f"{self.event}) occurred in {self.counts[0]:,} of {n:,} runs on one data set and in "
            f"{self.counts[1]:,} of {n:,} on its neighbour. {self.n_runs - n:,} other runs on each "
            "were used to choose it."
        )
        return textwrap.fill(text, 100)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the scores on both data sets, the event, and the bound, on `ax` or a new one."""
        if ax is None:
            from matplotlib import pyplot as plt

            ax = plt.subplots(figsize=(6, 3.6), layout="constrained")[1]
        edges, ticks = _bins(np.concatenate(self.scores))
        n = len(self.scores[0])
        for scores, label, style in zip(
            self.scores, ("one data set", "its neighbour"), ("-", "--"), strict=True
        ):
            ax.hist(
                scores,
                edges.tolist(),
                weights=np.full(n, 1 / n),
                label=label,
                histtype="step",
                linestyle=style,
                linewidth=1.8,
            )
        first = edges[np.searchsorted(edges, self.threshold, side="right") - 1]
        ax.axvspan(first, edges[-1], alpha=0.12, color="tab:gray", label="the event")
        if ticks is not None:
            ax.set_xticks(*ticks)
        claim = "" if self.epsilon is None else f" (claimed: {self.epsilon:g})"
        ax.set(ylabel="share of the runs", xlabel=textwrap.shorten(self.event, 70))
        ax.set_title(f"{self.subject}\nepsilon is at least {self.epsilon_lower_bound:.2f}{claim}")
        ax.legend()
        return ax


def _bins(scores: Floats) -> tuple[Floats, tuple[Floats, list[str]] | None]:
    """Return the edges of a histogram, and (positions, labels) of ticks if there are few values."""
    values = np.unique(scores)
    if len(values) > 40:
        return np.histogram_bin_edges(scores, 40), None
    # Each value gets its own bin, even if the next value is near.
    if len(values) == 1:
        edges = values[0] + np.array([-0.5, 0.5])
    else:
        middles = (values[1:] + values[:-1]) / 2
        edges = np.array([2 * values[0] - middles[0], *middles, 2 * values[-1] - middles[-1]])
    ticks = (values, [f"{v:.3g}" for v in values]) if len(values) <= 8 else None
    return edges, ticks
