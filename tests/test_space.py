"""Search spaces, to candidates."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.model_selection import ParameterGrid
from sklearn.svm import SVC

from sklearn_dpbo.space import SearchSpace


def design(grid, n=64, seed=0):
    return SearchSpace(grid).design(n, np.random.default_rng(seed))


@pytest.mark.parametrize(
    "grid",
    [
        {"b": [1, 2, 3], "a": ["x", None]},
        [{"kernel": ["rbf"], "gamma": [0.1, 1]}, {"kernel": ["poly"], "degree": (2, 3)}],
        {"step": [SVC(), "passthrough"], "shape": [(1, 2), {"a": 1}]},
        {},
        {"a": np.array([1.0, 2.0])},
    ],
)
def test_a_grid_that_fits_is_evaluated_whole_in_parameter_grids_order(grid):
    assert list(design(grid).params) == list(ParameterGrid(grid))


def test_a_grid_that_does_not_fit_is_sampled_without_duplicates():
    grid = {"a": list(range(10)), "b": list(range(10))}
    settings_ = [tuple(s.values()) for s in design(grid, 64).params]
    assert len(settings_) == 64 == len(set(settings_))


def test_distributions_go_through_their_quantiles():
    found = design({"C": stats.loguniform(1e-3, 1e3), "k": ["a", "b"]}, 64)
    C = np.array([s["C"] for s in found.params])
    assert all(type(s["C"]) is float for s in found.params)
    # A Sobol sequence puts exactly one of 64 points into each 1/64 of the distribution.
    share = np.sort(stats.loguniform(1e-3, 1e3).cdf(C))
    assert np.array_equal((share * 64).astype(int), np.arange(64))
    assert found.points.unit[:, 0] == pytest.approx(stats.loguniform(1e-3, 1e3).cdf(C))
    assert sum(s["k"] == "a" for s in found.params) == 32


@pytest.mark.parametrize(
    "distribution",
    [
        stats.randint(1, 5),
        stats.binom(3, 0.5),
        stats.rv_discrete(values=([1, 3, 5, 7], [0.25] * 4)),
        # Discrete distributions of scipy's new kind are younger than the oldest scipy supported.
        *([stats.Binomial(n=3, p=0.5)] if hasattr(stats, "Binomial") else []),
    ],
)
def test_discrete_distributions_give_integers_and_run_out(distribution):
    found = design({"n": distribution}, 64)
    assert all(type(s["n"]) is int for s in found.params)
    assert len({s["n"] for s in found.params}) == len(found) == 4


def test_new_distributions_of_scipy_work():
    found = design({"x": stats.Normal(mu=1.0, sigma=2.0)}, 16)
    assert len(found) == 16
    assert np.mean([s["x"] for s in found.params]) == pytest.approx(1.0, abs=0.3)


def test_conditional_spaces_share_the_candidates():
    grid = [
        {"kernel": ["linear"], "C": stats.loguniform(0.1, 10)},
        {"kernel": ["rbf"], "C": stats.loguniform(0.1, 10), "gamma": stats.uniform(0, 1)},
        {"kernel": ["poly"], "degree": [2, 3]},
    ]
    found = design(grid, 32)
    kernels = [s["kernel"] for s in found.params]
    assert {k: kernels.count(k) for k in set(kernels)} == {"linear": 15, "rbf": 15, "poly": 2}
    gamma = SearchSpace(grid).names.index("gamma")
    assert np.array_equal(np.isnan(found.points.unit[:, gamma]), [k != "rbf" for k in kernels])


def test_numbers_keep_their_order_in_the_unit_cube():
    found = design({"a": [100, 1, 10], "b": ["z", "y", "x"]})
    first = {s["a"]: u for s, u in zip(found.params, found.points.unit[:, 0], strict=True)}
    assert first[1] < first[10] < first[100]
    assert first[10] == 0.5


def test_the_design_depends_on_the_seed_alone():
    grid = {"C": stats.loguniform(1e-3, 1e3), "k": list("abc")}
    assert design(grid, seed=1).params == design(grid, seed=1).params
    assert design(grid, seed=1).params != design(grid, seed=2).params


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ([], "non-empty list"),
        (None, "dict or a non-empty list"),
        ("C", "dict or a non-empty list"),
        (3, "dict or a non-empty list"),
        ([{"C": [1]}, 3], "each entry.*found 3"),
        ({"C": []}, "'C'.*empty"),
        ({"C": 3.0}, r"'C'.*write \[value\]"),
        ({"C": "abc"}, r"'C'.*write \[value\]"),
        ({"C": {1, 2}}, "'C'.*list of values"),
        ({"C": np.ones((2, 2))}, r"one-dimensional; found shape \(2, 2\)"),
        ({"C": lambda: 3}, "'C'.*distribution with a ppf"),
        ({"C": stats.Uniform}, "'C'.*distribution with a ppf"),
    ],
)
def test_malformed_spaces_are_refused(grid, message):
    with pytest.raises(ValueError, match=message):
        SearchSpace(grid)


def test_a_distribution_without_its_parameters_is_refused():
    with pytest.raises(ValueError, match=r"'n'.*give it its parameters"):
        design({"n": stats.randint})


def test_fractions_of_a_discrete_distribution_are_kept():
    halves = stats.rv_discrete(values=([0.5, 1.5], [0.5, 0.5]))
    assert {s["n"] for s in design({"n": halves}).params} == {0.5, 1.5}


def test_a_distribution_without_finite_quantiles_is_refused():
    with pytest.raises(ValueError, match="'C'.*not finite"):
        design({"C": stats.norm(0, -1)})


AXES = st.one_of(
    st.lists(st.integers(0, 3), min_size=1, max_size=5),
    st.just(stats.uniform(0, 1)),
    st.integers(1, 6).map(lambda n: stats.randint(0, n)),
    st.just([None, (1,), "x"]),
)
GRIDS = st.dictionaries(st.sampled_from("abcd"), AXES, max_size=4)


@settings(max_examples=150, deadline=None)
@given(grids=st.lists(GRIDS, min_size=1, max_size=3), n=st.integers(1, 40))
def test_any_space_gives_a_sound_design(grids, n):
    space = SearchSpace(grids)
    found = space.design(n, np.random.default_rng(0))
    assert 1 <= len(found) <= n
    assert found.points.unit.shape == (len(found), len(space.names))
    inside = found.points.unit[~np.isnan(found.points.unit)]
    assert ((inside >= 0) & (inside <= 1)).all()
    names = [set(grid) for grid in grids]
    for setting, unit in zip(found.params, found.points.unit, strict=True):
        assert set(setting) in names
        assert [n for n, u in zip(space.names, unit, strict=True) if not math.isnan(u)] == list(
            setting
        )
    if all(any(hasattr(v, "pdf") for v in g.values()) for g in grids):
        assert len(found) == n
