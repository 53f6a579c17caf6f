"""Models that protect their training records: what is summed has its sensitivity, and its noise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kstest, norm
from sklearn.linear_model import LogisticRegression, Ridge

from sklearn_dpbo._data.units import Units
from sklearn_dpbo._privacy import mechanisms
from sklearn_dpbo._privacy.mechanisms import Mechanisms
from sklearn_dpbo._privacy.zcdp import zcdp_within
from sklearn_dpbo.exceptions import BudgetExceededError
from sklearn_dpbo.learners import (
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateRidgeClassifier,
)
from sklearn_dpbo.learners._ridge import _STEPS
from sklearn_dpbo.learners._rows import IntegerRows, exact_product, integer_rows, within_ball

ANY = st.floats(width=64)
TABLES = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=ANY)


@settings(max_examples=60)
@given(TABLES, st.integers(1, 2**20), st.data())
def test_no_unit_has_rows_longer_than_promised(rows, steps, data):
    for unit in (None, data.draw(arrays(np.intp, len(rows), elements=st.integers(0, 2)))):
        found = integer_rows(rows, steps, unit)
        squares = (found**2).sum(axis=1)
        of = np.arange(len(rows)) if unit is None else unit
        assert all(squares[of == u].sum() <= (steps + 1) ** 2 for u in of)


@settings(max_examples=40)
@given(TABLES, st.floats(1e-3, 1e3))
def test_scaled_rows_lie_in_the_unit_ball_and_keep_their_direction(rows, radius):
    found = within_ball(rows, radius)
    assert (np.linalg.norm(found, axis=1) <= 1 + 1e-12).all()
    short = np.isfinite(rows).all(axis=1) & (np.abs(rows).max(axis=1) < radius / 10)
    assert np.allclose(found[short], rows[short] / radius)


def problem(n=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, (X @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=n) > 0).astype(int)


LEARNERS = {
    "logistic": PrivateLogisticRegression(max_iter=3, clip=0.5, max_norm=1.5, classes=[0, 1]),
    "ridge": PrivateRidge(max_norm=1.5, y_bounds=(0, 1)),
    "ridge classifier": PrivateRidgeClassifier(max_norm=1.5, classes=[0, 1, 2]),
}
ODD = [(np.nan, 0.0, 1e308), (np.inf, -np.inf, 0.0), (1e308, 1e308, 1e308), (0.0, 0.0, 0.0)]


@pytest.fixture
def summed(monkeypatch):
    """What gets noise, with its scale; the noise is left out, so that paths are the same."""
    found = []

    def tables(self, price, sensitivity, *, purpose):
        def release(table):
            found.append((table._open().copy(), sensitivity))
            return table._open() * 0

        return release

    monkeypatch.setattr(Mechanisms, "tables", tables)
    return found


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.filterwarnings("ignore")
def test_no_unit_moves_what_is_summed_further_than_the_sensitivity(name, grouped, summed):
    X, y = problem(6)
    learner = LEARNERS[name].set_params(noise_random_state=0)
    groups = np.array([0, 0, 0, 1, 2, 2]) if grouped else None

    def tables(X, y):
        summed.clear()
        learner.fit(X, y, groups=groups)
        return [table for table, _ in summed]

    before, (_, sensitivity), largest = tables(X, y), summed[0], 0.0
    for row in [*ODD, (0.9, -0.8, 0.7), (-50.0, 3.0, 1.0)]:
        for label in (0, 1):
            changed, labels = X.copy(), y.copy()
            rows = slice(0, 3) if grouped else slice(0, 1)
            changed[rows], labels[rows] = row, label
            for a, b in zip(before, tables(changed, labels), strict=True):
                largest = max(largest, math.sqrt(((a - b).astype(float) ** 2).sum()))
    assert 0.2 * sensitivity < largest <= sensitivity


@pytest.mark.parametrize("half", [False, True])
def test_tables_have_gaussian_noise_of_the_documented_scale(half, monkeypatch):
    X, y = problem(50)
    exact, noisy, tables = [], [], Mechanisms.tables

    def spied(self, price, sensitivity, **params):
        release = tables(self, price, sensitivity / 2 if half else sensitivity, **params)

        def call(table):
            exact.append(table._open().ravel().copy())
            noisy.append(release(table).ravel())
            return noisy[-1].reshape(table._open().shape)

        return call

    monkeypatch.setattr(Mechanisms, "tables", spied)
    PrivateLogisticRegression(
        epsilon=0.5, delta=1e-5, max_iter=200, noise_random_state=0
    ).fit(X, y)  # fmt: skip
    scale = IntegerRows.sensitivity * math.sqrt(200 / (2 * zcdp_within(0.5, 1e-5)))
    noise = (np.concatenate(noisy) - np.concatenate(exact)) / scale
    assert (kstest(noise, norm.cdf).pvalue > 1e-6) != half


def test_a_sequence_is_charged_once_before_its_first_draw_and_ends():
    X, y = problem(50)
    model = PrivateLogisticRegression(max_iter=5, noise_random_state=0).fit(X, y)
    (loss,) = model.privacy_.spends
    assert (loss.epsilon, loss.delta) == (1.0, 1e-6)
    with pytest.raises(BudgetExceededError):
        mechanisms, _, _ = model._tables(1, 1.0, what="x", units=Units(9))
        for _ in range(2):
            mechanisms.budget.charge(loss)


def test_with_hardly_any_noise_models_are_those_of_scikit_learn():
    X, y = problem(2_000)
    free = {"epsilon": 1e9, "delta": 0.5, "noise_random_state": 0, "max_norm": 2.0}
    plain = LogisticRegression(C=1.0).fit(X / 2, y)
    found = PrivateLogisticRegression(C=1.0, max_iter=1000, clip=9, learning_rate=8, **free)
    assert np.abs(found.fit(X, y).predict_proba(X) - plain.predict_proba(X / 2)).max() < 0.03
    ridge = Ridge(alpha=1.0).fit(X / 2, y)
    found = PrivateRidge(alpha=1.0, y_bounds=(0, 1), **free).fit(X, y)
    assert np.abs(found.predict(X) - ridge.predict(X / 2)).max() < 0.01
    classifier = PrivateRidgeClassifier(**free).fit(X, y)
    assert classifier.score(X, y) > 0.95


def test_other_alphas_follow_from_one_release():
    X, y = problem(500)
    model = PrivateRidge(y_bounds=(0, 1), noise_random_state=0).fit(X, y)
    gram, before = model.gram_.copy(), model.coef_.copy()
    assert not np.allclose(model.refitted(alpha=100.0).coef_, before)
    assert np.allclose(model.refitted(alpha=1.0).coef_, before)
    assert (model.gram_ == gram).all() and len(model.privacy_.spends) == 1


@pytest.mark.filterwarnings("ignore")
def test_odd_records_raise_and_say_nothing(capfd):
    X, y = problem(60)
    for learner in LEARNERS.values():
        for row in ODD:
            X[0] = row
            learner.set_params(noise_random_state=0).fit(X, y).predict(X)
    assert capfd.readouterr() == ("", "")


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 3), st.data())
def test_no_unit_moves_a_sum_of_products_further_than_promised(n, d, k, data):
    """Whatever the rows and what they are multiplied with: a unit's part has norm S at most."""
    rows = data.draw(arrays(np.float64, (n, d), elements=st.floats(-1, 1)))
    factors = data.draw(arrays(np.float64, (n, k), elements=ANY))
    unit = data.draw(arrays(np.intp, n, elements=st.integers(0, 2)))
    sizes = np.bincount(unit)[unit]
    for of, each in ((np.arange(n), None), (unit, sizes)):
        for u in set(of.tolist()):
            own = np.where((of == u)[:, None], factors, 0.0)
            total = IntegerRows(rows, each).total(own).astype(object)
            assert 2 * math.sqrt((total**2).sum()) <= IntegerRows.sensitivity


def tables_of(ridge, X, y, groups=None):
    """Return the integers that a ridge releases with noise, and by how much it says they move."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        keep = lambda table: seen.append(table._open()) or seen[-1]  # noqa: E731
        patch.setattr(Mechanisms, "tables", lambda *_, **__: keep)
        patch.setattr(mechanisms, "zcdp_within", lambda *_: 0.5)
        scale = ridge.fit(X, y, groups).noise_ * _STEPS**2
    return seen[0].astype(object), scale


RIDGES = {
    "regression": PrivateRidge(y_bounds=(-1, 1), noise_random_state=0),
    "two classes": PrivateRidgeClassifier(classes=[0, 1], noise_random_state=0),
    "three classes": PrivateRidgeClassifier(classes=[0, 1, 2], noise_random_state=0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RIDGES)
@settings(max_examples=25)
@given(st.integers(1, 3), st.booleans(), st.data())
def test_no_unit_moves_the_release_of_a_ridge_further_than_promised(name, d, grouped, data):
    """Whatever records a unit has, and however many: one is replaced."""
    tables, groups = [], np.arange(6) // 2 if grouped else np.arange(6)
    rows = data.draw(arrays(np.float64, (6, d), elements=ANY))
    labels = data.draw(arrays(np.float64, 6, elements=st.sampled_from([-1, 0, 0.5, 1, 2])))
    for _ in range(2):
        tables.append(tables_of(RIDGES[name], rows, labels, groups if grouped else None))
        own = groups == 1
        rows, labels = rows.copy(), labels.copy()
        rows[own] = data.draw(arrays(np.float64, (int(own.sum()), d), elements=ANY))
        labels[own] = data.draw(
            arrays(np.float64, int(own.sum()), elements=st.sampled_from([-1, 0, 1]))
        )
    (first, sensitivity), (last, _) = tables
    assert math.sqrt(((first - last) ** 2).sum()) <= sensitivity


def test_the_release_of_a_ridge_moves_as_far_as_promised():
    first, sensitivity = tables_of(RIDGES["regression"], [[1.0, 0.0], [0.0, 0.0]], [1.0, 0.0])
    last, _ = tables_of(RIDGES["regression"], [[0.0, 1.0], [0.0, 0.0]], [-1.0, 0.0])
    assert math.sqrt(((first - last) ** 2).sum()) == pytest.approx(sensitivity, rel=1e-3)


def test_sums_of_products_are_exact():
    rng = np.random.default_rng(0)
    rows = rng.integers(-(2**14), 2**14, (1000, 3))
    assert (exact_product(rows, rows) == rows.T @ rows).all()
    X, e = rng.uniform(-0.5, 0.5, (1000, 3)), rng.uniform(-0.5, 0.5, (1000, 2))
    total = IntegerRows(X).total(e)
    assert np.abs(total * IntegerRows(X).step - e.T @ X).max() < 0.1
    found = np.trunc(e * 2**18).astype(int).T @ np.trunc(X * 2**13).astype(int)
    assert (total == found).all()


def test_a_ridge_is_solved_for_the_columns_that_it_is_given():
    """What was kept of another solution had a key that numpy abbreviates."""
    X = np.random.default_rng(0).uniform(-1, 1, (50, 12))
    model = PrivateRidge(bounds=(-1, 1), y_bounds=(-1, 1), epsilon=10.0, delta=1e-6)
    model.set_params(noise_random_state=0).fit(X, X[:, 0])
    with np.printoptions(threshold=4, edgeitems=1):
        for start in (1, 5):
            used = (np.arange(12) >= start) & (np.arange(12) < start + 4)
            coefficients = model.refitted(columns=used).coef_
            assert coefficients[used].all() and not coefficients[~used].any()
