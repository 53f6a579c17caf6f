"""Declared privacy profiles: their composition, by exact distributions, and what a search sets."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from few import few
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_dpbo import PrivacyLedger, PrivateTableSearchCV
from sklearn_dpbo.audit import audit_estimator
from sklearn_dpbo.learners import PrivateTraining
from sklearn_dpbo.privacy.gdp import delta_of_gdp, epsilon_of_gdp, gdp_within
from sklearn_dpbo.privacy.profiles import (
    delta_of_n,
    epsilon_of_profile,
    profile_of_all,
    setting_within,
)
from sklearn_dpbo.privacy.runs import Composed, FitGuarantee, Repeated

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 3.5)


def hockey_stick(p, q, epsilon):
    """Return the larger delta of both directions, for each epsilon."""
    e = np.exp(np.asarray(epsilon, dtype=float))[..., None]
    return np.maximum(*(np.maximum(a - e * b, 0).sum(axis=-1) for a, b in ((p, q), (q, p))))


def mechanisms(n, size, seed=0):
    """Return pairs of distributions of `size` outputs, of which some have another support."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        pair = rng.dirichlet(np.full(size, 0.7), size=2) + 1e-3
        pair[rng.integers(2), rng.integers(size)] *= rng.integers(2)
        yield pair / pair.sum(axis=1, keepdims=True)


def product_of(pairs):
    """Return the pair of distributions of outputs of several mechanisms, one after another."""
    p, q = np.ones(1), np.ones(1)
    for one, other in pairs:
        p, q = np.outer(p, one).ravel(), np.outer(q, other).ravel()
    return p, q


# ------------------------------------------------------------------------- composition
@pytest.mark.parametrize("n", [2, 3, 4])
def test_composition_is_nowhere_below_the_exact_one(n):
    """A profile is for both directions; a pair that has the same in both attains it nearly."""
    for pair in mechanisms(8, 3):
        profile = partial(hockey_stick, *pair)
        exact = hockey_stick(*product_of([pair] * n), EPSILONS)
        bound = [delta_of_n(profile, n, epsilon) for epsilon in EPSILONS[1:]]
        assert (bound >= exact[1:]).all()
        both = np.append(pair[0], pair[1]) / 2, np.append(pair[1], pair[0]) / 2
        symmetric = partial(hockey_stick, *both)
        exact = hockey_stick(*product_of([both] * n), EPSILONS)
        for epsilon, least in zip(EPSILONS[3:], exact[3:], strict=True):
            assert least <= delta_of_n(symmetric, n, epsilon) <= least * 1.01 + 1e-6


def test_profiles_of_too_small_a_loss_do_not_bound_the_composition():
    pair = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.2, 0.7])
    exact = hockey_stick(*product_of([pair] * 3), 3.0)
    half = delta_of_n(lambda e: hockey_stick(*pair, 2 * e), 3, 3.0)
    assert half < exact <= delta_of_n(partial(hockey_stick, *pair), 3, 3.0)


def test_what_comes_first_may_decide_which_mechanism_is_next():
    """Adaptive composition, with the largest of their profiles."""
    first, *later = mechanisms(4, 3, seed=1)
    profile = profile_of_all([partial(hockey_stick, *pair) for pair in (first, *later)], 1)
    p, q = (
        np.concatenate([first[side][i] * pair[side] for i, pair in enumerate(later)])
        for side in (0, 1)
    )
    for epsilon in EPSILONS[1:]:
        assert delta_of_n(profile, 2, epsilon) >= hockey_stick(p, q, epsilon)
    assert profile(0.5) >= max(hockey_stick(*pair, 0.5) for pair in (first, *later))


def test_two_steps_are_nowhere_below_the_exact_delta():
    """From one data set to another through a third: one record removed, and one added."""
    for p, middle, q in (np.random.default_rng(i).dirichlet(np.ones(4), 3) for i in range(30)):
        profile = lambda e: np.maximum(  # noqa: E731
            hockey_stick(p, middle, e), hockey_stick(middle, q, e)  # noqa: B023
        )  # fmt: skip
        bound = profile_of_all([profile], 2)(np.array(EPSILONS))
        assert (bound >= hockey_stick(p, q, EPSILONS) - 1e-12).all()


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(1e-6, 1.0), min_size=4, max_size=4),
    st.lists(st.floats(1e-6, 1.0), min_size=4, max_size=4),
    st.floats(0.01, 20.0),
)
def test_composition_and_two_steps_hold_for_any_pair(one, other, epsilon):
    p, q = np.array(one) / sum(one), np.array(other) / sum(other)
    profile = profile_of_all([partial(hockey_stick, p, q)], 1)
    assert delta_of_n(profile, 2, epsilon) >= hockey_stick(*product_of([(p, q)] * 2), epsilon)
    twice = profile_of_all([partial(hockey_stick, p, q)], 2)(epsilon)
    assert twice >= profile(epsilon) and twice >= hockey_stick(p, p, epsilon)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_composition_of_randomised_response_is_that_of_the_binomial(delta):
    """With probability delta the record itself is shown."""
    e, n = 0.5, 4
    yes, no = math.exp(e) / (1 + math.exp(e)), 1 / (1 + math.exp(e))
    p = np.array([(1 - delta) * yes, (1 - delta) * no, delta, 0])
    q = np.array([(1 - delta) * no, (1 - delta) * yes, 0, delta])
    for epsilon in (0.5, 1.0, 1.5):
        exact = hockey_stick(*product_of([(p, q)] * n), epsilon)
        bound = delta_of_n(partial(hockey_stick, p, q), n, epsilon)
        assert exact <= bound <= exact * 1.005
    bound = delta_of_n(partial(hockey_stick, p, q), n, 2.0 + 1e-6)
    assert 1 - (1 - delta) ** n <= bound <= 1 - (1 - delta) ** n + 1e-4


@pytest.mark.parametrize("n", [2, 4])
def test_composition_is_as_good_as_that_of_another_library(n):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    laplace = pld.from_laplace_mechanism(2.0, value_discretization_interval=1e-4)
    composed = laplace.self_compose(n)
    for epsilon in (0.6, 1.1, 1.7):
        expected = composed.get_delta_for_epsilon(epsilon)
        found = delta_of_n(profile_of_all([laplace.get_delta_for_epsilon], 1), n, epsilon)
        assert found == pytest.approx(expected, rel=1e-2, abs=1e-9)


# ------------------------------------------------------------------------- the setting
RUNS = (Composed(1), Composed(2), Composed(4), Repeated.of_mean(24, 1.0))


def mu_of(runs, factor, epsilon, delta):
    """Return the mu that is found for Gaussian noise whose profile was declared."""
    profile = lambda mu: profile_of_all([partial(delta_of_gdp, mu)], factor)  # noqa: E731
    return setting_within(
        lambda mu: runs.delta(epsilon, profile(mu)), delta, "mu", is_noise=False
    )  # fmt: skip


@pytest.mark.parametrize("factor", few([1, 2], 1))
@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-6), (1.0, 0.01), (8.0, 1e-12)])
@pytest.mark.parametrize("runs", RUNS, ids=str)
def test_a_declared_gaussian_profile_costs_what_gdp_does(runs, epsilon, delta, factor):
    """The true mu is known; it is nearly found, and never exceeded."""
    if runs.secret:
        exact = runs.mu_within(epsilon, delta) / factor
    else:
        exact = gdp_within(epsilon, delta) / math.sqrt(runs.n) / factor
    found = mu_of(runs, factor, epsilon, delta)
    assert exact * 0.998 < found <= exact * (1 + 1e-7)


@pytest.mark.parametrize("epsilon", [1e-9, 1.19e-9, 1e-7, 5e-5])
def test_composition_keeps_its_digits_however_small_epsilon_is(epsilon):
    """Of randomised response, in fractions, which losses of a grid lose."""
    odds = 1 + Fraction(math.expm1(epsilon * 0.55))
    one = [odds / (1 + odds), 1 / (1 + odds)]

    def exact(p, q, e):
        times = 1 + Fraction(math.expm1(e))
        return sum(max(Fraction(0), a - times * b) for a, b in zip(p, q, strict=True))

    def profile(epsilons):
        return np.array([float(exact(one, one[::-1], e)) for e in epsilons])

    p, q = one, one[::-1]
    for n in (2, 3, 4):
        p = [a * b for a in p for b in one]
        q = [a * b for a in q for b in one[::-1]]
        bound = delta_of_n(profile_of_all([profile], 1), n, epsilon)
        assert float(exact(p, q, epsilon)) <= bound


def test_two_steps_of_gaussian_noise_are_one_of_twice_the_mean():
    runs, epsilon, delta = Composed(1), 2.0, 1e-6
    exact = gdp_within(*runs.each(FitGuarantee("GDP", 2), epsilon, delta))
    assert mu_of(runs, 2, epsilon, delta) == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("is_noise", [True, False])
def test_the_setting_with_the_least_noise_is_found(is_noise):
    def delta_of(setting):
        noise = setting if is_noise else 1 / setting
        return math.exp(-noise)

    found = setting_within(delta_of, 1e-3, "sigma", is_noise=is_noise)
    assert delta_of(found) <= 1e-3 < delta_of(found * (0.999 if is_noise else 1.001))


@pytest.mark.parametrize(
    ("delta_of", "message"),
    [
        (lambda x: 0.5, "no sigma up to .* is private enough.*delta=0.5"),
        (lambda x: 0.0, "promises delta=0 .*does it depend on sigma"),
        (lambda x: -math.expm1(-x), "more noise must not cost more"),
    ],
)
def test_settings_that_do_not_decide_are_refused(delta_of, message):
    with pytest.raises(ValueError, match=message):
        setting_within(delta_of, 1e-3, "sigma", is_noise=True)


def test_epsilon_of_a_profile_is_rounded_up():
    profile = partial(delta_of_gdp, 0.5)
    found = epsilon_of_profile(profile, 1e-6)
    assert profile(found) <= 1e-6
    assert found == pytest.approx(epsilon_of_gdp(0.5, 1e-6), rel=1e-6)
    assert epsilon_of_profile(profile, 0.9) == 0
    assert epsilon_of_profile(lambda e: 0.1 + 0 * e, 1e-6) == math.inf


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (lambda e: e * np.nan, "from 0 to 1; found nan for epsilon=0"),
        (lambda e: 1.5 - e, "from 0 to 1; found 1.5"),
        (lambda e: -e / 10, "from 0 to 1; found -0.1 for epsilon=1"),
        (
            lambda e: e / 10,
            "must not grow with epsilon; found delta=0 for epsilon=0, and 0.1 for 1",
        ),
        (lambda e: 0.1, "an array of 3 deltas.*the shape \\(\\)"),
        (lambda e: [0.1, 0.0], "an array of 3 deltas"),
    ],
)
def test_what_is_no_profile_is_refused(profile, message):
    with pytest.raises(ValueError, match=message):
        profile_of_all([profile], 1)(np.array([0.0, 1.0, 2.0]))


def test_rounding_of_accountants_is_no_error_and_no_gain():
    higher = 1e-5 * (1 + 1e-9)
    profile = profile_of_all([lambda e: np.select([e > 3, e == 1], [-1e-15, 1e-5], higher)], 1)
    assert profile(np.array([2.0, 1.0, 1.0, 4.0])).tolist() == [higher] * 3 + [0.0]


# ------------------------------------------------------------------------- a search
def gaussian(cost, noise_multiplier):
    """Return the profile of Gaussian noise: mu is `cost` over the multiplier."""
    return partial(delta_of_gdp, cost / noise_multiplier)


class Declared(ClassifierMixin, BaseEstimator):
    """Separates classes by a noisy sum, in which `cost` queries have the sensitivity 1 each."""

    def __init__(self, noise_multiplier=1.0, cost=1.0, profile=gaussian, labels=None, scale=1.0):
        self.noise_multiplier = noise_multiplier
        self.cost = cost
        self.profile = profile
        self.labels = labels
        self.scale = scale

    def private_training(self):
        if self.cost is None:
            return PrivateTraining("GDP")
        return PrivateTraining(
            "profile",
            profile=partial(self.profile, self.cost),
            noise_multiplier="noise_multiplier",
            classes="labels",
            noise="made up",
        )

    def fit(self, X, y):
        self.classes_ = np.asarray(self.labels)
        sign = np.where(np.asarray(y) == self.classes_[0], -1, 1)
        noise = np.random.default_rng().normal() * self.noise_multiplier / self.cost
        self.coef_ = np.array([sign @ np.clip(np.nan_to_num(X)[:, 0], -0.5, 0.5) + noise])
        return self

    def predict(self, X):
        return self.classes_[(np.nan_to_num(X)[:, 0] * self.coef_[0] > 0).astype(int)]


@pytest.fixture
def table():
    X = np.random.default_rng(0).uniform(-1, 1, (300, 1))
    return X, (X[:, 0] > 0).astype(int)


def search_of(grid, model=None, **params):
    params = {"epsilon": 3.0, "delta": 1e-6, "random_state": 0} | params
    return PrivateTableSearchCV(model or Declared(), grid, **params)


pytestmark = pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")


@pytest.mark.parametrize(
    ("n_candidates", "n_fits"), [(1, 1), (3, 3), (8, 24)], ids=["one", "composed", "repeated"]
)
def test_a_search_sets_the_noise_that_all_fits_need(table, tmp_path, n_candidates, n_fits):
    ledger = PrivacyLedger(tmp_path / "a.ledger", "data", epsilon=5, delta=1e-5, create=True)
    grid = {"scale": list(range(n_candidates))}
    search = search_of(grid, n_fits=n_fits, ledger=ledger).fit(*table)
    noise = search.best_estimator_.noise_multiplier
    mu = gdp_within(3.0, 1e-6) / math.sqrt(n_fits)
    if n_fits == 24:
        mu = Repeated.of_mean(24, 1.0).mu_within(3.0, 1e-6)
    assert 1 <= noise * mu < 1.001
    assert ledger.spent == {"epsilon": 3.0, "delta": 1e-6}
    assert (search.privacy_.epsilon, search.privacy_.delta) == (3.0, 1e-6)
    said = str(search.privacy_.spends[0])
    assert f"noise_multiplier={noise:.4g}" in said
    one = epsilon_of_gdp(1 / noise, 1e-6)
    assert f"epsilon={one:.3g}, delta=1e-06" in said
    assert "(profile, replace-one)" in search.privacy_.condition


def test_all_candidates_have_the_noise_of_the_one_that_needs_most(table):
    search = search_of({"cost": [1.0, 4.0, 2.0]}, n_fits=3).fit(*table)
    noise = search.best_estimator_.noise_multiplier
    assert 1 <= noise / 4 * gdp_within(3.0, 1e-6) / math.sqrt(3) < 1.001


def test_equal_profiles_are_computed_once(table):
    calls = []

    def counting(cost, noise_multiplier):
        calls.append((cost, noise_multiplier))
        return gaussian(cost, noise_multiplier)

    model = Declared(profile=counting)
    search_of({"scale": list(range(8))}, model, n_fits=24).fit(*table)
    settings = {noise for _, noise in calls}
    assert 10 < len(settings) < 25 and len(calls) == len(settings) + 1


def test_the_last_step_of_a_pipeline_gets_the_noise(table):
    model = make_pipeline(FunctionTransformer(), Declared())
    search = search_of({"declared__scale": [1, 2]}, model, n_fits=2).fit(*table)
    noise = search.best_estimator_[-1].noise_multiplier
    assert 1 <= noise * gdp_within(3.0, 1e-6) / math.sqrt(2) < 1.001


class ByClasses(Declared):
    """Spends more if there are more classes."""

    def private_training(self):
        self_ = self if self.labels is None else self.__class__(cost=len(self.labels))
        return Declared.private_training(self_)


def test_profiles_may_depend_on_the_classes_that_the_search_sets(table):
    search = search_of(None, ByClasses()).fit(*table)
    assert 1 <= search.best_estimator_.noise_multiplier / 2 * gdp_within(3.0, 1e-6) < 1.001


class Epsilon(Declared):
    """Has a parameter that is larger with less noise."""

    def __init__(self, epsilon=1.0, labels=None, neighbours="replace-one", broken=False):
        self.epsilon = epsilon
        self.labels = labels
        self.neighbours = neighbours
        self.broken = broken

    def private_training(self):
        own = lambda e: partial(delta_of_gdp, 1 / e if self.broken else e)  # noqa: E731
        return PrivateTraining(
            "profile", delta=None, profile=own, neighbours=self.neighbours, classes="labels"
        )

    def fit(self, X, y):
        self.noise_multiplier, self.cost = 1 / self.epsilon, 1.0
        return super().fit(X, y)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
def test_a_parameter_that_grows_with_the_loss_is_set(table, neighbours):
    search = search_of(None, Epsilon(neighbours=neighbours)).fit(*table)
    steps = 1 if neighbours == "replace-one" else 2
    mu = gdp_within(3.0, 1e-6) / steps
    assert 0.998 < search.best_estimator_.epsilon / mu <= 1 + 1e-7


@pytest.mark.parametrize(
    ("model", "grid", "message"),
    [
        (Declared(profile=lambda cost, noise: lambda e: e * np.nan), None, "found nan"),
        (Declared(profile=lambda cost, noise: lambda e: 0.1 + 0 * e), None, "private enough"),
        (Declared(profile=lambda cost, noise: lambda e: 0 * e), None, "does it depend on noise_m"),
        (Epsilon(broken=True), None, "more noise must not cost more"),
        (Declared(), {"noise_multiplier": [1.0, 2.0]}, "changes.*noise_multiplier"),
        (Declared(), {"cost": [1.0, None]}, "changes the kind of guarantee"),
    ],
)
def test_profiles_that_promise_nothing_are_refused_before_the_charge(
    table, tmp_path, model, grid, message
):
    ledger = PrivacyLedger(tmp_path / "a.ledger", "data", epsilon=5, delta=1e-5, create=True)
    with pytest.raises(ValueError, match=message):
        search_of(grid, model, ledger=ledger).fit(*table)
    assert ledger.spent == {"epsilon": 0, "delta": 0}


def test_without_delta_a_profile_is_refused(table):
    with pytest.raises(ValueError, match="delta is 0.*kind profile"):
        search_of(None, delta=0).fit(*table)


def test_an_audit_tests_the_declared_profile():
    X, y = np.array([[-0.5], [0.5], [0.0]]), np.array([0, 1, 1])
    honest = audit_estimator(Declared(2.0), X, y, n=400, random_state=0)
    expected = epsilon_of_profile(partial(delta_of_gdp, 0.5), 0.05)
    assert (honest.epsilon, honest.delta) == (pytest.approx(expected), 0.05)
    assert not honest.refuted
    false = Declared(2.0, profile=lambda cost, noise: gaussian(cost, 40 * noise))
    assert audit_estimator(false, X, y, n=2000, random_state=0).refuted


def test_no_epsilon_and_delta_are_taken_for_a_profile():
    training = Declared().private_training()
    with pytest.raises(ValueError, match="composition must be one of.*'profile'"):
        training.fit  # noqa: B018
