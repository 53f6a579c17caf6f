"""The mechanisms: select a candidate, once or in sequence, and release counts (zone: boundary).

The only module that opens a `Sensitive`, and the only one in which noise meets data. Each mechanism
charges the budget first and draws afterwards, so that a crash in between can only waste privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..exceptions import BudgetExceededError
from .accounting import Budget, PrivacyLoss
from .frames import ClearFrames
from .noise import Noise
from .noisy_counts import NoisyCounts
from .sensitive import Secret, Sensitive
from .zcdp import Draws, Releases

__all__ = ["Answers", "Mechanisms", "Selections", "Tables"]

R = TypeVar("R")

# A run of several points is scored in steps so fine that rounding costs a millionth of epsilon.
_FINE = 2**20


@dataclass(frozen=True)
class Mechanisms:
    """Everything by which protected values are released, at the expense of one budget.

    Parameters
    ----------
    budget : Budget
        Every mechanism charges its loss to it, before it draws.
    noise : Noise
        Where the draws come from.
    """

    budget: Budget
    noise: Noise

    def select(
        self,
        scores: Sensitive,
        epsilon: float,
        *,
        purpose: str,
        assumption: str | None = None,
        detail: str = "",
    ) -> int:
        """Choose the candidate with the largest score by permute-and-flip, at a cost of epsilon.

        In random order, stop at candidate i with probability ``exp(-(max_j N_j - N_i) / b)`` with
        ``b = 2 D / epsilon``, where D is the sensitivity of the integer scores N. With probability
        1 - e^-t the score chosen is within ``b (ln n + t)`` of the largest.

        Parameters
        ----------
        scores : Sensitive of shape (n_candidates, 1)
            Integer scores N.
        epsilon : float
            Charged to the budget, unless there is one candidate only: that choice is no choice.
        purpose : Purpose or str
            What is being chosen, for the record of the loss.
        assumption : str or None
            What the sensitivity rests on.
        detail : str, default=""
            More about the choice, in words.

        Returns
        -------
        index : int
            Position of the candidate chosen.

        References
        ----------
        McKenna and Sheldon, "Permute-and-Flip: a new mechanism for differentially private
        selection", NeurIPS 2020: privacy, and an error that is never more than the exponential
        mechanism's.
        """
        n_candidates = _n_to_choose_from(scores)
        if n_candidates == 1:
            return 0
        D = scores.sensitivity
        how = f"permute-and-flip among {n_candidates:,} candidates{detail}"
        self.budget.charge(PrivacyLoss(epsilon, 0.0, purpose, how, assumption))
        return _choose(self.noise.permute_and_flip(_scale(2 * D, epsilon)), scores)

    def best_of(
        self, models: Secret, scores: Sensitive, epsilon: float, *, purpose: str, among: str
    ) -> tuple[int, Any]:
        """Choose the model with the largest score by permute-and-flip, and open this one alone.

        How many there are may be secret: it is not recorded, and one model is charged for like
        several. That the model itself is private with respect to the records that it was fitted on
        has been charged before, by the caller.

        Parameters
        ----------
        models : Secret of a sequence
            What was fitted, on other records than the scores are computed from.
        scores : Sensitive of shape (n_models, 1)
            Integer scores of them.
        epsilon : float
            Charged to the budget.
        purpose : Purpose or str
            What is being chosen, for the record of the loss.
        among : str
            What is chosen from, in words.

        Returns
        -------
        index : int
            Its position; not to be released, if the number of models is secret.
        model : object
            As `models` has it.

        References
        ----------
        See `select`; and the documentation, "One sensitive table".
        """
        self.budget.charge(PrivacyLoss(epsilon, 0.0, purpose, f"permute-and-flip among {among}"))
        choose = self.noise.permute_and_flip(_scale(2 * scores.sensitivity, epsilon))
        chosen = _choose(choose, scores)
        return chosen, _draw(lambda opened: opened[chosen], models)

    def draw_exponentially(
        self,
        scores: Sensitive,
        epsilon: float,
        *,
        purpose: str,
        delta: float = 0.0,
        assumption: str | None = None,
    ) -> int:
        """Choose a candidate by the exponential mechanism, at a cost of epsilon (and delta).

        ``P(i)`` is proportional to ``exp(epsilon N_i / (2 D))`` with D the sensitivity of the
        integer scores N.

        Parameters
        ----------
        scores : Sensitive of shape (n_candidates, 1)
            Integer scores N.
        epsilon, delta : float
            Charged to the budget, unless there is one candidate only. The draw itself needs no
            delta: it stands for the probability that the sensitivity does not hold.
        purpose : Purpose or str
            What is being chosen, for the record of the loss.
        assumption : str or None
            What the sensitivity rests on.

        Returns
        -------
        index : int
            Position of the candidate chosen.

        References
        ----------
        McSherry and Talwar, "Mechanism design via differential privacy", FOCS 2007.
        """
        n_candidates = _n_to_choose_from(scores)
        if n_candidates == 1:
            return 0
        D = scores.sensitivity
        how = f"the exponential mechanism over {n_candidates:,} candidates"
        self.budget.charge(PrivacyLoss(epsilon, delta, purpose, how, assumption))
        return _choose(self.noise.exponential_mechanism(_scale(2 * D, epsilon)), scores)

    def draw_grid_point(
        self,
        runs: Secret,
        sensitivity: int,
        epsilon: float,
        *,
        n_points: int,
        largest: int,
        purpose: str,
    ) -> int:
        """Choose one of G public points by the exponential mechanism, at a cost of epsilon.

        ``P(i)`` is proportional to ``exp((F N_i + e_i) / b)`` with ``b = 2 (F D + 2 r) / epsilon``,
        where D is the sensitivity of the integer scores N, F an integer factor and |e_i| <= r what
        rounding did: the scores ``F N_i + e_i`` have sensitivity ``F D + 2 r``. A run of c points
        with the same score N is drawn as one candidate of score ``F N + round(b ln c)``, and then
        a point of it uniformly; so the cost is that of the runs, and what is returned is a public
        point.

        Parameters
        ----------
        runs : Secret of (starts, scores), each an ndarray of int of shape (n_runs,)
            Points ``starts[k], ..., starts[k + 1] - 1`` have the score ``scores[k]``.
        sensitivity : int
            D.
        epsilon : float
            Charged to the budget.
        n_points : int
            G.
        largest : int
            No score is larger in absolute value (public).
        purpose : Purpose or str
            What is being chosen, for the record of the loss.

        Returns
        -------
        index : int
            The point chosen.

        Raises
        ------
        ValueError
            If scores of this size could overflow 64 bits. Nothing is charged then.

        References
        ----------
        McSherry and Talwar, "Mechanism design via differential privacy", FOCS 2007. Proof for runs
        in the documentation, "Tune an algorithm on sensitive instances".
        """
        D, G = sensitivity, n_points
        F = max(1, _FINE // D)
        # b is at most 4 F D / epsilon; b ln c is off by a few units in the last place, and rounded.
        bonus = 4 * F * D / epsilon * math.log(G + 1)
        r = math.ceil(1 + 8 * math.ulp(bonus))
        if not (F * largest + bonus < 2**62 and 2 * r <= F * D):
            raise ValueError(
                f"scores up to {largest:,} and epsilon={epsilon!r} are too much for 64 bits: take "
                "a larger epsilon, or fewer instances"
            )
        b = _scale(2 * (F * D + 2 * r), epsilon)
        how = f"the exponential mechanism over {G:,} points of a public grid"
        self.budget.charge(PrivacyLoss(epsilon, 0.0, purpose, how))
        sampler = self.noise.exponential_mechanism(b)

        def sample(opened: tuple[NDArray[np.int64], NDArray[np.int64]]) -> int:
            starts, N = opened
            c = np.diff(np.append(starts, G))
            k = sampler((F * N + np.rint(b * np.log(c)).astype(np.int64)).tolist())
            return int(starts[k]) + self.noise.uniform(int(c[k]))

        return _draw(sample, runs)

    def selections(self, draws: Draws, *, purpose: str) -> Selections:
        """Return a sequence of selections, each of which may depend on the earlier ones.

        Parameters
        ----------
        draws : Draws
            How many, and how they are accounted for.
        purpose : Purpose or str
            What is being chosen, for the record of the losses.
        """
        return Selections(draws, self, purpose)

    def tables(self, n: int, sensitivity: float, rho: float, *, purpose: str) -> Tables:
        """Return what adds noise to a sequence of n tables, for the whole of the budget.

        Parameters
        ----------
        n : int
            How many.
        sensitivity : float
            How far one unit moves each of them, in the Euclidean norm.
        rho : float
            All together are rho-zCDP, which implies the (epsilon, delta) of the budget.
        purpose : Purpose or str
            What is being released, for the record of the loss.
        """
        return Tables(n, sensitivity, rho, self, purpose)

    def release_counts(
        self,
        counts: Sensitive,
        epsilon: float,
        *,
        purpose: str,
        detail: str = "",
        delta: float = 0.0,
        assumption: str | None = None,
    ) -> NoisyCounts:
        """Release candidates' statistics, at a cost of epsilon (and delta) in all.

        Every number gets discrete Laplace noise of scale ``n D / epsilon``, where D is how far one
        unit moves a candidate's statistics together (the sum of absolute differences), and n how
        many candidates there are: ``P(Z = z)`` is proportional to ``exp(-|z| / scale)``.

        Parameters
        ----------
        counts : Sensitive of shape (n_candidates, n_statistics)
            Integers.
        epsilon, delta : float
            Charged to the budget. The noise itself needs no delta: it stands for the probability
            that the sensitivity does not hold.
        purpose : Purpose or str
            What is being released, for the record of the loss.
        detail : str, default=""
            Which of several releases of this purpose it is.
        assumption : str or None
            What the sensitivity rests on.

        Returns
        -------
        noisy : NoisyCounts
            One per statistic of the first candidate, then of the second, and so on.

        References
        ----------
        Dwork, McSherry, Nissim and Smith, "Calibrating noise to sensitivity in private data
        analysis", TCC 2006, for sums of absolute differences; Ghosh, Roughgarden and Sundararajan,
        "Universally utility-maximizing privacy mechanisms", STOC 2009; sampled exactly as in
        Canonne, Kamath and Steinke, NeurIPS 2020, Algorithm 2.
        """
        n_candidates, n_statistics = counts.shape
        q = n_candidates * n_statistics
        how = "discrete Laplace noise" + f" on {q} counts" * (q > 1)
        self.budget.charge(PrivacyLoss(epsilon, delta, purpose, how, assumption, detail))
        return self._noisy(counts, _scale(n_candidates * counts.sensitivity, epsilon))

    def release_all(
        self,
        tables: Sequence[Sensitive],
        epsilon: float,
        delta: float,
        *,
        purpose: str,
        detail: str = "",
    ) -> list[NoisyCounts]:
        """Release the statistics of n candidates, each by itself, at (epsilon, delta) in all.

        With the noise of `Releases`. D bounds the sum of absolute differences, and so the Euclidean
        norm, too.

        Parameters
        ----------
        tables : sequence of Sensitive of shape (1, n_statistics)
            Integers of each candidate.
        epsilon, delta : float
            Charged to the budget; delta only if it is needed.
        purpose : Purpose or str
            What is being released, for the record of the loss.
        detail : str, default=""
            Which of several releases of this purpose it is.
        """
        releases = Releases.within(len(tables), epsilon, delta)
        answers = self.answers(releases, purpose=purpose, detail=detail)
        return [answers(table) for table in tables]

    def answers(
        self, releases: Releases, *, purpose: str, detail: str = "", each: str = "candidates"
    ) -> Answers:
        """Return what releases the statistics of one candidate after another.

        Parameters
        ----------
        releases : Releases
            How many, and how they are accounted for.
        purpose : Purpose or str
            What is being released, for the record of the loss.
        detail : str, default=""
            Which of several releases of this purpose it is.
        each : str, default="candidates"
            What they are the statistics of.
        """
        return Answers(releases, self, purpose, detail, each)

    def _noisy(self, counts: Sensitive, scale: float, gaussian: bool = False) -> NoisyCounts:
        """Return all counts with discrete noise; what that costs has been charged."""
        sampler: Callable[[Any], Any] = (  # of all counts together, or of each by itself
            self.noise.discrete_gaussian(scale) if gaussian else self.noise.discrete_laplace(scale)
        )

        def sample(opened: NDArray[np.int64]) -> tuple[int, ...]:
            exact = opened.ravel().tolist()
            return tuple(sampler(exact) if gaussian else map(sampler, exact))

        return NoisyCounts(_draw(sample, counts), scale, gaussian)

    def release_table(self, table: Secret, scale: float, *, loss: PrivacyLoss) -> NDArray[Any]:
        """Release a table of integers with discrete Gaussian noise on each of them.

        ``P(Z = z)`` is proportional to ``exp(-z^2 / (2 scale^2))``.

        Parameters
        ----------
        table : Secret of ndarray of int64, shape (n_rows, n_columns)
            What is released.
        scale : float
            Of the noise, in steps of the integers.
        loss : PrivacyLoss
            What that costs; the caller vouches for it.

        Returns
        -------
        noisy : ndarray of float, shape (n_rows, n_columns)

        References
        ----------
        Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020.
        """
        self.budget.charge(loss)
        sampler = self.noise.discrete_gaussian(scale)

        def sample(opened: NDArray[np.int64]) -> NDArray[Any]:
            drawn = sampler(opened.ravel().tolist())
            return np.array(drawn, dtype=float).reshape(opened.shape)

        return _draw(sample, table)


class Selections:
    """A sequence of selections, each of which may depend on what the earlier ones chose.

    By permute-and-flip, as `Mechanisms.select`, each charged as it is made; or, if
    ``draws.concentrated``, by the exponential mechanism, ``P(i)`` proportional to
    ``exp(epsilon_each N_i / (2 D))`` with D the sensitivity of the scores N: then the whole
    sequence is charged before its first draw.

    Parameters
    ----------
    draws : Draws
        How many, and how they are accounted for.
    mechanisms : Mechanisms
        By which they are made.
    purpose : Purpose or str
        What is being chosen, for the record of the losses.
    """

    def __init__(self, draws: Draws, mechanisms: Mechanisms, purpose: str) -> None:
        self._draws, self._mechanisms, self._purpose = draws, mechanisms, purpose
        self._made, self._charged = 0, False

    def __call__(self, scores: Sensitive) -> int:
        """Return the position chosen from scores of shape (n_candidates, 1).

        Raises
        ------
        BudgetExceededError
            If all draws have been made. Nothing is drawn then.
        """
        draws, mechanisms = self._draws, self._mechanisms
        if self._made == draws.n:
            raise BudgetExceededError(f"{self._purpose}: all {draws.n} draws have been made")
        if not draws.concentrated:
            self._made += 1
            return mechanisms.select(scores, draws.epsilon_each, purpose=self._purpose)
        _n_to_choose_from(scores)
        if not self._charged:
            self._charge()
            self._charged = True
        self._made += 1
        D = scores.sensitivity
        scale = _scale(2 * D, draws.epsilon_each)
        return _choose(mechanisms.noise.exponential_mechanism(scale), scores)

    def _charge(self) -> None:
        draws = self._draws
        how = f"{draws.n} draws of the exponential mechanism, {draws.rho:.3g}-zCDP together"
        loss = PrivacyLoss(draws.epsilon, draws.delta, self._purpose, how)
        self._mechanisms.budget.charge(loss)


class Answers:
    """A sequence of releases, each of which may depend on what was released before.

    The whole sequence is charged before its first draw.

    Parameters
    ----------
    releases : Releases
        How many, and how they are accounted for.
    mechanisms, purpose, detail, each
        As `Mechanisms.answers` takes them.
    """

    def __init__(
        self, releases: Releases, mechanisms: Mechanisms, purpose: str, detail: str, each: str
    ) -> None:
        self._releases, self._mechanisms = releases, mechanisms
        self._purpose, self._detail, self._each = purpose, detail, each
        self.n_left = releases.n

    def scale(self, sensitivity: int) -> float:
        """Return the scale of the noise of each count."""
        shared = self._releases
        if shared.gaussian:
            return sensitivity * shared.spread
        return _scale(shared.n * sensitivity, shared.epsilon)

    def __call__(self, counts: Sensitive) -> NoisyCounts:
        """Return the counts of one candidate with noise, from a table of one row.

        Raises
        ------
        BudgetExceededError
            If all releases have been made, or the budget does not have them. Nothing is drawn then.
        """
        shared = self._releases
        self._mechanisms.budget.require_own_process()
        if counts.shape[0] != 1:
            raise ValueError(f"the counts of one candidate are released; found {counts.shape[0]}")
        if self.n_left == 0:
            raise BudgetExceededError(f"{self._purpose}: all {shared.n} have been released")
        if self.n_left == shared.n:
            how = f"{shared.noise} for {shared.n} {self._each}"
            loss = PrivacyLoss(shared.epsilon, shared.delta, self._purpose, how, None, self._detail)
            self._mechanisms.budget.charge(loss)
        self.n_left -= 1
        return self._mechanisms._noisy(counts, self.scale(counts.sensitivity), shared.gaussian)


def _n_to_choose_from(scores: Sensitive) -> int:
    n_candidates, n_statistics = scores.shape
    if n_statistics != 1:
        raise ValueError(f"a selection compares one statistic; found {n_statistics}")
    return n_candidates


def _choose(sampler: Callable[[list[int]], int], scores: Sensitive) -> int:
    return _draw(lambda opened: sampler(opened[:, 0].tolist()), scores)


class Tables:
    """A sequence of tables of integers, each of which may depend on what was released before.

    Each number gets discrete Gaussian noise of deviation ``sensitivity sqrt(n / (2 rho))``; all
    tables together are rho-zCDP. The whole sequence is charged before the first draw.

    Parameters
    ----------
    n, sensitivity, rho, mechanisms, purpose
        As `Mechanisms.tables` takes them.

    References
    ----------
    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
    Theorem 14; Bun and Steinke, TCC 2016, Lemma 2.3, for sequences.
    """

    def __init__(
        self, n: int, sensitivity: float, rho: float, mechanisms: Mechanisms, purpose: str
    ) -> None:
        self._left, self._n, self._rho = n, n, rho
        self._mechanisms, self._purpose = mechanisms, purpose
        self.scale = sensitivity * math.sqrt(n / (2 * rho)) * (1 + 1e-12)

    def __call__(self, table: Secret) -> NDArray[np.int64]:
        """Return a table with noise.

        Raises
        ------
        BudgetExceededError
            If all tables have been released. Nothing is drawn then.
        """
        if self._left == 0:
            raise BudgetExceededError(f"{self._purpose}: all {self._n} tables have been released")
        budget = self._mechanisms.budget
        if self._left == self._n:
            many = f" on {self._n} tables, {self._rho:.3g}-zCDP together" * (self._n > 1)
            how = "discrete Gaussian noise" + many
            budget.charge(PrivacyLoss(budget.epsilon, budget.delta, self._purpose, how))
        self._left -= 1
        sampler = self._mechanisms.noise.discrete_gaussian(self.scale)

        def sample(opened: NDArray[np.int64]) -> NDArray[np.int64]:
            drawn = sampler(opened.ravel().tolist())
            return np.array(drawn, dtype=np.int64).reshape(opened.shape)

        return _draw(sample, table)


@ClearFrames()
def _draw(sample: Callable[[Any], R], sensitive: Sensitive | Secret) -> R:
    """Open, sample, close. If that is interrupted, no frame that saw the value survives."""
    return sample(sensitive._open())


def _scale(numerator: int, epsilon: float) -> float:
    """Return the noise scale numerator / epsilon, rounded up: its loss is epsilon at most."""
    scale = numerator / epsilon
    while Fraction(numerator) / Fraction(scale) > Fraction(epsilon):
        scale = math.nextafter(scale, math.inf)
    return scale
