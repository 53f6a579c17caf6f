"""``release="all"``: the scores of all validated candidates, and why there are none otherwise."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV
from sklearn_dpbo.privacy.noise import SeededNoise
from sklearn_dpbo.strategies import Strategy

pytestmark = pytest.mark.usefixtures("seeded")

GRID = {"C": [0.001, 0.01, 0.1, 1.0]}


def searched(data, **params):
    X, y, X_val, y_val = data
    given = {"epsilon": 1e6, "release": "all", **params}
    search = PrivateBayesSearchCV(LogisticRegression(), GRID, **given)
    return search.fit(X, y, X_val=X_val, y_val=y_val)


@pytest.mark.first(1)
@pytest.mark.parametrize("scoring", ["accuracy", "f1", "neg_brier_score"])
def test_columns_have_every_score_as_scikit_learn_computes_it(two_classes, scoring):
    search = searched(two_classes, scoring=scoring)
    X, y, X_val, y_val = two_classes
    results = search.cv_results_
    exact = [
        search.scorer_(LogisticRegression(**params).fit(X, y), X_val, y_val)
        for params in results["params"]
    ]
    assert results["mean_test_score"] == pytest.approx(exact, abs=1e-3)
    assert search.best_score_ == results["mean_test_score"][search.best_index_]
    low, high = results["low_test_score"], results["high_test_score"]
    assert ((low <= exact + np.full(4, 1e-6)) & (exact <= high + 1e-6)).all()
    best = results["rank_test_score"] == 1
    assert results["mean_test_score"][best].max() == results["mean_test_score"].max()


def test_all_is_charged_before_the_first_draw(two_classes, tmp_path, monkeypatch):
    ledger = PrivacyLedger(tmp_path / "ledger", "patients", create=True, epsilon=2.0, delta=1e-5)
    seen = []
    for name in ("permute_and_flip", "discrete_gaussian"):
        draw = getattr(SeededNoise, name)

        def keeps(*args, draw=draw):
            seen.append((ledger.spent["epsilon"], ledger.spent["delta"]))
            return draw(*args)

        monkeypatch.setattr(SeededNoise, name, keeps)
    searched(two_classes, epsilon=1.5, delta=1e-6, ledger=ledger)
    assert seen and set(seen) == {(1.5, 1e-6)}


@pytest.mark.slow
def test_several_scores_have_columns_of_their_own(two_classes):
    search = searched(two_classes, scoring=["f1", "precision", "roc_auc"], refit="f1")
    for name in ("f1", "precision", "roc_auc"):
        column = search.cv_results_[f"mean_test_{name}"]
        assert column[search.best_index_] == search.best_scores_[name]
    with pytest.raises(KeyError, match=r"no split0_test_f1.*released are \['mean_test_f1'"):
        search.cv_results_["split0_test_f1"]
    spent = [loss.epsilon for loss in search.privacy_.spends]
    assert spent == pytest.approx([6e4, 5.4e5, 2e5, 2e5])


@pytest.mark.first(2)
@pytest.mark.parametrize(
    "column",
    [
        "mean_test_score",
        "rank_test_score",
        "std_test_f1",
        "split0_test_score",
        "mean_score_time",
        "mean_train_score",
    ],  # fmt: skip
)
def test_a_column_that_is_not_there_says_why(two_classes, column):
    search = searched(two_classes, release="best")
    with pytest.raises(KeyError, match=f"no {column}: "):
        search.cv_results_[column]
    with pytest.raises(KeyError, match="'param_D'"):
        search.cv_results_["param_D"]
    assert column not in search.cv_results_ and search.cv_results_.get(column) is None


class Assuming(Strategy):
    assumption = "scores are as drawn"


@pytest.mark.parametrize(
    ("params", "what"),
    [
        ({"release": "some"}, "best.*evaluation.*or.*all"),
        ({"strategy": Assuming(), "delta": 1e-3}, "one candidate's score"),
    ],
)
def test_what_cannot_be_released_together_is_refused(two_classes, params, what):
    with pytest.raises(ValueError, match=what):
        searched(two_classes, **params)
