"""What is clipped is named, and without noise it is the number that is named."""

import json
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from sklearn_dpbo import (
    PrivateBayesSearchCV,
    make_private_scorer,
    private_evaluation,
)
from sklearn_dpbo.exceptions import LowUtilityWarning
from sklearn_dpbo.metrics._queries import GRID
from sklearn_dpbo.metrics._scorers import score_and_interval
from sklearn_dpbo.privacy.noisy_counts import NoisyCounts
from sklearn_dpbo.records.units import Units

EXACT = dict(epsilon=1e7)
pytestmark = [pytest.mark.usefixtures("seeded"), pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def skewed(rng):
    X = rng.normal(size=(1_600, 2))
    y = np.exp(0.6 * X[:, 0] + rng.normal(size=1_600))
    return X[:600], y[:600], X[600:], y[600:]


NAMES = ["r2", "neg_mean_absolute_error", "neg_root_mean_squared_error", "neg_mean_squared_error"]


def searched(X, y, X_val, y_val, **kwargs):
    search = PrivateBayesSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, **EXACT, **kwargs)
    return search.fit(X, y, X_val=X_val, y_val=y_val)


@pytest.mark.slow
@pytest.mark.parametrize("release", ["best", "evaluation"])
@pytest.mark.parametrize("name", NAMES)
def test_without_noise_the_score_is_what_the_scorer_computes(name, release, skewed):
    search = searched(*skewed, scoring=name, release=release)
    named = search.scorer_(search.best_estimator_, *skewed[2:])
    assert search.best_score_ == pytest.approx(named, rel=1e-4)
    low, high = search.best_score_interval_
    assert low - 1e-3 <= named <= high + 1e-3 and high - low < 1e-3
    exact = get_scorer(name)(search.best_estimator_, *skewed[2:])
    shared = (name, release) == ("r2", "evaluation")  # whose bounds are those of the evaluation
    assert (named == pytest.approx(exact)) != shared
    for shown in (search.privacy_.details(), search._repr_html_(), search.privacy_.to_json()):
        assert search.scorer_.clipping in " ".join(shown.split())


def test_scorer_of_no_search_has_no_learnt_bounds(skewed):
    X, y, X_val, y_val = skewed
    model = LinearRegression().fit(X, y)
    for name in NAMES:
        theirs = get_scorer(name)(model, X_val, y_val)
        assert make_private_scorer(name)(model, X_val, y_val) == pytest.approx(theirs)
    bounded = make_private_scorer("neg_mean_absolute_error", bounds=(-1.5, 0))
    expected = -np.minimum(abs(y_val - model.predict(X_val)), 1.5).mean()
    assert bounded(model, X_val, y_val) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("neg_mean_absolute_error", {}, "each error above 12.3 counted as 12.3"),
        ("neg_mean_squared_error", {}, "each squared error above 12.3 counted as 12.3"),
        ("neg_root_mean_squared_error", {}, "each error above 12.3 counted as 12.3"),
        ("neg_root_mean_squared_log_error", {}, "each log error above 12.3 counted as 12.3"),
        ("neg_mean_pinball_loss", {}, "each pinball loss above 12.3 counted as 12.3"),
        ("neg_log_loss", {"bounds": (-3, -1)}, "each log loss above 3 counted as 3, below 1 as 1"),
        (lambda y, p: y, {"bounds": (-3, 2)}, "each gain clipped to [-3, 2]"),
        ("r2", {"largest_error": 3}, "each error above 3 counted as 3, each distance of a label "
         "from 0.5 above 3 as 3"),
        ("accuracy", {}, ""),
        ("f1", {}, ""),
        ("neg_brier_score", {}, ""),
    ],
)  # fmt: skip
def test_clipping_in_words(name, params, expected):
    params = params or ({"bounds": (-12.3, 0)} if "12.3" in expected else {})
    scorer = make_private_scorer(name, **params).prepare(np.array([0.0, 1.0]))
    assert scorer.clipping == expected


@pytest.mark.slow
def test_evaluation_of_a_regressor_shows_what_is_clipped(skewed):
    X, y, X_val, y_val = skewed
    model = LinearRegression().fit(X, y)
    evaluation = private_evaluation(model, X_val, y_val, X=X, y=y, **EXACT)
    c, error = evaluation.largest_error, y_val - model.predict(X_val)
    e = np.clip(error, -c, c)
    for name, exact in [
        ("share_clipped", np.mean(abs(error) >= c)),
        ("mean_absolute_error", abs(e).mean()),
        ("root_mean_squared_error", np.sqrt((e**2).mean())),
        ("mean_error", e.mean()),
    ]:
        assert float(evaluation.score(name)) == pytest.approx(exact, abs=1e-5 * c), name
    assert float(evaluation.score("share_clipped")) > 0
    assert f"each error above {c:.4g} counted as {c:.4g}" in evaluation.clipping
    for shown in (repr(evaluation), evaluation._repr_html_(), evaluation.to_json()):
        assert evaluation.clipping in " ".join(shown.split())
    assert json.loads(evaluation.to_json())["largest_error"] == c


@pytest.mark.filterwarnings("default")
def test_evaluation_warns_if_many_public_errors_are_clipped(skewed):
    X, y, X_val, y_val = skewed
    model = LinearRegression().fit(X, y)
    with pytest.warns(UserWarning, match="of the errors on X exceed 0.1"):
        private_evaluation(model, X_val, y_val, X=X, y=y, largest_error=0.1, **EXACT)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "of the errors")
        private_evaluation(model, X_val, y_val, X=X[:50], y=y[:50], **EXACT)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("name", [*NAMES, "neg_mean_squared_log_error", "explained_variance"])
def test_intervals_have_a_width_and_stay_in_range_however_large_the_noise(name, sign):
    y = np.linspace(1.0, 3.0, 100)
    scorer, units = make_private_scorer(name).prepare(y), Units.of(1_000)
    scale = scorer.counts.sensitivity(units) / 0.5
    n = len(scorer.counts.lowest_values(y[:1], 1).reshape(1, -1)[0])
    far = int(sign * (2_000 * GRID + 20 * scale))
    counts = (far, *[GRID * 300, GRID * 10, GRID * 10][: n - 1])
    value, (low, high) = score_and_interval(scorer, units, NoisyCounts(counts, scale))
    assert scorer.bounds[0] <= low <= value <= high <= scorer.bounds[1]
    assert low < high


# ------------------------------------------------------------------ the sensitivity of sums
# ------------------------------------------------------------------ few scores
@pytest.mark.slow
@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_bins_hide_nothing_of_a_small_tree(name):
    """Of bins for the scores of a fit on four fifths of the training set, one area was 0.58."""
    rng = np.random.default_rng(0)
    y = (rng.random(3_000) < 0.03).astype(int)
    X = rng.normal(size=(3_000, 3)) + 1.2 * y[:, None] * [1, 0, 0]
    search = PrivateBayesSearchCV(
        DecisionTreeClassifier(random_state=0), {"max_depth": [2]}, scoring=name,
        release="evaluation", **EXACT,
    )  # fmt: skip
    search.fit(X[:1_000], y[:1_000], X_val=X[1_000:], y_val=y[1_000:])
    exact = search.scorer_(search.best_estimator_, X[1_000:], y[1_000:])
    assert search.best_score_ == pytest.approx(exact, abs=1e-6)
    if name == "roc_auc":
        assert exact == roc_auc_score(y[1_000:], search.predict_proba(X[1_000:])[:, 1])


def test_an_evaluation_whose_errors_are_mostly_clipped_says_so(rng):
    """Targets of another level: each error is the bound, and R2 and the mean error say little."""
    X = rng.normal(size=(600, 2))
    y = X @ [1.0, 2.0] + 0.1 * rng.normal(size=600)
    model = Ridge().fit(X[:300], y[:300])
    with pytest.warns(LowUtilityWarning, match="The errors of 100.0% of the records"):
        private_evaluation(model, X[300:], y[300:] + 50, X=X[:300], y=y[:300], epsilon=1e4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LowUtilityWarning)
        private_evaluation(model, X[300:], y[300:], X=X[:300], y=y[:300], epsilon=1e4)
