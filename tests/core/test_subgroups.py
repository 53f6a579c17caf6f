"""Scores by subgroup: they are scikit-learn's, one unit moves 2 W of weight, cells stay secret."""

import pickle
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from few import few
from sklearn import metrics
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression, LogisticRegression

from sklearn_dpbo import PrivateBayesSearchCV, private_evaluation
from sklearn_dpbo.evaluation import _private_evaluation
from sklearn_dpbo.exceptions import LowUtilityWarning
from sklearn_dpbo.metrics import _intervals
from sklearn_dpbo.metrics._queries import unit_weight
from sklearn_dpbo.records.subgroups import Subgroups

EXACT = 500.0  # an epsilon at which there is no noise
BANDS = [(18, 40), (40, 65), (65, np.inf)]
LEVELS = {"sex": ["f", "m"], "age": BANDS}
# "other" of each column is last.
SEX, AGE = ["f", "m", "other"], ["[18, 40)", "[40, 65)", "[65, inf)", "other"]


@pytest.fixture(autouse=True, scope="module")
def _faster():
    """Compute no expected widths, to save time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_private_evaluation, "will_be_wide", lambda *_: True)
        yield


def problem_of(n_classes, n=2200, n_public=200):
    X, y = make_classification(
        n, 5, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=0
    )
    y = np.array(["a", "b", "c"])[y]
    model = LogisticRegression().fit(X[:n_public], y[:n_public])
    rng, k = np.random.default_rng(0), n - n_public
    values = pd.DataFrame({"unused": X[n_public:, 0], "age": rng.uniform(20, 100, k)})
    values["sex"] = np.array(["f", "m"])[rng.integers(2, size=k)]
    # A rare value that is no level, and a missing one.
    values.loc[:300, "sex"] = "x"
    values.loc[150:450, "age"] = np.nan
    return model, (X[:n_public], y[:n_public]), (X[n_public:], y[n_public:]), values


@pytest.fixture(scope="module")
def two():
    return problem_of(2)


@pytest.fixture(scope="module")
def three():
    return problem_of(3)


def evaluated(problem, epsilon=EXACT, levels=LEVELS, **kwargs):
    model, (X, y), (X_val, y_val), values = problem
    own = dict(X=X, y=y, epsilon=epsilon, subgroups_val=values, subgroups=levels) | kwargs
    return private_evaluation(model, X_val, y_val, **own)


@pytest.fixture(scope="module")
def of_two(two):
    return evaluated(two)


def labels(values):
    """The levels of each record, as `by_group` names them."""
    place = np.digitize(values["age"], [18, 40, 65]) - 1
    age = np.where(values["age"].isna(), AGE[3], np.array(AGE)[np.where(place < 0, 3, place)])
    return values["sex"].where(values["sex"] != "x", "other").to_numpy(), age


# ------------------------------------------------------------ numbers
@pytest.mark.first(1)
@pytest.mark.parametrize("by", few([None, "sex", "age", ["age", "sex"]], "sex", "age"))
def test_numbers_of_subgroups_are_those_of_sklearn(two, of_two, by):
    model, _, (X_val, y_val), values = two
    own = dict(zip(["sex", "age"], labels(values), strict=True))
    columns = ["sex", "age"] if by is None else [by] if isinstance(by, str) else by
    p, predicted = model.predict_proba(X_val)[:, 1], model.predict(X_val)
    for name, exact, within in [
        ("recall", lambda r: metrics.recall_score(y_val[r], predicted[r], pos_label="b"), 1e-9),
        ("accuracy", lambda r: metrics.accuracy_score(y_val[r], predicted[r]), 1e-9),
        ("roc_auc", lambda r: metrics.roc_auc_score(y_val[r], p[r]), 2e-2),
        ("prevalence", lambda r: (y_val[r] == "b").mean(), 1e-9),
        ("selection_rate", lambda r: (predicted[r] == "b").mean(), 1e-9),
    ]:
        scores = of_two.by_group(name, by=by)
        keys = {tuple(row) for row in scores[columns].to_numpy().tolist()}
        assert keys == set(zip(*(own[c] for c in columns), strict=True))
        for row in scores.to_dict("records"):
            rows = np.all([own[c] == row[c] for c in columns], axis=0)
            assert row["size"] == rows.sum()
            assert row["value"] == pytest.approx(exact(rows), abs=within), (name, row)


@pytest.mark.slow
def test_several_classes(three):
    model, _, (X_val, y_val), values = three
    found, sex = evaluated(three), labels(values)[0]
    predicted = model.predict(X_val)
    for row in found.by_group("f1_macro", by="sex").itertuples():
        rows = sex == row.sex
        exact = metrics.f1_score(y_val[rows], predicted[rows], average="macro")
        assert row.value == pytest.approx(exact, abs=1e-6)
    areas = found.by_group("roc_auc", by="sex", label="c")
    rows = sex == "m"
    exact = metrics.roc_auc_score(y_val[rows] == "c", model.predict_proba(X_val)[rows, 2])
    assert areas.value[1] == pytest.approx(exact, abs=1e-2)


def test_a_group_has_the_weight_of_one_record_in_the_subgroups_of_its_records(two):
    values = two[3]
    patients = np.arange(len(values)) // 2
    found = evaluated(two, groups_val=patients)
    sizes = found.by_group("accuracy", by="sex")
    expected = [(labels(values)[0] == level).sum() / 2 for level in SEX]
    np.testing.assert_allclose(sizes["size"], expected, atol=1)


@pytest.mark.slow
@pytest.mark.parametrize("given", [True, False])
def test_a_search_evaluates_its_choice_by_subgroup(two, given):
    _, (X, y), (X_val, y_val), values = two
    search = PrivateBayesSearchCV(
        LogisticRegression(), {"C": [1.0]}, epsilon=EXACT, scoring="roc_auc", release="evaluation"
    )
    if given:
        search.fit(X, y, X_val=X_val, y_val=y_val, subgroups_val=values, subgroups=LEVELS)
    else:  # the validation set is a part of X
        search.set_params(cv=[(np.arange(1000), np.arange(1000, 2000))])
        search.fit(X_val, y_val, subgroups_val=values, subgroups=LEVELS)
        X_val, y_val, values = X_val[1000:], y_val[1000:], values[1000:]
    rows = labels(values)[0] == "m"
    exact = metrics.recall_score(y_val[rows], search.predict(X_val)[rows], pos_label="b")
    found = search.evaluation_.by_group("recall", by="sex").set_index("sex")
    assert found.value["m"] == pytest.approx(exact)
    assert search.best_score_ == search.evaluation_.score("roc_auc").value


# ------------------------------------------------------------ intervals


def test_intervals_of_differences_are_for_all_of_them_at_once(two, seeded, monkeypatch):
    monkeypatch.setattr(_intervals, "_N_DRAWS", 6_000)
    found = evaluated(two, 1.0, levels={"sex": ["f", "m"]})
    f, m, _ = found.by_group("recall").itertuples()
    gaps = found.group_differences("recall").set_index(["group", "other_group"])
    gap = gaps.loc["f", "m"]
    assert gap.value == pytest.approx(f.value - m.value)
    # Of three: the quantile of the normal distribution is 2.39 in the place of 1.96.
    assert gap.high - gap.value == pytest.approx(
        2.39 / 1.96 * np.hypot(f.high - f.value, m.value - m.low), rel=0.06
    )
    assert gap.value - gap.low == pytest.approx(
        2.39 / 1.96 * np.hypot(f.value - f.low, m.high - m.value), rel=0.06
    )


def test_a_sum_over_subgroups_has_the_noise_of_all_of_them(two):
    # Of 12 subgroups. There are fewer bins, which add less noise.
    crossed = evaluated(two, 1.0).score("accuracy", interval="records")
    whole = evaluated(two, 1.0, subgroups_val=None, levels=None)
    whole = whole.score("accuracy", interval="records")
    widths = [each.high - each.low for each in (crossed, whole)]
    assert widths[0] > 1.5 * widths[1]


@pytest.mark.parametrize("name", few(["recall", "roc_auc"]))
def test_too_few_records_are_said_to_be_too_few(two, seeded, name):
    found = evaluated(two, 1.0, levels={"sex": ["f", "m"]})
    wide = found.by_group(name).assign(note="").set_index("sex").loc["f"]
    assert wide.high - wide.low <= 0.2
    scores = evaluated(two, 0.05).by_group(name)
    assert scores.note.str.contains("too few to tell: about .* would be enough").all()
    enough = int(scores.note[0].split("about ")[1].split(" ")[0].replace(",", ""))
    assert enough > 1_000
    # None may be positive: so nothing is known of what needs positive records.
    none = evaluated(two, 0.005).by_group(name)
    assert ((none.low == 0) & (none.high == 1)).sum() >= 5, "of 6: noise may look like many"


def test_a_forest_plot_has_a_row_for_each_subgroup(of_two):
    ax = of_two.plot_by_group("roc_auc", by="sex")
    texts = [text.get_text() for text in ax.get_yticklabels()]
    assert [text.split(" ")[0] for text in texts] == SEX
    assert ax.get_xlabel() == "ROC AUC"
    own = plt.figure().add_subplot()
    assert of_two.plot_by_group("recall", by="age", ax=own, threshold=0.3) is own
    plt.close("all")


def test_a_level_without_records_is_warned_of_if_many_are_other(two, seeded):
    with pytest.warns(LowUtilityWarning, match=r"About .* records have no level .*'female'"):
        evaluated(two, 5.0, levels={"sex": ["female", "m"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluated(two, 5.0, levels={"sex": ["f", "m", "x", "neither"]})  # nobody is "other"
        evaluated(two, 5.0, levels={"sex": ["m"]})  # "other" on purpose


# ------------------------------------------------------------ levels and cells
class Hostile:
    """A cell that raises whatever is asked."""

    def __eq__(self, other):
        raise RuntimeError("secret")

    __hash__ = __float__ = __str__ = __repr__ = __lt__ = __le__ = __bool__ = __eq__

    @property
    def __class__(self):
        raise RuntimeError("secret")


ODD = [Hostile(), None, np.nan, "F", b"f", ["f"], 10**400, np.inf, -np.inf, 1 + 1j, pd.NaT]


@pytest.mark.first(10)
@pytest.mark.parametrize("odd", range(len(ODD)))
@pytest.mark.parametrize("levels", [["f", "m"], [(18, 40)], [0, 1]])
def test_a_cell_that_is_no_level_is_other_and_changes_no_other_cell(odd, levels):
    cells = np.empty(4, dtype=object)
    good = 20 if isinstance(levels[0], tuple) else levels[0]
    cells[:] = [good, ODD[odd], good, good]
    found = Subgroups.of({"x": levels}, cells).numbers(cells, 4)
    assert found.tolist() == [0, len(levels), 0, 0]


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(["f", "m", "x", None]),
        pd.Series(["f", "m", "x", None], dtype="category"),
        pd.Series(["f", "m", "x", None], dtype="string"),
        np.array(["f", "m", "x", ""]),
        ["f", "m", "x", None],
        pd.DataFrame({"other": range(4), "sex": ["f", "m", "x", None]}),
        np.array([["f"], ["m"], ["x"], [""]]),
    ],
)
def test_tables_of_any_kind(values):
    assert Subgroups.of({"sex": ["f", "m"]}, values).numbers(values, 4).tolist() == [0, 1, 2, 2]


def test_numbers_are_levels_or_bands():
    values = pd.DataFrame({"a": [0, 1, 2, 1], "b": [18, 39.9, 40, 64]})
    levels = {"a": [0, 1], "b": [(40, 65), (18, 40)]}
    subgroups = Subgroups.of(levels, values)
    assert subgroups.numbers(values, 4).tolist() == [1, 4, 6, 3]
    assert list(subgroups.members(["b"]))[0] == ("[40, 65)",)
    nullable = values.astype({"a": "Int64"})
    assert subgroups.numbers(nullable, 4).tolist() == [1, 4, 6, 3]
    assert subgroups.numbers(values.to_numpy(), 4).tolist() == [1, 4, 6, 3]


SECRET = "secret-level"


@pytest.mark.parametrize(
    ("levels", "values", "message"),
    [
        (None, [SECRET] * 4, "pass both"),
        ({"x": ["f"]}, None, "pass both"),
        (["x"], [SECRET] * 4, "pass both"),
        ({}, [SECRET] * 4, "pass both"),
        ({"x": []}, [SECRET] * 4, "Found an object of type list"),
        (
            {"x": pd.Series([SECRET] * 4)},
            [SECRET] * 4,
            "Found an object of type Series",
        ),
        ({"x": SECRET}, [SECRET] * 4, "Found an object of type str"),
        ({"x": ["f", 1]}, [SECRET] * 4, "different texts, or of numbers and bands"),
        ({"x": [(0, 2, 3)]}, [SECRET] * 4, "low <= x < high"),
        ({"x": [(2, 0)]}, [SECRET] * 4, "low <= x < high"),
        ({"x": [(0, 2), 1, (1, 3)]}, [SECRET] * 4, "do not overlap"),
        ({"x": range(99)}, [SECRET] * 4, "has 100 combinations; at most 50 are"),
        ({"x": ["f"]}, [SECRET] * 3, "has 3 entries for 4 records"),
        ({"x": ["f"], "y": ["f"]}, [SECRET] * 4, r"one column for each of \['x', 'y'\]"),
        ({"x": ["f"]}, pd.DataFrame({SECRET + "s": [SECRET] * 4}), "one column for each of"),
        (
            {"x": [1, 2]},
            pd.Series([SECRET] * 4, dtype="string"),
            "holds text, and its levels are n",
        ),
        ({"x": ["f"]}, np.arange(4), "holds numbers, and its levels are text"),
    ],
)
def test_errors_say_what_to_do_and_quote_no_value(levels, values, message):
    with pytest.raises(ValueError, match=message) as caught:
        Subgroups.of(levels, values).numbers(values, 4)
    assert SECRET not in str(caught.value)


def test_nothing_is_charged_for_what_cannot_be_evaluated(two):
    model, (X, y), (X_val, y_val), values = two
    with pytest.raises(ValueError, match='set release="evaluation"'):
        PrivateBayesSearchCV(LogisticRegression(), {"C": [1.0]}).fit(
            X, y, X_val=X_val, y_val=y_val, subgroups_val=values, subgroups=LEVELS
        )
    X, y = make_regression(100, 5, random_state=0)
    with pytest.raises(ValueError, match="subgroups are for classifiers; found LinearRegression"):
        private_evaluation(
            LinearRegression().fit(X, y), X_val[:50], y[:50], X=X, y=y, epsilon=1.0,
            subgroups_val=values[:50], subgroups=LEVELS,
        )  # fmt: skip
    with pytest.raises(ValueError, match="different indices"):
        evaluated((model, two[1], (pd.DataFrame(X_val), y_val), values[::-1]))


def test_without_subgroups_there_are_no_scores_of_them(two, of_two):
    with pytest.raises(ValueError, match="pass subgroups_val and subgroups"):
        evaluated(two, subgroups_val=None, levels=None).by_group("recall")
    with pytest.raises(ValueError, match=r"among \['sex', 'age'\]; found \['height'\]"):
        of_two.by_group("recall", by="height")


def test_an_evaluation_keeps_nobodys_subgroup(two):
    found = evaluated(two, 1.0)
    assert np.ndim(found._units.subgroups) == 0
    model, _, _, values = two
    codes = Subgroups.of(LEVELS, values).numbers(values, len(values))
    assert codes.tobytes() not in pickle.dumps(found)
    assert codes.astype(np.int8).tobytes() not in pickle.dumps(found)
    assert unit_weight(found._units) == 1


@pytest.mark.parametrize("key", [2019, True, ("sex", 0)])
def test_columns_are_found_by_their_names_and_shown_as_texts(key):
    frame = pd.DataFrame(np.array([["f"], ["m"], ["x"], ["f"]], dtype=object))
    frame.columns = pd.Index([key], tupleize_cols=False, dtype=object)
    subgroups = Subgroups.of({key: ["f", "m"]}, frame)
    assert subgroups.numbers(frame, 4).tolist() == [0, 1, 2, 0]
    assert list(subgroups.levels) == [str(key)] and len(subgroups.members([str(key)])) == 3
    frame.columns = [str(key)]
    with pytest.raises(ValueError, match="one column for each of .* the same types") as raised:
        subgroups.numbers(frame, 4)
    assert repr([key]) in str(raised.value) and repr([str(key)]) in str(raised.value)


def test_true_is_not_the_column_1():
    frame = pd.DataFrame({0: ["f", "m"], 1: ["m", "f"]})
    with pytest.raises(ValueError, match=r"one column for each of \[True\]$"):
        Subgroups.of({True: ["f", "m"]}, frame).numbers(frame, 2)
    with pytest.raises(ValueError, match="two names with the same text"):
        Subgroups.of({0: ["f"], "0": ["f"]}, frame)


def test_masked_cells_are_refused_as_a_whole(two):
    model, (X, y), (X_val, y_val), values = two
    cells = np.ma.masked_array(values["age"], values["age"] < 50)
    with pytest.raises(ValueError, match="subgroups_val is a masked array"):
        private_evaluation(
            model, X_val, y_val, X=X, y=y, epsilon=1.0, subgroups_val=cells,
            subgroups={"age": BANDS},
        )  # fmt: skip
