"""Which candidates are explored, explored again and validated, and what public scores add."""

from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from few import few
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import loguniform, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import SVC

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV, make_private_scorer
from sklearn_dpbo.prediction.session import Session
from sklearn_dpbo.privacy.sensitive import Sensitive
from sklearn_dpbo.records.units import Units
from sklearn_dpbo.search import _explore
from sklearn_dpbo.search._guidance import Guidance
from sklearn_dpbo.search._proposals import (
    PublicModel,
)
from sklearn_dpbo.search._space import SearchSpace
from sklearn_dpbo.search._strategy import Strategy
from sklearn_dpbo.search._utility import noise_hints
from sklearn_dpbo.strategies import WorstCase
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


class Elsewhere(Strategy):
    """A strategy that knows of no timeout."""


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
@pytest.mark.parametrize("n_iter", few([1, 7, 32], 1, 7))
def test_own_parameters_are_validated(guidance, n_iter):
    found = search_of(strategy=WorstCase(guidance), n_iter=n_iter).cv_results_
    validated = [p for p, v in zip(found["params"], found["validated"], strict=True) if v]
    assert {"x": 0.05, "y": 0.95} in validated
    assert len(found["params"]) == n_iter


# ---------------------------------------------------------------- timeout
class Clock:
    """A clock that is late once it has been asked so often after the start."""

    def __init__(self, late_at):
        self.late_at, self.n_asked = late_at, -1

    def monotonic(self):
        self.n_asked += 1
        return 100.0 * (self.n_asked >= self.late_at)


def counted(search):
    validated = search.cv_results_["validated"]
    return int((~validated).sum()), int(validated.sum())


@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
@pytest.mark.parametrize("m", [100, 4000])
def test_timeout_ends_the_exploration_between_batches_and_validates_no_more(m, monkeypatch):
    """With few records, better scores of the explored candidates replace some validations."""
    whole = search_of(m, n_iter=64)
    for late_at in (1, 2, 9):
        monkeypatch.setattr(_explore, "time", clock := Clock(late_at))
        search = search_of(m, n_iter=64, timeout=60)
        explored, validated = counted(search)
        assert explored == min(11 + 8 * (late_at - 1), 22)
        assert 0 < validated <= counted(whole)[1]
        assert clock.n_asked <= late_at + 1
    assert counted(search) == counted(whole), "it was never late"
    assert search.cv_results_["params"] == whole.cv_results_["params"]
    assert "(timeout)" in search.privacy_.details()
    assert "(timeout)" not in whole.privacy_.details()


def test_no_clock_is_asked_once_protected_records_are_predicted(monkeypatch):
    monkeypatch.setattr(_explore, "time", clock := Clock(9))
    compare, asked_before = Session.compare, []

    def predicting(*args):
        asked_before.append(clock.n_asked)
        return compare(*args)

    monkeypatch.setattr(Session, "compare", predicting)
    search_of(timeout=60)
    assert asked_before == [clock.n_asked] and clock.n_asked > 1
    candidates = SimpleNamespace(before_fits=Mock(side_effect=RuntimeError("too late")))
    with pytest.raises(RuntimeError, match="too late"):
        Guidance._explore(SimpleNamespace(_start=[], _n_iter=64, _candidates=candidates))
    assert asked_before == [clock.n_asked]


@pytest.mark.parametrize(
    "params",
    [
        dict(space={"x": [0.1, 0.2, 0.3]}, n_iter=None),
        dict(strategy=WorstCase("none")),
        dict(n_iter=7),
        dict(strategy=Elsewhere()),
    ],
)
def test_timeout_is_refused_where_nothing_is_explored(params, tmp_path):
    ledger = PrivacyLedger(tmp_path / "budget.db", "records", 1.0, create=True)
    with pytest.raises(ValueError, match="timeout.* leave it out"):
        search_of(timeout=60, ledger=ledger, **params)
    assert not ledger.history


# ---------------------------------------------------------------- grids
@pytest.mark.slow
def test_grid_is_evaluated_whole_unless_n_iter_is_given():
    grid = {"x": np.linspace(0, 1, 12).tolist(), "y": np.linspace(0, 1, 10).tolist()}
    whole = search_of(space=grid, n_iter=None)
    assert len(whole.cv_results_["params"]) == 120 and whole.cv_results_["validated"].all()
    with pytest.warns(UserWarning, match="has 120 candidates; with n_iter=30 fits"):
        assert len(search_of(space=grid, n_iter=30).cv_results_["params"]) == 30
    assert len(search_of(n_iter=None).cv_results_["params"]) == 64


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
    from sklearn_dpbo.privacy.mechanisms import Mechanisms

    compared = []
    select = Mechanisms.select

    def spying(self, scores, epsilon, **kwargs):
        compared.append(scores._open()[:, 0].copy())
        return select(self, scores, epsilon, **kwargs)

    monkeypatch.setattr(Mechanisms, "select", spying)
    return compared


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
@pytest.mark.parametrize(("m", "epsilon", "weight"), [(100, 0.5, 2.0), (1000, 1.0, 0.15)])
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


@pytest.mark.slow
def test_there_is_no_prior_without_exploring(chosen_from):
    search_of(strategy=WorstCase("none", prior_weight=2.0))
    search_of(strategy=WorstCase("none", prior_weight=0.0))
    assert (chosen_from[0] == chosen_from[1]).all()


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


def test_warning_says_how_many_times_as_many_records_noise_takes():
    """With 2.45 times as many, or so much more epsilon, noise equals what candidates differ by."""
    scorer, public = make_private_scorer("accuracy").prepare(np.array([0, 1])), [0.7, 0.8, 0.9]
    (text,) = noise_hints(scorer, Units.of(10), public, epsilon=1.0)
    assert "about 2.4 times as much of either" in text
    for m, epsilon in ((25, 1.0), (10, 2.5)):
        assert not noise_hints(scorer, Units.of(m), public, epsilon=epsilon)
    assert noise_hints(scorer, Units.of(24), public, epsilon=1.0)
