"""Where losses are clipped: by public losses, and as far as noise allows it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.tree import DecisionTreeClassifier

from sklearn_dpbo import PrivateBayesSearchCV, make_private_scorer
from sklearn_dpbo.exceptions import LowUtilityWarning
from sklearn_dpbo.metrics import _bounds
from sklearn_dpbo.metrics._response import Predictions
from sklearn_dpbo.records.units import Units
from sklearn_dpbo.strategies import WorstCase

pytestmark = pytest.mark.usefixtures("seeded")
LOSSES = ["neg_mean_absolute_error", "neg_mean_squared_error", "neg_root_mean_squared_error"]


# ------------------------------------------------------------------ the bounds
@pytest.mark.parametrize("reach", [20.0, 100.0, 1_000.0])
def test_bias_and_noise_are_least_at_the_bound(reach, rng):
    losses = rng.exponential(size=20_000)
    c = _bounds.of_score(losses, np.zeros(10), reach)

    def cost(at):
        return np.maximum(losses - at, 0).mean() + at / reach

    assert all(cost(c) < cost(c * by) for by in (0.7, 0.85, 1.2, 1.5))
    assert c == pytest.approx(max(math.log(reach), 3.0), rel=0.1)


@pytest.mark.parametrize("index", [0.2, 0.5])
def test_quantiles_beyond_the_largest_loss_are_those_of_a_pareto_tail(index, rng):
    found = [_bounds.quantile(rng.random(2_000) ** -index, 1e-5) for _ in range(200)]
    assert np.median(np.log(found)) == pytest.approx(index * math.log(1e5), rel=0.12)


@given(
    st.lists(st.floats(0, 1e9), min_size=1, max_size=60),
    st.floats(1e-3, 1e6),
    st.floats(0.1, 1e12),
)
@settings(max_examples=100, deadline=None)
def test_bounds_are_positive_grow_with_epsilon_and_follow_the_unit(losses, unit, reach):
    losses = np.array(losses)
    c, more = (_bounds.of_score(losses, losses, r) for r in (reach, 3 * reach))
    assert 0 < c <= more
    if c > 1e-6 and losses.any():
        assert _bounds.of_score(unit * losses, unit * losses, reach) == pytest.approx(unit * c)
    for of in (losses[None], np.stack([losses, 2 * losses])):
        assert 0 < _bounds.of_choice(of, c, reach) <= c
    assert _bounds.of_ratio(losses, losses, 2.5, (1.0, 0.75), reach) > 0


def test_few_large_losses_among_small_ones_count_where_noise_allows_it():
    """The tail began at the tenth largest, a small one, and the bound was a hundredth of them."""
    losses = np.append(np.linspace(0.0, 1.0, 794), np.linspace(1e6, 2e6, 6))
    constant = np.append(np.zeros(4_000), np.full(30, 1e6))
    assert _bounds.of_score(losses, constant, 4_000.0) >= 2e6
    assert _bounds.of_score(losses, constant, 100.0) < 1e6


@pytest.mark.parametrize("reach", [20.0, 1e5])
def test_a_choice_sees_rare_losses_if_they_decide(reach):
    """The second candidate is worse by one loss in a hundred, and better otherwise."""
    good, bad = np.full(2_000, 1.0), np.full(2_000, 0.9)
    bad[::100] = 50.0
    c = _bounds.of_choice(np.stack([good, bad]), 50.0, reach)
    assert np.minimum(good, c).mean() < np.minimum(bad, c).mean()


def test_a_choice_does_not_pay_for_rare_losses_that_all_candidates_have():
    losses = np.stack([np.full(2_000, loss) for loss in (0.6, 0.9, 1.0)])
    losses[:, ::100] = 50.0
    assert _bounds.of_choice(losses, 50.0, 100.0) < 5


# ------------------------------------------------------------------ scores that have them
def predictions(y, *errors):
    return [Predictions(y, y + error, None) for error in errors]


@pytest.mark.parametrize("name", [*LOSSES, "r2", "explained_variance"])
def test_choice_and_score_have_bounds_of_their_own(name, rng):
    y = rng.normal(0, 10, 3_000)
    public = predictions(y, rng.normal(size=3_000), rng.normal(1, 1, 3_000))
    before = make_private_scorer(name).prepare(y)
    scorer = before.with_bounds(y, public, 600.0, 400.0)
    assert before.query.bounds[0] < scorer.query.bounds[0] < 0
    (a, b), largest = scorer.line(Units.of(1)), scorer.query.largest(Units.of(1))
    assert a + b * largest == pytest.approx(float(name in ("r2", "explained_variance")))
    theirs = get_scorer(name)._score_func(y, public[0].response)
    wider = before.with_bounds(y, public, 1e6, 1e6)
    assert abs(wider.exact(public[0])) == pytest.approx(theirs, rel=1e-6)
    assert wider.share_cut_off(public[0]) == pytest.approx(0.0, abs=1e-9)
    assert 0 < scorer.share_cut_off(predictions(y, 9 * public[0].y)[0]) < 1
    assert scorer.share_cut_off(predictions(y, 0 * y)[0]) == 0.0


@pytest.mark.parametrize("name", LOSSES)
def test_given_bounds_stay(name, rng):
    y = rng.normal(size=50)
    scorer = make_private_scorer(name, bounds=(-7, 0)).prepare(y)
    assert scorer.with_bounds(y, predictions(y, y), 1e9, 1e9) is scorer
    r2 = make_private_scorer("r2", largest_error=7).prepare(y)
    assert r2.with_bounds(y, predictions(y, y), 1e9, 1e9).counts.c_e == 7


def test_a_candidate_that_is_perfect_or_useless_in_public_leaves_a_bound(rng):
    y = rng.normal(size=50)
    for name in (*LOSSES, "r2"):
        for errors in (np.zeros(50), np.full(50, np.nan), np.full(50, np.inf)):
            scorer = make_private_scorer(name).prepare(y)
            scorer = scorer.with_bounds(y, predictions(y, errors), 100.0, 100.0)
            low = scorer.query.bounds[0]
            assert math.isfinite(low) and low < -1e-3


def test_probabilities_of_zero_count_as_in_scikit_learn(rng):
    X, y = rng.normal(size=(300, 2)), rng.integers(2, size=300)
    model = DecisionTreeClassifier().fit(X[:150], y[:150])
    ours = make_private_scorer("neg_log_loss")(model, X, y)
    assert ours == pytest.approx(get_scorer("neg_log_loss")(model, X, y))


# ------------------------------------------------------------------ searches
def zero_inflated(n, share, rng):
    X = rng.normal(size=(n, 2))
    chance = share * np.exp(X[:, 0] - 0.5)
    return X, np.where(rng.random(n) < chance, rng.gamma(2, 500, n), 0.0)


@pytest.mark.parametrize("name", ["r2", "neg_mean_squared_error", "neg_mean_absolute_error"])
def test_scores_of_labels_that_are_mostly_zero_become_those_of_scikit_learn(name, rng):
    """R2 was 0.75 where scikit-learn's is 0, whatever epsilon."""
    X, y = zero_inflated(8_000, 0.02, rng)
    search = PrivateBayesSearchCV(Ridge(), {"alpha": [1.0, 1e4]}, scoring=name, epsilon=1e7)
    search.fit(X[:4_000], y[:4_000], X_val=X[4_000:], y_val=y[4_000:])
    exact = get_scorer(name)(search, X[4_000:], y[4_000:])
    assert search.best_score_ == pytest.approx(exact, rel=0.02, abs=1e-3)


def test_both_numbers_are_shown_before_the_charge_where_clipping_changes_one(rng):
    X = rng.normal(size=(4_000, 2))
    y = np.exp(X[:, 0] + 1.5 * rng.normal(size=4_000))
    data = dict(X=X[:2_000], y=y[:2_000], X_val=X[2_000:], y_val=y[2_000:])
    grid = {"loss": ["squared_error", "absolute_error"]}
    model = HistGradientBoostingRegressor(max_depth=2, max_iter=5)
    search = PrivateBayesSearchCV(model, grid, scoring="neg_mean_squared_error", epsilon=1.0)
    match = r"error is -[\d.e+]+ with large losses clipped, and -[\d.e+]+ as scikit-learn.*cuts off"
    with pytest.warns(LowUtilityWarning, match=match):
        search.fit(**data)


@pytest.mark.filterwarnings("ignore")
def test_few_losses_of_all_do_not_vanish(rng):
    """A mean squared error of 1,414 (1,197 to 1,631) was released for one of 39,996."""
    X, y = zero_inflated(4_000, 0.02, rng)
    model = HistGradientBoostingRegressor(max_depth=2, max_iter=5)
    search = PrivateBayesSearchCV(
        model, {"max_iter": [5, 6]}, scoring="neg_mean_squared_error", epsilon=1.0
    )
    search.fit(X[:2_000], y[:2_000], X_val=X[2_000:], y_val=y[2_000:])
    exact = -np.mean((y[2_000:] - search.predict(X[2_000:])) ** 2)
    low, _ = search.best_score_interval_
    assert low < exact / 2


@pytest.mark.filterwarnings("ignore")
def test_of_an_evaluation_the_warning_shows_its_bound_which_does_not_grow(rng):
    """Silent before: the search's own bound cuts nothing off at this epsilon."""
    X, y = zero_inflated(4_000, 0.02, rng)
    data = dict(X=X[:2_000], y=y[:2_000], X_val=X[2_000:], y_val=y[2_000:])
    search = PrivateBayesSearchCV(
        Ridge(), {"alpha": [1.0, 1e4]}, scoring="r2", epsilon=1e5, release="evaluation"
    )
    with pytest.warns(LowUtilityWarning, match=r"clipped, and.* of the evaluation. Pass release="):
        search.fit(**data)


@pytest.mark.first(1)
@pytest.mark.parametrize("name", [*LOSSES, "r2"])
def test_nothing_is_said_of_clipping_where_errors_are_normal(name, rng, recwarn):
    X = rng.normal(size=(4_000, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=4_000)
    grid = {"alpha": [1.0, 1e3, 1e4]}
    for epsilon in (1.0, 1e3):
        search = PrivateBayesSearchCV(Ridge(), grid, scoring=name, epsilon=epsilon)
        search.fit(X[:2_000], y[:2_000], X_val=X[2_000:], y_val=y[2_000:])
    assert not [w for w in recwarn if "clipped" in str(w.message)]


def test_counts_that_are_mostly_zero_have_a_deviance(rng):
    """The median label is 0, whose deviance is infinite; the mean is the best constant."""
    X = rng.normal(size=(2_000, 1))
    y = rng.poisson(0.1 * np.exp(X[:, 0])).astype(float)
    model = HistGradientBoostingRegressor(loss="poisson", max_depth=2, max_iter=20)
    search = PrivateBayesSearchCV(
        model, {"max_depth": [1, 2]}, scoring="neg_mean_poisson_deviance", epsilon=1e6
    )
    search.fit(X[:1_000], y[:1_000], X_val=X[1_000:], y_val=y[1_000:])
    exact = get_scorer("neg_mean_poisson_deviance")(search, X[1_000:], y[1_000:])
    assert search.best_score_ == pytest.approx(exact, rel=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_without_public_scores_the_losses_of_a_constant_set_the_bound(rng):
    X = rng.normal(size=(400, 2))
    y = X[:, 0] + rng.normal(size=400)
    for epsilon, expected in ((0.5, 0.9), (1e4, 1.0)):
        search = PrivateBayesSearchCV(
            LinearRegression(),
            {"fit_intercept": [True, False]},
            scoring="neg_mean_absolute_error",
            epsilon=epsilon,
            strategy=WorstCase(public_scores="none"),
        )
        search.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
        alone = abs(y[:200] - np.median(y[:200]))
        assert -search.scorer_.bounds[0] >= np.quantile(alone, expected)


@pytest.mark.parametrize("bounds", [{}, {"bounds": (-50.0, 0)}])
def test_an_interval_as_long_as_the_loss_is_wide_whatever_the_bound(bounds, rng):
    """RMSE was released as 0 for 1.5 without a word: a fifth of the bound is more than that."""
    X = rng.normal(size=(1_000, 2))
    y = X @ [10.0, 20.0] + rng.normal(size=1_000)
    scoring = make_private_scorer("neg_root_mean_squared_error", **bounds)
    search = PrivateBayesSearchCV(Ridge(), {"alpha": [1.0, 2.0]}, scoring=scoring, epsilon=0.5)
    with pytest.warns(LowUtilityWarning, match="of the score|many times the score"):
        search.fit(X[:500], y[:500], X_val=X[500:], y_val=y[500:])


# ------------------------------------------------------------------ odd predictions
class Predicted(RegressorMixin, BaseEstimator):
    """Predicts what the function makes of the rows."""

    def __init__(self, function=None, by=1.0):
        self.function, self.by = function, by

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.function(X, self.by)


def fitted(function, by, rng, **params):
    X, X_val = rng.normal(size=(100, 3)), rng.normal(size=(200, 3))
    search = PrivateBayesSearchCV(
        Predicted(function), {"by": by}, prediction="together", random_state=0, **params
    )
    return search.fit(X, X[:, 0], X_val=X_val, y_val=X_val[:, 0])


@pytest.mark.first(4)
@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    "name", ["r2", "explained_variance", "neg_mean_squared_error", "neg_mean_absolute_error"]
)
@pytest.mark.parametrize("by", [1e150, 1e200, np.inf, np.nan])
def test_a_candidate_that_predicts_what_no_square_holds_ends_no_search(name, by, rng):
    def function(X, by):
        return np.where(X[:, 1] > 1, by, X[:, 0])

    search = fitted(function, [0.0, by], rng, scoring=name, epsilon=100.0)
    assert search.best_params_ == {"by": 0.0}
    assert "inf" not in search.scorer_.clipping and "nan" not in search.scorer_.clipping


def test_bounds_that_are_not_finite_are_refused_before_the_charge():
    y = np.arange(9.0)
    for name in ("r2", "neg_mean_squared_error"):
        scorer = make_private_scorer(name).prepare(y).without_learnt_bounds()
        with pytest.raises(ValueError, match="finite bounds"):
            scorer.counts.sensitivity(Units.of(9))


def test_where_scikit_learn_has_no_number_that_is_said(rng):
    with pytest.warns(LowUtilityWarning, match="scikit-learn has no r2 of any candidate"):
        fitted(lambda X, by: X[:, 0] / 0.0 * by, [1.0, 2.0], rng, scoring="r2", epsilon=9.0)


@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
def test_public_scores_tell_candidates_apart_that_are_worse_than_a_constant(rng):
    """Their losses of more than the constant's largest one counted as that, and were equal."""
    X, X_val = rng.normal(size=(100, 3)), rng.normal(size=(200, 3))
    search = PrivateBayesSearchCV(
        Predicted(lambda X, by: X[:, 0] * by), {"by": [5.0, 0.0, 2.0, 1.0]}, prediction="together",
        scoring="neg_mean_absolute_percentage_error", epsilon=20.0,
    )  # fmt: skip
    search.fit(X, 1.0 + (X[:, 0] > 1), X_val=X_val, y_val=1.0 + (X_val[:, 0] > 1))
    assert search.best_params_ == {"by": 0.0}


def test_log_loss_is_clipped_no_earlier_than_at_a_hundredth(rng):
    """Few public rows do not show the tail; a bound below ln 2 made all errors alike."""
    y = np.arange(60) % 2
    public = Predictions(y, np.abs(np.c_[y, 1 - y] - 0.98), np.arange(2))
    scorer = make_private_scorer("neg_log_loss").prepare(y)
    for reach in (1.0, 1e6):
        assert scorer.with_bounds(y, [public], reach, reach).bounds[0] <= math.log(0.01)
