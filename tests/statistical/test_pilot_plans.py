"""Plans for scores that are no means: against searches, and against scikit-learn's scores."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge

from sklearn_dpbo import PrivateBayesSearchCV, make_private_scorer, plan_search
from sklearn_dpbo._data.units import Units
from sklearn_dpbo.exceptions import InsecureNoiseWarning
from sklearn_dpbo.planning._pilot import PilotErrors
from sklearn_dpbo.scoring._response import Predictions

GRID = {"C": [0.003, 0.01, 0.03, 0.1]}
N_TRAIN = 3000


def adult_like(n=30_000, positive=0.24):
    return make_classification(
        n, 14, n_informative=6, weights=[1 - positive], flip_y=0.02, class_sep=0.9, random_state=0
    )


@pytest.fixture(scope="module")
def adult():
    """A pilot, public records that it was not fitted on, and where others begin."""
    X, y = adult_like()
    pilot = LogisticRegression(C=0.01).fit(X[:N_TRAIN], y[:N_TRAIN])
    return X, y, pilot


def planned(adult, scoring="f1", **params):
    X, y, pilot = adult
    public = slice(N_TRAIN, 2 * N_TRAIN)
    if not {"m", "epsilon"} & set(params):
        params["epsilon"] = 1.0
    return plan_search(scoring=scoring, estimator=pilot, X=X[public], y=y[public], **params)


def half_widths(adult, scoring, m, n_searches=5, epsilon=1.0):
    """Return those of real searches, each on other protected records."""
    X, y, _ = adult
    rng, found = np.random.default_rng(0), []
    for i in range(n_searches):
        rows = rng.choice(np.arange(2 * N_TRAIN, len(y)), size=m, replace=False)
        search = PrivateBayesSearchCV(
            LogisticRegression(), GRID, epsilon=epsilon, scoring=scoring, random_state=0,
            noise_random_state=i,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InsecureNoiseWarning)
            search.fit(X[:N_TRAIN], y[:N_TRAIN], X_val=X[rows], y_val=y[rows])
        low, high = search.best_score_interval_
        found.append((high - low) / 2)
    return np.array(found)


# ---------------------------------------------------------------- against searches
@pytest.mark.parametrize("scoring", ["f1", "roc_auc", "matthews_corrcoef"])
def test_searches_of_planned_m_have_intervals_as_planned_and_smaller_ones_do_not(adult, scoring):
    plan = planned(adult, scoring, target_interval=0.02)
    assert plan.meets_targets and plan.score_error == pytest.approx(0.02, rel=0.03)
    assert np.median(half_widths(adult, scoring, plan.m)) == pytest.approx(0.02, rel=0.1)
    assert half_widths(adult, scoring, round(0.7 * plan.m)).min() > 0.02


# ---------------------------------------------------------------- solving
def test_planned_m_falls_with_epsilon_and_rises_with_fewer_positive_records(adult):
    ms = [planned(adult, epsilon=e, target_interval=0.02).m for e in (0.5, 1.0)]
    assert ms[0] > 1.9 * ms[1]
    X, y = adult_like(positive=0.1)
    pilot = LogisticRegression(C=0.01).fit(X[:N_TRAIN], y[:N_TRAIN])
    assert planned((X, y, pilot), target_interval=0.02).m > 2 * ms[1]


def test_answer_is_the_smallest_to_within_its_tolerance(adult):
    plan = planned(adult, target_interval=0.02)
    assert plan.solved_for == "m"
    assert not replace(plan, m=round(0.97 * plan.m)).meets_targets
    plan = planned(adult, m=plan.m, target_interval=0.01)
    assert plan.solved_for == "epsilon" and 1.9 < plan.epsilon < 2.1
    assert not replace(plan, epsilon=0.97 * plan.epsilon).meets_targets
    plan = planned(adult, m=20_000, epsilon=1.0, n_iter=None, target_regret=0.004)
    assert plan.solved_for == "n_iter" and plan.meets_targets
    assert not replace(plan, n_iter=plan.n_iter + 1).meets_targets


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"scoring": None}, ValueError, "estimator and X and y: not without scoring="),
        ({"estimator": None}, ValueError, "needs the predictions of a pilot"),
        ({"estimator": LogisticRegression()}, NotFittedError, "not fitted"),
        ({"scoring": ["f1", "roc_auc"]}, ValueError, "a plan is for one score"),
        ({"scoring": "f2"}, ValueError, "is not a score"),
        ({"target_score_error": 0.1}, ValueError, "target_score_error: not with scoring='f1'"),
        ({"counts": False}, ValueError, "counts: not with scoring='f1'"),
        ({"target_interval": 0.5}, ValueError, "target_interval must be None or above 0 and below"),
        ({"target_interval": -1.0}, ValueError, "target_interval must be"),
        ({"target_regret": 1.5}, ValueError, "target_regret must be"),
        ({"target_interval": None}, ValueError, "found neither"),
        ({"scoring": "average_precision", "target_regret": 0.1}, ValueError, "no bound on the"),
        ({"n_iter": 1, "target_regret": 0.1}, ValueError, "no choice"),
        ({"target_interval": 1e-6}, ValueError, r"even with m=1e\+06"),
        ({"m": 50, "epsilon": None, "target_interval": 1e-6, "scoring": "average_precision"},
         ValueError, "even with epsilon=1,000"),
        ({"m": 50, "n_iter": None, "target_interval": 0.01}, ValueError, "even with n_iter=2"),
    ],
)  # fmt: skip
def test_invalid_or_unreachable_plans_are_refused(adult, params, error, message):
    X, y, pilot = adult
    given = {
        "epsilon": 1.0, "scoring": "f1", "estimator": pilot, "X": X[-1000:], "y": y[-1000:],
        "target_interval": None if params.get("scoring", "") is None else 0.02,
    }  # fmt: skip
    if params.get("scoring", "") is None:
        given["target_regret"] = 0.1
    with pytest.raises(error, match=message):
        plan_search(**{**given, **params})


# ---------------------------------------------------------------- what a plan shows
def test_plan_prints_draws_and_tabulates_estimates(adult):
    pytest.importorskip("matplotlib").use("agg")
    plan = planned(adult, target_interval=0.02, target_regret=0.1)
    text = " ".join(str(plan).split())
    for part in ("asked for: 0.02", "not a theorem", "bootstrap", "3,000 public"):
        assert part in text
    rows = plan.table(epsilon=[0.5, 1.0], m=[plan.m])
    assert [row["meets_targets"] for row in rows] == [False, True]
    assert rows[0]["score_error"] > 1.8 * rows[1]["score_error"]
    display = plan.plot(epsilon=[0.5, 1.0, 3.0])
    assert display.ax_.get_ylabel().startswith("estimated error")
    assert (np.diff(display.score_error) < 0).all() and (np.diff(display.regret) <= 0).all()


@pytest.mark.parametrize("scoring", ["average_precision", "roc_auc"])
def test_plan_says_that_no_bound_on_the_regret_is_known(adult, scoring):
    pytest.importorskip("matplotlib").use("agg")
    plan = planned(adult, scoring, m=500, epsilon=1.0)
    assert np.isnan(plan.regret) and "no bound" in str(plan)
    assert "no bound" in plan.plot(epsilon=[1.0, 3.0]).regret_.get_label()


def test_sampling_error_is_the_standard_deviation_over_samples(adult):
    X, y, pilot = adult
    plan = planned(adult, m=500, target_interval=0.2)
    rng, scorer = np.random.default_rng(0), make_private_scorer("f1")
    scores = []
    for _ in range(300):
        rows = rng.choice(np.arange(2 * N_TRAIN, len(y)), size=500)
        scores.append(scorer(pilot, X[rows], y[rows]))
    assert plan.sampling_error == pytest.approx(1.96 * np.std(scores), rel=0.2)


# ---------------------------------------------------------------- first order
def steps_and_difference(scoring, model, other, X, y):
    """Return (what the pilot says of the difference of two models' scores, the difference)."""
    pilot = PilotErrors.of(scoring, model, X, y)
    scorer, units = pilot.scorer, Units.of(len(y))
    statistics, exact = [], []
    for estimator in (model, other):
        found: Predictions = scorer.predictions(estimator, X, y)
        values = scorer.query.record_values(found.y, found.response, found.classes)
        statistics += scorer.query.statistics(values, found.y, units)
        exact.append(scorer.exact(found))
    return pilot.regret(statistics[0] - statistics[1], len(y)), exact[0] - exact[1]


@pytest.mark.parametrize(
    ("scoring", "rel"),
    [("f1", 0.1), ("f1_macro", 0.1), ("precision", 0.1), ("recall", 0.02),
     ("balanced_accuracy", 0.02), ("matthews_corrcoef", 0.3), ("accuracy", 1e-9)],
)  # fmt: skip
def test_one_step_of_the_statistic_is_that_much_of_the_score(adult, scoring, rel):
    X, y, pilot = adult
    shrunk = LogisticRegression(C=0.006).fit(X[:N_TRAIN], y[:N_TRAIN])
    expected, found = steps_and_difference(scoring, pilot, shrunk, X[N_TRAIN:], y[N_TRAIN:])
    assert abs(found) > 1e-3
    assert expected == pytest.approx(found, rel=rel)


@pytest.mark.parametrize(
    ("scoring", "target"), [("r2", 0.05), ("neg_root_mean_squared_error", 5.0)]
)
def test_regression_scores_are_planned(scoring, target):
    X, y = make_regression(6000, 8, noise=40.0, random_state=0)
    public = {"estimator": Ridge(1.0).fit(X[:500], y[:500]), "X": X[500:], "y": y[500:]}
    plan = plan_search(epsilon=1.0, target_interval=target, scoring=scoring, **public)
    assert plan.meets_targets and 100 < plan.m < 50_000 and np.isnan(plan.regret)
