"""Plans for scores that are no means: against searches, and against scikit-learn's scores."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge

from sklearn_dpbo import PrivateBayesSearchCV, make_private_scorer, plan_search
from sklearn_dpbo._data.units import Units
from sklearn_dpbo.planning._pilot import PilotErrors
from sklearn_dpbo.testing import seeded_noise

N_TRAIN = 2000


@pytest.fixture(scope="module")
def adult():
    """A pilot, public records that it was not fitted on, and where others begin."""
    X, y = make_classification(
        20_000, 14, n_informative=6, weights=[0.76], flip_y=0.02, class_sep=0.9, random_state=0
    )
    return X, y, LogisticRegression(C=0.01).fit(X[:N_TRAIN], y[:N_TRAIN])


def planned(adult, scoring="f1", **params):
    X, y, pilot = adult
    public = {"estimator": pilot, "X": X[N_TRAIN : 2 * N_TRAIN], "y": y[N_TRAIN : 2 * N_TRAIN]}
    given = {"scoring": scoring, "epsilon": 1.0, "target_interval": 0.02, **public, **params}
    return plan_search(**given)


def half_widths(adult, scoring, m, n_searches):
    """Return those of real searches, each on other protected records."""
    X, y, _ = adult
    rng, found = np.random.default_rng(0), []
    for i in range(n_searches):
        rows = rng.choice(np.arange(2 * N_TRAIN, len(y)), size=m, replace=False)
        search = PrivateBayesSearchCV(
            LogisticRegression(), {"C": [0.01, 0.1]}, scoring=scoring, random_state=0
        )  # fmt: skip
        with seeded_noise(i):
            search.fit(X[:N_TRAIN], y[:N_TRAIN], X_val=X[rows], y_val=y[rows])
        low, high = search.best_score_interval_
        found.append((high - low) / 2)
    return np.array(found)


@pytest.mark.parametrize(
    "scoring", ["f1", "roc_auc", pytest.param("matthews_corrcoef", marks=pytest.mark.slow)]
)
def test_searches_of_planned_m_have_intervals_as_planned_and_smaller_ones_do_not(adult, scoring):
    plan = planned(adult, scoring)
    assert plan.meets_targets and plan.score_error == pytest.approx(0.02, rel=0.03)
    assert np.median(half_widths(adult, scoring, plan.m, 3)) == pytest.approx(0.02, rel=0.1)
    assert half_widths(adult, scoring, round(0.7 * plan.m), 2).min() > 0.02


def test_answer_is_the_smallest_to_within_its_tolerance(adult):
    plan = planned(adult)
    assert plan.solved_for == "m"
    assert not replace(plan, m=round(0.97 * plan.m)).meets_targets
    plan = planned(adult, m=plan.m, epsilon=None, target_interval=0.01)
    assert plan.solved_for == "epsilon" and 1.9 < plan.epsilon < 2.1
    assert not replace(plan, epsilon=0.97 * plan.epsilon).meets_targets
    limits = {"target_interval": None, "target_regret": 0.004}
    plan = planned(adult, m=20_000, n_iter=None, **limits)
    assert plan.solved_for == "n_iter" and plan.meets_targets
    assert not replace(plan, n_iter=plan.n_iter + 1).meets_targets


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"scoring": None}, ValueError, "a plan of a mean takes"),
        ({"estimator": None}, ValueError, "needs the predictions of a pilot"),
        ({"estimator": LogisticRegression()}, NotFittedError, "not fitted"),
        ({"scoring": ["f1", "roc_auc"]}, ValueError, "a plan is for one score"),
        ({"scoring": "f2"}, ValueError, "is not a score"),
        ({"target_score_error": 0.1}, ValueError, "takes .*target_interval"),
        ({"counts": False}, ValueError, "a plan of scoring= takes .*; found counts"),
        ({"target_interval": 0.5}, ValueError, "target_interval must be None or above 0 and below"),
        ({"target_regret": 1.5}, ValueError, "target_regret must be"),
        ({"target_interval": None}, ValueError, "target_interval, or both; found neither"),
        ({"scoring": "average_precision", "target_regret": 0.1}, ValueError, "no bound on the"),
        ({"target_interval": 1e-6}, ValueError, r"even with m=1e\+06"),
    ],
)
def test_invalid_or_unreachable_plans_are_refused(adult, params, error, message):
    with pytest.raises(error, match=message):
        planned(adult, **params)


def test_plan_prints_draws_and_tabulates_estimates(adult):
    pytest.importorskip("matplotlib").use("agg")
    plan = planned(adult, target_regret=0.1)
    text = " ".join(str(plan).split())
    for part in ("asked for: 0.02", "not a theorem", "an estimate", "2,000 public"):
        assert part in text
    rows = plan.table(epsilon=[0.5, 1.0], m=plan.m)
    assert [row["meets_targets"] for row in rows] == [False, True]
    assert rows[0]["score_error"] > 1.8 * rows[1]["score_error"]
    assert plan.plot(epsilon=[1.0, 3.0]).ax_.get_ylabel().startswith("estimated error")
    unknown = planned(adult, "roc_auc", m=500)
    assert np.isnan(unknown.regret) and "no bound" in str(unknown)
    assert "no bound" in unknown.plot(epsilon=[1.0, 3.0]).regret_.get_label()


def test_sampling_error_is_the_standard_deviation_over_samples(adult):
    X, y, pilot = adult
    rng, scorer = np.random.default_rng(0), make_private_scorer("f1")
    samples = rng.choice(np.arange(2 * N_TRAIN, len(y)), size=(150, 500))
    scores = [scorer(pilot, X[rows], y[rows]) for rows in samples]
    assert planned(adult, m=500).sampling_error == pytest.approx(1.96 * np.std(scores), rel=0.25)


@pytest.mark.parametrize(
    ("scoring", "rel"),
    [("f1", 0.1), ("precision", 0.1), ("recall", 0.02), ("matthews_corrcoef", 0.3),
     ("accuracy", 1e-9)],
)  # fmt: skip
def test_one_step_of_the_statistic_is_that_much_of_the_score(adult, scoring, rel):
    """The difference of two models' scores follows from that of their statistics."""
    X, y, model = adult
    shrunk = LogisticRegression(C=0.006).fit(X[:N_TRAIN], y[:N_TRAIN])
    X, y = X[N_TRAIN:], y[N_TRAIN:]
    pilot = PilotErrors.of(scoring, model, X, y)
    scorer, statistics, exact = pilot.scorer, [], []
    for estimator in (model, shrunk):
        found = scorer.predictions(estimator, X, y)
        values = scorer.query.record_values(found.y, found.response, found.classes)
        statistics += scorer.query.statistics(values, found.y, Units.of(len(y)))
        exact.append(scorer.exact(found))
    assert abs(exact[0] - exact[1]) > 1e-3
    found = pilot.regret(statistics[0] - statistics[1], len(y))
    assert found == pytest.approx(exact[0] - exact[1], rel=rel)


def test_regression_scores_are_planned():
    X, y = make_regression(3000, 8, noise=40.0, random_state=0)
    public = {"estimator": Ridge(1.0).fit(X[:500], y[:500]), "X": X[500:], "y": y[500:]}
    plan = plan_search(epsilon=1.0, target_interval=0.1, scoring="r2", **public)
    assert plan.meets_targets and 100 < plan.m < 50_000 and np.isnan(plan.regret)
