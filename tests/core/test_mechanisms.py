"""The mechanisms against their exact distributions, from both sources of noise."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from sklearn_dpbo._privacy import mechanisms
from sklearn_dpbo._privacy.accounting import Budget
from sklearn_dpbo._privacy.mechanisms import Mechanisms, NoisyCount
from sklearn_dpbo._privacy.noise import OpenDPNoise, SeededNoise
from sklearn_dpbo._privacy.sensitive import Sensitive
from sklearn_dpbo.exceptions import BudgetExceededError

SOURCES = [pytest.param(OpenDPNoise, id="opendp"), pytest.param(lambda: SeededNoise(0), id="seed")]
N_DRAWS = 20_000
# A right sampler fails a test once in a million runs; half the noise is always seen.
ALPHA = 1e-6


def permute_and_flip_pmf(scores, epsilon, sensitivity):
    """Enumerate all orders: P(i) = mean over orders of P(i is the first that is accepted)."""
    accept = np.exp(epsilon * (np.array(scores) - max(scores)) / (2 * sensitivity))
    pmf = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        reached = 1.0
        for i in order:
            pmf[i] += reached * accept[i] / len(orders)
            reached *= 1 - accept[i]
    return pmf


def draw_selections(scores, epsilon, sensitivity, noise):
    sensitive = Sensitive(np.array(scores)[:, None], (sensitivity,))
    picks = [
        Mechanisms(Budget(epsilon), noise).select(sensitive, epsilon, purpose="a test")
        for _ in range(N_DRAWS)
    ]
    return np.bincount(picks, minlength=len(scores))


def draw_counts(count, epsilon, sensitivity, noise):
    sensitive = Sensitive([[count]], (sensitivity,))
    released = []
    for _ in range(N_DRAWS):
        mechanisms = Mechanisms(Budget(epsilon), noise)
        (noisy,) = mechanisms.release_counts(sensitive, epsilon, purpose="a test")
        released.append(noisy.count)
    return np.array(released)


def chi_square_p(observed, pmf):
    """P-value; cells that are expected less than ten times are taken together."""
    expected = pmf * observed.sum()
    rare = expected < 10
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1e-9:
        observed, expected = observed[:-1], expected[:-1]
    return chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


def discrete_laplace_pmf(z, scale):
    a = math.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** np.abs(z)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("scores", "sensitivity"), [([7, 10, 9, 4], 1), ([0, 3000, 4000], 1024)])
def test_selection_has_the_exact_distribution_and_half_the_noise_is_seen(
    source, scores, sensitivity
):
    observed = draw_selections(scores, 0.8, sensitivity, source())
    assert chi_square_p(observed, permute_and_flip_pmf(scores, 0.8, sensitivity)) > ALPHA
    assert chi_square_p(observed, permute_and_flip_pmf(scores, 1.6, sensitivity)) < ALPHA


def test_selection_test_rejects_a_mechanism_with_half_the_noise(monkeypatch):
    right = mechanisms._scale
    monkeypatch.setattr(mechanisms, "_scale", lambda *args: right(*args) / 2)
    observed = draw_selections([7, 10, 9, 4], 0.8, 1, SeededNoise(0))
    assert chi_square_p(observed, permute_and_flip_pmf([7, 10, 9, 4], 0.8, 1)) < ALPHA


def laplace_p(released, count, scale):
    z = np.arange(-40, 41)
    inside = np.clip(released - count, -40, 40)
    pmf = discrete_laplace_pmf(z, scale)
    tail = math.exp(-1 / scale)
    pmf[[0, -1]] = pmf[0] / (1 - tail)
    return chi_square_p(np.bincount(inside + 40, minlength=81), pmf)


@pytest.mark.parametrize("source", SOURCES)
def test_counts_have_the_exact_distribution_and_half_the_noise_is_seen(source):
    released = draw_counts(500, 0.4, 2, source())
    assert laplace_p(released, 500, scale=5.0) > ALPHA
    assert laplace_p(released, 500, scale=2.5) < ALPHA


def test_count_test_rejects_a_mechanism_with_half_the_noise(monkeypatch):
    right = mechanisms._scale
    monkeypatch.setattr(mechanisms, "_scale", lambda *args: right(*args) / 2)
    assert laplace_p(draw_counts(500, 0.4, 2, SeededNoise(0)), 500, scale=5.0) < ALPHA


def test_several_counts_share_epsilon():
    budget = Budget(1.0)
    noisy = Mechanisms(budget, SeededNoise(0)).release_counts(
        Sensitive([[10, 20]], (3, 1)), 1.0, purpose="two counts"
    )
    assert [count.scale for count in noisy] == [6.0, 2.0]
    assert [loss.epsilon for loss in budget.losses] == [1.0]


def test_selection_is_within_the_stated_distance():
    """With probability 1 - e^-t, within (2 D / epsilon) (ln n + t) of the largest."""
    scores, epsilon, t = [100] + [80] * 15, 0.3, 0.5
    bound = 2 / epsilon * (math.log(len(scores)) + t)
    observed = draw_selections(scores, epsilon, 1, SeededNoise(1))
    far = observed[[100 - s > bound for s in scores]].sum() / N_DRAWS
    assert bound > 100 - 80 or far <= math.exp(-t) + 0.01
    tight = [100] + [int(100 - bound) - 1] * 15
    far = draw_selections(tight, epsilon, 1, SeededNoise(1))[1:].sum() / N_DRAWS
    assert 0 < far <= math.exp(-t)


@settings(max_examples=300)
@given(
    numerator=st.integers(1, 2**62),
    epsilon=st.floats(1e-6, 1e6, allow_nan=False, allow_infinity=False),
)
def test_scale_never_costs_more_than_epsilon(numerator, epsilon):
    scale = mechanisms._scale(numerator, epsilon)
    assert Fraction(numerator) / Fraction(scale) <= Fraction(epsilon)
    assert scale <= numerator / epsilon * (1 + 1e-15)


@settings(max_examples=200)
@given(scale=st.floats(0.05, 1e6), confidence=st.floats(0.5, 0.999))
def test_interval_is_the_smallest_that_covers(scale, confidence):
    low, high = NoisyCount(0, scale).interval(confidence)
    a = math.exp(-1 / scale)

    def outside(t):
        return 2 * a ** (t + 1) / (1 + a)

    assert low == -high
    assert outside(high) <= (1 - confidence) * (1 + 1e-9)
    assert high == 0 or outside(high - 1) >= (1 - confidence) * (1 - 1e-9)


def test_the_budget_is_charged_before_the_draw():
    class Watching(SeededNoise):
        def permute_and_flip(self, scale):
            assert len(budget.losses) == 1
            return super().permute_and_flip(scale)

        def discrete_laplace(self, scale):
            assert len(budget.losses) == 2
            return super().discrete_laplace(scale)

    budget, scores = Budget(1.0), Sensitive([[1], [2]], (1,))
    mechanisms = Mechanisms(budget, Watching(0))
    mechanisms.select(scores, 0.5, purpose="a")
    mechanisms.release_counts(scores.take(0), 0.5, purpose="b")
    assert len(budget.losses) == 2


def test_nothing_is_drawn_beyond_the_budget():
    class Never(SeededNoise):
        def permute_and_flip(self, scale):
            raise AssertionError("drawn")

        discrete_laplace = permute_and_flip

    budget, scores = Budget(0.5), Sensitive([[1], [2]], (1,))
    mechanisms = Mechanisms(budget, Never(0))
    with pytest.raises(BudgetExceededError, match=r"asks for epsilon=0\.6.*left.*0\.5"):
        mechanisms.select(scores, 0.6, purpose="a")
    with pytest.raises(BudgetExceededError):
        mechanisms.release_counts(scores.take(1), 0.6, purpose="b")
    assert budget.losses == ()


def test_a_draw_that_is_interrupted_leaves_no_frame_that_saw_the_value():
    class Interrupted(SeededNoise):
        def permute_and_flip(self, scale):
            def sample(scores):
                raise KeyboardInterrupt

            return sample

    with pytest.raises(KeyboardInterrupt) as caught:
        Mechanisms(Budget(1.0), Interrupted(0)).select(
            Sensitive([[727272], [3]], (1,)), 1.0, purpose="a"
        )
    assert "sample" not in [entry.name for entry in caught.traceback]
    assert caught.value.__context__ is None


def test_a_single_candidate_costs_nothing_to_choose():
    budget = Budget(1.0)
    chosen = Mechanisms(budget, OpenDPNoise()).select(
        Sensitive([[5]], (1,)), 1.0, purpose="no choice"
    )
    assert chosen == 0
    assert budget.losses == ()


@settings(max_examples=50)
@given(
    scores=st.lists(st.integers(-(2**60), 2**60), min_size=2, max_size=20),
    epsilon=st.floats(1e-3, 1e3),
)
@pytest.mark.parametrize("source", SOURCES)
def test_any_integers_give_a_valid_choice(source, scores, epsilon):
    picked = Mechanisms(Budget(epsilon), source()).select(
        Sensitive(np.array(scores)[:, None], (1,)), epsilon, purpose="odd input"
    )
    assert 0 <= picked < len(scores)
    if epsilon > 100:  # a gap of one is then e^-50
        assert scores[picked] == max(scores)
