"""The two mechanisms: select a candidate, release a count (zone: boundary).

The only module that opens a `Sensitive` and the only one that draws noise. Each mechanism
charges the budget first and draws afterwards, so that a crash in between can only waste privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Protocol

import numpy as np

from .privacy import Budget, PrivacyLoss, Sensitive

__all__ = ["NoisyCount", "OpenDPNoise", "SeededNoise", "release_counts", "select"]


class Noise(Protocol):
    """Where draws come from: samplers of given scale, to be applied to what is sensitive."""

    description: str
    secure: bool

    def permute_and_flip(self, scale: float) -> Callable[[list[int]], int]:
        """Return a function that draws an index, given scores."""

    def discrete_laplace(self, scale: float) -> Callable[[int], int]:
        """Return a function that draws a count plus noise, given the count."""


def select(scores: Sensitive, epsilon: float, *, budget: Budget, noise: Noise, release: str) -> int:
    """Choose the row with the largest score by permute-and-flip, at a cost of epsilon.

    In random order, stop at candidate i with probability ``exp(-(max_j N_j - N_i) / b)`` with
    ``b = 2 D / epsilon``, where D is the sensitivity of the integer scores N. With probability
    1 - e^-t the score chosen is within ``b (ln n + t)`` of the largest.

    Parameters
    ----------
    scores : Sensitive of shape (n_candidates, 1)
    epsilon : float
        Charged to the budget, unless there is one candidate only: that choice is no choice.
    budget : Budget
    noise : Noise
    release : str
        What is being chosen, for the record of the loss.

    Returns
    -------
    index : int
        The row chosen.

    References
    ----------
    McKenna and Sheldon, "Permute-and-Flip: a new mechanism for differentially private selection",
    NeurIPS 2020: privacy, and an error that is never more than the exponential mechanism's.
    """
    n_candidates, n_statistics = scores.shape
    if n_statistics != 1:
        raise ValueError(f"a selection compares one statistic; found {n_statistics}")
    if n_candidates == 1:
        return 0
    (D,) = scores.sensitivity
    budget.charge(
        PrivacyLoss(epsilon, 0.0, release, f"permute-and-flip among {n_candidates} candidates")
    )
    sampler = noise.permute_and_flip(_scale(2 * D, epsilon))
    return _draw(lambda opened: sampler(opened[:, 0].tolist()), scores)


@dataclass(frozen=True)
class NoisyCount:
    """A released count: an integer plus discrete Laplace noise of known scale."""

    count: int
    scale: float

    def interval(self, confidence: float) -> tuple[int, int]:
        """Return where the count without noise lies, with at least this probability.

        The noise Z has ``P(|Z| > t) = 2 a^(t+1) / (1 + a)`` with ``a = exp(-1 / scale)``.
        """
        a = math.exp(-1 / self.scale)
        tail = self.scale * math.log(2 / ((1 + a) * (1 - confidence)))
        t = max(0, math.ceil(tail) - 1)
        return self.count - t, self.count + t


def release_counts(
    counts: Sensitive, epsilon: float, *, budget: Budget, noise: Noise, release: str
) -> tuple[NoisyCount, ...]:
    """Release one candidate's statistics, at a cost of epsilon in all.

    Statistic j, of sensitivity D_j, gets discrete Laplace noise of scale ``q D_j / epsilon``
    where q is the number of statistics: ``P(Z = z)`` is proportional to ``exp(-|z| / scale)``.

    Parameters
    ----------
    counts : Sensitive of shape (1, n_statistics)
    epsilon : float
    budget : Budget
    noise : Noise
    release : str
        What is being released, for the record of the loss.

    Returns
    -------
    noisy : tuple of NoisyCount, one per statistic

    References
    ----------
    Ghosh, Roughgarden and Sundararajan, "Universally utility-maximizing privacy mechanisms",
    STOC 2009; sampled exactly as in Canonne, Kamath and Steinke, NeurIPS 2020, Algorithm 2.
    """
    n_candidates, q = counts.shape
    if n_candidates != 1:
        raise ValueError(f"one candidate's counts are released at a time; found {n_candidates}")
    budget.charge(
        PrivacyLoss(epsilon, 0.0, release, "discrete Laplace noise" + (f" on {q} counts" * (q > 1)))
    )
    scales = [_scale(q * D, epsilon) for D in counts.sensitivity]
    samplers = [noise.discrete_laplace(b) for b in scales]
    drawn = _draw(
        lambda opened: [draw(c) for draw, c in zip(samplers, opened[0].tolist(), strict=True)],
        counts,
    )
    return tuple(NoisyCount(count, b) for count, b in zip(drawn, scales, strict=True))


def _draw(sample: Callable, sensitive: Sensitive):
    """Open, sample, close. If that is interrupted, no frame that saw the value survives."""
    try:
        return sample(sensitive._open())
    except BaseException as error:
        error.__context__ = None
        raise error.with_traceback(None) from None


def _scale(numerator: int, epsilon: float) -> float:
    """Return the noise scale numerator / epsilon, rounded up: its loss is epsilon at most."""
    scale = numerator / epsilon
    while Fraction(numerator) / Fraction(scale) > Fraction(epsilon):
        scale = math.nextafter(scale, math.inf)
    return scale


class OpenDPNoise:
    """Exact samplers seeded by the operating system (OpenDP).

    Raises
    ------
    ImportError
        At once, and not after hours of fits, if the library cannot be imported.
    """

    secure = True

    def __init__(self):
        _opendp()

    @property
    def description(self) -> str:
        """Name and version of the library."""
        from importlib.metadata import version

        return f"OpenDP {version('opendp')}: exact samplers, operating-system randomness"

    def permute_and_flip(self, scale: float):
        """Return a sampler of indices."""
        dp = _opendp()
        return dp.measurements.make_noisy_max(
            dp.domains.vector_domain(dp.domains.atom_domain(T="i64")),
            dp.metrics.linf_distance(T="i64"),
            dp.measures.max_divergence(),
            scale=scale,
        )

    def discrete_laplace(self, scale: float):
        """Return a sampler of noisy counts."""
        dp = _opendp()
        space = dp.domains.atom_domain(T="i64"), dp.metrics.absolute_distance(T="i64")
        return dp.measurements.make_laplace(*space, scale=scale)


@cache
def _opendp():
    """Import the noise library when a search begins.

    Its parts, and not ``opendp.prelude``, which takes ten times as long and three times the
    memory for extras that are not needed here.
    """
    import opendp.domains
    import opendp.measurements
    import opendp.measures
    import opendp.metrics
    import opendp.mod

    opendp.mod.enable_features("contrib")
    return opendp


class SeededNoise:
    """Reproducible draws from the same distributions: not private, for tests.

    Whoever knows the seed can take the noise off again.
    """

    description = "a seeded generator: NOT PRIVATE, for tests only"
    secure = False

    def __init__(self, seed: int):
        self._rng = np.random.default_rng(seed)

    def permute_and_flip(self, scale: float):
        """Return a sampler of indices: the paper's Algorithm 1."""

        def sample(scores: list[int]) -> int:
            best = max(scores)
            for i in self._rng.permutation(len(scores)):
                if self._rng.random() < math.exp((scores[i] - best) / scale):
                    return int(i)
            raise AssertionError("the best candidate is always accepted")

        return sample

    def discrete_laplace(self, scale: float):
        """Return a sampler of noisy counts: the difference of two geometric variables is added."""
        p = -math.expm1(-1 / scale)

        def sample(count: int) -> int:
            up, down = self._rng.geometric(p, size=2)
            return int(count + up - down)

        return sample
