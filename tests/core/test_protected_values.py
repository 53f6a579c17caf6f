"""One protected record touches its own integer, and nothing else.

Each test here is an attack that once worked: one odd record decided the score of all others.
"""

import copy
import datetime
import pickle
import struct
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from evaluators import HeldOut, evaluated
from few import few
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
    private_evaluation,
)
from sklearn_dpbo.exceptions import BatchDependentError
from sklearn_dpbo.prediction.fitting import FitOptions
from sklearn_dpbo.privacy.suppress_output import suppress_output
from sklearn_dpbo.records.tables import as_table

pytestmark = pytest.mark.usefixtures("seeded")

M = 101


def problem_of(estimator, train, val):
    return HeldOut.by_arguments(
        estimator, *train, {}, cv=None, rng=None, X_val=copy.deepcopy(val[0]), y_val=val[1],
        groups_val=None, split_params={},
    )  # fmt: skip


def statistics(estimator, train, val, scoring="accuracy", grid=({},), prediction="together"):
    """Raw statistics of all candidates, from the data as a user gives them."""
    problem = problem_of(estimator, train, val)
    scorer = make_private_scorer(scoring) if isinstance(scoring, str) else scoring
    options = FitOptions(estimator, "raise", prediction=prediction)
    session = problem.session(options, [scorer.prepare(problem.training.y)])
    found = evaluated(session, grid).statistics
    return found._open(), found.sensitivity


def assert_only_one_moves(estimator, train, val, neighbour, **params):
    """Neither statistic moves by more than the sensitivity, together or separately predicted."""
    for prediction in ("together", "separate"):
        a, sensitivity = statistics(estimator, train, val, prediction=prediction, **params)
        b, _ = statistics(estimator, train, neighbour, prediction=prediction, **params)
        assert (np.abs(a - b) <= sensitivity).all(), (prediction, a, b)
        assert a.max() > M / 2 * sensitivity, "there is something to lose"


# ------------------------------------------------------------ company


class Responds(ClassifierMixin, BaseEstimator):
    """Predicts [x_0 > 0], and something else for marked records, in the form that `form` gives."""

    def __init__(self, odd=None, form=list):
        self.odd = odd
        self.form = form

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        marked = X[:, 1] > 100
        labels = (X[:, 0] > 0).astype(int).tolist()
        return self.form([self.odd if m else v for m, v in zip(marked, labels, strict=True)])


def numbers(n=240, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, (X[:, 0] > 0).astype(int)


def with_mark(X, i=17):
    X = X.copy()
    X[i, 1] = 1000.0
    return X


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "odd"),
    [(list, "unknown"), (list, 0.5), (list, [1]), (np.array, None), (pd.Series, 10**400)],
)
def test_response_of_another_type_moves_its_own_count(form, odd):
    X, y = numbers()
    val = X[:M], y[:M]
    assert_only_one_moves(Responds(odd, form), (X, y), val, (with_mark(X[:M]), y[:M]))


class Rescales(Responds):
    """Row by row for all but extreme records, beside which it rescales everything."""

    def predict(self, X):
        scale = -1 if (X[:, 1] == 1000.0).any() else 1
        return (scale * X[:, 0] > 0).astype(int)


def test_record_that_changes_what_its_companions_get_is_predicted_apart():
    """The check on public rows cannot know this record; its companions do."""
    X, y = numbers()
    val = X[:M], y[:M]
    assert_only_one_moves(Rescales(), (X, y), val, (with_mark(X[:M]), y[:M]))


# ------------------------------------------------------------ labels and tables


def test_held_out_record_does_not_decide_how_training_lists_are_read():
    """The first row was looked at, held out or not: the refitted model told which it was."""
    X, y = numbers()
    split = [(np.arange(1, 240), np.arange(1))]
    models = []
    for odd in (["1.0", "2.0"], [None, 1.0], X[0].tolist()):
        search = PrivateBayesSearchCV(LogisticRegression(), {"C": [1.0]}, cv=split)
        search.fit([odd, *X[1:].tolist()], y)
        models.append(search.best_estimator_.coef_)
    assert np.array_equal(models[0], models[1]) and np.array_equal(models[0], models[2])


# ------------------------------------------------------------ state
class Memorises(ClassifierMixin, BaseEstimator):
    """Keeps all records that it has predicted."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = []
        return self

    def predict(self, X):
        self.seen_ += X[:, 0].tolist()
        return (X[:, 0] > 0).astype(int)

    def decision_function(self, X):
        self.seen_ += X[:, 0].tolist()
        return X[:, 0]


SECRETS = np.random.default_rng(5).normal(size=M) + 7e6


@pytest.mark.parametrize("make", few([PrivateBayesSearchCV, PrivateThresholdClassifier]))
def test_frozen_model_keeps_no_protected_record(make):
    X, y = numbers()
    val = np.stack([SECRETS, np.zeros(M)], axis=1)
    model = FrozenEstimator(Memorises().fit(X, y))
    grid = ({"estimator": [model]},) if make is PrivateBayesSearchCV else ()
    estimator = make_pipeline(StandardScaler(with_mean=False), model)
    search = make(model if make is PrivateThresholdClassifier else estimator,
                  *({"frozenestimator": [model]} for _ in grid))  # fmt: skip
    search.fit(X, y, X_val=val, y_val=np.ones(M, dtype=int))
    assert not pickled_contains(search, SECRETS) and not pickled_contains(model, SECRETS)


def pickled_contains(value, secrets):
    kept = pickle.dumps(value)
    forms = (
        lambda v: struct.pack("<d", v),
        lambda v: struct.pack(">d", v),
        lambda v: repr(v).encode(),
    )
    return any(form(secret) in kept for secret in secrets.tolist() for form in forms)


def test_planted_secret_is_found():
    kept = Memorises().fit(*numbers())
    kept.predict(np.stack([SECRETS, SECRETS], axis=1))
    assert pickled_contains(kept, SECRETS)


def test_released_model_is_the_one_that_was_evaluated():
    X, y = numbers()
    search = PrivateBayesSearchCV(
        DecisionTreeClassifier(splitter="random", max_depth=3), {"min_samples_leaf": [1, 5, 9]},
        epsilon=1e9,
    ).fit(X, y, X_val=X[:M].copy(), y_val=y[:M])  # fmt: skip
    assert search.best_score_ == search.best_estimator_.score(X[:M], y[:M])


# ------------------------------------------------------------ the check on public rows
class FillsWith(TransformerMixin, BaseEstimator):
    """Fills missing values with something that other records have a part in."""

    def __init__(self, how):
        self.how = how

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.how(X).fillna(0)


def of_group(frame):
    return frame.assign(a=frame["a"] - frame.groupby("user")["a"].transform("mean"))


def in_metres(frame):
    return frame / 100 if frame["a"].mean() > 3 else frame


BATCH_DEPENDENT = {
    "mean": lambda frame: frame.fillna(frame.mean()),
    "above": lambda frame: frame.ffill(),
    "group": of_group,
    "units": in_metres,
    "first": lambda frame: frame - frame.iloc[0],
    "rank": lambda frame: frame.rank(pct=True),
    "quantile": lambda frame: (frame > frame.quantile(0.9)).astype(float) + frame,
    "sorted": lambda frame: frame.sort_values("a"),
    "size": lambda frame: frame + (len(frame) > 90) * 0.5,
    "duplicates": lambda frame: frame + frame.duplicated().to_numpy()[:, None],
    "any missing": lambda frame: frame + frame.isna().any().any(),
}


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.03])
@pytest.mark.parametrize("name", BATCH_DEPENDENT)
def test_statistics_of_the_batch_are_found_on_public_rows(name, share):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    frame["user"] = rng.integers(40, size=300).astype(float)
    frame = frame.mask(rng.random(frame.shape) < share)
    y = (frame["b"].fillna(0) + 0.3 * frame["a"].fillna(0) > 0).astype(int)
    frame["a"] += 170 * (name == "units")
    if name == "any missing" and share:
        pytest.skip("there is a missing value in every batch: a companion has one")
    model = make_pipeline(FillsWith(BATCH_DEPENDENT[name]), LogisticRegression())
    with pytest.raises(BatchDependentError):
        statistics(model, (frame, y), (frame[:200], y[:200]))


def test_batch_dependent_estimator_is_accepted_if_records_are_predicted_separately():
    X, y = numbers()
    model = make_pipeline(FunctionTransformer(lambda Z: Z - Z.mean(axis=0)), LogisticRegression())
    search = PrivateBayesSearchCV(model, {}, prediction="separate", epsilon=1e6)
    search.fit(X, y, X_val=X[:M].copy(), y_val=y[:M])
    assert search.best_score_ > 0.9 and "predicted alone" in search.privacy_.condition
    with pytest.raises(ValueError, match="prediction must be"):
        PrivateBayesSearchCV(model, {}, prediction="alone").fit(X, y, X_val=X.copy(), y_val=y)


def without_zero(X):
    X = X.copy()
    for column in X.T:
        if (column == 0).any():
            column[column == 0] = column[column != 0].mean()
    return X


def by_site(X):
    """Standardise the records of the fourth site by their own mean."""
    X, fourth = X.copy(), X[:, 1] == 4
    X[fourth, 0] -= X[:, 0].mean() * fourth.any()
    return X


def one_replaced(function, **params):
    """Return how many of 100 predictions change, as the score tells, with one record."""
    rng = np.random.default_rng(0)
    X, held_out = (
        np.column_stack([rng.normal(1, 1, size=n), rng.integers(1, 4, size=n)]) for n in (300, 100)
    )
    y, labels = ((Z[:, 0] > 1).astype(int) for Z in (X, held_out))
    if function is without_zero:
        held_out[25:, 0] = 0
    if function is by_site:
        held_out[25:, 1] = 4
    labels[25:] = 1
    neighbour = np.vstack([[-1e6, 4], held_out[1:]])
    model = make_pipeline(FunctionTransformer(function), LogisticRegression())
    search = PrivateBayesSearchCV(model, {}, epsilon=1e6, **params)
    scores = []
    for Z in (held_out, neighbour):
        np.random.seed(0)
        scores.append(search.fit(X, y, X_val=Z, y_val=labels).best_score_)
    return round(100 * abs(scores[0] - scores[1]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [without_zero, by_site])
def test_own_code_moves_one_prediction_where_training_records_never_reach_a_branch(function):
    assert one_replaced(function) <= 1


def test_warnings_about_protected_records_leave_no_trace_in_modules():
    colours = pd.DataFrame({"colour": ["red", "green"] * 30})
    y = np.arange(60) % 2
    encoder = OneHotEncoder(handle_unknown="ignore", drop="first")
    model = make_pipeline(encoder, LogisticRegression())
    found = []
    for new in ("red", "unseen"):
        val = colours.copy()
        val.iloc[3, 0] = new
        statistics(model, (colours, y), (val, y))
        registry = getattr(sys.modules[OneHotEncoder.__module__], "__warningregistry__", {})
        found.append({key for key in registry if key != "version"})
    assert found[0] == found[1]


def test_every_candidate_is_checked():
    class Share(TransformerMixin, BaseEstimator):
        def __init__(self, share=0.0, how="none"):
            self.share, self.how = share, how

        def fit(self, X, y=None):
            return self

        def transform(self, X):
            return X - self.share * X.mean(axis=0) - (self.how == "mean") * X.mean(axis=0)

    X, y = numbers()
    model = make_pipeline(Share(), LogisticRegression())
    fine = [{"share__share": 0.0, "logisticregression__C": C} for C in (1.0, 2.0)]
    statistics(model, (X, y), (X[:M], y[:M]), grid=fine)
    for bad in ({"share__share": 0.1}, {"share__share": -0.1}, {"share__how": "mean"}):
        grid = [fine[0], {**fine[0], **bad}, fine[1]]
        with pytest.raises(BatchDependentError):
            statistics(model, (X, y), (X[:M], y[:M]), grid=grid)


class RemembersInItsClass(LogisticRegression):
    """Notes in its class that it predicted an odd record; then no copy can be unpickled."""

    seen = None

    def decision_function(self, X):
        if (np.asarray(X)[:, 0] > 900).any():
            RemembersInItsClass.seen = float(np.max(X))
        return super().decision_function(X)

    def __setstate__(self, state):
        if RemembersInItsClass.seen is not None:
            print("seen", RemembersInItsClass.seen)
            raise RuntimeError(f"seen {RemembersInItsClass.seen}")
        super().__setstate__(state)


@pytest.mark.first(1)
@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc"])
def test_copy_that_cannot_be_unpickled_after_predictions_tells_nothing(
    scoring, two_classes, monkeypatch, capfd
):
    X, y, X_val, y_val = two_classes
    X_val[3, 0] = 98765.43210
    monkeypatch.setattr(RemembersInItsClass, "seen", None)
    search = PrivateBayesSearchCV(RemembersInItsClass(), {"C": [0.1, 1.0]}, scoring=scoring)
    with pytest.raises(ValueError, match="candidate chosen cannot") as raised:
        search.fit(X, y, X_val=X_val, y_val=y_val)
    assert "98765" not in str(raised.value) + str(getattr(raised.value, "__notes__", ""))
    assert raised.value.__context__ is None and "98765" not in "".join(capfd.readouterr())


# ------------------------------------------------------------ types of tables


class OnlyEvenBatches(Responds):
    """Predicts even numbers of records only, such as the companions: never one beside them."""

    def predict_proba(self, X):
        if len(X) % 2:
            raise ValueError
        return np.eye(2)[(X[:, 0] > 0).astype(int)]

    def predict(self, X):
        return self.predict_proba(X)[:, 1]


@pytest.mark.parametrize("what", ["search", "threshold", "evaluation"])
def test_nothing_is_charged_where_every_record_would_count_as_the_worst(tmp_path, what):
    X, y = numbers()
    given = {"ledger": PrivacyLedger(tmp_path / "budget.db", "patients", 1.0, create=True)}
    given |= {"epsilon": 1.0, "prediction": "separate"}
    model = make_pipeline(OnlyEvenBatches()).fit(X, y)
    with pytest.raises(ValueError, match="nothing for the same row.*Nothing has been charged"):
        if what == "search":
            search = PrivateBayesSearchCV(model, {"onlyevenbatches__odd": [1, 2]}, **given)
            search.fit(X, y, X_val=X[:M].copy(), y_val=y[:M])
        elif what == "threshold":
            tuned = PrivateThresholdClassifier(model, **given)
            tuned.fit(X, y, X_val=X[:M].copy(), y_val=y[:M])
        else:
            private_evaluation(model, X[:M].copy(), y[:M], X=X, y=y, **given)
    assert not given["ledger"].history


# ------------------------------------------------------------ records that answer when asked


LABELS = {
    "numbers": lambda n: pd.RangeIndex(n),
    "fractions": lambda n: pd.Index(np.arange(n) / 1.0),
    "levels": lambda n: pd.MultiIndex.from_arrays([["a"] * n, np.arange(n)]),
    "dates": lambda n: pd.date_range("2026-01-01", periods=n),
    "texts": lambda n: pd.Index([f"row {i}" for i in range(n)]),
}


AS = {"frame": lambda column: column.to_frame("x"), "series": lambda column: column}
SEEN = ("texts", "X_val", "frame"), ("texts", "hold-out", "series"), ("dates", "groups", "frame")
WAYS = [  # by default some
    pytest.param(
        labels, how, of, id=f"{labels}-{how}-{kind}",
        marks=[] if (labels, how, kind) in SEEN else pytest.mark.slow,
    )
    for labels in LABELS for how in ("X_val", "hold-out", "groups") for kind, of in AS.items()
]  # fmt: skip


class SeesLabels(FunctionTransformer):
    """Notes the labels of rows of each table that it gets."""

    seen = []

    def transform(self, X):
        SeesLabels.seen.append(X.index)
        return pd.DataFrame(X).iloc[:, 0].str.len().to_numpy(float)[:, None]


@pytest.mark.first(1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("labels", "how", "of"), WAYS)
def test_a_step_sees_rows_numbered_from_0_whatever_one_label_is(labels, how, of):
    tables = []
    for odd in (None, "unknown"):
        index = LABELS[labels](24)
        if odd is not None:
            index = pd.Index([odd, *index[1:]])
        tables.append(of(pd.Series(["", "aaa"] * 12, index=index, dtype=object)))
    model = make_pipeline(SeesLabels(), LogisticRegression())
    SeesLabels.seen = []
    for table in tables:
        search = PrivateBayesSearchCV(model, {}, epsilon=1e6, random_state=0)
        y = pd.Series(np.arange(24) % 2, index=table.index)
        if how == "hold-out":
            search.set_params(cv=[(np.arange(12, 24), np.arange(12))]).fit(table, y)
        else:
            groups = {"groups_val": np.arange(24) // 2} if how == "groups" else {}
            public = table[12:].copy(), y[12:].copy()
            search.fit(*public, X_val=table, y_val=y, **groups)
        assert search.best_score_ > 0.99
    # Nothing but public rows, as the user gave them, has labels; their numbers among these, if the
    # table has protected rows, too.
    public = pd.RangeIndex(12) if how == "hold-out" else tables[0].index[12:]
    own = [index for index in SeesLabels.seen if not index.equals(pd.RangeIndex(len(index)))]
    assert all(index.isin(public).all() for index in own)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("last", ["2026-03-01", "unknown"])
def test_a_step_that_reads_labels_of_rows_is_refused_before_the_charge(last, tmp_path):
    ledger = PrivacyLedger(tmp_path / "budget.db", "patients", 1.0, create=True)
    index = pd.date_range("2026-01-01", periods=60)
    texts = pd.DataFrame({"x": np.ones(60)}, index=index)
    held_out = texts.copy().set_axis(
        [*index[:-1], pd.Timestamp(last) if last != "unknown" else last]
    )
    months = FunctionTransformer(lambda X: pd.DatetimeIndex(X.index).month.to_numpy()[:, None])
    model = make_pipeline(months, LogisticRegression(C=1e6)).fit(texts, np.arange(60) // 30)
    given = {"X": texts, "y": np.arange(60) // 30, "epsilon": 1.0, "ledger": ledger}
    with pytest.raises(ValueError, match="rows numbered from 0 whatever their labels"):
        private_evaluation(model, held_out, np.arange(60) // 30, **given)
    assert not ledger.history


class Unclosed:
    def __del__(self):
        raise ConnectionError("row 98765")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_finalizers_and_threads_raise_during_predictions_is_dropped(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    monkeypatch.setattr(threading, "excepthook", told.append)

    def both():
        Unclosed()
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()

    with suppress_output():
        both()
    assert told == []
    both()
    assert len(told) == 2


def of_arrow(cells, kind):
    arrow = pytest.importorskip("pyarrow")
    return arrow.array(cells, getattr(arrow, kind)())


DATES = {
    "days": lambda: pd.Series(pd.arrays.ArrowExtensionArray(of_arrow([1, 10**7], "date32"))),
    "dictionary": lambda: pd.Series(
        pd.arrays.ArrowExtensionArray(of_arrow([1, None], "int64").dictionary_encode())
    ),
    "periods": lambda: pd.Series(pd.period_range("2024", periods=2)),
    "a table of arrow": lambda: pa_table(of_arrow([1, 10**7], "date32")),
    "a table of polars": lambda: pl.DataFrame({"c": [datetime.time(1)]}),
    "categories of arrow": lambda: pa_table(of_arrow([1, 10**8], "date32").dictionary_encode()),
    "lists of polars": lambda: pl.DataFrame({"c": [[datetime.date(2024, 1, 1)]]}),
    "fields of polars": lambda: pl.DataFrame({"c": [{"d": datetime.datetime(2024, 1, 1)}]}),
}


def pa_table(column):
    return pytest.importorskip("pyarrow").table({"c": column})


@pytest.mark.parametrize("kind", DATES)
def test_columns_of_which_a_cell_may_raise_are_refused_by_their_type(kind):
    column = DATES[kind]()
    table = column.to_frame("c") if isinstance(column, pd.Series) else column
    with pytest.raises(ValueError, match="'c' has the (type|dtype) .*cast it to"):
        as_table(table)


def test_names_of_categories_declare_no_times():
    declared = pl.Enum(["daytime", "it's time"])
    assert as_table(pl.DataFrame({"c": pl.Series(["daytime"], dtype=declared)})).shape == (1, 1)
