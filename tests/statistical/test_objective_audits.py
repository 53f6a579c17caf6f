"""Audits of what calls of an objective release."""

from functools import partial

import pytest

from sklearn_dpbo._privacy.accounting import Budget
from sklearn_dpbo._privacy.mechanisms import COUNTS, Mechanisms, Price
from sklearn_dpbo._privacy.noise import SeededNoise
from sklearn_dpbo._privacy.sensitive import Sensitive
from sklearn_dpbo.audit import audit_mechanism

pytestmark = pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
EPSILON, NOISE = 2.0, SeededNoise(1)


def answers(count, delta):
    """Release a count four times, with the noise that calls of an objective have.

    Return what tells 10 from 11 best: of Gaussian noise, the sum; else, how many are 11 or more.
    """
    calls = Mechanisms(Budget(EPSILON, delta), NOISE).answers(
        Price.shared(4, EPSILON, delta, COUNTS), purpose="audit"
    )
    found = [calls(Sensitive([[count]], 1)).counts[0] for _ in range(4)]
    return sum(found) if delta else sum(n >= 11 for n in found)


def with_half_the_noise(monkeypatch):
    scale = Price.scale
    monkeypatch.setattr(Price, "scale", lambda *args: scale(*args) / 2)


def bound(mechanism, pair, n, **params):
    report = audit_mechanism(mechanism, pair, n, epsilon=EPSILON, confidence=0.95, **params)
    return report.epsilon_lower_bound


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("delta", [0.0, pytest.param(0.05, marks=pytest.mark.slow)])
def test_answers_tell_neighbours_apart_no_better_than_epsilon_says(delta, half, monkeypatch):
    assert Price.shared(4, EPSILON, delta, COUNTS).gaussian == bool(delta)
    if half:
        with_half_the_noise(monkeypatch)
    found = bound(partial(answers, delta=delta), (10, 11), 4_000, delta=delta)
    assert (found > EPSILON) == half
