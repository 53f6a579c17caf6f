"""`PrivateThresholdClassifier`: counting at each threshold, the scikit-learn interface, errors.

Tests in ``statistical/test_threshold_distribution.py`` look at its noise.
"""

import math

import numpy as np
import pandas as pd
import pytest
from evaluators import HeldOut
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import (
    GridSearchCV,
    ShuffleSplit,
    cross_val_score,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from thresholds import GRID, FirstColumn, data_of, fitted, tuner

from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
)
from sklearn_dpbo.metrics._make import resolve_scorer
from sklearn_dpbo.prediction.companions import Companions
from sklearn_dpbo.prediction.model import Model
from sklearn_dpbo.prediction.protected_values import ProtectedTable
from sklearn_dpbo.prediction.record_owner import Curve
from sklearn_dpbo.prediction.threshold_curve import LabelGains
from sklearn_dpbo.privacy.sensitive import Secret
from sklearn_dpbo.records.split import Training
from sklearn_dpbo.records.units import Units
from sklearn_dpbo.testing import seeded_noise

pytestmark = pytest.mark.filterwarnings("ignore:No X_val and no cv")


@pytest.fixture(scope="module")
def rare():
    """Data of which a tenth is positive."""
    X, y = make_classification(3000, 6, weights=[0.9], flip_y=0.05, random_state=0)
    return X[:1000], y[:1000], X[1000:], y[1000:]


def closeness(y, labels):
    return np.where(y == labels, np.where(y == 1, 2.0, 0.5), -1.0)


@pytest.mark.slow
def test_models_whose_own_fit_takes_a_validation_set_are_tuned(rare):
    """Since scikit-learn 1.7 this one has X_val, too: it was taken for a private search."""
    X, y, X_val, y_val = rare
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    tuned = PrivateThresholdClassifier(model, scoring="f1")
    assert tuned.fit(X, y, X_val=X_val, y_val=y_val).best_threshold_ < 0.5


SCORINGS = [
    "accuracy",
    "balanced_accuracy",
    make_private_scorer("weighted_accuracy", class_weight={0: 1, 1: 7}),
    make_private_scorer("neg_cost", cost_matrix=[[0, 1], [5, -2]]),
    make_private_scorer(closeness, bounds=(-1, 2)),
]

# ---------------------------------------------------------------- counting


def plain(scorer, scores, y, grid, units):
    """Return the statistics of the labels, counted for each threshold separately."""
    found = []
    for t in grid:
        labels = np.where(np.nan_to_num(scores, nan=-np.inf) >= t, 1, 0)
        rows = scorer.query.record_values(y, labels, np.array([0, 1]))
        failed = np.isnan(scores)
        rows[failed] = scorer.query.lowest_values(y, len(y))[failed]
        found.append(scorer.query.statistics(rows, y, units)[0])
    return found


def curve_of(estimator, scorer, problem, grid):
    """The score of each threshold, in steps."""
    label_gains, companions = (
        LabelGains(scorer.counts, ("decision_function",)),
        Companions.of(problem.problem),
    )
    model = Model.of(estimator, (label_gains,), companions, "together")
    table = ProtectedTable.of(problem.rows, companions)
    values = Secret(table.values(model, label_gains))
    return Curve(table, label_gains, values).at(grid, scorer.query)._open()[:, 0]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 3.0, math.nan]),
                       st.sampled_from([0, 1, 2]), st.integers(0, 3)), min_size=1, max_size=12),
    st.sampled_from(SCORINGS), st.booleans(),
    st.lists(st.sampled_from([-1.0, 0.0, 0.2, 0.25, 0.5, 0.9, 1.0]), min_size=2, max_size=7),
)  # fmt: skip
def test_threshold_curve_equals_counting_at_each_threshold(records, scoring, grouped, grid):
    """Also with ties, failing records, unknown labels and groups of any size."""
    scores, y, groups = (np.array(column) for column in zip(*records, strict=True))
    units, grid = Units.of(len(y), groups if grouped else None), np.sort(grid)
    if grouped and np.isnan(scores).any():  # then the whole group cannot be predicted
        scores[np.isin(groups, groups[np.isnan(scores)])] = np.nan
    train = [0, 0, 0, 1]
    scorer = resolve_scorer(scoring, FirstColumn()).prepare(train)
    estimator = FirstColumn().fit(np.zeros((4, 1)), train)
    training = Training(np.zeros((4, 1)), np.array(train))
    problem = HeldOut.given(training, scores[:, None], y, units)
    total = curve_of(estimator, scorer, problem, grid)
    assert total.tolist() == plain(scorer, scores, y, grid, units)
    assert total.min() >= 0 and total.max() <= scorer.query.largest(units)


def test_a_response_that_is_no_number_gets_the_first_class():
    counts = resolve_scorer("accuracy", FirstColumn()).prepare([0, 1]).counts
    y, scores = np.array([0, 0, 1]), np.array([math.nan, math.nan, 0.5])
    gains = LabelGains(counts, ("decision_function",))
    values = gains.record_values(y, scores, np.array([0, 1]))
    found = gains.statistics_at([-math.inf, 0.5, math.inf], values, y, Units.of(3), counts)
    assert found[:, 0].tolist() == [3, 3, 2]


# ---------------------------------------------------------------- what is kept, and units


class Keeps(LogisticRegression):
    """Keeps the records that it predicts."""

    def predict_proba(self, X):
        self.last = X
        return super().predict_proba(X)


@pytest.mark.slow
@pytest.mark.parametrize("frozen", [False, True])
def test_estimator_state_left_by_validation_predictions_is_not_kept(rare, frozen):
    X, y, X_val, y_val = rare
    model = FrozenEstimator(Keeps().fit(X, y)) if frozen else Keeps()
    tuned = PrivateThresholdClassifier(model).fit(X, y, X_val=X_val[:200], y_val=y_val[:200])
    inner = tuned.estimator_.estimator if frozen else tuned.estimator_
    kept = getattr(inner, "last", X[:0])
    assert not np.isin(X_val[:, 0], kept[:, 0]).any()


# ---------------------------------------------------------------- the scikit-learn contract


@pytest.mark.slow
def test_methods_and_attributes_are_delegated_to_estimator(rare):
    X = rare[0]
    t = fitted(rare)
    assert (t.predict_proba(X) == t.estimator_.predict_proba(X)).all()
    assert (t.predict_log_proba(X) == t.estimator_.predict_log_proba(X)).all()
    assert (t.decision_function(X) == t.estimator_.decision_function(X)).all()
    assert t.classes_.tolist() == [0, 1] and t.n_features_in_ == 6
    assert not hasattr(fitted(rare, LinearSVC()), "predict_proba")
    assert not hasattr(tuner(), "classes_") and not hasattr(tuner(), "n_features_in_")
    assert t.score(X, rare[1]) == accuracy_score(rare[1], t.predict(X))


@pytest.mark.slow
def test_pipeline_steps_transform_the_validation_set(rare):
    X, y, X_val, y_val = rare
    with seeded_noise(0), config_context(enable_metadata_routing=True):
        step = tuner().set_fit_request(X_val=True, y_val=True)
        pipe = Pipeline([("scale", StandardScaler()), ("tune", step)], transform_input=["X_val"])
        pipe.fit(X, y, X_val=X_val, y_val=y_val)
    assert pipe[-1].privacy_.m == 2000
    with seeded_noise(0):
        whole = fitted(rare, make_pipeline(StandardScaler(), LogisticRegression()))
    assert pipe[-1].best_threshold_ == pytest.approx(whole.best_threshold_)
    # Without a validation set the step holds out its own.
    plain = make_pipeline(StandardScaler(), tuner()).fit(X, y)
    assert plain[-1].privacy_.m == 250 and plain.predict(X_val).shape == (2000,)


@pytest.mark.slow
def test_tuner_works_in_cross_val_score_and_grid_search(rare):
    X, y, _, _ = rare
    cv = ShuffleSplit(1, random_state=0)
    assert cross_val_score(tuner(cv=cv), X, y, cv=3).min() > 0.5
    grid = GridSearchCV(tuner(cv=cv), {"estimator__C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert hasattr(grid.best_estimator_, "best_threshold_")


# ---------------------------------------------------------------- together with a search


@pytest.mark.slow
def test_threshold_is_tuned_after_a_search_and_both_losses_add_up_in_the_ledger(rare, tmp_path):
    X, y, X_val, y_val = rare
    ledger = PrivacyLedger(tmp_path / "ledger", "patients", 1.0, create=True)
    search = PrivateBayesSearchCV(
        LogisticRegression(), {"C": [0.01, 0.1, 1.0]}, epsilon=0.7, ledger=ledger
    )
    with pytest.raises(ValueError, match="fit it first.*FrozenEstimator.search.best_estimator_"):
        fitted(rare, search, epsilon=0.3, ledger=ledger)
    search.fit(X, y, X_val=X_val, y_val=y_val)
    t = fitted(rare, FrozenEstimator(search.best_estimator_), epsilon=0.3, ledger=ledger)
    assert t.privacy_.m == search.privacy_.m == 2000
    assert [row["epsilon"] for row in ledger.history] == [0.7, 0.3]


# ---------------------------------------------------------------- invalid input, raw scores


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"epsilon": 0}, "epsilon must be a finite number"),
        ({"score_share": 0}, r"score_share must be in \(0, 1\)"),
        ({"score_share": 1}, r"score_share must be in \(0, 1\)"),
        ({"response_method": "predict"}, "response_method must be .*decision_function"),
        ({"thresholds": 3}, "thresholds must be a whole number, 4 to"),
        ({"thresholds": 2.5}, "thresholds must be a whole number"),
        ({"thresholds": [0.5]}, "two finite numbers"),
        ({"thresholds": [0.5, math.nan]}, "two finite numbers"),
        ({"cv": "prefit"}, "cv='prefit' cannot be used"),
        ({"cv": 5}, "several splits"),
        ({"scoring": "roc_auc"}, "says nothing about a threshold"),
        ({"scoring": "neg_log_loss"}, "says nothing about a threshold"),
        ({"scoring": "rand_score"}, "cannot be made private"),
        ({"scoring": "average_precision"}, "says nothing about a threshold"),
        ({"scoring": make_private_scorer("f1", pos_label="yes")}, "is not a class of y"),
        ({"estimator": LogisticRegression}, "with a fit method"),
        ({"scoring": make_private_scorer("neg_cost", cost_matrix=np.eye(3))}, "for 2 classes"),
        ({"estimator": 3}, "with a fit method"),
        ({"estimator": PrivateBayesSearchCV(LogisticRegression(), {"C": [1]}, refit=False)},
         "fit it first"),
    ],
)  # fmt: skip
def test_invalid_parameters_raise_errors(rare, params, says):
    t = tuner().set_params(**params)
    with pytest.raises((ValueError, TypeError), match=says):
        t.fit(rare[0], rare[1])
    assert not hasattr(t, "privacy_")


def test_neg_cost_equals_mean_cost(rare):
    X, y, X_val, y_val = rare
    scorer = make_private_scorer("neg_cost", cost_matrix=[[0, 1], [8, 0]])
    assert repr(scorer) == "make_private_scorer('neg_cost', cost_matrix=[[0, 1], [8, 0]])"
    model = LogisticRegression().fit(X, y)
    wrong = model.predict(X_val) != y_val
    cost = np.where(wrong, np.where(y_val == 1, 8, 1), 0).mean()
    assert scorer(model, X_val, y_val) == pytest.approx(-cost, abs=1e-5)
    assert scorer.prepare(y).bounds == (-8, 0)


def test_more_than_two_classes_raise_value_error(rare):
    X, y, _, _ = rare
    with pytest.raises(ValueError, match="Only binary classification"):
        tuner().fit(X, np.arange(len(X)) % 3)


def test_records_that_cannot_be_predicted_count_as_wrong_silently(capsys, recwarn):
    x = np.r_[np.full(50, 0.3), np.full(50, np.nan)]
    data = data_of(np.ones(100), x)
    t = fitted(data, FirstColumn(), scoring="accuracy", thresholds=GRID)
    assert t.best_score_ == pytest.approx(0.5, abs=0.01) and t.best_threshold_ <= 0.3
    assert "SECRET" not in "".join(capsys.readouterr()) + str([w.message for w in recwarn])


@pytest.mark.slow
@pytest.mark.parametrize("odd", [2.0, 1.5, math.nan])
def test_invalid_held_out_labels_raise_no_error(rare, odd):
    X, y = rare[0], rare[1].astype(float)
    split = [(np.arange(800), np.arange(800, 1000))]
    y[850] = odd
    assert tuner(cv=split).fit(X, y).privacy_.m == 200
    y[10] = odd  # a training label, which is public
    with pytest.raises(ValueError, match="binary|NaN"):
        tuner(cv=split).fit(X, y)


class Probably(ClassifierMixin, BaseEstimator):
    """P(1) is the first column; `kind` converts the table of probabilities."""

    def __init__(self, kind=np.asarray):
        self.kind = kind

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = np.asarray(X, dtype=float)[:, 0]
        return self.kind(np.stack([1 - p, p], axis=1))


KINDS = [np.asarray, np.float32, pd.DataFrame, np.asfortranarray]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_agree_with_the_tuned_score(kind):
    """Responses of NaN are below all thresholds; responses in float32 are compared exactly."""
    x = np.r_[np.full(400, 0.7), np.full(400, 0.3), np.full(200, np.nan)]
    y = np.r_[np.ones(400, int), np.zeros(600, int)]
    for thresholds in ([0.7, 0.71], [float(np.float32(0.7)), 0.71], 64):
        t = fitted(data_of(y, x), Probably(kind), scoring="accuracy", thresholds=thresholds)
        right = np.mean(t.predict(x[:, None]) == y)
        assert t.best_score_ == pytest.approx(right, abs=0.002), thresholds
        assert t.best_score_interval_[0] <= right <= t.best_score_interval_[1]


@pytest.mark.parametrize(
    ("estimator", "says"),
    [
        (FrozenEstimator(FirstColumn().fit(None, ["a", "b"])), "no classifier of the labels"),
        (LinearSVC, "with a fit method"),
        (StandardScaler(), "has no method"),
    ],
)
def test_estimators_without_threshold_raise_value_error(rare, estimator, says):
    with pytest.raises(ValueError, match=says):
        fitted(rare, estimator)


@pytest.mark.parametrize("strategy", ["prior", "most_frequent"])
def test_constant_predictions_raise_value_error_before_a_charge(rare, tmp_path, strategy):
    """As in TunedThresholdClassifierCV. Thresholds that are given need no training records."""
    ledger = PrivacyLedger(tmp_path / "budget.db", "records", 10.0, create=True)
    model = PrivateThresholdClassifier(DummyClassifier(strategy=strategy), ledger=ledger)
    X, y, X_val, y_val = rare
    with pytest.raises(ValueError, match="DummyClassifier makes constant predictions"):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    assert not ledger.history
    model.set_params(thresholds=[0.3, 0.6]).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.best_threshold_ in (0.3, 0.6)


def test_one_class_raises_value_error(rare):
    X, y, X_val, y_val = rare
    with pytest.raises(ValueError, match="y has 1 classes"):
        fitted((X, np.zeros(len(X), int), X_val, y_val), FirstColumn())
