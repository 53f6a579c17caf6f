"""The constants and bounds of "Differentially Private Bayesian Optimization".

Kusner, Gardner, Garnett and Weinberger, ICML 2015 (zone: public). Everything here is computed from
public quantities, so it can be computed before any privacy is spent. Values of the Gaussian process
are in units of its prior standard deviation. The documentation, "Kusner et al. (2015)", says
what each theorem assumes and what we corrected; `published` has the uncorrected forms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...search._surrogate import Kernel, Surrogate

__all__ = [
    "CandidateBounds",
    "LipschitzBounds",
    "NoiseFreeBounds",
    "NoisyBounds",
    "information_gain_bound",
]


def information_gain_bound(features: ArrayLike, kernel: Kernel, noise: float, T: int) -> float:
    """Return a bound on the maximum information gain gamma_T of T observations.

    ``gamma_T = max over x_1, ..., x_T of 1/2 ln det(I + K / noise^2)`` is monotone and submodular,
    so it is at most ``e / (e - 1)`` times the gain of the greedy choice, which always observes
    where the variance is largest (Nemhauser, Wolsey and Fisher, 1978; Krause and Guestrin, 2005).

    Parameters
    ----------
    features : array-like of shape (n_candidates, n_features)
        The finite domain.
    kernel : Kernel
        Prior covariance of the function.
    noise : float
        Standard deviation of an observation given the function, in units of the function; positive.
    T : int
        Number of observations, 1 or more.

    Returns
    -------
    bound : float
        In nats.
    """
    model = Surrogate.on(np.asarray(features, dtype=float), kernel, noise**2, capacity=T)
    gained = 0.0
    for _ in range(T):
        index = int(np.argmax(model.variance))
        gained += 0.5 * math.log1p(model.variance[index] / noise**2)
        model = model.condition(index)
    return math.e / (math.e - 1) * gained


@dataclass(frozen=True)
class CandidateBounds:
    """Theorems 1 and 2: a candidate drawn over the posterior mean, after a search of any path.

    They hold for any acquisition function, and with noise as without. In all methods, `epsilon` is
    the privacy loss of the release, positive, and bounds hold with probability ``1 - (delta +
    e^-a)``.

    Parameters
    ----------
    T : int
        Number of evaluations, 1 or more.
    n_candidates : int
        Size of the finite domain Lambda.
    delta : float
        In (0, 1).
    k1 : float
        Correlation of the scores of neighbouring validation sets, in [-1, 1].
    """

    T: int
    n_candidates: int
    delta: float
    k1: float

    def beta(self, t: int) -> float:
        """``beta_t = 2 ln(|Lambda| t^2 pi^2 / (3 delta))``."""
        return 2 * math.log(self.n_candidates * t**2 * math.pi**2 / (3 * self.delta))

    def _c(self, share: int) -> float:
        """With probability 1 - delta / share, bounds the difference of neighbours on Lambda."""
        return 2 * math.sqrt((1 - self.k1) * math.log(share * self.n_candidates / self.delta))

    @property
    def sensitivity_of_mean(self) -> float:
        """Theorem 1: ``2 sqrt(beta_{T+1}) + 2 sqrt((1 - k1) ln(3 |Lambda| / delta))``.

        With probability 1 - delta over the prior, it bounds the difference of neighbours' means.
        """
        return 2 * math.sqrt(self.beta(self.T + 1)) + self._c(3)

    def candidate_error(self, epsilon: float, a: float) -> float:
        """Theorem 2: the posterior mean of the drawn candidate is this close to the largest.

        Returns ``2 Delta / epsilon (ln |Lambda| + a)``, where Delta is `sensitivity_of_mean`.
        """
        return 2 * self.sensitivity_of_mean / epsilon * (math.log(self.n_candidates) + a)

    def mean_regret(self, epsilon: float, a: float) -> float:
        """Theorem 2 of the arXiv text: from the drawn candidate's posterior mean to the best value.

        Returns ``sqrt(beta_{T+1}) + candidate_error(epsilon, a)``, less than the text's.
        """
        return self._band + self.candidate_error(epsilon, a)

    def candidate_regret(self, epsilon: float, a: float) -> float:
        """The value of the drawn candidate is this close to the best value of the function.

        Returns ``2 sqrt(beta_{T+1}) + candidate_error(epsilon, a)``.
        """
        return 2 * self._band + self.candidate_error(epsilon, a)

    @property
    def _band(self) -> float:
        return math.sqrt(self.beta(self.T + 1))


@dataclass(frozen=True)
class NoisyBounds(CandidateBounds):
    """Constants of Algorithm 1, and Theorems 1 to 4, for one release at (epsilon, delta).

    q is corrected: `published.PublishedNoisyBounds` has the paper's form.
    Theorems 3 and 4 are for the path of GP-UCB with `beta`.

    Parameters
    ----------
    T, n_candidates : int
        As in `CandidateBounds`.
    delta, k1 : float
        As in `CandidateBounds`.
    noise : float
        Standard deviation sigma of an observation, in prior standard deviations; positive.
    gamma : float
        Bound on the information gain of T observations in nats, see `information_gain_bound`.
    """

    noise: float
    gamma: float

    @property
    def c(self) -> float:
        """``c = 2 sqrt((1 - k1) ln(3 |Lambda| / delta))``: bounds the difference of neighbours."""
        return self._c(3)

    @property
    def noise_term(self) -> float:
        """The paper's q, corrected: ``sigma sqrt(8 ln(6 T / delta))``."""
        return self.noise * math.sqrt(8 * math.log(6 * self.T / self.delta))

    @property
    def C1(self) -> float:  # noqa: N802 (its name in the paper)
        """``C_1 = 8 / ln(1 + sigma^-2)``."""
        return 8 / math.log1p(self.noise**-2)

    @property
    def regret(self) -> float:
        """``Omega / T = sqrt(C_1 beta_T gamma_T / T)``: from the best evaluated to the best."""
        return math.sqrt(self.C1 * self.beta(self.T) * self.gamma / self.T)

    @property
    def sensitivity_of_maximum(self) -> float:
        """Theorem 3: ``Omega / T + c + q`` bounds the change of the best observation."""
        return self.regret + self.c + self.noise_term

    def score_error(self, epsilon: float, a: float) -> float:
        """Theorem 4: the released score is this close to the best value of the function.

        Returns ``sigma sqrt(2 ln(2 T / delta)) + Omega / T + a Delta / epsilon``, where Delta is
        `sensitivity_of_maximum`.
        """
        return self._noise_of_best + self.regret + a * self.sensitivity_of_maximum / epsilon

    @property
    def _noise_of_best(self) -> float:
        """The first term of Theorem 4: bounds the noise of the best observation."""
        return self.noise * math.sqrt(2 * math.log(2 * self.T / self.delta))


@dataclass(frozen=True)
class NoiseFreeBounds(CandidateBounds):
    """Constants of Algorithm 2, and Theorems 1, 2, 5 and 6, for one release at (epsilon, delta).

    Theorems 5 and 6 are for the path of branch and bound.

    Parameters
    ----------
    T, n_candidates : int
        As in `CandidateBounds`, but T is 2 or more.
    delta, k1 : float
        As in `CandidateBounds`.
    dimension : int
        Number of hyper-parameters d.
    A, tau : float
        Constants of the regret bound ``A exp(-t tau / (ln t)^(d/4))`` of de Freitas, Smola and
        Zoghi (ICML 2012, Theorem 2), A in prior standard deviations. They depend on the function
        near its maximum, so nobody can compute them beforehand.
    """

    dimension: int
    A: float
    tau: float

    @property
    def c(self) -> float:
        """``c = 2 sqrt((1 - k1) ln(2 |Lambda| / delta))``."""
        return self._c(2)

    @property
    def regret(self) -> float:
        """``Omega = A exp(-T tau / (ln T)^(d/4))``."""
        return self.A * math.exp(-self.T * self.tau / math.log(self.T) ** (self.dimension / 4))

    @property
    def sensitivity(self) -> float:
        """Theorem 5: ``Omega + c`` bounds the change of the released value."""
        return self.regret + self.c

    def score_error(self, epsilon: float, a: float) -> float:
        """Theorem 6: the released value is within ``Omega + a Delta / epsilon`` of the best."""
        return self.regret + a * self.sensitivity / epsilon


@dataclass(frozen=True)
class LipschitzBounds:
    """Theorems 7 and 8, for Algorithm 3; no Gaussian process, and delta = 0.

    The term of one record is corrected: `published.PublishedLipschitzBounds` has the paper's form.

    Parameters
    ----------
    m : int
        Number of units in the validation set.
    lambda_bounds : tuple (lowest, highest) of float
        Of the regularisation lambda in ``lambda / 2 |w|^2 + 1/n sum_i loss_i(w)``; positive.
    lipschitz : float
        L: a record's gain changes by at most ``L |w - w'|`` between models w and w'.
    g_star : float
        Length of the interval in which a record's gain lies.
    lowest_at_zero : bool, default=False
        Whether w = 0 has the lowest gain for every record, as for the ramp.
    tolerance : float, default=0.0
        Largest norm of the gradient at the solver's solution, which is then within
        ``tolerance / lambda`` of the minimiser; adds ``2 L tolerance / lambda_min``.
    """

    m: int
    lambda_bounds: tuple[float, float]
    lipschitz: float
    g_star: float
    lowest_at_zero: bool = False
    tolerance: float = 0.0

    def between(self, lowest: float, highest: float) -> float:
        """Theorem 7: bounds the difference of neighbours' scores, for ``lowest <= highest``.

        Returns ``(lambda' - lambda) L / (lambda' lambda)`` plus the change by one record, plus the
        term of `tolerance`.
        """
        L = self.lipschitz
        solver = 2 * L * self.tolerance / self.lambda_bounds[0]
        return (highest - lowest) * L / (highest * lowest) + self._record_term + solver

    @property
    def _record_term(self) -> float:
        """Bounds the change of one model's mean gain by one record."""
        if self.lowest_at_zero:
            return min(self.g_star, self.lipschitz / self.lambda_bounds[0]) / self.m
        return self.g_star / self.m

    @property
    def sensitivity(self) -> float:
        """The largest value of `between`: bounds the change of the best score by one unit."""
        return self.between(*self.lambda_bounds)

    def score_error(self, epsilon: float, a: float) -> float:
        """Theorem 8: the released score is within ``a Delta / epsilon`` of the best score found.

        Delta is `sensitivity`. It holds with probability ``1 - e^-a``.
        """
        return a * self.sensitivity / epsilon
