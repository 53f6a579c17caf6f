"""Scores of all names: as scikit-learn computes them, with the sensitivity that is claimed."""

import contextlib
import inspect
import itertools
import math
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from few import few
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputClassifier

from sklearn_dpbo import (
    PrivateBayesSearchCV,
    make_private_scorer,
)
from sklearn_dpbo.metrics._agreement import Agreement
from sklearn_dpbo.metrics._histogram import ScoreHistogram
from sklearn_dpbo.metrics._intervals import nearest_counts
from sklearn_dpbo.metrics._make import NAMES, references, resolve_scorer, resolve_scorers
from sklearn_dpbo.metrics._pairs import PairCounts
from sklearn_dpbo.metrics._queries import GRID, ClassSizes, Confusion, unit_weight
from sklearn_dpbo.metrics._registry import OF_MATRIX
from sklearn_dpbo.metrics._response import Predictions, Responses
from sklearn_dpbo.metrics._scorers import score_and_interval
from sklearn_dpbo.metrics._unknown import settled, unknown_hint
from sklearn_dpbo.privacy.noisy_counts import NoisyCounts
from sklearn_dpbo.records.units import Units
from sklearn_dpbo.strategies import WorstCase

pytestmark = pytest.mark.usefixtures("seeded")

TWO = np.array([0, 1])
THREE = np.array(["a", "b", "c"])
CLASSIFIER, REGRESSOR = LogisticRegression(), Ridge()


def prepared(name, y, **params):
    return make_private_scorer(name, **params).prepare(y)


# ------------------------------------------------------------------ names
CONFUSION = sorted(({*OF_MATRIX} & {*references()}) - {"accuracy"})
# Of two classes, or of three.
CLASSES = {name: np.arange(2 if OF_MATRIX[name].of_one else 3) for name in CONFUSION}


def needed(name):
    return {"beta": 2} if "beta" in NAMES[name].params else {}


def test_the_documentation_lists_every_name():
    text = (Path(__file__).parents[2] / "docs" / "reference" / "scores.md").read_text()
    named = set(re.findall(r'"(\w+)"', text))
    named |= {f"{name}_{average}" for name in named for average in ("macro", "micro", "weighted")}
    assert not set(metrics.get_scorer_names()) - named
    table = text.split("### Refused")[1].split("`make_scorer(")[0]
    reasons = (row.split("|")[1] for row in table.splitlines() if row.startswith('| `"'))
    refused = {name for cell in reasons for name in re.findall(r'"(\w+)"', cell)}
    assert not set(NAMES) - named, "run: python docs/figures/scores.py"
    known = set(metrics.get_scorer_names())  # fewer in older versions of scikit-learn
    assert refused & known == known - set(NAMES)
    for name in refused & known:
        with pytest.raises(ValueError, match="cannot be made private.*Choose a metric"):
            make_private_scorer(name)


@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_public_records_without_a_finite_response_end_no_fit_after_its_charge(name):
    y = np.arange(60) % 2
    scorer, response = make_private_scorer(name).prepare(y), y + np.linspace(0, 1, 60)
    classes = np.arange(2)
    response[[3, 8]] = np.nan, -np.inf
    for found in (response, np.full(60, np.nan)):
        public = Responses(y, classes, dict.fromkeys(scorer.response_method, found))
        placed = scorer.release(public, 40, 1.0)
        counts = placed.counts.statistics(placed.counts.lowest_values(y, 60), y, Units.of(60))
        assert np.isfinite(placed.value(counts, Units.of(60)))


# Values, not the default, of every keyword that a recognised function of scikit-learn has.
VALUES = {
    "adjusted": [True],
    "alpha": [0.1],
    "average": ["binary", "macro", "micro", "weighted", "samples", None],
    "beta": [0.5, 2],
    "force_finite": [False],
    "k": [1, 3],
    "labels": [[0, 1], [1, 2]],
    "max_fpr": [0.3],
    "multi_class": ["ovr", "ovo"],
    "multioutput": ["raw_values", "variance_weighted", [0.3, 0.7]],
    "normalize": [False],
    "pos_label": [0, None, "yes"],
    "replace_undefined_by": [0.5],
    "sample_weight": [np.arange(1.0, 61)],
    "scale_by_half": [True, False],
    "weights": ["linear", "quadratic"],
    "zero_division": [1, np.nan],
}
PAIRED = ("average", "multi_class", "pos_label", "beta")


def keywords(function):
    """Each keyword of a function at each value, and two of the paired ones at once."""
    names = [n for n in inspect.signature(function).parameters if n in VALUES]
    singles = [{name: value} for name in names for value in VALUES[name]]
    pairs = itertools.combinations([s for s in singles if {*s} <= {*PAIRED}], 2)
    return [{}, *singles, *({**a, **b} for a, b in pairs if {*a} != {*b})]


@pytest.fixture(scope="module")
def fitted_models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    classes = np.argmax(X + rng.normal(size=X.shape), axis=1)
    labels = (X + rng.normal(size=X.shape) > 0.3).astype(int)
    positive = np.exp(X[:, :2] + [0.1, 1.0] * rng.normal(size=(60, 2)))
    classifier = LogisticRegression(C=0.1)
    regressor = TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp)
    tasks = [(classifier, classes), (classifier, (classes > 0).astype(int))]
    tasks += [(MultiOutputClassifier(classifier), labels)]
    tasks += [(regressor, positive[:, 0]), (regressor, positive)]
    return [(clone(model).fit(X, y), X, y) for model, y in tasks]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sorted({each._score_func.__name__ for each in references().values()})
)
def test_a_scorer_of_scikit_learn_is_computed_exactly_or_refused(name, fitted_models):
    function, computed = getattr(metrics, name), 0
    known = {*VALUES, "y_pred", "y_prob"}  # deprecated names of y_proba
    own = inspect.signature(function).parameters.values()
    assert {each.name for each in own if each.kind == each.KEYWORD_ONLY} <= known
    ours = [each for each in references().values() if each._score_func is function]
    greater_is_better = ours[0]._sign > 0
    for params, (model, X, y), method in itertools.product(
        keywords(function), fitted_models, ["predict", "predict_proba", "decision_function"]
    ):
        scorer = metrics.make_scorer(
            function, greater_is_better=greater_is_better, response_method=method, **params
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = scorer(model, X, y)
            except Exception:  # there is no such score
                continue
            with contextlib.suppress(ValueError):
                found = resolve_scorer(scorer, model)(model, X, y)
                # Gains are rounded to a grid of 2^-20.
                assert found == pytest.approx(expected, rel=1e-6), params
                computed += 1
    assert computed


@pytest.mark.parametrize(
    ("name", "y", "what"),
    [
        ("f1", THREE, "f1_macro"),
        ("f1", np.array(["no", "yes"]), "pos_label"),
        ("average_precision", np.array(["no", "yes"]), "pos_label"),
        ("roc_auc", THREE, "roc_auc_ovr"),
        ("roc_auc_ovr", TWO, "roc_auc"),
        ("f1", np.eye(3), "one label"),
        ("r2", np.ones((4, 2)), "one label"),
        ("matthews_corrcoef", np.ones(4), "classes"),
    ],
)
def test_labels_that_do_not_suit_a_score_are_refused_with_the_nearest_that_does(name, y, what):
    with pytest.raises(ValueError, match=what):
        prepared(name, y)


# ------------------------------------------------------------------ the same as scikit-learn
def of_counts(scorer, y, response, classes=None):
    units = Units.of(len(y))
    values = scorer.counts.record_values(y, response, classes)
    return scorer.value(scorer.counts.statistics(values, y, units), units)


def theirs(name, y, predicted):
    scorer = references()[name]
    of_class = {"zero_division": 0} if "average" in scorer._kwargs else {}
    return scorer._score_func(y, predicted, **scorer._kwargs | of_class | needed(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFUSION)
@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true", "ignore:A single label")
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@settings(max_examples=15)
@given(st.data())
def test_scores_of_the_confusion_matrix_equal_scikit_learn_also_in_edge_cases(name, data):
    """One class only, nothing predicted positive, a perfect classifier: all of that occurs."""
    classes = CLASSES[name]
    labels = st.lists(st.sampled_from(classes.tolist()), min_size=5, max_size=9)
    y = np.array(data.draw(labels))
    predicted = np.array(data.draw(st.lists(st.sampled_from(classes.tolist()), min_size=len(y),
                                            max_size=len(y))))  # fmt: skip
    scorer = prepared(name, classes, **needed(name))
    expected = theirs(name, y, predicted)
    expected = expected if math.isfinite(expected) else 0.0  # of one class
    assert of_counts(scorer, y, predicted) == pytest.approx(expected, abs=1e-12)
    assert scorer.exact(Predictions(y, predicted, classes)) == pytest.approx(expected, abs=1e-12)


def test_labels_without_training_records_count_as_the_documentation_says(rng):
    classes, n = np.arange(3), 20_000
    y = np.where(rng.random(n) < 0.05, 3, rng.integers(3, size=n))
    predicted = np.where((rng.random(n) < 0.7) & (y < 3), y, rng.integers(3, size=n))
    names = [n for n in CONFUSION if not OF_MATRIX[n].of_one and not n.startswith("fbeta")]
    sklearn = {name: theirs(name, y, predicted) for name in names}
    for name in names:
        scorer, expected = prepared(name, classes), sklearn[name]
        base, _, average = name.partition("_")
        if average == "macro":
            of = getattr(metrics, f"{base}_score")
            expected = of(y, predicted, labels=classes, average="macro")
            assert sklearn[name] == pytest.approx(expected * 3 / 4)
        elif name in ("balanced_accuracy", "informedness"):
            expected = theirs(name, y[y < 3], predicted[y < 3])
        assert of_counts(scorer, y, predicted) == pytest.approx(expected), name
        assert scorer.exact(Predictions(y, predicted, classes)) == pytest.approx(expected), name
    for name in names:  # with a training record of each label, nothing differs
        whole = of_counts(prepared(name, np.arange(4)), y, predicted)
        assert whole == pytest.approx(sklearn[name])


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("neg_mean_absolute_error", metrics.mean_absolute_error),
        ("neg_mean_squared_error", metrics.mean_squared_error),
        ("neg_mean_pinball_loss", metrics.mean_pinball_loss),
        ("neg_mean_absolute_percentage_error", metrics.mean_absolute_percentage_error),
        ("neg_mean_squared_log_error", metrics.mean_squared_log_error),
        ("neg_root_mean_squared_log_error", metrics.root_mean_squared_log_error),
        ("neg_mean_poisson_deviance", metrics.mean_poisson_deviance),
        ("neg_mean_gamma_deviance", metrics.mean_gamma_deviance),
        ("neg_root_mean_squared_error", metrics.root_mean_squared_error),
    ],
)
def test_losses_equal_scikit_learn_within_wide_bounds(name, metric, rng):
    y, predicted = rng.gamma(2, size=(2, 300)) + 0.1
    lowest = -400 if name == "neg_mean_squared_error" else -40
    scorer = prepared(name, y, bounds=(lowest, 0))
    assert of_counts(scorer, y, predicted) == pytest.approx(-metric(y, predicted), abs=2e-3)
    assert -0.1 <= of_counts(prepared(name, y, bounds=(-0.1, 0)), y, predicted) <= 0
    learnt = prepared(name, y)
    clipped = of_counts(learnt, y, predicted)
    assert learnt.exact(Predictions(y, predicted, None)) == pytest.approx(clipped, rel=1e-5)
    assert clipped > -metric(y, predicted)


# ------------------------------------------------------------------ unknown labels
NAN = math.nan
BINARY_HISTOGRAM = ScoreHistogram(((0.3, 0.6),), TWO, (1,), ("decision_function",))
TABLES = {
    "confusion": Confusion(np.arange(3)),
    "class sizes": ClassSizes(np.arange(3), ("predict",)),
    "histogram": BINARY_HISTOGRAM,
    "histograms": ScoreHistogram(((0.3,), (0.3,), (0.3,)), np.arange(3), (0, 1, 2), ("predict",)),
    "in subgroups": replace(BINARY_HISTOGRAM, n_subgroups=6, subgroups=tuple(range(6))),
    "agreement": Agreement((Confusion(TWO),) * 2, TWO),
    "pair counts": PairCounts(TWO, (1,), (0.3,)),
}


@pytest.mark.first(1)
@pytest.mark.parametrize("what", few(TABLES, "confusion", "agreement", "pair counts"))
@pytest.mark.parametrize("scale", few([20.0, 0.3]))
def test_unknown_labels_are_rarely_said_of_noise_alone(what, scale, rng):
    query, units = TABLES[what], Units.of(1000)
    n = 3 if what == "pair counts" else sum(query.sizes) * query.n_subgroups
    said = used = 0
    for counts in NoisyCounts((0,) * n, scale).noise(4_000, rng).tolist():
        noisy = NoisyCounts(tuple(counts), scale)
        said += bool(unknown_hint(query, noisy, units))
        used += settled(query, noisy)[1] == noisy
    assert said <= 16  # less probable than 1e-5 if 2 in 1000 are said
    assert used <= 4_000 * 0.13


@pytest.mark.parametrize("what", TABLES)
def test_without_unknown_labels_scores_are_those_of_a_table_without_their_cells(what):
    query, n = TABLES[what], 3 if what == "pair counts" else None
    n = n or sum(query.sizes) * query.n_subgroups
    left, noisy = settled(query, NoisyCounts((0,) * n, 5.0))
    assert not len(left.unknown_counts(noisy.counts))
    if what != "pair counts":
        assert len(noisy.counts) == sum(left.known_sizes) * query.n_subgroups
        assert left.sizes == left.known_sizes == query.known_sizes
    assert settled(left, noisy) == (left, noisy)


def test_the_number_said_is_rounded_to_what_is_known():
    query = ClassSizes(TWO, ("predict",))
    for scale, units, text in [
        (1e-3, Units.of(1500), "About 1,483 of 1,500 records have"),
        (10.0, Units.of(1500), "About 1,480 of 1,500 records have"),
        (100.0, Units.of(1500), "About 1,500 of 1,500 records have"),
        (1e-3, Units.of(1500, np.arange(1500)), "About 1,483 of 1,500 groups (by weight) have"),
    ]:
        noisy = NoisyCounts((9, 8, 1483 * unit_weight(units)), scale)
        assert unknown_hint(query, noisy, units).startswith(text)


def test_weights_of_a_group_add_up_to_what_a_record_has():
    units = Units.of(4, [0, 0, 0, 1])
    assert unit_weight(Units.of(4)) == 1 and unit_weight(units) > 1
    counts = Confusion(TWO).statistics(np.array([0, 1, 2, 3]), None, units)
    assert sum(counts[:3]) == counts[3] == unit_weight(units)


# ------------------------------------------------------------------ first order
@pytest.mark.first(8)
@pytest.mark.parametrize("name", CONFUSION)
def test_gains_are_the_metric_to_first_order_at_the_public_matrix(name, rng):
    """With the classes' sizes unchanged, as they are for all candidates."""
    classes = CLASSES[name]
    scorer = prepared(name, classes, **needed(name))
    K, n = len(classes), 300_000
    C = rng.integers(10_000, 20_000, (K, K)) + np.diag([30_000] * K)
    units = Units.of(int(C.sum()))

    def predictions(C):
        cells = np.repeat(np.arange(K * K), C.ravel())
        return Predictions(cells // K, cells % K, classes)

    at = scorer.choice(predictions(C))
    a, b = at.line(units)
    for step in (0, n // 3000):
        D = C.copy()
        D[:, 0] += step
        D[:, 1] -= step
        each = predictions(D)
        (total,) = at.query.statistics(
            at.query.record_values(each.y, each.response, classes), each.y, units
        )
        exact = at.exact(each)
        assert a + b * total == pytest.approx(exact, abs=2e-5 + 1e-3 * (step > 0) * 0.1)


# ------------------------------------------------------------------ what is released
def test_scores_of_the_same_counts_share_one_release(two_classes):
    X, y, X_val, y_val = two_classes
    search = PrivateBayesSearchCV(
        LogisticRegression(), {"C": [0.01, 1.0]}, scoring=["f1", "precision", "accuracy"],
        refit="f1", epsilon=1.0,
    ).fit(X, y, X_val=X_val, y_val=y_val)  # fmt: skip
    spent = search.privacy_.to_dict()["spent"]
    assert [each["epsilon"] for each in spent] == pytest.approx([0.6, 0.4])
    assert "6 counts" in spent[1]["mechanism"], "two of them for unknown labels"
    assert set(search.best_scores_) == {"f1", "precision", "accuracy"}


def test_accuracy_alone_is_one_count():
    scorer = next(iter(resolve_scorers("accuracy", CLASSIFIER, None).values())).prepare(TWO)
    units, groups = Units.of(9), Units.of(9, np.arange(9))
    assert scorer.query.sensitivity(units) == 1 and scorer.query.counts_as(scorer.counts, units)
    assert not scorer.query.counts_as(scorer.counts, groups)


@pytest.mark.parametrize("noisy", [[5, -3, 9, 2], [0, 0, 0, 0], [-1, -2, -3, -4], [100, 0, 0, 0]])
def test_nearest_counts_are_not_negative_and_have_the_public_sum(noisy):
    found = nearest_counts(noisy, 10)
    assert found.min() >= 0 and found.sum() == pytest.approx(10)


# ---------------------------------------------------------------- found by attacks
def _objects(labels):
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return found


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["r2", "explained_variance"])
def test_label_that_no_float_holds_is_not_reported(scoring):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = [int(label) for label in np.rint(10 * X[:, 0])]
    for release in ("best", "evaluation"):
        search = PrivateBayesSearchCV(
            Ridge(), {"alpha": [0.1, 10.0]}, scoring=scoring, random_state=0, release=release
        )
        y_val = [*y[:99], 10**400]
        search.fit(X[100:], _objects(y[100:]), X_val=X[:100], y_val=y_val)
        assert search.best_score_ <= 1


def test_released_r2_is_at_most_one():
    scorer = make_private_scorer("r2").prepare(np.arange(9.0))
    units = Units.of(10)
    assert scorer.value((-9, 1, 0, 0), units) == 1.0


def test_class_that_no_public_model_knows():
    X, y = make_classification(400, n_classes=3, n_informative=5, random_state=0)
    y_train = np.where(y[200:] == 2, 0, y[200:])
    y_train[0] = 2
    cv = [(np.arange(50, 200), np.arange(50))]
    search = PrivateBayesSearchCV(
        LogisticRegression(),
        {"C": [0.1, 10.0]},
        scoring="roc_auc_ovr",
        strategy=WorstCase(public_cv=cv),
        random_state=0,
    )
    search.fit(X[200:], y_train, X_val=X[:200], y_val=y[:200])
    assert 0 <= search.best_score_ <= 1


def test_labels_too_large_for_learnt_bounds_are_refused():
    with pytest.raises(ValueError, match="rescale"):
        make_private_scorer("neg_mean_squared_error").prepare(np.array([0.0, 1e200, -1e200]))


@pytest.mark.parametrize(
    ("name", "table"),
    [("precision", [90, 0, 10, 0]), ("recall", [90, 10, 0, 0]), ("jaccard", [100, 0, 0, 0])],
)
@pytest.mark.parametrize("scale", [0.01, 2.0])
def test_a_ratio_of_nothing_has_the_value_of_scikit_learn_and_the_whole_range(name, table, scale):
    """Also where there is no noise: what 0 / 0 would be, no record says."""
    scorer = make_private_scorer(name).prepare(np.array([0, 1]))
    noisy = NoisyCounts((*table, 0, 0), scale)  # and no record of an unknown label
    value, interval = score_and_interval(scorer, Units.of(100), noisy)
    assert value == 0 and interval == (0.0, 1.0)


def test_r2_of_targets_that_do_not_vary_has_the_value_of_scikit_learn(rng):
    X, y = rng.normal(size=(400, 2)), rng.normal(size=400)
    search = PrivateBayesSearchCV(LinearRegression(), {}, scoring="r2", epsilon=1e3)
    search.fit(X[:200], y[:200], X_val=X[200:], y_val=np.full(200, 0.3))
    assert search.best_score_ == 0 and search.best_score_interval_[1] == 1
    assert search.best_score_interval_[0] == -np.inf


@pytest.mark.parametrize(("scale", "least", "most"), [(10, 0.5, 0.9), (30, 0.0, 0.0)])
def test_r2_that_noise_may_hide_has_the_value_that_it_likely_exceeds(scale, least, most, rng):
    """R2 was released as 0 for .9, whenever the interval was the whole range."""
    y, units = rng.normal(size=1_000), Units.of(1_000)
    scorer = make_private_scorer("r2").prepare(y)
    values = scorer.counts.record_values(y, y + 0.3 * rng.normal(size=1_000), None)
    noisy = NoisyCounts(scorer.counts.statistics(values, y, units), scale * GRID)
    value, interval = score_and_interval(scorer, units, noisy)
    assert least <= value <= most and interval == (-math.inf, 1.0)


class SecondColumn(ClassifierMixin, BaseEstimator):
    """Predicts what is in the second column; class 2 only if that is allowed."""

    def __init__(self, all_classes=True):
        self.all_classes = all_classes

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.minimum(np.asarray(X)[:, 1], 2.0 if self.all_classes else 1.0).astype(int)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("all_classes", [False, True])
def test_macro_averages_of_records_without_a_class_are_those_of_scikit_learn(all_classes, rng):
    """The class counts if it is predicted, and only then."""
    X, X_val = (rng.integers(3, size=(300, 2)).astype(float) for _ in range(2))
    y_val = (X_val[:, 1] * rng.random(300) > 0.4).astype(int)
    names = ["f1_macro", "precision_macro", "recall_macro"]
    search = PrivateBayesSearchCV(
        SecondColumn(), {"all_classes": [all_classes]}, scoring=names, refit="f1_macro", epsilon=1e7
    )
    search.fit(X, X[:, 0].astype(int), X_val=X_val, y_val=y_val)
    for name in names:
        exact = metrics.get_scorer(name)(search, X_val, y_val)
        assert search.best_scores_[name] == pytest.approx(exact, abs=1e-5)
