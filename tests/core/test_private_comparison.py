"""Comparisons of two models: numbers, sensitivity, errors, what is not revealed."""

import json

import numpy as np
import pytest
from few import few
from sklearn import metrics
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_dpbo import PrivacyLedger, make_private_scorer, private_comparison
from sklearn_dpbo.evaluation import Estimate, ModelComparison
from sklearn_dpbo.exceptions import BatchDependentError, LowUtilityWarning
from sklearn_dpbo.metrics._make import references
from sklearn_dpbo.metrics._registry import OF_MATRIX
from sklearn_dpbo.testing import seeded_noise

EXACT = 1e7  # an epsilon at which there is no noise


def problem_of(n_classes=2, n=400, names="pqr"):
    X, y = make_classification(
        1400, 5, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=0
    )
    y = np.array(list(names))[y]
    public, protected = (X[:n], y[:n]), (X[n:], y[n:])
    models = (
        DecisionTreeClassifier(max_depth=2),
        make_pipeline(StandardScaler(), LogisticRegression()),
    )
    return [model.fit(*public) for model in models], public, protected


@pytest.fixture(scope="module")
def binary():
    return problem_of()


@pytest.fixture(scope="module")
def three():
    return problem_of(3)


def compared(problem, epsilon=EXACT, **kwargs):
    (a, b), (X, y), (X_val, y_val) = problem
    return private_comparison(a, b, X_val, y_val, X=X, y=y, epsilon=epsilon, **kwargs)


def exact_scores(y, predicted, pos_label):
    """scikit-learn's numbers."""
    (other,) = set(y) - {pos_label}
    of_one = dict(pos_label=pos_label, zero_division=0)
    tp = np.sum((predicted == pos_label) & (y == pos_label))
    fp = np.sum((predicted == pos_label) & (y != pos_label))
    return {
        "accuracy": metrics.accuracy_score(y, predicted),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted),
        "recall": metrics.recall_score(y, predicted, **of_one),
        "specificity": metrics.recall_score(y, predicted, pos_label=other),
        "precision": metrics.precision_score(y, predicted, **of_one),
        "f1": metrics.f1_score(y, predicted, **of_one),
        "net_benefit": (tp - fp * 0.2 / 0.8) / len(y),
    }


# ------------------------------------------------------------ numbers
@pytest.mark.slow
@pytest.mark.parametrize("pos_label", [None, "p"])
@pytest.mark.parametrize("thresholds", [(), (0.2, 0.2), (0.3, 0.6)])
def test_numbers_are_those_of_sklearn(binary, pos_label, thresholds):
    (a, b), _, (X, y) = binary
    positive = pos_label or "q"
    comparison = compared(binary, pos_label=pos_label, thresholds=thresholds)
    exact = []
    for k, model in enumerate((a, b)):
        predicted = model.predict(X)
        if thresholds:
            scores = model.predict_proba(X)[:, model.classes_ == positive].ravel()
            predicted = np.where(scores >= thresholds[k], positive, "p" if positive == "q" else "q")
        exact.append(exact_scores(y, predicted, positive))
    for name in exact[0]:
        at = {"threshold": 0.2} if name == "net_benefit" else {}
        for model, value in zip("ab", exact, strict=True):
            assert float(comparison.score(name, model=model, **at)) == pytest.approx(value[name])
        difference = exact[1][name] - exact[0][name]
        assert float(comparison.score(name, **at)) == pytest.approx(difference, abs=1e-9), name
    assert ("net_benefit" in comparison.scores()) == (thresholds == (0.2, 0.2))


def theirs(name, y, predicted, **params):
    """scikit-learn's number."""
    scorer = references()[name]
    params |= {"beta": 2} if "beta" in OF_MATRIX[name].params else {}
    of_class = {"zero_division": 0} if "average" in scorer._kwargs else {}
    return scorer._score_func(y, predicted, **scorer._kwargs | of_class | params)


@pytest.mark.first(1)
@pytest.mark.parametrize("scoring", [None, "accuracy"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_metric_that_the_table_determines_is_that_of_sklearn(
    binary, three, n_classes, scoring
):
    models, _, (X, y) = problem = binary if n_classes == 2 else three
    comparison, computed = compared(problem, scoring=scoring), []
    for name, metric in OF_MATRIX.items():
        if name not in references() or (metric.of_one and n_classes == 3):
            continue
        params = {"beta": 2} if "beta" in metric.params else {}
        exact = [
            theirs(name, y, m.predict(X), **{"pos_label": "q"} if metric.of_one else {})
            for m in models
        ]
        try:
            found = [comparison.score(name, model=of, **params) for of in ("a", "b", None)]
        except ValueError as error:
            assert "score takes one of" in str(error)
            continue
        assert [*map(float, found)] == pytest.approx([*exact, exact[1] - exact[0]]), name
        computed.append(metric.follows)
    most = {"correct"} | ({"recalls"} if scoring is None else set())
    most |= {"matrix"} if scoring is None and n_classes == 2 else set()
    assert {*computed} == most
    assert len(computed) >= sum(m.follows in most and not m.of_one for m in OF_MATRIX.values())


@pytest.mark.parametrize("name", ["matthews_corrcoef", "cohen_kappa"])
def test_signed_metrics_of_models_that_are_mostly_wrong(binary, name):
    """The pair: within 0 and 1 each would be 0."""
    (a, b), public, (X, y) = binary
    wrong = np.where(y == "p", "q", "p")
    comparison = compared(((a, b), public, (X, wrong)), scoring=name)
    exact = [theirs(name, wrong, model.predict(X)) for model in (a, b)]
    assert max(exact) < -0.1
    found = [comparison.score(name, model=of) for of in "ab"]
    assert [*map(float, found)] == pytest.approx(exact)
    assert all(each.low <= each.value <= each.high < 0 for each in found)
    assert float(comparison.score(name)) == pytest.approx(exact[1] - exact[0])


SCORINGS = {
    "f1": "f1",
    "matthews_corrcoef": "matthews_corrcoef",
    "fbeta": make_private_scorer("fbeta", beta=2, pos_label="q"),
    "cohen_kappa": metrics.make_scorer(metrics.cohen_kappa_score, weights="linear"),
}


@pytest.mark.parametrize("name", few(SCORINGS))
def test_the_score_that_is_asked_for_is_the_main_number(binary, name):
    models, _, (X, y) = binary
    comparison = compared(binary, scoring=SCORINGS[name])
    assert list(comparison.scores()) == [name] == [*comparison.to_dict()["scores"]]
    own = {"pos_label": "q"} if OF_MATRIX[name].of_one else {}
    a, b = (theirs(name, y, model.predict(X), **own) for model in models)
    assert float(comparison.scores()[name]) == pytest.approx(b - a)
    assert f"{name}, b - a" in repr(comparison)
    assert comparison._noisy == compared(binary)._noisy, "the table is the same"


@pytest.mark.slow
def test_what_follows_from_correct_predictions_alone_has_four_counts(three):
    for scoring, n in [("accuracy", 4), ("f1_micro", 4), ("balanced_accuracy", 12), (None, 12)]:
        assert compared(three, scoring=scoring)._parts[0].known_sizes == (n,)


@pytest.mark.slow
@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_a_model_does_not_differ_from_itself(binary, scoring):
    (_, b), *rest = binary
    for seed in range(5):
        with seeded_noise(seed):
            comparison = compared(((b, b), *rest), epsilon=1.0, scoring=scoring)
        for estimate in comparison.scores().values():
            assert estimate.low <= 0 <= estimate.high
    # A record moves from one cell to another as the threshold falls, and never back.
    comparison = compared(((b, b), *rest), thresholds=(0.6, 0.3))
    assert comparison.score("recall").value > 0 > comparison.score("specificity").value


def test_groups_weigh_the_same_however_many_records(binary):
    models, _, (X, y) = binary
    groups = np.sort(np.random.default_rng(0).integers(150, size=len(y)))
    comparison = compared(binary, groups_val=groups)
    weight = 1 / np.bincount(groups)[groups]
    a, b = (np.average(model.predict(X) == y, weights=weight) for model in models)
    assert comparison.m == len(np.unique(groups))
    assert float(comparison.score("accuracy")) == pytest.approx(b - a, abs=2e-3)


@pytest.mark.first(1)
@pytest.mark.parametrize("params", [{}, {"pos_label": "p"}, {"thresholds": (0.5, 0.5)},
                                    {"pos_label": "p", "thresholds": (0.5, 0.5)}])  # fmt: skip
def test_unknown_classes_count_as_in_sklearn(binary, params):
    models, public, (X, y) = binary
    strange = np.where((np.arange(1000) % 3 == 0) & (y == "q"), "z", y)
    comparison = compared((models, public, (X, strange)), **params)
    label = [params.get("pos_label", "q")]
    for name, model in zip("ab", models, strict=True):
        of = model.predict(X)
        for metric in ("matthews_corrcoef", "cohen_kappa"):
            found = comparison.score(metric, model=name)
            if not params.get("thresholds"):
                assert float(found) == pytest.approx(theirs(metric, strange, of), abs=1e-6)
        for metric in ("precision", "recall", "f1"):
            score = getattr(metrics, f"{metric}_score")
            exact = score(strange, of, labels=label, average="macro")
            found = comparison.score(metric, model=name)
            assert float(found) == pytest.approx(exact, abs=1e-6)


def test_undefined_differences_may_be_anything(binary, monkeypatch):
    """Where no denominator is positive, a may be best and b worst, or the other way round."""
    comparison, computed = compared(binary), []
    assert comparison._range("matthews_corrcoef") == 2

    def estimate(self, compute, **_):
        computed.append(compute)
        return Estimate(0.0, 0.0, 0.0)

    monkeypatch.setattr(ModelComparison, "_estimate", estimate)
    for model in (None, "a"):
        comparison.score("f1", model=model, interval="records")
    difference, own = computed
    negative = np.full((1, 8), -1.0)
    assert [difference(negative, end).tolist() for end in (-1.0, 1.0)] == [[-1.0], [1.0]]
    assert [own(negative, end).tolist() for end in (-0.0, 1.0)] == [[0.0], [1.0]]
    computed.clear()
    comparison.score("cohen_kappa", interval="records")
    (difference,) = computed
    nothing = np.array([[0, 0, 0, 5.0, 0, 0, 0, -5.0]])
    assert [difference(nothing, end).tolist() for end in (-2.0, 2.0)] == [[-2.0], [2.0]]


# ------------------------------------------------------------ sensitivity
def test_the_noise_is_that_of_the_sensitivity(binary):
    comparison = compared(binary, epsilon=0.5)
    assert comparison._noisy[0].scale == pytest.approx(2 / 0.5)
    groups = np.arange(1000) // 2
    weight = compared(binary, epsilon=0.5, groups_val=groups)._noisy[0].scale / 4
    assert weight == 1024


# ------------------------------------------------------------ ledger, errors, secrets


class Centred(LogisticRegression):
    def predict(self, X):
        return super().predict(X - X.mean(axis=0))


@pytest.mark.parametrize("first", [False, True])
def test_each_model_is_checked_row_by_row(binary, first, tmp_path):
    (a, _), public, protected = binary
    ledger = PrivacyLedger(tmp_path / "budget.db", "patients", epsilon=3.0, create=True)
    models = (Centred().fit(*public), a)[:: 1 if first else -1]
    with pytest.raises(BatchDependentError):
        compared((models, public, protected), 1.0, ledger=ledger, prediction="together")
    assert ledger.spent["epsilon"] == 0
    # By default such a model predicts each record by itself.
    report = compared((models, public, (protected[0][:40], protected[1][:40]))).privacy_
    assert "record by record: your class Centred" in report.condition


def own_gain(y, predicted):
    """A gain with the name of a metric."""
    return y == predicted


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(epsilon=0.0), "epsilon must be a finite number from 1e-9 up"),
        (dict(thresholds=[0.5]), "thresholds must be two numbers"),
        (dict(thresholds=[0.5, None]), "thresholds must be two numbers"),
        (dict(pos_label=5), "is not a class of y"),
        (dict(scoring="roc_auc"), "not computed from the joint table .* these are: .*'f1'"),
        (dict(scoring="neg_brier_score"), "not computed from the joint table"),
        (dict(scoring=make_private_scorer(own_gain, bounds=(0, 1))), "not computed from the joint"),
        (dict(scoring="f1_marco"), "did you mean 'f1_macro'"),
        (dict(scoring=["f1", "recall"]), "takes one score here"),
        (dict(scoring="r2"), "not computed from the joint table"),
        (dict(scoring="fbeta"), "needs beta"),
        (dict(scoring=make_private_scorer("f1", pos_label="z")), "is not a class of y"),
        (dict(prediction="alone"), "prediction must be"),
        (dict(X_val=None), "found None"),
        (dict(y_val=["p"]), "give one label each"),
        (dict(y=None), "one label per record"),
        (dict(model_a=LogisticRegression()), "not fitted"),
        (dict(model_b=LinearRegression().fit([[1.0]], [1.0])), "only classifiers can be compared"),
    ],
)
def test_wrong_arguments_are_named(binary, change, message, tmp_path):
    (a, b), (X, y), (X_val, y_val) = binary
    ledger = PrivacyLedger(tmp_path / "budget.db", "patients", epsilon=3.0, create=True)
    given = dict(model_a=a, model_b=b, X_val=X_val, y_val=y_val, X=X, y=y, epsilon=1.0) | change
    with pytest.raises((ValueError, NotFittedError), match=message):
        private_comparison(**given, ledger=ledger)
    assert ledger.spent["epsilon"] == 0


def test_models_that_cannot_be_compared_are_refused(binary, three):
    (a, _), public, protected = binary
    with pytest.raises(ValueError, match=r"same classes; found \['p', 'q'\] and \['p'"):
        compared(((a, three[0][1]), public, protected))
    for given in ({"thresholds": (0.5, 0.5)}, {"pos_label": "p"}):
        with pytest.raises(ValueError, match="are for two classes; found 3"):
            compared(three, **given)
    with pytest.raises(ValueError, match="Of 3 classes, these are: .*'balanced_accuracy'"):
        compared(three, scoring="f1_macro")


def test_what_a_comparison_does_not_have_is_refused(binary):
    comparison = compared(binary)
    for name, given, message in [
        ("roc_auc", {}, "score takes one of"),
        ("f1", {"model": "c"}, "model must be 'a', 'b' or None; found 'c'"),
        ("f1", {"threshold": 0.5}, "depends on no threshold"),
        ("net_benefit", {}, "threshold must be above 0 and below 1; found None"),
        ("net_benefit", {"threshold": 1.0}, "above 0 and below 1"),
        ("f1", {"interval": "all"}, "interval must be"),
        ("f1", {"beta": 2}, "'f1' has no parameters"),
        ("net_benefit", {"threshold": 0.5, "beta": 2}, "depends on no beta"),
    ]:
        with pytest.raises(ValueError, match=message):
            comparison.score(name, **given)
    with pytest.raises(ValueError, match=r"score takes one of \['accuracy', 'f1_micro'"):
        compared(binary, scoring="accuracy").score("f1")


def test_wide_differences_are_warned_of_before_the_charge(binary, tmp_path, monkeypatch):
    ledger = PrivacyLedger(tmp_path / "budget.db", "patients", epsilon=3.0, create=True)
    with pytest.warns(LowUtilityWarning, match="Nothing has been charged yet"):
        compared(binary, 0.01, ledger=ledger)


def test_it_is_shown_in_one_screen(binary):
    with seeded_noise(0):
        comparison = compared(binary, 2.0, thresholds=(0.2, 0.2))
    lines = repr(comparison).splitlines()
    assert len(lines) <= 12 and max(map(len, lines)) <= 100
    assert "NOT PRIVATE" in lines[0] and "NOT PRIVATE" in comparison._repr_html_()
    assert "LogisticRegression (positive from 0.2)" in lines[2] and "net_benefit" in lines[-2]
    shown = json.loads(comparison.to_json())
    assert shown["scores"]["f1"]["value"] == comparison.score("f1").value
    own = comparison.score("f1", model="a", interval="records")
    assert shown["scores_a"]["f1"]["records_low"] == own.low
    assert shown["model_a"] == "DecisionTreeClassifier (positive from 0.2)"
