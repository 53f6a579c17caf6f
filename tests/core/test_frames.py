"""Learners on tables as they come: categories by declaration, missing values, any cell."""

import math
import re
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_dpbo import PrivacyLedger, PrivateTableSearchCV
from sklearn_dpbo.exceptions import PrivacyWarning
from sklearn_dpbo.learners import (
    PrivateClassifier,
    PrivateLogisticRegression,
    PrivateRegressor,
    PrivateRidge,
)
from sklearn_dpbo.learners._rows import INDICATOR

pytestmark = [
    pytest.mark.usefixtures("seeded"),
    pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning"),
]

WARDS = ["north", "south", "east"]
DECLARED = {"ward": WARDS, "code": range(4)}


def mixed(n, seed=0):
    """Numbers, some missing; text; codes; a declared dtype; a truth value; and labels."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 15, n),
            "ward": rng.choice([*WARDS, None], n, p=[0.4, 0.3, 0.2, 0.1]),
            "code": rng.integers(0, 4, n),
            "site": pd.Categorical(rng.choice(["a", "b"], n), categories=["a", "b", "c"]),
            "smoker": rng.random(n) < 0.3,
        }
    )
    signal = (
        (frame["age"] - 50) / 15
        + frame["ward"].map({"north": 1.0, "south": -1.0, "east": 2.0}).fillna(-2.0)
        + frame["code"].map({0: 1.0, 1: -1.0, 2: 1.0, 3: -1.0})
        + np.where(frame["site"] == "a", 0.5, -0.5)
    )
    missing = rng.random(n) < 0.2
    frame.loc[missing, "age"] = np.nan
    y = (signal + 2 * missing + rng.logistic(size=n) > 0).astype(int)
    return frame, y.to_numpy()


def test_columns_are_numbers_then_indicators_with_names():
    frame, y = mixed(50)
    model = PrivateClassifier(categories=DECLARED, max_iter=1, n_trees=1).fit(frame, y)
    table = pd.DataFrame(model._table(frame), columns=model.get_feature_names_out())
    assert list(table)[:4] == ["age", "smoker", "age_missing", "smoker_missing"]
    for ward in WARDS:
        assert (table[f"ward_{ward}"] == (frame["ward"] == ward)).all()
    assert (table["ward_missing"] == frame["ward"].isna()).all()
    assert (table["age_missing"] == frame["age"].isna()).all()
    assert (table["code_2"] == (frame["code"] == 2)).all()
    assert table["site_c"].sum() == table["site_missing"].sum() == table["code_missing"].sum() == 0
    assert table["age"].equals(frame["age"])
    assert list(model.feature_names_in_) == list(frame) and model.n_features_in_ == 5
    scaled = len(model.center_), len(model.scale_)
    assert scaled == (table.shape[1],) * 2


@pytest.mark.first(1)
@pytest.mark.parametrize("searched", [False, True])
def test_labels_that_become_public_are_warned_of_once_and_not_named(searched):
    frame, y = mixed(300)
    learner = PrivateLogisticRegression(categories=DECLARED, max_iter=1)
    fitted = PrivateTableSearchCV(learner, {"C": [1.0, 2.0]}) if searched else learner
    with pytest.warns(PrivacyWarning, match="classes is None.*as in classes=") as caught:
        fitted.fit(frame, np.where(y == 1, "sick", "well"))
    said = [str(w.message) for w in caught if "classes is" in str(w.message)]
    assert len(said) == 1 and "sick" not in said[0]
    learner.set_params(classes=["sick", "well"])
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "classes is None")
        fitted.fit(frame, np.where(y == 1, "sick", "well"))


def test_trees_split_columns_alike_however_many_categories_they_have():
    frame, y = mixed(50)
    model = PrivateClassifier(categories=DECLARED, max_iter=1, n_trees=2_000, curved=0.1)
    names = model.fit(frame, y).get_feature_names_out()[model.tree_columns_.ravel()]
    owners, counts = np.unique([name.partition("_")[0] for name in names], return_counts=True)
    assert owners.tolist() == sorted(frame) and not {"age_missing", "smoker_missing"} & {*names}
    assert counts / counts.sum() == pytest.approx(0.2, abs=0.02)


class Rude:
    """A cell with which nothing can be done."""

    def __eq__(self, other):
        raise RuntimeError("Jane Doe")

    def __hash__(self):
        raise RuntimeError("Jane Doe")

    __bool__ = __str__ = __repr__ = __float__ = __hash__


ODD = [Rude(), ["north"], {}, np.nan, None, pd.NA, 2**80, -1, Decimal("NaN"), "Jane Doe", b"x"]
LEARNERS = {
    "classifier": PrivateClassifier(classes=[0, 1], curved=0.5, n_trees=4, random_state=0),
    "regressor": PrivateRegressor(y_bounds=(0, 1), curved=0.5, n_trees=4, random_state=0),
    "logistic": PrivateLogisticRegression(classes=[0, 1]),
    "ridge": PrivateRidge(y_bounds=(0, 1)),
}


def few_steps(name):
    learner = clone(LEARNERS[name])
    return learner.set_params(**{"max_iter": 2} if "max_iter" in learner.get_params() else {})


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_no_cell_raises_warns_or_changes_what_is_predicted_for_another(name, capfd):
    frame, y = mixed(60)
    frame = frame.astype({"ward": object, "code": object, "site": object})
    categories = {"ward": WARDS, "code": range(4), "site": ["a", "b"]}
    learner = few_steps(name).set_params(categories=categories)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        expected = learner.fit(frame, y).predict(frame)
        for odd in ODD:
            changed = frame.copy()
            for column in ("ward", "code", "site"):
                changed.at[0, column] = odd
            changed.at[0, "age"] = np.inf
            assert (learner.predict(changed)[1:] == expected[1:]).all()
            fitted = clone(learner).fit(changed, y)
            assert np.isfinite(fitted.predict(changed).astype(float)).all()
    assert capfd.readouterr() == ("", "")


def test_unknown_categories_are_zeros_and_missing_ones_a_category():
    frame, y = mixed(40)
    model = PrivateLogisticRegression(categories=DECLARED, max_iter=1).fit(frame, y)
    names = model.get_feature_names_out().tolist()
    rows = frame.iloc[:3].copy()
    rows["ward"], rows["code"] = ["west", None, "north"], [9, 0, 0]
    rows["site"] = pd.Categorical(["z", None, "a"], categories=["z", "a"])
    table = pd.DataFrame(model._table(rows), columns=names)
    assert table.filter(like="ward").sum(axis=1).tolist() == [0, 1, 1]
    assert table["ward_missing"].tolist() == [0, 1, 0] == table["site_missing"].tolist()
    assert table.filter(like="code").sum(axis=1).tolist() == [0, 1, 1]
    assert table["site_a"].tolist() == [0, 0, 1] and table.filter(like="site").iloc[0].sum() == 0


@pytest.mark.parametrize("kind", [str, object])
def test_undeclared_text_is_refused_before_the_charge_with_the_call_to_make(kind, tmp_path):
    frame, y = mixed(40)
    frame = frame.astype({"ward": kind}).assign(when=pd.Timestamp("2020-01-01"), name="Jane")
    ledger = PrivacyLedger(tmp_path / "ledger", "data", 1.0, 0.1, create=True)
    with pytest.raises(ValueError, match=r"columns \['ward', 'name'\] are neither") as caught:
        PrivateClassifier(ledger=ledger).fit(frame, y)
    said = str(caught.value)
    assert "PrivateClassifier(categories={'ward': [...], 'name': [...]})" in said
    assert (
        "['when'] are dates or times: convert each to days, such as X['when'] = (X['when'] -"
        in said
    )
    assert "X.drop(columns=['ward', 'name', 'when'])" in said
    assert not re.search("north|south|east|2020|Jane", said)
    assert not ledger.history


@pytest.mark.parametrize("time", [0, 2**62])
def test_columns_whose_cells_might_raise_are_refused_by_their_type(time):
    pyarrow = pytest.importorskip("pyarrow")
    frame, y = mixed(20)
    times = pyarrow.array([time] * 20, type=pyarrow.timestamp("s"))
    frame["when"] = pd.array(times, dtype=pd.ArrowDtype(times.type))
    declared = {**DECLARED, "when": [pd.Timestamp(0)]}
    with pytest.raises(ValueError, match=r"'when' has the dtype timestamp.*cast it to"):
        PrivateClassifier(categories=declared).fit(frame, y)


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ({"city": ["a"]}, r"names 'city', which X does not have: it has \['age'"),
        ({"wrad": ["a"]}, r"names 'wrad', which X does not have; did you mean 'ward'\?"),
        ({0: ["a"]}, "names 0, which X does not have: it has"),
        ({"ward": "north"}, r"\['ward'\] must list all .* or be 'frequent'.*; found 'north'"),
        ({"ward": [...]}, r"\['ward'\] must list all .*; found \[Ellipsis\]"),
        ({"ward": [None]}, r"\['ward'\] must list all .*; found \[None\]"),
        ({"ward": ["a", "a"]}, "has a value twice"),
        ({"ward": [1, 2]}, r"'ward' has dtype str.*but its categories are \[1, 2\]"),
        ({"code": ["0", "1"]}, r"'code' has dtype int64.*\['0', '1'\]: .* Give numbers"),
        ("frequent", "must be a dict .* 'diagnosis': 'frequent'}; found 'frequent'"),
    ],
)
def test_categories_that_cannot_be_are_refused(categories, message):
    frame, y = mixed(20)
    frame["ward"] = frame["ward"].astype("string")  # before pandas 3, text is of dtype object
    with pytest.raises(ValueError, match=message):
        PrivateClassifier(categories=categories).fit(frame, y)


@pytest.mark.parametrize(
    ("names", "key", "said"),
    [
        ([0, 1], "1", "did you mean 1"),
        (["0", "1"], 1, "did you mean '1'"),
        ([0, 1], True, "it has"),
    ],
)
def test_names_of_categories_have_types(names, key, said):
    frame, y = pd.DataFrame(np.zeros((20, 2)), columns=names), np.arange(20) % 2
    learner = PrivateLogisticRegression(classes=[0, 1], categories={key: [0.0]}, max_iter=1)
    for fitted in (learner, PrivateTableSearchCV(learner, {"C": [1.0, 2.0]})):
        with pytest.raises(ValueError, match=rf"names {key!r}, which X does not have.*{said}"):
            fitted.fit(frame, y)
    own = clone(learner).set_params(categories={names[1]: [0.0]}).fit(frame, y)
    assert list(own.categories_) == [1]


def test_other_columns_than_those_of_the_fit_are_refused():
    frame, y = mixed(40)
    model = PrivateLogisticRegression(categories=DECLARED, max_iter=1).fit(frame, y)
    with pytest.raises(ValueError, match="same order as they were in fit"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match=r"were numbers in fit.*\{'age': '[a-z]+'\}") as caught:
        model.predict(frame.assign(age="Jane"))
    assert "Jane" not in str(caught.value)
    with pytest.raises(ValueError, match=r"columns \['site'\] are neither"):
        model.set_params(categories={"ward": WARDS}).fit(frame.astype({"site": str}), y)


def test_categories_of_another_library_are_not_taken_for_declared_ones():
    polars = pytest.importorskip("polars")
    frame, y = mixed(60)
    other = polars.from_pandas(frame[["age", "ward", "code"]])
    model = PrivateLogisticRegression(categories=DECLARED, epsilon=1e6).fit(other, y)
    assert model.get_feature_names_out()[1:4].tolist() == [f"ward_{ward}" for ward in WARDS]
    assert model.predict(other).shape == (60,)
    with pytest.raises(ValueError, match=r"columns \['ward'\] are neither"):
        PrivateLogisticRegression().fit(other.cast({"ward": polars.Categorical}), y)


@pytest.mark.parametrize("learner", [PrivateClassifier(), PrivateLogisticRegression()], ids=str)
def test_a_table_of_categories_alone_needs_no_ranges(learner):
    frame, y = mixed(3_000)
    learner = clone(learner).set_params(categories=DECLARED, epsilon=100.0)
    model = learner.fit(frame[["ward", "code"]], y)
    assert model.max_norm_ == pytest.approx(INDICATOR * math.sqrt(2))
    assert "ranges" not in model.privacy_.details()
    assert model.score(frame[["ward", "code"]], y) > 0.66


@pytest.mark.slow
@pytest.mark.parametrize("name", ["classifier", "logistic"])
def test_without_noise_a_frame_gives_what_a_pipeline_learns(name):
    """Of scikit-learn: which has a column for what is missing, where the learner has one."""
    frame, y = mixed(8_000)
    frame["site"] = frame["site"].astype(str)
    filled = frame.fillna({"ward": "missing", "age": 50.0}).assign(missing=frame["age"].isna())
    numbers = ["age", "missing", "smoker"] if name == "classifier" else ["age", "smoker"]
    encode = make_column_transformer(
        (OneHotEncoder(), ["ward", "code", "site"]), (StandardScaler(), numbers)
    )
    public = make_pipeline(encode, LogisticRegression()).fit(filled[:6000], y[:6000])
    private = clone(LEARNERS[name]).set_params(
        epsilon=1e6, categories=DECLARED | {"site": ["a", "b"]}
    )
    private.fit(frame[:6000], y[:6000])
    assert private.score(frame[6000:], y[6000:]) > public.score(filled[6000:], y[6000:]) - 0.01
    apart = private.predict_proba(frame[6000:])[:, 1] - public.predict_proba(filled[6000:])[:, 1]
    assert np.abs(apart).mean() < 0.04


@pytest.mark.parametrize("bounds", [None, (0, 100)])
def test_shape_functions_of_a_frame_are_of_the_column_that_they_name(bounds):
    frame, y = mixed(3_000)
    frame = frame[["ward", "code", "age", "smoker"]]
    model = PrivateClassifier(
        epsilon=100.0, categories=DECLARED, bounds=bounds, max_iter=20, n_trees=20
    ).fit(frame, y)
    age, ward = model.shape_function("age"), model.shape_function("ward")
    assert age.grid_values.min() >= 0 and 40 < np.median(age.grid_values) < 60
    assert age.change[-1] > age.change[0] + 1
    assert ward.grid_values.tolist() == WARDS and ward.noise_std[0] == ward.change[0] == 0
    assert ward.change[1] < -1 and ward.change[2] > ward.change[1] + 1
    nowhere = frame.iloc[[0] * 4].assign(
        ward=[*WARDS, None], code=9, age=model.center_[0], smoker=model.center_[1]
    )
    values = model.decision_function(nowhere)
    given = model.shape_function("ward", [*WARDS, None])
    assert np.allclose(given.change, values - values[0])
    assert given.grid_values.tolist() == [*WARDS, None]
    assert model.shape_function("code").grid_values.tolist() == [0, 1, 2, 3]
    straight = model.set_params(curved=0.0).fit(frame, y)
    for name in frame:
        shape = straight.shape_function(name)
        assert np.allclose(shape.change, shape.of_column)


@pytest.mark.first(1)
@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("levels", [[1, 2], ["a", "b"], [1, "b"]])
def test_a_search_takes_typed_codes_and_objects_as_they_are_declared(levels, typed):
    y = np.random.default_rng(0).choice([0, 1], 600)
    column = pd.Series([levels[label] for label in y], dtype=object)
    if typed:
        column = column.astype(pd.CategoricalDtype(levels))
    X = column.to_frame("code")
    learner = PrivateClassifier(classes=[0, 1], categories={"code": levels}, max_iter=20)
    search = PrivateTableSearchCV(learner, epsilon=1e3, delta=0.1).fit(X, y)
    assert search.best_score_ > 0.95
    with pytest.raises(ValueError, match="categories must be a dict"):
        PrivateTableSearchCV(learner.set_params(categories=["code"])).fit(
            column.to_frame("code"), y
        )
