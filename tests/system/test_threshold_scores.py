"""Thresholds by scores of the confusion matrix: the score is scikit-learn's, its counts are safe.

Tests in ``statistical/test_threshold_distribution.py`` look at the noise.
"""

import math

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from thresholds import FirstColumn, data_of, fitted, tuner

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo.metrics._make import references
from sklearn_dpbo.metrics._metrics import AVERAGES
from sklearn_dpbo.metrics._registry import OF_MATRIX
from sklearn_dpbo.prediction.companions import Companions
from sklearn_dpbo.prediction.model import Model
from sklearn_dpbo.prediction.protected_values import ProtectedTable
from sklearn_dpbo.prediction.record_owner import Curve
from sklearn_dpbo.prediction.threshold_curve import LabelGains
from sklearn_dpbo.privacy.sensitive import Secret
from sklearn_dpbo.records.split import Problem, ProtectedRows, Training
from sklearn_dpbo.records.units import Units

pytestmark = pytest.mark.usefixtures("trusted_models")

# Metrics of the confusion matrix, without means over classes but one.
SCORINGS = [
    name for name in OF_MATRIX
    if name in references() and name != "accuracy"
    and (name == "f1_macro" or not name.endswith(AVERAGES))
]  # fmt: skip


def scorer_of(name):
    return make_private_scorer(name, **({"beta": 2} if name == "fbeta" else {}))


def exact_score(name, y, predicted):
    """scikit-learn's."""
    scorer = references()[name]
    extra = {"zero_division": 0} if "average" in scorer._kwargs else {}
    extra |= {"beta": 2} if name == "fbeta" else {}
    return scorer._score_func(y, predicted, **scorer._kwargs | extra)


@pytest.fixture(scope="module")
def rare():
    """Data of which a tenth is positive."""
    X, y = make_classification(6000, 6, weights=[0.9], flip_y=0.05, class_sep=0.8, random_state=0)
    return X[:2000], y[:2000], X[2000:], y[2000:]


# ---------------------------------------------------------------- the score


@pytest.mark.slow
def test_scorer_of_scikit_learn_names_the_positive_label(rare):
    X, y, X_val, y_val = rare
    text, text_val = (np.where(part == 1, "bad", "good") for part in (y, y_val))
    scoring = metrics.make_scorer(metrics.f1_score, pos_label="bad")
    t = fitted((X, text, X_val, text_val), scoring=scoring)
    expected = metrics.f1_score(text_val, t.predict(X_val), pos_label="bad")
    assert t.best_score_ == pytest.approx(expected, abs=1e-9)
    # "bad" comes first in sorted order, so that what is predicted from the threshold on is "good".
    assert t.best_threshold_ > 0.5
    other = fitted(rare, scoring="f1")
    assert expected == pytest.approx(other.best_score_, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCORINGS)
@pytest.mark.parametrize("predicted", ["none", "all"])
def test_one_predicted_class_gives_the_score_of_scikit_learn_without_warning(name, predicted):
    y = np.repeat([0, 1], [90, 10])
    thresholds = [2.0, 3.0] if predicted == "none" else [-1.0, 0.0]
    t = fitted(data_of(y), FirstColumn(), scoring=scorer_of(name), thresholds=thresholds)
    labels = np.full(100, int(predicted == "all"))
    assert (t.predict(np.full((100, 1), 0.5)) == labels).all()
    assert t.best_score_ == pytest.approx(exact_score(name, y, labels), abs=1e-9)
    assert t.best_score_interval_[0] <= t.best_score_ <= t.best_score_interval_[1]


@pytest.mark.slow
def test_validation_set_of_one_class_is_scored(rare):
    t = fitted(data_of(np.zeros(50, int), np.linspace(0, 1, 50)), FirstColumn(), scoring="f1")
    assert t.best_score_ == 0.0
    assert fitted(data_of([1]), FirstColumn(), scoring="f1").best_score_ in (0.0, 1.0)


# ---------------------------------------------------------------- what is counted
def counts_of(estimator, scorer, x, y, units, threshold):
    """What is released, without noise, and its sensitivity."""
    problem = Problem(Training(np.zeros((4, 1)), np.array([0, 0, 0, 1])), units.schema, "")
    companions = Companions.of(problem)
    label_gains = LabelGains(scorer.counts, ("decision_function",))
    model = Model.of(estimator, (label_gains,), companions, "together")
    table = ProtectedTable.of(ProtectedRows(x[:, None], y, units), companions)
    values = Secret(table.values(model, label_gains))
    found = Curve(table, label_gains, values).at([threshold], scorer.counts)
    (row,) = found._open().tolist()
    return row, found.sensitivity


def test_counts_are_the_confusion_matrix_of_predictions(rng):
    """Records that cannot be predicted are wrong; unknown labels have cells of their own."""
    scorer = make_private_scorer("f1").prepare(np.array([0, 0, 0, 1]))
    x, y = rng.choice([-1.0, 0.0, 0.5, math.nan], 200), rng.choice([0, 1, 9], 200)
    found, _ = counts_of(FirstColumn().fit(None, [0, 1]), scorer, x, y, Units.of(200), 0.0)
    wrong = np.where(y == 9, 1, 1 - y)
    predicted = np.where(np.isnan(x), wrong, np.nan_to_num(x, nan=-1) >= 0)
    known = metrics.confusion_matrix(y[y != 9], predicted[y != 9])
    assert found == [*known.ravel(), *np.bincount(predicted[y == 9])]


# ---------------------------------------------------------------- the public point
class Counting(LogisticRegression):
    """Counts its fits."""

    n_rows = []

    def fit(self, X, y, sample_weight=None):
        self.n_rows.append(len(X))
        return super().fit(X, y, sample_weight)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_fits"), [("f1", 2), ("balanced_accuracy", 2), ("accuracy", 1)])
def test_copy_is_fitted_on_four_fifths_if_the_score_needs_that(rare, name, n_fits):
    Counting.n_rows.clear()
    fitted(rare, Counting(), scoring=name)
    assert Counting.n_rows == [2000, 1600][:n_fits]


@pytest.mark.slow
def test_no_part_that_spends_is_fitted_again(rare):
    X, y, X_val, y_val = rare
    Counting.n_rows.clear()
    inner = make_pipeline(
        StandardScaler(),
        tuner(Counting(), cv=[(range(1500), range(1500, 2000))], scoring="accuracy"),
    )
    fitted(rare, inner, scoring="f1")
    assert Counting.n_rows == [1500]
