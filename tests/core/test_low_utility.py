"""Warnings that a released score will say little, that it does, or contradicts public scores."""

import re
import types
import warnings

import numpy as np
import pytest
from few import few
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    PrivateTableSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
    private_comparison,
    private_evaluation,
)
from sklearn_dpbo.exceptions import LowUtilityWarning
from sklearn_dpbo.learners import PrivateLogisticRegression
from sklearn_dpbo.metrics._response import Predictions
from sklearn_dpbo.metrics._scorers import score_and_interval
from sklearn_dpbo.privacy.noise import seed_noise
from sklearn_dpbo.privacy.noisy_counts import NoisyCounts
from sklearn_dpbo.records.units import Units
from sklearn_dpbo.search._utility import Inside, shift_hints
from sklearn_dpbo.strategies import WorstCase

BEFORE = "Nothing has been charged yet"


def patients(m, positive, seed=0, distance=1.5):
    """m records of which so many are positive."""
    rng = np.random.default_rng(seed)
    y = (np.arange(m) < positive).astype(int)
    return rng.normal(size=(m, 3)) + distance * y[:, None] * [1, 0.5, 0], y


def search_by(scoring, *, epsilon=1.0, ledger=None, **params):
    return PrivateBayesSearchCV(
        LogisticRegression(), {"C": [0.1, 1.0]}, scoring=scoring, epsilon=epsilon, ledger=ledger,
        random_state=0, **params,
    )  # fmt: skip


def search(scoring, m, positive, *, n_positive=46, seed=0, **params):
    X_val, y_val = patients(m, positive, seed=1)
    X, y = patients(2000, n_positive)
    with seed_noise((seed,)):
        return search_by(scoring, **params).fit(X, y, X_val=X_val, y_val=y_val)


def threshold(epsilon=1.0, ledger=None):
    tuned = PrivateThresholdClassifier(
        LogisticRegression(), scoring="f1", epsilon=epsilon, ledger=ledger
    )
    X_val, y_val = patients(2000, 46, seed=1)
    return tuned.fit(*patients(2000, 46), X_val=X_val, y_val=y_val)


def evaluation(epsilon=0.2, ledger=None, m=400, positive=80):
    X, y = patients(2000, 400)
    X_val, y_val = patients(m, positive, seed=1)
    model = LogisticRegression().fit(X, y)
    return private_evaluation(model, X_val, y_val, X=X, y=y, epsilon=epsilon, ledger=ledger)


def one_table(epsilon=0.5, ledger=None):
    searched = PrivateTableSearchCV(
        PrivateLogisticRegression(classes=[0, 1]), {"C": [0.1, 1.0]}, epsilon=epsilon, ledger=ledger
    )
    return searched.fit(*patients(600, 200))


def low_utility(run, *args, **kwargs):
    """What is returned, and the texts of all warnings of low utility."""
    with warnings.catch_warnings(record=True) as caught, seed_noise((0,)):
        warnings.simplefilter("always")
        result = run(*args, **kwargs)
    return result, [str(w.message) for w in caught if w.category is LowUtilityWarning]


WIDE = {
    "roc_auc": lambda **kwargs: search("roc_auc", 2000, 46, **kwargs),
    "f1": lambda **kwargs: search("f1", 2000, 46, **kwargs),
    "several": lambda **kwargs: search(["accuracy", "f1"], 2000, 46, refit="accuracy", **kwargs),
    "all candidates": lambda **kwargs: search("f1", 2000, 46, release="all", **kwargs),
    "with an evaluation": lambda **kwargs: search("f1", 2000, 46, release="evaluation", **kwargs),
    "threshold": threshold,
    "evaluation": evaluation,
    "one table": one_table,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WIDE)
def test_wide_interval_is_warned_of_once_and_before_anything_is_charged(name, tmp_path):
    _, texts = low_utility(WIDE[name])
    assert len([text for text in texts if "wide" in text]) == 1
    assert any(BEFORE in text for text in texts)
    delta = {"delta": 1e-5} if name == "one table" else {}
    ledger = PrivacyLedger(tmp_path / "ledger", "patients", 5.0, create=True, **delta)
    with warnings.catch_warnings(), pytest.raises(LowUtilityWarning, match=BEFORE):
        warnings.simplefilter("error", LowUtilityWarning)
        WIDE[name](ledger=ledger)
    assert ledger.spent["epsilon"] == 0


def test_no_fit_that_would_spend_is_made_for_the_warning(tmp_path):
    """The learner has a budget of its own: for its training records."""
    ledger = PrivacyLedger(tmp_path / "ledger", "patients", 9.0, delta=1e-3, create=True)
    learner = PrivateLogisticRegression(classes=[0, 1], ledger=ledger, epsilon=1.0, delta=1e-6)
    searched = PrivateBayesSearchCV(learner, {"C": [0.1, 1.0]}, scoring="balanced_accuracy")
    X_val, y_val = patients(2000, 46, seed=1)
    _, texts = low_utility(searched.fit, *patients(2000, 46), X_val=X_val, y_val=y_val)
    assert ledger.spent["epsilon"] <= 3.0, "two candidates, and the one kept at most"
    assert not any(BEFORE in text for text in texts)


@pytest.mark.slow
def test_intervals_that_are_narrow_are_not_warned_of():
    for scoring in ("roc_auc", "f1", "accuracy", "balanced_accuracy"):
        _, texts = low_utility(search, scoring, 4000, 1200, n_positive=600, epsilon=2.0)
        assert not [text for text in texts if "wide" in text or "differs" in text]
    assert not low_utility(evaluation, epsilon=2.0, m=4000, positive=800)[1]
    assert not low_utility(threshold, epsilon=10.0)[1]


class Remembers(ClassifierMixin, BaseEstimator):
    """Remembers the largest value that any instance ever predicted."""

    largest = 0.0

    def __init__(self, C=1.0):
        self.C = C

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        type(self).largest = max(type(self).largest, float(np.max(X)))
        return (X[:, 0] > 1).astype(int)


def test_no_protected_record_has_been_predicted_when_the_warning_is_given():
    X, y = patients(2000, 46)
    searched = PrivateBayesSearchCV(
        Remembers(), {"C": [1, 2]}, scoring="f1", epsilon=0.1, prediction="together"
    )
    with warnings.catch_warnings(), pytest.raises(LowUtilityWarning, match=BEFORE):
        warnings.simplefilter("error", LowUtilityWarning)
        searched.fit(X, y, X_val=X + 1000, y_val=y)
    assert 0 < Remembers.largest < 900


@pytest.mark.slow
@pytest.mark.parametrize("scoring", few(["f1", "roc_auc"]))
def test_records_and_epsilon_that_are_named_halve_the_width(scoring):
    def width(m, epsilon):
        found = []
        for seed in range(5):
            args = (scoring, m, round(0.023 * m))
            best, texts = low_utility(search, *args, epsilon=epsilon, seed=seed)
            low, high = best.best_score_interval_
            found.append(high - low)
        return float(np.median(found)), texts[0] if texts else ""

    now, text = width(2000, 1.0)
    named = re.search(f"{scoring}: about ([0-9.]+),", text)
    predicted = float(named.group(1)) if named else 1.0  # "its whole range"
    # No more than 1 is possible; near that, the noise decides what a bound cuts off.
    assert 0.6 * predicted < now < 1.5 * predicted or (predicted > 0.8 and now > 0.4)
    m, epsilon = re.search(r"About ([\d,]+) such records, or epsilon=([\d.]+)", text).groups()
    for halved, _ in (width(int(m.replace(",", "")), 1.0), width(2000, float(epsilon))):
        assert 0.2 * predicted < halved < 0.7 * predicted


def test_released_interval_that_is_wide_is_warned_of_without_losing_the_result():
    """The validation set has far fewer positive records than the training set."""
    args, common = ("recall", 2000, 10), {"n_positive": 800, "epsilon": 2.0}
    best, texts = low_utility(search, *args, **common)
    (text,) = (text for text in texts if "wide" in text)
    assert "their intervals are wide" in text and "recall: " in text
    again, (X_val, y_val) = search_by("recall", epsilon=2.0), patients(2000, 10, seed=1)
    with warnings.catch_warnings(), pytest.raises(LowUtilityWarning, match="are wide"):
        warnings.simplefilter("error", LowUtilityWarning)
        with seed_noise((0,)):
            again.fit(*patients(2000, 800), X_val=X_val, y_val=y_val)
    assert again.best_params_ and again.best_score_ == best.best_score_
    assert again.predict(X_val).any()
    with warnings.catch_warnings(), pytest.raises(LowUtilityWarning, match="are wide") as raised:
        warnings.simplefilter("error", LowUtilityWarning)
        with seed_noise((0,)):
            evaluation(epsilon=2.0, m=2000, positive=5)
    assert "roc_auc " in raised.value.__notes__[0]


# ---------------------------------------------------------------- released against public scores
def alarms(rng, n_runs, n_scored, allowed_for):
    """How often the candidate that contradicts most, of several, is said to: the worst choice."""
    n, m, scale = 400, 1500, 3.0
    scorer = make_private_scorer("accuracy").prepare(np.array([0, 1]))
    oracle = types.SimpleNamespace(scorer=scorer, problem=types.SimpleNamespace(units=Units.of(m)))
    found = 0
    for _ in range(n_runs):
        inside, outside = rng.binomial(n, 0.8, n_scored) / n, rng.binomial(m, 0.8, n_scored)
        worst = int(np.argmax(np.abs(inside - outside / m)))
        noisy = NoisyCounts((int(outside[worst]),), scale)
        noisy = NoisyCounts((noisy.counts[0] + int(noisy.noise(1, rng)[0, 0]),), scale)
        score = score_and_interval(scorer, Units.of(m), noisy)
        known = Inside([float(inside[worst])] * allowed_for, float(inside[worst]), n, None)
        found += bool(shift_hints(oracle, score, known, 0.0))
    return found / n_runs


@pytest.mark.slow
def test_public_scores_of_the_same_data_are_rarely_contradicted(rng):
    assert alarms(rng, 1500, 20, allowed_for=20) <= 0.013
    assert alarms(rng, 1500, 20, allowed_for=1) > 0.03, "without the union bound"


def test_released_score_that_contradicts_the_public_one_is_warned_of():
    searched, (X, y) = search_by("f1", epsilon=4.0), patients(4000, 1600)

    def texts(distance):
        X_val, y_val = patients(4000, 1600, seed=1, distance=distance)
        _, found = low_utility(searched.fit, X, y, X_val=X_val, y_val=y_val)
        return [text for text in found if "differs from the training set" in text]

    assert not texts(1.5)
    (text,) = texts(0.7)
    assert re.search(r"f1 is 0\.\d+ \(0\.\d+ to 0\.\d+\) there and 0\.\d+ within", text)


def test_candidates_that_score_the_same_are_not_told_apart_by_more_epsilon(rng):
    """None predicts the rare class: F1 is 0 for all of them."""
    X, y = rng.normal(size=(2_000, 2)), (rng.random(2_000) < 0.03).astype(int)
    search = PrivateBayesSearchCV(
        LogisticRegression(), {"C": [0.1, 1.0, 10.0]}, epsilon=1e3, scoring="f1"
    )
    with pytest.warns(LowUtilityWarning, match="have the same f1 there, 0: neither more records"):
        search.fit(X[:1_000], y[:1_000], X_val=X[1_000:], y_val=y[1_000:])


WRONG = {
    "shuffled": lambda y, rng: rng.permutation(y),
    "other classes": lambda y, rng: (y == 0).astype(int),
}
DEPTHS = {"max_depth": [1, 2, 3, 4, 5, 6, 7, 8]}


@pytest.mark.parametrize("scoring", few(["accuracy", "f1", "roc_auc", "average_precision"]))
@pytest.mark.parametrize("grouped", few([False, True]))
def test_labels_joined_to_the_wrong_rows_of_a_grid_are_told(scoring, grouped):
    """Of accuracy one in six candidates is scored in public, seldom the one that is chosen."""
    (X, y), (X_val, y_val) = patients(1_500, 600), patients(3_000, 1_200, seed=1)
    groups = np.arange(3_000) // 2 if grouped else None

    def texts(y_val):
        model = DecisionTreeClassifier(random_state=0)
        search = PrivateBayesSearchCV(model, DEPTHS, scoring=scoring, epsilon=3.0, random_state=0)
        _, found = low_utility(search.fit, X, y, X_val=X_val, y_val=y_val, groups_val=groups)
        return [text for text in found if "differs from the training set" in text]

    assert not texts(y_val)
    for make in WRONG.values():
        (text,) = texts(make(y_val, np.random.default_rng(0)))
        assert "how rows and labels are joined" in text


def test_wrong_labels_are_told_if_the_chosen_candidate_has_no_public_score():
    (X, y), (X_val, y_val) = patients(1_500, 600), patients(2_000, 800, seed=1)

    def texts(y_val):
        space = {"C": loguniform(1e-3, 1e3), "class_weight": [None, "balanced"]}
        search = PrivateBayesSearchCV(LogisticRegression(), space, n_iter=32, random_state=0)
        _, found = low_utility(search.fit, X, y, X_val=X_val, y_val=y_val)
        return [text for text in found if "differs from the training set" in text]

    assert not texts(y_val)
    (text,) = texts(WRONG["shuffled"](y_val, np.random.default_rng(0)))
    assert "of another candidate" in text


def test_an_area_that_is_released_as_that_of_chance_contradicts_a_public_one():
    """No area is released as less; its interval is wide, but reaches no higher."""
    predictions = Predictions(np.arange(300) % 2, np.arange(300) % 2 + 0.1, np.array([0, 1]))
    scorer = make_private_scorer("roc_auc").prepare(np.array([0, 1]))
    oracle = types.SimpleNamespace(
        scorer=scorer, problem=types.SimpleNamespace(units=Units.of(2_000))
    )
    inside = Inside([0.97], 0.97, 300, lambda method: predictions)
    assert shift_hints(oracle, (0.5, (0.0, 0.5)), inside, 0.0)
    assert not shift_hints(oracle, (0.5, (0.0, 0.9)), inside, 0.0)


@pytest.mark.slow
def test_no_order_of_a_grid_decides_how_candidates_are_ranked():
    """Half of the candidates predict one class: where only these are looked at, kappa is 0."""
    X, y = patients(1_500, 60)
    X_val, y_val = patients(2_000, 240, seed=1)
    weights = [None, {1: 1e-3}, "balanced", {1: 30}]
    ranked = []
    for order in (weights, weights[::-1]):
        search = PrivateBayesSearchCV(
            LogisticRegression(), {"C": [1e-3, 1.0], "class_weight": order},
            scoring="cohen_kappa", epsilon=0.5, random_state=0,
        )  # fmt: skip
        fitted, texts = low_utility(search.fit, X, y, X_val=X_val, y_val=y_val)
        assert not [text for text in texts if "have the same" in text]
        ranked.append(fitted.scorer_.matrix)
    assert ranked[0] == pytest.approx(ranked[1]) and ranked[0][:, 1].min() > 0


def test_public_scores_decide_where_the_choice_is_noise():
    X, y = patients(1_500, 300)
    X_val, y_val = patients(60, 12, seed=1)
    grid = {"C": [1e-9, 1e-8, 1.0]}
    chosen = []
    for seed in range(5):
        search = PrivateBayesSearchCV(
            LogisticRegression(), grid, scoring="f1", epsilon=0.3, random_state=0
        )
        with warnings.catch_warnings(record=True) as caught, seed_noise((seed,)):
            warnings.simplefilter("always")
            chosen.append(search.fit(X, y, X_val=X_val, y_val=y_val).best_params_["C"])
        assert any("so public scores decide" in str(each.message) for each in caught)
        assert "times the public one" in search.privacy_.details()
    assert chosen.count(1.0) >= 4


# ---------------------------------------------------------------- unknown labels
KNOWN = patients(3_000, 1_200)
SPELLINGS = {
    "one more": (lambda y: y + 1, 600),
    "missing": (lambda y: np.where(np.arange(len(y)) % 30 == 0, np.nan, y), 50),
    "none": (lambda y: np.where(np.arange(len(y)) % 30 == 0, None, y), 50),
}


def labels_of(run, *args, **kwargs):
    """The numbers of records with unknown labels that a call warns of."""
    _, texts = low_utility(run, *args, **kwargs)
    told = [re.search(r"About ([\d,]+) of .* have labels that", text) for text in texts]
    return [int(each[1].replace(",", "")) for each in told if each]


def halves(respell):
    """Public records, and protected ones whose labels are written otherwise."""
    X, y = KNOWN
    y_val = y[1::2]
    if respell is not None:
        y_val = respell(y_val)
    return {"X": X[::2], "y": y[::2], "X_val": X[1::2].copy(), "y_val": y_val}


OF_TABLES = ("f1", "average_precision", "balanced_accuracy", "cohen_kappa", "roc_auc")


@pytest.mark.parametrize("scoring", few(OF_TABLES, "f1", "roc_auc"))
@pytest.mark.parametrize("kind", few(SPELLINGS, "missing"))
def test_a_search_says_how_many_labels_are_unknown(scoring, kind):
    respell, n = SPELLINGS[kind]
    # An eighth of the second number of pairs says it.
    epsilon = 60.0 if scoring == "roc_auc" else 12.0
    (found,) = labels_of(search_by(scoring, epsilon=epsilon).fit, **halves(respell))
    assert found == pytest.approx(n, abs=30)


def compared(data):
    models = [LogisticRegression(C=C).fit(data["X"], data["y"]) for C in (0.01, 1.0)]
    private_comparison(*models, **data, epsilon=3.0)


def in_two_scores(data, **params):
    scoring = {"accuracy": "accuracy", "f1": "f1"}
    search = search_by(scoring, epsilon=8.0, refit="accuracy", **params)
    search.fit(**data)


RELEASES = {
    "evaluation": lambda data: private_evaluation(
        LogisticRegression().fit(data["X"], data["y"]), **data, epsilon=3.0
    ),
    "comparison": compared,
    "search with an evaluation": lambda data: search_by(
        "accuracy", epsilon=8.0, release="evaluation"
    ).fit(**data),
    "all candidates": lambda data: search_by("f1", epsilon=20.0, release="all").fit(**data),
    "candidate alone": lambda data: search_by(
        "f1", epsilon=8.0, strategy=WorstCase(score_share=0)
    ).fit(**data),
    "several scores": in_two_scores,
    "threshold": lambda data: PrivateThresholdClassifier(LogisticRegression(), epsilon=8.0).fit(
        **data
    ),
    "table": lambda data: PrivateTableSearchCV(
        PrivateLogisticRegression(classes=[0, 1]), epsilon=8.0, test_size=0.5, scoring="f1"
    ).fit(np.vstack([data["X"], data["X_val"]]), np.concatenate([data["y"], data["y_val"]])),
    "groups": lambda data: search_by("f1", epsilon=12.0).fit(
        **data, groups_val=np.arange(len(data["X_val"])) // 2
    ),
}


@pytest.mark.first(2)
@pytest.mark.parametrize("how", few(RELEASES, "comparison", "candidate alone", "table"))
def test_every_release_of_a_table_says_how_many_labels_are_unknown(how):
    respell, n = SPELLINGS["missing"]
    n = {"groups": n / 2}.get(how, n)
    (found,) = labels_of(RELEASES[how], halves(respell))
    assert found == pytest.approx(n, abs=30)
    assert not labels_of(RELEASES[how], halves(None))


# Of means, no table is released: what any constant prediction has tells of unknown labels.
@pytest.mark.parametrize("scoring", ["accuracy", "neg_brier_score"])
def test_means_below_those_of_constant_predictions_are_warned_of(scoring):
    respell, _ = SPELLINGS["one more"]
    match = rf"{scoring} is .*, but some constant prediction .* of the training set, 0, 1. Either"
    with pytest.warns(LowUtilityWarning, match=match):
        search_by(scoring, epsilon=5.0).fit(**halves(respell))


def test_accuracy_of_a_table_with_other_labels_is_warned_of():
    X, y = KNOWN
    search = PrivateTableSearchCV(PrivateLogisticRegression(classes=["NO", "YES"]), epsilon=5.0)
    with pytest.warns(LowUtilityWarning, match="those of the training set, 'NO', 'YES'"):
        search.fit(X, np.where(y == 1, "yes", "no"))


def test_labels_of_which_a_model_knows_none_are_refused():
    X, y = patients(200, 80)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"no label of y, \[5, 6\], is among classes_ of Logistic"):
        private_evaluation(model, X.copy(), y + 5, X=X, y=y + 5, epsilon=1.0)
