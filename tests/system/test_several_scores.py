"""Several scores: one selects the candidate, and all are released for it."""

from fractions import Fraction

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.svm import LinearSVC

from sklearn_dpbo import PrivateBayesSearchCV, make_private_scorer
from sklearn_dpbo.papers.kusner2015 import GPNoisy

pytestmark = pytest.mark.usefixtures("seeded")

GRID = {"C": [0.01, 1.0, 100.0]}
SCORES = ["accuracy", "neg_brier_score", "roc_auc"]


def search(scoring, refit, **params):
    params = {"epsilon": 1e6} | params
    return PrivateBayesSearchCV(LogisticRegression(), GRID, scoring=scoring, refit=refit, **params)


def fit(search, two_classes):
    X, y, X_val, y_val = two_classes
    return search.fit(X, y, X_val=X_val, y_val=y_val)


@pytest.mark.slow
@pytest.mark.parametrize("selects", SCORES)
def test_all_scores_are_released_for_the_candidate_that_refit_selects(two_classes, selects):
    X, y, X_val, y_val = two_classes
    several = fit(search(SCORES, selects), two_classes)
    alone = fit(search(selects, True), two_classes)
    best, other = several.best_estimator_, alone.best_estimator_  # ties are broken by chance
    assert alone.scorer_(best, X_val, y_val) == alone.scorer_(other, X_val, y_val)
    assert several.multimetric_
    assert several.best_score_ == several.best_scores_[selects]
    assert set(several.best_scores_) == set(several.best_score_intervals_) == set(SCORES)
    for name in SCORES:
        scorer = several.scorer_[name]
        exact = scorer(several.best_estimator_, X_val, y_val)
        low, high = several.best_score_intervals_[name]
        # Pairs of records in the same bin of the histogram count half.
        within = 0.02 if name == "roc_auc" else 2e-3
        assert several.best_scores_[name] == pytest.approx(exact, abs=within)
        assert low - 1e-9 <= several.best_scores_[name] <= high + 1e-9
    assert several.score(X, y) == several.scorer_[selects](several.best_estimator_, X, y)
    assert not alone.multimetric_ and not hasattr(alone, "best_scores_")


def test_score_share_is_divided_among_scores(two_classes):
    s = fit(search(SCORES, "accuracy", epsilon=1.5), two_classes)
    losses = {loss.release: loss.epsilon for loss in s.privacy_.spends}
    assert losses.pop("choice of the candidate") == pytest.approx(0.9)
    assert list(losses) == [f"score of the chosen candidate, {name}" for name in SCORES]
    assert list(losses.values()) == pytest.approx([0.2] * 3)
    assert sum(Fraction(loss.epsilon) for loss in s.privacy_.spends) <= Fraction(1.5)
    assert "intervals_ and best_score_intervals_ (accuracy" in s.privacy_.released


def test_dict_of_scoring_names_the_scores(two_classes):
    cost = make_private_scorer("neg_cost", cost_matrix=[[0, 1], [5, 0]])
    named = {"right": "accuracy", "cost": cost}
    s = fit(search(named, "cost"), two_classes)
    assert list(s.scorer_) == ["cost", "right"] and s.best_score_ == s.best_scores_["cost"]
    assert fit(search(named, False), two_classes).best_scores_["right"] > 0.5
    assert list(fit(search(named, False), two_classes).scorer_) == ["right", "cost"]


def test_one_score_in_list_is_multimetric(two_classes):
    """As in scikit-learn, so that code which loops over names works with one name as well."""
    for scoring, refit in ((["accuracy"], True), ({"accuracy": "accuracy"}, "accuracy")):
        s = fit(search(scoring, refit), two_classes)
        assert s.multimetric_ and s.best_scores_ == {"accuracy": s.best_score_}
        assert "best_scores_" in s.privacy_.released


@pytest.mark.parametrize("scoring", [make_scorer(accuracy_score), make_private_scorer("f1"), None])
def test_an_object_is_one_metric(two_classes, scoring):
    found = fit(search(scoring, True), two_classes)
    assert not found.multimetric_ and not hasattr(found, "best_scores_")
    assert found.scorer_.name in ("accuracy", "f1")


@pytest.mark.parametrize(
    ("scoring", "refit", "message"),
    [
        (SCORES, True, r"\['accuracy'.*name the one that selects, as in refit='accuracy'"),
        (SCORES, "f1", "refit='f1' names no score"),
        (SCORES, lambda results: 0, "or the name of the score that selects"),
        ("accuracy", "auc", "refit='auc' names no score"),
        (["accuracy", "rand_score"], "accuracy", "scoring='rand_score' .* cannot be made private"),
        (["accuracy", "accuracy"], "accuracy", "several with different names"),
        ([], False, "several with different names"),
        ({1: "accuracy"}, False, "several with different names"),
    ],
)
def test_invalid_scoring_or_refit_raises_value_error(two_classes, scoring, refit, message):
    with pytest.raises(ValueError, match=message):
        fit(search(scoring, refit), two_classes)


def test_strategies_that_release_one_score_refuse_several(two_classes):
    s = search(SCORES[:2], "accuracy", strategy=GPNoisy(), delta=0.1)
    with pytest.raises(ValueError, match="GPNoisy releases one score"):
        fit(s, two_classes)


def test_score_without_response_method_raises_value_error(two_classes):
    s = search(["accuracy", "neg_log_loss"], "accuracy").set_params(estimator=LinearSVC())
    with pytest.raises(ValueError, match="predict_proba"):
        fit(s, two_classes)
