"""Audits of one score of each family: of how it chooses, and of what it releases.

They are made on neighbours that move its integers by the whole sensitivity, or nearly. Nothing is
refuted as it is, and everything with half of the noise, and with half of the sensitivity.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo.audit import audit_mechanism
from sklearn_dpbo.metrics._errors import Moments
from sklearn_dpbo.metrics._response import Predictions
from sklearn_dpbo.metrics.evaluations._design import _STEPS
from sklearn_dpbo.privacy.accounting import Budget
from sklearn_dpbo.privacy.mechanisms import COUNTS, Mechanisms, Price
from sklearn_dpbo.privacy.noise import SeededNoise
from sklearn_dpbo.privacy.sensitive import Sensitive
from sklearn_dpbo.records.units import Units

M, EPSILON, RUNS = 21, 2.0, 2000
BINARY = np.array([0, 1])


@dataclass(frozen=True)
class Family:
    """A prepared scorer, and a validation set whose first unit is predicted well.

    On the neighbour that unit has the response `bad`; and where counts are released, the label
    `y_bad`.
    """

    scorer: Any
    classes: Any
    y: Any
    response: Any
    y_bad: Any
    bad: Any
    units: Any = Units.of(M)

    def pair(self, counts, other_label):
        """Return the integers of both sides."""
        y, response = self.y.copy(), self.response.copy()
        first = slice(len(y) // M)
        response[first] = self.bad
        if other_label:
            y[first] = self.y_bad
        return [
            counts.statistics(counts.record_values(*data, self.classes), data[0], self.units)
            for data in ((self.y, self.response), (y, response))
        ]


def of_labels(k=1):
    """Units of k records."""
    y = np.repeat(np.arange(M) % 2 == 0, k).astype(int)
    public = Predictions(y, np.where(np.arange(len(y)) % 5, y, 1 - y), BINARY)
    scorer = make_private_scorer("f1").prepare(y).choice(public)
    units = Units.of(len(y), np.repeat(np.arange(M), k) if k > 1 else None)
    return Family(scorer, BINARY, y, y.copy(), 1, 0, units)


def of_two_classes(name, y_bad, **params):
    """A positive record above all negative ones, and below."""
    y = (np.arange(M) == 0).astype(int)
    public = Predictions(np.arange(12) % 2, np.linspace(-1, 1, 12), BINARY)
    scorer = (
        make_private_scorer(name, **params).prepare(BINARY).release(lambda _: public, 1000, EPSILON)
    )
    return Family(scorer, BINARY, y, y.astype(float), y_bad, -1.0)


def of_three_classes():
    """The only record of a class, which all of its scores place right; or all wrong."""
    y, classes = np.where(np.arange(M), 1 + np.arange(M) % 2, 0), np.arange(3)
    public = Predictions(classes, np.eye(3), classes)
    scorer = make_private_scorer("roc_auc_ovr").prepare(y).release(lambda _: public, M, EPSILON)
    scores = np.full((M, 3), 0.5)
    scores[0] = [1, 0, 0]
    return Family(scorer, classes, y, scores, 0, np.array([0, 1, 1]))


def of_errors():
    """A label far from the centre that is met, and one at the centre whose error is large."""
    scorer = make_private_scorer("r2").prepare(np.linspace(-1, 1, 101))
    y = np.where(np.arange(M), 0.0, 5.0)
    return Family(scorer, None, y, y.copy(), 0.0, -5.0)


FAMILIES = {
    "f1": of_labels,
    "f1, groups": partial(of_labels, 3),
    "average_precision": partial(of_two_classes, "average_precision", 1),
    "roc_auc": partial(of_two_classes, "roc_auc", 0),
    "roc_auc_ovr": of_three_classes,
    "r2": of_errors,
}
QUICK_TO_CHOOSE, QUICK_TO_RELEASE = {"average_precision"}, {"f1", "roc_auc", "r2"}


def each(quick):
    """All families of scores: some by default, groups with the slow tests."""
    marks = {name: pytest.mark.slow if "groups" in name else pytest.mark.soak for name in FAMILIES}
    others = [pytest.param(name, marks=marks[name]) for name in FAMILIES if name not in quick]
    return pytest.mark.parametrize("name", [*sorted(quick), *others])


every_bug = pytest.mark.parametrize("bug", [None, "noise", "sensitivity"])


@pytest.fixture
def refuted(bug, monkeypatch):
    """Whether an audit refutes ``call(mechanisms, integers)``, with half of what the bug says."""

    def weaker(right):
        return lambda self, scale: right(self, scale / 2)

    if bug == "noise":
        for name in ("permute_and_flip", "discrete_laplace", "discrete_gaussian"):
            monkeypatch.setattr(SeededNoise, name, weaker(getattr(SeededNoise, name)))
    noise, confidence = SeededNoise(0), 0.95 if bug else 1 - 1e-7

    def audit(call, pair, delta=0.0, runs=RUNS):
        def mechanism(side):
            return call(Mechanisms(Budget(EPSILON, delta), noise), side)

        claim = {"epsilon": EPSILON, "delta": delta}
        return audit_mechanism(mechanism, pair, runs, **claim, confidence=confidence).refuted

    return audit


def sealed(rows, D, bug):
    return Sensitive(rows, -(-D // 2) if bug == "sensitivity" else D)


def telling(pair, noisy):
    """Return what tells the sides apart best, for Laplace and for Gaussian noise."""
    a, b, z = (
        np.concatenate([np.array(row) / of.scale for row, of in zip(rows, noisy, strict=True)])
        for rows in (*pair, [of.counts for of in noisy])
    )
    return float(np.sum(np.abs(z - b) - np.abs(z - a))), float(z @ (a - b))


@every_bug
@each(QUICK_TO_CHOOSE)
def test_audit_of_a_choice_between_two_candidates_that_change_places(name, bug, refuted):
    family = FAMILIES[name]()
    (good,), (bad,) = family.pair(family.scorer.query, other_label=False)
    D = family.scorer.query.sensitivity(family.units)
    assert good - bad > 0.99 * D

    def choose(mechanisms, scores):
        return mechanisms.select(sealed(scores, D, bug), EPSILON, purpose="an audit")

    assert refuted(choose, ([[good], [bad]], [[bad], [good]])) == (bug is not None)


@every_bug
@each(QUICK_TO_RELEASE)
def test_audit_of_released_counts(name, bug, refuted):
    family = FAMILIES[name]()
    counts = family.scorer.counts
    pair = [[side] for side in family.pair(counts, other_label=True)]
    D = counts.sensitivity(family.units)
    assert np.abs(np.subtract(*pair)).sum() > 0.9 * D

    def release(mechanisms, rows):
        noisy = mechanisms.release_counts(sealed(rows, D, bug), EPSILON, purpose="an audit")
        return telling(pair, [noisy])

    assert refuted(release, pair) == (bug is not None)


@pytest.mark.slow
@every_bug
def test_audit_of_an_evaluation_of_a_regressor(bug, refuted):
    family, sums = of_errors(), Moments(0.0, 1.0, 1.0, _STEPS)
    pair = [[side] for side in family.pair(sums, other_label=True)]

    def release(mechanisms, rows):
        table = sealed(rows, sums.sensitivity(family.units), bug)
        return telling(pair, [mechanisms.release_counts(table, EPSILON, purpose="an audit")])

    # No single record changes all five sums by as much as the sensitivity allows.
    assert refuted(release, pair, runs=10 * RUNS) == (bug is not None)


@pytest.mark.slow
@every_bug
@pytest.mark.parametrize(("n", "delta"), [(2, 0.0), (12, 0.05)], ids=["Laplace", "Gaussian"])
def test_audit_of_the_scores_of_all_candidates(n, delta, bug, refuted):
    """Gaussian noise is made for the Euclidean norm: one count moves by the whole sensitivity."""
    family = of_labels(3)
    counts = (
        make_private_scorer("accuracy").prepare(BINARY).query if delta else family.scorer.counts
    )
    pair = [[side] * n for side in family.pair(counts, other_label=True)]

    def release(mechanisms, side):
        D = counts.sensitivity(family.units)
        tables = [sealed([row], D, bug) for row in side]
        price = Price.shared(n, EPSILON, delta, COUNTS)
        series = mechanisms.answers(price, purpose="an audit")
        noisy = [series(table) for table in tables]
        assert noisy[0].gaussian == (delta > 0)
        return telling(pair, noisy)

    assert refuted(release, pair, delta) == (bug is not None)
