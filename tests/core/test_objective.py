"""`PrivateObjective`: what calls return and cost, and what optimisers make of it."""

import contextlib
import copy
import math
import os
import pickle
import threading
import time

import numpy as np
import pytest
from leaks import (
    COUNTS,
    EPSILON,
    Known,
    data,
    found_in,
    found_in_text,
    is_number,
    secrets,
    walk,
)
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV, PrivateObjective
from sklearn_dpbo.exceptions import BudgetExceededError, LowUtilityWarning
from sklearn_dpbo.privacy.gdp import gdp_within
from sklearn_dpbo.privacy.mechanisms import Price
from sklearn_dpbo.privacy.noise import SeededNoise
from sklearn_dpbo.search import _objective as module
from sklearn_dpbo.testing import seeded_noise

GRID = [0.0001, 0.01, 0.1, 1.0]


def spent(ledger):
    return ledger.spent["epsilon"], ledger.spent["delta"]


class Fails(ClassifierMixin, BaseEstimator):
    """Fails unless ``a`` is 0."""

    def __init__(self, a=0):
        self.a = a

    def fit(self, X, y):
        if self.a:
            raise RuntimeError("cannot fit this")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


class Always0(Fails):
    """Does not."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self


class Meets(LogisticRegression):
    """Waits in `fit` for another thread, if that may fit, too."""

    both = threading.Barrier(2)

    def fit(self, X, y):
        with contextlib.suppress(threading.BrokenBarrierError):
            self.both.wait(0.2)
        return super().fit(X, y)


def ledger_in(folder, **budget):
    return PrivacyLedger(folder / "ledger", "patients", create=True, **budget)


# ------------------------------------------------------------ what calls return


@pytest.mark.parametrize("again", [1.0, np.float64(1.0), np.array(1.0)[()]])
def test_the_same_setting_is_scored_once(objective_of, again):
    objective = objective_of(epsilon=5.0)
    first = objective({"C": 1.0})
    assert objective({"C": again}) == first and objective.n_calls_left_ == 3
    assert type(objective.calls_[0].params["C"]) is float
    assert objective({"C": 2.0}) is not None and objective.n_calls_left_ == 2


def test_regressors_have_r2_and_a_stand_in_of_about_its_level(rng):
    X = rng.standard_normal((3_000, 1))
    y = np.exp(X[:, 0]) + 0.3 * rng.standard_normal(3_000)
    train, val = (X[::2], y[::2]), (X[1::2], y[1::2])
    objective = PrivateObjective(Ridge(), *train, *val, epsilon=1e6, n_calls=3, random_state=0)
    exact = objective.scorer_(Ridge().fit(*train), *val)
    assert objective({"alpha": 1.0}) == pytest.approx(exact, abs=0.1)
    assert objective.scorer_.name == "r2" and math.isfinite(objective.best().score)


def test_an_own_setting_that_cannot_be_fitted_does_not_matter(objective_of):
    objective = objective_of(Fails(a=1), scoring="f1")
    assert math.isfinite(objective({"a": 0})) and objective.best().params == {"a": 0}


# ------------------------------------------------------------ noise
@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_is_known_beforehand(objective_of, delta):
    """Of 150 records; the calls have half of epsilon, and best the other half."""
    objective = objective_of(epsilon=2.0, delta=delta, n_calls=100, best_share=0.5)
    if delta:
        std = math.hypot(10 / gdp_within(1.0, 1e-6), 2)
        assert objective.privacy_.delta == 0.0
    else:
        a = math.exp(-1 / 100)
        std = math.sqrt(2 * a) / (1 - a)
    assert objective.noise_std_ == pytest.approx(std / 150, rel=1e-9)
    objective({"C": 1.0})
    assert objective.privacy_.delta == delta


@pytest.mark.slow
@pytest.mark.usefixtures("trusted_models")
@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
def test_scores_have_noise_of_that_deviation(objective_of, two_classes, delta, half, monkeypatch):
    if half:
        scale = Price.scale
        monkeypatch.setattr(Price, "scale", lambda *args: scale(*args) / 2)
    n, params = 400, {"epsilon": 3.0, "delta": delta, "best_share": 0.5}
    # The deviation as a reader computes it.
    if delta:
        std, law = math.sqrt(n) / gdp_within(1.5, delta), stats.norm
    else:
        std, law = math.sqrt(2) * n / 1.5, stats.laplace(scale=1 / math.sqrt(2))
    with seeded_noise(1):
        objective = objective_of(Always0(), n_calls=n, **params)
    scores = np.array([objective({"a": float(a)}) for a in range(n)])
    counts = 150 * (scores - np.mean(two_classes[3] == 0))
    assert (stats.kstest(counts / std, law.cdf).pvalue > 1e-4) != half


@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
def test_calls_are_accounted_for_by_the_better_composition(objective_of):
    prices = [
        objective_of(n_calls=n, epsilon=1.0, delta=delta, best_share=0.5)._price
        for n, delta in ((50, 0.0), (50, 1e-6), (2, 1e-6))
    ]
    assert [price.gaussian for price in prices] == [False, True, False]
    assert (prices[1].epsilon, prices[1].delta) == (0.5, 1e-6)
    assert prices[1].spread == pytest.approx(math.sqrt(50) / gdp_within(0.5, 1e-6))


def test_epsilon_is_shared_by_calls_choice_and_score(objective_of):
    objective = objective_of(epsilon=5.0)
    for C in GRID:
        objective({"C": C})
    objective.best()
    spent = [loss.epsilon for loss in objective.privacy_.spends]
    assert spent == pytest.approx([0.3 * 5, 0.42 * 5, 0.28 * 5]) and sum(spent) <= 5


def test_two_threads_that_ask_for_one_candidate_use_one_call(objective_of):
    objective, scores = objective_of(Meets()), []
    threads = [
        threading.Thread(target=lambda: scores.append(objective({"C": 1.0}))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(scores) == 2 and len(set(scores)) == 1 and objective.n_calls_left_ == 3


def test_much_noise_is_warned_of(objective_of):
    with pytest.warns(LowUtilityWarning, match="standard deviation 1.6"):
        objective_of(epsilon=1.0, n_calls=50)


# ------------------------------------------------------------ what calls cost
def test_all_is_charged_before_the_first_draw(objective_of, tmp_path, monkeypatch):
    ledger = ledger_in(tmp_path, epsilon=2.0, delta=1e-5)
    objective = objective_of(epsilon=1.5, delta=1e-6, n_calls=50, ledger=ledger)
    assert spent(ledger) == (0.0, 0.0)
    seen = []
    draw = SeededNoise.discrete_gaussian
    monkeypatch.setattr(
        type(objective._session._samplers),
        "discrete_gaussian",
        lambda self, scale: seen.append(spent(ledger)) or draw(SeededNoise(0), scale),
    )
    objective({"C": 1.0})
    objective({"C": 2.0})
    objective.best()
    assert seen == [(1.5, 1e-6)] * 2 and spent(ledger) == (1.5, 1e-6)
    spends = objective.privacy_.spends
    assert sum(loss.epsilon for loss in spends) == pytest.approx(1.5)
    with pytest.raises(BudgetExceededError):
        objective_of(epsilon=0.6, ledger=ledger)


def test_after_the_last_call_and_after_the_choice_there_is_none(objective_of):
    objective = objective_of(n_calls=2)
    with pytest.raises(ValueError, match="call the objective first"):
        objective.best()
    scores = [objective({"C": C}) for C in (1.0, 2.0)]
    with pytest.raises(BudgetExceededError, match="all 2 calls have been used"):
        objective({"C": 3.0})
    objective.best()
    assert [objective({"C": C}) for C in (1.0, 2.0)] == scores and objective.n_calls_left_ == 0
    other = objective_of()
    other({"C": 1.0})
    other.best()
    with pytest.raises(BudgetExceededError, match="has chosen"):
        other({"C": 3.0})


def test_a_fit_that_fails_uses_up_no_call(objective_of, tmp_path):
    ledger = ledger_in(tmp_path, epsilon=1e7)
    objective = objective_of(Fails(), ledger=ledger)
    with pytest.warns(FitFailedWarning, match="cannot fit this"):
        assert math.isnan(objective({"a": 1}))
    assert objective.n_calls_left_ == 4 and spent(ledger) == (0.0, 0.0)
    objective({"a": 0})
    assert objective.best().params == {"a": 0}
    hopeless = objective_of(Fails())
    with pytest.warns(FitFailedWarning):
        hopeless({"a": 1})
    with pytest.raises(ValueError, match="no candidate has been scored"):
        hopeless.best()
    with pytest.raises(RuntimeError, match="cannot fit this"):
        objective_of(Fails(), error_score="raise")({"a": 1})


# ------------------------------------------------------------ attacks that worked once


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.parametrize("called_before", [False, True])
def test_a_forked_process_has_no_budget(objective_of, called_before):
    objective = objective_of(n_calls=2)
    if called_before:
        objective({"C": 1.0})
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        try:
            objective({"C": 2.0})
            os.write(write, b"drawn")
        except BudgetExceededError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert b"forked process" in os.read(read, 1000)
    os.close(read)
    os.close(write)
    assert objective.n_calls_left_ == 2 - called_before


@pytest.mark.parametrize("frame", [False, True])
def test_later_changes_of_the_tables_do_not_count(two_classes, frame):
    X, y, X_val, y_val = (np.array(each) for each in two_classes)
    if frame:
        pandas = pytest.importorskip("pandas")
        X, X_val = pandas.DataFrame(X), pandas.DataFrame(X_val)
    model = LogisticRegression()
    objective = PrivateObjective(model, X, y, X_val, y_val, epsilon=1e6, n_calls=2)
    exact = objective.scorer_(LogisticRegression().fit(X, y), X_val, y_val)
    X_val.__setitem__(slice(None), 0.0)
    y_val[:] = 0
    model.set_params(fit_intercept=False, C=1e-9)
    assert objective({"C": 1.0, "fit_intercept": True}) == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize("place", ["append", "release"])
def test_an_interrupt_leaves_no_setting_with_the_score_of_another(objective_of, monkeypatch, place):
    objective = objective_of(best_share=0.5)
    objective({"C": 1e-6})
    if place == "append":
        answer = objective._answer
        monkeypatch.setattr(objective, "_answer", Interrupting(answer))
        with pytest.raises(KeyboardInterrupt):
            objective({"C": 10.0})
        monkeypatch.setattr(objective, "_answer", answer)
        objective({"C": 1e-5})
        assert [call.params["C"] for call in objective.calls_] == [1e-6, 1e-5]
        assert objective.best().params["C"] in (1e-6, 1e-5)
        return
    objective({"C": 10.0})
    release_scores = module.release_scores
    monkeypatch.setattr(module, "release_scores", Interrupting(lambda *args: None))
    with pytest.raises(KeyboardInterrupt):
        objective.best()
    with pytest.raises(BudgetExceededError, match="has chosen"):
        objective({"C": 5.0})
    monkeypatch.setattr(module, "release_scores", release_scores)
    assert objective.best().params == {"C": 10.0}
    assert sum(loss.epsilon for loss in objective.privacy_.spends) <= 1e6


class Interrupting:
    """Does what a function does, and is interrupted then."""

    def __init__(self, function):
        self.function = function

    def __getattr__(self, name):
        return getattr(self.function, name)

    def __call__(self, *args):
        self.function(*args)
        raise KeyboardInterrupt


def test_a_call_that_the_ledger_refuses_releases_nothing(objective_of, tmp_path):
    ledger = ledger_in(tmp_path, epsilon=1.0)
    first, second = (objective_of(epsilon=0.8, ledger=ledger) for _ in range(2))
    first({"C": 1.0})
    with pytest.raises(BudgetExceededError):
        second({"C": 1.0})
    assert second.calls_ == [] and second.n_calls_left_ == 4 and not second.privacy_.spends


def test_delta_is_charged_only_if_it_is_used(objective_of, tmp_path):
    ledger = ledger_in(tmp_path, epsilon=10.0, delta=1e-5)
    objective_of(epsilon=1.0, delta=1e-6, n_calls=2, ledger=ledger)({"C": 1.0})
    assert spent(ledger) == (1.0, 0.0)


# ------------------------------------------------------------ wrong use
@pytest.mark.parametrize(
    "params, match",
    [
        ({"epsilon": 0}, "epsilon must be"),
        ({"delta": 1.0}, "delta must be"),
        ({"n_calls": 0}, "n_calls must be"),
        ({"n_calls": 2.5}, "n_calls must be"),
        ({"best_share": 1}, "best_share must be"),
        ({"best_share": 0}, "best_share must be"),
        ({"scoring": "max_error"}, "max_error"),
        ({"scoring": ["accuracy", "f1"]}, "one score"),
        ({"prediction": "alone"}, "prediction"),
        ({"call_seconds": 0}, "call_seconds must be"),
        ({"call_seconds": 1e6}, "call_seconds must be"),
        ({"error_score": "ignore"}, "error_score must be"),
        ({"groups_val": [1, 2]}, "2 entries for 150"),
        ({"estimator": "svc"}, "estimator must be an object with a fit method"),
    ],
)
def test_parameters_that_make_no_sense(objective_of, params, match):
    with pytest.raises((ValueError, TypeError), match=match):
        objective_of(**params)


@pytest.mark.parametrize("setting", [None, 3, "C", [("C", 1.0)], {1: 2}, {"D": 1.0}])
def test_settings_that_make_no_sense(objective_of, setting):
    objective = objective_of()
    with pytest.raises(ValueError, match="a candidate is a dict|Invalid parameter"):
        objective(setting)
    assert objective.calls_ == []


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_it_is_not_copied(objective_of, duplicate):
    with pytest.raises(TypeError, match="must not be spent twice"):
        duplicate(objective_of())


# ------------------------------------------------------------ leaks
@pytest.mark.parametrize("fail", [None, "fit", "predict"])
def test_no_raw_score_is_kept_or_said(fail, recwarn, capfd):
    train, val = data()
    objective = PrivateObjective(
        Known(fail=fail),
        *train.values(),
        *val.values(),
        scoring="accuracy",
        epsilon=EPSILON,
        n_calls=4,
        prediction="together",
    )
    for which in COUNTS:
        objective({"which": which})
    objective.best()
    counts = secrets("accuracy", fail)
    kept = {
        k: v for k, v in vars(objective).items() if k not in ("_session", "_candidates", "_public")
    }
    assert not found_in(kept, counts)
    said = [repr(objective), objective.privacy_.details(), *capfd.readouterr()]
    said += [str(each.message) for each in recwarn]
    assert not found_in_text("\n".join(said), counts)


# ------------------------------------------------------------ optimisers
def suggest_C(trial):
    return {"C": trial.suggest_float("C", 1e-3, 1e3, log=True)}


def test_optuna(objective_of):
    optuna = pytest.importorskip("optuna")
    objective = objective_of(SVC(), n_calls=6)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))

    def suggest(trial):
        kernel = trial.suggest_categorical("kernel", ["rbf", "poly"])
        return {"kernel": kernel, **suggest_C(trial)}

    study.optimize(objective.optuna(suggest), n_trials=6)
    assert [trial.value for trial in study.trials] == [call.score for call in objective.calls_]
    assert study.best_params == objective.calls_[study.best_trial.number].params
    with pytest.raises(BudgetExceededError):
        study.optimize(objective.optuna(suggest), n_trials=1)


def test_optuna_stops_when_calls_are_used_up(objective_of):
    optuna = pytest.importorskip("optuna")
    study = optuna.create_study(direction="maximize")
    objective = objective_of(n_calls=3)
    study.optimize(objective.optuna(suggest_C), n_trials=10)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 3
    asked = objective_of(n_calls=1).optuna(suggest_C)(study.ask())
    assert math.isfinite(asked)


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_optuna_stops_in_all_threads_when_calls_are_used_up(objective_of, n_jobs):
    optuna = pytest.importorskip("optuna")
    for seed in range(5):
        objective = objective_of(n_calls=3)
        study = optuna.create_study(
            direction="maximize", sampler=optuna.samplers.RandomSampler(seed)
        )
        of_trial = objective.optuna(suggest_C)
        study.optimize(of_trial, n_trials=20, n_jobs=n_jobs)
        states = [trial.state.name for trial in study.trials]
        assert states.count("COMPLETE") == 3 and set(states) <= {"COMPLETE", "PRUNED"}
        assert sorted(call.score for call in objective.calls_) == sorted(
            trial.value for trial in study.trials if trial.state.name == "COMPLETE"
        )
        objective.best()
        with pytest.raises(BudgetExceededError):  # nothing to stop: the study does not run
            of_trial(study.ask())


def test_optuna_must_maximise(objective_of):
    optuna = pytest.importorskip("optuna")
    objective = objective_of()
    for study in (optuna.create_study(), optuna.create_study(directions=["maximize"] * 2)):
        with pytest.raises(ValueError, match='direction="maximize"'):
            study.optimize(objective.optuna(suggest_C), n_trials=1)
    assert objective.calls_ == []


def test_optuna_takes_a_function_of_trials(objective_of):
    with pytest.raises(ValueError, match="suggest is a function of a trial"):
        objective_of().optuna({"C": [0.1, 1.0]})


def test_a_search_makes_the_same_model(objective_of, two_classes):
    """The one door: the search and the objective count the same."""
    X, y, X_val, y_val = two_classes
    search = PrivateBayesSearchCV(
        LogisticRegression(), {"C": GRID}, epsilon=1e6, release="all"
    ).fit(X, y, X_val=X_val, y_val=y_val)
    objective = objective_of()
    calls = [objective(params) for params in search.cv_results_["params"]]
    assert calls == pytest.approx(search.cv_results_["mean_test_score"], abs=1e-3)


class Slow(LogisticRegression):
    """Takes as long as a class attribute says."""

    delay = 0.0

    def predict(self, X):
        time.sleep(self.delay)
        return super().predict(X)


def kept_by(two_classes, delay, monkeypatch):
    """Return the numbers that an objective keeps after a call and `best`, but times of fits."""
    monkeypatch.setattr(Slow, "delay", delay)
    X, y, X_val, y_val = two_classes
    with seeded_noise(0):
        objective = PrivateObjective(
            Slow(), X, y, X_val=X_val, y_val=y_val, n_calls=1, prediction="together"
        )
        objective._seed = 0
        objective({"C": 1.0})
        objective.best()
    things = list(walk(vars(objective), {}))
    public = {getattr(thing, name, None) for thing in things for name in ("fit_time", "seconds")}
    kept = [float(v) for v in things if is_number(v) and v not in public]
    return {v for v in kept if abs(v) < 1e12}  # beyond are names of threads


@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
def test_nothing_is_kept_of_how_long_a_call_took(two_classes, monkeypatch):
    """Two runs alike, one of them with a slow model, keep the same numbers."""
    fast, slow = (kept_by(two_classes, delay, monkeypatch) for delay in (0.0, 0.1))
    assert fast == slow
