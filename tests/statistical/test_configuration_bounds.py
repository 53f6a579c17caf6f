"""Bounds on the utility lost by a private choice, against simulations, and what is printed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from test_configuration import Steps, configurator

from sklearn_dpbo.papers.balcan2018 import (
    OutwardRotation,
    PiecewiseConstant,
    QuadraticProgram,
    dispersion,
    excess_utility_bound,
    expected_utility_bound,
    piecewise_utility,
    rotation_dispersion_bound,
)
from sklearn_dpbo.papers.balcan2018.published import (
    published_distribution,
)
from sklearn_dpbo.privacy.sensitive import Secret
from sklearn_dpbo.testing import seeded_noise

# ---------------------------------------------------------------- excess utility


class Intervals:
    interval = (0, 1)

    def breakpoints(self, instance):
        return instance

    def utilities(self, instance, parameters):
        return ((parameters >= instance[0]) & (parameters < instance[1])).astype(float)

    def utility(self, instance, parameter):
        return float(self.utilities(instance, np.array([parameter]))[0])


@pytest.mark.parametrize("in_window", [1, 8])
@pytest.mark.parametrize("beta", [0.3, 0.01])
def test_utility_bound_holds_for_the_worst_utilities_and_a_tenth_less_does_not(in_window, beta):
    """The grid points of one window are best, all others as far below as the bound lets them be."""
    n, G, H, epsilon = 1000, 256, 3.0, 0.7
    bound = excess_utility_bound(
        n, epsilon=epsilon, utility_bound=H, interval=(0, 1), width=in_window / G, k=0, beta=beta,
        grid_size=G,
    )  # fmt: skip
    for share, holds in ((1.0, True), (0.9, False)):
        below = (G - in_window) * math.exp(-epsilon * n * share * bound / (2 * H))
        assert (below / (below + in_window) <= beta) == holds


def test_utility_bound_with_too_small_k_fails_on_concentrated_critical_points():
    """Utilities are positive between two points only that are closer than the grid's cells."""
    sample = [(0.4, 0.4003)] * 60
    bound = excess_utility_bound(
        60, epsilon=1, utility_bound=1, interval=(0, 1), width=0.1, k=0, grid_size=256
    )
    c = configurator(Intervals(), grid_size=256, score_share=0)
    with seeded_noise(3):
        c.fit(sample)
    assert not 0.4 <= c.best_parameter_ < 0.4003 and bound < 1
    utilities = [piecewise_utility(Intervals(), x, (0, 1)) for x in sample]
    assert dispersion(utilities, 0.1, public=True) == 120
    correct = excess_utility_bound(
        60, epsilon=1, utility_bound=1, interval=(0, 1), width=0.1, k=120, grid_size=256
    )
    assert correct > 1


def test_utility_bounds_equal_their_formulas():
    bound = excess_utility_bound(
        100, epsilon=0.5, utility_bound=3, interval=(0, 4), width=0.5, k=7, beta=0.1, grid_size=64
    )
    by_hand = 3 / 100 * (2 / 0.5 * (math.log(64 / 8) + math.log(10)) + 7) + 3 / 2**20
    assert bound == pytest.approx(by_hand, rel=1e-12)
    expected = expected_utility_bound(
        100, epsilon=0.5, utility_bound=3, interval=(0, 4), width=0.5, k=7, beta=0.3, grid_size=64
    )
    sampling = 3 * (math.sqrt(math.log(10) / 200) + math.sqrt(math.log(640) / 200))
    assert expected == pytest.approx(by_hand + sampling, rel=1e-12)


# ---------------------------------------------------------------- expected utility


# ---------------------------------------------------------------- dispersion
@given(st.lists(st.lists(st.integers(1, 99), max_size=5, unique=True), max_size=6),
       st.integers(0, 40))  # fmt: skip
def test_dispersion_is_the_largest_count_in_a_window(sample, width):
    functions = [PiecewiseConstant((0, 100), sorted(b), np.arange(len(b) + 1)) for b in sample]
    points = sorted(b for points in sample for b in points)
    plain = max((sum(p <= q <= p + width for q in points) for p in points), default=0)
    assert dispersion(functions, width, public=True) == plain


def test_dispersion_is_secret_unless_the_sample_is_public():
    u = PiecewiseConstant((0, 1), [0.5], [0, 1])
    k = dispersion([u] * 37, 0.1)
    assert isinstance(k, Secret) and "37" not in repr(k)
    with pytest.raises(TypeError, match="cannot be read"):
        int(k)
    with pytest.raises(ValueError, match="width"):
        dispersion([u], -1)


def rotations(rng, m, n, *, alike):
    """Programmes with unit vectors that are given, so that nothing has to be solved."""
    programmes = [QuadraticProgram(rng.standard_normal((n, n))) for _ in range(m)]
    for x in programmes:
        U = rng.standard_normal((n, n))
        U = np.tile(U[0], (n, 1)) if alike else U
        vars(x)["vectors"] = U / np.linalg.norm(U, axis=1, keepdims=True)
    return programmes


@pytest.mark.slow
@pytest.mark.parametrize("alike", [False, True])
def test_rotation_dispersion_bound_holds_and_a_quarter_of_it_does_not(alike, rng):
    m, n, beta, runs = 64, 5, 0.2, 30
    width = 1 / math.sqrt(m)
    k = rotation_dispersion_bound(m, n, width, beta=beta)
    assert k < m * n / 2, "the bound is trivial"
    found = []
    for _ in range(runs):
        b = np.concatenate(
            [OutwardRotation().breakpoints(x) for x in rotations(rng, m, n, alike=alike)]
        )
        b = np.sort(b[(b >= 0) & (b <= math.pi / 2)])
        found.append((np.searchsorted(b, b + width, side="right") - np.arange(len(b))).max())
    assert binomtest(int(np.sum(np.array(found) > k)), runs, beta, "greater").pvalue > 1e-6
    assert binomtest(int(np.sum(np.array(found) > k / 4)), runs, beta, "greater").pvalue < 1e-6


# ---------------------------------------------------------------- the abstract's draw
def test_published_distribution_reveals_the_critical_points_of_a_sample():
    """A critical point that only one of two neighbours has is a loss of infinity."""

    def support(sample):
        utilities = [piecewise_utility(Steps(), x, (0, 1)).quantized(1, 1) for x in sample]
        return published_distribution(PiecewiseConstant.total(utilities), 1.0, 1.0)

    (of_v, p), (of_w, _) = support([0.2, 0.4, 0.6]), support([0.2, 0.4, 0.7])
    assert 0.6 in of_v and 0.6 not in of_w and p[of_v.tolist().index(0.6)] > 0.1
    assert p.sum() == pytest.approx(1) and p[1] / p[0] == pytest.approx(math.e)


def largest_loss(total, other):
    """Largest logarithm of the ratio of probabilities, in either direction, at epsilon = 1."""
    (_, p), (_, q) = (published_distribution(u, 1.0, 1.0) for u in (total, other))
    return abs(np.log(p / q)).max()


def test_published_exponent_costs_epsilon_by_addition_and_twice_that_by_replacement():
    """Critical points apart, which are kept in place here. The second point is likely anyway."""

    def total(*instances):
        values = np.array([[0, 0, 12], *instances]).sum(axis=0)
        return PiecewiseConstant((0, 1), [0.2, 0.6], values)

    rng = np.random.default_rng(0)
    added = [largest_loss(total(), total(rng.integers(0, 2, 3))) for _ in range(50)]
    assert max(added) <= 1 + 1e-12
    assert largest_loss(total(), total([0, 0, 1])) == pytest.approx(1, abs=1e-4)
    replaced = largest_loss(total([0, 1, 0]), total([0, 0, 1]))
    assert replaced == pytest.approx(2, abs=1e-4)
