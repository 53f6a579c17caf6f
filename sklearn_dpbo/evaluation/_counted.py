"""From released counts to the evaluation of a model (zone: released)."""

from __future__ import annotations

from dataclasses import dataclass

from .._data.units import Units
from .._privacy.noisy_counts import NoisyCounts
from ..report._report import PrivacyReport
from ._classifier import ClassifierEvaluation
from ._design import ClassifierDesign, Design
from ._regressor import RegressorEvaluation

__all__ = ["Counted"]


@dataclass(frozen=True, eq=False)
class Counted:
    """The noisy counts of an evaluation.

    Parameters
    ----------
    design : ClassifierDesign or RegressorDesign
        What was counted.
    noisy : tuple of NoisyCounts
        The noisy counts of each part.
    """

    design: Design
    noisy: tuple[NoisyCounts, ...]

    def evaluation(
        self, units: Units, privacy: PrivacyReport
    ) -> ClassifierEvaluation | RegressorEvaluation:
        """Return the evaluation that follows from the counts.

        Parameters
        ----------
        units : Units
            Protected units; only their number, and whether they are groups, is used.
        privacy : PrivacyReport
            The privacy report of the release.
        """
        released = (self.noisy, units.m, units.grouped, privacy)
        if isinstance(self.design, ClassifierDesign):
            return ClassifierEvaluation(*released, self.design)
        return RegressorEvaluation(*released, self.design)
