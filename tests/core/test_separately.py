"""What is not listed is called on one unit at a time: the values are those of each unit alone."""

import copy
import random
import warnings
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pandas as pd
import pytest
from evaluators import HeldOut, evaluated
from few import few
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo.prediction import record_owner
from sklearn_dpbo.prediction.fitting import FitOptions, fit
from sklearn_dpbo.prediction.listed.parts import CutOut
from sklearn_dpbo.prediction.listed.separately import SHARED, Batch, _Kind, for_batch
from sklearn_dpbo.prediction.protected_values import ProtectedTable
from sklearn_dpbo.privacy.suppress_output import suppress_output
from sklearn_dpbo.records.pickles import packed

M = 24


def session_of(model, *args, **how):
    return held_out_of(model, *args, **how)[1]


def held_out_of(model, train, val, groups=None, prediction="auto", scoring="accuracy"):
    problem = HeldOut.by_arguments(
        model, *train, {}, cv=None, rng=None, X_val=copy.deepcopy(val[0]), y_val=val[1],
        groups_val=groups, split_params={},
    )  # fmt: skip
    scorer = make_private_scorer(scoring).prepare(problem.training.y)
    options = FitOptions(model, "raise", prediction=prediction)
    return problem, problem.session(options, [scorer])


def values_of(model, train, val, **params):
    """The values of all records."""
    problem, session = held_out_of(model, train, val, **params)
    own = session.candidates
    np.random.seed(0)
    with parallel_config("threading"):
        fitted = own.make_model()(fit(own.options.candidate({}), session.training))
    with suppress_output():
        table = replace(ProtectedTable.of(problem.rows, session.companions), name=uuid4().hex)
        return table.values(fitted, own.scorer.query)


def table(n, seed=0):
    """A frame of two columns of numbers and one of texts."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": np.round(rng.normal(size=n), 1), "b": rng.integers(0, 4, n)})
    return frame.assign(
        t=pd.Series(np.array(["x", "yy", "z"])[rng.integers(3, size=n)], dtype=object)
    )


def labels(frame, seed=2):
    noise = np.random.default_rng(seed).normal(size=len(frame))
    return (frame["a"] + 0.5 * frame["b"] + 0.8 * noise > 0.7).to_numpy().astype(int)


TRAIN, VAL = table(300), table(M, seed=1)
Y, Y_VAL = labels(TRAIN), labels(VAL, seed=3)


def bands(X):
    return pd.DataFrame({"band": pd.cut(X[:, 0], [0, 30, 60, 120], labels=[1, 2, 3])})


# ------------------------------------------------------------ what once moved many predictions
def replaced(rows, i, row):
    rows = rows.copy()
    rows[i] = row
    return rows


def changed(model, train, *neighbours, **params):
    """How many values change with one record."""
    first, other = (values_of(model, train, each, **params) for each in neighbours)
    return np.sum(first != other)


@pytest.mark.filterwarnings("ignore")
def test_a_missing_category_of_a_users_function_moves_its_own_count():
    """Whole categories are an array of integers, of which numpy's reciprocal is whole, too."""
    y = np.repeat([1, 0], 300)
    age = np.where(y, 20.0, 80.0)
    age[2:10], age[10:12] = 45, 150  # rare, so that no companion has them
    parts = bands, SimpleImputer(strategy="most_frequent"), np.reciprocal
    steps = [FunctionTransformer(part) if callable(part) else part for part in parts]
    model = make_pipeline(*steps, DecisionTreeClassifier(random_state=0))
    train = age[:, None], y
    X_val = np.full((M, 1), 45.0)
    pair = [(X, np.ones(M, dtype=int)) for X in (X_val, replaced(X_val, 7, 150.0))]
    assert changed(model, train, *pair) <= 1


def whole_numbers(X):
    return X.astype(np.int32) if (X >= 0).all() else X


def test_a_record_of_which_a_users_function_makes_another_type_moves_its_own_count():
    """Of 2^16 numpy's square is 0 among integers of 32 bits, which no companion shows."""
    x = np.repeat([1.0, 0.0], 300)
    y = x.astype(int)
    x[302:310] = 2**16
    steps = FunctionTransformer(whole_numbers), FunctionTransformer(np.square)
    model = make_pipeline(*steps, DecisionTreeClassifier(random_state=0))
    X_val = np.full((M, 1), 2.0**16)
    pair = [(X, np.ones(M, dtype=int)) for X in (X_val, replaced(X_val, 7, -1.0))]
    assert changed(model, (x[:, None], y), *pair) <= 1


def infinite_in_company(X):
    """Infinite where there is something extreme; else 1 if there is another row than usual."""
    extreme = (X > 900).any(axis=1, keepdims=True)
    return np.where(extreme, np.inf, np.full(X.shape, float(len(X) > N_BESIDE)))


def test_what_stands_in_for_a_record_that_fails_is_asked_by_itself():
    """Companions stand in its place; beside another record, they would be seen by its function."""
    global N_BESIDE
    model = make_pipeline(FunctionTransformer(infinite_in_company), LogisticRegression())
    train = TRAIN[NUMBERS].to_numpy(float), Y
    N_BESIDE = len(held_out_of(model, train, (train[0][:M], Y[:M]))[1].companions) + 1
    X = VAL[NUMBERS].to_numpy(float)
    for place in (0, 3, M - 1):
        pair = [(each, Y_VAL) for each in (X, replaced(X, place, 1000.0))]
        assert changed(model, train, *pair) <= 1


ASKED = []


def asks(X):
    """Note which rows come together; those of a negative one cannot be had."""
    ASKED.append(X[:, 0].tolist())
    return [1] if (X < 0).any() else X


@pytest.mark.parametrize("failing", [None, 0, 2, 5])
def test_a_unit_is_asked_with_all_of_its_rows_and_no_others(failing):
    """Between the two companions, 90 and 91; a unit that fails is noted, and no other."""
    units = np.array([2, 0, 2, 1, 0, 0])
    X = np.concatenate([[90.0], np.arange(6.0), [91.0]])[:, None]
    if failing is not None:
        X[1 + failing] = -1.0
    part = CutOut(packed(FunctionTransformer(asks).fit(X)), b"")
    batch = Batch(1, 1, np.arange(6), units, "", False)
    ASKED.clear()
    out = for_batch(packed(part), batch).transform(X)
    of_units = [[90.0, *X[1 + np.flatnonzero(units == u), 0], 91.0] for u in range(3)]
    assert [[90.0, 91.0], *of_units] == ASKED
    failed = set() if failing is None else {int(units[failing])}
    assert batch.odd == failed
    kept = np.r_[True, ~np.isin(units, list(failed)), True]
    assert np.array_equal(out[kept], X[kept]) and (out[~kept] == 90.0).all()


def remembers_in_a_cell(X):
    """Say whether a list that all records hold was seen before."""
    seen = [[float(len(row[0]))] for row in X]
    for row in X:
        row[0].append(0)
    return np.array(seen)


def test_cells_that_can_be_changed_are_new_for_each_record():
    lists = np.empty((M, 1), dtype=object)
    shared = []
    for i in range(M):
        lists[i, 0] = shared
    part = CutOut(packed(FunctionTransformer(remembers_in_a_cell).fit(lists)), b"")
    batch = Batch(1, 1, np.arange(M - 2), np.arange(M - 2), "", False)
    assert not for_batch(packed(part), batch).transform(lists).any()


# ------------------------------------------------------------ the same as alone
def logs(X):
    return np.log1p(np.abs(X))


def z_scores(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def raises(X):
    if (X > 900).any():
        raise SystemExit("patient 4711")
    return X


def casts(X):
    return X.astype("f4") if (X > 900).any() else X


def draws(X):
    return np.where(X > 900, np.random.normal(size=X.shape), X) if (X > 900).any() else X


def draws_by_python(X):
    return np.where(X > 900, random.gauss(0, 1), X) if (X > 900).any() else X


def drops(X):
    return X[X[:, 0] < 900]


def writes(X):
    X[X > 900] = 0
    X *= 2
    return X


BUFFER = np.empty((300, 2))


def one_array(X):
    """Return the same array each time, with what is in it then."""
    BUFFER[: len(X)] = X
    return BUFFER[: len(X)]


def sets_state(X):
    if (X > 900).any():
        np.seterr(all="raise")
        warnings.simplefilter("error")
        np.random.seed(3)
        np.random.set_bit_generator(np.random.PCG64(1))
    warnings.warn("of a user's function", stacklevel=2)
    return X / (X != 7) + 0 * np.random.random()


def texts(frame):
    return frame[["t"]].apply(lambda column: column.str.upper())


def first_letters(frame):
    return [text[:1] for text in frame["t"]]


def codes(frame):
    return frame.apply(lambda column: column.astype("category").cat.codes)


def mixed(frame):
    """A column of objects whose cells are of a type of their own where one is extreme."""
    return frame.astype(object).map(lambda cell: str(cell) if cell > 900 else cell)


class Own(ClassifierMixin, BaseEstimator):
    """Predicts by the mean of the batch, and lists where there is something extreme."""

    def __init__(self, C=1.0):
        self.C = C

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        X = np.asarray(X, dtype=float)
        labels = (X[:, 0] > X[:, 0].mean()).astype(int)
        return labels.tolist() if (X > 900).any() else labels

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-np.asarray(X, dtype=float)[:, 0]))
        return np.stack([1 - p, p], axis=1)


class Doubles(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Names its columns as they come."""

    def fit(self, X, y=None):
        self.n_features_in_, self.feature_names_in_ = X.shape[1], np.array(["a"], dtype=object)
        return self

    def transform(self, X):
        return 2 * X


class Remembers(TransformerMixin, BaseEstimator):
    """Changes signs once it has seen an extreme record."""

    seen_ = False

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        sign, self.seen_ = 1 - 2 * self.seen_, self.seen_ or bool((X > 900).any(axis=None))
        return sign * X


NUMBERS = ["a", "b"]


def on_numbers(step):
    return make_column_transformer((step, NUMBERS))


ARRAYS = [logs, z_scores, raises, casts, draws, drops, writes, one_array, sets_state]
MODELS = {
    **{
        f.__name__: make_pipeline(
            on_numbers(StandardScaler()), FunctionTransformer(f), LogisticRegression()
        )
        for f in ARRAYS
    },
    **{
        f"{f.__name__} of columns": make_pipeline(
            make_column_transformer(
                (make_pipeline(StandardScaler(), FunctionTransformer(f)), NUMBERS),
                (OneHotEncoder(handle_unknown="ignore"), ["t"]),
            ),
            LogisticRegression(),
        )
        for f in (logs, z_scores, raises, drops)
    },
    "texts": make_pipeline(
        make_column_transformer(
            (make_pipeline(FunctionTransformer(texts), OneHotEncoder()), ["t"]),
            remainder="passthrough",
        ),
        LogisticRegression(),
    ),
    "list": make_pipeline(
        FunctionTransformer(first_letters), TfidfVectorizer(analyzer="char"), LogisticRegression()
    ),
    "codes": make_pipeline(
        make_column_transformer((FunctionTransformer(codes), ["t"]), remainder="passthrough"),
        LogisticRegression(),
    ),
    "frames": make_pipeline(
        make_column_transformer(
            (FunctionTransformer(codes), ["t"]), (Doubles(), ["a"]), remainder=StandardScaler()
        ).set_output(transform="pandas"),
        DecisionTreeClassifier(max_depth=3, random_state=0),
    ),
    "cells": make_pipeline(
        on_numbers(FunctionTransformer(mixed)), OneHotEncoder(handle_unknown="ignore"),
        LogisticRegression(),
    ),
    "classifier": make_pipeline(on_numbers(StandardScaler()), Own()),
    "vote": make_pipeline(
        on_numbers(StandardScaler()),
        VotingClassifier([("own", Own()), ("other", LogisticRegression())], n_jobs=2),
    ),
    "soft vote": make_pipeline(
        on_numbers("passthrough"),
        VotingClassifier([("own", Own()), ("other", LogisticRegression())], voting="soft"),
    ),
    "bagging": make_pipeline(
        on_numbers("passthrough"), BaggingClassifier(Own(), n_estimators=3, random_state=0)
    ),
    "search": GridSearchCV(
        make_pipeline(on_numbers(FunctionTransformer(z_scores)), LogisticRegression()),
        {"logisticregression__C": [0.1, 1.0]},
    ),
    "calibrated": make_pipeline(on_numbers("passthrough"), CalibratedClassifierCV(Own(), cv=2)),
    "state": make_pipeline(on_numbers(Remembers()), LogisticRegression()),
    "union": make_pipeline(
        on_numbers("passthrough"),
        FeatureUnion([("z", FunctionTransformer(z_scores)), ("d", Doubles())]),
        LogisticRegression(),
    ),
}  # fmt: skip


def with_record(frame, i, a):
    return frame.assign(a=np.where(np.arange(len(frame)) == i, a, frame["a"]))


@pytest.mark.first(1)
@pytest.mark.filterwarnings("ignore")
# By default one of each kind: arrays, cells, and what users' code may do to others.
@pytest.mark.parametrize("name", few(MODELS, "one_array", "writes", "sets_state", "cells", "state"))
def test_each_record_gets_what_it_gets_alone(name):
    odd = with_record(with_record(VAL, 7, 1e3), 0, np.nan)
    in_groups = name in ("z_scores", "frames", "vote")
    for groups in (None, np.arange(M) // 3)[: 1 + in_groups]:
        data = MODELS[name], (TRAIN, Y), (odd, Y_VAL)
        together, alone = (
            values_of(*data, prediction=p, groups=groups) for p in ("auto", "separate")
        )
        assert np.array_equal(together, alone), np.flatnonzero(together != alone)
        assert together.sum() > 0.2 * M


@pytest.mark.first(1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", few(["one_array", "frames", "sets_state", "state"], "one_array", "state")
)
def test_no_record_changes_what_another_gets(name):
    first = values_of(MODELS[name], (TRAIN, Y), (VAL, Y_VAL))
    for i, a in ((0, 1e3), (M // 2, np.nan), (M - 1, -1e3)):
        other = values_of(MODELS[name], (TRAIN, Y), (with_record(VAL, i, a), Y_VAL))
        assert np.array_equal(np.delete(first, i), np.delete(other, i))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("draws", [draws, draws_by_python])
def test_what_one_record_draws_changes_no_draw_for_another(draws):
    random.seed(1)
    rows = np.where(np.arange(M) > 4, 1e3, VAL["a"])
    vals = [VAL.assign(a=replaced(rows, 0, a)) for a in (0.0, 1e3)]
    model = make_pipeline(
        on_numbers("passthrough"), FunctionTransformer(draws), LogisticRegression()
    )
    first, other = (values_of(model, (TRAIN, Y), (val, Y_VAL)) for val in vals)
    same = draws is draws_by_python  # one number for the batch, which is the same each time
    assert np.array_equal(first[1:], other[1:]) and (same or 0 < first[5:].mean() < 1)


@pytest.mark.parametrize("make", [list, lambda cells: np.array(cells, dtype=object), pd.Series])
def test_cells_of_a_type_that_no_companion_has_are_refused(make):
    """What reads all cells at once would choose one type for them."""
    kind = _Kind.of(make([1.0, None, "a"]))
    assert list(kind.rows(make([None, "b", 2.5]), 1, 2)) == ["b", 2.5]
    assert kind.rows(make([None, True, 2.5]), 1, 1) is None


class Apply(Own):
    """Has a method and an attribute that a parent could call on all rows."""

    def apply(self, X):
        return X - X.mean(axis=0)

    def fit(self, X, y):
        self.inside_ = [LogisticRegression().fit(X, y)]
        return super().fit(X, y)


class OwnFrame(pd.DataFrame):
    """A user's kind of table, of which a method could know of all rows."""


class OwnArray(np.ndarray):
    """Likewise."""


@pytest.mark.parametrize(
    "output", [OwnFrame({"a": [1.0]}), np.ones((1, 1)).view(OwnArray), (1.0,), {"a": 1.0}, "text"]
)
def test_outputs_of_a_users_own_types_are_refused(output):
    with pytest.raises(TypeError, match="outputs of type"):
        _Kind.of(output)


def test_a_part_has_no_method_that_takes_all_rows():
    X = TRAIN[NUMBERS].to_numpy(float)
    part = CutOut(packed(Apply().fit(X, Y)), b"")
    none = np.arange(0)
    made = for_batch(packed(part), Batch(8, 8, none, none, "", False))
    assert made.classes_.tolist() == [0, 1] and made.C == 1.0
    for name in ("apply", "inside_", "score"):
        with pytest.raises(AttributeError, match=name):
            getattr(made, name)
    with pytest.raises(ValueError, match="another number of rows"):
        made.predict(X[:17])


# ------------------------------------------------------------ sharing
class Counts(TransformerMixin, BaseEstimator):
    """Counts how often it is called."""

    calls = 0

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        type(self).calls += 1
        return np.sign(X) * np.abs(X) ** self.power


def calls_of(model, grid, **params):
    X, y = TRAIN[NUMBERS].to_numpy(float), Y
    session = session_of(model, (X, y), (VAL[NUMBERS].to_numpy(float), Y_VAL), **params)
    Counts.calls = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return evaluated(session, grid).statistics._open()[:, 0], Counts.calls


@pytest.mark.slow
def test_candidates_that_differ_in_later_steps_share_what_a_step_returns():
    model = make_pipeline(StandardScaler(), Counts(), LogisticRegression())
    grid = [{"logisticregression__C": C} for C in (0.1, 1.0, 10.0)]
    found = [calls_of(model, each) for each in (grid[:1], grid)]
    assert found[0][1] > M and found[1][1] - found[0][1] < 14, "the fit and the public rows"
    counts, calls = calls_of(model, [{"counts__power": p} for p in (0.5, 1.0, 2.0)])
    assert calls > 3 * M
    separate, _ = calls_of(
        model, [{"counts__power": p} for p in (0.5, 1.0, 2.0)], prediction="separate"
    )
    assert np.array_equal(counts, separate)


def in_this_process(monkeypatch, *numbers):
    """Divide units among so many workers, one number for each count, and let none begin."""
    left = iter(numbers)
    monkeypatch.setattr(record_owner, "effective_n_jobs", lambda _: next(left, 1))
    monkeypatch.setattr(
        record_owner, "in_parallel", lambda f, tasks, *_: (f(*task) for task in tasks)
    )


@pytest.mark.parametrize("grouped", [False, True])
def test_workers_share_the_units_and_each_is_asked_once(grouped, monkeypatch):
    model = make_pipeline(StandardScaler(), Counts(), DecisionTreeClassifier(random_state=0))
    grid = [{"decisiontreeclassifier__max_depth": depth} for depth in (1, 2, 5)]
    groups = np.random.default_rng(0).integers(0, 17, M) if grouped else None
    alone, n_alone = calls_of(model, grid, groups=groups)
    in_this_process(monkeypatch, 3, 3)
    shared, calls = calls_of(model, grid, groups=groups)
    assert np.array_equal(shared, alone) and len({*alone}) > 1
    assert calls == n_alone + 2, "each worker asks for the companions"


@pytest.mark.parametrize("numbers", [(3, 1), (1, 3), (2, 3), (3, 2)])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_share_of_another_cut_of_the_table_is_another_share(grouped, numbers, monkeypatch):
    model = make_pipeline(StandardScaler(), Counts(), DecisionTreeClassifier(random_state=0))
    groups = np.random.default_rng(0).integers(0, 17, M) if grouped else None
    data = (TRAIN[NUMBERS].to_numpy(float), Y), (VAL[NUMBERS].to_numpy(float), Y_VAL)
    session = session_of(model, *data, groups=groups)
    query = session.candidates.scorer.query
    right = evaluated(session_of(model, *data, groups=groups), [{}]).statistics._open()
    params = {}
    session.candidates.fit((params,))
    for n in numbers:
        in_this_process(monkeypatch, n, n)
        assert session.compare([params], query)._open() == right


def test_values_of_shares_are_counted_in_silence(monkeypatch, capfd):
    """A user's gain is copied then, and may print."""
    right = ProtectedTable.counted

    def prints(*given, **options):
        print("a raw count")
        return right(*given, **options)

    monkeypatch.setattr(ProtectedTable, "counted", prints)
    calls_of(make_pipeline(Counts(), LogisticRegression()), [{}])
    assert capfd.readouterr() == ("", "")


def test_threads_do_not_share_units(monkeypatch):
    """They would restore generators that others draw from."""
    handed_over = []
    monkeypatch.setattr(record_owner, "in_parallel", lambda *task: handed_over.append(task))
    model = make_pipeline(Counts(), LogisticRegression())
    with parallel_config("threading", n_jobs=3):
        calls_of(model, [{}])
    assert not handed_over


def test_one_object_in_two_steps_does_not_share_what_other_steps_change():
    own = Counts(0.5)
    model = make_pipeline(own, StandardScaler(), own, LogisticRegression())
    grid = [{"standardscaler__with_mean": flag} for flag in (True, False)]
    counts, calls = calls_of(model, grid)
    assert np.array_equal(counts, calls_of(model, grid, prediction="separate")[0])
    assert counts[0] != counts[1] and 3 * M < calls < 6 * M


def test_nothing_is_kept_of_a_table_that_is_gone():
    model = make_pipeline(Counts(), LogisticRegression())
    calls_of(model, [{}])
    assert not SHARED._kept
