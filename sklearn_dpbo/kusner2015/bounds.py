"""What the theorems of "Differentially Private Bayesian Optimization" say in numbers.

Kusner, Gardner, Garnett and Weinberger, ICML 2015 (zone: public). Everything here is computed from
public quantities, so that it can be looked at before any privacy is spent. Values of the Gaussian
process are in units of its prior standard deviation. What each theorem assumes, and what we had to
mend, is in the documentation, "Algorithms".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._gp.surrogate import Kernel, Surrogate

__all__ = ["LipschitzBounds", "NoiseFreeBounds", "NoisyBounds", "information_gain_bound"]


def information_gain_bound(features, kernel: Kernel, noise: float, T: int) -> float:
    """Return a bound on the maximum information gain gamma_T of T observations.

    ``gamma_T = max over x_1, ..., x_T of 1/2 ln det(I + K / noise^2)`` is monotone and submodular,
    so it is at most ``e / (e - 1)`` times what the greedy choice gains, which always observes where
    the variance is largest: ``sum_t 1/2 ln(1 + variance_{t-1}(x_t) / noise^2)``.

    Parameters
    ----------
    features : ndarray of shape (n_candidates, n_features)
        The finite domain.
    kernel : Kernel
    noise : float
        Standard deviation of an observation given the function, in units of the function.
    T : int
        Number of observations.

    Returns
    -------
    bound : float
        In nats.

    References
    ----------
    Nemhauser, Wolsey and Fisher, 1978; Krause and Guestrin, UAI 2005. For growing T: Srinivas,
    Krause, Kakade and Seeger, ICML 2010, Theorem 5.
    """
    model, gained = Surrogate.on(features, kernel, noise**2, capacity=T), 0.0
    for _ in range(T):
        index = int(np.argmax(model.variance))
        gained += 0.5 * math.log1p(model.variance[index] / noise**2)
        model = model.condition(index)
    return math.e / (math.e - 1) * gained


@dataclass(frozen=True)
class _GPBounds:
    """Theorems 1 and 2, which both algorithms share."""

    T: int
    n_candidates: int
    delta: float
    k1: float

    def beta(self, t: int) -> float:
        """``beta_t = 2 ln(|Lambda| t^2 pi^2 / (3 delta))``."""
        return 2 * math.log(self.n_candidates * t**2 * math.pi**2 / (3 * self.delta))

    def _c(self, share: int) -> float:
        """With probability 1 - delta / share, neighbours differ by no more anywhere in Lambda."""
        return 2 * math.sqrt((1 - self.k1) * math.log(share * self.n_candidates / self.delta))

    @property
    def sensitivity_of_mean(self) -> float:
        """Theorem 1: ``2 sqrt(beta_{T+1}) + 2 sqrt((1 - k1) ln(3 |Lambda| / delta))``.

        With probability 1 - delta over the prior, the posterior means of neighbours differ by no
        more anywhere in Lambda.
        """
        return 2 * math.sqrt(self.beta(self.T + 1)) + self._c(3)

    def setting_error(self, epsilon: float, a: float) -> float:
        """Theorem 2: the drawn setting's posterior mean is this close to the largest.

        ``2 Delta / epsilon (ln |Lambda| + a)`` with probability ``1 - (delta + e^-a)``, where
        Delta is `sensitivity_of_mean`.
        """
        return 2 * self.sensitivity_of_mean / epsilon * (math.log(self.n_candidates) + a)


@dataclass(frozen=True)
class NoisyBounds(_GPBounds):
    """Constants of Algorithm 1, and Theorems 1 to 4, for one release at (epsilon, delta).

    Parameters
    ----------
    T : int
        Evaluations.
    n_candidates : int
        Size of the finite domain Lambda.
    delta : float
        In (0, 1).
    k1 : float
        Correlation of the scores of neighbouring validation sets, in [-1, 1].
    noise : float
        Standard deviation sigma of an observation.
    gamma : float
        Bound on the information gain of T observations, see `information_gain_bound`.
    q : {"repaired", "published"}, default="repaired"
        Theorem 3 bounds the noise at places that depend on the data as if they were fixed, and
        counts one of two confidence events. Repaired, with a union bound over all 2 T observations
        and ``beta_t`` taken at delta / 3, everything fails with probability delta at most.
    version : {"icml", "arxiv"}, default="icml"
        Which text's q is the published one.
    """

    noise: float
    gamma: float
    q: str = "repaired"
    version: str = "icml"

    def beta(self, t: int) -> float:
        """``beta_t = 2 ln(|Lambda| t^2 pi^2 / (3 delta))``; repaired, with delta / 3 for delta."""
        extra = 2 * math.log(3) if self.q == "repaired" else 0.0
        return super().beta(t) + extra

    @property
    def c(self) -> float:
        """``c = 2 sqrt((1 - k1) ln(3 |Lambda| / delta))``: how far neighbours differ anywhere."""
        return self._c(3)

    @property
    def noise_term(self) -> float:
        """The paper's q.

        Repaired, ``sigma sqrt(8 ln(6 T / delta))``; published, ``sigma sqrt(8 ln(3 / delta))``, or
        in the arXiv text ``sigma sqrt(4 ln(3 / delta))``.
        """
        if self.q == "repaired":
            return self.noise * math.sqrt(8 * math.log(6 * self.T / self.delta))
        factor = {"icml": 8, "arxiv": 4}[self.version]
        return self.noise * math.sqrt(factor * math.log(3 / self.delta))

    @property
    def C1(self) -> float:  # noqa: N802 (its name in the paper)
        """``C_1 = 8 / ln(1 + sigma^-2)``."""
        return 8 / math.log1p(self.noise**-2)

    @property
    def regret(self) -> float:
        """``Omega / T = sqrt(C_1 beta_T gamma_T / T)``: how far the best observed is from the best.

        Srinivas et al., ICML 2010, Theorem 1.
        """
        return math.sqrt(self.C1 * self.beta(self.T) * self.gamma / self.T)

    @property
    def sensitivity_of_maximum(self) -> float:
        """Theorem 3: ``Omega / T + c + q`` bounds the change of the best observation."""
        return self.regret + self.c + self.noise_term

    def score_error(self, epsilon: float, a: float) -> float:
        """Theorem 4: the released score is this close to the best value of the function.

        ``sigma sqrt(2 ln(2 T / delta)) + Omega / T + a Delta / epsilon`` with probability
        ``1 - (delta + e^-a)``, where Delta is `sensitivity_of_maximum`. Published, the first term
        is ``sigma sqrt(8 ln(1 / delta))``, which has the flaw of the published q.
        """
        if self.q == "published":
            noise = self.noise * math.sqrt(8 * math.log(1 / self.delta))
        else:
            noise = self.noise * math.sqrt(2 * math.log(2 * self.T / self.delta))
        return noise + self.regret + a * self.sensitivity_of_maximum / epsilon


@dataclass(frozen=True)
class NoiseFreeBounds(_GPBounds):
    """Constants of Algorithm 2, and Theorems 1, 2, 5 and 6, for one release at (epsilon, delta).

    Parameters
    ----------
    T : int
        Evaluations, 2 or more.
    n_candidates : int
        Size of the finite domain Lambda.
    delta : float
        In (0, 1).
    k1 : float
        Correlation of the scores of neighbouring validation sets, in [-1, 1].
    dimension : int
        Number of hyper-parameters d.
    A, tau : float
        Of the regret bound ``A exp(-tau t / (ln t)^(d/4))``. They depend on the function near its
        maximum; nobody can compute them beforehand.
    version : {"icml", "arxiv"}, default="icml"
        The arXiv text releases the largest of the values from the second on, and takes the bound
        at t = 2.

    References
    ----------
    de Freitas, Smola and Zoghi, "Exponential regret bounds for Gaussian process bandits with
    deterministic observations", ICML 2012, Theorem 2.
    """

    dimension: int
    A: float
    tau: float
    version: str = "icml"

    @property
    def c(self) -> float:
        """``c = 2 sqrt((1 - k1) ln(2 |Lambda| / delta))``."""
        return self._c(2)

    @property
    def regret(self) -> float:
        """``Omega = A exp(-t tau / (ln t)^(d/4))`` at t = T; at t = 2 in the arXiv text."""
        t = self.T if self.version == "icml" else 2
        return self.A * math.exp(-t * self.tau / math.log(t) ** (self.dimension / 4))

    @property
    def sensitivity(self) -> float:
        """Theorem 5: ``Omega + c`` bounds the change of the released value."""
        return self.regret + self.c

    def score_error(self, epsilon: float, a: float) -> float:
        """Theorem 6: the released value is this close to the best value of the function.

        ``Omega + a (Omega + c) / epsilon``, with probability ``1 - (delta + e^-a)``.
        """
        return self.regret + a * self.sensitivity / epsilon


@dataclass(frozen=True)
class LipschitzBounds:
    """Theorems 7 and 8, for Algorithm 3; no Gaussian process, and delta = 0.

    Parameters
    ----------
    m : int
        Units in the validation set.
    lambda_bounds : tuple (lowest, highest) of float
        Of the regularisation lambda in ``lambda / 2 |w|^2 + 1/n sum_i loss_i(w)``.
    lipschitz : float
        L: a record's gain changes by at most ``L |w - w'|`` between models w and w'.
    g_star : float
        A record's gain lies in an interval of this length.
    bound : {"repaired", "published"}, default="repaired"
        Published, one record changes the mean gain of a model by ``min(g*/m, L / (m lambda_min))``.
        That takes w = 0 to have the lowest gain, for every record: else gains can lie ``L |w|`` to
        either side of it, and records that cannot be predicted lie at the lowest gain whatever w
        is. Repaired, it is ``g*/m`` then.
    lowest_at_zero : bool, default=False
        Whether w = 0 has the lowest gain for every record, as the ramp has.
    tolerance : float, default=0.0
        Norm of the gradient at what the solver returns, which is ``tolerance / lambda`` from the
        minimiser at most; adds ``2 L tolerance / lambda_min``.
    """

    m: int
    lambda_bounds: tuple[float, float]
    lipschitz: float
    g_star: float
    bound: str = "repaired"
    lowest_at_zero: bool = False
    tolerance: float = 0.0

    def between(self, lowest: float, highest: float) -> float:
        """Theorem 7 for two models: what their scores on neighbouring sets can differ by.

        ``(lambda' - lambda) L / (lambda' lambda) + min(g*, L / lambda_min) / m``, for
        ``lambda <= lambda'`` within the bounds; see `bound` for the second term.
        """
        L = self.lipschitz
        solver = 2 * L * self.tolerance / self.lambda_bounds[0]
        return (highest - lowest) * L / (highest * lowest) + self._record + solver

    @property
    def _record(self) -> float:
        """What one record changes the mean gain of one model by."""
        if self.bound == "published" or self.lowest_at_zero:
            return min(self.g_star, self.lipschitz / self.lambda_bounds[0]) / self.m
        return self.g_star / self.m

    @property
    def sensitivity(self) -> float:
        """The largest of `between` over the bounds: what one unit changes the best score by."""
        return self.between(*self.lambda_bounds)

    def score_error(self, epsilon: float, a: float) -> float:
        """Theorem 8: ``a Delta / epsilon`` from the best score found, with probability 1 - e^-a."""
        return a * self.sensitivity / epsilon
