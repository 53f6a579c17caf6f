"""Algorithm 1 of Kusner et al. (ICML 2015): observations with noise (zone: boundary)."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from ...search._strategy import Release, Task
from ._gp import GPStrategy, assemble
from ._in_secret import require_mean
from ._trace import Trace
from .bounds import CandidateBounds, NoisyBounds, information_gain_bound


class GPNoisy(GPStrategy):
    """Private Bayesian optimisation under a Gaussian process assumption: Algorithm 1.

    GP-UCB runs on the validation scores, in secret. A candidate of a finite domain is then selected
    with probability proportional to ``exp(epsilon mean(l) / (2 Delta))``, where mean is the
    posterior mean of *all* candidates and ``Delta = 2 sqrt(beta_{T+1}) + c``. The best score seen
    is released with Laplace noise of scale ``(Omega / T + c + q) / epsilon``. Here epsilon and
    delta are halves of the search's (see `score_share`).

    **The guarantee is not worst-case**: see `assumption`. The candidate is almost uniformly random
    unless epsilon is in the hundreds. Use this strategy only to reproduce and compare. See the
    documentation, "Kusner et al. (2015)".

    Parameters
    ----------
    k1 : float, default=None
        Correlation, in [-1, 1], of the scores of validation sets that differ in one record. None
        learns it from pairs of public data sets that differ in one record.
    noise : float, default=None
        Standard deviation of an observation, in units of prior_scale. If this parameter or a later
        one of the prior is None, it is learnt from public scores: a share of the evaluations is
        made within the training set.
    kernel : {"squared_exponential", "matern52", "matern32"}, default="squared_exponential"
        Shape of the covariance of scores over candidates.
    length_scale : float or array-like of shape (n_features,), default=None
        Length-scale of the kernel in the unit cube, one for all features or one for each.
    prior_mean, prior_scale : float, default=None
        Mean and standard deviation of scores under the prior.
    n_candidates : int, default=256
        Size of the finite domain, 1 or more: all of a grid that has no more points, otherwise a
        Sobol sequence.
    public_share : float, default=1/3
        Share of the evaluations to learn from, in (0, 1); not used if nothing is to be learnt.
    public_cv : splitter or iterable of one (train, test) pair, default=None
        How to split the training set for learning, as in `WorstCase`.
    score_share : float, default=0.5
        Share of epsilon and of delta for the score, in [0, 1). With 0 no score is released, and the
        selection of the candidate gets all of (epsilon, delta).

    Notes
    -----
    A fit that fails gets the lowest score and is not reported, because that would reveal the path;
    so ``error_score="raise"`` applies to the first candidate only, which is public.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.svm import SVC
    >>> from sklearn_dpbo import PrivateBayesSearchCV
    >>> from sklearn_dpbo.papers.kusner2015 import GPNoisy
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> space = {"C": [0.1, 1, 10, 100], "gamma": [1e-4, 1e-3, 1e-2]}
    >>> search = PrivateBayesSearchCV(
    ...     SVC(), space, strategy=GPNoisy(), epsilon=1.0, delta=0.05, n_iter=12
    ... )
    >>> search = search.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    >>> search.privacy_.assumption is None
    False
    """

    _bounds_type: type[NoisyBounds] = NoisyBounds

    def __init__(
        self,
        k1: Any = None,
        noise: Any = None,
        kernel: Any = "squared_exponential",
        length_scale: Any = None,
        prior_mean: Any = None,
        prior_scale: Any = None,
        n_candidates: Any = 256,
        public_share: Any = 1 / 3,
        public_cv: Any = None,
        score_share: Any = 0.5,
    ) -> None:
        self.k1 = k1
        self.noise = noise
        self.kernel = kernel
        self.length_scale = length_scale
        self.prior_mean = prior_mean
        self.prior_scale = prior_scale
        self.n_candidates = n_candidates
        self.public_share = public_share
        self.public_cv = public_cv
        self.score_share = score_share

    def check(self, epsilon: float, delta: float) -> None:
        super().check(epsilon, delta)
        self._check("noise", "positive", lambda v: v > 0, optional=True)
        self._check("n_candidates", "1 or more", lambda v: v >= 1, Integral)

    def run(self, task: Task) -> Release:
        """Run Algorithm 1; comments give its lines."""
        session = task.session
        candidates = task.candidates
        require_mean(candidates.scorer, type(self).__name__)
        model = self._model(task.space.fill(self.n_candidates, task.rng), task)
        T = task.n_iter - model.n_explored
        Lambda = len(model)
        (_, delta), (_, score_delta) = self._parts(session.epsilon, session.delta)
        candidate_bounds = CandidateBounds(T, Lambda, delta, model.k1)
        beta = replace(candidate_bounds, delta=score_delta or delta).beta
        # 1-2: mu_0 = 0; all candidates have the same bound, so the first one is lambda_1.
        trace = self._begin(model, session, 0)
        for t in range(2, T + 1):  # 3-8
            trace = trace.then(partial(_observe_next, beta_t=beta(t)))
        chosen = self._draw(trace, candidate_bounds.sensitivity_of_mean, session)  # 9, 12
        if not self.score_share:
            return assemble(model, candidates, chosen, None)
        gamma_T = information_gain_bound(model.features, model.kernel, model.noise, T)
        bounds = self._bounds_type(T, Lambda, score_delta, model.k1, model.noise, gamma_T)
        steps = model.steps(bounds.sensitivity_of_maximum)  # 9-11
        noisy = self._score(trace, max, steps, session)  # 13-15
        return assemble(model, candidates, chosen, noisy)  # 16


def _observe_next(trace: Trace, beta_t: float) -> Trace:
    mu, sigma = trace.posterior.mean, trace.posterior.std
    return trace.evaluate(int(np.argmax(mu + math.sqrt(beta_t) * sigma)))
