"""Guidance by the validation scores themselves, through selections with noise (zone: boundary).

The posterior mean is a linear map of the scores, with weights that depend on locations only. The
locations are released as they are selected; given them, the map's sensitivity is a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .._data.units import Units
from .._gp.surrogate import Surrogate
from .._gp.threads import single_threaded
from .._privacy.mechanisms import Mechanisms, Price, Series
from .._privacy.sensitive import Sensitive
from .._space.space import Points, SearchSpace
from ..acquisition import UpperConfidenceBound
from ..scoring._scorers import PrivateScorer
from ._history import History
from ._proposals import Domain, PublicModel, choose_batch

__all__ = [
    "DrawPlan",
    "NoisyScores",
    "PrivateGuide",
    "fixed_prior",
    "linear_scores",
    "residual_prior",
]

# Noise of a draw beyond this share of the score's range is not worth its privacy: then fewer
# draws are made, and in the end none.
_TOLERANCE = 0.01
# Share of the evaluations that are guided: with a draw for each of them, and else.
_GUIDED_SHARES = (0.85, 0.5)
# Of the privacy for guidance, the share that goes to releasing scores to learn the kernel from,
# and the noise (standard deviation, as a share of the range) beyond which that is not worth it.
_LEARNING_SHARE, _LEARNING_NOISE = 0.25, 0.01
# Bits that a statistic may have, so that weights have room for about 20.
_BITS = 40
# Around a released point, what is expected of it there (in standard deviations of the surrogate),
# and how much the unknown adds.
_EXPECTED_AT_ANCHOR, _LOCAL_KAPPA = 2.0, 1.0
# What validation scores may differ by from public ones, as a share of the public amplitude; and
# the noise variance of that process, as a share of its variance.
_RESIDUAL_AMPLITUDE, _NUGGET = 0.5, 1e-2


@dataclass(frozen=True)
class DrawPlan:
    """How private guidance is spread over evaluations, and what it costs.

    Parameters
    ----------
    rounds : tuple of (int, int)
        Evaluations, and draws among them, of each round.
    draws : Price
        Of all draws together.
    epsilon_each_score : float
        For each score that is released to learn the kernel from; 0 for none.
    """

    rounds: tuple[tuple[int, int], ...]
    draws: Price
    epsilon_each_score: float = 0.0

    @property
    def n_evaluations(self) -> int:
        """Evaluations in all rounds."""
        return sum(size for size, _ in self.rounds)

    @classmethod
    def of(
        cls,
        n: int,
        batch_size: int,
        epsilon: float,
        delta: float,
        step: float,
        learns: bool,
        n_given: int = 0,
    ) -> DrawPlan | None:
        """Plan as many draws as are accurate enough for their privacy; None if not even one is.

        Parameters
        ----------
        n : int
            Evaluations that are left.
        batch_size : int
            Evaluations per round; with few draws, rounds are larger.
        epsilon, delta : float
            For all guidance.
        step : float
            Most that one unit can change a score, as a share of the score's range.
        learns : bool
            Whether scores may be released to learn the kernel from.
        n_given : int
            Evaluations among the n that are not guided in any case.
        """
        each_score = _LEARNING_SHARE * epsilon / n
        if not learns or math.sqrt(2) * step / each_score > _LEARNING_NOISE:
            each_score = 0.0
        else:
            epsilon *= 1 - _LEARNING_SHARE
        for share in _GUIDED_SHARES:
            guided = min(int(share * n), n - n_given)
            affordable = _most_draws(guided, epsilon, delta, step)
            if affordable == guided:
                break
        if affordable == 0:
            return None
        n_rounds = min(affordable, math.ceil(guided / batch_size))
        sizes = [len(part) for part in np.array_split(np.arange(guided), n_rounds)]
        rounds = tuple((size, min(size, affordable // n_rounds)) for size in sizes)
        draws = Price.of_choices(sum(drawn for _, drawn in rounds), epsilon, delta)
        return cls(rounds, draws, each_score)


def _most_draws(most: int, epsilon: float, delta: float, step: float) -> int:
    for n in range(most, 0, -1):
        if Price.of_choices(n, epsilon, delta).scale_of_choice(step) <= _TOLERANCE:
            return n
    return 0


def linear_scores(
    statistics: Sensitive,
    weights: NDArray[np.float64],
    offsets: NDArray[np.float64],
    line: tuple[float, float],
    largest: int,
) -> Sensitive:
    """Return ``offset(l) + sum_j w_j(l) score_j`` as integers, on a public scale.

    Subtracting a vector c from all w(l) changes the result by ``sum_j c_j score_j``. That is the
    same for all l, so it does not change which is the largest. But the sensitivity becomes
    ``max_l |w(l) - c|_1`` instead of ``max_l |w(l)|_1``.

    Parameters
    ----------
    statistics : Sensitive of shape (n_observations, 1)
        Of the candidates observed.
    weights : ndarray of shape (n_observations, n_points)
        ``w_j(l)``.
    offsets : ndarray of shape (n_points,)
        In units of the score.
    line : tuple (a, b)
        ``score = a + b statistic``.
    largest : int
        The largest possible statistic.
    """
    a, b = line
    shift = max(0, largest.bit_length() - _BITS)
    offsets = (offsets + a * weights.sum(axis=0)) / (b * 2**shift)
    offsets = offsets - np.median(offsets)
    centred = min(
        (weights - c for c in (0.0, np.median(weights, axis=1, keepdims=True))),
        key=lambda w: np.abs(w).sum(axis=0).max(),
    )
    furthest = np.abs(centred).sum(axis=0).max() * (largest >> shift) + np.abs(offsets).max()
    scale = 2.0 ** (60 - math.ceil(math.log2(furthest + len(weights))))
    return statistics.linear(
        np.rint(centred.T * scale).astype(np.int64),
        np.rint(offsets * scale).astype(np.int64),
        largest=largest,
        shift=shift,
    )


@dataclass
class NoisyScores:
    """Noisy scores of what was evaluated, released to learn the kernel from.

    Parameters
    ----------
    epsilon_each : float
        Of each score.
    shape : str
        Of the kernel.
    mechanisms : Mechanisms
        By which they are released.
    counts : list of int
        What was released.
    """

    epsilon_each: float
    shape: str
    mechanisms: Mechanisms
    counts: list[int] = field(default_factory=list)

    def add(self, statistics: Sensitive) -> None:
        """Release the scores that have not been released yet."""
        new = np.arange(len(self.counts), statistics.shape[0])
        if not len(new):
            return
        noisy = self.mechanisms.release_counts(
            statistics.take(new),
            self.epsilon_each * len(new),
            purpose="scores to learn the kernel from",
        )
        self.counts += noisy.counts


def residual_prior(model: PublicModel, domain: Domain, capacity: int) -> Surrogate:
    """Return the public posterior mean, with a process for how validation scores differ from it.

    The difference has the length-scales of the public kernel, half its amplitude, and an unknown
    level of its own.
    """
    variance = _RESIDUAL_AMPLITUDE**2 * model.kernel.variance
    kernel = replace(model.kernel, variance=variance, bias=model.kernel.variance)
    mean = model.on(domain, len(model.points)).mean
    return Surrogate.on(domain.features, kernel, _NUGGET * variance, mean, capacity=capacity)


def fixed_prior(model: PublicModel, domain: Domain, capacity: int) -> Surrogate:
    """Return the model's kernel and prior mean, and nothing of its scores."""
    return Surrogate.on(
        domain.features, model.kernel, model.noise, model.prior_mean, capacity=capacity
    )


class PrivateGuide:
    """Chooses what to evaluate next by draws over the upper confidence bound.

    Parameters
    ----------
    space : SearchSpace
        What is searched.
    scorer : PrivateScorer
        The score that selects.
    units : Units
        Of the validation set.
    prior : callable
        Of (domain, capacity), to the surrogate before it meets validation scores.
    center : Points or None
        A point of public interest, to look around.
    pool : Points
        Points that fill the space.
    select : Series of int
        Makes the draws.
    acquisition : UpperConfidenceBound
        What is drawn over.
    noisy_scores : NoisyScores or None
        If given, the kernel is learnt from them.
    rng : numpy.random.Generator
        Public.
    """

    def __init__(
        self,
        space: SearchSpace,
        scorer: PrivateScorer,
        units: Units,
        *,
        prior: Callable[[Domain, int], Surrogate],
        center: Points | None,
        pool: Points,
        select: Series[int],
        acquisition: UpperConfidenceBound,
        noisy_scores: NoisyScores | None,
        rng: np.random.Generator,
    ) -> None:
        self._space, self._line = space, scorer.line(units)
        self._largest = scorer.largest(units)
        self._prior, self._center, self._pool = prior, center, pool
        self._select, self._acquisition, self._noisy_scores = select, acquisition, noisy_scores
        self._rng = rng
        self._anchor: Points | None = None

    @single_threaded
    def propose(self, history: History, n: int, n_draws: int) -> Points:
        """Return n points to evaluate next: n_draws are drawn, the rest placed around the last."""
        if self._noisy_scores is not None:
            self._learn(history, self._noisy_scores)
        domain = self._domain(history)
        everything = history.points
        taken = domain.find(everything.take(np.flatnonzero(history.validated)))
        picked = domain.find(everything.take(history.fitted))
        posterior = self._prior(domain, len(history) + n).condition_all(picked)
        drawn = self._draw(history, posterior, domain, taken, n_draws)
        self._anchor = domain.points.take([drawn[-1]])
        posterior = posterior.condition_all(drawn)
        rest = _around(posterior, drawn[-1], n - n_draws, taken + drawn)
        return domain.points.take(drawn + rest)

    def _learn(self, history: History, noisy_scores: NoisyScores) -> None:
        """Choose kernel parameters by the likelihood of noisy, released scores."""
        noisy_scores.add(history.statistics)
        a, b = self._line
        scores = a + b * np.array(noisy_scores.counts, dtype=float)
        model = PublicModel.learn(
            self._space, history.points.take(history.fitted), scores, noisy_scores.shape
        )
        self._prior, self._center = partial(fixed_prior, model), model.best()

    def _domain(self, history: History) -> Domain:
        centers = [center for center in (self._anchor, self._center) if center is not None]
        near = [points for c in centers for points in Domain.around(self._space, c, self._rng)]
        return Domain.of(self._space, [history.points, self._pool, *near])

    def _draw(
        self,
        history: History,
        posterior: Surrogate,
        domain: Domain,
        taken: list[int],
        n: int,
    ) -> list[int]:
        """Draw n points, each as if the earlier ones had met the mean (GP-BUCB)."""
        weights = posterior.weights()
        # mean = prior + w' (score - prior there): this is the part without the score.
        known = posterior.mean - posterior.mean[list(posterior.picked)] @ weights
        drawn: list[int] = []
        for _ in range(n):
            free = np.setdiff1d(np.arange(len(domain.points)), taken + drawn)
            scores = linear_scores(
                history.statistics,
                weights[:, free],
                self._acquisition(known, posterior.std, None)[free],
                self._line,
                self._largest,
            )
            drawn.append(int(free[self._select(scores)]))
            posterior = posterior.condition(drawn[-1])
        return drawn


def _around(posterior: Surrogate, anchor: int, n: int, taken: list[int]) -> list[int]:
    """Return points near the anchor, as if it had turned out well, and spread."""
    near = _EXPECTED_AT_ANCHOR * np.sqrt(posterior.kernel.variance) * posterior.correlation(anchor)
    hopeful = replace(posterior, mean=posterior.mean + near)
    return choose_batch(hopeful, UpperConfidenceBound(_LOCAL_KAPPA), n, taken)
