"""The worst neighbours of each mechanism.

A mechanism's guarantee is tight on certain pairs of data sets only, such as: for a choice, scores
that change by the whole sensitivity D in opposite directions; for counts, all of them changing in
the same direction.

Mechanisms are partial functions of modules, so that other processes can run them.
"""

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from sklearn_dpbo.audit import AuditReport, audit_mechanism
from sklearn_dpbo.papers.balcan2018 import PrivateConfigurator
from sklearn_dpbo.papers.kharkovskii2020 import GaussianCurator, gaussian_sigma
from sklearn_dpbo.privacy.accounting import Budget
from sklearn_dpbo.privacy.mechanisms import Mechanisms, Price
from sklearn_dpbo.privacy.noise import Noise
from sklearn_dpbo.privacy.sensitive import Secret, Sensitive
from sklearn_dpbo.testing import seeded_noise

EPSILON, D = 2.0, 3
# What the exponential mechanism chooses between: the better one is chosen in 7 of 8 runs, because
# the ratio of e^epsilon is reached only in the limit of a large gap.
GAP = math.ceil(4 * D / EPSILON)
CATCHING_UP = [9 * D + GAP, 9 * D], [8 * D + GAP, 10 * D]


@dataclass(frozen=True)
class Case:
    """A mechanism, neighbours on which its claim is tight, and the claim."""

    mechanism: Callable[[Any], Any]
    pair: tuple[Any, Any]
    epsilon: float = EPSILON
    delta: float = 0.0

    def audit(self, n: int = 4000, **params) -> AuditReport:
        claim = {"epsilon": self.epsilon, "delta": self.delta, "subject": "a mechanism"}
        return audit_mechanism(self.mechanism, self.pair, n, **claim, **params)


def mechanisms(noise=None, epsilon=EPSILON, delta=0.0):
    return Mechanisms(Budget(epsilon, delta), noise or Noise())


def column(scores, D=D):
    return Sensitive(np.transpose([scores]), D)


def selected(noise, scores):
    return mechanisms(noise).select(column(scores), EPSILON, purpose="an audit")


def drawn_exponentially(scores):
    return mechanisms().draw_exponentially(column(scores), EPSILON, purpose="an audit")


def released_counts(counts):
    table = Sensitive([counts], D * len(counts))
    return list(mechanisms().release_counts(table, EPSILON, purpose="an audit").counts)


def released_number(sigma, number):
    price = Price(1, 1.0, 0.05, spread=sigma)
    release = mechanisms(None, 1.0, 0.05).tables(price, [1.0], purpose="an audit")
    return float(release(Secret(np.array([[number]])))[0, 0])


def curated_row(row):
    return float(GaussianCurator(1.0, 0.05, max_norm=0.5).fit_transform([[row]])[0, 0])


class Opposed:
    """Instances 0 and 1: the utility of 0 is 1 below 1/2 and 0 above, that of 1 the reverse."""

    interval = (0, 1)

    def breakpoints(self, instance):
        return [0.5]

    def utility(self, instance, parameter):
        return float((parameter >= 0.5) == instance)


def configured(seeds, instances):
    tuned = PrivateConfigurator(
        Opposed(), epsilon=EPSILON, utility_bound=1.0, grid_size=2,
    )  # fmt: skip
    with seeded_noise(next(seeds)) if seeds else contextlib.nullcontext():
        tuned.fit(instances)
    return {"best parameter": tuned.best_parameter_, "best score": tuned.best_score_}


def permute_and_flip(noise=None):
    """Two equal scores move apart by 2 D: the worse one is chosen in 1/2 and e^-epsilon / 2."""
    return Case(partial(selected, noise), ([9 * D, 9 * D], [10 * D, 8 * D]))


def exponential_choice():
    return Case(drawn_exponentially, CATCHING_UP)


def noisy_counts():
    return Case(released_counts, ([9 * D] * 2, [10 * D] * 2))


def noisy_rows(sensitivity=10**6):
    sigma = gaussian_sigma(1.0, 0.05, sensitivity)
    return Case(partial(released_number, sigma), (0, sensitivity), 1.0, 0.05)


def curator(pair=(-0.5, 0.5)):
    """A row of length 1/2 changes sign: it moves by a distance of 1."""
    return Case(curated_row, pair, 1.0, 0.05)


def configurator(seed=None):
    """For 6 and 3 of 9 instances, or 5 and 4, one of two parameters is better."""
    seeds = None if seed is None else count(seed)
    return Case(partial(configured, seeds), ([0] * 6 + [1] * 3, [0] * 5 + [1] * 4))
