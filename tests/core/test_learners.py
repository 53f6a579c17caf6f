"""Models that protect their training records: what is summed has its sensitivity, and its noise."""

import math
import warnings
from collections import UserList, deque
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kstest, norm
from sklearn.datasets import make_moons
from sklearn.linear_model import LinearRegression

from sklearn_dpbo import PrivacyLedger, learners
from sklearn_dpbo.exceptions import LowUtilityWarning
from sklearn_dpbo.learners import (
    PrivateClassifier,
    PrivateLogisticRegression,
    PrivateRegressor,
    PrivateRidge,
    PrivateTraining,
    _curved,
)
from sklearn_dpbo.learners._counts import size_counts
from sklearn_dpbo.learners._descent import Course
from sklearn_dpbo.learners._gradients import _batches
from sklearn_dpbo.learners._places import places_of_counts, reach_of_counts
from sklearn_dpbo.learners._records import Columns
from sklearn_dpbo.learners._ridge import _STEPS
from sklearn_dpbo.learners._rows import (
    IntegerRows,
    Rows,
    Scaling,
    exact_product,
)
from sklearn_dpbo.learners._tables import tables
from sklearn_dpbo.privacy.float_errors import ignore_float_errors
from sklearn_dpbo.privacy.gdp import gdp_within
from sklearn_dpbo.privacy.mechanisms import Mechanisms
from sklearn_dpbo.privacy.sensitive import Secret
from sklearn_dpbo.testing import seeded_noise

pytestmark = pytest.mark.usefixtures("seeded")

ANY = st.floats(width=64)
TABLES = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=ANY)


@settings(max_examples=60)
@given(
    TABLES,
    *[st.floats(1e-3, 1e3), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3)],
    *[st.floats(1, 9), st.sampled_from([1.0, 4.0])],
)
def test_scaled_rows_lie_in_the_unit_ball_and_keep_their_direction(
    rows, norm, center, scale, reach, tails
):
    d = rows.shape[1]
    with ignore_float_errors():
        found = Scaling(np.full(d, center), np.full(d, scale), norm, reach, tails).rows(rows)
        scaled = (rows - center) / scale
    assert (np.linalg.norm(found, axis=1) <= 1 + 1e-12).all()
    short = (np.abs(scaled) < min(1, norm / 10)).all(axis=1)
    assert np.allclose(found[short], scaled[short] / norm)


def moves_of(d, pairs):
    """Return the sensitivities, and shares, of tables of few or of many units."""
    found, counted_in_pairs = tables(10_000 if pairs else 10, d, 0.3)
    assert counted_in_pairs == pairs
    return [found[kind] for kind in ("sizes", "places", "closer places", "norms")]


def places_of(X, release, std, pairs, unit=None):
    """Return columns, sealed, and where they lie; `release` takes tables that nobody can read."""
    columns = Columns(Secret(Rows(X, None, unit, {})))
    stds = dict.fromkeys(("sizes", "places", "closer places"), std)
    tables = SimpleNamespace(release=release, stds=stds, pairs=pairs)
    return columns, places_of_counts(columns, tables, np.full(X.shape[1], np.nan))


@ignore_float_errors()
def counted(X, unit, pairs, release):
    """Return where columns lie, and the tables that say so; `release` adds noise."""
    seen = []

    def call(table):
        seen.append(table._open())
        return release(len(seen) - 1, seen[-1])

    columns, places = places_of(X, call, 2.0**20, pairs, unit)
    scaling = Scaling(places.center, places.scale, reach=2.5)
    seen.append(columns.norms(scaling, X.shape[1])._open())
    return places, seen


@settings(max_examples=60)
@given(TABLES, st.booleans(), st.booleans(), st.data())
def test_no_unit_moves_counts_further_than_promised(rows, grouped, pairs, data):
    """And what is counted next follows from what was released alone."""
    n, d = rows.shape
    unit = None
    if grouped:
        unit = np.unique(
            data.draw(arrays(np.intp, n, elements=st.integers(0, 2))), return_inverse=True
        )[1]
    own = np.arange(n) == 0 if unit is None else unit == unit[0]
    changed = rows.copy()
    changed[own] = data.draw(arrays(np.float64, (int(own.sum()), d), elements=ANY))
    factor, released = data.draw(st.sampled_from([1, 100])), []

    def release(i, table):
        released.append(factor * table)  # as if there were more such units
        return released[-1]

    first, before = counted(rows, unit, pairs, release)
    last, after = counted(changed, unit, pairs, lambda i, _: released[i])
    assert (first.center == last.center).all() and (first.scale == last.scale).all()
    for a, b, (sensitivity, _) in zip(before, after, moves_of(d, pairs), strict=True):
        assert math.sqrt(((a - b).astype(object) ** 2).sum()) <= sensitivity


def test_a_unit_is_compared_with_one_other_of_a_fixed_permutation():
    """Else a sorted table would look as if values were close."""
    rows = Rows(np.arange(10_000.0)[:, None], None, None, {})
    sizes = size_counts(rows, pairs=True)[0, -119:]
    usual = np.flatnonzero(sizes > sizes.sum() / 20)
    assert 2.0 ** (usual.min() - 59) > 100 and sizes.sum() == 5_000 * 2**20


@pytest.mark.parametrize("learner", [PrivateLogisticRegression, PrivateClassifier, PrivateRidge])
def test_less_is_cut_off_as_noise_vanishes_but_nothing_beyond_the_bounds_counts(learner):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 2))
    own = {"y_bounds": (0, 1)} if learner is PrivateRidge else {"max_iter": 2}
    few, many = (learner(epsilon=e, bounds=(-1, 1), **own).fit(X, X[:, 0] > 0) for e in (1, 1e6))
    assert few.reach_ == 1 < many.reach_
    beyond, at = (many._linear(np.array([row])) for row in ((5.0, -8.0), (1.0, -1.0)))
    assert (beyond == at).all()
    known = learner(epsilon=1e6, bounds=(-1, 1), max_norm=1.0, **own).fit(X, X[:, 0] > 0)
    assert known.reach_ == 1, "the ranges are the bounds"


def test_where_no_size_stands_out_noise_alone_makes_columns_neither_huge_nor_tiny():
    reach, std = [], 65 * 2**20
    for seed in range(100):
        X = np.random.default_rng(seed).normal(0, 2, (300, 1))
        noise = np.random.default_rng(seed)

        def release(table, noise=noise):
            counts = table._open()
            return counts + np.rint(noise.normal(0, std, counts.shape)).astype(int)

        _, places = places_of(X, release, std, pairs=False)
        reach.append(abs(places.center[0]) + places.scale[0])
    assert np.mean(np.array(reach) > 1e4) < 0.04
    assert np.mean(np.array(reach) < 1) < 0.15


def test_columns_that_noise_hides_are_named():
    X = pd.DataFrame({"sodium": np.full(300, 140.0), "year": np.linspace(2000, 2020, 300)})
    y = np.arange(300) % 2
    with pytest.warns(LowUtilityWarning, match=r"\['sodium', 'year'\] lie.*pass bounds"):
        PrivateLogisticRegression(epsilon=0.1).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LowUtilityWarning)
        PrivateLogisticRegression(epsilon=100.0).fit(X, y)


@pytest.mark.parametrize("kind", [list, tuple, deque, UserList])
@pytest.mark.parametrize("X", [[[1.0, 2.0]] * 4, [[1.0], [1.0, 2.0], [], [3.0]], [["a"]] * 4])
def test_lists_are_refused_whatever_their_records_are(X, kind):
    for learner in (PrivateLogisticRegression(), PrivateRidge(y_bounds=(0, 1))):
        with pytest.raises(ValueError, match=f"^X is a {kind.__name__}, so single records"):
            learner.fit(kind(X), [0, 1, 0, 1])


def problem(n=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, (X @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=n) > 0).astype(int)


# Nothing is released to scale by.
SCALED = {"bounds": (-1, 1), "max_norm": 1.5}
LEARNERS = {
    "logistic": PrivateLogisticRegression(max_iter=3, clip=0.5, **SCALED, classes=[0, 1]),
    "straight and curved": PrivateClassifier(
        max_iter=3, curved=0.5, n_trees=4, random_state=0, **SCALED, classes=[0, 1]
    ),
    "straight and curved regression": PrivateRegressor(
        max_iter=3, curved=0.5, n_trees=4, random_state=0, **SCALED, y_bounds=(0, 1)
    ),
    "ridge": PrivateRidge(**SCALED, y_bounds=(0, 1)),
}


def test_every_learner_is_tested():
    public = {getattr(learners, name) for name in learners.__all__} - {PrivateTraining}
    assert {type(each) for each in LEARNERS.values()} == public


@pytest.mark.parametrize("n_batches", [1, 3])
@pytest.mark.parametrize("half", [False, True])
def test_tables_have_gaussian_noise_of_the_documented_scale(half, n_batches, monkeypatch):
    """A fifth of the budget (in rho) is for counts, and each step has the same of the rest.

    A unit is in the gradients of one batch: 67 of 200 at most.
    """
    X, y = problem(3_000)
    monkeypatch.setattr(PrivateLogisticRegression, "_n_batches", lambda self, m: n_batches)
    noise, stated, original = [], [], Mechanisms.tables

    def spied(self, price, sensitivities, **params):
        stated.extend(map(price.scale, sensitivities))
        release = original(self, price, [s / (1 + half) for s in sensitivities], **params)

        def call(table):
            noisy = release(table)
            noise.append((noisy - table._open()).ravel())
            return noisy

        return call

    monkeypatch.setattr(Mechanisms, "tables", spied)
    PrivateLogisticRegression(epsilon=0.5, delta=1e-5, max_iter=200).fit(X, y)
    rho = gdp_within(0.5, 1e-5) ** 2 / 2
    counts, pairs = tables(3_000, 3, math.sqrt(2 * rho))
    del counts["targets"]
    assert pairs and len(noise) == len(counts) + 200
    rest = 1 - sum(share for _, share in counts.values())
    most = math.ceil(200 / n_batches)
    moves = [*counts.values(), *[(IntegerRows.sensitivity, rest / most)] * 200]
    scales = [moved / math.sqrt(2 * share * rho) for moved, share in moves]
    assert half or np.allclose(stated, scales, rtol=1e-9)
    parts = [each / scale for each, scale in zip(noise, scales, strict=True)]
    for part in (*parts[:4], np.concatenate(parts[4:])):
        assert (kstest(part, norm.cdf).pvalue > 1e-4) != half or len(part) < 100


def test_other_alphas_follow_from_one_release():
    X, y = problem(500)
    model = PrivateRidge(y_bounds=(0, 1)).fit(X, y)
    gram, before = model.gram_.copy(), model.coef_.copy()
    assert not np.allclose(model.refitted(alpha=100.0).coef_, before)
    assert np.allclose(model.refitted(alpha=1.0).coef_, before)
    assert (model.gram_ == gram).all()
    (loss,) = model.privacy_.spends
    assert (loss.epsilon, loss.delta) == (1.0, 1e-6)


def test_the_sensitivity_of_sums_has_room_for_rounding_errors_of_norms():
    exact = 2 * IntegerRows._largest
    assert exact * (1 + 1e-10) < IntegerRows.sensitivity < exact * (1 + 1e-8)


def test_sums_of_products_are_exact():
    rng = np.random.default_rng(0)
    rows = rng.integers(-(2**14), 2**14, (1000, 3))
    assert (exact_product(rows, rows) == rows.T @ rows).all()
    X, e = rng.uniform(-0.5, 0.5, (1000, 3)), rng.uniform(-0.5, 0.5, (1000, 2))
    total = IntegerRows([X]).total(np.zeros((2, 3)), lambda _: e)
    assert np.abs(total * IntegerRows([X]).step - e.T @ X).max() < 0.1
    found = np.trunc(e * 2**18).astype(int).T @ np.trunc(X * 2**13).astype(int)
    assert (total == found).all()


def test_a_ridge_is_solved_for_the_columns_that_it_is_given():
    """Also after another solution."""
    X = np.random.default_rng(0).uniform(-1, 1, (50, 12))
    model = PrivateRidge(bounds=(-1, 1), y_bounds=(-1, 1), epsilon=10.0, delta=1e-6)
    model.fit(X, X[:, 0])
    for start in (1, 5):
        used = (np.arange(12) >= start) & (np.arange(12) < start + 4)
        coefficients = model.refitted(columns=used).coef_
        assert coefficients[used].all() and not coefficients[~used].any()


@pytest.mark.slow
def test_a_classifier_of_curved_functions_separates_what_no_line_does():
    X, y = make_moons(3_000, noise=0.1, random_state=0)
    with seeded_noise(0):
        model = PrivateClassifier(curved=0.66, random_state=0, classes=[0, 1])
        assert model.fit(X[:2_000], y[:2_000]).score(X[2_000:], y[2_000:]) > 0.93
        straight = PrivateClassifier(curved=0, classes=[0, 1])
        assert straight.fit(X[:2_000], y[:2_000]).score(X[2_000:], y[2_000:]) < 0.91


@pytest.mark.slow
def test_without_noise_a_regressor_predicts_means_and_not_medians():
    """Where noise is negligible, nothing is clipped: skewed errors do not draw predictions down."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (6_000, 2))
    y = X @ [1.0, -2.0] + rng.exponential(1.0, len(X))
    with seeded_noise(0):
        model = PrivateRegressor(epsilon=1e6, y_bounds=(-12, 12), n_trees=5).fit(X, y)
        few = PrivateRegressor(y_bounds=(-12, 12), n_trees=5).fit(X[:2_000], y[:2_000])
    assert model.score(X, y) > LinearRegression().fit(X, y).score(X, y) - 0.01
    assert abs(np.mean(y - model.predict(X))) < 0.02
    assert model.clip_ > few.clip_ == 0.1


def test_ridge_warns_where_noise_is_larger_than_what_columns_say():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 6))
    y = X @ rng.normal(size=6) + rng.normal(size=2_000)
    warned = {}
    with seeded_noise(0):
        for bound in (10, 200):
            for _ in range(12):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    PrivateRidge(y_bounds=(-bound, bound)).fit(X, y)
                texts = [str(each.message) for each in caught]
                warned.setdefault(bound, []).append(any("worse than the mean" in t for t in texts))
    assert sum(warned[200]) >= 8 and not any(warned[10])


def test_a_regressor_with_many_records_keeps_the_tails_of_columns_and_targets():
    rng = np.random.default_rng(0)
    X = rng.standard_t(2.5, (8_000, 2))
    y = X @ [2.0, 1.0] + rng.standard_normal(8_000)
    models = []
    with seeded_noise(0):
        for epsilon, n in ((1.0, 1_000), (3.0, 6_000), (100.0, 6_000)):
            models.append(PrivateRegressor(n_trees=5, epsilon=epsilon).fit(X[:n], y[:n]))
    few, more, most = models
    assert few.reach_ == 1 and 1.5 < more.reach_ < most.reach_
    assert (few.tails_, most.tails_) == (1.0, 4.0)
    assert few.y_scale_ < more.y_scale_ < most.y_scale_
    assert few.clip_ == 0.1 and more.clip_ < 0.1, "wider targets have no more noise"
    assert 0.72 < more.score(X[6_000:], y[6_000:]) < most.score(X[6_000:], y[6_000:])


def test_tails_keep_their_order_and_reach_four_times_as_far_at_most():
    x = np.array([[0.0], [2.0], [2.0 * math.e], [-2.0 * math.e**2], [1e9], [np.inf], [np.nan]])
    cut, kept = (Scaling(np.zeros(1), np.ones(1), 1.0, 2.0, tails) for tails in (1.0, 4.0))
    assert cut.columns(x)[:, 0].tolist() == [0, 2, 2, -2, 2, 2, 0]
    assert np.allclose(kept.columns(x)[:, 0], [0, 2, 4, -6, 8, 8, 0])


def test_targets_reach_as_far_as_nine_tenths_of_their_variance():
    few, far = np.zeros((2, 10))
    few[[0, 5, 6]], far[[0, 9]] = (900, 2, 98), (890, 110)
    # Of the variance of those at 6.72 scales 0.16 lies beyond 4, and 0.03 beyond 5.6.
    total = 0.098 * 6.72**2 + 0.9 * 0.16 + 0.002 * 0.16
    reach, beyond = reach_of_counts(2**20 * few, 2**20, 1_000)
    assert reach == 5.6 and beyond == pytest.approx(0.098 * 1.12**2 / total)
    assert reach_of_counts(2**20 * few, 33 * 2**20, 1_000) == (1.0, 0.0), "it may be noise"
    reach, beyond = reach_of_counts(2**20 * far, 2**20, 1_000)
    assert reach == 8, "and no farther"
    assert beyond == pytest.approx(0.11 * 30.4**2 / (0.11 * 38.4**2 + 0.89 * 0.16))


def far_minority(n):
    """Return columns and targets, one in six of which lies far from the others."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    far = X[:, 0] + X[:, 1] > 1.4
    return X, np.where(far, 1.0, 90 + 2 * X[:, 2]) + rng.standard_normal(n)


def test_a_regressor_reaches_targets_far_from_the_others():
    """Else it is worse than the mean."""
    X, y = far_minority(12_000)
    with seeded_noise(0):
        model = PrivateRegressor(epsilon=3.0, y_bounds=(0, 100), random_state=0).fit(X, y)
    assert model.y_center_ - model.y_scale_ < 15 and model.score(X, y) > 0.5


@pytest.mark.parametrize(("distance", "warns"), [(1.0, True), (0.05, False)])
def test_a_regressor_warns_of_targets_that_it_does_not_reach(distance, warns):
    X, y = far_minority(12_000)
    y = np.where(y < 50, 90 - 1e3 * distance, y)
    with warnings.catch_warnings(record=True) as caught, seeded_noise(0):
        warnings.simplefilter("always", LowUtilityWarning)
        # As far as the bounds reach, all that lies within is reached.
        bounds = (-2e5, 1e5) if distance == 1 else None
        model = PrivateRegressor(epsilon=3.0, max_iter=2, y_bounds=bounds).fit(X, y)
    texts = [str(each.message) for each in caught if "no prediction" in str(each.message)]
    assert bool(texts) == warns, texts
    assert 80 < model.y_center_ < 100 and all(f"from {model.y_center_:.3g}. " in t for t in texts)


def test_descents_are_long_where_there_is_little_noise():
    X, y = curved_problem(3, 4_000, 2)
    few, many = (
        PrivateClassifier(epsilon=epsilon, classes=[0, 1, 2]).fit(X, y) for epsilon in (0.5, 10.0)
    )
    assert few.n_iter_ == 60 and few.tree_columns_.shape == (6, 40)
    assert many.n_iter_ == 150 and 40 < many.tree_columns_.shape[1] < 120, "time limits classes"
    assert many.coef_noise_std_ < few.coef_noise_std_
    own = PrivateClassifier(epsilon=10.0, classes=[0, 1, 2], n_trees=3, max_iter=7).fit(X, y)
    assert own.n_iter_ == 7 and own.tree_columns_.shape[1] == 3


def test_batches_divide_units_by_their_number_alone():
    rng = np.random.default_rng(0)
    for unit in (None, rng.permutation(np.repeat(np.arange(50), 2))):
        rows = Rows(rng.normal(size=(100, 2)), np.zeros(100), unit, {})
        found = _batches(rows, 3)
        assert sorted(np.concatenate(found)) == list(range(100))
        other = _batches(replace(rows, X=-rows.X, y=rows.y + 1), 3)
        assert all((a == b).all() for a, b in zip(found, other, strict=True))
        own = [set(batch if unit is None else unit[batch]) for batch in found]
        assert sum(map(len, own)) == len(set.union(*own)), "no unit is in two of them"
    assert not np.array_equal(
        _batches(Rows(np.zeros((9, 1)), np.zeros(9), None, {}), 3)[0], [0, 3, 6]
    )


def test_many_records_are_divided_into_batches_and_give_the_same_model():
    X, y = problem(2_000)
    models = []
    for n in (1, 2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PrivateLogisticRegression, "_n_batches", lambda self, m, n=n: n)
            models.append(PrivateLogisticRegression(epsilon=1e4, max_iter=200).fit(X, y))
    one, two = models
    assert np.allclose(one.coef_, two.coef_, rtol=0.1) and not np.array_equal(one.coef_, two.coef_)
    few, many = (PrivateLogisticRegression()._n_batches(m) for m in (49_999, 10**6))
    assert (few, many) == (1, 8)


def test_a_regressor_needs_bounds_of_targets_if_nothing_is_counted():
    X, y = problem()
    with pytest.raises(ValueError, match="y_bounds"):
        PrivateRegressor(**SCALED).fit(X, y)


@pytest.mark.parametrize(
    "extreme",
    [
        {"bounds": (-1e308, 1e308)},
        {"y_bounds": (-1e308, 1e308)},
        {"max_norm": 1e-320},
        {"clip": 5e-324},
        {"C": 1e308},
    ],
)
def test_parameters_at_which_numbers_overflow_are_refused_before_the_charge(extreme, tmp_path):
    X, y = problem()
    ledger = PrivacyLedger(tmp_path / "ledger", "data", 1.0, 0.1, create=True)
    (name,) = extreme
    with pytest.raises(ValueError, match=f"{name}.* 1e100"):
        PrivateRegressor(**extreme, ledger=ledger).fit(X, y)
    assert not ledger.history


@pytest.mark.slow
@pytest.mark.parametrize("half", [False, True])
def test_intervals_of_coefficients_contain_the_truth_as_often_as_they_say(half):
    """Not if the noise is twice as large as they take it to be."""
    truth, rng, inside = np.array([1.0, -0.5, 0.0]), np.random.default_rng(0), []
    model = PrivateRidge(0.0, bounds=(-5, 15), y_bounds=(-3, 5), max_norm=3**0.5)
    for seed in range(80):
        X = rng.uniform(-1, 1, (3_000, 3))
        y = X @ truth + 1 + 0.3 * rng.normal(size=len(X))
        with seeded_noise(seed):
            model.fit(10 * X + 5, y)
        if half:
            model.noise_ /= 2
        inside += list(np.abs(model.coef_ - truth / 10) < 1.96 * model.coef_std_)
    assert (0.92 <= np.mean(inside) <= 0.98) != half, np.mean(inside)


def test_targets_in_other_units_than_their_bounds_are_warned_of():
    X, y = problem(2000)
    with pytest.warns(LowUtilityWarning, match="one end of y_bounds=\\(0, 0.1\\)"):
        PrivateRidge(y_bounds=(0, 0.1)).fit(X, y + 1)


@pytest.mark.filterwarnings("ignore")
def test_no_standard_errors_where_noise_drowns_the_sums():
    X, y = problem(100)
    model = PrivateRidge(y_bounds=(0, 1), epsilon=0.01)
    assert np.isnan(model.fit(X, y).coef_std_).all()


@pytest.mark.slow
def test_indicators_of_rare_categories_are_not_cut_off():
    """A width far below 1 would make their coefficients as many times too large."""
    rng = np.random.default_rng(0)
    X = (rng.random((20_000, 15)) < np.linspace(0.01, 0.12, 15)).astype(float)
    y = (rng.random(20_000) < 0.3 + 0.2 * X[:, 14]).astype(int)
    for _ in range(10):
        model = PrivateLogisticRegression(max_iter=1, classes=[0, 1])
        assert model.fit(X, y).scale_.min() > 0.7


# ------------------------------------------------------------------------- shape functions
KNOWN_RANGES = {"bounds": (-1, 1), "max_norm": 1.0, "random_state": 0, "curved": 0.5}


def curved_model(kind, **params):
    """Return a model whose scaling and steps are the same with and without noise."""
    if kind == "regressor":
        model = PrivateRegressor(y_bounds=(-2, 2), clip=0.1, **KNOWN_RANGES, **params)
    else:
        model = PrivateClassifier(classes=range(kind), clip=0.56, **KNOWN_RANGES, **params)
    model.learning_rate = 3.0
    return model


def curved_problem(kind, m, d):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (m, d))
    y = X[:, 0] - np.abs(X[:, 1]) + 0.3 * rng.standard_normal(m)
    return X, y if kind == "regressor" else np.digitize(y, [-0.5, 0.5][: kind - 1])


@pytest.mark.parametrize("kind", [2, 3, "regressor"])
def test_coefficients_that_no_record_moves_have_the_noise_that_the_model_says(kind):
    X, y = curved_problem(kind, 2_000, 12)
    X[:, 2:] = 0.0  # the centre, where functions of the column are 0
    model = curved_model(kind, max_iter=20, n_trees=1).fit(X, y)
    straight, bins = np.split(model.coef_[:, : 12 * 9], [12], axis=1)
    flat = np.hstack([straight[:, 2:], bins[:, 2 * 8 :]])
    assert 0.85 < flat.std() / model.coef_noise_std_ < 1.15


@pytest.mark.slow
@pytest.mark.parametrize("kind", [2, "regressor"])
def test_bands_of_shape_functions_contain_those_without_noise(kind, monkeypatch):
    monkeypatch.setattr(
        _curved.Curved, "_course", lambda self, m: Course()
    )  # with noise and without
    X, y = curved_problem(kind, 2_000, 3)
    exact = curved_model(kind, max_iter=30, n_trees=10, epsilon=1e7).fit(X, y)
    distances = []
    for _ in range(6):
        model = curved_model(kind, max_iter=30, n_trees=10).fit(X, y)
        for j in range(3):
            shape = model.shape_function(j)
            error = shape.change - exact.shape_function(j).change
            distances.append(error[::10] / np.maximum(shape.noise_std[::10], 1e-12))
    distances = np.array(distances)
    assert (np.abs(distances) < 1.96).mean() > 0.95
    assert distances.std() > 0.3, "the bands are not far too wide"


@pytest.mark.parametrize("kind", [2, 3, "regressor"])
def test_a_shape_function_is_how_predictions_change(kind):
    X, y = curved_problem(kind, 1_000, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = curved_model(kind, max_iter=5).fit(frame, y)
    target = 1 if kind == 3 else None
    shape = model.shape_function("b", target=target)
    assert np.array_equal(shape.grid_values, np.linspace(-1, 1, 101))
    rows = np.tile(model.center_[:3], (102, 1))
    rows[:101, 1] = shape.grid_values
    predict = model.predict if kind == "regressor" else model.decision_function
    values = predict(pd.DataFrame(rows, columns=frame.columns))
    if kind == 3:
        values = values[:, 1] - values.mean(axis=1)
    assert np.allclose(shape.change, values[:-1] - values[-1])
    given = model.shape_function(1, [0.3, 7.0], target=target)
    for name in ("change", "of_column", "noise_std"):
        assert np.isclose(given[name][1], shape[name][-1])
    straight = model.set_params(curved=0.0).fit(frame, y).shape_function("b", target=target)
    assert np.allclose(straight.change, straight.of_column)


def test_shape_functions_need_a_column_and_a_class_that_there_is():
    X, y = curved_problem(3, 500, 3)
    model = curved_model(3, max_iter=2).fit(X, y)
    for column in (3, -1, "a"):
        with pytest.raises(ValueError, match="column must be a position from 0 to 2, or one of"):
            model.shape_function(column, target=1)
    for target in (None, 3):
        with pytest.raises(ValueError, match=r"target must be one of .*; found"):
            model.shape_function(0, target=target)


def test_a_ridge_declares_the_longest_rows_with_their_rounding(monkeypatch):
    declared = []

    def tables(self, records, n, sensitivity, what):
        declared.append(sensitivity)
        raise InterruptedError

    monkeypatch.setattr(PrivateRidge, "_tables", tables)
    with pytest.raises(InterruptedError):
        ridge = PrivateRidge(epsilon=1.0, delta=1e-6, y_bounds=(-1, 1))
        ridge.fit(np.zeros((20, 2)), np.zeros(20))
    row, half = (_STEPS + 1) ** 2, (_STEPS // 2 + 1) ** 2
    longest = math.hypot(row + 2 * half, row)
    assert longest < declared[0] < longest * (1 + 2e-12)
