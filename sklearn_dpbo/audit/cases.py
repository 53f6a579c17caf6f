"""The worst neighbours of each mechanism (zone: public).

A mechanism's guarantee is tight on some pair of data sets only. These are such pairs: for a choice,
scores that move by the whole sensitivity and in opposite directions; for counts, all of them moving
the same way; for a search, two models of which every record makes one right and the other wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from .._privacy.accounting import Budget, PrivacyLoss
from .._privacy.mechanisms import Mechanisms
from .._privacy.noise import Noise, OpenDPNoise
from .._privacy.sensitive import Secret, Sensitive
from .._privacy.zcdp import Draws
from ..configuration._configurator import PrivateConfigurator
from ..outsourced._calibration import gaussian_sigma
from ..outsourced._curators import GaussianCurator
from ._repeated import audit_mechanism
from ._report import AuditReport

__all__ = [
    "Case",
    "ConstantClassifier",
    "ConstantRegressor",
    "configurator",
    "curator",
    "exponential_choice",
    "far_targets",
    "grid_point",
    "noisy_counts",
    "noisy_rows",
    "opposed_models",
    "permute_and_flip",
    "selections",
]


@dataclass(frozen=True)
class Case:
    """A mechanism, what it claims, and the neighbours on which that is tight.

    Parameters
    ----------
    mechanism : callable
        Of a data set.
    pair : tuple of two data sets
    epsilon, delta : float
    subject : str
    """

    mechanism: Callable
    pair: tuple
    epsilon: float
    delta: float
    subject: str

    def audit(self, n: int = 4000, **params) -> AuditReport:
        """Return what `audit_mechanism` says of it."""
        claim: dict = {"epsilon": self.epsilon, "delta": self.delta, "subject": self.subject}
        return audit_mechanism(self.mechanism, self.pair, n, **claim, **params)


_PURPOSE = "an audit"


def _mechanisms(epsilon: float, noise: Noise | None, delta: float = 0.0) -> Mechanisms:
    return Mechanisms(Budget(epsilon, delta), OpenDPNoise() if noise is None else noise)


def _chosen(method: str, D: int, epsilon: float, noise: Noise | None, scores: list[int]) -> int:
    choose = getattr(_mechanisms(epsilon, noise), method)
    return int(choose(Sensitive(np.transpose([scores]), (D,)), epsilon, purpose=_PURPOSE))


def permute_and_flip(epsilon=2.0, *, sensitivity=3, noise=None) -> Case:
    """Two candidates with equal scores, which move apart by twice the sensitivity.

    The worse one is chosen with probability 1/2, and ``e^-epsilon / 2`` on the neighbour: the
    ratio is exactly e^epsilon.
    """
    D = sensitivity
    call = partial(_chosen, "select", D, epsilon, noise)
    return Case(call, ([9 * D, 9 * D], [10 * D, 8 * D]), epsilon, 0.0, "permute-and-flip")


def _apart(D: int, epsilon: float) -> int:
    """How far apart two scores begin: the better is drawn in 7 of 8 runs.

    The exponential mechanism reaches e^epsilon in the limit only; from equal scores on its ratio
    is ``(1 + e^epsilon) / 2``.
    """
    return math.ceil(4 * D / epsilon)


def exponential_choice(epsilon=2.0, *, sensitivity=3, noise=None) -> Case:
    """Two candidates, of which the worse one catches up by twice the sensitivity."""
    D, gap = sensitivity, _apart(sensitivity, epsilon)
    call = partial(_chosen, "draw_exponentially", D, epsilon, noise)
    pair = ([9 * D + gap, 9 * D], [8 * D + gap, 10 * D])
    return Case(call, pair, epsilon, 0.0, "the exponential mechanism")


def _times_chosen(draws: Draws, D: int, claim: tuple, noise, scores) -> int:
    epsilon, delta = claim
    choose = _mechanisms(epsilon, noise, delta).selections(draws, purpose=_PURPOSE)
    return sum(choose(Sensitive(np.transpose([scores]), (D,))) for _ in range(draws.n))


def selections(epsilon=2.0, delta=0.0, *, n_draws=3, sensitivity=3, noise=None) -> Case:
    """A sequence of choices, all of which move the same way. How often the second was chosen."""
    D, draws = sensitivity, Draws.within(n_draws, epsilon, delta)
    call = partial(_times_chosen, draws, D, (epsilon, delta), noise)
    how = "zCDP" if draws.concentrated else "sums"
    subject = f"{n_draws} selections, accounted by {how}"
    return Case(call, ([9 * D, 9 * D], [10 * D, 8 * D]), epsilon, delta, subject)


def _counts(D: int, epsilon: float, noise, counts) -> list:
    sensitive = Sensitive([counts], (D,) * len(counts))
    noisy = _mechanisms(epsilon, noise).release_counts(sensitive, epsilon, purpose=_PURPOSE)
    return [each.count for each in noisy]


def noisy_counts(epsilon=2.0, *, n_counts=2, sensitivity=3, noise=None) -> Case:
    """Counts, all of which move by their sensitivity."""
    D = sensitivity
    pair = ([9 * D] * n_counts, [10 * D] * n_counts)
    return Case(partial(_counts, D, epsilon, noise), pair, epsilon, 0.0, "noisy counts")


def _upper_half(D: int, epsilon: float, noise, scores) -> bool:
    runs = Secret((np.array([0, 8]), np.array(scores)))
    index = _mechanisms(epsilon, noise).draw_grid_point(
        runs, D, epsilon, n_points=16, largest=40 * D, purpose=_PURPOSE
    )
    return index >= 8


def grid_point(epsilon=2.0, *, sensitivity=3, noise=None) -> Case:
    """A grid whose upper half catches up with the lower one by twice the sensitivity."""
    D, gap = sensitivity, _apart(sensitivity, epsilon)
    call = partial(_upper_half, D, epsilon, noise)
    pair = ([9 * D + gap, 9 * D], [8 * D + gap, 10 * D])
    return Case(call, pair, epsilon, 0.0, "a point of a grid")


def _noisy_number(sigma: float, epsilon: float, delta: float, noise, number: int) -> float:
    loss = PrivacyLoss(epsilon, delta, _PURPOSE, "discrete Gaussian noise")
    table = Secret(np.array([[number]]))
    mechanisms = _mechanisms(epsilon, noise, delta)
    return float(mechanisms.release_table(table, sigma, loss=loss)[0, 0])


def noisy_rows(epsilon=1.0, delta=0.05, *, sensitivity=10**6, noise=None) -> Case:
    """A table of one number, which moves by the sensitivity.

    Runs by the thousand tell little of Gaussian noise at a small delta, where what makes it
    (epsilon, delta) happens once in 1 / delta runs; `audit_one_run` of many rows tells more.
    """
    sigma = gaussian_sigma(epsilon, delta, sensitivity)
    call = partial(_noisy_number, sigma, epsilon, delta, noise)
    return Case(call, (0, sensitivity), epsilon, delta, "noisy rows")


def _released_row(epsilon: float, delta: float, seeds, row: float) -> float:
    seed = None if seeds is None else int(seeds.integers(2**62))
    curator = GaussianCurator(epsilon, delta, max_norm=0.5, noise_random_state=seed)
    return float(curator.fit_transform([[row]])[0, 0])


def curator(epsilon=1.0, delta=0.05, *, seeds=None) -> Case:
    """A table of one row of length 1/2, which turns round: it moves by the distance, 1.

    `seeds`, a `numpy.random.Generator`, replaces the noise by a seeded generator's.
    """
    call = partial(_released_row, epsilon, delta, seeds)
    return Case(call, (-0.5, 0.5), epsilon, delta, "GaussianCurator")


class _Opposed:
    """Instances 0 and 1: one is worth 1 below 1/2 and nothing above, the other the reverse."""

    interval = (0, 1)

    def breakpoints(self, instance):
        return [0.5]

    def utility(self, instance, parameter):
        return float((parameter >= 0.5) == instance)


def _configured(epsilon: float, seeds, instances) -> dict:
    seed = None if seeds is None else int(seeds.integers(2**62))
    tuned = PrivateConfigurator(
        _Opposed(), epsilon=epsilon, utility_bound=1.0, grid_size=2, noise_random_state=seed
    ).fit(instances)
    return {"best parameter": tuned.best_parameter_, "best score": tuned.best_score_}


def configurator(epsilon=2.0, *, m=9, seeds=None) -> Case:
    """Instances of which each makes one of two parameters the better one; one of them changes.

    The parameter that fewer of them like catches up.
    """
    some = m // 2 + 2
    pair = ([0] * some + [1] * (m - some), [0] * (some - 1) + [1] * (m - some + 1))
    call = partial(_configured, epsilon, seeds)
    return Case(call, pair, epsilon, 0.0, "PrivateConfigurator")


class ConstantClassifier(ClassifierMixin, BaseEstimator):
    """Predicts 1 if `label` is at least 1/2, else 0, whatever it is fitted with.

    `x` has no effect.
    """

    def __init__(self, label=0, x=0.0):
        self.label = label
        self.x = x

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.full(len(X), int(self.label >= 0.5))

    def decision_function(self, X):
        return np.zeros(len(X))


class ConstantRegressor(RegressorMixin, BaseEstimator):
    """Predicts one value, whatever it is fitted with."""

    def __init__(self, value=0.0):
        self.value = value

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), float(self.value))


def opposed_models(m=21, ones=None) -> tuple:
    """Return (training set, validation set, its neighbour) for two models that always disagree.

    With `ConstantClassifier` and the labels 0 and 1: every record makes one right and the other
    wrong. Of m records `ones` have the label 1 (half of them, if None), and one more on the
    neighbour.

    Examples
    --------
    >>> from sklearn_dpbo import PrivateBayesSearchCV
    >>> from sklearn_dpbo.audit import audit_search, cases
    >>> search = PrivateBayesSearchCV(
    ...     cases.ConstantClassifier(), {"label": [0, 1]}, epsilon=2.0
    ... )
    >>> report = audit_search(search, *cases.opposed_models(), n=300, random_state=0)
    >>> report.refuted
    False
    """
    train, X = (np.zeros((4, 1)), np.array([0, 0, 1, 1])), np.zeros((m, 1))
    ones = m // 2 if ones is None else ones
    held_out, neighbour = ((X, (np.arange(m) < k).astype(int)) for k in (ones, ones + 1))
    return train, held_out, neighbour


def far_targets(m=21, far=1e6) -> tuple:
    """Return (training set, validation set, its neighbour) where one record's target is far away.

    With `ConstantRegressor`: if errors were not clipped to their bounds, that record alone would
    decide the score.
    """
    X, y = np.zeros((m, 1)), np.zeros(m)
    other = y.copy()
    other[0] = far
    return (np.zeros((4, 1)), np.arange(4.0)), (X, y), (X, other)
