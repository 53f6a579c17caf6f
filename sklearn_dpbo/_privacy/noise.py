"""Sources of noise: exact samplers, or a seeded generator for tests (zone: boundary).

The only module that imports the noise library. Only `mechanisms` applies the samplers to data.
"""

from __future__ import annotations

import math
import secrets
import warnings
from collections.abc import Callable
from functools import cache
from numbers import Integral
from typing import Any, Protocol, TypeAlias

import numpy as np

from ..exceptions import InsecureNoiseWarning

__all__ = ["Noise", "OpenDPNoise", "SeededNoise", "noise_source"]

# Samplers: of an index given scores; of a noisy integer, or noisy integers, given the exact ones.
SelectIndex: TypeAlias = Callable[[list[int]], int]
AddNoise: TypeAlias = Callable[[int], int]
AddNoiseToAll: TypeAlias = Callable[[list[int]], list[int]]


class Noise(Protocol):
    """A source of noise: samplers of a given scale, for `mechanisms` to apply."""

    @property
    def description(self) -> str:
        """Name and version, in words."""

    @property
    def secure(self) -> bool:
        """Whether nobody can predict the draws."""

    def permute_and_flip(self, scale: float) -> SelectIndex:
        """Return a function that draws an index, given scores."""

    def exponential_mechanism(self, scale: float) -> SelectIndex:
        """Return a function that draws an index, given scores."""

    def uniform(self, n: int) -> int:
        """Return one of 0, ..., n - 1, each with the same probability."""

    def discrete_laplace(self, scale: float) -> AddNoise:
        """Return a function that draws a count plus noise, given the count."""

    def discrete_gaussian(self, scale: float) -> AddNoiseToAll:
        """Return a function that draws integers plus noise, given the integers."""


class OpenDPNoise:
    """Exact samplers seeded by the operating system (OpenDP).

    Raises
    ------
    ImportError
        At once, and not after hours of fits, if the library cannot be imported.
    """

    secure = True

    def __init__(self) -> None:
        _opendp()

    @property
    def description(self) -> str:
        """Name and version of the library."""
        from importlib.metadata import version

        return f"OpenDP {version('opendp')}: exact samplers, operating-system randomness"

    def permute_and_flip(self, scale: float) -> SelectIndex:
        """Return a sampler of indices."""
        return self._noisy_max(_opendp().measures.max_divergence(), scale)

    def exponential_mechanism(self, scale: float) -> SelectIndex:
        """Return a sampler of indices: the measure zCDP picks Gumbel noise."""
        return self._noisy_max(_opendp().measures.zero_concentrated_divergence(), scale)

    def uniform(self, n: int) -> int:
        """Draw from the operating system's randomness."""
        return secrets.randbelow(n)

    def _noisy_max(self, measure: Any, scale: float) -> SelectIndex:
        dp = _opendp()
        space = dp.domains.vector_domain(dp.domains.atom_domain(T="i64"))
        metric = dp.metrics.linf_distance(T="i64")
        sampler: SelectIndex = dp.measurements.make_noisy_max(space, metric, measure, scale=scale)
        return sampler

    def discrete_laplace(self, scale: float) -> AddNoise:
        """Return a sampler of noisy counts."""
        dp = _opendp()
        space = dp.domains.atom_domain(T="i64"), dp.metrics.absolute_distance(T="i64")
        sampler: AddNoise = dp.measurements.make_laplace(*space, scale=scale)
        return sampler

    def discrete_gaussian(self, scale: float) -> AddNoiseToAll:
        """Return a sampler of noisy tables, flattened."""
        dp = _opendp()
        domain = dp.domains.vector_domain(dp.domains.atom_domain(T="i64"))
        space = domain, dp.metrics.l2_distance(T="f64")
        sampler: AddNoiseToAll = dp.measurements.make_gaussian(*space, scale=scale)
        return sampler


@cache
def _opendp() -> Any:
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

    Whoever knows the seed can subtract the noise.
    """

    description = "a seeded generator: NOT PRIVATE, for tests only"
    secure = False

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def permute_and_flip(self, scale: float) -> SelectIndex:
        """Return a sampler of indices: the paper's Algorithm 1."""

        def sample(scores: list[int]) -> int:
            best = max(scores)
            for i in self._rng.permutation(len(scores)):
                if self._rng.random() < math.exp((scores[i] - best) / scale):
                    return int(i)
            raise AssertionError("the best candidate is always accepted")

        return sample

    def exponential_mechanism(self, scale: float) -> SelectIndex:
        """Return a sampler of indices: the largest score plus Gumbel noise."""

        def sample(scores: list[int]) -> int:
            # Differences of integers first: they are exact, and small where it matters.
            best = max(scores)
            below = np.array([score - best for score in scores], dtype=float)
            return int(np.argmax(below / scale + self._rng.gumbel(size=len(scores))))

        return sample

    def uniform(self, n: int) -> int:
        """Draw from the generator."""
        return int(self._rng.integers(n))

    def discrete_laplace(self, scale: float) -> AddNoise:
        """Return a sampler of noisy counts: the difference of two geometric variables is added."""
        p = -math.expm1(-1 / scale)

        def sample(count: int) -> int:
            up, down = self._rng.geometric(p, size=2)
            return count + int(up) - int(down)

        return sample

    def discrete_gaussian(self, scale: float) -> AddNoiseToAll:
        """Return a sampler of noisy tables, flattened: normal variables, rounded."""

        def sample(numbers: list[int]) -> list[int]:
            drawn = np.rint(scale * self._rng.standard_normal(len(numbers))).astype(np.int64)
            noisy: list[int] = (np.array(numbers, dtype=np.int64) + drawn).tolist()
            return noisy

        return sample


def noise_source(noise_random_state: Any, *, stacklevel: int) -> Noise:
    """Return the source of noise: the operating system, or a seed that tests chose.

    Raises
    ------
    ValueError
        If it is neither None nor a whole number from 0 up.
    """
    if noise_random_state is None:
        return OpenDPNoise()
    seed = noise_random_state
    if isinstance(seed, bool | np.bool_) or not isinstance(seed, Integral) or seed < 0:
        raise ValueError(
            f"noise_random_state must be None or a whole number from 0 up; found {seed!r}"
        )
    warnings.warn(
        f"noise_random_state={seed!r} makes the noise predictable: what is released is NOT "
        "private. Use it in tests only.",
        InsecureNoiseWarning,
        stacklevel=stacklevel,
    )
    return SeededNoise(int(seed))
