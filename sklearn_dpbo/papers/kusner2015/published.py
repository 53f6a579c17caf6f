"""The forms that the papers print and that are known to fail: to reproduce and compare.

Each class has the parameters of the class that it derives from and differs only in the formulas
named here. Where a form fails, the proof of its guarantee does: the documentation, "Algorithms",
says at which step (zone: boundary).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ._gp import ASSUMPTION_1
from ._gp_noise_free import GPNoiseFree
from ._gp_noisy import GPNoisy
from ._lipschitz import LipschitzConvex
from .bounds import LipschitzBounds, NoiseFreeBounds, NoisyBounds

__all__ = [
    "ArxivGPNoiseFree",
    "ArxivGPNoisy",
    "ArxivNoiseFreeBounds",
    "ArxivNoisyBounds",
    "PublishedGPNoisy",
    "PublishedLipschitzBounds",
    "PublishedLipschitzConvex",
    "PublishedNoisyBounds",
]

_FAILURE_OF_THEOREM_3 = (
    "whose proof fails at Theorem 3: it bounds the noise at places that depend on the data as if "
    "they were fixed"
)


# ------------------------------------------------------------ bounds
@dataclass(frozen=True)
class PublishedNoisyBounds(NoisyBounds):
    """`NoisyBounds` with q and Theorem 4 as the proceedings print them."""

    _factor_of_q = 8

    @property
    def noise_term(self) -> float:
        """The paper's q: ``sigma sqrt(8 ln(3 / delta))``; 4 for 8 in the arXiv text."""
        return self.noise * math.sqrt(self._factor_of_q * math.log(3 / self.delta))

    @property
    def _noise_of_best(self) -> float:
        """The first term of Theorem 4: ``sigma sqrt(8 ln(1 / delta))``."""
        return self.noise * math.sqrt(8 * math.log(1 / self.delta))


@dataclass(frozen=True)
class ArxivNoisyBounds(PublishedNoisyBounds):
    """`NoisyBounds` with q and Theorems 2 and 4 as the arXiv and workshop texts print them."""

    _factor_of_q = 4

    @property
    def _noise_of_best(self) -> float:
        """The first term of Theorem 4: ``sqrt(2 ln(2 T / delta))``, which lacks sigma."""
        return math.sqrt(2 * math.log(2 * self.T / self.delta))

    def mean_regret(self, epsilon: float, a: float) -> float:
        """Theorem 2: ``2 sqrt(beta_T) + q + candidate_error(epsilon, a)``, by a step that fails."""
        return 2 * math.sqrt(self.beta(self.T)) + self.noise_term + self.candidate_error(epsilon, a)


@dataclass(frozen=True)
class ArxivNoiseFreeBounds(NoiseFreeBounds):
    """`NoiseFreeBounds` with Omega at T = 2, as in the arXiv text."""

    @property
    def regret(self) -> float:
        """``Omega = A exp(-2 tau / (ln 2)^(d/4))``."""
        return self._regret_after(2)


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

    _assumption = f"{ASSUMPTION_1}. This is the published form, {_FAILURE_OF_THEOREM_3}"
    _bounds_type = PublishedNoisyBounds


class ArxivGPNoisy(GPNoisy):
    """`GPNoisy` with the bounds of the arXiv text, `ArxivNoisyBounds`.

    Parameters as in `sklearn_dpbo.papers.kusner2015.GPNoisy`.
    """

    _assumption = (
        f"{ASSUMPTION_1}. This is the form of the arXiv text, {_FAILURE_OF_THEOREM_3}; its q "
        "also has a factor of 4 where that step yields 8"
    )
    _bounds_type = ArxivNoisyBounds


class ArxivGPNoiseFree(GPNoiseFree):
    """`GPNoiseFree` as in the arXiv text: the best score from the second on, with Omega at T = 2.

    Parameters as in `sklearn_dpbo.papers.kusner2015.GPNoiseFree`.
    """

    _assumption = (
        f"{GPNoiseFree._assumption}. This is the form of the arXiv text, whose proof of Theorem 5 "
        "needs the bound by A and tau to hold, from the second evaluation on, for both of two "
        "neighbouring validation sets, and counts no probability for its failure"
    )
    score_released = "best score seen from the second on"
    _bounds_type = ArxivNoiseFreeBounds

    @staticmethod
    def _select_score(statistics: tuple[int, ...]) -> int:
        return max(statistics[1:])


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
