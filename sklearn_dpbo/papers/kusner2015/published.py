"""The forms that the papers print and that this package changed: to reproduce and compare.

Each class has the parameters of the class that it derives from and differs only in what is named
here. "Published" are the proceedings, "Arxiv" is arXiv:1501.04080 and the workshop text. Where a
form fails, the documentation, "Kusner et al. (2015)", says at which step (zone: boundary).
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
class ArxivNoisyBounds(PublishedNoisyBounds):
    """`NoisyBounds` with q and Theorems 2 and 4 as the arXiv and workshop texts print them."""

    @property
    def noise_term(self) -> float:
        """These texts' q: ``sigma sqrt(4 ln(3 / delta))``."""
        return self.noise * math.sqrt(4 * math.log(3 / self.delta))

    @property
    def _noise_of_best(self) -> float:
        """The first term of their Theorem 4: ``sqrt(2 ln(2 T / delta))``, without sigma."""
        return math.sqrt(2 * math.log(2 * self.T / self.delta))

    def mean_regret(self, epsilon: float, a: float) -> float:
        """Their Theorem 2: ``2 sqrt(beta_T) + q + candidate_error(epsilon, a)``."""
        band = math.sqrt(self.beta(self.T))
        return 2 * band + self.noise_term + self.candidate_error(epsilon, a)


@dataclass(frozen=True)
class ArxivNoiseFreeBounds(NoiseFreeBounds):
    """`NoiseFreeBounds` with Omega at t = 2, as the arXiv and workshop texts print it."""

    @property
    def regret(self) -> float:
        """These texts' Omega: ``A exp(-2 tau / (ln 2)^(d/4))``."""
        return self.A * math.exp(-2 * self.tau / math.log(2) ** (self.dimension / 4))


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


class ArxivGPNoisy(PublishedGPNoisy):
    """`GPNoisy` with the bounds of the arXiv and workshop texts, `ArxivNoisyBounds`.

    Parameters as in `sklearn_dpbo.papers.kusner2015.GPNoisy`.
    """

    _bounds_type = ArxivNoisyBounds


class ArxivGPNoiseFree(GPNoiseFree):
    """`GPNoiseFree` as the arXiv and workshop texts print it: the best of all scores but the first.

    Bounds are `ArxivNoiseFreeBounds`. Parameters as in
    `sklearn_dpbo.papers.kusner2015.GPNoiseFree`.
    """

    _bounds_type = ArxivNoiseFreeBounds
    score_released = "best score seen from the second on"

    @staticmethod
    def _released_of(statistics: tuple[int, ...]) -> int:
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
