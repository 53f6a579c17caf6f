"""Records do not affect each other: in-place transforms, failures, batches, threads."""

import random
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from evaluators import HeldOut, evaluated
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo.exceptions import BatchDependentError
from sklearn_dpbo.prediction.companions import Companions
from sklearn_dpbo.prediction.fitting import FitOptions
from sklearn_dpbo.prediction.listed.row_by_row import RowByRowCheck
from sklearn_dpbo.prediction.model import Model
from sklearn_dpbo.prediction.protected_values import ProtectedTable
from sklearn_dpbo.prediction.responses import agree
from sklearn_dpbo.records.pickles import packed
from sklearn_dpbo.records.split import Training
from sklearn_dpbo.records.units import Units

ACCURACY = make_private_scorer("accuracy").prepare([0, 1])


def problem_of(X, y, X_val, y_val, groups=None):
    return HeldOut.given(Training(X, y), X_val, y_val, Units.of(len(y_val), groups))


def count(estimator, X, y, X_val, y_val, candidate_params=({},), groups=None, **params):
    held_out = problem_of(X, y, X_val, y_val, groups)
    session = held_out.session(FitOptions(estimator, **params), [ACCURACY.prepare(y)])
    return evaluated(session, candidate_params).statistics._open()[:, 0].tolist()


def values_of(model, X, y, X_val, y_val, groups=None, scorer=ACCURACY):
    """Values of validation records, predicted beside companions from the training set."""
    problem = problem_of(X, y, X_val, y_val, groups)
    companions = Companions.of(problem.problem)
    made = Model.of(model, (scorer.prepare(y).query,), companions, "together")
    table = ProtectedTable.of(problem.rows, companions)
    return table.values(made, scorer.prepare(y).query)


def check(model, X, y, scorer=ACCURACY):
    problem = problem_of(X, y, X, y)
    for method in scorer.response_method:
        RowByRowCheck.on(problem.problem).check(packed(model), method)


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:284], y[:284], X[284:], y[284:]


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
    for point in boundary[:5]:
        X_val = np.array(np.tile(point, (400, 1)), order=order)
        y_val = np.ones(400, dtype=int)
        rows = values_of(model, X, y, X_val, y_val, groups)
        X_val[123, 0] = np.nan
        with_failure = values_of(model, X, y, X_val, y_val, groups)
        others = np.ones(400, dtype=bool)
        others[units.rows(30, 31) if grouped else [123]] = False
        assert np.array_equal(rows[others], with_failure[others])
        assert not with_failure[~others].any()


class Shrinks(BaseEstimator):
    """Subtracts a share of the batch's mean, as a batch normaliser does."""

    def __init__(self, share=1.0, statistic=np.mean):
        self.share = share
        self.statistic = statistic

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X - self.share * self.statistic(X, axis=0)


@pytest.mark.parametrize("share", [1.0, 1e-4])
@pytest.mark.parametrize("C", [1e-4, 1e4])
@pytest.mark.parametrize("statistic", [np.mean, np.max])
def test_slightly_batch_dependent_classifier_is_refused(tumours, share, C, statistic):
    X, y, X_val, y_val = tumours
    model = make_pipeline(
        StandardScaler(), Shrinks(share, statistic), LogisticRegression(C=C, max_iter=3000)
    )
    with pytest.raises(BatchDependentError):
        count(model, X, y, X_val, y_val)


class OwnPipeline(Pipeline):
    """Has a function of its own beside steps that are listed."""

    def predict(self, X):
        return super().predict(np.sort(X, axis=0))


def test_models_with_parts_that_are_not_listed_are_checked_and_no_others(tumours, monkeypatch):
    checked, check = [], RowByRowCheck.check
    monkeypatch.setattr(
        RowByRowCheck, "check", lambda self, *model: checked.append(model) or check(self, *model)
    )
    listed = make_pipeline(StandardScaler(), LogisticRegression(max_iter=3000))
    own = Pipeline([("own", Shrinks(0.0)), *listed.steps])
    grid = [{"logisticregression__C": C} for C in (0.1, 1.0, 10.0)]
    count(listed, *tumours, grid, prediction="together")
    assert not checked
    count(own, *tumours, grid, prediction="together")
    assert len(checked) == 3
    with pytest.raises(BatchDependentError):
        count(own, *tumours, [*grid, {"own__share": 1e-4}], prediction="together")
    for grid in (
        [DummyClassifier(), LogisticRegression()],
        [LogisticRegression(), DummyClassifier()],
    ):
        grid = [{"own__share": 1.0, "logisticregression": last} for last in grid]
        with pytest.raises(BatchDependentError):
            count(own, *tumours, grid, prediction="together")
    with pytest.raises(BatchDependentError):
        count(OwnPipeline(listed.steps), *tumours, prediction="together")


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


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "Int8", "UInt8"])
def test_whole_numbers_whose_type_holds_no_larger_ones_are_checked(dtype):
    X = np.random.default_rng(0).integers(100, size=(100, 2))
    y = (X[:, 0] > 50).astype(int)
    table = pd.DataFrame(X).astype(dtype) if dtype[0] in "IU" else X.astype(dtype)
    check(LogisticRegression().fit(table, y), table, y)
    with pytest.raises(BatchDependentError):
        check(make_pipeline(Shrinks(0.1, np.max), LogisticRegression()).fit(table, y), table, y)


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
