"""Evaluations of a model, and of a search's choice: numbers, sensitivity, what is not revealed."""

import doctest
import importlib
import json
import pickle

import numpy as np
import pytest
from evaluations import designed
from leaks import found_in, found_in_text
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification, make_regression
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import (
    accuracy_score,
    auc,
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    f1_score,
    mean_absolute_error,
    precision_score,
    r2_score,
    recall_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.svm import SVC

from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    make_private_scorer,
    private_evaluation,
)
from sklearn_dpbo._data.units import Units
from sklearn_dpbo.evaluation import Estimate
from sklearn_dpbo.exceptions import BatchDependentError, BudgetExceededError

EXACT = 1e7  # an epsilon at which there is no noise


def parts_of(X, y, n=600):
    return (X[:n], y[:n]), (X[n:], y[n:])


@pytest.fixture(scope="module")
def binary():
    X, y = make_classification(
        2600, 5, n_informative=4, n_redundant=0, weights=[0.7], flip_y=0.1, random_state=0
    )
    public, protected = parts_of(X, y)
    return LogisticRegression().fit(*public), public, protected


@pytest.fixture(scope="module")
def three():
    X, y = make_classification(2600, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    public, protected = parts_of(X, np.array(["a", "b", "c"])[y])
    return LogisticRegression().fit(*public), public, protected


@pytest.fixture(scope="module")
def regression():
    X, y = make_regression(2600, 5, noise=60, random_state=0)
    public, protected = parts_of(X, y)
    return Ridge().fit(*public), public, protected


def evaluated(problem, epsilon=EXACT, **kwargs):
    model, (X, y), (X_val, y_val) = problem
    return private_evaluation(model, X_val, y_val, X=X, y=y, epsilon=epsilon, **kwargs)


# ------------------------------------------------------------ numbers
def test_numbers_of_labels_are_those_of_sklearn(binary):
    model, _, (X_val, y_val) = binary
    evaluation, predicted = evaluated(binary), model.predict(X_val)
    assert (evaluation.confusion_matrix() == confusion_matrix(y_val, predicted)).all()
    for name, score in {
        "accuracy": accuracy_score, "balanced_accuracy": balanced_accuracy_score,
        "precision": precision_score, "recall": recall_score, "f1": f1_score,
    }.items():  # fmt: skip
        estimate = evaluation.score(name)
        np.testing.assert_allclose(estimate, score(y_val, predicted), rtol=1e-9)


def test_numbers_of_scores_are_those_of_sklearn_up_to_binning(binary):
    model, _, (X_val, y_val) = binary
    evaluation, p = evaluated(binary), model.predict_proba(X_val)[:, 1]
    assert float(evaluation.score("roc_auc")) == pytest.approx(roc_auc_score(y_val, p), abs=2e-3)
    exact = average_precision_score(y_val, p)
    assert float(evaluation.score("average_precision")) == pytest.approx(exact, abs=5e-3)
    assert float(evaluation.score("brier_score")) == pytest.approx(
        brier_score_loss(y_val, p), abs=1e-3
    )
    assert float(evaluation.score("prevalence")) == pytest.approx(y_val.mean())


def test_other_thresholds_are_exact_at_edges(binary):
    model, _, (X_val, y_val) = binary
    evaluation, p = evaluated(binary, thresholds=[0.2]), model.predict_proba(X_val)[:, 1]
    expected = confusion_matrix(y_val, p >= 0.2)
    assert (evaluation.confusion_matrix(0.2) == expected).all()
    assert (evaluation.confusion_matrix(0.201) == expected).all()  # the nearest
    assert evaluation.threshold == pytest.approx(0.5)


def test_positive_class_may_be_the_first(binary):
    model, _, (X_val, y_val) = binary
    evaluation = evaluated(binary, pos_label=0, thresholds=[0.3])
    q = model.predict_proba(X_val)[:, 0]
    assert (evaluation.confusion_matrix() == confusion_matrix(y_val, model.predict(X_val))).all()
    assert (evaluation.confusion_matrix(0.3) == confusion_matrix(y_val, q < 0.3)).all()
    expected = f1_score(y_val, model.predict(X_val), pos_label=0)
    assert float(evaluation.score("f1")) == pytest.approx(expected)
    exact = average_precision_score(1 - y_val, q)
    assert float(evaluation.score("average_precision")) == pytest.approx(exact, abs=5e-3)
    exact = brier_score_loss(1 - y_val, q)
    assert float(evaluation.score("brier_score")) == pytest.approx(exact, abs=1e-3)
    expected = calibration_curve(1 - y_val, q, strategy="quantile")
    np.testing.assert_allclose(evaluation.calibration_curve(), expected, atol=0.05)


def test_curves_have_the_forms_of_sklearn(binary):
    evaluation = evaluated(binary)
    fpr, tpr, thresholds = evaluation.roc_curve()
    assert len(fpr) == len(tpr) == len(thresholds)
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    assert (np.diff(fpr) >= 0).all() and (np.diff(thresholds) < 0).all()
    assert auc(fpr, tpr) == pytest.approx(float(evaluation.score("roc_auc")), abs=3e-3)
    precision, recall, thresholds = evaluation.precision_recall_curve()
    assert len(precision) == len(recall) == len(thresholds) + 1
    assert (precision[-1], recall[-1], recall[0]) == (1, 0, 1)
    model, _, (X_val, y_val) = binary
    expected = calibration_curve(
        y_val, model.predict_proba(X_val)[:, 1], strategy="quantile", n_bins=4
    )
    for n_bins in (4, np.int64(4)):
        found = evaluation.calibration_curve(n_bins=n_bins)
        np.testing.assert_allclose(found, expected, atol=0.05)


def test_numbers_of_three_classes_are_those_of_sklearn(three):
    model, _, (X_val, y_val) = three
    evaluation, predicted, p = evaluated(three), model.predict(X_val), model.predict_proba(X_val)
    assert (evaluation.confusion_matrix() == confusion_matrix(y_val, predicted)).all()
    for average in ("macro", "micro", "weighted"):
        exact = precision_score(y_val, predicted, average=average)
        assert float(evaluation.score(f"precision_{average}")) == pytest.approx(exact)
    exact = roc_auc_score(y_val, p, multi_class="ovr")
    assert float(evaluation.score("roc_auc_ovr")) == pytest.approx(exact, abs=2e-3)
    exact = roc_auc_score(y_val == "b", p[:, 1])
    assert float(evaluation.score("roc_auc", label="b")) == pytest.approx(exact, abs=2e-3)
    exact = np.mean(((y_val[:, None] == model.classes_) - p) ** 2) * 3
    assert float(evaluation.score("brier_score")) == pytest.approx(exact, abs=2e-3)


def test_numbers_of_a_regressor_are_those_of_sklearn(regression):
    model, _, (X_val, y_val) = regression
    evaluation, predicted = evaluated(regression, largest_error=300.0), model.predict(X_val)
    for name, score in {
        "mean_absolute_error": mean_absolute_error, "r2": r2_score,
        "root_mean_squared_error": root_mean_squared_error,
        "mean_error": lambda y, p: np.mean(y - p),
    }.items():  # fmt: skip
        exact = score(y_val, predicted)
        rel = 0.02 if name == "r2" else 1e-3  # what clipping of labels hides is estimated
        assert float(evaluation.score(name)) == pytest.approx(exact, rel=rel), name


def test_every_number_lies_in_its_interval(binary, three, regression):
    for problem in (binary, three, regression):
        evaluation = evaluated(problem, epsilon=0.2)
        for estimate in evaluation.scores().values():
            assert isinstance(estimate, Estimate)
            assert estimate.low <= estimate.value <= estimate.high
            assert (
                not np.isnan(estimate).any() and np.isfinite((estimate.value, estimate.high)).all()
            )
        shown = json.loads(evaluation.to_json())
        assert shown["m"] == 2000
        if "confusion_matrix" in shown:
            value, low, high = map(np.array, shown["confusion_matrix"].values())
            assert (low >= 0).all() and (low <= value).all() and (value <= high).all()


def test_without_probabilities_there_is_no_calibration(binary):
    _, public, protected = binary
    evaluation = evaluated((SVC().fit(*public), public, protected))
    assert "brier_score" not in evaluation.scores()
    with pytest.raises(ValueError, match="CalibratedClassifierCV"):
        evaluation.plot_calibration_curve()
    assert float(evaluation.threshold) == pytest.approx(0)


def test_labels_follow_the_threshold_of_the_classifier(binary):
    model, public, (X_val, y_val) = binary
    fixed = FixedThresholdClassifier(FrozenEstimator(model), threshold=0.3).fit(*public)
    evaluation = evaluated((fixed, public, (X_val, y_val)))
    assert evaluation.threshold == pytest.approx(0.3)
    assert (evaluation.confusion_matrix() == confusion_matrix(y_val, fixed.predict(X_val))).all()


class Contrary(LogisticRegression):
    def predict(self, X):
        return 1 - super().predict(X)


def test_labels_that_follow_no_threshold_are_warned_of(binary):
    model, public, (X_val, y_val) = binary
    contrary = Contrary().fit(*public)
    with pytest.warns(UserWarning, match="100.0% of the public records"):
        evaluation = evaluated((contrary, public, (X_val, y_val)))
    assert (evaluation.confusion_matrix() == confusion_matrix(y_val, model.predict(X_val))).all()


def test_groups_weigh_the_same_however_many_records(binary):
    model, _, (X_val, y_val) = binary
    groups = np.sort(np.random.default_rng(0).integers(300, size=len(y_val)))
    evaluation = evaluated(binary, groups_val=groups)
    weight = 1 / np.bincount(groups)[groups]
    exact = np.average(model.predict(X_val) == y_val, weights=weight)
    assert evaluation.m == len(np.unique(groups))
    assert float(evaluation.score("accuracy")) == pytest.approx(exact, abs=2e-3)
    exact = roc_auc_score(y_val, model.predict_proba(X_val)[:, 1], sample_weight=weight)
    assert float(evaluation.score("roc_auc")) == pytest.approx(exact, abs=3e-3)


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_records_by_themselves_give_the_same(kind, request):
    model, public, (X_val, y_val) = request.getfixturevalue(kind)
    problem = (model, public, (X_val[:30], y_val[:30]))
    together, separate = (evaluated(problem, prediction=p) for p in ("together", "separate"))
    for name, estimate in together.scores().items():
        np.testing.assert_allclose(separate.scores()[name], estimate, rtol=1e-5, atol=1e-5)
    assert "predicted alone" in separate.privacy_.condition


def test_records_of_unknown_classes_count_as_wrong(binary):
    model, public, (X_val, y_val) = binary
    strange = np.where(np.arange(2000) < 400, 7, y_val)
    known = strange != 7
    evaluation = evaluated((model, public, (X_val, strange)))
    exact = accuracy_score(y_val[known], model.predict(X_val[known]))
    assert float(evaluation.score("accuracy")) == pytest.approx(known.mean() * exact, abs=1e-6)


# ------------------------------------------------------------ sensitivity
@pytest.mark.parametrize("kind", ["binary", "three", "regression"])
@pytest.mark.parametrize("grouped", [False, True])
def test_one_unit_moves_counts_by_no_more_than_the_sensitivity(kind, grouped, request, rng):
    """Each unit of a small set is replaced by others; some pair comes close to the bound."""
    model, (X, y), (X_val, y_val) = request.getfixturevalue(kind)
    design = designed(model, X, y, m=6, epsilon=1.0, spread=True)
    groups = np.array([0, 0, 1, 2, 2, 2, 3, 4, 5]) if grouped else None
    n = 9 if grouped else 6
    units = Units.of(n, groups)
    for part in design._parts:
        method = next(name for name in part.response_method if hasattr(model, name))
        response, classes = getattr(model, method)(X_val), getattr(model, "classes_", None)
        if kind == "regression":
            y_val = rng.choice([-1e3, 0, 1e3], size=len(y_val)) + response
        values = part.record_values(y_val, response, classes)
        strange = rng.random(len(values)) < 0.1
        values[strange] = part.lowest_values(y_val, len(values))[strange]
        largest = 0
        for _ in range(400):
            rows = rng.choice(len(values), n)
            before = np.array(part.statistics(values[rows], y_val[rows], units))
            unit = units.rows(*(lambda u: (u, u + 1))(int(rng.integers(units.m))))
            rows[unit] = rng.choice(len(values), len(unit))
            after = np.array(part.statistics(values[rows], y_val[rows], units))
            largest = max(largest, np.abs(after - before).sum())
        bound = part.sensitivity(units)
        assert bound * 0.6 < largest <= bound, type(part).__name__


# ------------------------------------------------------------ ledger, errors, secrets
def test_charges_once_and_before_the_first_draw(binary, regression, tmp_path, monkeypatch):
    from sklearn_dpbo._privacy import noise

    ledger = PrivacyLedger(tmp_path / "budget.db", "patients", epsilon=3.0, create=True)
    seen, right = [], noise.Noise.discrete_laplace

    def drawing(self, scale):
        seen.append(ledger.spent["epsilon"])
        return right(self, scale)

    monkeypatch.setattr(noise.Noise, "discrete_laplace", drawing)
    evaluated(binary, epsilon=1.0, ledger=ledger)
    report = evaluated(regression, epsilon=1.5, ledger=ledger).privacy_
    assert seen == [1.0, 2.5]
    assert [loss.epsilon for loss in report.spends] == [report.epsilon] == [1.5]
    with pytest.raises(BudgetExceededError):
        evaluated(binary, epsilon=1.0, ledger=ledger)
    assert ledger.spent["epsilon"] == 2.5


class Alone(LogisticRegression):
    """Normalises by the batch."""

    def predict_proba(self, X):
        return super().predict_proba(X - X.mean(axis=0))


class Broken(LogisticRegression):
    def predict_proba(self, X):
        raise RuntimeError("no")


@pytest.mark.filterwarnings("ignore:Alone.predict does not follow")
@pytest.mark.parametrize("model, error", [(Alone(), BatchDependentError), (Broken(), RuntimeError)])
def test_estimators_that_fail_on_public_records_spend_nothing(binary, model, error, tmp_path):
    _, public, protected = binary
    ledger = PrivacyLedger(tmp_path / "budget.db", "patients", epsilon=3.0, create=True)
    with pytest.raises(error):
        evaluated(
            (model.fit(*public), public, protected),
            epsilon=1.0,
            ledger=ledger,
            prediction="together",
        )
    assert ledger.spent["epsilon"] == 0


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(epsilon=0.0), "epsilon must be a number from 1e-9 up"),
        (dict(thresholds=["high"]), "thresholds must be a list of finite numbers"),
        (dict(pos_label=5), "is not a class of y"),
        (dict(largest_error=-1), "largest_error must be None or above 0"),
        (dict(prediction="alone"), "prediction is"),
        (dict(X_val=None), "found None"),
        (dict(y_val=[1]), "give one label each"),
        (dict(y=None), "one label per record"),
        (dict(estimator=LogisticRegression()), "not fitted"),
        (dict(estimator=object()), "estimator"),
    ],
)
def test_wrong_arguments_are_named(binary, change, message):
    model, (X, y), (X_val, y_val) = binary
    arguments = dict(estimator=model, X_val=X_val, y_val=y_val, X=X, y=y, epsilon=1.0) | change
    with pytest.raises((ValueError, TypeError, NotFittedError), match=message):
        private_evaluation(**arguments)


def test_what_does_not_fit_the_classes_is_refused(binary, three):
    with pytest.raises(ValueError, match="for two classes; the model has 3"):
        evaluated(three, thresholds=[0.5])
    many = evaluated(three)
    with pytest.raises(ValueError, match="for two classes; there are 3"):
        many.score("f1_macro", threshold=0.5)
    with pytest.raises(ValueError, match="label is one of"):
        many.roc_curve()
    with pytest.raises(ValueError, match=r"label is one of \[1\]"):
        evaluated(binary).score("roc_auc", label=0)


class Counting(ClassifierMixin, BaseEstimator):
    """Scores of known counts: 1,237 of 2,749 records above one half, all of the second class."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        p = np.where(X[:, 0] < 1237, 0.9, 0.1)
        return np.stack([1 - p, p], axis=1)

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


def test_nothing_raw_is_kept():
    """With noise of thousands, no count of the records is among the numbers of the result."""
    X_val = np.arange(2749.0)[:, None]
    X = np.linspace(0, 2748, 40)[:, None]
    evaluation = private_evaluation(
        Counting().fit(X, None), X_val, np.ones(2749, dtype=int), X=X, y=np.arange(40) % 2,
        epsilon=1e-4,
    )  # fmt: skip
    counts = {1237, 2749 - 1237}
    for thing in (evaluation, pickle.loads(pickle.dumps(evaluation))):
        assert not found_in(thing, counts)
        assert not found_in(thing.to_dict(), counts)
        for text in (repr(thing), str(vars(thing)), thing.to_html(), thing.to_json()):
            assert not found_in_text(text, counts)


def test_seeded_noise_is_said_to_be_none(binary):
    first, second = (evaluated(binary, epsilon=1.0, noise_random_state=0) for _ in range(2))
    assert first.scores() == second.scores()
    assert "NOT PRIVATE" in repr(first) and "NOT PRIVATE" in first.to_html()


# ------------------------------------------------------------ figures
def test_figures_are_sklearns_own(binary, three, regression):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    evaluation, many = evaluated(binary, epsilon=1.0), evaluated(three, epsilon=1.0)
    for each, label in ((evaluation, ()), (many, ("b",))):
        _, axes = plt.subplots(2, 2)
        shown = [
            each.plot_confusion_matrix(ax=axes[0, 0]),
            each.plot_roc_curve(*label, ax=axes[0, 1]),
            each.plot_precision_recall_curve(*label, ax=axes[1, 0]),
            each.plot_calibration_curve(*label, ax=axes[1, 1]),
        ]
        names = ["ConfusionMatrix", "RocCurve", "PrecisionRecall", "Calibration"]
        assert [type(d).__name__ for d in shown] == [f"{name}Display" for name in names]
        assert [d.ax_ for d in shown] == [axes[0, 0], axes[0, 1], axes[1, 0], axes[1, 1]]
    plt.close("all")


# ------------------------------------------------------------ searches
def searched(problem, epsilon, grid=None, **kwargs):
    model, (X, y), (X_val, y_val) = problem
    grid = {"C": [0.1, 1.0]} if grid is None else grid
    search = PrivateBayesSearchCV(model, grid, epsilon=epsilon, release="evaluation", **kwargs)
    return search.fit(X, y, X_val=X_val, y_val=y_val)


@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision", "f1", "balanced_accuracy"])
def test_score_that_follows_from_the_report_costs_nothing_more(binary, scoring):
    search = searched(binary, 1.0, scoring=scoring)
    *_, last = search.privacy_.spends
    assert last.release.startswith("report of the chosen candidate, histogram of scores, also for")
    assert last.epsilon == pytest.approx(0.4)
    assert search.best_score_ == pytest.approx(float(search.evaluation_.score(scoring)))


def test_other_scores_share_with_the_report(binary, regression):
    search = searched(binary, 1.0, scoring="accuracy")
    assert [loss.epsilon for loss in search.privacy_.spends] == pytest.approx([0.6, 0.2, 0.2])
    scoring = make_private_scorer("neg_mean_absolute_error", bounds=(-300, 0))
    search = searched(regression, EXACT, {"alpha": [0.1, 1.0]}, scoring=scoring)
    spent = [loss.epsilon / EXACT for loss in search.privacy_.spends]
    assert spent == pytest.approx([0.6, 0.2, 0.2])
    exact = r2_score(regression[2][1], search.predict(regression[2][0]))
    assert float(search.evaluation_.score("r2")) == pytest.approx(exact, abs=0.01)
    assert "evaluation_" in search.privacy_.released


def test_report_is_of_the_winner(binary):
    search = searched(binary, EXACT, scoring="roc_auc")
    X_val, y_val = binary[2]
    expected = confusion_matrix(y_val, search.predict(X_val))
    assert (search.evaluation_.confusion_matrix() == expected).all()
    assert search.evaluation_.privacy_ is search.privacy_


def test_report_of_three_classes(three):
    search = searched(three, EXACT, scoring="accuracy")
    expected = confusion_matrix(three[2][1], search.predict(three[2][0]))
    assert (search.evaluation_.confusion_matrix() == expected).all()
    assert len(search.privacy_.spends) == 4


class Labels(ClassifierMixin, BaseEstimator):
    """Predicts labels alone."""

    def __init__(self, C=1):
        self.C = C

    def fit(self, X, y):
        raise AssertionError


def test_report_is_refused_before_anything_is_fitted(binary):
    with pytest.raises(ValueError, match="GPNoisy releases one candidate's score"):
        searched(binary, 1.0, strategy="gp_noisy", delta=0.1)

    with pytest.raises(ValueError, match="Labels has neither"):
        searched((Labels(), *binary[1:]), 1.0, {"C": [1]}, scoring="accuracy")


def test_example_of_the_docstring_runs():
    module = importlib.import_module("sklearn_dpbo.evaluation._private_evaluation")
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


def test_r2_below_minus_one_is_released_as_it_is():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6_000, 2)), rng.normal(size=6_000)
    model = DummyRegressor(strategy="constant", constant=3.0).fit(X, y)
    public, protected = slice(2_000), slice(2_000, None)
    found = private_evaluation(
        model, X[protected], y[protected], X=X[public], y=y[public], epsilon=1e6, largest_error=9
    )
    assert found.score("r2").value == pytest.approx(
        model.score(X[protected], y[protected]), abs=0.1
    )
    few = private_evaluation(model, X[:10], y[:10], X=X[public], y=y[public], epsilon=0.1)
    assert (
        few.score("r2").low == -np.inf and json.loads(few.to_json())["scores"]["r2"]["low"] is None
    )


def test_public_labels_of_one_class_are_refused(two_classes):
    X, y, X_val, y_val = two_classes
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="from 2 to 50 classes; y has 1"):
        private_evaluation(model, X_val, y_val, X=X[y == 0], y=y[y == 0], epsilon=1.0)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("precision", {"label": 0}),
        ("roc_auc", {"threshold": 0.3}),
        ("average_precision", {"pos_label": 0}),
        ("brier_score", {"threshold": 0.3}),
        ("neg_brier_score", {"label": 1}),
        ("roc_auc", {"label": "x"}),
        ("neg_f1", {}),
    ],
)
def test_what_a_number_does_not_depend_on_is_refused(binary, name, params):
    with pytest.raises(ValueError, match="label|threshold|neg_f1"):
        evaluated(binary).score(name, **params)


@pytest.mark.parametrize(
    ("kind", "name"), [("binary", "brier_score"), ("regression", "mean_absolute_error")]
)
def test_an_error_with_neg_in_its_name_is_minus_the_error(kind, name, request):
    evaluation = evaluated(request.getfixturevalue(kind), epsilon=1.0)
    error, gain = evaluation.score(name), evaluation.score(f"neg_{name}")
    assert gain.low <= gain.value < 0
    assert (gain.value, gain.low, gain.high) == (-error.value, -error.high, -error.low)
