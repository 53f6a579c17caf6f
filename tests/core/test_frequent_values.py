"""Categories that nobody has declared: values that many records have are released."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from few import few
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder

from sklearn_dpbo import PrivateTableSearchCV
from sklearn_dpbo.exceptions import LowUtilityWarning
from sklearn_dpbo.learners import (
    PrivateClassifier,
    PrivateLogisticRegression,
    PrivateRegressor,
    PrivateRidge,
)
from sklearn_dpbo.learners._columns import (
    as_declared,
    category_positions,
    value_counts,
    with_categories,
)
from sklearn_dpbo.learners._rows import Rows
from sklearn_dpbo.learners._tables import least_count
from sklearn_dpbo.privacy.gdp import gdp_within
from sklearn_dpbo.privacy.mechanisms import GAUSSIAN_ONLY, Mechanisms, Price
from sklearn_dpbo.records.units import Units

pytestmark = [
    pytest.mark.usefixtures("seeded"),
    pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning"),
    pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.PrivacyWarning"),
]

FREQUENT = {"diagnosis": "frequent", "code": "frequent"}
LEARNERS = {
    "classifier": PrivateClassifier(classes=[0, 1], max_iter=2, n_trees=4),
    "regressor": PrivateRegressor(y_bounds=(0, 1), max_iter=2, n_trees=4),
    "logistic": PrivateLogisticRegression(classes=[0, 1], max_iter=2),
    "ridge": PrivateRidge(y_bounds=(0, 1)),
}
RIDGE = PrivateRidge(y_bounds=(0, 1), categories=FREQUENT)


class Rude(str):
    """A text that equals every other."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return True


ODD = [Rude("a"), ["a"], None, math.nan, pd.NA, math.inf, 2.5, True, 1, 2**80, "a", "b", b"a"]


def table(diagnoses, codes=None):
    columns = {"diagnosis": diagnoses, "code": diagnoses if codes is None else codes}
    frame = pd.DataFrame(
        {name: pd.Series([*cells], dtype=object) for name, cells in columns.items()}
    )
    return frame.assign(age=np.arange(len(frame)) % 7 * 10.0)


def counted(frame, groups=None, categories=FREQUENT):
    """Return the counts of frequent values that get noise."""
    model = PrivateRidge(categories=categories)
    X, occurring = model._coded(frame, reset=True)
    return value_counts(Rows(X, None, Units.of(len(frame), groups).labels, occurring))


def diseases(n, seed=0):
    """Diagnoses as frequent as 1/k, codes some of which are missing, and labels of both."""
    rng = np.random.default_rng(seed)
    p = 1 / np.arange(1, 101)
    rank = rng.choice(100, n, p=p / p.sum())
    code = np.where(rng.random(n) < 0.1, np.nan, rng.choice([1, 2, 77], n))
    y = rng.random(n) < np.where(rank % 2 == 0, 0.8, 0.2)
    frame = pd.DataFrame({"age": rng.normal(50, 10, n), "diagnosis": "d", "code": code})
    frame["diagnosis"] += rank.astype(str)
    return frame, y.astype(int)


@pytest.mark.first(1)
@pytest.mark.parametrize("grouped", [False, True])
def test_replacing_a_unit_moves_counts_by_no_more_than_one_value_of_a_column(grouped):
    """All pairs of tables that differ in one unit, whose cells may be anything."""
    own, groups = (2, [0, 0, 1, 2]) if grouped else (1, None)
    units = list(itertools.product(ODD, repeat=own))[:: 5 if grouped else 1]
    for others in (["a", "b"], ["a", "a"], [None, "c"]):
        tables = [counted(table([*unit, *others, *["a"] * (2 - own)]), groups) for unit in units]
        largest = 0.0
        for before, after in itertools.combinations(tables, 2):
            keys = before.keys() | after.keys()
            moved = [before.get(key, 0) - after.get(key, 0) for key in keys]
            largest = max(largest, np.linalg.norm(moved))
            for one, other in ((before, after), (after, before)):
                alone = [key for key in one if key not in other]
                assert all(one[key] == 1 for key in alone)
                assert len({column for column, *_ in alone}) == len(alone)
        assert largest == pytest.approx(2.0)  # sqrt(2 k), two columns


def test_what_a_unit_has_in_other_records_is_not_counted():
    frame, groups = table(["a", "aa", "y", "b", "a"])[["diagnosis"]], [0, 0, 0, 1, 2]
    assert counted(frame, groups, {"diagnosis": "frequent"}) == {
        (0, True, "a"): 2,
        (0, True, "b"): 1,
    }


def passes(std, least):
    """The chance that a count of 1 reaches the threshold, by the law of discrete Gaussian noise."""
    z = np.arange(-int(12 * std), int(12 * std) + 1)
    p = np.exp(-((z / std) ** 2) / 2)
    return p[1 + z >= least].sum() / p.sum()


@pytest.mark.parametrize("std", [2.0, 30.0, 1e4])
@pytest.mark.parametrize("n_columns", [1, 5])
@pytest.mark.parametrize("delta", [0.01, 1e-7])
def test_a_value_of_one_unit_passes_as_seldom_as_its_part_of_delta_says(std, n_columns, delta):
    chance = passes(std, least_count(std, n_columns, delta))
    assert chance <= delta / n_columns
    assert chance > (0.3 if std > 10 else 0.01) * delta / n_columns


@pytest.fixture
def spent(monkeypatch):
    """Return the tables of fits, opened, and what the mechanism was asked for.

    What a fit gets to see is what the first would have without noise: a path that all share.
    """
    path, fits = [], []

    def tables(self, price, sensitivities, **record):
        fits.append((price, record, []))
        scales = map(price.scale, sensitivities)

        def release(table):
            seen = fits[-1][-1]
            seen.append((table._open(), next(scales)))
            if len(path) < len(seen):
                path.append(table._open())
            return sorted(path[0]) if len(seen) == 1 else path[len(seen) - 1].copy()

        return release

    monkeypatch.setattr(Mechanisms, "tables", tables)
    return fits


def moved(before, after):
    """Of values, by those that occur on both sides: the others are the threshold's."""
    if isinstance(before, dict):
        return math.hypot(*[before[key] - after[key] for key in before.keys() & after.keys()])
    return np.linalg.norm(before.astype(float) - after)


@pytest.mark.first(2)
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("name", LEARNERS)
def test_no_unit_costs_more_than_promised(name, grouped, spent):
    """Releases between neighbours, in units of their noise: mu-GDP of the rest of delta."""
    learner = clone(LEARNERS[name]).set_params(categories=FREQUENT, epsilon=0.7, delta=1e-3)
    rows = [("a", "b", 20.0), ("b", "a", math.nan), (None, Rude("a"), math.inf), ("new", "new", 0)]
    own, groups = (3, [0, 0, 0, 1, 2, 2]) if grouped else (1, None)
    for row, label in itertools.product(rows, (0, 1)):
        frame = table(["a", "b"] * 3, ["b", "a"] * 3)
        for i in range(own):
            frame.loc[i] = row
        y = [label] * own + [0, 1, 1, 0, 1][: 6 - own]
        learner.fit(frame.astype({"age": float}), np.array(y), groups=groups)
    losses = [
        [(moved(a, b) / scale) ** 2 for (a, scale), (b, _) in zip(before, after, strict=True)]
        for (*_, before), (*_, after) in itertools.combinations(spent, 2)
    ]
    mu = gdp_within(0.7, 1e-3 * 7 / 8)
    assert max(map(sum, losses)) <= mu**2 * (1 + 1e-9)
    assert 0.09 * mu**2 < max(of_values for of_values, *_ in losses) <= 0.1 * mu**2
    for price, record, tables in spent:
        assert price == Price.shared(price.n, 0.7, 1e-3 * 7 / 8, GAUSSIAN_ONLY)
        assert record["delta"] == 1e-3
        assert record["threshold"] == least_count(tables[0][1], 2, 1e-3 / 8)


@pytest.mark.slow
@pytest.mark.parametrize("half", few([False, True]))
def test_values_of_one_record_are_released_as_seldom_as_the_noise_says(half, monkeypatch):
    """In 120 fits on 8 records that each have a value of their own; half of the noise is less."""
    original, stated = Mechanisms.tables, []

    def tables(self, price, sensitivities, *, threshold, **record):
        stated.append(passes(price.scale(sensitivities[0]), threshold))
        sensitivities = [each / (1 + half) for each in sensitivities]
        return original(self, price, sensitivities, threshold=threshold, **record)

    monkeypatch.setattr(Mechanisms, "tables", tables)
    frame, y = table([f"v{i}" for i in range(8)])[["diagnosis", "age"]], np.linspace(0, 1, 8)
    model = PrivateRidge(y_bounds=(0, 1), categories={"diagnosis": "frequent"}, delta=0.4)
    n = sum(len(model.fit(frame, y).categories_[0]) for _ in range(120))
    assert 0.3 * 0.4 / 8 < stated[0] <= 0.4 / 8
    p = binomtest(n, 8 * 120, stated[0]).pvalue
    assert p < 1e-6 if half else p > 1e-3


@pytest.mark.first(1)
@pytest.mark.parametrize("name", LEARNERS)
def test_without_noise_the_values_are_those_that_an_encoder_finds_frequent(name):
    frame, y = diseases(4_000)
    model = clone(LEARNERS[name]).set_params(epsilon=1e6, delta=0.01, categories=FREQUENT)
    model.fit(frame, y)
    known = frame[["diagnosis"]], frame[["code"]].dropna()
    least = math.ceil(least_count(2.0, 2, 0.01 / 8))
    for column, released in zip(known, (model.categories_[1], model.categories_[2]), strict=True):
        few, many = (
            OneHotEncoder(min_frequency=least + 8 * sign, handle_unknown="ignore").fit(column)
            for sign in (-1, 1)
        )
        often = set(many.categories_[0]) - set(np.ravel(many.infrequent_categories_[0]))
        ever = set(few.categories_[0]) - {
            value for group in few.infrequent_categories_ if group is not None for value in group
        }
        assert often <= set(released) <= ever
    assert model.categories_[2].tolist() == [1, 2, 77]
    assert "code_77" in model.get_feature_names_out()


CELLS = st.sampled_from(
    [1, 1.0, True, 0.0, -0.0, "1", np.str_("b"), "b", np.int64(3), 3, 2.5, None]
)


@pytest.mark.slow
@given(st.lists(CELLS, min_size=1, max_size=12), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_values_are_of_plain_types_in_an_order_that_no_record_decides(cells, random):
    """Whichever record is the first to have a value."""
    shuffled = [*cells]
    random.shuffle(shuffled)
    values = [sorted(counted(table(each)).items()) for each in (cells, shuffled)]
    assert list(map(repr, values[0])) == list(map(repr, values[1]))
    for (_, is_text, value), _ in values[0]:
        assert type(value) is (str if is_text else float if value == 2.5 else int)


@pytest.mark.slow
def test_a_search_takes_it_for_no_gaussian_release():
    frame, y = diseases(3_000)
    learner = PrivateClassifier(classes=[0, 1], max_iter=10)
    assert learner.private_training().composition == "GDP"
    learner.set_params(categories={"age": [1]})
    assert learner.private_training().composition == "GDP"
    learner.set_params(categories=FREQUENT)
    assert learner.private_training().composition == "approximate"
    search = PrivateTableSearchCV(learner, epsilon=20.0, random_state=0).fit(frame, y)
    assert "d0" in search.best_estimator_.categories_[1]
    assert search.predict(frame[:5]).shape == (5,)
    compared = PrivateTableSearchCV(learner, {"curved": [0.0, 0.5]}, n_fits=2, epsilon=4.0)
    best = compared.fit(frame, y).best_estimator_
    assert best.epsilon == pytest.approx(2.0) and best.delta == pytest.approx(5e-7)


@pytest.mark.parametrize(
    ("column", "asked", "message"),
    [
        (["a"], "often", r"must list all values of the column, or be 'frequent', .* found 'often'"),
        (pd.to_datetime(["2020-01-01"]), "frequent", "is for text and numbers only: give its"),
    ],
)
def test_what_cannot_be_frequent_is_refused_before_the_charge(column, asked, message):
    frame = pd.DataFrame({"c": np.resize(column, 20)})
    with pytest.raises(ValueError, match=message):
        PrivateRidge(y_bounds=(0, 1), categories={"c": asked}).fit(frame, np.zeros(20))


def test_a_column_in_which_nothing_is_frequent_is_named():
    frame, y = table(map(str, range(200))), np.zeros(200)
    with pytest.warns(LowUtilityWarning, match=r"\['diagnosis', 'code'\] was frequent enough"):
        model = RIDGE.fit(frame, y)
    assert [len(own) for own in model.categories_.values()] == [0, 0]
    assert model.get_feature_names_out().tolist() == ["age", "diagnosis_missing", "code_missing"]


@pytest.mark.parametrize("odd", [b"x", 1j, [1], object(), np.datetime64("2020")], ids=type)
def test_what_is_neither_a_number_nor_a_text_is_no_category_and_not_missing(odd):
    """In the fit, too: predictions take it so."""
    X = np.empty((4, 1), dtype=object)
    X[:, 0] = ["a", None, 1.5, 0]
    X[3, 0] = odd
    table, occurring = as_declared(X, {0: np.array([])}, [0], "a learner")
    rows = with_categories(Rows(table, np.zeros(4), None, occurring), occurring, False, None)
    assert rows.X.tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 0, 0]]
    assert category_positions(X[:, 0], occurring[0]).tolist() == [1, 2, 0, -1]


def test_arrays_and_declared_types_have_frequent_values_too():
    frame, y = diseases(1_000)
    codes = np.column_stack([frame["age"], frame["code"]])
    model = PrivateRidge(y_bounds=(0, 1), categories={1: "frequent"}, epsilon=1e3)
    assert model.fit(codes, y).categories_[1].tolist() == [1, 2, 77]
    typed = frame[["code"]].astype("Int64").astype(pd.CategoricalDtype([1, 2, 3, 77]))
    model.set_params(categories={"code": "frequent"})
    assert model.fit(typed, y).categories_[0].tolist() == [1, 2, 77]
