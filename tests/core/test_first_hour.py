"""What newcomers type in their first hour: each message says what to type instead."""

import html
import reprlib
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupShuffleSplit
from sklearn.svm import OneClassSVM

from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    PrivateTableSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
    private_comparison,
    private_evaluation,
)
from sklearn_dpbo.exceptions import (
    PrivacyWarning,
)
from sklearn_dpbo.learners import PrivateLogisticRegression

GRID = {"C": [0.1, 1.0]}
# Epsilon of 1,000: there is hardly any noise, and no warning of it.
PARAMS = {"epsilon": 1000.0, "random_state": 0}


def search_over(grid=GRID, estimator=None, **params):
    estimator = LogisticRegression() if estimator is None else estimator
    return PrivateBayesSearchCV(estimator, grid, **PARAMS | params)


def fit(data, *args, **params):
    X, y, X_val, y_val = data
    return search_over(*args, **params).fit(X, y, X_val=X_val, y_val=y_val)


def refused(data, *args, error=ValueError, **params):
    """Return what the error says; the ledger is asked, and nothing is charged."""
    with pytest.raises(error) as caught:
        fit(data, *args, **params)
    return str(caught.value)


@pytest.fixture
def ledger(tmp_path):
    """Return a function that makes a ledger of k releases with epsilon 1,000."""

    def of(k):
        path = tmp_path / "patients.ledger"
        return PrivacyLedger(path, "patients", epsilon=1000 * k, create=True)

    return of


# ------------------------------------------------------------------------ search spaces
class Dimension:
    """Like a dimension of skopt, or a distribution of Optuna."""


@pytest.mark.parametrize(
    "values", [0.1, "l1", {0.1, 1.0}, Dimension(), scipy.stats], ids=lambda v: type(v).__name__
)
def test_what_is_no_list_and_has_no_quantiles_is_refused_with_what_to_write(two_classes, values):
    said = refused(two_classes, {"C": values})
    assert f"write [{reprlib.repr(values)}] for a single value" in said
    assert "scipy.stats.loguniform(0.001, 1000)" in said


# ------------------------------------------------------------------------- what is held out


def test_validation_sets_by_other_names_are_not_taken_for_fit_parameters(two_classes):
    X, y, X_val, y_val = two_classes
    for names in (("X_test", "y_test"), ("X_valid", "y_valid"), ("x_val", "Y_val")):
        given = dict(zip(names, (X_val, y_val), strict=True))
        for search in (search_over(), PrivateThresholdClassifier(LogisticRegression())):
            with pytest.raises(TypeError, match="are called X_val, y_val and groups_val"):
                search.fit(X, y, **given)


def test_groups_that_are_no_column_are_refused_and_a_table_of_one_column_is_taken(two_classes):
    X, y, X_val, y_val = two_classes
    groups = pd.DataFrame({"patient": np.arange(150) // 2})
    for odd in (5, groups.assign(site=1)):
        for validation in ({}, {"X_val": X_val, "y_val": y_val}):
            with pytest.raises(ValueError, match="groups_val says which group.*in one column"):
                search_over().fit(X, y, groups_val=odd, **validation)
    for column in (groups, groups.to_numpy(), np.asmatrix(groups)):
        search = search_over().fit(X, y, X_val=X_val, y_val=y_val, groups_val=column)
        assert search.privacy_.m == 75
    with pytest.warns(PrivacyWarning, match="19 groups"):
        assert search_over().fit(X, y, groups_val=groups).privacy_.m == 19


@pytest.mark.parametrize("odd", [("Jane", np.nan), 1, True, pd.Timestamp("2020-01-01")])
@pytest.mark.parametrize("name", [
    "search", "split", "splitter", "threshold", "evaluation", "comparison", "table",
    "learner",
])  # fmt: skip
def test_groups_of_several_types_are_refused_before_a_charge(name, odd, two_classes, tmp_path):
    X, y, X_val, y_val = two_classes
    groups = [*map(str, range(len(X) - 2)), odd, odd]
    book = PrivacyLedger(tmp_path / "ledger", "patients", epsilon=9, delta=0.1, create=True)
    own, val = {"ledger": book, "epsilon": 1.0}, {"X_val": X_val, "y_val": y_val}
    learner = PrivateLogisticRegression(bounds=(-9, 9), classes=[0, 1], max_iter=1)
    model = LogisticRegression().fit(X, y)
    cut, public = GroupShuffleSplit(1), {"X": X, "y": y}
    calls = {
        "search": lambda: search_over(**own).fit(X, y, **val, groups_val=groups),
        "split": lambda: search_over(**own).fit(X, y, groups_val=groups),
        "splitter": lambda: search_over(**own, cv=cut).fit(X, y, groups_val=groups),
        "threshold": lambda: PrivateThresholdClassifier(model, **own).fit(
            X, y, **val, groups_val=groups
        ),
        "evaluation": lambda: private_evaluation(model, **val, **public, groups_val=groups, **own),
        "comparison": lambda: private_comparison(
            model, model, **val, **public, groups_val=groups, **own
        ),
        "table": lambda: PrivateTableSearchCV(learner, GRID, **own).fit(X, y, groups=groups),
        "learner": lambda: clone(learner).set_params(**own).fit(X, y, groups),
    }
    with pytest.raises(ValueError, match=f"found .*{type(odd).__name__}") as refused:
        calls[name]()
    assert "Jane" not in str(refused.value) and "2020" not in str(refused.value)
    assert book.spent["epsilon"] == 0


def test_weights_of_another_length_are_named(two_classes):
    X, y, X_val, y_val = two_classes
    with pytest.raises(ValueError, match="each of the 150 rows of X .found ndarray with 149 ent"):
        search_over().fit(X, y, X_val=X_val, y_val=y_val, sample_weight=np.ones(149))


# ----------------------------------------------------------------------- estimators and scores
@pytest.mark.slow
@pytest.mark.parametrize("scoring", [None, "accuracy", "neg_mean_absolute_error"])
def test_a_clusterer_is_scored_by_a_gain_of_each_record(two_classes, scoring):
    grid = {"n_clusters": [2, 3]}
    said = refused(two_classes, grid, KMeans(n_init=1), scoring=scoring)
    assert "KMeans" in said and "def gain(y, distances)" in said
    names = {"make_private_scorer": make_private_scorer}
    exec("def gain(y, distances): return -distances.min(axis=1)", names)
    call = said[said.index("make_private_scorer(") : said.index(" with def gain")]
    search = search_over(grid, KMeans(n_init=1, random_state=0), scoring=eval(call, names))
    assert -10 < search.fit(two_classes[0], X_val=two_classes[2]).best_score_ < 0


def test_an_outlier_detector_is_not_taken_for_a_clusterer(two_classes):
    X, y, X_val, y_val = two_classes
    data, grid = (X, 2 * y - 1, X_val, 2 * y_val - 1), {"nu": [0.1, 0.5]}
    said = refused(data, grid, OneClassSVM())
    assert "OneClassSVM" in said and "-1 for outliers" in said and "cluster" not in said
    name = said.split("scoring=: '")[1].split("'")[0]
    assert 0 < fit(data, grid, OneClassSVM(), scoring=name).best_score_ <= 1


@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error", "f1"])
def test_targets_with_fields_need_a_gain_that_takes_them(two_classes, scoring):
    """As scikit-survival's: an event, and the time until then."""

    def with_fields(X, y):
        return np.array(list(zip(y > 0, X[:, 0], strict=True)), [("event", bool), ("time", float)])

    X, y, X_val, y_val = two_classes
    data = X, with_fields(X, y), X_val, with_fields(X_val, y_val)
    kind = LogisticRegression() if scoring == "f1" else Ridge()
    said = refused(data, {"random_state": [0, 1]}, kind, scoring=scoring)
    assert "y has the fields ('event', 'time')" in said and "make_private_scorer" in said
    said = refused((X, y, X_val, data[3]))
    assert said == "y_val holds fields instead of numbers: code it as for training"


# ------------------------------------------------------------------- ledgers that run out


# ------------------------------------------------------------------ what is printed and shown


# ------------------------------------------------------------------ budgets that promise little
def weak_fits(two_classes):
    """Each that takes epsilon, on 150 protected records, by name."""
    X, y, X_val, y_val = two_classes
    data, val = (X, y), {"X_val": X_val, "y_val": y_val}
    model, learner = LogisticRegression(), PrivateLogisticRegression(bounds=(-9, 9), classes=[0, 1])
    grid = {"C": [0.1, 1.0]}
    return {
        "search": lambda e, d: PrivateBayesSearchCV(
            model, grid, epsilon=e, delta=d
        ).fit(*data, **val),
        "table": lambda e, d: PrivateTableSearchCV(
            learner, grid, epsilon=e, delta=d or 1e-9
        ).fit(*data),
        "threshold": lambda e, d: PrivateThresholdClassifier(model, thresholds=9, epsilon=e).fit(
            *data, **val
        ),
        "evaluation": lambda e, d: private_evaluation(
            model.fit(*data), X_val, y_val, X=X, y=y, epsilon=e
        ),
        "learner": lambda e, d: learner.set_params(epsilon=e, delta=d or 1e-9).fit(*data),
    }  # fmt: skip


def warnings_of(fit, epsilon, delta):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(epsilon, delta)
    return [each for each in caught if "promise little" in str(each.message)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    "search", "table", "threshold", "evaluation", "learner",
])  # fmt: skip
def test_budget_that_promises_little_is_warned_of_once(name, two_classes):
    fit = weak_fits(two_classes)[name]
    assert not warnings_of(fit, 10.0, 0.0)
    (large,) = warnings_of(fit, 10.5, 0.0)
    assert large.category is PrivacyWarning and large.filename == __file__
    assert "as epsilon > 10:" in str(large.message)
    if name in ("search", "table", "learner"):
        (delta,) = warnings_of(fit, 1.0, 0.01)
        assert "as delta >= 1/" in str(delta.message)


@pytest.mark.slow
def test_report_says_that_a_guarantee_is_weak(two_classes):
    search = weak_fits(two_classes)["table"](1000.0, 0.2)
    weak = "WEAK, as epsilon > 10 and delta >= 1/150"
    for text in (str(search.privacy_), search.privacy_.details(), search.privacy_.to_html()):
        assert weak in html.unescape(text)
    assert search.privacy_.to_dict()["weak"] == "epsilon > 10 and delta >= 1/150"
    usual = weak_fits(two_classes)["search"](1.0, 0.0).privacy_
    assert "WEAK" not in usual.details() and usual.to_dict()["weak"] is None
