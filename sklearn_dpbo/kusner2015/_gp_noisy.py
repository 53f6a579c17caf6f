"""Algorithm 1 of Kusner et al. (ICML 2015): observations with noise (zone: boundary)."""

from __future__ import annotations

import math
from functools import partial
from numbers import Integral, Real

import numpy as np

from ..strategies._base import Release, positive, require_mean_gain
from ._gp import GPStrategy, Trace, assemble
from .bounds import NoisyBounds, information_gain_bound

__all__ = ["GPNoisy"]


class GPNoisy(GPStrategy):
    """Private Bayesian optimisation under a Gaussian process assumption: Algorithm 1.

    GP-UCB runs on the validation scores, in secret. A setting is then drawn with probability in
    proportion to ``exp(epsilon mean(l) / (2 Delta))`` over the posterior mean of *all* settings of
    a finite domain, with ``Delta = 2 sqrt(beta_{T+1}) + c``, and the best score seen is released
    with Laplace noise of scale ``(Omega / T + c + q) / epsilon``, where epsilon and delta are
    halves of the search's.

    **Not worst case**: see `assumption`. The sensitivities are several standard deviations of the
    prior, so that the setting is drawn almost uniformly unless epsilon is in the hundreds.
    ``WorstCase()`` is better in every respect that we could measure; this is here to reproduce and
    compare.

    Parameters
    ----------
    k1 : float, default=None
        Correlation, in [-1, 1], of the scores of validation sets that differ in one record.
    noise : float, default=None
        Standard deviation of an observation, in units of prior_scale; positive.
    kernel : {"squared_exponential", "matern52", "matern32"}, default="squared_exponential"
    length_scale : float or array-like of shape (n_features,), default=None
        In the unit cube.
    prior_mean, prior_scale : float, default=None
        Mean and standard deviation of scores under the prior.

        What is None, of all these, is learnt from public scores within the training set: from a
        share of the evaluations, and k1 from pairs of public data sets that differ in one record.
    q : {"repaired", "published"}, default="repaired"
        See `sklearn_dpbo.kusner2015.bounds.NoisyBounds`.
    version : {"icml", "arxiv"}, default="icml"
        Which text's q is the published one.
    n_candidates : int, default=256
        Size of the finite domain: a grid if it has no more points, else a Sobol sequence.
    public_share : float, default=1/3
        Share of the evaluations to learn from, if anything is to be learnt.
    public_cv : splitter or iterable of one (train, test) pair, default=None
        How the training set is cut to learn in it, as in `WorstCase`.

    Notes
    -----
    Settings are evaluated one after another, in the process of the call. A fit that fails gets the
    lowest score and is not reported, as it would tell what was tried; for the same reason
    ``error_score="raise"`` holds for the first setting only, which is public.

    References
    ----------
    Kusner, Gardner, Garnett and Weinberger, "Differentially Private Bayesian Optimization", ICML
    2015, Algorithm 1, Theorems 1 to 4. What we found in it: the documentation, "Algorithms".
    """

    def __init__(
        self,
        k1=None,
        noise=None,
        kernel="squared_exponential",
        length_scale=None,
        prior_mean=None,
        prior_scale=None,
        q="repaired",
        version="icml",
        n_candidates=256,
        public_share=1 / 3,
        public_cv=None,
    ) -> None:
        self.k1 = k1
        self.noise = noise
        self.kernel = kernel
        self.length_scale = length_scale
        self.prior_mean = prior_mean
        self.prior_scale = prior_scale
        self.q = q
        self.version = version
        self.n_candidates = n_candidates
        self.public_share = public_share
        self.public_cv = public_cv

    def check(self, budget) -> None:
        """Raise ValueError if a parameter makes no sense."""
        super().check(budget)
        if self.q not in ("repaired", "published"):
            raise ValueError(f"q is 'repaired' or 'published'; found {self.q!r}")
        self._number("noise", Real, positive, "is None or positive", optional=True)
        self._number("n_candidates", Integral, lambda v: v >= 1, "is 1 or more")

    def run(self, space, oracle, *, n_iter, rng, budget, noise) -> Release:
        """Run Algorithm 1; comments give its lines."""
        require_mean_gain(oracle.scorer, type(self).__name__)
        model = self._model(space.fill(self.n_candidates, rng), space, oracle, n_iter, rng)
        T, Lambda = n_iter - model.n_explored, len(model)
        gamma_T = information_gain_bound(model.features, model.kernel, model.noise, T)
        bounds = NoisyBounds(
            T, Lambda, budget.delta / 2, model.k1, model.noise, gamma_T, self.q, self.version
        )
        # 1-2: mu_0 = 0; all settings have the same bound, so the first one is lambda_1.
        trace = self._begin(model, oracle, 0)
        for t in range(2, T + 1):  # 3
            beta_t = bounds.beta(t)  # 4
            trace = trace.then(partial(_observe_at_upper_bound, beta_t=beta_t))  # 5-8
        paid = {"budget": budget, "noise": noise}
        chosen = self._draw(trace, bounds.sensitivity_of_mean, paid)  # 9, 12
        steps = model.steps(bounds.sensitivity_of_maximum)  # 9-11
        noisy = self._score(trace, max, steps, paid)  # 13-15
        return assemble(model, oracle, chosen, noisy)  # 16


def _observe_at_upper_bound(trace: Trace, beta_t: float) -> Trace:
    mu, sigma = trace.posterior.mean, trace.posterior.std
    return trace.evaluate(int(np.argmax(mu + math.sqrt(beta_t) * sigma)))
