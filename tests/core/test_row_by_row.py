"""Records do not affect each other: in-place transforms, failures, batches, threads."""

import contextlib
import itertools
import random
import warnings

import joblib
import numpy as np
import pandas as pd
import pyarrow
import pytest
from evaluators import evaluated
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.decomposition import NMF
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo._counting.companions import Companions
from sklearn_dpbo._counting.evaluator import Evaluator
from sklearn_dpbo._counting.fitting import FitOptions
from sklearn_dpbo._counting.listed import why_unlisted
from sklearn_dpbo._counting.model import Model
from sklearn_dpbo._counting.protected_values import ProtectedTable
from sklearn_dpbo._counting.responses import agree
from sklearn_dpbo._counting.row_by_row import RowByRowCheck
from sklearn_dpbo._data.pickles import packed
from sklearn_dpbo._data.split import Problem, Training
from sklearn_dpbo._data.units import Units
from sklearn_dpbo.exceptions import BatchDependentError

ACCURACY = make_private_scorer("accuracy").prepare([0, 1])


def problem_of(X, y, X_val, y_val, groups=None):
    return Problem(Training(X, y), X_val, y_val, Units.of(len(y_val), groups), "a test")


def count(estimator, X, y, X_val, y_val, candidate_params=({},), groups=None, **params):
    problem = problem_of(X, y, X_val, y_val, groups)
    evaluator = Evaluator(FitOptions(estimator, **params), problem, (ACCURACY.prepare(y),))
    return evaluated(evaluator, candidate_params).statistics._open()[:, 0].tolist()


def values_of(model, X, y, X_val, y_val, groups=None, scorer=ACCURACY):
    """Values of validation records, predicted beside companions from the training set."""
    problem = problem_of(X, y, X_val, y_val, groups)
    companions = Companions.of(problem)
    made = Model.of(model, (scorer.prepare(y).query,), companions, "together")
    table = ProtectedTable.of(problem, companions)
    return table.values(made, scorer.prepare(y).query)


def check(model, X, y, scorer=ACCURACY):
    problem = problem_of(X, y, X, y)
    for method in scorer.response_method:
        RowByRowCheck.on(problem).check(packed(model), method)


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:284], y[:284], X[284:], y[284:]


IN_PLACE = [
    StandardScaler(copy=False),
    FunctionTransformer(lambda Z: np.log1p(Z, out=Z)),
    FunctionTransformer(lambda Z: np.multiply(Z, 2, out=Z)),
]


@pytest.mark.parametrize("transformer", IN_PLACE, ids=lambda t: str(t)[:20])
@pytest.mark.parametrize("spoil", [False, True])
@pytest.mark.filterwarnings("ignore:lbfgs failed")
def test_in_place_transforms_change_no_other_record_and_no_user_data(tumours, transformer, spoil):
    X, y, X_val, y_val = tumours
    model = make_pipeline(transformer, LogisticRegression(max_iter=50))
    (whole,) = count(model, X, y, X_val, y_val)
    spoilt = X_val.copy()
    if spoil:
        spoilt[7, 3] = np.nan
    before = [A.copy() for A in (X, spoilt)]
    found = count(model, X, y, spoilt, y_val, [{}, {}, {}])
    assert len(set(found)) == 1, "candidates do not change each other's data"
    assert abs(found[0] - whole) <= (1 if spoil else 0)
    for A, B in zip((X, spoilt), before, strict=True):
        assert np.array_equal(A, B, equal_nan=True)


def test_transformer_does_not_add_columns_to_users_frame(rng):
    def add(frame):
        frame["ratio"] = frame["a"] / (1 + frame["b"] ** 2)
        return frame

    frame = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
    y = (frame["a"] > 0).to_numpy().astype(int)
    model = make_pipeline(FunctionTransformer(add), LogisticRegression())
    count(model, frame, y, frame.copy(), y, [{}, {}])
    assert list(frame.columns) == ["a", "b"]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("grouped", [False, True])
def test_failing_record_changes_no_other_on_decision_boundary(rng, order, grouped):
    """Copies of a record whose decision value is a rounding error.

    Any change of its last bits changes its label, so that the count would change by hundreds.
    """
    X = rng.normal(size=(200, 11))
    y = (X @ rng.normal(size=11) > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    boundary = X - np.outer((X @ w + b) / (w @ w), w)
    groups = np.arange(400) // 4 if grouped else None
    units = Units.of(400, groups)
    for point in boundary[:20]:
        X_val = np.array(np.tile(point, (400, 1)), order=order)
        y_val = np.ones(400, dtype=int)
        rows = values_of(model, X, y, X_val, y_val, groups)
        X_val[123, 0] = np.nan
        with_failure = values_of(model, X, y, X_val, y_val, groups)
        others = np.ones(400, dtype=bool)
        others[units.rows(30, 31) if grouped else [123]] = False
        assert np.array_equal(rows[others], with_failure[others])
        assert not with_failure[~others].any()


class Picky(ClassifierMixin, BaseEstimator):
    """Raises an exception of a given type on marked rows."""

    def __init__(self, error=RuntimeError):
        self.error = error

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        if (X[:, 1] > 0).any():
            raise self.error("patient 4711")
        return (X[:, 0] > 0).astype(int)


class Panic(BaseException):
    """Not an `Exception`, as the panics of native extensions."""


@pytest.mark.parametrize("error", [RuntimeError, SystemExit, Panic, GeneratorExit, MemoryError])
@pytest.mark.parametrize("failing", [[], [0], [5, 6, 39], range(40)])
def test_any_exception_on_protected_record_counts_as_wrong(rng, error, failing):
    X = np.stack([rng.normal(size=40), np.zeros(40)], axis=1)
    y = (X[:, 0] > 0).astype(int)
    model = Picky(error).fit(X, y)
    X_val = X.copy()
    X_val[list(failing), 1] = 1
    rows = values_of(model, X, y, X_val, y)
    expected = np.ones(40)
    expected[list(failing)] = 0
    assert np.array_equal(rows, expected)


class Shrinks(BaseEstimator):
    """Subtracts a share of the batch's mean, as a batch normaliser does."""

    def __init__(self, share=1.0, statistic=np.mean):
        self.share = share
        self.statistic = statistic

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X - self.share * self.statistic(X, axis=0)


@pytest.mark.parametrize("share", [1.0, 0.3, 0.01, 1e-4])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("statistic", [np.mean, np.max, np.std, np.median])
def test_slightly_batch_dependent_classifier_is_refused(tumours, share, C, statistic):
    X, y, X_val, y_val = tumours
    model = make_pipeline(
        StandardScaler(), Shrinks(share, statistic), LogisticRegression(C=C, max_iter=3000)
    )
    with pytest.raises(BatchDependentError):
        count(model, X, y, X_val, y_val)


@pytest.mark.parametrize("scale", [1.0, 2000.0])
def test_slightly_batch_dependent_regressor_is_refused(scale):
    X, y = load_diabetes(return_X_y=True)

    class Average(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            return self

        def predict(self, X):
            return scale * (10 + X[:, 0] + 1e-3 * X[:, 0].mean())

    scorer = make_private_scorer("neg_mean_absolute_error", bounds=(-1, 0)).prepare(y)
    with pytest.raises(BatchDependentError):
        check(Average(), X, y, scorer)


class MinMax(ClassifierMixin, BaseEstimator):
    """Scales by the range of the batch: a scaler fitted within predict."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        low, high = X.min(axis=0), X.max(axis=0)
        return self.classes_[(((X - low) / (high - low + 1e-9))[:, 0] > 0.5).astype(int)]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_classifier_that_scales_by_batch_range_is_refused(seed, noise):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 1))
    y = (X[:, 0] + noise * rng.normal(size=100) > 0).astype(int)
    with pytest.raises(BatchDependentError):
        check(MinMax().fit(X, y), X, y)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "Int8", "UInt8"])
def test_whole_numbers_whose_type_holds_no_larger_ones_are_checked(dtype):
    X = np.random.default_rng(0).integers(100, size=(100, 2))
    y = (X[:, 0] > 50).astype(int)
    table = pd.DataFrame(X).astype(dtype) if dtype[0] in "IU" else X.astype(dtype)
    check(LogisticRegression().fit(table, y), table, y)
    with pytest.raises(BatchDependentError):
        check(make_pipeline(Shrinks(0.1, np.max), LogisticRegression()).fit(table, y), table, y)


@pytest.mark.filterwarnings("error::DeprecationWarning")  # of the newest numpy
@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", "b", "c"] * 20, dtype="string"),
        pd.Series(pd.to_timedelta(np.arange(60), unit="h")),
        pd.Series(pd.date_range("2020", periods=60, tz="UTC")),
        pd.Series(pd.arrays.SparseArray(np.arange(60) % 3)),
        pd.Series(pd.interval_range(0, 60)),
        pd.Series(["a", "b", "c"] * 20, dtype="string[pyarrow]"),
        pd.Series(["a", "b", "c"] * 20, dtype=pd.ArrowDtype(pyarrow.string())),
    ],
    ids=["string", "timedelta", "time zone", "sparse", "interval", "string[pyarrow]", "arrow"],
)
def test_a_column_of_any_type_can_stand_in_a_table(column):
    X = pd.DataFrame({"a": column, "b": np.arange(60.0)})
    y = (X["b"] > 20).to_numpy()
    model = make_pipeline(make_column_transformer(("passthrough", ["b"])), LogisticRegression())
    check(model.fit(X, y), X, y)


SECRET = 98765.0


class Chatty(ClassifierMixin, BaseEstimator):
    """Warns of a protected record in `predict`."""

    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        for _ in range(20):
            if (X == SECRET).any():
                warnings.warn("secret", stacklevel=1)
        return (X[:, 0] > 0).astype(int)


def test_validation_warnings_are_suppressed_in_threads(two_classes):
    X, y, X_val, y_val = two_classes
    X_val = X_val.copy()
    X_val[7, 1] = SECRET
    filters = list(warnings.filters)
    with warnings.catch_warnings(record=True) as caught, joblib.parallel_config("threading"):
        warnings.simplefilter("always")
        for _ in range(5):
            count(Chatty(), X, y, X_val, y_val, [{"seed": i} for i in range(8)], n_jobs=3)
    assert not [w for w in caught if "secret" in str(w.message)]
    assert warnings.filters == filters


def test_validation_predictions_do_not_change_global_random_states(two_classes):
    X, y, X_val, y_val = two_classes
    spoilt = X_val.copy()
    spoilt[3, 0] = np.nan

    class Gambler(LogisticRegression):
        def predict(self, X):
            if len(X) > 60:
                np.random.random()
                random.random()
            return super().predict(X)

    after = []
    for data in (X_val, spoilt):
        np.random.seed(0)
        random.seed(0)
        np.random.normal(), random.gauss(0, 1)  # of which a second one is kept
        count(Gambler(), X, y, data, y_val)
        drawn = np.random.normal(), random.gauss(0, 1), np.random.random(), random.random()
        after.append(drawn)
    assert after[0] == after[1]
    assert after[0][0] == np.random.RandomState(0).normal(size=2)[1]
    generator = random.Random(0)
    assert after[0][1] == [generator.gauss(0, 1) for _ in range(2)][1]


@pytest.mark.parametrize("scale", [1.0, 1e18])
def test_rounding_errors_of_huge_numbers_are_no_other_labels(scale):
    """Every float beyond 2^53 is whole; a model that diverges has such decision values."""
    values = scale * np.array([6.1, -3.3, 1.7])
    near = values * (1 + 2.0**-51)
    assert not np.array_equal(values, near) and agree(values, near, values, True)
    assert not agree(values, values * 1.1, values, True)
    assert not agree(np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-9]), np.array([1.0, 2.0]), True)


EXTREME = (1e4, 1e9, 1e308, -1e308, np.nan, np.inf, 5e-324, 0.0)


def moves_others(model, X):
    """Whether a record of extreme values changes what another gets."""
    for name in ("predict", "transform", "decision_function", "predict_proba"):

        def asked(X, method=getattr(model, name, None)):
            with contextlib.suppress(Exception):  # a record that cannot be predicted
                found = method(X)
                return found.toarray() if hasattr(found, "toarray") else np.asarray(found)

        expected = asked(X)
        for value, columns in itertools.product(EXTREME, (slice(None), 0)):
            odd = X.copy()
            odd[3, columns] = value
            found = asked(odd)
            if expected is not None and found is not None:
                others = np.delete(found, 3, axis=0), np.delete(expected, 3, axis=0)
                if not np.array_equal(*others, equal_nan=found.dtype.kind == "f"):
                    return True
    return False


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_estimator_that_is_known_to_predict_row_by_row_is_moved_by_extreme_records():
    X = np.abs(np.random.default_rng(0).normal(size=(300, 6)))
    y = (X[:, 0] + X[:, 1] > 1.6).astype(int)
    models = {}
    for name, kind in all_estimators():
        with contextlib.suppress(Exception):  # it needs parameters, or other data
            models[name] = kind().fit(X[:200], y[:200])
    known = {name: model for name, model in models.items() if why_unlisted(model) is None}
    assert len(known) > 110 and {"SVC", "PCA", "KMeans", "MLPClassifier"} <= {*known}
    assert [name for name, model in known.items() if moves_others(model, X[200:])] == []


def test_an_estimator_whose_records_share_a_search_is_moved_by_extreme_records():
    X, y = load_digits(return_X_y=True)
    model = make_pipeline(
        NMF(8, solver="mu", init="random", max_iter=60, random_state=1),
        DecisionTreeClassifier(max_depth=1, random_state=0),
    )
    assert moves_others(model.fit(X[:900], y[:900] % 2), X[900:])
