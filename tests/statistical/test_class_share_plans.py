"""Plans for scores that are no means: against searches, and against scikit-learn's scores."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivateBayesSearchCV, plan_search
from sklearn_dpbo.planning._shares import ShareErrors
from sklearn_dpbo.testing import seeded_noise

N_TRAIN = 2000
SHARES = {0: 0.75, 1: 0.25}


@pytest.fixture(scope="module")
def adult():
    return make_classification(
        20_000, 14, n_informative=6, weights=[0.76], flip_y=0.02, class_sep=0.9, random_state=0
    )


def planned(scoring="f1", **params):
    given = {"scoring": scoring, "epsilon": 1.0, "target_score_error": 0.02, **params}
    return plan_search(**{"class_shares": SHARES, **given})


def half_widths(adult, scoring, m, n_searches):
    """Return those of real searches, each on other protected records."""
    X, y = adult
    rng, found = np.random.default_rng(0), []
    for i in range(n_searches):
        rows = rng.choice(np.arange(N_TRAIN, len(y)), size=m, replace=False)
        search = PrivateBayesSearchCV(
            LogisticRegression(), {"C": [0.01, 0.1]}, scoring=scoring, random_state=0
        )  # fmt: skip
        with seeded_noise(i):
            search.fit(X[:N_TRAIN], y[:N_TRAIN], X_val=X[rows], y_val=y[rows])
        low, high = search.best_score_interval_
        found.append((high - low) / 2)
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "scoring", ["f1", "roc_auc", pytest.param("matthews_corrcoef", marks=pytest.mark.slow)]
)
def test_searches_of_planned_m_have_about_the_intervals_that_were_planned(adult, scoring):
    plan = planned(scoring)
    assert plan.meets_targets and plan.score_error == pytest.approx(0.02, rel=0.03)
    assert np.median(half_widths(adult, scoring, plan.m, 3)) == pytest.approx(0.02, rel=0.3)


def test_answer_is_the_smallest_to_within_its_tolerance():
    plan = planned()
    assert plan.solved_for == "m"
    assert not replace(plan, m=round(0.97 * plan.m)).meets_targets
    plan = planned(m=plan.m, epsilon=None, target_score_error=0.01)
    assert plan.solved_for == "epsilon" and 1.9 < plan.epsilon < 2.1
    assert not replace(plan, epsilon=0.97 * plan.epsilon).meets_targets
    plan = planned(m=20_000, n_iter=None, target_score_error=None, target_regret=0.004)
    assert plan.solved_for == "n_iter" and plan.meets_targets
    assert not replace(plan, n_iter=plan.n_iter + 1).meets_targets


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"scoring": None}, "together"),
        ({"class_shares": None}, "together"),
        ({"score_range": 2.0}, "score_range is for plans without"),
        ({"class_shares": {0: 1.0}}, "two or more positive shares; found {0: 1.0}"),
        ({"class_shares": {0: 1.0, 1: 0.0}}, "two or more positive shares"),
        ({"class_shares": {0: 0.5, 1: 0.3, 2: 0.2}}, "does not support 3 classes"),
        ({"scoring": ["f1", "roc_auc"]}, "a plan is for one score"),
        ({"scoring": "f2"}, "is not a score"),
        ({"target_score_error": 0.5}, "target_score_error must be None or above 0 and below 0.5"),
        ({"target_regret": 1.5}, "target_regret must be"),
        ({"target_score_error": None}, "target_score_error, or both; found neither"),
        ({"scoring": "average_precision", "target_regret": 0.1}, "no bound on the regret"),
        ({"target_score_error": 1e-6}, r"even with m=1e\+06"),
    ],
)
def test_invalid_or_unreachable_plans_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        planned(**params)


@pytest.mark.slow
def test_plan_prints_estimates():
    text = " ".join(str(planned(target_regret=0.1)).split())
    for part in ("regret <= 0.1, score_error <= 0.02", "to first order", "an estimate"):
        assert part in text
    unknown = planned("roc_auc", m=500)
    assert np.isnan(unknown.regret) and "Choice no bound is known" in " ".join(str(unknown).split())


def test_made_up_records_have_the_shares_and_the_quality_that_is_documented():
    texts = ShareErrors.of("roc_auc_ovr", {"no": 6, "maybe": 3, "yes": 1})
    classes, counts = np.unique(texts.public.y, return_counts=True)
    assert classes.tolist() == ["maybe", "no", "yes"]
    assert counts / counts.sum() == pytest.approx([0.3, 0.6, 0.1], abs=0.01)
    two = ShareErrors.of("roc_auc", SHARES)
    assert two.scorer.exact(two.public) == pytest.approx(0.84, abs=0.015)
