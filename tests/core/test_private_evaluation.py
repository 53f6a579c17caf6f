"""Evaluations of a model, and of a search's choice: numbers, sensitivity, what is not revealed."""

import json

import numpy as np
import pytest
from few import few
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import confusion_matrix, roc_auc_score
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.svm import SVC

from sklearn_dpbo import (
    PrivateBayesSearchCV,
    private_evaluation,
)
from sklearn_dpbo.testing import seeded_noise

EXACT = 1e7  # an epsilon at which there is no noise


def problem_of(X, y, model, n=600):
    return model.fit(X[:n], y[:n]), (X[:n], y[:n]), (X[n:], y[n:])


@pytest.fixture(scope="module")
def binary():
    X, y = make_classification(
        2600, 5, n_informative=4, n_redundant=0, weights=[0.7], flip_y=0.1, random_state=0
    )
    return problem_of(X, y, LogisticRegression())


@pytest.fixture(scope="module")
def three():
    X, y = make_classification(2600, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    return problem_of(X, np.array(["a", "b", "c"])[y], LogisticRegression())


@pytest.fixture(scope="module")
def regression():
    return problem_of(*make_regression(2600, 5, noise=60, random_state=0), Ridge())


def evaluated(problem, epsilon=EXACT, **kwargs):
    model, (X, y), (X_val, y_val) = problem
    return private_evaluation(model, X_val, y_val, X=X, y=y, epsilon=epsilon, **kwargs)


@pytest.fixture(scope="module")
def of_two(binary):
    return evaluated(binary, thresholds=[0.2])


@pytest.fixture(scope="module")
def of_three(three):
    return evaluated(three)


def predictions(problem):
    model, _, (X_val, y_val) = problem
    return y_val, model.predict(X_val), model.predict_proba(X_val)


# ------------------------------------------------------------ numbers


@pytest.mark.slow
@pytest.mark.parametrize("positive", [0, 1])
def test_numbers_of_scores_are_those_of_sklearn_up_to_binning(binary, of_two, positive):
    y, predicted, p = predictions(binary)
    found = of_two if positive else evaluated(binary, pos_label=0, thresholds=[0.3])
    true, p = y == positive, p[:, positive]
    assert (found.confusion_matrix() == confusion_matrix(y, predicted)).all()
    if not positive:
        assert (found.confusion_matrix(0.3) == confusion_matrix(y, p < 0.3)).all()
    for name, exact, within in [
        ("roc_auc", roc_auc_score(true, p), 2e-3),
        ("average_precision", metrics.average_precision_score(true, p), 5e-3),
        ("brier_score", metrics.brier_score_loss(true, p), 1e-3),
        ("prevalence", true.mean(), 1e-6),
        ("f1", metrics.f1_score(y, predicted, pos_label=positive), 1e-6),
    ]:
        assert float(found.score(name)) == pytest.approx(exact, abs=within), name
    expected = calibration_curve(true, p, strategy="quantile", n_bins=4)
    np.testing.assert_allclose(found.calibration_curve(n_bins=4), expected, atol=0.05)


def test_curves_have_the_forms_of_sklearn(of_two):
    fpr, tpr, thresholds = of_two.roc_curve()
    assert len(fpr) == len(tpr) == len(thresholds)
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    assert (np.diff(fpr) >= 0).all() and (np.diff(thresholds) < 0).all()
    assert metrics.auc(fpr, tpr) == pytest.approx(float(of_two.score("roc_auc")), abs=3e-3)
    precision, recall, thresholds = of_two.precision_recall_curve()
    assert len(precision) == len(recall) == len(thresholds) + 1
    assert (precision[-1], recall[-1], recall[0]) == (1, 0, 1)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("binary", "brier_score"), ("three", "brier_score"), ("regression", "mean_absolute_error")],
)
def test_every_number_lies_in_its_interval(kind, name, request, seeded):
    evaluation = evaluated(request.getfixturevalue(kind), epsilon=0.2)
    for estimate in evaluation.scores().values():
        assert estimate.low <= estimate.value <= estimate.high
        assert not np.isnan(estimate).any() and np.isfinite(estimate[2])
    shown = json.loads(evaluation.to_json())
    assert shown["m"] == 2000
    if "confusion_matrix" in shown:
        value, low, high, narrow, short = map(np.array, shown["confusion_matrix"].values())
        assert (low >= 0).all() and (low <= narrow).all() and (narrow <= value).all()
        assert (value <= short).all() and (short <= high).all()
    error, gain = evaluation.score(name), evaluation.score(f"neg_{name}")
    assert tuple(gain) == (-error.value, -error.high, -error.low) and gain.value < 0


def test_intervals_for_the_population_contain_those_for_the_records(binary):
    evaluation = evaluated(binary, epsilon=1.0)
    population, records = evaluation.scores(), evaluation.scores("records")
    for name, (value, low, high) in records.items():
        wide = evaluation.score(name)
        assert wide == population[name] and wide.value == value
        assert wide.low <= low and high <= wide.high and wide != records[name], name
        assert evaluation._width(name).width == high - low, "warnings speak of noise alone"
    shown = evaluation.to_dict()["scores"]["accuracy"]
    both = (*population["accuracy"], *records["accuracy"][1:])
    assert shown == dict(
        zip(("value", "low", "high", "records_low", "records_high"), both, strict=True)
    )
    for text in (repr(evaluation), evaluation._repr_html_()):
        assert text.count("the population that the records are a random sample of") == 1


class Contrary(LogisticRegression):
    def predict(self, X):
        return 1 - super().predict(X)


@pytest.mark.slow
def test_labels_follow_the_threshold_of_the_classifier(binary):
    model, public, (X_val, y_val) = binary
    fixed = FixedThresholdClassifier(FrozenEstimator(model), threshold=0.3).fit(*public)
    evaluation = evaluated((fixed, public, (X_val, y_val)))
    assert evaluation.threshold == pytest.approx(0.3)
    assert (evaluation.confusion_matrix() == confusion_matrix(y_val, fixed.predict(X_val))).all()
    with pytest.warns(UserWarning, match="does not follow the scores"):
        evaluation = evaluated((Contrary().fit(*public), public, (X_val, y_val)))
    assert (evaluation.confusion_matrix() == confusion_matrix(y_val, model.predict(X_val))).all()


def test_without_probabilities_there_is_no_calibration(binary):
    _, public, protected = binary
    evaluation = evaluated((SVC().fit(*public), public, protected))
    assert "brier_score" not in evaluation.scores()
    with pytest.raises(ValueError, match="CalibratedClassifierCV"):
        evaluation.plot_calibration_curve()
    assert float(evaluation.threshold) == pytest.approx(0)


class Tripled(LogisticRegression):
    def predict_proba(self, X):
        return 3 * super().predict_proba(X)


@pytest.mark.slow
def test_probabilities_above_one_are_scores_only(binary):
    _, public, protected = binary
    with pytest.warns(UserWarning, match="does not follow the scores"):
        evaluation = evaluated((Tripled().fit(*public), public, protected))
    assert {"roc_auc"} <= set(evaluation.scores()) and "brier_score" not in evaluation.scores()
    with pytest.raises(ValueError, match="not probabilities of all classes"):
        evaluation.plot_calibration_curve()


@pytest.mark.slow
def test_groups_weigh_the_same_however_many_records(binary):
    y_val, predicted, p = predictions(binary)
    groups = np.sort(np.random.default_rng(0).integers(300, size=len(y_val)))
    evaluation = evaluated(binary, groups_val=groups)
    weight = 1 / np.bincount(groups)[groups]
    assert evaluation.m == len(np.unique(groups))
    exact = np.average(predicted == y_val, weights=weight)
    assert float(evaluation.score("accuracy")) == pytest.approx(exact, abs=2e-3)
    exact = roc_auc_score(y_val, p[:, 1], sample_weight=weight)
    assert float(evaluation.score("roc_auc")) == pytest.approx(exact, abs=3e-3)


@pytest.mark.slow
def test_records_of_unknown_classes_count_as_in_sklearn(binary):
    """At the model's own threshold; areas and probabilities are of known labels."""
    model, public, (X_val, y_val) = binary
    strange = np.where(np.arange(2000) < 400, 7, y_val)
    evaluation = evaluated((model, public, (X_val, strange)))
    predicted, p, known = model.predict(X_val), model.predict_proba(X_val), strange != 7

    def check(name, exact, off=1e-6, **params):
        assert float(evaluation.score(name, **params)) == pytest.approx(exact, abs=off), name

    of_one = {"labels": [1], "average": "macro"}
    for name in ("precision", "recall", "f1", "jaccard"):
        check(name, getattr(metrics, f"{name}_score")(strange, predicted, **of_one))
    check("specificity", metrics.recall_score(strange, predicted, labels=[0], average="macro"))
    check("accuracy", metrics.accuracy_score(strange, predicted))
    check("matthews_corrcoef", metrics.matthews_corrcoef(strange, predicted))
    check("cohen_kappa", metrics.cohen_kappa_score(strange, predicted))
    check("f1_weighted", metrics.f1_score(strange, predicted, average="weighted"))
    check("balanced_accuracy", metrics.balanced_accuracy_score(strange[known], predicted[known]))
    check("selection_rate", predicted.mean())
    check("prevalence", strange[known].mean())
    check("roc_auc", roc_auc_score(strange[known], p[known, 1]), 3e-3)
    matrix = confusion_matrix(strange[known], predicted[known])
    assert evaluation.confusion_matrix().tolist() == matrix.tolist()
    # At another one, they are spread as known labels are.
    at = evaluation.thresholds[np.argmin(np.abs(evaluation.thresholds - 0.3))]
    exact = metrics.precision_score(strange, (p[:, 1] >= at).astype(int), **of_one)
    check("precision", exact, 0.01, threshold=at)
    assert "About 400 of 2,000 records" in repr(evaluation)
    assert "About 400 of 2,000 records" in evaluation.to_dict()["unknown_labels"]


@pytest.mark.slow
@pytest.mark.parametrize("positive", [0, 1])
def test_unknown_labels_have_predictions_with_either_positive_class(binary, positive):
    model, public, (X_val, y_val) = binary
    strange = np.where(y_val + (np.arange(2000) % 3 == 0) == 2, 7, y_val)
    evaluation = evaluated((model, public, (X_val, strange)), pos_label=positive)
    exact = metrics.precision_score(strange, model.predict(X_val), labels=[0, 1], average=None)
    for label in (0, 1):
        found = evaluation.score("precision", pos_label=label)
        assert float(found) == pytest.approx(exact[label], abs=1e-6)


# ------------------------------------------------------------ ledger, errors, secrets


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(epsilon=0.0), "epsilon must be a finite number from 1e-9 up"),
        (dict(thresholds=["high"]), "thresholds must be a list of finite numbers"),
        (dict(pos_label=5), "is not a class of y"),
        (dict(largest_error=-1), "largest_error must be None or above 0"),
        (dict(prediction="alone"), "prediction must be"),
        (dict(X_val=None), "found None"),
        (dict(y_val=[1]), "give one label each"),
        (dict(y=None), "one label per record"),
        (dict(y=np.ones(600)), "needs 2 to 50 classes; y has 1"),
        (dict(estimator=LogisticRegression()), "not fitted"),
        (dict(estimator=object()), "estimator"),
    ],
)
def test_wrong_arguments_are_named(binary, change, message):
    model, (X, y), (X_val, y_val) = binary
    arguments = dict(estimator=model, X_val=X_val, y_val=y_val, X=X, y=y, epsilon=1.0) | change
    with pytest.raises((ValueError, TypeError, NotFittedError), match=message):
        private_evaluation(**arguments)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("precision", {"label": 0}),
        ("roc_auc", {"threshold": 0.3}),
        ("average_precision", {"pos_label": 0}),
        ("brier_score", {"threshold": 0.3}),
        ("neg_brier_score", {"label": 1}),
        ("roc_auc", {"label": "x"}),
        ("roc_auc", {"label": 0}),
        ("neg_f1", {}),
    ],
)
def test_what_a_number_does_not_depend_on_is_refused(of_two, name, params):
    with pytest.raises(ValueError, match="label|threshold|neg_f1"):
        of_two.score(name, **params)


@pytest.mark.slow
def test_what_does_not_fit_three_classes_is_refused(three, of_three):
    with pytest.raises(ValueError, match="for two classes; the model has 3"):
        evaluated(three, thresholds=[0.5])
    with pytest.raises(ValueError, match="for two classes; there are 3"):
        of_three.score("f1_macro", threshold=0.5)
    with pytest.raises(ValueError, match="label must be one of"):
        of_three.roc_curve()


def test_seeded_noise_is_said_to_be_none(binary):
    first, second = (seeded_noise(0)(evaluated)(binary, epsilon=1.0) for _ in range(2))
    assert first.scores() == second.scores()
    assert "NOT PRIVATE" in repr(first) and "NOT PRIVATE" in first._repr_html_()


# ------------------------------------------------------------ searches
def searched(problem, epsilon, grid=None, **kwargs):
    model, (X, y), (X_val, y_val) = problem
    grid = {"C": [0.1, 1.0]} if grid is None else grid
    search = PrivateBayesSearchCV(model, grid, epsilon=epsilon, release="evaluation", **kwargs)
    return search.fit(X, y, X_val=X_val, y_val=y_val)


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision", "f1"])
def test_score_that_follows_from_the_report_costs_nothing_more(binary, scoring):
    search = searched(binary, 1.0, scoring=scoring)
    *_, last = search.privacy_.spends
    assert last.release.startswith(
        "evaluation of the chosen candidate, histogram of scores, also for"
    )
    assert last.epsilon == pytest.approx(0.4)
    assert search.best_score_ == pytest.approx(float(search.evaluation_.score(scoring)))


@pytest.mark.parametrize(
    ("kind", "scoring", "n_losses"), few([("three", "accuracy", 4), ("binary", "roc_auc", 2)])
)
def test_report_is_of_the_winner(kind, scoring, n_losses, request):
    problem = request.getfixturevalue(kind)
    search = searched(problem, EXACT, scoring=scoring)
    X_val, y_val = problem[2]
    expected = confusion_matrix(y_val, search.predict(X_val))
    assert (search.evaluation_.confusion_matrix() == expected).all()
    assert search.evaluation_.privacy_ is search.privacy_
    shown = search.evaluation_._repr_html_()
    assert "private evaluation<" in shown and "hyper-parameter search<" not in shown
    assert len(search.privacy_.spends) == n_losses
