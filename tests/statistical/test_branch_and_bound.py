"""Branch and bound: lattice points, and regret on draws of a Gaussian process."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from sklearn_dpbo.papers.kusner2015 import Kernel, branch_and_bound

KERNEL = Kernel("matern52", 0.2)


def draw(d, seed):
    """A function of the process (its mean given values at many points), and its maximum."""
    rng = np.random.default_rng(seed)
    centres = rng.random((150 * d, d))
    K = KERNEL(centres, centres) + 1e-8 * np.eye(len(centres))
    weights = np.linalg.solve(K, np.linalg.cholesky(K) @ rng.standard_normal(len(centres)))

    def f(x):
        return float(KERNEL(np.reshape(x, (1, d)), centres)[0] @ weights)

    x = rng.random((20_000, d))
    starts = x[np.argsort(-(KERNEL(x, centres) @ weights))[:5]]
    found = [minimize(lambda x: -f(x), s, bounds=[(0, 1)] * d, tol=1e-12) for s in starts]
    return f, max(-result.fun for result in found)


def regrets(d, n_iter, seeds, at):
    rows = []
    for seed in seeds:
        f, best = draw(d, seed)
        values = branch_and_bound(f, d, n_iter=n_iter, kernel=KERNEL, max_level=25).values
        values += [max(values)] * (n_iter - len(values))
        regret = max(best, max(values)) - np.maximum.accumulate(values)
        rows.append([max(regret[t - 1], 1e-9) for t in at])
    return np.median(rows, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "at"), [(1, (6, 12, 24)), pytest.param(2, (20, 40, 80), marks=pytest.mark.slow)]
)
def test_regret_falls_faster_than_any_power_of_evaluations(d, at):
    """The slope of the regret on log-log axes grows with the number of evaluations."""
    first, second, third = np.log(regrets(d, at[-1], range(10), at))
    steps = np.array([first - second, second - third]) / np.log(2)
    assert steps[1] > 2, "the regret does not fall faster than t^-2"
    assert steps[1] > 1.5 * steps[0]
    assert np.exp(third) < 1e-5


@settings(max_examples=25)
@given(
    d=st.integers(1, 3),
    n_iter=st.integers(1, 40),
    level=st.integers(0, 4),
    seed=st.integers(0, 1000),
)
def test_evaluated_points_are_distinct_lattice_points(d, n_iter, level, seed):
    rng = np.random.default_rng(seed)
    seen = []

    def function(x):
        seen.append(tuple(x))
        return float(rng.normal())

    path = branch_and_bound(function, d, n_iter=n_iter, kernel=KERNEL, max_level=level)
    assert 1 <= len(path) <= n_iter
    assert seen == path.points
    assert len(set(path.points)) == len(path)
    grid = np.array(path.points) * 2**level
    assert (grid == np.rint(grid)).all()
    assert (grid >= 0).all()
    assert (grid <= 2**level).all()
    assert path.levels == sorted(path.levels)
