"""Algorithms 1 to 3 of Kusner et al. (2015), run by `PrivateBayesSearchCV`."""

import contextlib
import math
import os
import pickle
import signal
import subprocess
import sys
import traceback
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import loguniform, norm, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator
from test_bounds import gp_ucb
from test_leaks import found_in, found_in_text

from sklearn_dpbo import PrivateBayesSearchCV, make_private_scorer
from sklearn_dpbo.exceptions import GuaranteeAssumptionWarning
from sklearn_dpbo.papers.kusner2015 import (
    ExpectedImprovement,
    GPNoiseFree,
    GPNoisy,
    Kernel,
    LipschitzConvex,
    UnitBall,
)
from sklearn_dpbo.papers.kusner2015._linear import check_converged
from sklearn_dpbo.papers.kusner2015.bounds import (
    CandidateBounds,
    LipschitzBounds,
    NoiseFreeBounds,
    NoisyBounds,
    information_gain_bound,
)
from sklearn_dpbo.papers.kusner2015.published import (
    ArxivGPNoiseFree,
    ArxivGPNoisy,
    ArxivNoiseFreeBounds,
    ArxivNoisyBounds,
    PublishedGPNoisy,
    PublishedLipschitzBounds,
    PublishedLipschitzConvex,
    PublishedNoisyBounds,
)
from sklearn_dpbo.prediction.fitting import without_side_effects
from sklearn_dpbo.privacy import mechanisms
from sklearn_dpbo.privacy.noise import SeededNoise
from sklearn_dpbo.privacy.sensitive import Secret
from sklearn_dpbo.records.split import Training
from sklearn_dpbo.testing import seeded_noise

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn_dpbo.exceptions.GuaranteeAssumptionWarning"
)

M = 400
GRID = np.linspace(0, 1, 9).tolist()
GIVEN = dict(k1=0.999, length_scale=0.3, prior_mean=0.6, prior_scale=0.1)
NOISY = dict(noise=0.2, **GIVEN)
FREE = dict(A=5.0, tau=0.5, **GIVEN)
FITTED = []  # values of x fitted in this process, in order


def right(x):
    """Return how many of M records the model of x classifies correctly."""
    return round(M * (0.75 - (x - 0.3) ** 2))


class Known(ClassifierMixin, BaseEstimator):
    """Classifies ``right(x)`` validation records correctly; feature 0 is the record number."""

    def __init__(self, x=0.0, fails_at=None, talks=False):
        self.x, self.fails_at, self.talks = x, fails_at, talks

    def fit(self, X, y):
        FITTED.append(self.x)
        if self.talks:
            print(f"fitting {self.x}")
        if self.fails_at is not None and abs(self.x - self.fails_at) < 0.01:
            raise RuntimeError("cannot fit this one")
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return (X[:, 0] < right(self.x)).astype(int)


def known_data():
    train = np.stack([np.linspace(0, M, 40), np.zeros(40)], axis=1)
    val = np.stack([np.arange(M), np.zeros(M)], axis=1)
    return dict(X=train, y=np.arange(40) % 2, X_val=val, y_val=np.ones(M, dtype=int))


def search_of(strategy, space=None, estimator=None, **params):
    shared = dict(epsilon=4.0, delta=0.2, n_iter=6, refit=False, random_state=0)
    params = shared | {"prediction": "together"} | params
    if space is None:
        space = {"x": GRID if isinstance(strategy, GPNoisy) else uniform(0, 1)}
    return PrivateBayesSearchCV(Known() if estimator is None else estimator, space,
                                strategy=strategy, **params)  # fmt: skip


def fitted(strategy, data=None, seed=0, **params):
    FITTED.clear()
    with contextlib.nullcontext() if seed is None else seeded_noise(seed):
        return search_of(strategy, **params).fit(**(known_data() if data is None else data))


@pytest.fixture
def draws(monkeypatch):
    """Record what the mechanisms draw: (kind, scale, values without noise)."""
    log = []

    class Recorder(SeededNoise):
        def exponential_mechanism(self, scale):
            sample = super().exponential_mechanism(scale)
            return lambda scores: log.append(("exponential", scale, scores)) or sample(scores)

        def permute_and_flip(self, scale):
            sample = super().permute_and_flip(scale)
            return lambda scores: log.append(("flip", scale, scores)) or sample(scores)

        def discrete_laplace(self, scale):
            sample = super().discrete_laplace(scale)
            return lambda counts: log.append(("laplace", scale, *counts)) or sample(counts)

    monkeypatch.setattr("sklearn_dpbo.privacy.noise.SeededNoise", Recorder)
    return log


# ------------------------------------------------------------ Algorithm 1
@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("kind", "kind_of_bounds"),
    [
        (GPNoisy, NoisyBounds),
        (PublishedGPNoisy, PublishedNoisyBounds),
        (ArxivGPNoisy, ArxivNoisyBounds),
    ],
)
def test_algorithm_1_matches_plain_linear_algebra(draws, kind, kind_of_bounds):
    """Checks the path, posterior mean, best score and both scales."""
    search = fitted(kind(**NOISY), n_iter=8)
    x = (np.arange(9)[:, None] + 0.5) / 9  # places of a list of 9 numbers in the unit interval
    K = Kernel("squared_exponential", 0.3)(x, x)
    gamma = information_gain_bound(x, Kernel("squared_exponential", 0.3), 0.2, 8)
    bounds = kind_of_bounds(8, 9, 0.1, 0.999, 0.2, gamma)
    z = (np.array([right(x) for x in GRID]) / M - 0.6) / 0.1

    class NoNoise:
        def standard_normal(self):
            return 0.0

    mean, best, _ = gp_ucb(z, K, bounds, NoNoise())
    assert len(FITTED) == 8
    (kind, scale, scores), (_, laplace, value) = draws
    assert kind == "exponential"
    # P ~ exp(score / scale), which must be exp(epsilon mean / (2 Delta)) with half of epsilon
    expected = (4.0 / 2) * mean / (2 * bounds.sensitivity_of_mean)
    assert np.array(scores) / scale == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert value == round(M * (0.6 + 0.1 * best))
    steps = math.ceil(bounds.sensitivity_of_maximum * 0.1 * M)
    assert laplace == pytest.approx(steps / (4.0 / 2), rel=1e-12)
    assert search.best_params_ in [{"x": x} for x in GRID]


@pytest.mark.parametrize(("epsilon", "farthest"), [(1.0, 0.03), (10.0, 0.2)])
def test_the_candidate_of_algorithm_1_is_nearly_a_uniform_pick(draws, epsilon, farthest):
    """In total variation; scores of candidates differ by five standard deviations of the prior."""
    fitted(GPNoisy(**NOISY), n_iter=8, epsilon=epsilon)
    (_, scale, scores), _ = draws
    p = np.exp((np.array(scores) - max(scores)) / scale)
    assert np.abs(p / p.sum() - 1 / len(p)).sum() / 2 < farthest


@pytest.mark.slow
def test_missing_parameters_are_learnt_within_training_set(two_classes):
    X, y, X_val, y_val = two_classes
    data = dict(X=X, y=y, X_val=X_val, y_val=y_val)
    space = {"C": loguniform(1e-3, 1e3)}
    search = fitted(GPNoisy(n_candidates=32), data, space=space, estimator=LogisticRegression(),
                    n_iter=12)  # fmt: skip
    explored = ~np.isnan(search.cv_results_["public_score"])
    assert explored.sum() == 4
    assert (~np.isnan(search.cv_results_["mean_fit_time"]) == explored).all()
    assert len(search.cv_results_["params"]) == 32
    assert search.cv_results_["validated"].mask.all()
    for n_iter in (2, 4):
        with pytest.raises(
            ValueError, match=r"'k1'.* cannot be learnt: .* too few.* Increase n_iter"
        ):
            fitted(GPNoisy(), data, space=space, estimator=LogisticRegression(), n_iter=n_iter)


def test_identical_public_scores_raise_value_error():
    """A prior scale of 0 would claim privacy without noise."""
    for strategy in (GPNoisy(noise=0.2), GPNoiseFree(A=0.1, tau=1.0)):
        with pytest.raises(ValueError, match="scores are all equal.*GPNois"):
            fitted(strategy, n_iter=12)
        assert len(FITTED) == 4


# ------------------------------------------------------------ Algorithm 2
@pytest.mark.parametrize(
    ("kind", "kind_of_bounds", "released"),
    [
        (GPNoiseFree, NoiseFreeBounds, lambda seen: seen[-1]),
        (ArxivGPNoiseFree, ArxivNoiseFreeBounds, lambda seen: max(seen[1:])),
    ],
)
def test_algorithm_2_releases_expected_score_with_expected_noise(
    draws, kind, kind_of_bounds, released
):
    fitted(kind(**FREE, max_level=5), n_iter=5)
    bounds = kind_of_bounds(5, 33, 0.1, 0.999, 1, 5.0, 0.5)
    assert 0.3 < bounds.regret / bounds.c < 30, "both parts of the sensitivity matter"
    (name, _, scores), (_, laplace, value) = draws
    assert name == "exponential"
    assert len(scores) == 33
    assert laplace == pytest.approx(math.ceil(bounds.sensitivity * 0.1 * M) / 2.0, rel=1e-12)
    seen = [right(min(max(x, 2.0**-40), 1 - 2.0**-40)) for x in FITTED]
    assert FITTED[0] < 1e-9, "the first point is not the public first corner"
    assert len(seen) == 5 and seen[-1] < max(seen[1:]), "last and best differ"
    assert value == released(seen)


def test_a_search_that_ends_early_counts_its_best_score_as_the_last(draws):
    fitted(GPNoiseFree(**FREE, max_level=3), n_iter=10)
    seen = [right(x) for x in FITTED]
    assert len(seen) < 10 and seen[-1] < max(seen)
    assert draws[1][2] == max(seen)


@pytest.mark.parametrize("missing", [dict(A=None), dict(tau=None)])
def test_missing_a_or_tau_raises_value_error(missing):
    with pytest.raises(ValueError, match=r"needs A and tau.*strategy='worst_case'"):
        fitted(GPNoiseFree(**(FREE | missing)))
    with pytest.raises(ValueError, match="needs A and tau"):
        fitted(GPNoiseFree())
    assert FITTED == []


@pytest.mark.parametrize(
    "space", [{"x": GRID}, {"x": randint(0, 9)}, [{"x": uniform(0, 1)}, {"x": uniform(0, 2)}]]
)
def test_algorithm_2_refuses_discrete_parameters(space):
    with pytest.raises(ValueError, match="continuous distributions.*GPNoisy or WorstCase"):
        fitted(GPNoiseFree(**FREE), space=space)


# ------------------------------------------------------------ shares
def posterior_after(evaluated, x, noise, kernel=None):
    """Return the posterior mean and standard deviation at rows of x, by plain linear algebra."""
    K = (kernel or Kernel("squared_exponential", 0.3))(x, x)
    z = (np.array([right(GRID[i]) for i in evaluated]) / M - 0.6) / 0.1
    A = K[np.ix_(evaluated, evaluated)] + noise**2 * np.eye(len(evaluated))
    W = np.linalg.solve(A, K[evaluated])
    return W.T @ z, np.sqrt(1 - (K[evaluated] * W).sum(axis=0))


PLACES = (np.arange(9)[:, None] + 0.5) / 9  # of a list of 9 numbers in the unit interval


def test_candidate_alone_is_drawn_at_whole_budget_and_half_noise_is_detected(draws, monkeypatch):
    strategy = GPNoisy(**NOISY, score_share=0)
    search = fitted(strategy, n_iter=5)
    path = [GRID.index(x) for x in FITTED]
    ((kind, scale, scores),) = draws
    assert kind == "exponential"
    bounds = CandidateBounds(5, 9, 0.2, 0.999)
    expected = 4.0 * posterior_after(path, PLACES, 0.2)[0] / (2 * bounds.sensitivity_of_mean)
    assert np.array(scores) / scale == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert [(s.epsilon, s.delta) for s in search.privacy_.spends] == [(4.0, 0.2)]
    half_the_noise(monkeypatch)
    fitted(strategy, n_iter=5)
    assert np.array(scores) / draws[1][1] == pytest.approx(2 * expected, rel=1e-6, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, np.float32(0.125), 0.5])
@pytest.mark.parametrize("kind", [GPNoisy, GPNoiseFree])
def test_score_share_divides_epsilon_and_delta(draws, kind, share):
    given = NOISY if kind is GPNoisy else FREE | dict(max_level=3)
    search = fitted(kind(**given, score_share=share), n_iter=6)
    spent = [(s.epsilon, s.delta) for s in search.privacy_.spends]
    parts = [(4 * (1 - share), 0.2 * (1 - share)), (4 * share, 0.2 * share)]
    assert spent == [pytest.approx(part) for part in parts if part[0]]
    assert sum(e for e, _ in spent) <= 4 and sum(d for _, d in spent) <= 0.2
    if share:
        if kind is GPNoisy:
            gamma = information_gain_bound(PLACES, Kernel("squared_exponential", 0.3), 0.2, 6)
            delta = NoisyBounds(6, 9, spent[1][1], 0.999, 0.2, gamma).sensitivity_of_maximum
        else:
            delta = NoiseFreeBounds(6, 9, spent[1][1], 0.999, 1, 5.0, 0.5).sensitivity
        assert draws[1][1] == pytest.approx(math.ceil(delta * 0.1 * M) / spent[1][0])


def half_the_noise(monkeypatch):
    right_scale = mechanisms._scale
    monkeypatch.setattr(mechanisms, "_scale", lambda *args: right_scale(*args) / 2)


# ------------------------------------------------------------ the path is secret
@pytest.mark.parametrize("strategy", [GPNoisy(**NOISY), GPNoiseFree(**FREE, max_level=5)])
def test_gp_path_is_not_revealed(strategy, capfd):
    search = fitted(strategy, estimator=Known(talks=True), verbose=10, n_iter=8)
    shown = capfd.readouterr()
    path = [repr(x)[:8] for x in FITTED[1:] if repr(x)[:8] != repr(FITTED[0])[:8]]
    assert path
    assert not [x for x in path if f"fitting {x}" in shown.out + shown.err]
    counts = {right(x) for x in FITTED}
    results = dict(search.cv_results_)
    assert np.isnan(results["mean_fit_time"]).all()
    assert set(results["fit_error"]) == {None}
    assert results["validated"].mask.all()
    assert not np.asarray(results["validated"].data).any(), (
        "the mask hides values that depend on the path"
    )
    everything = {k: v for k, v in vars(search).items() if k not in ("best_score_", "best_index_")}
    everything.pop("best_score_interval_", None)
    assert not found_in(everything, counts - {M})
    assert not found_in_text(shown.out + shown.err + search.privacy_.details(), counts)
    assert b"Secret" not in pickle.dumps(search)


def test_rounding_moves_a_posterior_mean_by_one_step_more():
    """Their distance is the sensitivity; beyond 2^40 steps, floats round it up."""
    session = SimpleNamespace(
        epsilon=1.0, delta=0.1, draw_exponentially=lambda mean, *_, **__: mean
    )
    mean = (2.0**40 - 0.5 - 2.0**-13) / 2.0**24
    steps = []
    for value in (mean, mean + 1.0):
        trace = SimpleNamespace(posterior=SimpleNamespace(mean=np.array([value])))
        steps.append(GPNoisy(**NOISY)._draw(Secret(trace), 1.0, session))
    moved = steps[1]._open() - steps[0]._open()
    assert moved == 2**24 + 1 == steps[0].sensitivity


def test_failed_fit_on_path_is_not_reported(draws, recwarn, capfd):
    """It counts as the lowest score. The first candidate is public, so its failure is reported."""
    with pytest.raises(ValueError, match="failed on the training set"):
        fitted(GPNoisy(**NOISY), estimator=Known(fails_at=GRID[0]))
    assert not draws
    search = fitted(GPNoisy(**NOISY), estimator=Known(fails_at=FITTED_SECOND), error_score="raise",
                    n_iter=3)  # fmt: skip
    assert FITTED_SECOND in FITTED
    assert not [w for w in recwarn if w.category is FitFailedWarning]
    assert set(search.cv_results_["fit_error"]) == {None}
    assert "cannot fit" not in "".join(capfd.readouterr())


FITTED_SECOND = GRID[-1]  # the furthest from the first


class Ends(Known):
    """Raises what ends or interrupts a process, when the second candidate is fitted or predicts."""

    def __init__(self, x=0.0, fails_at=None, talks=False, how=SystemExit, stage="fit"):
        super().__init__(x, fails_at, talks)
        self.how, self.stage = how, stage

    def fit(self, X, y):
        if self.stage == "fit" and self.x == FITTED_SECOND:
            self.end()
        return super().fit(X, y)

    def predict(self, X):
        if self.stage == "predict" and self.x == FITTED_SECOND and len(X) >= M:
            self.end()
        return super().predict(X)

    def end(self):
        if self.how is KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)
        raise self.how("at the second")


@pytest.mark.parametrize("stage", ["fit", "predict"])
def test_interrupt_in_secret_fit_reveals_nothing_of_path(stage):
    with pytest.raises(KeyboardInterrupt) as caught:
        fitted(GPNoisy(**NOISY), estimator=Ends(how=KeyboardInterrupt, stage=stage), n_iter=4)
    errors, error = [], caught.value
    while error is not None:
        errors.append(error)
        error = error.__cause__ or error.__context__
    frames = [f for e in errors for f, _ in traceback.walk_tb(e.__traceback__)]
    names = {frame.f_code.co_name for frame in frames}
    assert not names & {"_observe_next", "evaluate", "evaluate_secretly", "_statistics", "predict"}
    assert "at the second" not in "".join(str(e) for e in errors)
    kept = [value for frame in frames for value in frame.f_locals.values()]
    assert not [v for v in kept if type(v).__name__ in ("Trace", "Surrogate")]


def test_secret_fits_use_no_cache_and_no_callbacks(tmp_path):

    def files_after(n_iter):
        folder = tmp_path / str(n_iter)
        cached = make_pipeline(PCA(), LogisticRegression(), memory=str(folder))
        fitted(GPNoisy(**NOISY), linear_data(), estimator=cached,
               space={"pca__n_components": [1, 2, 3, 4]}, n_iter=n_iter)  # fmt: skip
        return sum(1 for _ in folder.rglob("metadata.json"))

    assert files_after(4) == files_after(1) == 1, (
        "only the first candidate, which is public, is cached"
    )

    told = []
    model = LogisticRegression()
    model._skl_callbacks = [told]  # as scikit-learn keeps them, and clones pass them on
    bare = without_side_effects(make_pipeline(StandardScaler(), model, verbose=True))
    assert not hasattr(bare[-1], "_skl_callbacks")
    assert bare.verbose is False
    assert bare.memory is None


def test_output_of_native_code_and_child_processes_is_suppressed_in_secret_fits(capfd):
    class Loud(Known):
        def fit(self, X, y):
            os.write(1, b"native %r\n" % str(self.x).encode())
            subprocess.run([sys.executable, "-c", f"print('child', {self.x})"])
            return super().fit(X, y)

    fitted(GPNoisy(**NOISY), estimator=Loud(), n_iter=4)
    out = capfd.readouterr().out
    assert out.count("native") == out.count("child") == 1, "only the first candidate is public"
    os.write(1, b"heard again")
    assert "heard again" in capfd.readouterr().out


# ------------------------------------------------------------ Algorithm 3
def linear(**params):
    defaults = dict(fit_intercept=False, tol=1e-8, max_iter=5000)
    return make_pipeline(StandardScaler(), UnitBall(), LogisticRegression(**(defaults | params)))


SPACE_C = {"logisticregression__C": loguniform(0.01, 1.0)}


def linear_data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = (X[:, 0] + 0.5 * rng.standard_normal(300) > 0).astype(int)
    return dict(X=X[:100], y=y[:100], X_val=X[100:], y_val=y[100:])


def lipschitz(strategy=None, estimator=None, data=None, **params):
    strategy = LipschitzConvex() if strategy is None else strategy
    params = dict(space=SPACE_C, scoring="ramp", delta=0.0) | params
    return fitted(strategy, linear_data() if data is None else data,
                  estimator=linear() if estimator is None else estimator, **params)  # fmt: skip


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("scoring", "L"),
    [("ramp", 1.0), ("normalized_sigmoid", 0.25),
     (make_private_scorer("normalized_sigmoid", slope=8.0), 2.0)],
)  # fmt: skip
@pytest.mark.parametrize(
    ("kind", "kind_of_bounds"),
    [(LipschitzConvex, LipschitzBounds), (PublishedLipschitzConvex, PublishedLipschitzBounds)],
)
def test_algorithm_3_releases_best_score_with_expected_noise(
    draws, scoring, L, kind, kind_of_bounds
):
    space = {"logisticregression__C": [0.001, 0.01, 0.1]}
    search = lipschitz(kind(), space=space, scoring=scoring, n_iter=3)
    lambdas = 1 / (100 * np.array([0.1, 0.001]))
    lowest = scoring == "ramp"
    delta = kind_of_bounds(200, tuple(lambdas), L, 1.0, lowest, 1e-6).sensitivity
    ((kind, scale, value),) = draws
    steps = min(math.ceil(delta * 200 * 2**20) + 2 * 200, 200 * 2**20)
    assert kind == "laplace"
    assert scale == pytest.approx(steps / 4.0, rel=1e-9)
    data = linear_data()
    models = [
        clone(linear()).set_params(**s).fit(data["X"], data["y"])
        for s in search.cv_results_["params"]
    ]
    scores = [search.scorer_(model, data["X_val"], data["y_val"]) for model in models]
    assert value == pytest.approx(max(scores) * 200 * 2**20, rel=1e-6)
    assert [(s.epsilon, s.delta) for s in search.privacy_.spends] == [(4.0, 0.0)]
    assert "Assumption 2" in search.privacy_.spends[0].assumption
    assert not hasattr(search, "best_params_")


def test_refit_without_released_candidate_raises_value_error():
    with pytest.raises(ValueError, match=r"releases a score and no candidate.*refit=False"):
        lipschitz(refit=True)


class Resampling(Pipeline):
    """A subclass, which may resample."""


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LogisticRegression(fit_intercept=False), "norm 1 at most.*UnitBall"),
        (make_pipeline(Normalizer(), LogisticRegression(fit_intercept=False)), "norm 1.*sparse"),
        (Resampling(linear().steps), "Resampling is not known"),
        (linear(fit_intercept=True), "intercept.*Set fit_intercept=False"),
        (linear(class_weight="balanced"), "class weights"),
        (linear(solver="saga", l1_ratio=0.5, **{"penalty": "elasticnet"}), "penalty"),
        (make_pipeline(UnitBall(), LinearSVC(fit_intercept=False)), "'squared_hinge'.*hinge"),
        (make_pipeline(UnitBall(), RidgeClassifier()), "RidgeClassifier is not known"),
    ],
)
def test_estimators_outside_theorem_7_raise_value_error(estimator, message):
    names = [name for name in estimator.get_params() if name == "C" or name.endswith("__C")]
    space = {names[0] if names else "ridgeclassifier__alpha": loguniform(0.01, 1.0)}
    with pytest.raises(ValueError, match=message):
        lipschitz(estimator=estimator, space=space)


def test_data_space_and_parameters_outside_theorem_7_raise_value_error():
    data = linear_data()
    with pytest.raises(ValueError, match="two classes; y has 3"):
        lipschitz(data=data | {"y": np.arange(100) % 3})
    with pytest.raises(ValueError, match="searches 'logisticregression__C' alone"):
        lipschitz(space={**SPACE_C, "logisticregression__tol": [1e-6, 1e-8]})
    with pytest.raises(ValueError, match="beyond lambda_bounds"):
        lipschitz(LipschitzConvex(lambda_bounds=(0.1, 1.0)), space={"logisticregression__C": [1.0]})
    for strategy in (LipschitzConvex(), LipschitzConvex(lipschitz=1.0)):
        with pytest.raises(ValueError, match="accuracy jumps"):
            lipschitz(strategy, scoring="accuracy")
    with pytest.raises(ValueError, match="would not protect"):
        lipschitz(LipschitzConvex(lipschitz=0.5))
    with pytest.raises(ValueError, match="would not protect"):
        lipschitz(LipschitzConvex(g_star=0.5))
    weights = np.ones(100)
    with pytest.raises(ValueError, match="fit parameters"):
        search = search_of(LipschitzConvex(), SPACE_C, linear(), scoring="ramp", delta=0.0)
        search.fit(**data, logisticregression__sample_weight=weights)


@pytest.mark.first(1)
@pytest.mark.parametrize(("scoring", "L"), [("ramp", 1.0), ("normalized_sigmoid", 0.25)])
def test_sensitivity_covers_record_that_cannot_be_predicted(draws, scoring, L):
    """It counts as the lowest gain for every w: far from the sigmoid's 1/2 at w = 0."""
    data, space = linear_data(), {"logisticregression__C": [0.001]}  # lambda = 10
    worse = data["X_val"].copy()
    right = np.flatnonzero(
        clone(linear()).set_params(logisticregression__C=0.001).fit(data["X"], data["y"])
        .predict(data["X_val"]) == data["y_val"]
    )  # fmt: skip
    worse[right[0]] = np.nan
    lipschitz(data=data, space=space, scoring=scoring, n_iter=1)
    lipschitz(data=data | {"X_val": worse}, space=space, scoring=scoring, n_iter=1)
    (_, scale, value), (_, _, neighbour) = draws
    assert 0 < value - neighbour <= scale * 4.0
    if scoring == "normalized_sigmoid":
        assert value - neighbour > L / 10 * 2**20, "the published L / lambda covers the record"


def test_fits_that_have_not_converged_raise_value_error(draws):
    """The first fit is public and raises; `check_converged` makes others count as failed."""
    with pytest.raises(ValueError, match=r"gradient still has norm.*Set tol=1e-8"):
        lipschitz(estimator=linear(tol=1e-2, max_iter=3))
    assert not draws

    X, y = linear_data()["X"], linear_data()["y"]
    problem, model = Training(X, y), linear().fit(X, y)
    check_converged(model, problem)
    model[-1].coef_ = model[-1].coef_ * (1 + 1e-3)
    with pytest.raises(ValueError, match="gradient still has norm"):
        check_converged(model, problem)


def test_unit_ball_passes_scikit_learn_estimator_checks():
    check_estimator(UnitBall())


def test_unit_ball_bounds_row_norms(rng):
    X = rng.standard_normal((50, 3))
    inside = UnitBall(radius=1.5).fit_transform(X)
    assert np.linalg.norm(inside, axis=1).max() <= 1 + 1e-12
    short = np.linalg.norm(X, axis=1) <= 1.5
    assert np.allclose(inside[short], X[short] / 1.5)
    assert np.linalg.norm(UnitBall().fit_transform(X), axis=1).max() == pytest.approx(1)
    tiny = UnitBall().fit([[1e-170, 0.0]]).transform([[3e-170, 4e-170], [1e200, 1e200]])
    assert np.linalg.norm(tiny, axis=1).max() <= 1 + 1e-12
    with pytest.raises(ValueError, match="radius must be None or positive"):
        UnitBall(radius=0).fit(X)


# ------------------------------------------------------------ published forms
@pytest.mark.parametrize(
    ("strategy", "params", "base", "sentence"),
    [
        (PublishedGPNoisy(**NOISY), {}, GPNoisy, "proof fails at Theorem 3"),
        (
            PublishedLipschitzConvex(),
            dict(space=SPACE_C, scoring="ramp", delta=0.0, estimator=linear(), data=linear_data()),
            LipschitzConvex,
            "proof fails at Theorem 7",
        ),
    ],
)
@pytest.mark.filterwarnings("always::sklearn_dpbo.exceptions.GuaranteeAssumptionWarning")
def test_warning_and_report_say_where_published_form_fails(strategy, params, base, sentence):
    with pytest.warns(GuaranteeAssumptionWarning, match=sentence):
        privacy = fitted(strategy, seed=None, **params).privacy_
    assert privacy.assumption.startswith(base().assumption)
    assert sentence in privacy.assumption
    assert sentence in " ".join(privacy.details().split())
    assert {loss.assumption for loss in privacy.spends} == {privacy.assumption}
    assert list(strategy.get_params()) == list(base().get_params())


# ------------------------------------------------------------ invalid parameters
class Tell(ExpectedImprovement):
    """Could tell of the scores that it sees."""


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (GPNoisy(k1=1.5), "k1 must be None or in"),
        (GPNoisy(noise=0), "noise must be None or positive"),
        (GPNoisy(**(NOISY | {"length_scale": [1.0, 2.0]})), "one number or 1, one per feature"),
        (GPNoisy(prior_scale=0), "prior_scale"),
        (GPNoisy(score_share=1), r"score_share must be in \[0, 1\)"),
        (GPNoisy(score_share=1e-300), "needs delta > 0"),
        (GPNoiseFree(score_share=0, **(FREE | {"A": -1})), "A must be None or positive"),
        (LipschitzConvex(acquisition=Tell()), "gets secret scores"),
        (GPNoiseFree(**(FREE | {"A": -1})), "A must be positive"),
        (GPNoiseFree(**(FREE | {"tau": 0})), "tau must be positive"),
        (LipschitzConvex(lambda_bounds=(1.0, 0.5)), "lambda_bounds must be"),
    ],
)
def test_invalid_parameters_raise_value_error_before_any_fit(strategy, message, draws):
    with pytest.raises(ValueError, match=message):
        fitted(strategy)
    assert FITTED == []
    assert draws == []


def test_missing_delta_ratio_scores_and_single_evaluation_raise_value_error():
    for strategy in (GPNoisy(**NOISY), GPNoiseFree(**FREE)):
        for delta in (0.0, 5e-324):
            with pytest.raises(ValueError, match="needs delta > 0"):
                fitted(strategy, delta=delta)
        with pytest.raises(ValueError, match="needs a mean over records, and scoring='roc_auc'"):
            fitted(strategy, scoring="roc_auc")
    with pytest.raises(ValueError, match="needs a mean over records"):
        lipschitz(scoring="roc_auc")
    with pytest.raises(ValueError, match="needs 2 evaluations"):
        fitted(GPNoiseFree(**FREE), n_iter=1)


# ---------------------------------------------------------------- acquisition


@settings(max_examples=30)
@given(mean=st.floats(-3, 3), std=st.floats(0.3, 3), best=st.floats(-1, 1), xi=st.floats(0, 0.5))
def test_expected_improvement_equals_the_textbook_formula(mean, std, best, xi):
    z = (mean - best - xi) / std
    textbook = std * (norm.pdf(z) + z * norm.cdf(z))
    got = ExpectedImprovement(xi)(np.array([mean]), np.array([std]), best)[0]
    # The sum in the textbook formula cancels where z is far below 0.
    assert got == pytest.approx(np.log(textbook), abs=1e-6 if z > -6 else 1e-2)


def test_without_a_score_only_the_assumption_of_the_choice_is_made():
    chosen, scored = GPNoiseFree(score_share=0).assumption, GPNoiseFree().assumption
    assert chosen != scored and scored.startswith(chosen)
