"""The Gaussian process compared with scikit-learn's, kernel parameters and acquisitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from sklearn_dpbo.search._likelihood import _negative_log_likelihood, fit_kernel
from sklearn_dpbo.search._proposals import choose_batch
from sklearn_dpbo.search._surrogate import KERNEL_SHAPES, Kernel, Surrogate

SHAPES = list(KERNEL_SHAPES)


def sklearn_kernel(kernel):
    """Return the kernel of scikit-learn that equals this one."""
    scale = kernel.length_scale
    shape = {
        "squared_exponential": RBF(scale),
        "matern32": Matern(scale, nu=1.5),
        "matern52": Matern(scale, nu=2.5),
    }[kernel.shape]
    return ConstantKernel(kernel.variance) * shape + ConstantKernel(max(kernel.bias, 1e-300))


def problem(seed, n=60, d=3, shape="matern52", bias=0.0):
    rng = np.random.default_rng(seed)
    kernel = Kernel(shape, rng.uniform(0.1, 2, size=d), rng.uniform(0.1, 5), bias)
    return rng, rng.random((n, d)), kernel, rng.uniform(1e-3, 1)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 5),
    t=st.integers(1, 40),
    shape=st.sampled_from(SHAPES),
    bias=st.sampled_from([0.0, 3.0]),
)
def test_mean_and_variance_equal_those_of_scikit_learn(seed, d, t, shape, bias):
    rng, domain, kernel, noise = problem(seed, d=d, shape=shape, bias=bias)
    picked, values = rng.integers(0, 60, size=t), rng.normal(size=t)
    prior = rng.normal(size=60)
    model = Surrogate.on(domain, kernel, noise, prior, capacity=8).condition_all(picked, values)
    reference = GaussianProcessRegressor(sklearn_kernel(kernel), alpha=noise, optimizer=None)
    residual = values - prior[picked]
    mean, std = reference.fit(domain[picked], residual).predict(domain, return_std=True)
    assert np.abs(model.mean - prior - mean).max() < 1e-8
    assert np.abs(model.variance - std**2).max() < 1e-8
    assert model.picked == tuple(picked)


def test_batch_is_spread_and_avoids_taken_points():
    domain = np.linspace(0, 1, 101)[:, None]
    model = Surrogate.on(domain, Kernel("matern52", np.array([0.2])), 1e-4).condition(50, 1.0)
    batch = choose_batch(model, 4, [50])
    assert len(set(batch)) == 4 and 50 not in batch
    assert min(abs(a - b) for a in batch for b in batch if a != b) > 5
    everything = choose_batch(model, 200, [50])
    assert sorted(everything) == [i for i in range(101) if i != 50]


# ---------------------------------------------------------------- likelihood
def squares_of(X):
    return (X.T[:, :, None] - X.T[:, None, :]) ** 2


@pytest.mark.parametrize("shape", SHAPES)
def test_likelihood_equals_that_of_scikit_learn_and_its_gradient_is_correct(shape, rng):
    X, z = rng.random((25, 3)), rng.normal(size=25)
    theta = rng.normal(scale=0.3, size=5)
    value, slope = _negative_log_likelihood(theta, z, squares_of(X), shape)
    kernel = Kernel(shape, np.exp(theta[:3]), np.exp(theta[3]))
    reference = GaussianProcessRegressor(
        sklearn_kernel(kernel) + WhiteKernel(np.exp(theta[4])), alpha=0.0, optimizer=None
    )
    assert -value == pytest.approx(reference.fit(X, z).log_marginal_likelihood_value_, rel=1e-8)
    for i, step in enumerate(1e-5 * np.eye(5)):
        up, down = (
            _negative_log_likelihood(theta + s, z, squares_of(X), shape)[0] for s in (step, -step)
        )
        assert slope[i] == pytest.approx((up - down) / 2e-5, abs=1e-6)


def test_fit_kernel_recovers_length_scales_and_noise(rng):
    X = rng.random((100, 2))
    kernel = Kernel("matern52", np.array([0.15, 0.9]), 4.0)
    f = rng.multivariate_normal(np.full(100, 10.0), kernel(X, X) + 1e-9 * np.eye(100))
    found, noise, mean = fit_kernel(
        X, f + rng.normal(scale=0.3, size=100), "matern52", np.arange(2)
    )
    assert found.length_scale[1] / found.length_scale[0] > 2.5
    assert found.length_scale[0] == pytest.approx(0.15, rel=0.6)
    assert noise == pytest.approx(0.09, rel=0.6)
    assert mean == pytest.approx(10, abs=3)


@pytest.mark.parametrize("y", [[1.0], [1.0, 2.0], [3.0] * 10, [0.0, 1.0] * 5])
def test_fit_kernel_accepts_few_constant_or_contradictory_values(y):
    X = np.full((len(y), 2), 0.5)
    kernel, noise, mean = fit_kernel(X, np.array(y), "matern52", np.arange(2))
    assert (kernel.length_scale > 0).all() and kernel.variance > 0 and noise > 0
    assert mean == pytest.approx(np.mean(y))
    model = Surrogate.on(X, kernel, noise, mean).condition_all(range(len(y)), y)
    assert np.isfinite(model.mean).all()
