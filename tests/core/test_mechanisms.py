"""Mechanisms: scales, intervals, charges and the order of charges and draws.

Tests in ``statistical/test_mechanisms_distributions.py`` compare draws with their distributions.
"""

import itertools
import math
import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, kstest, norm

from sklearn_dpbo.exceptions import BudgetExceededError
from sklearn_dpbo.privacy import mechanisms, noise
from sklearn_dpbo.privacy.accounting import Budget
from sklearn_dpbo.privacy.gdp import delta_of_gdp, gdp_within
from sklearn_dpbo.privacy.mechanisms import COUNTS, GAUSSIAN_ONLY, Mechanisms, Price
from sklearn_dpbo.privacy.noise import Noise, SeededNoise
from sklearn_dpbo.privacy.noisy_counts import NoisyCounts
from sklearn_dpbo.privacy.sensitive import Secret, Sensitive

SOURCES = [pytest.param(Noise, id="opendp"), pytest.param(lambda: SeededNoise(0), id="seed")]


def test_noise_has_scale_of_joint_sensitivity_of_counts_and_of_all_candidates():
    """A unit moves a row by 4 in all, and so n rows by 4 n."""
    for n_candidates in (1, 3):
        budget = Budget(0.5)
        noisy = Mechanisms(budget, SeededNoise(0)).release_counts(
            Sensitive([[10, 20]] * n_candidates, 4), 0.5, purpose="two counts of each"
        )
        assert noisy.scale == 8.0 * n_candidates and len(noisy.counts) == 2 * n_candidates
        assert [loss.epsilon for loss in budget.losses] == [0.5]


@pytest.mark.parametrize("choose", ["select", "draw_exponentially", "best_of"])
def test_choices_have_the_scale_of_twice_the_sensitivity(choose, monkeypatch):
    """Each candidate may gain what another loses: exp(N epsilon / (2 D))."""
    scales = []
    for sampler in ("permute_and_flip", "exponential_mechanism"):
        monkeypatch.setattr(Noise, sampler, lambda self, s: scales.append(s) or (lambda n: 0))
    own, scores = Mechanisms(Budget(2.0), Noise()), Sensitive([[10], [20]], 3)
    if choose == "best_of":
        models = own.privately_fitted(Price(1, 1.0), "fits", "theirs")
        own.best_of(models, Secret(["a", "b"]), scores, 0.5, purpose="", among="two")
    else:
        getattr(own, choose)(scores, 0.5, purpose="a choice")
    assert scales == [12.0]


@settings(max_examples=300)
@given(
    numerator=st.integers(1, 2**62),
    epsilon=st.floats(1e-6, 1e6, allow_nan=False, allow_infinity=False),
)
def test_scale_never_costs_more_than_epsilon(numerator, epsilon):
    scale = mechanisms._scale(numerator, epsilon)
    assert isinstance(scale, float), "samplers would round anything else by themselves"
    assert Fraction(numerator) / Fraction(scale) <= Fraction(epsilon)
    assert scale <= numerator / epsilon * (1 + 1e-15)


@settings(max_examples=200)
@given(scale=st.floats(0.05, 1e6), confidence=st.floats(0.5, 0.999))
def test_interval_is_the_smallest_with_its_coverage(scale, confidence):
    ((low, high),) = NoisyCounts((0,), scale).interval(confidence)
    a = math.exp(-1 / scale)

    def outside(t):
        return 2 * a ** (t + 1) / (1 + a)

    assert low == -high
    assert outside(high) <= (1 - confidence) * (1 + 1e-9)
    assert high == 0 or outside(high - 1) >= (1 - confidence) * (1 - 1e-9)


def test_intervals_of_several_counts_cover_all_of_them_by_a_union_bound():
    several = NoisyCounts((5, -2, 0), 7.0).interval(0.94)
    ((low, high),) = NoisyCounts((0,), 7.0).interval(0.98)
    assert several == [(5 + low, 5 + high), (-2 + low, -2 + high), (low, high)]


@pytest.mark.parametrize("half", [False, True])
def test_simulated_noise_of_counts_has_the_frequencies_of_drawn_noise(half):
    scale, draw = 3.0, SeededNoise(1).discrete_laplace(3.0)
    simulated = NoisyCounts((0, 0), scale / 2 if half else scale).noise(
        3_000, np.random.default_rng(0)
    )
    drawn = np.array(draw([0] * 6_000))
    counted = [np.bincount(np.clip(z, -8, 8) + 8, minlength=17) for z in (drawn, simulated.ravel())]
    assert (chi2_contingency(counted).pvalue > 1e-3) != half


def test_budget_is_charged_before_the_draw():
    class Watching(SeededNoise):
        def permute_and_flip(self, scale):
            assert len(budget.losses) == 1
            return super().permute_and_flip(scale)

        def discrete_laplace(self, scale):
            assert len(budget.losses) == 2
            return super().discrete_laplace(scale)

    budget, scores = Budget(1.0), Sensitive([[1], [2]], 1)
    mechanisms = Mechanisms(budget, Watching(0))
    mechanisms.select(scores, 0.5, purpose="a")
    mechanisms.release_counts(scores.take(0), 0.5, purpose="b")
    assert len(budget.losses) == 2


def test_interrupted_draw_leaves_no_frame_with_the_value():
    class Interrupted(SeededNoise):
        def permute_and_flip(self, scale):
            def sample(scores):
                raise KeyboardInterrupt

            return sample

    with pytest.raises(KeyboardInterrupt) as caught:
        Mechanisms(Budget(1.0), Interrupted(0)).select(
            Sensitive([[727272], [3]], 1), 1.0, purpose="a"
        )
    assert "sample" not in [entry.name for entry in caught.traceback]
    assert caught.value.__context__ is None


def test_choice_among_one_candidate_costs_nothing():
    budget = Budget(1.0)
    chosen = Mechanisms(budget, Noise()).select(Sensitive([[5]], 1), 1.0, purpose="no choice")
    assert chosen == 0
    assert budget.losses == ()


@settings(max_examples=50)
@given(
    scores=st.lists(st.integers(-(2**60), 2**60), min_size=2, max_size=20),
    epsilon=st.floats(1e-3, 1e3),
)
@pytest.mark.parametrize("source", SOURCES)
def test_selection_accepts_integers_of_any_size(source, scores, epsilon):
    picked = Mechanisms(Budget(epsilon), source()).select(
        Sensitive(np.array(scores)[:, None], 1), epsilon, purpose="odd input"
    )
    assert 0 <= picked < len(scores)
    if epsilon > 100:  # a gap of one has odds of e^-50
        assert scores[picked] == max(scores)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_series_is_charged_once_before_its_first_draw_and_ends(delta):
    class Watching(SeededNoise):
        def _check(self, sampler, scale):
            assert len(budget.losses) == 1
            return sampler(scale)

        def discrete_laplace(self, scale):
            return self._check(super().discrete_laplace, scale)

        def discrete_gaussian(self, scale):
            return self._check(super().discrete_gaussian, scale)

    budget = Budget(1.0, delta)
    mechanisms = Mechanisms(budget, Watching(0))
    price = Price.shared(30, 0.5, delta, COUNTS)
    assert price.gaussian == (delta > 0)
    answers = mechanisms.answers(price, purpose="a test")
    for _ in range(30):
        answers(Sensitive([[1], [2]], 1))
    (loss,) = budget.losses
    assert (loss.epsilon, loss.delta) == (0.5, delta)
    with pytest.raises(BudgetExceededError, match="have been made"):
        answers(Sensitive([[1], [2]], 1))
    refused = mechanisms.answers(Price.shared(30, 0.6, delta, COUNTS), purpose="a test")
    for _ in range(2):  # a refusal charges nothing, so the second draw is refused as well
        with pytest.raises(BudgetExceededError):
            refused(Sensitive([[1], [2]], 1))


def test_a_series_that_was_charged_does_not_draw_in_another_process(monkeypatch):
    """A forked process has a copy of it, with as many draws left."""
    price, counts = Price.shared(3, 0.5, 0.0, COUNTS), Sensitive([[1]], 1)
    answers = Mechanisms(Budget(1.0), SeededNoise(0)).answers(price, purpose="a test")
    answers(counts)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(BudgetExceededError, match="forked process"):
        answers(counts)


def test_long_tables_get_independent_noise_from_threads_that_see_no_number(monkeypatch):
    """In the order of the table. An interrupt may leave threads behind, whose frames are seen."""
    monkeypatch.setattr(noise, "cpu_count", lambda: 3)
    measurements, seen = noise._opendp().measurements, []
    make = measurements.make_gaussian

    def spied(*args, **params):
        sampler = make(*args, **params)
        return lambda numbers: seen.extend(numbers) or sampler(numbers)

    monkeypatch.setattr(measurements, "make_gaussian", spied)
    sampler = Noise().discrete_gaussian(40.0)
    exact = [1_000 * i for i in range(1, 3_002)]
    drawn = np.array(sampler(exact)) - exact
    assert set(seen) == {0} and len(seen) == len(drawn) == 3_001 and abs(drawn).max() < 400
    smooth = drawn + np.random.default_rng(0).uniform(-0.5, 0.5, 3_001)
    assert kstest(smooth, norm(0, 40).cdf).pvalue > 1e-4
    parts = drawn[:1_001], drawn[1_001:2_001], drawn[2_001:]
    assert not any((a[:900] == b[:900]).all() for a, b in itertools.combinations(parts, 2))
    ends = [2**63 - 1, -(2**63)] * 600
    assert {2**63 - 1, -(2**63)} <= {*sampler(ends)} and max(map(abs, sampler(ends))) <= 2**63


@pytest.mark.parametrize("shift", [(1,), (3,), (1, 1), (2, -1)])
@pytest.mark.parametrize(
    ("n", "epsilon", "delta"), [(1, 1.0, 1e-6), (1, 1.0, 1e-3), (9, 3.0, 1e-3)]
)
def test_discrete_gaussian_noise_is_as_private_as_its_price(shift, n, epsilon, delta):
    """By enumeration of one of n draws, mu / sqrt(n)-GDP. With half of the noise it is not."""
    price = Price.shared(n, epsilon, delta, GAUSSIAN_ONLY)
    sensitivity = math.sqrt(sum(s * s for s in shift))

    def delta_of(sigma, epsilon):
        x = np.arange(-int(12 * sigma), int(12 * sigma) + 4)
        p = [np.exp(-((x - s) ** 2) / (2 * sigma**2)) for s in (0, *shift)]
        p = [each / each.sum() for each in p]
        here, there = p[0], p[1]
        if len(shift) == 2:
            here, there = np.multiply.outer(p[0], p[0]), np.multiply.outer(p[1], p[2])
        return np.maximum(here - math.exp(epsilon) * there, 0).sum()

    sigma, mu = price.scale(sensitivity), gdp_within(epsilon, delta) / math.sqrt(n)
    for e in (0.1, epsilon / 2, epsilon):
        assert delta_of(sigma, e) <= delta_of_gdp(mu, e) * (1 + 1e-9)
        assert delta_of(sigma / 2, e) > delta_of_gdp(mu, e)
