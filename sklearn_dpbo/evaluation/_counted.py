"""From released counts to the evaluation of a model (zone: released)."""

from __future__ import annotations

from dataclasses import dataclass

from .._data.units import Units
from .._privacy.noisy_counts import NoisyCounts
from ..report._report import PrivacyReport
from ._classifier import ClassifierEvaluation
from ._design import ClassifierDesign, RegressorDesign
from ._regressor import RegressorEvaluation

__all__ = ["Counted"]


@dataclass(frozen=True, eq=False)
class Counted:
    """What was counted for an evaluation, with noise.

    Parameters
    ----------
    design : ClassifierDesign or RegressorDesign
        What.
    noisy : tuple of NoisyCounts
        Each of its parts.
    """

    design: ClassifierDesign | RegressorDesign
    noisy: tuple[NoisyCounts, ...]

    def evaluation(
        self, units: Units, privacy: PrivacyReport
    ) -> ClassifierEvaluation | RegressorEvaluation:
        """Return what follows from it.

        Parameters
        ----------
        units : Units
            Protected units; only their number, and whether they are groups, is used.
        privacy : PrivacyReport
            Of the release.
        """
        released = (self.noisy, units.m, units.grouped, privacy)
        if isinstance(self.design, ClassifierDesign):
            return ClassifierEvaluation(*released, self.design)
        return RegressorEvaluation(*released, self.design)
