"""Fit parameters, weights, pipelines, bounds and groups, as users of other estimators know them."""

import collections
import dataclasses
import functools
import types
import warnings
from datetime import UTC, datetime

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
)
from sklearn_dpbo._data.shared_memory import contains_protected, refuse_protected
from sklearn_dpbo._evaluation.fitting import FitOptions
from sklearn_dpbo.exceptions import PrivacyWarning
from sklearn_dpbo.ledger import _budget
from sklearn_dpbo.strategies import WorstCase

pytestmark = pytest.mark.filterwarnings("ignore:No X_val and no cv")

# One array: rows to train on, rows to stop early with, protected rows.
X_ALL, Y_ALL = make_classification(400, 5, n_informative=3, flip_y=0.05, random_state=0)
# The first column is the number of the row; protected rows are known by it.
X_ALL[:, 0] = np.arange(400) / 400
TRAIN, STOP, VAL = slice(200), slice(200, 260), slice(260, 400)
X, Y, X_STOP, Y_STOP = X_ALL[TRAIN], Y_ALL[TRAIN], X_ALL[STOP], Y_ALL[STOP]
X_VAL, Y_VAL = X_ALL[VAL], Y_ALL[VAL]
FITS = []


def rows_of(X):
    """Return which rows of X_ALL these are."""
    return np.rint(np.asarray(X)[:, 0] * 400).astype(int)


class Stopped(LogisticRegression):
    """Keeps the arguments of `fit`, which returns None."""

    def fit(self, X, y, sample_weight=None, eval_set=None, rows=None, names=None):
        FITS.append(dict(X=X, y=y, weight=sample_weight, eval_set=eval_set, rows=rows, names=names))
        super().fit(X, y, sample_weight)


@pytest.fixture(autouse=True)
def _no_fits_yet():
    FITS.clear()


@pytest.fixture
def ledger(tmp_path):
    return PrivacyLedger(tmp_path / "budget.db", "patients", 1e6, create=True)


def search_over(estimator=None, grid=None, **params):
    estimator = Stopped() if estimator is None else estimator
    grid = {"C": [0.01, 1.0]} if grid is None else grid
    shared = {"epsilon": 1000.0, "noise_random_state": 0, "random_state": 0, "error_score": "raise"}
    return PrivateBayesSearchCV(estimator, grid, **shared | params)


def tuner(estimator=None, **params):
    estimator = Stopped() if estimator is None else estimator
    return PrivateThresholdClassifier(
        estimator, **{"epsilon": 1000.0, "noise_random_state": 0} | params
    )


BOTH = pytest.mark.parametrize("make", [search_over, tuner])


# ------------------------------------------------------------- what reaches the estimator's fit
@pytest.mark.parametrize(
    "params",
    [
        {"grid": {"C": [0.01, 1.0]}},
        {
            "grid": {"C": loguniform(0.01, 1)},
            "n_iter": 8,
            "strategy": WorstCase(guidance="public"),
        },
    ],
    ids=["list", "distribution"],
)
@pytest.mark.parametrize("held_out", [False, True])
def test_eval_set_reaches_each_fit_as_it_is_and_weights_follow_the_rows(params, held_out):
    eval_set = [(X_STOP, Y_STOP)]
    validation = {} if held_out else {"X_val": X_VAL, "y_val": Y_VAL}
    search = search_over(**params)
    search.fit(X, Y, **validation, eval_set=eval_set, sample_weight=1 + X[:, 0])
    sizes = {len(each["X"]) for each in FITS}
    assert sizes <= ({150, 120} if held_out else {200, 160})
    assert len(sizes) == (2 if "strategy" in params else 1), "exploration cuts the training set"
    for each in FITS:
        ((X_seen, y_seen),) = each["eval_set"]
        assert np.array_equal(X_seen, X_STOP) and np.array_equal(y_seen, Y_STOP)
        assert np.array_equal(each["weight"], 1 + each["X"][:, 0])
    assert not any(np.isin(rows_of(each["X"]), np.arange(260, 400)).any() for each in FITS)


@BOTH
def test_eval_set_reaches_a_step_of_a_pipeline(make):
    pipe = Pipeline([("scale", StandardScaler()), ("model", Stopped())])
    tuned = make(pipe, {"model__C": [0.01, 1.0]}) if make is search_over else make(pipe)
    tuned.fit(X, Y, X_val=X_VAL, y_val=Y_VAL, model__eval_set=[(X_STOP, Y_STOP)])
    assert FITS and all(each["eval_set"][0][0] is X_STOP for each in FITS)


@BOTH
def test_fit_may_return_none(make):
    tuned = make().fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
    assert tuned.predict(X_VAL).shape == (140,)


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize(
    "grid", [{"C": [0.01, 1.0]}, {"C": loguniform(0.01, 1)}], ids=["list", "distribution"]
)
def test_ragged_lists_follow_the_rows_if_there_is_one_entry_for_each(grid, held_out):
    rows = [[i] * (i % 3) for i in range(200)]
    names = [["a"], ["b", "c"], []]
    validation = {} if held_out else {"X_val": X_VAL, "y_val": Y_VAL}
    search_over(grid=grid, n_iter=6).fit(X, Y, **validation, rows=rows, names=names)
    for each in FITS:
        assert each["names"] == names
        assert [len(entry) for entry in each["rows"]] == [i % 3 for i in rows_of(each["X"])]


# ------------------------------------------------------- protected records among fit parameters
@dataclasses.dataclass
class Dataset:
    """Like ``lightgbm.Dataset``: keeps the table in an attribute."""

    data: object
    label: object = None


PROTECTED = {
    "pair in a list": lambda X, y: [(X, y)],
    "pair": lambda X, y: (X, y),
    "labels alone": lambda X, y: [y],
    "nested dicts": lambda X, y: {"sets": {"stop": [{"X": X, "y": y}]}},
    "first rows": lambda X, y: [(X[:50], y[:50])],
    "every other row": lambda X, y: [(X[::2], y[::2])],
    "a column": lambda X, y: [(X_STOP, X[:, 1])],
    "transposed": lambda X, y: X.T,
    "array that it is a slice of": lambda X, y: [(X_ALL, Y_ALL)],
    "wrapper": lambda X, y: Dataset(X, y),
    "wrapper of a slice": lambda X, y: [Dataset(X_STOP), Dataset(X[3:5])],
    "array of objects": lambda X, y: np.array([None, {"X": X}], dtype=object),
    "masked array": lambda X, y: np.ma.masked_array(X),
}


@BOTH
@pytest.mark.parametrize("kind", PROTECTED)
def test_protected_records_in_a_fit_parameter_are_refused_before_anything(make, kind, ledger):
    value = PROTECTED[kind](X_VAL, Y_VAL)
    says = r"'eval_set' contains X_val or y_val.*Pass public records in 'eval_set'"
    with pytest.raises(ValueError, match=says):
        make(ledger=ledger).fit(X, Y, X_val=X_VAL, y_val=Y_VAL, eval_set=value)
    assert not FITS and not ledger.history


@BOTH
@pytest.mark.parametrize("kind", ["pair in a list", "first rows", "labels alone", "wrapper"])
def test_rows_that_are_to_be_held_out_are_refused_in_a_fit_parameter(make, kind, ledger):
    value = PROTECTED[kind](X, Y)
    with pytest.raises(ValueError, match=r"'eval_set' contains the rows of X or y, some of which"):
        make(ledger=ledger).fit(X, Y, eval_set=value)
    assert not FITS and not ledger.history


def test_protected_records_for_a_step_of_a_pipeline_are_refused(ledger):
    pipe = Pipeline([("scale", StandardScaler()), ("model", Stopped())])
    search = search_over(pipe, {"model__C": [0.01, 1.0]}, ledger=ledger)
    with pytest.raises(ValueError, match="'model__eval_set' contains X_val or y_val"):
        search.fit(X, Y, X_val=X_VAL, y_val=Y_VAL, model__eval_set=[(X_VAL, Y_VAL)])
    assert not FITS and not ledger.history


def test_protected_records_that_are_routed_are_refused(ledger):
    with sklearn.config_context(enable_metadata_routing=True):
        search = search_over(Stopped().set_fit_request(eval_set=True), ledger=ledger)
        with pytest.raises(ValueError, match="'eval_set' contains X_val or y_val"):
            search.fit(X, Y, X_val=X_VAL, y_val=Y_VAL, eval_set=[(X_VAL, Y_VAL)])
    assert not FITS and not ledger.history


@BOTH
def test_other_rows_of_the_same_array_are_accepted(make):
    assert np.shares_memory(X_STOP, X_ALL) and np.shares_memory(X_VAL, X_ALL)
    eval_set = [(X_STOP, Y_STOP), (X[50:100], Y[50:100])]
    make().fit(X, Y, X_val=X_VAL, y_val=Y_VAL, eval_set=eval_set)
    make().fit(X, Y, eval_set=[(X_STOP, Y_STOP)])
    assert FITS


def refused(value, X_val=X_VAL, y_val=Y_VAL):
    """Whether a fit parameter with this value is refused."""
    try:
        refuse_protected({"eval_set": value}, (X_val, y_val), "X_val or y_val")
    except ValueError:
        return True
    return False


FRAME = pd.DataFrame(X_ALL, columns=list("abcde")).assign(
    text=np.where(Y_ALL, "u", "v"),
    category=pd.Categorical(np.where(Y_ALL, "u", "v")),
    number=pd.array(Y_ALL, dtype="Int64"),
)
FRAME_VAL = FRAME.iloc[VAL]


@pytest.mark.parametrize(
    "part",
    [
        lambda frame: frame,
        lambda frame: frame.iloc[3:9],
        lambda frame: frame.iloc[::5],
        lambda frame: frame["a"],
        lambda frame: frame["a"].iloc[3:5].to_numpy(),
        lambda frame: frame.drop(columns="a"),
        lambda frame: frame.assign(z=1),
        lambda frame: frame.reset_index(drop=True),
        lambda frame: frame.rename(columns=str.upper),
        lambda frame: frame.copy(deep=False),
        lambda frame: frame[["a", "b"]],
    ],
)
def test_frames_that_share_memory_with_protected_ones_are_refused(part):
    given, numbers = part(FRAME_VAL), [FRAME_VAL[c].to_numpy() for c in "abcde"]
    columns = [given.iloc[:, j] for j in range(given.shape[1])] if given.ndim == 2 else [given]
    # Some of these are copies before pandas 3.
    share = any(np.shares_memory(column, number) for column in columns for number in numbers)
    assert refused([(given, None)], FRAME_VAL, None) == share
    assert not refused([(part(FRAME.iloc[STOP]), None)], FRAME_VAL, None)


@pytest.mark.parametrize("column", ["text", "category", "number"])
def test_slices_of_columns_of_any_dtype_are_refused(column):
    frame = FRAME_VAL[[column]]
    assert refused([frame.iloc[3:50]], frame, None)
    assert refused([frame[column].iloc[3:50]], X_VAL, frame[column])
    assert not refused([FRAME[[column]].iloc[STOP]], frame, None)


@pytest.mark.parametrize(
    "record",
    [
        lambda i: [float(i), i / 7],
        lambda i: {"a": i / 7},
        lambda i: np.array([i / 7, 1.0]),
    ],
    ids=["list", "dict", "array"],
)
def test_records_of_a_protected_list_are_refused_and_others_are_not(record):
    records = [record(i) for i in range(30)]
    val = records[20:]
    assert refused([(val, None)], val, None) and refused([(val[3:5], None)], val, None)
    assert refused({"rows": [records[0], val[-1]]}, val, None)
    assert not refused([(records[:20], None)], val, None)


@pytest.mark.parametrize("record", [(), None, pd.NA, pd.NaT, "text", True, (1.0, "a")], ids=repr)
def test_records_that_are_one_object_because_they_are_equal_are_no_sign(record):
    """Otherwise the error, or the warning, would tell the value of a protected record."""
    assert not refused([[record]], [record, record], None)
    assert not contains_protected([record, 1], ([record],))


def test_texts_of_a_protected_list_are_refused_as_a_whole():
    texts = [f"text {i}" for i in range(10)]
    assert refused([texts], texts, None) and not refused([texts[:5]], texts[5:], None)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok"])
def test_sparse_matrices_that_are_protected_are_refused(form):
    matrix, other = sp.csr_matrix(X_VAL).asformat(form), sp.csr_matrix(X_STOP).asformat(form)
    assert refused([(matrix, None)], matrix, None)
    assert not refused([(other, None)], matrix, None)


class Monitor:
    """A callback of early stopping."""

    def __init__(self, X):
        self.X = X

    def update(self, env):
        return len(self.X)


@dataclasses.dataclass(slots=True)
class Slots:
    data: object


def scored_by(X, default=None):
    return lambda env, given=default: (X, given)


CONTAINERS = {
    "attribute": Monitor,
    "slots": Slots,
    "deque": lambda X: collections.deque([X]),
    "values of a dict": lambda X: {"a": X}.values(),
    "partial": lambda X: functools.partial(len, X),
    "keyword of a partial": lambda X: functools.partial(sorted, key=X),
    "bound method": lambda X: Monitor(X).update,
    "closure": scored_by,
    "default of a function": lambda X: scored_by(None, default=X),
    "memoryview": lambda X: memoryview(np.ascontiguousarray(X)),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_callbacks_and_containers_that_hold_protected_records_are_refused(kind):
    contain = CONTAINERS[kind]
    assert refused([contain(X_VAL)]) and refused([contain(X_VAL[:3])])
    assert not refused([contain(X_STOP)])


def test_protected_records_are_found_wherever_else_their_container_is():
    inside = {"d": X_VAL}
    deep = inside
    for _ in range(6):
        deep = [deep]
    assert refused([inside]) and refused([inside, deep]) and refused([deep, inside])


def test_a_module_that_a_callback_keeps_is_not_searched():
    """A notebook's own variables are those of a module."""
    notebook = types.ModuleType("notebook")
    notebook.X_val = X_VAL
    assert not refused([Monitor(notebook)])


def test_containers_that_contain_themselves_are_searched_once():
    loop = [X_STOP]
    loop.append({"again": loop})
    assert not refused(loop)
    loop.append(X_VAL[:1])
    assert refused(loop)


WRAPPERS = [
    lambda each: [None, each],
    lambda each: (each, "text"),
    lambda each: {"name": 3.5, "each": each},
    lambda each: Dataset(X_STOP, each),
    lambda each: types.SimpleNamespace(each=each),
    lambda each: collections.OrderedDict(each=each),
    lambda each: [(X_STOP, Y_STOP), (each, Y_STOP)],
]
SLICES = st.slices(140)


@given(st.lists(st.sampled_from(WRAPPERS), max_size=3), SLICES, st.booleans())
def test_any_nesting_of_a_view_is_refused_if_and_only_if_it_has_protected_cells(
    wrappers, rows, labels
):
    protected, public = (Y_VAL, Y) if labels else (X_VAL, X)
    for whole, secret in ((protected, True), (public[:140], False)):
        value = whole[rows]
        expected = secret and value.size > 0
        for wrap in wrappers:
            value = wrap(value)
        assert refused(value) == expected


@given(st.slices(12), st.slices(6), st.slices(12), st.slices(6), st.booleans())
def test_views_of_one_array_are_refused_if_and_only_if_they_overlap(a, b, c, d, by_column):
    cells = np.arange(72).reshape(12, 6)
    array = np.asarray(np.zeros((12, 6)), order="F" if by_column else "C")
    overlap = bool(np.intersect1d(cells[a, b], cells[c, d]).size)
    assert refused([(array[a, b], None)], array[c, d], None) == overlap


@given(st.slices(30), st.lists(st.sampled_from("abcde"), min_size=1, unique=True), st.slices(30))
def test_slices_of_a_frame_are_refused_if_and_only_if_they_share_rows_and_columns(a, columns, c):
    whole = pd.DataFrame(np.zeros((30, 5)), columns=list("abcde"))
    val = whole.iloc[c]
    common = np.intersect1d(np.arange(30)[a], np.arange(30)[c]).size > 0
    assert not refused([whole.iloc[a][columns].copy()], val, None)
    assert refused([whole.iloc[a]], val, None) == common


# ----------------------------------------------------------------------- weights of the score
def weights(n):
    return np.linspace(0.1, 2, n)


def test_score_takes_weights():
    search = search_over().fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
    found = search.score(X_STOP, Y_STOP, sample_weight=weights(60))
    expected = search.best_estimator_.score(X_STOP, Y_STOP, sample_weight=weights(60))
    assert found == pytest.approx(expected) and found != search.score(X_STOP, Y_STOP)


@pytest.mark.parametrize("routed", [False, True])
def test_score_of_a_pipeline_that_ends_in_a_search_takes_weights(routed):
    with sklearn.config_context(enable_metadata_routing=routed):
        search = search_over().set_score_request(sample_weight=True) if routed else search_over()
        pipe = make_pipeline(StandardScaler(), search).fit(X, Y)
        found = pipe.score(X_STOP, Y_STOP, sample_weight=weights(60))
    best = pipe[-1].best_estimator_
    scaled = pipe[0].transform(X_STOP)
    assert found == pytest.approx(best.score(scaled, Y_STOP, sample_weight=weights(60)))


@BOTH
def test_cross_validation_routes_weights_to_fits_and_scores(make):
    with sklearn.config_context(enable_metadata_routing=True):
        tuned = make(Stopped().set_fit_request(sample_weight=True))
        tuned.set_score_request(sample_weight=True)
        weight = 1 + X[:, 0]
        scores = cross_val_score(
            tuned, X, Y, cv=3, params={"sample_weight": weight}, error_score="raise"
        )
        tuned.set_score_request(sample_weight=False)
        unweighted = cross_val_score(
            tuned, X, Y, cv=3, params={"sample_weight": weight}, error_score="raise"
        )
    assert FITS and all(np.array_equal(each["weight"], 1 + each["X"][:, 0]) for each in FITS)
    assert scores.shape == (3,) and not np.allclose(scores, unweighted, atol=1e-6)


# ------------------------------------------------------------------- estimators of users' own
class NoMargin(LogisticRegression):
    """Has a `decision_function` that cannot be called."""

    def decision_function(self, X):
        raise NotImplementedError("no margin")

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-(X @ self.coef_[0] + self.intercept_)))
        return np.stack([1 - p, p], axis=1)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "neg_log_loss"])
def test_a_decision_function_that_raises_does_not_matter_where_it_is_not_needed(scoring):
    search = search_over(NoMargin(), scoring=scoring).fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
    # At this epsilon the noise is far below one record.
    assert search.best_score_ == pytest.approx(search.score(X_VAL, Y_VAL), abs=0.05)


def test_a_threshold_is_tuned_where_decision_function_raises():
    tuned = tuner(NoMargin()).fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
    assert tuned.predict(X_VAL).shape == (140,)


class WrongOrder(BaseEstimator, ClassifierMixin):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, 1] > 0).astype(int)


def test_mixins_in_the_wrong_order_get_a_message_that_shows_the_right_one(ledger):
    says = r"write class WrongOrder\(ClassifierMixin, BaseEstimator\)"
    with pytest.raises(ValueError, match=says):
        search_over(WrongOrder(), {}, ledger=ledger).fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
    assert not ledger.history


# --------------------------------------------------------------------------------------- bounds
@pytest.mark.parametrize(
    ("name", "bounds", "meant"),
    [
        ("neg_mean_absolute_error", (0, 100), r"bounds=\(-100, 0\)\?"),
        ("neg_mean_squared_error", (2, 50), r"bounds=\(-50, -2\)\?"),
        ("neg_log_loss", (0, 5), r"bounds=\(-5, 0\)\?"),
    ],
)
def test_bounds_of_a_negative_score_with_the_wrong_sign_are_refused(name, bounds, meant):
    with pytest.raises(ValueError, match=f"would clip every gain: did you mean {meant}"):
        make_private_scorer(name, bounds=bounds)


class Constant(RegressorMixin, BaseEstimator):
    """Predicts one number, and keeps a number of each row that it predicts."""

    predicted = []

    def __init__(self, value=0.0):
        self.value = value

    def fit(self, X, y):
        return self

    def predict(self, X):
        type(self).predicted += X[:, 1].tolist()
        return np.full(len(X), self.value)


@pytest.fixture
def predicted():
    Constant.predicted.clear()
    return Constant.predicted


def absolute_error(low=-1.0):
    return make_private_scorer("neg_mean_absolute_error", bounds=(low, 0))


def error_search(values=(0.0, 1.0), **params):
    return search_over(Constant(), {"value": list(values)}, scoring=absolute_error(), **params)


def test_bounds_that_clip_most_training_gains_warn_before_protected_records_are_predicted(
    predicted,
):
    far = np.full(200, 50.0)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="The bounds of", category=UserWarning)
        with pytest.raises(UserWarning, match=r"clip the gains of 100%.*Choose wider bounds"):
            error_search().fit(X, far, X_val=X_VAL, y_val=np.zeros(140))
    assert predicted and not np.isin(predicted, X_VAL[:, 1]).any(), "protected ones came first"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_warning_of_bounds_comes_once_and_points_to_the_call(n_jobs):
    far = np.full(200, 50.0)
    threads = joblib.parallel_config("threading")
    with threads, pytest.warns(UserWarning, match="The bounds of") as caught:
        error_search(n_jobs=n_jobs).fit(X, far, X_val=X_VAL, y_val=np.zeros(140))
    found = [each for each in caught if "The bounds of" in str(each.message)]
    assert len(found) == 1 and found[0].filename == __file__


def test_bounds_that_clip_validation_gains_alone_do_not_warn():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="The bounds of")
        error_search().fit(X, np.zeros(200), X_val=X_VAL, y_val=np.full(140, 50.0))


def test_bounds_are_not_warned_of_once_protected_records_have_been_predicted():
    """Which candidates come later may depend on protected records, if guidance is private."""
    from sklearn_dpbo._data.split import Problem, Training
    from sklearn_dpbo._data.units import Units
    from sklearn_dpbo._evaluation.evaluator import Evaluator

    training = Training(X, np.zeros(200))
    problem = Problem(training, X_VAL, np.zeros(140), Units.of(140, None), "a test")
    scorer = absolute_error().prepare(training.y)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="The bounds of")
        evaluator = Evaluator(FitOptions(Constant()), problem, (scorer,))
        evaluator(({"value": 0.0},))
        evaluator(({"value": 50.0},))
        with pytest.raises(UserWarning, match="The bounds of"):
            Evaluator(FitOptions(Constant()), problem, (scorer,))(({"value": 50.0},))


# --------------------------------------------------------------------------------------- groups
@BOTH
def test_groups_for_the_splitter_warn_that_records_are_protected_one_by_one(make):
    groups = np.arange(200) // 4
    cv = GroupShuffleSplit(1, test_size=0.25, random_state=0)
    with pytest.warns(PrivacyWarning, match=r"each \*record\* by itself.*groups_val=") as caught:
        tuned = make(cv=cv).fit(X, Y, groups=groups)
    found = [each for each in caught if "groups=" in str(each.message)]
    assert len(found) == 1 and found[0].filename == __file__
    assert tuned.privacy_.unit == "record"
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="groups=")
        tuned = make(cv=cv).fit(X, Y, groups_val=groups)
    assert tuned.privacy_.unit == "group"


# ------------------------------------------------------------------------------------ pipelines
AS_FRAME = functools.partial(pd.DataFrame, columns=list("abcde"))


@BOTH
@pytest.mark.parametrize("table", [np.asarray, AS_FRAME], ids=["array", "frame"])
def test_a_last_step_refuses_raw_validation_records_beside_transformed_ones(make, table, ledger):
    pipe = Pipeline([("scale", StandardScaler()), ("tune", make(ledger=ledger))])
    says = (
        r"steps \['scale'\] of the pipeline have transformed X, and X_val came as it was.*"
        r"\(make_pipeline\(...\), ...\).*transform_input=\['X_val'\]"
    )
    with pytest.raises(ValueError, match=says):
        pipe.fit(table(X), Y, tune__X_val=table(X_VAL), tune__y_val=Y_VAL)
    assert not FITS and not ledger.history


@BOTH
def test_a_last_step_within_nested_pipelines_refuses_raw_validation_records(make):
    inner = Pipeline([("nothing", "passthrough"), ("tune", make())])
    pipe = Pipeline([("scale", StandardScaler()), ("inner", inner)])
    with pytest.raises(ValueError, match=r"\['scale'\] of the pipeline have transformed X"):
        pipe.fit(X, Y, inner__tune__X_val=X_VAL, inner__tune__y_val=Y_VAL)
    assert not FITS


@BOTH
def test_routing_without_transform_input_is_refused(make):
    with sklearn.config_context(enable_metadata_routing=True):
        step = make().set_fit_request(X_val=True, y_val=True)
        with pytest.raises(ValueError, match="X_val came as it was"):
            make_pipeline(StandardScaler(), step).fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
    assert not FITS


@BOTH
def test_a_last_step_gets_validation_records_that_the_pipeline_transforms(make):
    with sklearn.config_context(enable_metadata_routing=True):
        step = make().set_fit_request(X_val=True, y_val=True)
        pipe = Pipeline([("scale", StandardScaler()), ("tune", step)], transform_input=["X_val"])
        pipe.fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
    scaler = StandardScaler().fit(X)
    alone = make().fit(scaler.transform(X), Y, X_val=scaler.transform(X_VAL), y_val=Y_VAL)
    assert pipe[-1].best_score_ == alone.best_score_


@BOTH
@pytest.mark.parametrize("nothing", ["passthrough", None])
def test_a_last_step_after_steps_that_do_nothing_takes_raw_validation_records(make, nothing):
    pipe = Pipeline([("nothing", nothing), ("tune", make())])
    pipe.fit(X, Y, tune__X_val=X_VAL, tune__y_val=Y_VAL)
    assert pipe[-1].privacy_.m == 140


@BOTH
def test_a_search_around_a_pipeline_takes_raw_validation_records(make):
    pipe = make_pipeline(StandardScaler(), Stopped())
    tuned = make(pipe, {"stopped__C": [0.01, 1.0]}) if make is search_over else make(pipe)
    assert tuned.fit(X, Y, X_val=X_VAL, y_val=Y_VAL).privacy_.m == 140


# -------------------------------------------------------------------------- times in the ledger
class Clock(datetime):
    """Time that stands still but for fits and predictions."""

    hour_now = 0

    @classmethod
    def now(cls, tz=None):
        return datetime(2030, 1, 1, cls.hour_now % 24, tzinfo=UTC)


class Slow(LogisticRegression):
    """Takes hours to fit and to predict."""

    def fit(self, X, y):
        Clock.hour_now += 1
        return super().fit(X, y)

    def predict_proba(self, X):
        Clock.hour_now += 1
        return super().predict_proba(X)

    def predict(self, X):
        Clock.hour_now += 1
        return super().predict(X)


@pytest.mark.parametrize(
    "make",
    [
        lambda **kw: search_over(Slow(), **kw),
        lambda **kw: search_over(
            Slow(), {"C": loguniform(0.01, 1)}, n_iter=8,
            strategy=WorstCase(guidance="private"), **kw,
        ),
        lambda **kw: tuner(Slow(), **kw),
        lambda **kw: tuner(search_over(Slow()), **kw),
    ],
    ids=["search", "private guidance", "threshold", "threshold after a search"],
)  # fmt: skip
def test_charges_are_stamped_before_anything_is_fitted_or_predicted(make, ledger, monkeypatch):
    monkeypatch.setattr(_budget, "datetime", Clock)
    monkeypatch.setattr(Clock, "hour_now", 0)
    make(ledger=ledger).fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
    assert Clock.hour_now > 2, "nothing took any time"
    assert ledger.history
    assert {row["time"] for row in ledger.history} == {"2030-01-01T00:00:00+00:00"}


@pytest.mark.parametrize("part", [slice(None), slice(10, 30)], ids=["all", "some"])
def test_training_on_the_protected_rows_warns(part):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(PrivacyWarning, match="X contains rows of X_val"):
        PrivateBayesSearchCV(LogisticRegression(), {}).fit(X, y, X_val=X[part], y_val=y[part])
