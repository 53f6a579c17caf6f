"""The forms that the papers print and that are known to fail: to reproduce and compare.

Each class has the parameters of the class that it derives from and differs only in the formulas
named here. Where a form fails, the proof of its guarantee does: the documentation, "Algorithms",
says at which step (zone: boundary).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ._gp import ASSUMPTION_1
from ._gp_noisy import GPNoisy
from ._lipschitz import LipschitzConvex
from .bounds import LipschitzBounds, NoisyBounds

__all__ = [
    "PublishedGPNoisy",
    "PublishedLipschitzBounds",
    "PublishedLipschitzConvex",
    "PublishedNoisyBounds",
]


# ------------------------------------------------------------ bounds
@dataclass(frozen=True)
class PublishedNoisyBounds(NoisyBounds):
    """`NoisyBounds` with q and Theorem 4 as the proceedings print them."""

    @property
    def noise_term(self) -> float:
        """The paper's q: ``sigma sqrt(8 ln(3 / delta))``."""
        return self.noise * math.sqrt(8 * math.log(3 / self.delta))

    @property
    def _noise_of_best(self) -> float:
        """The first term of Theorem 4: ``sigma sqrt(8 ln(1 / delta))``."""
        return self.noise * math.sqrt(8 * math.log(1 / self.delta))


@dataclass(frozen=True)
class PublishedLipschitzBounds(LipschitzBounds):
    """`LipschitzBounds` with ``min(g* / m, L / (m lambda_min))`` for one record, for all gains."""

    @property
    def _record_term(self) -> float:
        return min(self.g_star, self.lipschitz / self.lambda_bounds[0]) / self.m


# ------------------------------------------------------------ strategies
class PublishedGPNoisy(GPNoisy):
    """`GPNoisy` with the bounds of the proceedings, `PublishedNoisyBounds`.

    Parameters as in `sklearn_dpbo.papers.kusner2015.GPNoisy`.
    """

    _assumption = (
        f"{ASSUMPTION_1}. This is the published form, whose proof fails at Theorem 3: it bounds "
        "the noise at places that depend on the data as if they were fixed"
    )
    _bounds_type = PublishedNoisyBounds


class PublishedLipschitzConvex(LipschitzConvex):
    """`LipschitzConvex` with the bounds of the paper, `PublishedLipschitzBounds`.

    Parameters as in `sklearn_dpbo.papers.kusner2015.LipschitzConvex`.
    """

    assumption = (
        f"{LipschitzConvex.assumption}. This is the published form, whose proof fails at Theorem "
        "7: it bounds the effect of one record as if the gain of w = 0 were the lowest for every "
        "record, which holds for the ramp only"
    )
    _bounds_type = PublishedLipschitzBounds
