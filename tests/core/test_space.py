"""Search spaces, to candidates."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.model_selection import ParameterGrid
from sklearn.svm import SVC

from sklearn_dpbo._space.axes import axis_of
from sklearn_dpbo._space.space import Points, SearchSpace


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


@settings(max_examples=150)
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


# ---------------------------------------------------------------- coordinates, and back
DISTRIBUTIONS = [
    stats.loguniform(1e-4, 1e3), stats.norm(3, 2), stats.uniform(-1, 5), stats.randint(2, 40),
    stats.binom(6, 0.3), stats.geom(0.4), stats.rv_discrete(values=([1, 3, 7], [0.2, 0.3, 0.5])),
]  # fmt: skip
LISTS = [[3, 1, 2], [1, 1.0, 2], ["b", "a"], [None, 0.5, "x"], [True, False], [(1, 2), {"a": 1}]]


@pytest.mark.parametrize("values", DISTRIBUTIONS + LISTS, ids=range(13))
def test_every_value_has_one_coordinate_and_every_coordinate_its_value(values):
    axis = axis_of("p", values)
    u = np.random.default_rng(0).random(200)
    snapped = axis.snap(u)
    assert np.array_equal(axis.snap(snapped), snapped)
    found = axis.values_at(snapped)
    assert [axis.locate(v) for v in found] == pytest.approx(snapped.tolist(), abs=1e-9)
    for v, place in zip(found, snapped, strict=True):
        assert all((v == w and type(v) is type(w)) == (place == other)
                   for w, other in zip(found[:20], snapped[:20], strict=True))  # fmt: skip


def test_values_without_plain_equality_are_told_apart():
    arrays, models = [np.zeros(2), np.ones(2)], [SVC(), SVC(C=2)]
    for values in (arrays, models):
        axis = axis_of("p", values)
        assert axis.locate(values[1]) == 0.75
        with pytest.raises(ValueError, match="not among"):
            axis.locate("another")


def test_settings_are_found_again_in_conditional_spaces():
    space = SearchSpace([
        {"kernel": ["linear"], "C": stats.loguniform(0.1, 10)},
        {"kernel": ["rbf", "poly"], "C": stats.loguniform(0.1, 10), "n": stats.randint(1, 5)},
    ])  # fmt: skip
    found = space.design(40, np.random.default_rng(0))
    for i, setting in enumerate(found.params):
        point = space.locate(setting)
        assert point.subspace[0] == found.points.subspace[i]
        assert point.unit[0] == pytest.approx(found.points.unit[i], abs=1e-9, nan_ok=True)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"k": "c", "C": 1.0}, r"k='c' is not among \['a', 'b'\]"),
        ({"k": "a", "C": 11.0}, "C=11.0 is not a value of its distribution.*from 0.1 to 10"),
        ({"k": "a", "C": "one"}, "C='one' is not a value"),
        ({"k": "a"}, r"has the parameters \['k'\], not \['C', 'k'\]"),
    ],
)
def test_a_setting_outside_the_space_is_refused_with_the_reason(setting, message):
    space = SearchSpace({"k": ["a", "b"], "C": stats.loguniform(0.1, 10)})
    with pytest.raises(ValueError, match=message):
        space.locate(setting)


def test_a_fraction_is_no_value_of_a_distribution_of_integers():
    with pytest.raises(ValueError, match=r"n=2\.5 is not a value"):
        SearchSpace({"n": stats.randint(1, 5)}).locate({"n": 2.5})


@settings(max_examples=60)
@given(grids=st.lists(GRIDS, min_size=1, max_size=3), seed=st.integers(0, 99))
def test_neighbours_stay_in_the_space_and_features_tell_settings_apart(grids, seed):
    rng = np.random.default_rng(seed)
    space = SearchSpace(grids)
    points = space.fill(20, rng)
    near = space.near(points.take([0]), 0.1, 30, rng)
    assert (near.subspace == points.subspace[0]).all()
    everything = Points.concatenate([points, near])
    params = space.candidates(everything).params
    for i in range(20, len(everything)):
        point = space.locate(params[i])
        assert point.unit[0] == pytest.approx(everything.unit[i], abs=1e-9, nan_ok=True)
        assert space.candidates(point).params == (params[i],)
    features, owner = space.features(everything), space.owner
    assert features.shape == (len(everything), len(owner))
    assert ((features >= 0) & (features <= 1)).all()
    assert owner.size == 0 or set(owner) == set(range(owner.max() + 1))


def test_a_smaller_radius_moves_less():
    space = SearchSpace({"x": stats.uniform(0, 1), "y": stats.uniform(0, 1)})
    center = space.locate({"x": 0.5, "y": 0.5})
    far, close = (
        np.abs(space.near(center, radius, 300, np.random.default_rng(0)).unit - 0.5).mean()
        for radius in (0.2, 0.02)
    )
    assert close < far / 8


def test_two_different_categories_are_one_apart_whichever_they_are():
    space = SearchSpace(
        [{"k": ["a", "b", "c"], "x": [0.1, 0.2]}, {"k": ["c", None], "x": [0.1, 0.2]}]
    )
    params = [{"k": k, "x": 0.1} for k in "abc"] + [{"k": None, "x": 0.1}]
    a, b, c, none = (space.features(space.locate(p))[0] for p in params)
    distances = [np.linalg.norm(p - q) for p, q in ((a, b), (a, c), (b, c))]
    assert distances == pytest.approx([1, 1, 1])
    # None is in another dict of the space, which is one further difference.
    assert np.linalg.norm(c - none) == pytest.approx(np.sqrt(2))
    assert len(set(space.owner)) == 3


def test_a_category_in_two_dicts_is_the_same():
    space = SearchSpace([{"k": ["a", "b"]}, {"k": ["b", "a"], "x": [1, 2]}])
    features = space.features(space.fill(10, np.random.default_rng(0)))
    found = space.candidates(space.fill(10, np.random.default_rng(0))).params
    one_hot = features[:, :2] > 0
    assert len({tuple(row) for row, p in zip(one_hot, found, strict=True) if p["k"] == "a"}) == 1
