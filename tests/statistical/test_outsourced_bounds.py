"""The lemmas and theorems of Kharkovskii, Dai and Low (2020), against simulations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from scipy.stats import binomtest

from sklearn_dpbo.papers.kharkovskii2020 import Modeler
from sklearn_dpbo.papers.kharkovskii2020.bounds import (
    RegretBounds,
    is_diagonally_dominant,
    projection_dimension,
    projection_threshold,
    stretch_factor,
    ucb_beta,
)

pytestmark = pytest.mark.filterwarnings("ignore:ProjectionCurator has no privacy guarantee")


# ------------------------------------------------------------ Algorithm 1, line 5


@pytest.mark.parametrize(
    ("delta", "first", "expected"),
    [(1e-5, 1.1, (1002.7, 1177.4)), (1e-5, 2.7, (202.4, 237.7)), (1e-4, 2.6, (174.2, 205.1))],
    ids=["synthetic", "loans", "houses"],
)
def test_one_s_min_fits_the_tables_of_a_data_set_if_r_is_the_largest_tabulated(
    delta, first, expected
):
    """And none does if it is the largest integer: the intervals of two tables do not meet."""

    def intervals(following):
        thresholds = [
            [projection_threshold(math.exp(first + 0.2 * i), delta, k) for k in (r, after)]
            for i, (r, after) in enumerate(zip((10, 15, 20), following, strict=True))
        ]
        return np.max(thresholds, axis=0)[0], np.min(thresholds, axis=0)[1]

    low, high = intervals((11, 16, 21))
    assert low > high
    assert intervals((15, 20, 30)) == pytest.approx(expected, abs=0.05)


# ------------------------------------------------------------ Lemma 1
def failures(n, nu, r, runs, rng):
    """How often a projection on r directions changes some squared distance by more than nu."""
    X = rng.standard_normal((n, 5))
    before, count = pdist(X) ** 2, 0
    for _ in range(runs):
        ratio = pdist(X @ rng.standard_normal((5, r))) ** 2 / r / before
        count += bool((abs(ratio - 1) > nu).any())
    return count


@pytest.mark.parametrize(("n", "nu", "mu"), [(8, 0.5, 0.1), (15, 0.3, 0.5)])
def test_projection_dimension_keeps_distances_and_a_tenth_of_it_does_not(n, nu, mu, rng):
    r = projection_dimension(n, nu, mu)
    assert r - 1 < 8 * math.log(n**2 / mu) / nu**2 <= r
    assert binomtest(failures(n, nu, r, 200, rng), 200, mu, "greater").pvalue > 1e-6
    assert binomtest(failures(n, nu, r // 10, 200, rng), 200, mu, "greater").pvalue < 1e-6


# ------------------------------------------------------------ Theorem 2
def enlarged(X, omega):
    """Algorithm 1, line 9."""
    U, S, Vt = np.linalg.svd(X, full_matrices=False)
    return U @ (np.sqrt(S**2 + omega**2)[:, None] * Vt)


@given(st.integers(3, 12), st.integers(1, 3), st.floats(0.1, 30), st.integers(0, 2**20))
def test_stretch_factor_bounds_what_the_else_branch_does_to_distances(n, d, omega, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    X -= X.mean(axis=0)
    s_min = np.linalg.svd(X, compute_uv=False).min()
    stretch = stretch_factor(s_min, omega)
    if s_min >= omega:
        assert stretch == 1
    else:
        ratio = (pdist(enlarged(X, omega)) / pdist(X)) ** 2
        assert ratio.min() >= 1 - 1e-9
        assert ratio.max() <= stretch * (1 + 1e-9)


# ------------------------------------------------------------ Definition 3
@pytest.mark.parametrize(
    ("K", "dominant"),
    [
        ([[1.0]], True),
        ([[1, 0.5], [0.5, 1]], True),  # 1 >= (1 + 1) 0.5
        ([[1, 0.51], [0.51, 1]], False),
        # 1 >= (sqrt(2) + 1) 2 k: k up to 0.2071
        ([[1, 0.207, 0.207], [0.207, 1, 0.207], [0.207, 0.207, 1]], True),
        ([[1, 0.208, 0.208], [0.208, 1, 0.208], [0.208, 0.208, 1]], False),
        # One row alone fails.
        ([[9, 0, 1], [0, 9, 0], [1, 0, 2]], False),
    ],
)
def test_diagonal_dominance_of_matrices_made_by_hand(K, dominant):
    assert is_diagonally_dominant(K) is dominant


# ------------------------------------------------------------ Algorithm 2 and Theorem 3
@pytest.mark.parametrize("t", [1, 7])
def test_beta_has_half_of_delta_ucb(t):
    """Theorem 3: delta' = delta_ucb / 2. With delta_ucb itself, beta is 2 ln 2 too small."""
    modeler = Modeler(np.arange(60.0)[:, None], delta_ucb=0.1, n_iter=9)
    assert modeler.beta(t) == pytest.approx(2 * math.log(60 * t**2 * math.pi**2 / (6 * 0.05)))
    assert modeler.beta(t) - ucb_beta(60, t, 0.1) == pytest.approx(2 * math.log(2))


def bounds(**params):
    right = dict(n_rows=12, T=8, diameter=33.0, outcome_bound=5.0, noise=0.1)
    return RegretBounds(**(right | params))


def test_regret_bound_equals_its_formula():
    b = RegretBounds(100, 20, 3.0, 4.0, 0.5, 0.8, 0.3, 0.1, (2.0, 3.0))
    assert b.nu == pytest.approx(0.3 / (2 * math.sqrt(3) * 9 * 4))
    assert bounds(diameter=3.0, epsilon_ucb=1e9).nu == pytest.approx(2 / 9)
    assert bounds(diameter=1.0, epsilon_ucb=1e9).nu == 0.5
    assert b.mu == 0.05 and b.n_components == math.ceil(8 * math.log(100**2 / 0.05) / b.nu**2)
    beta = 2 * math.log(100 * 400 * math.pi**2 / (6 * 0.05))
    C1, C2 = 2 * 0.8 * math.sqrt(0.64 + 0.25) * (0.64 / 0.25 + 1), 3 * 0.64 / 0.25 * 4
    square = 0.09 + 24 * (C2 + C1 * math.sqrt(beta)) ** 2 * math.log(20) / 20
    square += 24 / math.log(5) * beta * 7.0 / 20
    assert b.simple_regret(7.0) == pytest.approx(math.sqrt(square))


@given(st.integers(1, 40), st.floats(0, 1), st.floats(0.01, 30), st.floats(0.01, 1),
       st.integers(0, 2**20))  # fmt: skip
def test_theorem_3_says_nothing_where_its_assumption_holds(n, share, noise, scale, seed):
    """Dominance makes the information gain so large that the bound exceeds any row's regret."""
    rng = np.random.default_rng(seed)
    K = rng.random((n, n))
    K = K + K.T
    np.fill_diagonal(K, 0)
    K *= share / max((math.sqrt(n - 1) + 1) * K.sum(axis=1).max(), 1e-300) * (1 - 1e-12)
    np.fill_diagonal(K, 1)
    assert is_diagonally_dominant(K)
    gained = 0.5 * np.linalg.slogdet(np.eye(n) + K * scale**2 / noise**2)[1]
    b = bounds(n_rows=100, T=n + 1, noise=noise, scale=scale, constants=(0.0, 0.0),
               epsilon_ucb=1e-9)  # fmt: skip
    assert b.simple_regret(gained) >= b.least_simple_regret * (1 - 1e-9)
    assert b.least_simple_regret >= 2 * scale * math.sqrt(b.beta(1)) * (1 - 1e-9)
