"""scikit-learn's checks pass for our estimators, and our row-by-row check accepts theirs."""

import itertools
import warnings

import numpy as np
import pytest
from conftest import EveryFourth
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import all_estimators
from sklearn.utils.estimator_checks import check_estimator

from sklearn_dpbo import (
    PrivateBayesSearchCV,
    PrivateTableSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
)
from sklearn_dpbo.learners import (
    PrivateClassifier,
    PrivateLogisticRegression,
    PrivateRegressor,
    PrivateRidge,
)
from sklearn_dpbo.prediction.listed.row_by_row import RowByRowCheck
from sklearn_dpbo.privacy import noise
from sklearn_dpbo.records.pickles import packed
from sklearn_dpbo.records.split import Problem, Training
from sklearn_dpbo.records.units import Units


def failed_checks(estimator):
    """Return the failed checks and their exceptions, and the number of checks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    return failed, len(results)


def closeness(y, predicted):
    return 1 - np.abs(y - predicted)


SEARCHES = [
    (LogisticRegression(), {"C": [0.1, 1.0]}, None),
    (Ridge(), {"alpha": [0.1, 1.0]}, make_private_scorer(closeness, bounds=(0, 1))),
    # Without break_ties SVC's own predictions differ from the argmax of its decision values.
    (make_pipeline(StandardScaler(), SVC(break_ties=True)), {"svc__C": [0.1, 1.0]}, None),
]


@pytest.fixture(autouse=True)
def _same_noise_in_each_fit(monkeypatch):
    """Some checks compare two fits."""
    monkeypatch.setattr(noise, "seeds_here", lambda: itertools.repeat((0,)))


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "grid", "scoring"), SEARCHES)
def test_search_passes_scikit_learn_estimator_checks(estimator, grid, scoring):
    search = PrivateBayesSearchCV(
        estimator, grid, scoring=scoring, epsilon=10.0, cv=EveryFourth(), error_score="raise",
        random_state=0,
    )  # fmt: skip
    failed, n_checks = failed_checks(search)
    # GridSearchCV declares the same failure: no DataConversionWarning is caught.
    assert set(failed) <= {"check_supervised_y_2d"}, failed
    assert n_checks > 40


# TunedThresholdClassifierCV fails it too: labels are no longer those of a threshold of 0.
EXPECTED = {"check_classifiers_train"}


def tuner(**params):
    return PrivateThresholdClassifier(
        LogisticRegression(), epsilon=1e4, cv=EveryFourth(), random_state=0,
        **params,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scoring", "method"), [("accuracy", "auto"), ("balanced_accuracy", "decision_function")]
)
def test_threshold_classifier_passes_scikit_learn_estimator_checks(scoring, method):
    failed, n_checks = failed_checks(tuner(scoring=scoring, response_method=method))
    assert set(failed) <= EXPECTED, failed
    assert n_checks > 40


# An error would tell that one record has an infinite target; it counts as the highest. Lists are
# refused, as single records would decide the number of columns: two checks end there.
OF_NUMBERS = {"check_supervised_y_no_nan", "check_regressors_train"}
LEARNERS = [
    (PrivateRidge(y_bounds=(-200, 200)), OF_NUMBERS),
    pytest.param(PrivateLogisticRegression(), {"check_classifiers_train"}, marks=pytest.mark.slow),
    pytest.param(PrivateClassifier(n_trees=4), {"check_classifiers_train"}, marks=pytest.mark.slow),
    pytest.param(PrivateRegressor(n_trees=4), OF_NUMBERS, marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "expected"), LEARNERS)
def test_learners_pass_scikit_learn_estimator_checks(learner, expected):
    """With hardly any noise, and the same in each fit: some checks compare two fits."""
    failed, n_checks = failed_checks(learner.set_params(epsilon=1e5))
    assert set(failed) == expected, failed
    of_lists = [failed[name] for name in expected if name.endswith("_train")]
    assert all("X is a list" in str(error) for error in of_lists)
    assert n_checks > 40


# A protected table declares what it holds: arrays of objects and lists are refused. An error would
# reveal that a target is missing or infinite. GridSearchCV fails "check_supervised_y_2d", too.
REFUSED = {"check_dtype_object", "check_complex_data", "check_supervised_y_2d"}
REFUSED |= {"check_fit2d_1sample", "check_supervised_y_no_nan"}
REFUSED |= {
    f"check_{kind}{what}"
    for kind in ("classifier", "regressor")
    for what in ("_data_not_an_array", "s_train")
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner", [PrivateLogisticRegression(), PrivateRidge(y_bounds=(-200, 200))]
)
def test_searches_on_one_table_pass_scikit_learn_estimator_checks(learner):
    failed, n_checks = failed_checks(PrivateTableSearchCV(learner, epsilon=1e5, random_state=0))
    assert set(failed) <= REFUSED, failed
    assert n_checks > 40


# The predictions of DummyClassifier depend on chance. The others need other data or take long.
LEFT_OUT = {
    "DummyClassifier", "GaussianProcessClassifier", "IsotonicRegression", "MultiTaskElasticNetCV",
    "MultiTaskLassoCV", "RadiusNeighborsClassifier", "RadiusNeighborsRegressor",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classifier", "regressor"])
@pytest.mark.filterwarnings("ignore")
def test_row_by_row_check_accepts_scikit_learn_estimators(kind):
    load = load_breast_cancer if kind == "classifier" else load_diabetes
    X, y = load(return_X_y=True)
    X, y = X[:80, :8], y[:80]
    X = X - X.min(axis=0)
    if kind == "classifier":
        scorer = make_private_scorer("accuracy").prepare(y)
    else:
        scorer = make_private_scorer("neg_mean_absolute_error", bounds=(-100, 0)).prepare(y)
    problem = Problem(Training(X, y), Units.of(len(y)), "a test")
    check, checked = RowByRowCheck.on(problem), 0
    for name, Estimator in all_estimators(type_filter=kind):
        if name in LEFT_OUT:
            continue
        try:
            model = Estimator().fit(X, y)
        except (TypeError, ValueError):
            continue
        check.check(packed(model), scorer.response_method[0])
        checked += 1
    assert checked > 25
