"""What releases cost, from definitions and with many digits: no code of the package.

Of mu-GDP, rho-zCDP, and of releases as they were drawn: see `drawn`.
"""

import math
from contextlib import ExitStack, contextmanager
from functools import cache
from unittest.mock import patch

import mpmath

from sklearn_dpbo.privacy.noise import SeededNoise
from sklearn_dpbo.privacy.sensitive import Secret, Sensitive

# Rounding in floats may not exceed this, of a delta or of an epsilon.
MARGIN = 1e-6


# ------------------------------------------------------------------ one parameter
def delta_of_gdp(mu, epsilon):
    """Compute delta with 100 digits: differences lose up to 40 of them."""
    with mpmath.workdps(100):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        a, b = mu / 2, epsilon / mu
        return mpmath.ncdf(a - b) - mpmath.exp(epsilon) * mpmath.ncdf(-a - b)


def log_delta_of_zcdp(rho, epsilon):
    """Compute ln(delta) with 60 digits, at the order that golden sections lead to."""
    with mpmath.workdps(60):
        rho, epsilon = mpmath.mpf(rho), mpmath.mpf(epsilon)

        def log_delta(log_order):
            a = mpmath.exp(log_order)
            return a * ((a + 1) * rho - epsilon) - mpmath.log(a) - (a + 1) * mpmath.log1p(1 / a)

        low, high, part = mpmath.mpf(-760), mpmath.mpf(760), (mpmath.sqrt(5) - 1) / 2
        for _ in range(70):
            c, d = high - part * (high - low), low + part * (high - low)
            low, high = (low, d) if log_delta(c) < log_delta(d) else (c, high)
        return log_delta((low + high) / 2)


def delta_of_zcdp(rho, epsilon):
    """Return delta: 1 at most."""
    return mpmath.exp(min(log_delta_of_zcdp(rho, epsilon), 0))


DELTAS = {"GDP": delta_of_gdp, "zCDP": delta_of_zcdp}


@cache
def parameter(composition, epsilon, delta):
    """Return the largest mu or rho within (epsilon, delta), to eight digits."""
    low, high = 1e-5, 1e2
    while high / low > 1 + 1e-8:
        middle = math.sqrt(low * high)
        kept = DELTAS[composition](middle, epsilon) <= delta
        low, high = (middle, high) if kept else (low, middle)
    return low


# ------------------------------------------------------------------ several fits
def cost_of_fits(composition, factor, n, each, delta):
    """Return the epsilons and delta that n fits of (each, delta) add up to; or a mu or rho.

    A replaced unit is `factor` steps of one that is added or removed.
    """
    if composition == "pure":
        return n * factor * each
    if composition == "zCDP":
        return n * factor**2 * parameter("zCDP", each, delta)
    if composition == "GDP":
        return math.sqrt(n) * factor * parameter("GDP", each, delta)
    steps = 1 if factor == 1 else 1 + math.exp(each)
    return n * factor * each, n * steps * delta


# ------------------------------------------------------------------ what was drawn
@contextmanager
def drawn():
    """List what each draw within costs, by the scale of its noise: a kind, and epsilon or mu.

    The sensitivity is that of what is opened; of a table of candidates, each row has it. Of a
    "table", whose sensitivity is not sealed with it, the cost is that of a sensitivity of 1.
    """
    costs, opened = [], []

    def opens(sealed):
        opened.append(sealed)
        return Secret_open(sealed)

    def watched(kind):
        sampler = getattr(SeededNoise, kind)

        def scaled(self, scale):
            sealed = opened[-1]
            if isinstance(sealed, Sensitive):
                n, D = sealed.shape[0], sealed.sensitivity
                cost = {
                    "discrete_laplace": n * D / scale,
                    "discrete_gaussian": n * D / math.sqrt(max(scale**2 - 4, 1e-300)),
                }.get(kind, 2 * D / scale)
                costs.append((kind, cost))
            else:
                costs.append(("table", 1 / scale))
            return sampler(self, scale)

        return patch.object(SeededNoise, kind, scaled)

    Secret_open = Secret._open
    kinds = "permute_and_flip", "exponential_mechanism", "discrete_laplace", "discrete_gaussian"
    with ExitStack() as stack:
        for each in (patch.object(Secret, "_open", opens), *map(watched, kinds)):
            stack.enter_context(each)
        yield costs


def total(costs, delta):
    """Return the epsilon of draws together: Gaussian ones are one mu-GDP, which delta is for."""
    gaussian = math.hypot(*(cost for kind, cost in costs if kind == "discrete_gaussian"))
    pure = math.fsum(cost for kind, cost in costs if kind != "discrete_gaussian")
    if not gaussian:
        return pure
    low, high = 0.0, 1e9
    for _ in range(80):
        middle = (low + high) / 2
        kept = delta_of_gdp(gaussian, middle) <= delta
        low, high = (low, middle) if kept else (middle, high)
    return pure + high
