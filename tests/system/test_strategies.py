"""What every strategy has to guarantee, tested in the same way for all of them."""

import contextlib
import pickle
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from leaks import found_in
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.papers.kusner2015 import GPNoiseFree, GPNoisy, LipschitzConvex, UnitBall
from sklearn_dpbo.search._explore import report_failures
from sklearn_dpbo.search._release import release_scores
from sklearn_dpbo.search._strategy import Candidate
from sklearn_dpbo.strategies import Release, Strategy, WorstCase
from sklearn_dpbo.testing import seeded_noise

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn_dpbo.exceptions.GuaranteeAssumptionWarning"
)

M, T = 150, 12
FITS = []


class CountingScaler(StandardScaler):
    def fit(self, X, y=None):
        FITS.append(len(X))
        return super().fit(X, y)


class Plain(Strategy):
    """What a newcomer writes: validates all candidates, and releases the best."""

    def run(self, task):
        params = tuple(task.space.params(task.space.fill(task.n_iter, task.rng)))
        report_failures(task.candidates.fit(params))
        session, scorer = task.session, task.candidates.scorer
        statistics = session.compare(params, scorer.query)
        best = session.select(statistics, session.all_but(0.4), purpose="choice")
        released = release_scores(params[best], statistics.take(best), session, len(params))
        return Release(tuple(map(Candidate, params)), best, **released.shown)


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["accuracy", "f1", "roc_auc", "average_precision"])
def test_a_strategy_of_a_few_lines_releases_any_score(two_classes, scoring):
    X, y, X_val, y_val = two_classes
    search = PrivateBayesSearchCV(
        LogisticRegression(), {"C": [0.01, 1.0]}, strategy=Plain(), scoring=scoring, epsilon=1e6
    )
    search.fit(X, y, X_val=X_val, y_val=y_val)
    exact = search.scorer_(search.best_estimator_, X_val, y_val)
    assert search.best_score_ == pytest.approx(exact, abs=0.02)
    for release in ("evaluation", "all"):
        with pytest.raises(ValueError, match="leave out release="):
            clone(search).set_params(release=release).fit(X, y, X_val=X_val, y_val=y_val)


GIVEN = dict(k1=0.99, length_scale=0.3, prior_mean=0.5, prior_scale=0.1)
STRATEGIES = {
    "none": WorstCase("none"),
    "public": WorstCase("public"),
    "noisy": GPNoisy(),
    "noisy, alone": GPNoisy(score_share=0),
    "noise free": GPNoiseFree(A=0.1, tau=0.5),
    "noise free, alone": GPNoiseFree(score_share=0, **GIVEN),
    "lipschitz": LipschitzConvex(),
}
QUICK = ("public",)


def parameters(*quick):
    """Return the strategies as parameters; all but these run with the slow tests."""
    marks = {name: () if name in quick else pytest.mark.slow for name in STRATEGIES}
    return [pytest.param(s, id=name, marks=marks[name]) for name, s in STRATEGIES.items()]


every_strategy = pytest.mark.parametrize("strategy", parameters(*QUICK))


def model():
    classifier = LogisticRegression(fit_intercept=False, tol=1e-9, max_iter=1000)
    return make_pipeline(CountingScaler(), UnitBall(), classifier)


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100 + M, 3))
    y = np.array(["no", "yes"])[(X[:, 0] + 0.5 * rng.standard_normal(len(X)) > 0).astype(int)]
    return dict(X=X[:100], y=y[:100], X_val=X[100:], y_val=y[100:])


def fitted(strategy, seed=0, **params):
    FITS.clear()
    params = dict(
        epsilon=3.0, delta=0.1, n_iter=T, scoring="ramp", refit=strategy.releases_candidate,
        random_state=0, prediction="together",
    ) | params  # fmt: skip
    space = {"logisticregression__C": loguniform(0.05, 5.0)}
    search = PrivateBayesSearchCV(model(), space, strategy=strategy, **params)
    with contextlib.nullcontext() if seed is None else seeded_noise(seed):
        return search.fit(**data())


@cache
def fitted_once(strategy):
    """Fit with the defaults of `fitted`; tests share the result and do not change it."""
    return fitted(strategy)


@pytest.mark.slow
@every_strategy
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1e-3, 0.3)])
def test_spends_do_not_exceed_epsilon_and_delta(strategy, epsilon, delta):
    search = fitted(strategy, epsilon=epsilon, delta=delta, refit=False)
    losses = search.privacy_.spends
    assert 0 < sum(Fraction(loss.epsilon) for loss in losses) <= Fraction(epsilon)
    assert 0 <= sum(Fraction(loss.delta) for loss in losses) <= Fraction(delta)
    assert {loss.assumption for loss in losses} <= {None, strategy.assumption}
    assert search.privacy_.assumption == strategy.assumption


@every_strategy
def test_number_of_fits_does_not_exceed_n_iter(strategy):
    search = fitted(strategy, refit=False)
    assert set(FITS) <= {100, 80}, "fits use the training records, or 80 % of them"
    whole, parts = FITS.count(100), FITS.count(80)
    # Without guidance one in six candidates is scored in public, beside the fits of all.
    beside = -(-T // 6) if strategy is STRATEGIES["none"] else 0
    assert 0 < whole <= T and whole + parts <= T + beside
    assert not beside or parts <= beside
    assert len(search.cv_results_["params"]) == len(search.cv_results_["validated"])


@every_strategy
def test_released_attributes_are_consistent(strategy):
    search = fitted_once(strategy)
    assert hasattr(search, "best_score_") == (getattr(strategy, "score_share", 1) != 0)
    low, high = getattr(search, "best_score_interval_", (0, 1))
    assert 0 <= low <= getattr(search, "best_score_", low) <= high <= 1
    if strategy.releases_candidate:
        assert search.cv_results_["params"][search.best_index_] == search.best_params_
        C = search.best_estimator_[-1].get_params()["C"]
        assert search.best_params_["logisticregression__C"] == C
        assert set(search.predict(data()["X"])) <= {"no", "yes"}
    else:
        assert not hasattr(search, "best_params_")
        assert not hasattr(search, "best_index_")
        assert not hasattr(search, "best_estimator_")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", parameters("public"))
def test_result_of_strategy_does_not_depend_on_n_jobs(strategy):
    one, two = fitted_once(strategy), fitted(strategy, n_jobs=2)
    assert getattr(one, "best_score_", None) == getattr(two, "best_score_", None)
    assert getattr(one, "best_params_", None) == getattr(two, "best_params_", None)
    assert one.cv_results_["params"] == two.cv_results_["params"]


@every_strategy
def test_strategy_survives_clone_and_pickle(strategy):
    search = fitted_once(strategy)
    again = clone(search).set_params(strategy=clone(strategy))
    assert repr(again.strategy) == repr(strategy)
    assert again.get_params()["strategy"].get_params() == strategy.get_params()
    first = next(iter(strategy.get_params()))
    again.set_params(**{f"strategy__{first}": "other"})
    assert again.strategy.get_params()[first] == "other"
    loaded = pickle.loads(pickle.dumps(search))
    assert getattr(loaded, "best_score_", None) == getattr(search, "best_score_", None)
    assert loaded.privacy_.details() == search.privacy_.details()


@every_strategy
def test_no_raw_score_of_any_candidate_is_kept(strategy):
    """Neither the score nor the sum of gains behind it, of candidates that may be evaluated."""
    search = fitted(strategy, epsilon=0.01)
    d, scorer = data(), search.scorer_
    scores = [
        scorer(model().set_params(**params).fit(d["X"], d["y"]), d["X_val"], d["y_val"])
        for params in search.cv_results_["params"][:64]
    ]
    secrets = {round(score * M * 2**20) for score in scores} | set(scores)
    assert found_in({"planted": scores[-1]}, secrets)
    kept = {name: v for name, v in vars(search).items() if not name.startswith("best_score")}
    assert not found_in(kept, secrets)
    shown = np.array([v for v in search.cv_results_["public_score"].tolist() if v == v])
    assert not [s for s in scores if np.isclose(shown, s, rtol=0, atol=1e-9).any()]


@every_strategy
def test_privacy_report_states_assumption_and_released_attributes(strategy):
    search = fitted(strategy, seed=None)
    text = " ".join(search.privacy_.details().split())
    assert ("if the assumption holds" in text) == (strategy.assumption is not None)
    assert ("pure epsilon-DP" in text) == (strategy.assumption is None)
    assert ("best_params_" in text) == strategy.releases_candidate
