"""Guidance of the worst-case strategy: the candidates that it tries, and their privacy cost."""

import math
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from few import few
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import uniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import PredefinedSplit, ShuffleSplit

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.privacy.gdp import delta_of_gdp, gdp_within
from sklearn_dpbo.privacy.mechanisms import COUNTS, Price
from sklearn_dpbo.privacy.zcdp import _log_delta
from sklearn_dpbo.strategies import WorstCase
from sklearn_dpbo.testing import seeded_noise

KINDS = ["none", "public"]


# ---------------------------------------------------------------- accounting
@settings(max_examples=60)
@given(rho=st.floats(1e-6, 100), epsilon=st.floats(0.01, 200))
def test_zcdp_conversion_equals_that_of_opendp(rho, epsilon):
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    scale = 2 / math.sqrt(8 * rho)
    measured = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale)
    theirs = dp.c.make_zCDP_to_approxDP(measured).map(1).delta(epsilon)
    ours = math.exp(min(_log_delta(rho, epsilon), 0.0))
    a = np.logspace(-6, 6, 20_001)  # alpha - 1: every alpha gives a valid delta
    valid = (a * ((a + 1) * rho - epsilon) - np.log(a) - (a + 1) * np.log1p(1 / a)).min()
    valid = math.exp(min(valid, 0.0))
    # The grid may miss the best order slightly, and then gives a slightly larger delta.
    assert 0.99 * valid - 1e-300 <= ours <= valid * (1 + 1e-6) + 1e-300
    assert ours <= theirs * (1 + 1e-4) + 1e-12
    if theirs < 0.5:  # beyond, OpenDP does not try small enough orders
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-12)


@settings(max_examples=60)
@given(epsilon=st.floats(1e-3, 1e3), delta=st.floats(1e-12, 0.1), n=st.integers(1, 200))
def test_draws_cost_at_most_their_budget(epsilon, delta, n):
    draws = Price.shared(n, epsilon, delta, COUNTS)
    assert draws.n == n and draws.epsilon == epsilon and draws.delta <= delta
    pure = Price.shared(n, epsilon, 0.0, COUNTS)
    assert not pure.gaussian and pure.delta == 0
    assert n / Fraction(pure.scale(1)) <= Fraction(epsilon)
    if draws.gaussian:
        assert draws.scale(1) <= math.sqrt(2) * pure.scale(1)
        continuous = math.sqrt(draws.scale(1) ** 2 - 4)  # and what makes it discrete
        mu = math.sqrt(n) / continuous
        assert delta_of_gdp(mu, epsilon) <= delta * (1 + 1e-9)
        assert mu == pytest.approx(gdp_within(epsilon, delta), rel=1e-6)


# ---------------------------------------------------------------- the whole search
class Surface(ClassifierMixin, BaseEstimator):
    """Right on a share of the records that depends on x and y; the feature is the record number."""

    def __init__(self, x=0.0, y=0.0, z="a"):
        self.x, self.y, self.z = x, y, z

    def fit(self, X, y):
        if self.z == "fails":
            raise RuntimeError("cannot fit this one")
        self.classes_ = np.array([0, 1])
        return self

    def share(self):
        return math.exp(-4 * (self.x - 0.7) ** 2 - 4 * (self.y - 0.2) ** 2)

    def predict(self, X):
        return (X[:, 0] < self.share()).astype(int)


def numbered(m):
    """m records, all of class 1, numbered evenly in [0, 1)."""
    X = (np.arange(m)[:, None] + 0.5) / m
    return X, np.ones(m, dtype=int)


SPACE = {"x": uniform(0, 1), "y": uniform(0, 1)}


def search_of(guidance="public", *, space=SPACE, m=4000, estimator=None, validation=None, **params):
    strategy = {k: params.pop(k) for k in list(params) if hasattr(WorstCase(), k)}
    params = dict(n_iter=32, random_state=0, epsilon=1.0) | params
    params = {"prediction": "together"} | params
    search = PrivateBayesSearchCV(
        estimator or Surface(), space, strategy=WorstCase(guidance, **strategy), **params
    )
    X, y = numbered(400)
    X_val, y_val = validation or numbered(m)
    with seeded_noise(0):
        return search.fit(X, y, X_val=X_val, y_val=y_val)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (1.0, 1e-6), (30.0, 1e-6)])
def test_each_guidance_spends_epsilon_and_finds_good_candidate(kind, epsilon, delta):
    search = search_of(kind, epsilon=epsilon, delta=delta, n_iter=48, m=10_000)
    spent = search.privacy_.spends
    assert sum(Fraction(loss.epsilon) for loss in spent) <= Fraction(epsilon)
    assert sum(loss.epsilon for loss in spent) == pytest.approx(epsilon)
    assert sum(loss.delta for loss in spent) <= delta
    assert search.privacy_.delta <= delta
    found = search.cv_results_
    assert len(found["params"]) == 48
    assert (~found["validated"]).sum() == (16 if kind == "public" else 0)
    assert found["validated"][search.best_index_]
    assert Surface(**search.best_params_).share() > 0.95


@pytest.mark.slow
def test_all_candidates_of_small_space_are_validated():
    grid = {"x": [0.1, 0.5, 0.9], "y": [0.1, 0.2, 0.3]}
    for kind in KINDS:
        found = search_of(kind, space=grid, epsilon=100.0).cv_results_
        assert len(found["params"]) == 9 and found["validated"].all()
    assert search_of(n_iter=7).cv_results_["validated"].all(), "too few candidates to explore"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_guidance_handles_conditional_and_categorical_parameters(kind):
    space = [
        {"x": uniform(0, 1), "z": ["a", "b", None]},
        {"x": uniform(0, 1), "y": uniform(0, 1), "z": ["c"]},
        {"x": [0.1, 0.7], "y": [0.2, 0.3]},
    ]
    search = search_of(kind, space=space, epsilon=50.0, n_iter=40)
    assert Surface(**search.best_params_).share() > 0.9
    keys = [tuple(sorted(p)) for p in search.cv_results_["params"]]
    assert len(set(keys)) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_failed_fits_are_reported_and_not_selected(kind):
    space = {**SPACE, "z": ["a", "fails", "b"]}
    with pytest.warns(Warning, match="candidates failed"):
        search = search_of(kind, space=space, epsilon=100.0, n_iter=32)
    assert search.best_params_["z"] != "fails"
    failed = [p["z"] == "fails" for p in search.cv_results_["params"]]
    assert [e is not None for e in search.cv_results_["fit_error"]] == failed


@pytest.mark.parametrize("n_start", few([2, 7, 12]))
@pytest.mark.parametrize("kind", KINDS)
def test_all_initial_points_are_validated_even_with_few_evaluations(kind, n_start):
    start = [{"x": i / 16, "y": 1 - i / 16} for i in range(n_start)]
    params = {"initial_points": start, "n_iter": max(8, n_start), "epsilon": 1000.0}
    search = search_of(kind, **params, batch_size=2)
    found = search.cv_results_
    validated = [p for p, v in zip(found["params"], found["validated"], strict=True) if v]
    assert validated[:n_start] == start


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([{"x": 2.0, "y": 0.1}], r"x=2.0 is not a value of its distribution.*from 0 to 1"),
        ([{"x": 0.5}], r"has the parameters \['x'\], not \['x', 'y'\]"),
        ({"x": 0.5, "y": 0.5}, "list of dicts"),
        (
            [{"x": i / 50, "y": 0.5} for i in range(40)],
            "has 40 candidates, more than n_iter=32",
        ),
    ],
)
def test_invalid_initial_points_raise_value_error(start, message):
    with pytest.raises(ValueError, match=message):
        search_of(initial_points=start)


@pytest.mark.parametrize("kind", KINDS)
def test_no_fit_times_are_recorded_for_validated_candidates(kind):
    """Their times depend on how long validation records take to predict."""
    results = search_of(kind, n_iter=24, refit=False, epsilon=100.0).cv_results_
    assert (np.isnan(results["mean_fit_time"]) == results["validated"]).all()


@pytest.mark.slow
def test_public_cv_splits_the_training_set():
    split = PredefinedSplit(np.repeat([-1, 0], [300, 100]))
    search = search_of(public_cv=split, epsilon=100.0)
    # The 100 held-out records have numbers above 0.75: most candidates are wrong on all of them.
    scores = search.cv_results_["public_score"]
    assert set(np.round(scores[~np.isnan(scores)] * 100) % 1) == {0}
    assert np.nanmedian(scores) < 0.2
    for bad in (3, ShuffleSplit(2), [(np.arange(10), np.arange(5, 20))]):
        with pytest.raises(ValueError, match="public_cv|overlap"):
            search_of(public_cv=bad)


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("guidance", "all", "guidance must be one of"),
        ("score_share", 1.0, r"in \[0, 1\)"),
        ("batch_size", 0, "1 or more"),
        ("batch_size", True, "1 or more"),
        ("prior_weight", -1, "from 0 up"),
        ("prior_weight", float("inf"), "from 0 up"),
    ],
)
def test_invalid_strategy_parameters_raise_value_error_before_any_fit(parameter, value, message):
    class Never(Surface):
        def fit(self, X, y):
            raise AssertionError("fitted")

    params = {"guidance": "public"} | {parameter: value}
    with pytest.raises(ValueError, match=message):
        search_of(**params, estimator=Never())
