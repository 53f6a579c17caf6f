"""Which candidates are explored, explored again and validated, and what public scores add."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import loguniform, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.svm import SVC

from sklearn_dpbo import PrivateBayesSearchCV, make_private_scorer
from sklearn_dpbo._data.units import Units
from sklearn_dpbo._privacy.sensitive import Sensitive
from sklearn_dpbo.strategies import WorstCase
from sklearn_dpbo.strategies._proposals import (
    PublicModel,
    validation_batch,
)
from sklearn_dpbo.strategies._space import SearchSpace
from sklearn_dpbo.strategies._utility import noise_hints
from sklearn_dpbo.testing import seeded_noise

UNIT = {"x": uniform(0, 1), "y": uniform(0, 1)}


class _Odd:
    def __eq__(self, other):
        raise RuntimeError("no single truth value")


# ---------------------------------------------------------------- the estimator's own parameters
@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        ({"C": loguniform(1e-3, 1e3)}, [{"C": 1.0}]),
        ({"C": loguniform(1e-3, 0.5)}, []),
        ({"C": loguniform(1e-3, 1e3), "kernel": ["linear", "poly"]}, []),
        (
            [{"C": [0.5, 1.0], "kernel": ["rbf"]}, {"kernel": ["linear"]}],
            [{"C": 1.0, "kernel": "rbf"}],
        ),
        ({"degree": randint(1, 6), "gamma": ["scale", 0.1]}, [{"degree": 3, "gamma": "scale"}]),
        ({"no_such": [1]}, []),
        ({"C": loguniform(1e-3, 1e3), "degree": [_Odd()]}, []),
    ],
)
def test_own_parameters_are_found_where_they_lie_in_the_space(grid, expected):
    space = SearchSpace(grid)
    assert list(space.params(space.own_points(SVC().get_params()))) == expected


class Level(ClassifierMixin, BaseEstimator):
    """Right on a share of the records, by their numbers; the share has its top at (.7, .2)."""

    def __init__(self, x=0.05, y=0.95):
        self.x, self.y = x, y

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        share = np.exp(-4 * (self.x - 0.7) ** 2 - 4 * (self.y - 0.2) ** 2)
        return (X[:, 0] < share).astype(int)


def numbered(m):
    return (np.arange(m)[:, None] + 0.5) / m, np.ones(m, dtype=int)


def search_of(m=4000, strategy=None, space=UNIT, seed=0, **params):
    params = {"epsilon": 1.0, "n_iter": 32, "random_state": 0} | params
    params = {"prediction": "together"} | params
    search = PrivateBayesSearchCV(Level(), space, strategy=strategy or WorstCase(), **params)
    X_val, y_val = numbered(m)
    with seeded_noise(seed):
        return search.fit(*numbered(400), X_val=X_val, y_val=y_val)


@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
@pytest.mark.parametrize("guidance", ["none", "public"])
@pytest.mark.parametrize("n_iter", [1, 7, 32])
def test_own_parameters_are_validated(guidance, n_iter):
    found = search_of(strategy=WorstCase(guidance), n_iter=n_iter).cv_results_
    validated = [p for p, v in zip(found["params"], found["validated"], strict=True) if v]
    assert {"x": 0.05, "y": 0.95} in validated
    assert len(found["params"]) == n_iter


# ---------------------------------------------------------------- grids
def test_grid_is_evaluated_whole_unless_n_iter_is_given():
    grid = {"x": np.linspace(0, 1, 12).tolist(), "y": np.linspace(0, 1, 10).tolist()}
    whole = search_of(space=grid, n_iter=None)
    assert len(whole.cv_results_["params"]) == 120 and whole.cv_results_["validated"].all()
    with pytest.warns(UserWarning, match="has 120 candidates; with n_iter=30 fits"):
        assert len(search_of(space=grid, n_iter=30).cv_results_["params"]) == 30
    assert len(search_of(n_iter=None).cv_results_["params"]) == 64


@pytest.mark.parametrize(("n_iter", "filled"), [(32, 6), (64, 11), (128, 16), (200, 16)])
def test_half_of_the_explored_and_at_most_16_fill_the_space(n_iter, filled, monkeypatch):
    learn, sizes = PublicModel.learn, []

    def counting(space, points, scores):
        sizes.append(len(points))
        return learn(space, points, scores)

    monkeypatch.setattr(PublicModel, "learn", counting)
    search_of(n_iter=n_iter)
    assert sizes[0] == filled


# ---------------------------------------------------------------- exploring again
@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
@pytest.mark.parametrize(
    ("epsilon_m", "expected"),
    [
        # 22 explore, and of 42 fits as many validate as 30 units of epsilon m allow, 8 at least;
        # the others score the best explored again, four times each.
        (4000, (22, 42, 0)),
        (600, (22, 22, 5)),
        (100, (22, 10, 8)),
    ],
)
def test_fewer_candidates_are_validated_where_noise_is_large(epsilon_m, expected, monkeypatch):
    n_again = []

    def counting(self, positions, others):
        n_again.append(len(positions))
        assert len(others) == 4

    monkeypatch.setattr("sklearn_dpbo.strategies._history.History.score_again", counting)
    found = search_of(m=1000, epsilon=epsilon_m / 1000, n_iter=64).cv_results_
    n_validated = int(found["validated"].sum())
    assert (len(found["params"]) - n_validated, n_validated, sum(n_again)) == expected
    assert len(found["params"]) + 4 * sum(n_again) == 64


@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
def test_score_of_candidate_explored_again_is_mean_over_five_cuts(monkeypatch):
    again = search_of(m=100, n_iter=64).cv_results_
    monkeypatch.setattr("sklearn_dpbo.strategies._guidance.Guidance._score_again", lambda *_: None)
    once = search_of(m=100, n_iter=64).cv_results_
    scores = [results["public_score"][:22] for results in (once, again)]
    changed = np.flatnonzero(scores[0] != scores[1])
    assert 0 < len(changed) <= 8
    # Each cut holds out 80 records, and five cuts are averaged.
    assert np.allclose(scores[1][changed] * 400, np.rint(scores[1][changed] * 400))
    assert set(changed) <= set(np.argsort(-scores[0])[:16]), "the best ones"


# ---------------------------------------------------------------- which are validated
def model_of(space, n=20, failed=()):
    points = space.fill(n, np.random.default_rng(0))
    scores = -((points.unit[:, 0] - 0.3) ** 2)
    scores[list(failed)] = np.nan
    return PublicModel.learn(space, points, scores)


def batch_of(space, model, n=24):
    pool = space.fill(256, np.random.default_rng(1))
    return validation_batch(space, model, space.none, pool, n, np.random.default_rng(2))


def test_half_of_the_validated_are_the_best_explored():
    space = SearchSpace(UNIT)
    model = model_of(space)
    keys = model.points.identities()
    explored = [key for key in batch_of(space, model).identities() if key in keys]
    assert len(explored) == 12
    best = model.best(12).identities()
    assert explored == best


@pytest.mark.parametrize("n", [12, 48])
def test_promising_candidates_keep_a_distance(n):
    space = SearchSpace(UNIT)
    batch = batch_of(space, model_of(space), n)
    promising = space.features(batch)[n // 2 : n - n // 4]
    apart = np.linalg.norm(promising[:, None] - promising, axis=2)
    assert apart[np.triu_indices(len(promising), 1)].min() >= 0.5 / np.sqrt(n)


# ---------------------------------------------------------------- public scores in the choice
@settings(max_examples=50)
@given(counts=st.lists(st.integers(-(2**61), 2**61), min_size=1, max_size=5), D=st.integers(1, 9))
def test_public_number_added_changes_no_sensitivity(counts, D):
    offsets = np.arange(len(counts)) * -7
    moved = Sensitive(np.array(counts)[:, None], D).plus(offsets)
    assert moved.sensitivity == D
    assert moved._open()[:, 0].tolist() == [c - 7 * i for i, c in enumerate(counts)]


@pytest.fixture
def chosen_from(monkeypatch):
    """What the choice compares, and what candidates count: lists that searches append to."""
    from sklearn_dpbo._privacy.mechanisms import Mechanisms

    compared = []
    select = Mechanisms.select

    def spying(self, scores, epsilon, **kwargs):
        compared.append(scores._open()[:, 0].copy())
        return select(self, scores, epsilon, **kwargs)

    monkeypatch.setattr(Mechanisms, "select", spying)
    return compared


@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
@pytest.mark.parametrize(
    ("m", "epsilon", "weight"), [(100, 0.5, 2.0), (1000, 1.0, 0.15), (4000, 1.0, 0.0375)]
)
def test_prior_is_public_score_times_weight(m, epsilon, weight, chosen_from):
    params = dict(m=m, epsilon=epsilon, n_iter=64)
    for prior_weight in (0.0, 1.0, None):
        search_of(strategy=WorstCase(prior_weight=prior_weight), **params)
    without, full, default = chosen_from
    assert (without >= 0).all(), "what candidates count"
    assert (full <= without).all() and (full == without).sum() >= 1
    assert np.abs(default - without - weight * (full - without)).max() <= 1 + weight
    # The public mean is learnt from the same curve, so that it differs as the counts do.
    assert np.corrcoef(full - without, without)[0, 1] > 0.8


def test_there_is_no_prior_without_exploring(chosen_from):
    search_of(strategy=WorstCase("none", prior_weight=2.0))
    search_of(strategy=WorstCase("none", prior_weight=0.0))
    assert (chosen_from[0] == chosen_from[1]).all()


@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
def test_prior_helps_where_noise_hides_validation_scores():
    def mean_distance(weight):
        found = [
            search_of(
                m=200, epsilon=0.2, seed=seed, refit=False, n_iter=64,
                strategy=WorstCase(prior_weight=weight),
            ).best_params_
            for seed in range(12)
        ]  # fmt: skip
        return np.mean([np.hypot(p["x"] - 0.7, p["y"] - 0.2) for p in found])

    assert mean_distance(None) < 0.7 * mean_distance(0.0)


# ---------------------------------------------------------------- scores that diverge
@pytest.mark.parametrize("worst", [-1e12, -np.inf, np.nan])
def test_candidates_that_diverge_do_not_hide_what_others_differ_by(worst):
    space = SearchSpace(UNIT)
    points = space.fill(40, np.random.default_rng(0))
    scores = -((points.unit[:, 0] - 0.3) ** 2)
    sound = PublicModel.learn(space, points, scores)
    scores[points.unit[:, 0] > 0.75] = worst
    model = PublicModel.learn(space, points, scores)
    assert abs(model.best().unit[0, 0] - 0.3) < 0.1
    near = points.take(points.unit[:, 0] < 0.5)
    assert np.corrcoef(model.mean(near), sound.mean(near))[0, 1] > 0.95
    assert model.scores.min() > -10


def test_prior_is_zero_for_a_score_that_nothing_can_change():
    class Exact(RegressorMixin, BaseEstimator):
        def __init__(self, x=0.5, y=0.5):
            self.x, self.y = x, y

        def fit(self, X, y):
            return self

        def predict(self, X):
            return X[:, 0].round()

    X = np.arange(200)[:, None] % 2.0
    search = PrivateBayesSearchCV(
        Exact(),
        UNIT,
        scoring="neg_root_mean_squared_error",
        n_iter=16,
        random_state=0,
        epsilon=50.0,
        prediction="together",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        search.fit(X, X[:, 0], X_val=X.copy(), y_val=X[:, 0])
    assert search.best_score_ <= 0


# ---------------------------------------------------------------- grids with fewer fits than points
GRID = {"x": np.linspace(0, 1, 12).tolist(), "y": np.linspace(0, 1, 10).tolist()}


@pytest.mark.filterwarnings("ignore:param_grid has")
@pytest.mark.parametrize("guidance", ["none", "public"])
def test_part_of_a_grid_that_is_tried_fills_it(guidance):
    search = search_of(space=GRID, n_iter=40, strategy=WorstCase(guidance))
    first = search.cv_results_["params"][:12]
    assert len({p["x"] for p in first}) >= 6 and len({p["y"] for p in first}) >= 6


def test_grid_too_large_to_be_fitted_whole_is_fitted_in_part_with_a_warning():
    huge = {"x": np.linspace(0, 1, 1000).tolist(), "y": np.linspace(0, 1, 1000).tolist()}
    with pytest.warns(UserWarning, match="1,000,000 candidates; with n_iter=64 fits"):
        assert len(search_of(space=huge, n_iter=None).cv_results_["params"]) <= 64
    assert len(search_of(space=huge, n_iter=12).cv_results_["params"]) == 12


def test_warning_says_how_many_times_as_many_records_noise_takes():
    """With 2.45 times as many, or so much more epsilon, noise equals what candidates differ by."""
    scorer, public = make_private_scorer("accuracy").prepare(np.array([0, 1])), [0.7, 0.8, 0.9]
    (text,) = noise_hints(scorer, Units.of(10), public, epsilon=1.0)
    assert "about 2.4 times as much of either" in text
    for m, epsilon in ((25, 1.0), (10, 2.5)):
        assert not noise_hints(scorer, Units.of(m), public, epsilon=epsilon)
    assert noise_hints(scorer, Units.of(24), public, epsilon=1.0)
