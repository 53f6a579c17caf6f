"""The worst neighbours of each mechanism (zone: public).

A mechanism's guarantee is tight on certain pairs of data sets only, such as: for a choice, scores
that change by the whole sensitivity in opposite directions; for counts, all of them changing in the
same direction; for a search, two models, one of which is right for a record and the other wrong.

The functions that return a `Case` share parameters: `epsilon` and `delta`, the claim; `sensitivity`
of each integer score or count, 1 or more; `noise`, with the methods of
`sklearn_dpbo._privacy.noise.Noise`, or `seeds`, a `numpy.random.Generator` that seeds the noise of
each run. None is OpenDP's samplers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from .._privacy.accounting import Budget
from .._privacy.mechanisms import Mechanisms, Price
from .._privacy.noise import Noise
from .._privacy.sensitive import Secret, Sensitive
from ..papers.balcan2018._configurator import PrivateConfigurator
from ..papers.kharkovskii2020._calibration import gaussian_sigma
from ..papers.kharkovskii2020._curators import GaussianCurator
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


# X and y.
Table: TypeAlias = tuple[NDArray[Any], NDArray[Any]]

_PURPOSE = "an audit"


@dataclass(frozen=True, eq=False)
class Case:
    """A mechanism, its claim, and neighbours on which the claim is tight.

    Parameters
    ----------
    mechanism : callable
        Takes a data set of `pair`, the neighbours, and returns an output.
    pair : tuple of two data sets
    epsilon, delta : float
        The claim.
    subject : str
        Name of the mechanism.
    """

    mechanism: Callable[[Any], Any]
    pair: tuple[Any, Any]
    epsilon: float
    delta: float
    subject: str

    def audit(self, n: int = 4000, **params: Any) -> AuditReport:
        """Audit the mechanism, n runs on each neighbour; `params` go to `audit_mechanism`."""
        return audit_mechanism(
            self.mechanism,
            self.pair,
            n,
            epsilon=self.epsilon,
            delta=self.delta,
            subject=self.subject,
            **params,
        )


def _mechanisms(epsilon: float, noise: Noise | None, delta: float = 0.0) -> Mechanisms:
    return Mechanisms(Budget(epsilon, delta), Noise() if noise is None else noise)


def _scores(scores: list[int], D: int) -> Sensitive:
    return Sensitive(np.transpose([scores]), D)


def _chosen(
    choose: Callable[..., int], D: int, epsilon: float, noise: Noise | None, scores: list[int]
) -> int:
    return choose(_mechanisms(epsilon, noise), _scores(scores, D), epsilon, purpose=_PURPOSE)


def permute_and_flip(
    epsilon: float = 2.0, *, sensitivity: int = 3, noise: Noise | None = None
) -> Case:
    """Two candidates with equal scores, which move apart by twice the sensitivity.

    The worse one is chosen with probability 1/2 and, on the neighbour, ``e^-epsilon / 2``: a ratio
    of exactly e^epsilon.
    """
    D = sensitivity
    call = partial(_chosen, Mechanisms.select, D, epsilon, noise)
    return Case(call, ([9 * D, 9 * D], [10 * D, 8 * D]), epsilon, 0.0, "permute-and-flip")


def _initial_gap(D: int, epsilon: float) -> int:
    """Return the initial gap of two scores with which the better one is chosen in 7 of 8 runs.

    The exponential mechanism reaches the ratio e^epsilon only in the limit of a large gap.
    """
    return math.ceil(4 * D / epsilon)


def exponential_choice(
    epsilon: float = 2.0, *, sensitivity: int = 3, noise: Noise | None = None
) -> Case:
    """Two candidates, of which the worse one catches up by twice the sensitivity."""
    D, gap = sensitivity, _initial_gap(sensitivity, epsilon)
    call = partial(_chosen, Mechanisms.draw_exponentially, D, epsilon, noise)
    pair = ([9 * D + gap, 9 * D], [8 * D + gap, 10 * D])
    return Case(call, pair, epsilon, 0.0, "the exponential mechanism")


def _times_chosen(
    draws: Price, D: int, epsilon: float, delta: float, noise: Noise | None, scores: list[int]
) -> int:
    choose = _mechanisms(epsilon, noise, delta).selections(draws, purpose=_PURPOSE)
    return sum(choose(_scores(scores, D)) for _ in range(draws.n))


def selections(
    epsilon: float = 2.0,
    delta: float = 0.0,
    *,
    n_draws: int = 3,
    sensitivity: int = 3,
    noise: Noise | None = None,
) -> Case:
    """A sequence of `n_draws` choices, all of which move in the same direction.

    The output is how often the second candidate was chosen.
    """
    D, draws = sensitivity, Price.shared(n_draws, epsilon, delta)
    call = partial(_times_chosen, draws, D, epsilon, delta, noise)
    how = "zCDP" if draws.concentrated else "sums"
    subject = f"{n_draws} selections, accounted by {how}"
    return Case(call, ([9 * D, 9 * D], [10 * D, 8 * D]), epsilon, delta, subject)


def _released_counts(D: int, epsilon: float, noise: Noise | None, counts: list[int]) -> list[int]:
    sensitive = Sensitive([counts], D * len(counts))
    noisy = _mechanisms(epsilon, noise).release_counts(sensitive, epsilon, purpose=_PURPOSE)
    return list(noisy.counts)


def noisy_counts(
    epsilon: float = 2.0, *, n_counts: int = 2, sensitivity: int = 3, noise: Noise | None = None
) -> Case:
    """`n_counts` counts, all of which grow by the sensitivity that each has."""
    D = sensitivity
    call = partial(_released_counts, D, epsilon, noise)
    return Case(call, ([9 * D] * n_counts, [10 * D] * n_counts), epsilon, 0.0, "noisy counts")


def _in_upper_half(D: int, epsilon: float, noise: Noise | None, scores: list[int]) -> bool:
    runs = Secret((np.array([0, 8]), np.array(scores)))
    index = _mechanisms(epsilon, noise).draw_grid_point(
        runs, D, epsilon, n_points=16, largest=40 * D, purpose=_PURPOSE
    )
    return index >= 8


def grid_point(epsilon: float = 2.0, *, sensitivity: int = 3, noise: Noise | None = None) -> Case:
    """A grid whose upper half catches up with the lower one by twice the sensitivity."""
    D, gap = sensitivity, _initial_gap(sensitivity, epsilon)
    call = partial(_in_upper_half, D, epsilon, noise)
    pair = ([9 * D + gap, 9 * D], [8 * D + gap, 10 * D])
    return Case(call, pair, epsilon, 0.0, "a point of a grid")


def _noisy_number(
    sigma: float, epsilon: float, delta: float, noise: Noise | None, number: int
) -> float:
    price = Price(1, epsilon, delta, spread=sigma)
    release = _mechanisms(epsilon, noise, delta).tables(price, 1.0, purpose=_PURPOSE)
    return float(release(Secret(np.array([[number]])))[0, 0])


def noisy_rows(
    epsilon: float = 1.0,
    delta: float = 0.05,
    *,
    sensitivity: int = 10**6,
    noise: Noise | None = None,
) -> Case:
    """A table of one number, which moves by the sensitivity.

    Thousands of runs show little of Gaussian noise at a small delta, because the outputs that make
    it (epsilon, delta) occur once in 1 / delta runs; `audit_one_run` of many rows shows more.
    """
    sigma = gaussian_sigma(epsilon, delta, sensitivity)
    call = partial(_noisy_number, sigma, epsilon, delta, noise)
    return Case(call, (0, sensitivity), epsilon, delta, "noisy rows")


def _next_seed(seeds: np.random.Generator | None) -> int | None:
    return None if seeds is None else int(seeds.integers(2**62))


def _released_row(
    epsilon: float, delta: float, seeds: np.random.Generator | None, row: float
) -> float:
    curator = GaussianCurator(epsilon, delta, max_norm=0.5, noise_random_state=_next_seed(seeds))
    return float(curator.fit_transform([[row]])[0, 0])


def curator(
    epsilon: float = 1.0, delta: float = 0.05, *, seeds: np.random.Generator | None = None
) -> Case:
    """A table of one row of length 1/2, which changes sign: it moves by a distance of 1."""
    call = partial(_released_row, epsilon, delta, seeds)
    return Case(call, (-0.5, 0.5), epsilon, delta, "GaussianCurator")


class _Opposed:
    """Instances 0 and 1: the utility of 0 is 1 below 1/2 and 0 above, that of 1 the reverse."""

    interval = (0, 1)

    def breakpoints(self, instance: int) -> list[float]:
        return [0.5]

    def utility(self, instance: int, parameter: float) -> float:
        return float((parameter >= 0.5) == instance)


def _configured(
    epsilon: float, seeds: np.random.Generator | None, instances: list[int]
) -> dict[str, float]:
    tuned = PrivateConfigurator(
        _Opposed(),
        epsilon=epsilon,
        utility_bound=1.0,
        grid_size=2,
        noise_random_state=_next_seed(seeds),
    ).fit(instances)
    return {"best parameter": tuned.best_parameter_, "best score": tuned.best_score_}


def configurator(
    epsilon: float = 2.0, *, m: int = 9, seeds: np.random.Generator | None = None
) -> Case:
    """m instances, for each of which one of two parameters is better; one instance changes.

    The parameter that is better for fewer instances catches up.
    """
    n_first = m // 2 + 2
    pair = ([0] * n_first + [1] * (m - n_first), [0] * (n_first - 1) + [1] * (m - n_first + 1))
    call = partial(_configured, epsilon, seeds)
    return Case(call, pair, epsilon, 0.0, "PrivateConfigurator")


class ConstantClassifier(ClassifierMixin, BaseEstimator):
    """Predicts the same label for every record: 1 if `label` is at least 1/2, else 0.

    `x` has no effect: it is a second dimension for the space of a search.
    """

    def __init__(self, label: Any = 0, x: Any = 0.0) -> None:
        self.label = label
        self.x = x

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        return np.full(len(X), int(self.label >= 0.5))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        return np.zeros(len(X))


class ConstantRegressor(RegressorMixin, BaseEstimator):
    """Predicts `value` for every record, whatever it is fitted on."""

    def __init__(self, value: Any = 0.0) -> None:
        self.value = value

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        return np.full(len(X), float(self.value))


def opposed_models(m: int = 21, ones: int | None = None) -> tuple[Table, Table, Table]:
    """Return (training set, validation set, its neighbour) for two models that always disagree.

    The models are `ConstantClassifier` with the labels 0 and 1: for each record one is right and
    the other wrong.

    Parameters
    ----------
    m : int, default=21
        Number of validation records.
    ones : int or None, default=None
        Number of them with the label 1, below m; the neighbour has one more. None is half.

    Returns
    -------
    train, held_out, held_out_neighbour : tuple of two ndarray
        X and y of each set, as `audit_search` takes them.

    Examples
    --------
    >>> from sklearn_dpbo import PrivateBayesSearchCV
    >>> from sklearn_dpbo.audit import audit_search, cases
    >>> search = PrivateBayesSearchCV(
    ...     cases.ConstantClassifier(), {"label": [0, 1]}, epsilon=2.0
    ... )
    >>> report = audit_search(search, *cases.opposed_models(), n=100, random_state=0)
    >>> report.refuted
    False
    """
    train, X = (np.zeros((4, 1)), np.array([0, 0, 1, 1])), np.zeros((m, 1))
    ones = m // 2 if ones is None else ones
    held_out, neighbour = ((X, (np.arange(m) < k).astype(int)) for k in (ones, ones + 1))
    return train, held_out, neighbour


def far_targets(m: int = 21, far: float = 1e6) -> tuple[Table, Table, Table]:
    """Return (training set, validation set, its neighbour) where one record's target is `far` away.

    For `ConstantRegressor`, on m records whose other targets are 0: if errors were not clipped to
    their bounds, that record alone would decide the score.
    """
    X, y = np.zeros((m, 1)), np.zeros(m)
    y_neighbour = y.copy()
    y_neighbour[0] = far
    return (np.zeros((4, 1)), np.arange(4.0)), (X, y), (X, y_neighbour)
