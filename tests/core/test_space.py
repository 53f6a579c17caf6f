"""The search space: candidates from param_grid, and their coordinates."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.model_selection import ParameterGrid
from sklearn.svm import SVC

from sklearn_dpbo.search._axes import axis_of
from sklearn_dpbo.search._space import Points, SearchSpace


def filled(grid, n=64, seed=0):
    space = SearchSpace(grid)
    points = space.fill(n, np.random.default_rng(seed))
    return SimpleNamespace(params=space.params(points), points=points)


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
def test_small_grid_is_enumerated_in_the_order_of_parameter_grid(grid):
    assert list(filled(grid).params) == list(ParameterGrid(grid))


def test_distributions_are_sampled_evenly_by_their_quantiles():
    found = filled({"C": stats.loguniform(1e-3, 1e3), "k": ["a", "b"]}, 64)
    C = np.array([params["C"] for params in found.params])
    assert all(type(params["C"]) is float for params in found.params)
    # A Sobol sequence puts exactly one of 64 points into each 1/64 of the distribution.
    share = np.sort(stats.loguniform(1e-3, 1e3).cdf(C))
    assert np.array_equal((share * 64).astype(int), np.arange(64))
    assert found.points.unit[:, 0] == pytest.approx(stats.loguniform(1e-3, 1e3).cdf(C))
    assert sum(params["k"] == "a" for params in found.params) == 32


@pytest.mark.parametrize(
    "distribution",
    [
        stats.randint(1, 5),
        stats.binom(3, 0.5),
        stats.rv_discrete(values=([1, 3, 5, 7], [0.25] * 4)),
        # The oldest supported scipy does not have this class.
        *([stats.Binomial(n=3, p=0.5)] if hasattr(stats, "Binomial") else []),
    ],
)
def test_discrete_distributions_give_each_integer_once(distribution):
    found = filled({"n": distribution}, 64)
    assert all(type(params["n"]) is int for params in found.params)
    assert len({params["n"] for params in found.params}) == len(found.params) == 4


def test_candidates_are_divided_evenly_among_the_dicts():
    grid = [
        {"kernel": ["linear"], "C": stats.loguniform(0.1, 10)},
        {"kernel": ["rbf"], "C": stats.loguniform(0.1, 10), "gamma": stats.uniform(0, 1)},
        {"kernel": ["poly"], "degree": [2, 3]},
    ]
    found = filled(grid, 32)
    kernels = [params["kernel"] for params in found.params]
    assert {k: kernels.count(k) for k in set(kernels)} == {"linear": 15, "rbf": 15, "poly": 2}
    gamma = SearchSpace(grid).names.index("gamma")
    assert np.array_equal(np.isnan(found.points.unit[:, gamma]), [k != "rbf" for k in kernels])


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ([], "non-empty list"),
        (3, "dict or a non-empty list"),
        ([{"C": [1]}, 3], "each entry.*found 3"),
        ({"C": []}, "'C'.*empty"),
        ({"C": 3.0}, r"'C'.*write \[3.0\] for a single value"),
        ({"C": "abc"}, r"'C'.*write \['abc'\]"),
        ({"C": [1, 10, "uniform"]}, r"'C'.*write scipy.stats.uniform\(1, 10 - 1\)"),
        ({"C": {1, 2}}, "'C'.*list of values"),
        ({"C": np.ones((2, 2))}, r"one-dimensional; found shape \(2, 2\)"),
        ({"C": lambda: 3}, "'C'.*distribution with a ppf"),
        ({"C": stats.Uniform}, "'C'.*distribution with a ppf"),
    ],
)
def test_malformed_param_grid_raises(grid, message):
    with pytest.raises(ValueError, match=message):
        SearchSpace(grid)


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([3, 3, 5], [3, 5]),
        (["gini", "entropy", "gini"], ["gini", "entropy"]),
        ([3, 3, None, 3], [3, None]),
        (np.array([2.0, 1.0, 2.0]), [*np.array([2.0, 1.0])]),
        ([1, 1.0, True], [1, 1.0, True]),
        (["uniform", "distance"], ["uniform", "distance"]),
    ],
)
def test_values_listed_twice_are_one_candidate(values, kept):
    space = SearchSpace({"p": values})
    assert space.n_points == len(kept)
    found = [params["p"] for params in filled({"p": values}).params]
    assert [(type(value), value) for value in found] == [(type(value), value) for value in kept]


def test_candidates_of_several_dicts_are_counted_as_in_a_parameter_grid():
    both = [{"a": [1, 2], "b": ["x"]}, {"a": [2, 3], "b": ["x", "y"]}]
    assert SearchSpace(both).n_points == len(ParameterGrid(both)) == 6
    assert SearchSpace([{"a": [1]}, {"a": [1], "b": [2]}]).n_points == 2
    assert SearchSpace([{"a": [1.0]}, {"a": stats.uniform(0, 2)}]).n_points == math.inf


class Declares:
    """A space as scikit-optimize and Optuna declare theirs, in attributes."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


def values_of(declared, n=256):
    return [params["p"] for params in filled({"p": declared}, n).params]


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (Declares(low=2.0, high=6.0, log=False, step=None), stats.uniform(2, 4)),
        (Declares(low=1, high=1000, dtype="float", prior="log-uniform"), stats.loguniform(1, 1e3)),
        (Declares(low=1e-3, high=1e3, log=True, step=None), stats.loguniform(1e-3, 1e3)),
    ],
)
def test_a_declared_range_is_the_distribution_of_scipy(declared, expected):
    found = np.array(values_of(declared))
    assert found.dtype == float
    assert stats.kstest(found, expected.cdf).statistic < 0.01
    assert (found >= declared.low).all() and (found <= declared.high).all()


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (Declares(low=1, high=3, log=False, step=1), [1, 2, 3]),
        (Declares(low=1, high=9, log=False, step=4), [1, 5, 9]),
        (Declares(low=1, high=3, log=True, step=1), [1, 2, 3]),
        (Declares(low=0, high=2, dtype=np.int64, prior="uniform"), [0, 1, 2]),
        (Declares(low=7, high=7, log=False, step=1), [7]),
        (Declares(low=0.5, high=1.0, log=False, step=0.25), [0.5, 0.75, 1.0]),
        (Declares(choices=("b", "a", None)), ["b", "a", None]),
        (Declares(categories=("b", "a"), prior=None), ["b", "a"]),
    ],
)
def test_declared_values_are_found_each_once_and_both_ends_too(declared, expected):
    found = sorted(values_of(declared), key=expected.index)
    assert found == expected and list(map(type, found)) == list(map(type, expected))
    space = SearchSpace({"p": declared})
    for value in expected:
        assert list(space.params(space.locate({"p": value}))) == [{"p": value}]


def test_the_ends_of_declared_whole_numbers_are_as_likely_as_others():
    axis = axis_of("p", Declares(low=1, high=4, log=False, step=1))
    values = axis.quantiles((np.arange(400) + 0.5) / 400)
    assert np.unique(values, return_counts=True)[1].tolist() == [100] * 4


@pytest.mark.parametrize(
    "declared",
    [
        Declares(low=2.0, high=1.0, log=False, step=None),
        Declares(low=0.0, high=1.0, log=True, step=None),
        Declares(low=0, high=5, dtype=np.int64, prior="log-uniform"),
        Declares(low=0.0, high=1.0, prior="normal"),
        Declares(categories=("a", "b"), prior=[0.9, 0.1]),
        Declares,
    ],
)
def test_what_declares_no_space_is_refused(declared):
    with pytest.raises(ValueError, match=r"param_grid\['p'\].*found"):
        SearchSpace({"p": declared})


def test_spaces_of_scikit_optimize_and_optuna_are_accepted():
    skopt = pytest.importorskip("skopt.space")
    optuna = pytest.importorskip("optuna.distributions")
    for low, high in ((1e-2, 1e2), (1, 10)):
        of_each = [
            values_of(space)
            for space in (
                stats.loguniform(low, high),
                skopt.Real(low, high, prior="log-uniform"),
                optuna.FloatDistribution(low, high, log=True),
            )
        ]
        assert np.allclose(of_each, of_each[0])
    for space in (skopt.Integer(1, 5), optuna.IntDistribution(1, 5), stats.randint(1, 6)):
        assert sorted(values_of(space)) == [1, 2, 3, 4, 5]
    assert sorted(values_of(optuna.IntDistribution(1, 64, log=True))) == [*range(1, 65)]
    steps = optuna.FloatDistribution(0.1, 0.7, step=0.2)
    assert all(map(steps._contains, values_of(steps))) and len(values_of(steps)) == 4
    for space in (skopt.Categorical(["a", "b"]), optuna.CategoricalDistribution(["a", "b"])):
        assert values_of(space) == ["a", "b"]


def test_distribution_without_finite_quantiles_raises():
    with pytest.raises(ValueError, match="'C'.*not finite"):
        filled({"C": stats.norm(0, -1)})


AXES = st.one_of(
    st.lists(st.integers(0, 3), min_size=1, max_size=5),
    st.just(stats.uniform(0, 1)),
    st.integers(1, 6).map(lambda n: stats.randint(0, n)),
    st.just([None, (1,), "x"]),
)
# Of several dicts, "e" tells candidates of one from those of another.
GRIDS = st.lists(
    st.dictionaries(st.sampled_from("abcd"), AXES, max_size=4), min_size=1, max_size=3
).map(lambda grids: [grid | ({"e": [i]} if i else {}) for i, grid in enumerate(grids)])


@pytest.mark.slow
@settings(max_examples=40)
@given(grids=GRIDS, n=st.integers(1, 40))
def test_candidates_of_any_space_lie_in_it_and_are_at_most_n(grids, n):
    space, found = SearchSpace(grids), filled(grids, n)
    assert 1 <= len(found.params) <= n
    assert found.points.unit.shape == (len(found.params), len(space.names))
    inside = found.points.unit[~np.isnan(found.points.unit)]
    assert ((inside >= 0) & (inside <= 1)).all()
    names = [set(grid) for grid in grids]
    for params, unit in zip(found.params, found.points.unit, strict=True):
        assert set(params) in names
        assert [n for n, u in zip(space.names, unit, strict=True) if not math.isnan(u)] == list(
            params
        )
    if all(any(hasattr(v, "pdf") for v in g.values()) for g in grids):
        assert len(found.params) == n


def test_located_params_are_kept():
    """Converting to a coordinate and back loses digits, which the user's own values must keep."""
    grid, params = {"x": stats.loguniform(0.1, 10)}, {"x": 0.3}
    space = SearchSpace(grid)
    point = space.locate(params)
    assert SearchSpace(grid).params(point) != (params,)
    together = Points.concatenate([space.fill(4, np.random.default_rng(0)), point])
    assert space.params(together)[-1] == params


# ---------------------------------------------------------------- values to coordinates and back
DISTRIBUTIONS = [
    stats.loguniform(1e-4, 1e3), stats.norm(3, 2), stats.uniform(-1, 5), stats.randint(2, 40),
    stats.binom(6, 0.3), stats.geom(0.4), stats.rv_discrete(values=([1, 3, 7], [0.2, 0.3, 0.5])),
]  # fmt: skip
LISTS = [[3, 1, 2], [1, 1.0, 2], ["b", "a"], [None, 0.5, "x"], [True, False], [(1, 2), {"a": 1}]]


@pytest.mark.slow
@pytest.mark.parametrize("values", DISTRIBUTIONS + LISTS, ids=range(13))
def test_coordinates_and_values_convert_into_each_other(values):
    axis = axis_of("p", values)
    u = np.random.default_rng(0).random(30)
    snapped = axis.snap(u)
    assert np.array_equal(axis.snap(snapped), snapped)
    found = axis.values_at(snapped)
    assert [axis.locate(v) for v in found] == pytest.approx(snapped.tolist(), abs=1e-9)
    for v, place in zip(found, snapped, strict=True):
        assert all((v == w and type(v) is type(w)) == (place == other)
                   for w, other in zip(found[:20], snapped[:20], strict=True))  # fmt: skip


def test_locate_distinguishes_arrays_and_estimators():
    arrays, models = [np.zeros(2), np.ones(2)], [SVC(), SVC(C=2)]
    for values in (arrays, models):
        axis = axis_of("p", values)
        assert axis.locate(values[1]) == 0.75
        with pytest.raises(ValueError, match="not among"):
            axis.locate("another")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"k": "c", "C": 1.0}, r"k='c' is not among \['a', 'b'\]"),
        ({"k": "a", "C": 11.0}, "C=11.0 is not a value of its distribution.*from 0.1 to 10"),
        ({"k": "a", "C": "one"}, "C='one' is not a value"),
        ({"k": "a"}, r"has the parameters \['k'\], not \['C', 'k'\]"),
    ],
)
def test_locate_says_why_a_candidate_is_outside_the_space(params, message):
    space = SearchSpace({"k": ["a", "b"], "C": stats.loguniform(0.1, 10)})
    with pytest.raises(ValueError, match=message):
        space.locate(params)


@settings(max_examples=6)
@given(grids=GRIDS, seed=st.integers(0, 99))
def test_near_stays_in_the_space_and_features_are_in_the_unit_cube(grids, seed):
    rng = np.random.default_rng(seed)
    space = SearchSpace(grids)
    points = space.fill(20, rng)
    near = space.near(points.take([0]), 0.1, 30, rng)
    assert (near.subspace == points.subspace[0]).all()
    everything = Points.concatenate([points, near])
    params = space.params(everything)
    for i in range(20, len(everything)):
        point = space.locate(params[i])
        assert point.unit[0] == pytest.approx(everything.unit[i], abs=1e-9, nan_ok=True)
        assert space.params(point) == (params[i],)
    features, owner = space.features(everything), space.owner
    assert features.shape == (len(everything), len(owner))
    assert ((features >= 0) & (features <= 1)).all()
    assert owner.size == 0 or set(owner) == set(range(owner.max() + 1))
