"""The dataset kernel: its likelihood is that of the two-task process and recovers the true k1."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sklearn_dpbo.papers.kusner2015 import Kernel, estimate_dataset_kernel, neighbouring_scores
from sklearn_dpbo.papers.kusner2015._dataset_kernel import LOG_GRID, PAPER_GRID

GIVEN = dict(length_scale=0.3, noise=0.1, prior_mean=0.5, prior_scale=2.0)


def pairs(k1, n_pairs, rng, n=12, noise=0.1):
    x = rng.random((n, 2))
    K = Kernel("squared_exponential", 0.3)(x, x)
    both = np.kron([[1, k1], [k1, 1]], K) + noise**2 * np.eye(2 * n)
    z = multivariate_normal(np.zeros(2 * n), both, allow_singular=True).rvs(n_pairs, rng)
    scores = 0.5 + 2.0 * np.reshape(z, (n_pairs, 2 * n))
    return scores[:, :n], scores[:, n:], x, both


@pytest.mark.parametrize("k1", [-0.5, 0.0, 0.7, 0.99])
def test_rotated_likelihood_equals_two_task_likelihood(k1, rng):
    f, g, x, both = pairs(k1, 7, rng)
    found = estimate_dataset_kernel(f, g, x, grid=[k1], **GIVEN)
    z = (np.hstack([f, g]) - 0.5) / 2.0
    expected = multivariate_normal(np.zeros(24), both).logpdf(z).sum()
    assert found.log_likelihood == pytest.approx([expected], rel=1e-9)


@pytest.mark.parametrize("k1", [0.3, 0.9, 0.9999])
def test_estimate_recovers_true_k1(k1, rng):
    f, g, x, _ = pairs(k1, 300, rng, noise=1e-3)
    found = estimate_dataset_kernel(f, g, x, **(GIVEN | {"noise": 1e-3}))
    assert 1 - found.k1 == pytest.approx(1 - k1, rel=0.15)
    assert found.k1 in found.grid
    assert np.isin(PAPER_GRID, found.grid).all()
    assert np.isin(LOG_GRID, found.grid).all()


@pytest.mark.parametrize("k1", [0.99, 0.9999])
def test_of_the_papers_grid_its_end_is_the_most_likely_whatever_the_larger_truth(k1, rng):
    f, g, x, _ = pairs(k1, 100, rng)
    on_grid, beyond = (
        estimate_dataset_kernel(f, g, x, grid=k, **GIVEN) for k in (PAPER_GRID, None)
    )
    assert on_grid.k1 == 0.95 < beyond.k1


def test_missing_kernel_parameters_are_learnt(rng):
    f, g, x, _ = pairs(0.9, 200, rng, n=30)
    found = estimate_dataset_kernel(f + 3, g + 3, x)
    assert found.kernel.length_scale.min() > 0.1
    assert found.prior_scale > 0
    assert abs(found.prior_mean - 3.5) < 0.5
    assert found.noise > 0


def test_neighbouring_scores_differ_by_one_record(rng):
    gains = rng.integers(0, 2, (4, 500)).astype(float)
    scores, neighbours = neighbouring_scores(gains, 100, 50, rng)
    steps = (neighbours - scores) * 100
    assert np.allclose(steps, np.rint(steps))
    assert np.abs(steps).max() == pytest.approx(1)
    scores, neighbours = neighbouring_scores(gains, 100, 50, rng, change="add_or_remove")
    sizes = [(neighbours * n, np.rint(neighbours * n)) for n in (99, 101)]
    whole = [np.isclose(a, b).all(axis=1) for a, b in sizes]
    assert (whole[0] | whole[1]).all()
    assert whole[0].any()
    assert whole[1].any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(neighbour_scores=np.zeros((2, 4))), "found shapes"),
        (dict(scores=np.full((2, 3), np.nan)), "not finite"),
        (dict(grid=[1.0]), r"\[-1, 1\)"),
        (dict(noise=0.0), "positive"),
    ],
)
def test_invalid_input_raises_value_error(change, message):
    good = dict(scores=np.eye(2, 3), neighbour_scores=np.eye(2, 3), candidates=np.eye(3))
    with pytest.raises(ValueError, match=message):
        estimate_dataset_kernel(**(good | GIVEN | change))
