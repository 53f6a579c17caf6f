"""The report of an audit, as text and as a plot (zone: public)."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AuditReport:
    """Result of an audit.

    Parameters
    ----------
    subject : str
        Name of what was audited.
    epsilon, delta : float
        The claim; epsilon is None if nothing is claimed.
    epsilon_lower_bound : float
        Smaller claims of epsilon are refuted.
    confidence : float
        Probability, over the audit, that the lower bound holds.
    event : str
        The event that distinguishes the two data sets, in words.
    evidence : str
        Number of runs with the event on each data set, in words.
    scores : tuple of two ndarray of shape (n_runs,)
        Scores of the runs on each data set, which the event compares with `threshold`.
    threshold : float
        The event is ``score >= threshold``.
    """

    subject: str
    epsilon: float | None
    delta: float
    epsilon_lower_bound: float
    confidence: float
    event: str
    evidence: str
    scores: tuple[Floats, Floats] = field(repr=False)
    threshold: float

    @property
    def refuted(self) -> bool:
        """True if the claim is false, with that confidence.

        If it is False, the claim is not proven: other data sets or events may give a larger bound.
        """
        return self.epsilon is not None and self.epsilon_lower_bound > self.epsilon

    def __str__(self) -> str:
        claim = "" if self.epsilon is None else f" Claimed: {self.epsilon:g}."
        verdict = " THE CLAIM IS REFUTED." if self.refuted else ""
        at_delta = f" at delta = {self.delta:g}" if self.delta > 0 else ""
        text = (
            f"Audit of {self.subject}: epsilon is at least {self.epsilon_lower_bound:.3f}"
            f"{at_delta}, with {100 * self.confidence:g} % confidence.{claim}{verdict} "
            f"{self.evidence}"
        )
        return textwrap.fill(text, 100)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of scores above each number, and the threshold of the event.

        Draws on `ax`, or on new axes, and returns them.
        """
        if ax is None:
            from matplotlib import pyplot as plt

            ax = plt.subplots(figsize=(6, 3.6), layout="constrained")[1]
        scores, neighbour_scores = self.scores
        ax.ecdf(scores, complementary=True, label="one data set")
        ax.ecdf(neighbour_scores, complementary=True, label="its neighbour", linestyle="--")
        ax.axvline(self.threshold, color="tab:gray", linewidth=0.8, label="the event, from here on")
        claim = "" if self.epsilon is None else f" (claimed: {self.epsilon:g})"
        ax.set(
            ylabel="share of larger scores", xlabel=f"score of: {textwrap.shorten(self.event, 60)}"
        )
        ax.set_title(f"{self.subject}\nepsilon is at least {self.epsilon_lower_bound:.2f}{claim}")
        ax.legend()
        return ax
