"""The split into training data and protected validation data, and checks of both."""

import itertools
import logging
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from evaluators import HeldOut
from few import few
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupShuffleSplit,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
    private_evaluation,
    public,
)
from sklearn_dpbo.exceptions import PrivacyWarning
from sklearn_dpbo.learners import PrivateLogisticRegression
from sklearn_dpbo.records.pickles import packed
from sklearn_dpbo.testing import seeded_noise

X = np.arange(80.0).reshape(40, 2)
Y = np.arange(40) % 2
SAME = X.copy()


def split(
    X=X, y=Y, fit_params=None, cv=None, seed=0, X_val=None, y_val=None, groups_val=None, **kw
):
    return HeldOut.by_arguments(
        LogisticRegression(), X, y, fit_params or {}, cv=cv, rng=np.random.RandomState(seed),
        X_val=X_val, y_val=y_val, groups_val=groups_val, split_params=kw,
    )  # fmt: skip


def test_by_default_a_quarter_of_the_rows_is_held_out_by_number_with_a_warning():
    with pytest.warns(
        PrivacyWarning, match=r"10 records, .* by number.*Only those 10.*PrivateTableSearchCV"
    ) as caught:
        problem = split()
    assert caught[0].filename == __file__ or "split" not in caught[0].filename
    with pytest.warns(PrivacyWarning):
        same = split(y=1 - Y)
    assert np.array_equal(problem.X_val, same.X_val), "the split must not depend on labels"
    rows = np.sort(np.concatenate([problem.training.X[:, 0], problem.X_val[:, 0]]))
    assert np.array_equal(rows, X[:, 0])


def test_groups_without_a_splitter_are_refused():
    with pytest.raises(ValueError, match="pass groups_val="):
        split(groups=np.repeat(np.arange(8), 5))
    with pytest.warns(PrivacyWarning):
        split(groups=None)


def test_by_default_a_quarter_of_the_groups_is_held_out_as_a_whole():
    groups = np.repeat(np.arange(8), 5)
    with pytest.warns(PrivacyWarning, match="2 groups, chosen by number at random"):
        problem = split(groups_val=groups)
    assert problem.units.m == 2 and problem.units.name == "group"
    group_of = dict(zip(X[:, 0], groups, strict=True))
    held_out, trained_on = (
        {group_of[x] for x in part[:, 0]} for part in (problem.X_val, problem.training.X)
    )
    assert not held_out & trained_on


@pytest.mark.parametrize(
    "cv",
    [
        ShuffleSplit(n_splits=1, test_size=10, random_state=0),
        PredefinedSplit(np.repeat([-1, 0], [30, 10])),
        [(np.arange(30), np.arange(30, 40))],
        [(np.arange(40) < 30, np.arange(40) >= 30)],
    ],
)
def test_cv_with_one_split_is_used(cv):
    problem = split(cv=cv)
    assert (len(problem.training.X), problem.units.m) == (30, 10)


@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.PrivacyWarning")
def test_a_larger_group_that_is_held_out_changes_nothing_of_the_training_set():
    names = np.repeat(np.arange(8), 5)
    held_out = split(groups_val=names).X_val[0, 0] // 10
    trainings, samples = [], []
    for more in (0, 3):
        groups = np.sort(np.append(names, [held_out] * more))
        frame = pd.DataFrame({"a": 1.0 * groups, "b": 0.0})
        weights = {"sample_weight": pd.Series(1.0 + groups)}
        problem = split(frame, frame["a"] % 2, fit_params=weights, groups_val=groups)
        assert held_out in set(problem.X_val["a"])
        trainings.append(problem.training)
        samples.append(packed(problem.sample))
    one, other = trainings
    assert samples[0] == samples[1]
    assert one.X.equals(other.X) and one.y.equals(other.y)
    assert one.fit_params["sample_weight"].equals(other.fit_params["sample_weight"])
    assert one.X.index.equals(one.y.index)


def test_rows_of_arguments_of_fit_are_numbered_as_those_of_x():
    frame = pd.DataFrame({"a": np.arange(8.0)}, index=list("abcdefgh"))
    weights = {"sample_weight": pd.Series(np.ones(8), index=frame.index)}
    training = split(
        frame, frame["a"] % 2, X_val=frame.copy(), y_val=frame["a"] % 2, fit_params=weights
    ).training
    for given in (training.X, training.y, training.fit_params["sample_weight"]):
        assert given.index.equals(pd.RangeIndex(8))


def test_groups_are_passed_to_a_group_splitter_and_only_groups_val_makes_units():
    groups = np.repeat(np.arange(8), 5)
    cv = GroupShuffleSplit(n_splits=1, test_size=2, random_state=0)
    assert split(cv=cv, groups_val=groups).units.m == 2
    with pytest.warns(PrivacyWarning, match="pass groups_val="):
        assert split(cv=cv, groups=groups).units.m == 10


def test_a_stratified_splitter_is_used_with_a_warning_about_labels():
    with pytest.warns(PrivacyWarning, match="by their labels"):
        assert split(cv=StratifiedShuffleSplit(1, test_size=10, random_state=0)).units.m == 10


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        *[
            (cv, r"cv=.* cannot be used.*ShuffleSplit\(n_splits=1")
            for cv in (5, KFold(2), LeaveOneOut(), "three", 0.2)
        ],
        *[
            ([(np.array(train, dtype=int), np.array(test, dtype=int))], message)
            for train, test, message in (
                (range(30), range(25, 40), "a row is in both parts"),
                (range(30), [35] * 5, "more than once"),
                (range(40), [-1, -2], "a row is in both parts"),
                (range(30), np.arange(25, 35)[None], "a row is in both parts"),
                ([], range(40), "n = 0 rows to fit on"),
                (range(20), [45], "row numbers of X"),
                (range(40), [], "m = 0"),
            )
        ],
    ],
)
def test_what_is_no_single_split_is_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        split(cv=cv)


@pytest.mark.filterwarnings("ignore:The groups parameter")
def test_a_split_with_groups_in_both_parts_is_refused():
    groups = np.repeat(np.arange(8), 5)
    with pytest.raises(ValueError, match=r"groups of groups_val .*GroupShuffleSplit"):
        split(cv=ShuffleSplit(1, random_state=0), groups_val=groups)


def test_one_label_in_a_list_does_not_change_how_others_are_read():
    """Otherwise results could reveal whether one label is of another type than the rest."""
    for odd in ("x", None, [1, 2], 1):
        problem = split(X_val=SAME[:3], y_val=[0, 1, odd])
        assert problem.y_val.dtype == float and problem.y_val[:2].tolist() == [0, 1]
        assert (problem.y_val[2] == 1) == (odd == 1)
    text = np.where(Y, "yes", "no")
    for odd in (None, [1, 2], 1, object()):
        problem = split(y=text, X_val=SAME[:3], y_val=["no", "yes", odd])
        assert problem.y_val.tolist() == ["no", "yes", None]
    two = split(y=np.stack([Y, Y], axis=1), X_val=SAME[:3], y_val=[[0, 0], [1, "x"], [1, 1]])
    assert np.array_equal(two.y_val, [[0, 0], [1, np.nan], [1, 1]], equal_nan=True)


@pytest.mark.parametrize("kind", [list, np.array])
def test_lists_and_arrays_of_texts_and_dicts_hold_an_object_for_each_record(kind):
    for X in (["a b", "c d e"] * 20, [{"a": 1}, {"b": 2, "c": 3}] * 20):
        problem = split(X=kind(X), X_val=X[1:3], y_val=Y[:2])
        for part, expected in ((problem.training.X, X), (problem.X_val, X[1:3])):
            assert part.dtype == object and part.tolist() == expected


@pytest.mark.parametrize(
    "X", [[["a"], ["b", "c"]] * 20, [[1, "a"]] * 40, [["1", "2"]] * 40, [[1, None]] * 40]
)
def test_lists_of_rows_that_are_not_numbers_are_refused(X):
    for given in (dict(X_val=SAME, y_val=Y), dict(cv=[(np.arange(30), np.arange(30, 40))])):
        with pytest.raises(ValueError, match="not all rows of numbers.*pandas.DataFrame"):
            split(X=X, **given)
    tokens = pd.Series(X)
    assert split(X=tokens, X_val=tokens.copy(), y_val=Y).X_val.tolist() == X


def test_categories_in_another_order_are_the_same():
    a, b = (pd.CategoricalDtype(list(names)) for names in ("pq", "qp"))
    X = pd.DataFrame({"place": pd.Series(["p", "q"] * 20, dtype=a)})
    problem = split(X=X, X_val=X.astype(b), y_val=Y)
    assert pd.concat([problem.training.X, problem.X_val]).dtypes["place"] == a


def test_fit_params_with_one_entry_per_row_are_split_with_the_rows():
    weight = np.arange(40)
    params = {"sample_weight": weight, "w": weight.tolist(), "flag": "x" * 40, "n": 3}
    params["marked"] = public(weight)
    problem = split(fit_params=params, cv=[(np.arange(10, 40), np.arange(10))])
    assert problem.training.fit_params["sample_weight"].tolist() == list(range(10, 40))
    assert problem.training.fit_params["w"] == list(range(10, 40))
    assert problem.training.fit_params["flag"] == "x" * 40 and problem.training.fit_params["n"] == 3
    assert problem.training.fit_params["marked"] is params["marked"]
    whole = split(fit_params=params, X_val=SAME, y_val=Y)
    assert whole.training.fit_params == params


FRAME = pd.DataFrame(X, columns=["a", "b"])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_columns_of_y_val_must_be_those_of_y(kind):
    y = kind({"dose": X[:, 0], "cost": X[:, 1]})
    assert (split(y=y, X_val=SAME, y_val=y).y_val == X).all()
    assert (split(y=y, X_val=SAME, y_val=X).y_val == X).all(), "arrays have no names"
    with pytest.raises(ValueError, match=r"y_val needs .* same order.*Pass y_val\[y.columns\]"):
        split(y=y, X_val=SAME, y_val=y[["cost", "dose"]])
    other = kind({"dose": X[:, 0], "price": X[:, 1]})
    for wrong in (other, other[["dose"]]):
        with pytest.raises(
            ValueError, match=r"y_val needs the columns .*. Only in y are \['cost'\]"
        ):
            split(y=y, X_val=SAME, y_val=wrong)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(X_val=SAME), "y_val is missing"),
        (dict(y=None, X_val=SAME, y_val=Y), "y is missing"),
        (dict(y_val=Y), "y_val was given without X_val"),
        (dict(X_val=SAME[:0], y_val=Y[:0]), "m = 0"),
        (dict(X_val=SAME[:3], y_val=Y[:2]), "3 rows and y_val has 2"),
        (dict(X_val=SAME[:, :1], y_val=Y), r"shapes \(1,\) and \(2,\)"),
        (
            dict(X=FRAME, X_val=SAME, y_val=Y),
            "X has the type DataFrame and X_val ndarray",
        ),
        (dict(X=FRAME, X_val=FRAME[["b", "a"]].copy(), y_val=Y), r"same order.*X_val\[X.columns\]"),
        (
            dict(X=FRAME, X_val=FRAME.rename(columns={"a": "c"}).copy(), y_val=Y),
            r"Only in X are \['a'\], only in X_val \['c'\]",
        ),
        (dict(X_val=SAME, y_val=np.where(Y, "one", "zero")), "y_val holds text instead of numbers"),
        (
            dict(y=Y.tolist(), X_val=SAME, y_val=np.where(Y, "1", "0")),
            "y_val holds text instead of numbers",
        ),
        (
            dict(X_val=SAME, y_val=pd.Categorical(np.where(Y, "1", "0"))),
            "y_val holds text instead of numbers",
        ),
        (
            dict(y=pd.Categorical(np.where(Y, "a", "b")), X_val=SAME, y_val=pd.Categorical(Y)),
            "y_val holds numbers instead of text",
        ),
        (
            dict(y=pd.Series(list("ab") * 20), X_val=SAME, y_val=Y),
            "y_val holds numbers instead of text",
        ),
        (
            dict(X_val=SAME, y_val=np.stack([Y, Y], axis=1)),
            r"a label has shape \(2,\) in y_val instead of \(\)",
        ),
        (dict(X_val=SAME, y_val=Y, cv=ShuffleSplit(1)), "leave cv out"),
        (dict(X_val=SAME, y_val=Y, groups_val=[1, 2]), "groups_val has 2 entries for"),
        (dict(y=Y[:3]), "inconsistent numbers"),
    ],
)
def test_hold_out_refuses_inconsistent_data(arguments, message):
    with pytest.raises(ValueError, match=message):
        split(**arguments)


def test_groups_for_a_splitter_with_a_validation_set_are_refused(two_classes):
    """`groups` is for a splitter, but users may expect it to protect all records of a person."""
    X, y, X_val, y_val = two_classes
    for estimator in (
        PrivateBayesSearchCV(LogisticRegression(), {"C": [1.0]}),
        PrivateThresholdClassifier(LogisticRegression()),
    ):
        with pytest.raises(ValueError, match="pass groups_val"):
            estimator.fit(X, y, X_val=X_val, y_val=y_val, groups=np.arange(len(X)))


# ------------------------------------------------------------- tables of two kinds
WHOLE = np.arange(80).reshape(40, 2) % 7
TABLES = {
    "array": np.asarray,
    "fortran": np.asfortranarray,
    "list": lambda table: table.tolist(),
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
}
FRAMES = {
    "pandas": lambda table: pd.DataFrame(table, columns=["a", "b"]),
    "nullable": lambda table: pd.DataFrame(table, columns=["a", "b"]).convert_dtypes(),
}


def dense_array(table):
    return table.toarray() if sparse.issparse(table) else np.asarray(table, dtype=float)


@pytest.mark.parametrize("kinds", few([TABLES, FRAMES], FRAMES), ids=["arrays", "frames"])
def test_tables_of_any_two_types_of_numbers_get_one_form(kinds):
    """Models are fitted on the types in which they meet validation records."""
    pairs = [("f4", "f8"), ("f8", "i1"), ("i8", "f4"), ("u2", "i8")]
    for make, make_val, (dtype, dtype_val) in itertools.product(
        kinds.values(), kinds.values(), pairs
    ):
        given = make(WHOLE.astype(dtype)), make_val(WHOLE[::-1].astype(dtype_val))
        problem = split(X=given[0], X_val=given[1], y_val=Y)
        own, protected = problem.training.X, problem.X_val
        assert type(own) is type(protected)
        dtypes = [
            getattr(table, "dtypes", getattr(table, "dtype", 0)) for table in (own, protected)
        ]
        assert np.all(dtypes[0] == dtypes[1])
        assert np.array_equal(dense_array(own), WHOLE)
        assert np.array_equal(dense_array(protected), WHOLE[::-1])


TIMES = pd.Series(pd.date_range("2024-01-01", periods=40, unit="s"))
PLACES = pd.Series(list("pq") * 20, dtype="category")
DIFFERENT = {  # of two columns that declare something else, and what to cast to
    "text for a number": (pd.Series(Y), pd.Series(Y).astype("string"), "int64", "string", "float"),
    "a missing truth value": (
        pd.Series(Y == 1), pd.Series([None, *(Y[1:] == 1)], dtype=object), "bool", "object",
        "float",
    ),
    "objects for times": (
        TIMES, TIMES.astype(object), r"datetime64\[s\]", "object", r"X\['c'\].dtype",
    ),
    "times of another precision": (
        TIMES, TIMES.astype("M8[ns]"), r"datetime64\[s\]", r"datetime64\[ns\]",
        r"X\['c'\].dtype",
    ),
    "categories for objects": (
        PLACES.astype(object), PLACES, "object", "category", r"X\['c'\].dtype",
    ),
    "other categories": (
        PLACES, PLACES.cat.add_categories(["r"]), "category", "category with other categories",
        r"X\['c'\].dtype",
    ),
    "a sparse column": (
        pd.Series(Y * 1.0, dtype=pd.SparseDtype(float, 0)), pd.Series(Y * 1.0),
        r"Sparse\[float64, 0(?:.0)?\]", "float64", r"X\['c'\].dtype",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DIFFERENT)
def test_columns_that_declare_different_types_are_named_with_the_cast(case):
    column, column_val, of, of_val, target = DIFFERENT[case]
    name = r"X_val\['c'\]"
    message = rf"^X\['c'\] is {of} and {name} is {of_val}: .* {name} = {name}.astype\({target}\)$"
    frame, frame_val = column.to_frame("c"), column_val.to_frame("c")
    with pytest.raises(ValueError, match=message):
        split(X=frame, X_val=frame_val, y_val=Y)
    frame_val["c"] = column_val.astype(float if target == "float" else column.dtype)
    problem = split(X=frame, X_val=frame_val, y_val=Y)
    assert problem.X_val["c"].dtype == problem.training.X["c"].dtype


# ---------------------------------------------------------------- rows that belong together
LABELLED = pd.DataFrame(X, columns=["a", "b"], index=[f"p{i}" for i in range(40)])
TARGETS = pd.Series(Y, index=LABELLED.index)
SHUFFLED = pd.Series(Y, index=LABELLED.index[::-1])
VAL = {"X_val": LABELLED.copy(), "y_val": TARGETS}
TO_SPLIT = {"cv": [(np.arange(30), np.arange(30, 40))]}


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (VAL | {"y": SHUFFLED}, "X and y"),
        (VAL | {"y": SHUFFLED.to_frame()}, "X and y"),
        (VAL | {"y_val": SHUFFLED}, "X_val and y_val"),
        (VAL | {"y_val": TARGETS.reset_index(drop=True)}, "X_val and y_val"),
        (VAL | {"groups_val": SHUFFLED}, "X_val and groups_val"),
        (VAL | {"fit_params": {"sample_weight": SHUFFLED}}, "X and sample_weight"),
        (TO_SPLIT | {"y": SHUFFLED}, "X and y"),
        (TO_SPLIT | {"groups_val": SHUFFLED}, "X and groups_val"),
        (TO_SPLIT | {"fit_params": {"sample_weight": SHUFFLED}}, "X and sample_weight"),
    ],
)
def test_rows_with_other_indices_are_refused(arguments, names):
    with pytest.raises(ValueError, match=f"{names} have different indices") as raised:
        split(**{"X": LABELLED, "y": TARGETS} | arguments)
    assert "p39" not in str(raised.value), "labels may be names"


TEXTS = ["a b", "c"] * 20
WORDS = np.array([TEXTS, TEXTS]).T
STRING = getattr(np.dtypes, "StringDType", lambda: "U")()  # of NumPy 2


@pytest.mark.parametrize(
    ("table", "table_val", "message"),
    [
        (FRAME, SAME, "X has the type DataFrame and X_val ndarray"),
        (SAME.tolist(), FRAME, "X has the type ndarray and X_val DataFrame"),
        (pd.Series(TEXTS), TEXTS, "X has the type Series and X_val ndarray"),
        (pd.Series(TEXTS), np.array(TEXTS), "X has the type Series and X_val ndarray"),
        (WORDS.astype(object), SAME, r"X is object and X_val is float64.*astype\(X.dtype\)"),
        (SAME, WORDS.astype(STRING), r"X is float64 and X_val is object.*astype\(float\)"),
        (SAME, TIMES.to_numpy()[:, None], r"shapes \(1,\) and \(2,\)"),
        (SAME, np.stack([TIMES, TIMES], axis=1), r"X is float64 and X_val is datetime64\[s\]"),
    ],
)
def test_tables_of_two_kinds_are_refused(table, table_val, message):
    with pytest.raises(ValueError, match=message):
        split(X=table, X_val=table_val, y_val=Y)


def held_out_frame(odd):
    """Return a frame of which the last row, which is held out, has this label, as `attrs` say."""
    frame = pd.DataFrame(X, index=[*range(39), odd])
    frame.attrs["last"] = odd
    return frame


def held_out_texts(odd):
    """Return an array of texts, of which the last row is held out."""
    return np.array([["a", "b"]] * 39 + [["a", str(odd)]])


@pytest.mark.parametrize(
    "table",
    [
        held_out_frame,
        lambda odd: held_out_frame(odd)[0],
        held_out_texts,
        lambda odd: pl.DataFrame(held_out_texts(odd)),
    ],
)
def test_public_rows_of_a_table_with_protected_ones_show_nothing_of_these(table):
    seen = []
    for odd in (39, "a label that is long"):
        X = table(odd)
        y = pd.Series(np.where(Y, "yes", "no"), index=getattr(X, "index", None), dtype=object)
        y.iloc[39] = str(odd)
        seen.append(split(X=X, y=y.to_numpy().astype(str), cv=LAST_TEN).sample)
    assert packed(seen[0]) == packed(seen[1])
    assert b"a label" not in packed(seen[1])


@pytest.mark.parametrize("dtype", ["Int64", "string", "category", object])
def test_groups_that_are_missing_are_refused(dtype):
    groups = pd.array(["1", "2", None, "3"] * 10, dtype=dtype)
    for given in (groups, pd.Series(groups), list(groups)):
        with pytest.raises(ValueError, match="groups_val has missing values"):
            split(X_val=SAME, y_val=Y, groups_val=given)


class OtherArray:
    """An array of another library, which takes no index of numpy."""

    def __init__(self, values):
        self._values = np.asarray(values)
        self.shape, self.dtype = self._values.shape, "other.int64"

    def __array_namespace__(self):
        return None

    def __array__(self, dtype=None, copy=None):
        return self._values

    def __len__(self):
        return len(self._values)

    def __getitem__(self, index):
        if not isinstance(index, int):
            raise IndexError("index with arrays of the library")
        return OtherArray(self._values[index])


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("kind", [np.asmatrix, OtherArray])
def test_arrays_of_other_libraries_and_matrices_are_read_as_arrays(kind):
    def column(y):
        return np.asmatrix(y).T if kind is np.asmatrix else kind(y)

    as_given = split(X_val=SAME, y_val=Y, groups_val=Y)
    problem = split(kind(X), column(Y), X_val=kind(SAME), y_val=column(Y), groups_val=column(Y))
    for part, expected in (
        (problem.training.X, X),
        (np.ravel(problem.training.y), Y),
        (problem.X_val, SAME),
        (problem.y_val, Y),
        (problem.units.labels, as_given.units.labels),
    ):
        assert type(part) is np.ndarray and np.array_equal(part, expected)
    with pytest.warns(PrivacyWarning):
        assert np.array_equal(split(kind(X), column(Y)).y_val, split().y_val)


class Opaque:
    """Cannot be pickled by any means."""

    def __reduce__(self):
        raise TypeError


def test_what_cannot_be_copied_is_named_with_what_to_do():
    with pytest.raises(TypeError, match=r"Opaque cannot be copied.*Define its classes .* module"):
        packed(Opaque())


# ---------------------------------------------------------------- the form of labels
RARE = "aVeryRareDiagnosis"
HELD_OUT = np.arange(30, 40)
LAST_TEN = [(np.arange(30), HELD_OUT)]
CHOICES = pd.CategoricalDtype(["no", "yes", RARE])
LABELS = {
    "array": np.array,
    "read-only": lambda y: np.frombuffer(np.array(y).tobytes(), np.array(y).dtype),
    "bytes": lambda y: np.array([label.encode() for label in y]),
    "StringDType": lambda y: np.array(y, dtype=STRING),
    "objects": lambda y: np.array(y, dtype=object),
    "list": list,
    "tuple": tuple,
    "column": lambda y: np.array(y)[:, None],
    "matrix": lambda y: np.asmatrix(np.array(y)).T,
    "two outputs": lambda y: np.array([y, y]).T,
    "series": pd.Series,
    "objects in a series": lambda y: pd.Series(y, dtype=object),
    "frame": lambda y: pd.DataFrame({"a": y, "b": y}),
    "categories": lambda y: pd.Series(y, dtype=CHOICES),
    "categories that occur": lambda y: pd.Series(y, dtype="category"),
    "categories of a frame": lambda y: pd.DataFrame({"a": pd.Categorical(y), "b": y}),
    "Categorical": pd.Categorical,
    "categories of pyarrow": lambda y: pd.Series(y).astype(
        pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    ),
    "polars": pl.Series,
    "frame of polars": lambda y: pl.DataFrame({"a": y}),
    "arrow": pa.array,
    "table of arrow": lambda y: pa.table({"a": y}),
}


def with_label(odd, place=39):
    """Return the labels of 40 records, one of them another one."""
    y = np.where(Y, "yes", "no").tolist()
    y[place] = odd
    return y


class KeepsAll(ClassifierMixin, BaseEstimator):
    """Predicts by the means of classes, and keeps all that it was fitted on."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y, site=None):
        self.X_, self.y_, self.site_ = X, y, site
        own = np.asarray(y)
        own = own[:, 0] if own.ndim == 2 else own
        self.classes_ = np.unique(own)
        self.means_ = np.stack(
            [self.scale * X[own == label].mean(axis=0) for label in self.classes_]
        )
        return self

    def predict(self, X):
        distances = np.square(X[:, None] - self.means_).sum(axis=2)
        predicted = self.classes_[distances.argmin(axis=1)]
        two = np.asarray(self.y_).shape[1:] == (2,)
        return np.stack([predicted, predicted], axis=1) if two else predicted


def seen_of(search, caught):
    """Return all that is public of a fitted search but scores and warnings of several fits."""
    said = [str(w.message) for w in caught if not str(w.message).startswith("fit number")]
    model = search.best_estimator_
    return pickle.dumps(model), search.classes_.dtype, search.predict(X).dtype, repr(search), said


QUICK, SLOW = ("array", "two outputs", "frame", "polars"), pytest.mark.slow
GIVEN = [  # by default some kinds, and one in all ways
    pytest.param(
        kind, given, id=f"{kind}-{given}",
        marks=[] if (kind in QUICK and given == "cv") or kind + given == "arrayX_val" else SLOW,
    )
    for kind in LABELS for given in ("cv", "by default", "X_val")
]  # fmt: skip


def place_held_out(seed):
    """Return a row that is held out by default."""
    with pytest.warns(PrivacyWarning):
        return int(split(seed=seed).X_val[0, 0] // 2)


@pytest.mark.first(1)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize(("kind", "given"), GIVEN)
def test_the_length_of_a_protected_label_shows_in_nothing(kind, given):
    place = place_held_out(0) if given == "by default" else 39
    seen = []
    for odd in ("no", RARE):
        y = with_label(odd, place)
        labels, site = LABELS[kind](y), np.array(y)
        search = PrivateBayesSearchCV(
            KeepsAll(), {"scale": [1.0, 1.1]}, epsilon=1.0, random_state=0,
            cv=LAST_TEN if given == "cv" else None, scoring="accuracy",
        )  # fmt: skip
        data = {}
        if given == "X_val":
            labels, site = (make(with_label("no")) for make in (LABELS[kind], np.array))
            data = {"X_val": SAME, "y_val": LABELS[kind](y)}
        with warnings.catch_warnings(record=True) as caught, seeded_noise(0):
            warnings.simplefilter("always")
            search.fit(X, labels, site=site, **data)
        seen.append(seen_of(search, caught))
    assert seen[0] == seen[1]
    assert RARE.encode() not in seen[1][0]


@pytest.mark.first(8)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("given", [dict(cv=LAST_TEN), dict(X_val=SAME[30:])])
@pytest.mark.parametrize("kind", LABELS)
def test_protected_texts_have_no_length_and_training_labels_their_own(kind, given):
    y = LABELS[kind](with_label(RARE))
    if "X_val" in given:
        given = given | {"y_val": LABELS[kind](with_label(RARE)[30:])}
        y = LABELS[kind](with_label("no"))
    problem = split(y=y, **given)
    assert problem.y_val.dtype == object and len(problem.y_val) == 10
    last = problem.y_val[-1] if problem.y_val.ndim == 1 else problem.y_val[-1, 0]
    assert last == (RARE.encode() if kind == "bytes" else RARE)
    own = np.asarray(problem.training.y)
    assert own.dtype.kind in "OT" or own.dtype.itemsize == np.dtype(own.dtype.kind + "3").itemsize


def test_texts_among_fit_parameters_are_as_wide_as_those_of_the_training_part():
    texts = np.array(with_label(RARE))
    params = {
        "site": texts,
        "sites": np.array([texts, texts]).T,
        "none": texts.reshape(40, 1)[:, :0],
    }
    params["series"] = pd.Series(texts)
    params["series"].attrs["positive"] = 17
    params["polars"] = pl.Series(texts.tolist())
    params["categories"] = pd.Categorical(texts)
    own = split(fit_params=params, cv=LAST_TEN).training.fit_params
    assert own["site"].dtype == own["sites"].dtype == "U3" and own["sites"].shape == (30, 2)
    assert own["none"].shape == (30, 0) and own["series"].attrs == {}
    assert RARE.encode() not in pickle.dumps(own)


@pytest.mark.filterwarnings("ignore:Not known to treat")
def test_a_gain_gets_texts_as_objects_whatever_others_are():
    def gain(y_true, response):
        assert y_true.dtype == response.dtype == object
        return y_true == response

    scorer = make_private_scorer(gain, bounds=(0, 1))
    y, y_val = np.array(with_label("no")), np.array(with_label(RARE))
    with seeded_noise(0):
        search = PrivateBayesSearchCV(KeepsAll(), {"scale": [1.0]}, epsilon=100.0, scoring=scorer)
        search.fit(X, y, X_val=SAME, y_val=y_val)
    exact = np.mean(search.predict(X) == with_label(RARE))
    assert search.best_score_ == pytest.approx(exact, abs=0.05)


BIG = 2**53 + 1
COLUMNS = {
    "arrow": pa.array,
    "chunks of arrow": lambda cells: pa.chunked_array([cells]),
    "polars": pl.Series,
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_missing_label_rounds_no_other(kind):
    y = np.where(Y, BIG, BIG + 2)
    for odd in (BIG, None):
        y_val = COLUMNS[kind]([*y[:39].tolist(), odd])
        assert split(y=y, X_val=SAME, y_val=y_val).y_val[:39].tolist() == y[:39].tolist()


TIMES_OF_OTHERS = {
    "polars": lambda days: pl.Series(days, dtype=pl.Int32).cast(pl.Date),
    "polars' moments": lambda days: pl.Series(days).cast(pl.Datetime("ms")),
    "arrow": lambda days: pa.array(days, pa.int64()).cast(pa.timestamp("s")),
    "arrow in pandas": lambda days: pd.Series(days).astype(pd.ArrowDtype(pa.timestamp("s"))),
}


@pytest.mark.parametrize("kind", TIMES_OF_OTHERS)
def test_labels_of_which_one_may_raise_are_refused_by_their_type(kind):
    make = TIMES_OF_OTHERS[kind]
    for odd in (1, 10**8):
        with pytest.raises(ValueError, match="(has|have) the type .*cast"):
            split(y=make([0, 1] * 20).to_numpy().astype(object), X_val=SAME, y_val=make([odd] * 40))


@pytest.mark.parametrize("y", [with_label(RARE), Y.tolist()])
def test_what_a_splitter_raises_quotes_no_label(y):
    class Rude:
        def split(self, X, y=None, groups=None):
            raise RuntimeError(f"only one {y[39]}")

        def get_n_splits(self, X=None, y=None, groups=None):
            return 1

    with pytest.raises(
        ValueError, match=r"split raises RuntimeError \(n_samples=40\). Pass a splitter"
    ) as raised:
        split(y=np.array(y), cv=Rude())
    assert "only one" not in str(raised.value) and raised.value.__cause__ is None
    said = []
    for odd in (y[0], 0.5, None, object()):
        with pytest.raises(ValueError, match="several splits") as raised:
            split(y=[*y[:39], odd], cv=5)
        said.append(str(raised.value))
    assert len(set(said)) == 1


class Counts(ShuffleSplit):
    """Warns of how many labels there are of a class."""

    def split(self, X, y=None, groups=None):
        warnings.warn(f"{np.sum(y == 1)} positive labels", stacklevel=1)
        return super().split(X, y, groups)


class Talks:
    """A cell that says something when it is copied, if it is large."""

    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        if self.value > 100:
            warnings.warn(f"large {self.value}", stacklevel=1)
            print("large", self.value)
            logging.getLogger("cells").warning("large %s", self.value)
        return Talks, (self.value,)


@pytest.mark.parametrize("how", ["X_val", "hold-out", "labels"])
def test_cells_say_nothing_while_they_are_read(how, recwarn, capfd, caplog):
    cells = pd.Series([Talks(1.0)] * 8, dtype=object)
    odd = pd.Series([Talks(1.0)] * 7 + [Talks(1e3)], dtype=object)
    frame, other, y = cells.to_frame("c"), odd.to_frame("c"), np.arange(8) % 2
    if how == "hold-out":
        split(other, y, cv=[(np.arange(7), [7])])
    elif how == "labels":
        split(np.zeros((8, 1)), cells, X_val=np.ones((8, 1)), y_val=odd)
    else:
        split(frame, y, X_val=other, y_val=y)
    said = [str(w.message) for w in recwarn] + [*capfd.readouterr(), caplog.text]
    assert "large" not in "".join(said)


@pytest.mark.parametrize("cv", [StratifiedKFold(5), Counts(1, random_state=0)])
def test_a_splitter_says_nothing_of_protected_labels(cv):
    said = []
    for n in (2, 3, 5):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                split(y=(np.arange(40) < n).astype(int), cv=cv)
            except ValueError as error:
                said.append(str(error))
        said += [str(w.message) for w in caught]
    assert len(set(said)) == isinstance(cv, StratifiedKFold)


MASKED = np.ma.masked_array(X.copy(), X == 79)
FIELDS = np.array([(label, 1.0) for label in with_label(RARE)], dtype=[("a", "U18"), ("b", float)])


@pytest.mark.parametrize("odd", [MASKED, MASKED[:, 0], FIELDS], ids=["table", "column", "fields"])
@pytest.mark.parametrize("name", ["X", "y", "X_val", "y_val", "site"])
def test_arrays_that_no_model_reads_as_they_are_meant_are_refused(name, odd):
    data = {"X": X, "y": Y, "X_val": SAME, "y_val": Y, "fit_params": {"site": Y}}
    data |= {"fit_params": {"site": odd}} if name == "site" else {name: odd}
    with pytest.raises(ValueError, match=f"^{name} is a (masked|structured) array.*DataFrame") as e:
        split(**data)
    assert RARE not in str(e.value)
    with pytest.raises(ValueError, match="^(X|y) is a (masked|structured) array"):
        PrivateLogisticRegression(classes=[0, 1]).fit(*((X, odd) if name == "y" else (odd, Y)))


def test_structured_labels_of_numbers_are_taken():
    y = np.array([(bool(label), 1.0) for label in Y], dtype=[("event", bool), ("time", float)])
    problem = split(y=y, cv=LAST_TEN)
    assert problem.y_val.dtype == problem.training.y.dtype == y.dtype


# ---------------------------------------------------------------- names of columns
NAMES = {
    "numbers and texts": ([0, 1], ["0", "1"], r"column 0 of X is 0 \(int\), of X_val '0' \(str\)"),
    "years": ([2019, 2020], ["2019", "2020"], r"is 2019 \(int\), of X_val '2019' \(str\)"),
    "one is a text": (["a", 1], ["a", "1"], r"column 1 of X is 1 \(int\), of X_val '1' \(str\)"),
    "truth values": ([False, True], ["False", "True"], r"False \(bool\), of X_val 'False' \(str\)"),
    "True and 1": ([0, 1], [False, True], r"column 0 of X is 0 \(int\), of X_val False \(bool\)"),
    "several levels": (
        [("a", 0), ("a", 1)], [("a", "0"), ("a", "1")],
        r"\('a', 0\) \(tuple\), of X_val \('a', '0'\)",
    ),
    "more": (["a", "b"], ["a"], r"column 1 of X is 'b' \(str\), of X_val missing"),
}  # fmt: skip


@pytest.mark.first(4)
@pytest.mark.parametrize("case", NAMES)
@pytest.mark.parametrize("prediction", ["auto", "separate"])
def test_names_of_columns_are_compared_with_their_types_before_the_charge(
    prediction, case, tmp_path
):
    """Otherwise every record counts as wrong: estimators find columns by their names."""
    names, names_val, first = NAMES[case]
    frame = pd.DataFrame(X, columns=names)
    frame_val = pd.DataFrame(SAME[:, : len(names_val)], columns=names_val)
    alike = list(map(str, names)) == list(map(str, names_val))
    hint = r"set X_val.columns = X.columns" if alike else "Only in X are"
    ledger = PrivacyLedger(tmp_path / "ledger", "scans", epsilon=9.0, create=True)
    model = LogisticRegression()
    message = f"^X_val needs the columns of X, in the same order: .*{first}.*{hint}"
    given = {"X_val": frame_val, "y_val": Y}
    with pytest.raises(ValueError, match=message):
        PrivateBayesSearchCV(model, {"C": [1.0]}, prediction=prediction, ledger=ledger).fit(
            frame, Y, **given
        )
    with pytest.raises(ValueError, match=message):
        PrivateThresholdClassifier(model, prediction=prediction, ledger=ledger).fit(
            frame, Y, **given
        )
    with pytest.raises(ValueError, match=message):
        private_evaluation(
            model.fit(X, Y), frame_val, Y, X=frame, y=Y, ledger=ledger, prediction=prediction,
            epsilon=1.0,
        )  # fmt: skip
    with pytest.raises(ValueError, match=message.replace("X", "y")):
        split(y=frame, X_val=SAME, y_val=frame_val)
    assert ledger.spent["epsilon"] == 0


def test_names_that_pandas_takes_for_the_same_are_and_get_one_type():
    for names, names_val in (
        ([2019, 2020], [2019.0, 2020.0]),
        (["a", "b"], np.array(["a", "b"], dtype=object)),
        ([None, "a"], [np.nan, "a"]),
        (pd.RangeIndex(2), np.array([0, 1], dtype="i1")),
    ):
        frames = [
            pd.DataFrame(table, columns=own) for table, own in ((X, names), (SAME, names_val))
        ]
        problem = split(X=frames[0], X_val=frames[1], y_val=Y)
        pd.testing.assert_index_equal(problem.X_val.columns, problem.training.X.columns)
        assert (problem.X_val.to_numpy() == SAME).all()
        assert list(frames[1].columns) == list(pd.Index(names_val)), "the user's stays as it is"
