"""Sources of noise: exact samplers, or a seeded generator for tests (zone: boundary).

No other module imports the noise library. Only `mechanisms` applies the samplers to data.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import chain, count, repeat
from threading import get_ident
from typing import Any, TypeAlias

import numpy as np
from joblib import cpu_count

# Fewest numbers per thread: a draw of noise takes some 20 microseconds.
_NUMBERS_OF_THREAD = 500

# Samples the position of the largest noisy score, given integer scores.
NoisyMax: TypeAlias = Callable[[list[int]], int]
# Samples noisy integers, given the exact ones.
AddNoise: TypeAlias = Callable[[list[int]], list[int]]
Seed: TypeAlias = tuple[int, ...]


class Noise:
    """Exact samplers of a given scale, by OpenDP, with randomness of the operating system.

    Raises ImportError at once if the library is missing, and not after hours of fits.
    """

    secure = True

    def __init__(self) -> None:
        _opendp()
        self._n_threads = cpu_count()

    @property
    def description(self) -> str:
        """Name and version of the library."""
        from importlib.metadata import version

        return f"OpenDP {version('opendp')}: exact samplers, operating-system randomness"

    def permute_and_flip(self, scale: float) -> NoisyMax:
        """Return a sampler of permute-and-flip."""
        return self._noisy_max(_opendp().measures.max_divergence(), scale)

    def exponential_mechanism(self, scale: float) -> NoisyMax:
        """Return a sampler of the exponential mechanism: for zCDP, OpenDP adds Gumbel noise."""
        return self._noisy_max(_opendp().measures.zero_concentrated_divergence(), scale)

    def _noisy_max(self, measure: Any, scale: float) -> NoisyMax:
        metric = _opendp().metrics.linf_distance(T="i64")
        make = _opendp().measurements.make_noisy_max
        sampler: NoisyMax = make(_integers(), metric, measure, scale=scale)
        return sampler

    def uniform(self, n: int) -> int:
        """Draw one of 0, ..., n - 1 with equal probability."""
        return secrets.randbelow(n)

    def discrete_laplace(self, scale: float) -> AddNoise:
        """Return a sampler that adds discrete Laplace noise to each integer."""
        metric = _opendp().metrics.l1_distance(T="i64")
        sampler: AddNoise = _opendp().measurements.make_laplace(_integers(), metric, scale=scale)
        return sampler

    def discrete_gaussian(self, scale: float) -> AddNoise:
        """Return a sampler that adds discrete Gaussian noise to each integer."""
        metric = _opendp().metrics.l2_distance(T="f64")
        sampler: AddNoise = _opendp().measurements.make_gaussian(_integers(), metric, scale=scale)

        def sample(numbers: list[int]) -> list[int]:
            n = min(self._n_threads, len(numbers) // _NUMBERS_OF_THREAD)
            if n < 2:
                return sampler(numbers)
            # Threads draw noise only: an interrupt may leave them behind, and their frames must not
            # hold a number.
            zeros = [[0] * len(numbers[i::n]) for i in range(n)]
            with ThreadPoolExecutor(n) as threads:  # the library releases the interpreter's lock
                noise = chain.from_iterable(threads.map(sampler, zeros))
                sums = [number + drawn for number, drawn in zip(numbers, noise, strict=True)]
            return [max(-(2**63), min(2**63 - 1, number)) for number in sums]

        return sample


@cache
def _opendp() -> Any:
    """Import the needed parts of the noise library: its prelude takes ten times as long."""
    import opendp.domains
    import opendp.measurements
    import opendp.measures
    import opendp.metrics
    import opendp.mod

    opendp.mod.enable_features("contrib")
    return opendp


def _integers() -> Any:
    """Return the domain of lists of 64-bit integers."""
    dp = _opendp()
    return dp.domains.vector_domain(dp.domains.atom_domain(T="i64"))


class SeededNoise(Noise):
    """Reproducible draws from the same distributions: not private, for tests."""

    description = "a seeded generator: NOT PRIVATE, for tests only"
    secure = False

    def __init__(self, seed: int | Seed) -> None:
        self._rng = np.random.default_rng(seed)

    def permute_and_flip(self, scale: float) -> NoisyMax:
        """Return a sampler of permute-and-flip: the paper's Algorithm 1."""

        def sample(scores: list[int]) -> int:
            order = self._rng.permutation(len(scores))
            best = max(scores)
            accepts = (self._rng.random() < math.exp((scores[i] - best) / scale) for i in order)
            return int(next(i for i, accepted in zip(order, accepts, strict=True) if accepted))

        return sample

    def exponential_mechanism(self, scale: float) -> NoisyMax:
        """Return a sampler of the largest score plus Gumbel noise."""

        def sample(scores: list[int]) -> int:
            # Subtract as integers first: that is exact, and the differences that matter are small.
            best = max(scores)
            below = np.array([score - best for score in scores], dtype=float)
            return int(np.argmax(below / scale + self._rng.gumbel(size=len(scores))))

        return sample

    def uniform(self, n: int) -> int:
        """Draw one of 0, ..., n - 1; from bytes if n is beyond the generator's integers."""
        if n <= 2**63:
            return int(self._rng.integers(n))
        return int.from_bytes(self._rng.bytes(n.bit_length() // 8 + 8)) % n

    def discrete_laplace(self, scale: float) -> AddNoise:
        """Return a sampler that adds differences of two geometric variables."""
        p = -math.expm1(-1 / scale)

        def sample(numbers: list[int]) -> list[int]:
            drawn = self._rng.geometric(p, size=(len(numbers), 2)).tolist()
            pairs = zip(numbers, drawn, strict=True)
            return [number + up - down for number, (up, down) in pairs]

        return sample

    def discrete_gaussian(self, scale: float) -> AddNoise:
        """Return a sampler that adds rounded normal variables."""

        def sample(numbers: list[int]) -> list[int]:
            drawn = np.rint(scale * self._rng.standard_normal(len(numbers))).astype(np.int64)
            noisy: list[int] = (np.array(numbers, dtype=np.int64) + drawn).tolist()
            return noisy

        return sample


class _Seeds:
    """Seeds of a `seed_noise` context, which are valid in its thread until it ends."""

    def __init__(self, seed: Seed) -> None:
        self.seeds: Iterator[Seed | None] = chain([seed], ((*seed, k) for k in count(1)))
        self.thread = get_ident()
        self.active = True


# Other threads and tasks get copies of this variable, which may outlive the `seed_noise` context.
# So seeds store their thread, and whether they are active.
_seeds: ContextVar[tuple[_Seeds, ...]] = ContextVar("seeds", default=())


def noise_source() -> Noise:
    """Return a secure source of noise, or a seeded one inside `seed_noise`."""
    return SeededNoise(seed) if (seed := next(seeds_here())) else Noise()


def seeds_here() -> Iterator[Seed | None]:
    """Return the seeds of the sources of noise in this thread; all None outside `seed_noise`."""
    active = [seeds for seeds in _seeds.get() if seeds.active]
    return active[-1].seeds if active and active[-1].thread == get_ident() else repeat(None)


@contextmanager
def seed_noise(seed: Seed | None) -> Iterator[None]:
    """Seed the sources of noise made in this thread and context: by `seed`, then by (*seed, k).

    If `seed` is None, nothing changes.
    """
    if seed is None:
        yield
        return
    seeds = _Seeds(seed)
    _seeds.set((*(outer for outer in _seeds.get() if outer.active), seeds))
    try:
        yield
    finally:
        seeds.active = False
