"""`memory` keeps fits, and nothing that depends on the validation set."""

from pathlib import Path

import joblib
import numpy as np
import pytest
from joblib import Memory
from leaks import EPSILON, Known, M, data, found_in, found_in_text, secrets
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo._evaluation.fit_cache import FitCache
from sklearn_dpbo.exceptions import GuaranteeAssumptionWarning
from sklearn_dpbo.kusner2015 import GPNoisy
from sklearn_dpbo.strategies import WorstCase

FITS = []


class Counting(LogisticRegression):
    """Records each fit, and raises KeyboardInterrupt in one of them."""

    interrupt_at = None

    def fit(self, X, y, sample_weight=None):
        FITS.append(self.C)
        if len(FITS) == self.interrupt_at:
            raise KeyboardInterrupt
        if self.C > 1e3:
            raise ArithmeticError("too large")
        return super().fit(X, y, sample_weight)


@pytest.fixture(autouse=True)
def fits():
    FITS.clear()
    return FITS


GRID = {"C": [0.01, 0.1, 1.0, 10.0]}
SPACE = {"C": loguniform(1e-3, 1e3)}


def search(memory, space=GRID, **params):
    params = {"epsilon": 50.0, "n_iter": 12, "random_state": 0, "noise_random_state": 0} | params
    params = {"prediction": "together"} | params
    return PrivateBayesSearchCV(Counting(), space, memory=memory, **params)


def fit(search, two_classes, **params):
    X, y, X_val, y_val = two_classes
    return search.fit(X, y, X_val=X_val, y_val=y_val, **params)


@pytest.mark.parametrize("space", [GRID, SPACE], ids=["grid", "guided"])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_same_search_with_memory_fits_nothing_again(two_classes, tmp_path, fits, space, n_jobs):
    first = fit(search(tmp_path, space, n_jobs=n_jobs), two_classes)
    fits.clear()
    again = fit(search(Memory(str(tmp_path), verbose=0), space), two_classes)
    assert not fits
    assert again.best_params_ == first.best_params_ and again.best_score_ == first.best_score_
    for name in ("public_score", "mean_fit_time", "validated"):
        np.testing.assert_array_equal(again.cv_results_[name], first.cv_results_[name])
    without = fit(search(None, space), two_classes)
    assert without.best_params_ == first.best_params_ and without.best_score_ == first.best_score_
    np.testing.assert_array_equal(without.best_estimator_.coef_, again.best_estimator_.coef_)


def test_search_after_interrupt_fits_only_the_rest(two_classes, tmp_path, fits, monkeypatch):
    monkeypatch.setattr(Counting, "interrupt_at", 7)
    with pytest.raises(KeyboardInterrupt):
        fit(search(str(tmp_path), SPACE), two_classes)
    monkeypatch.setattr(Counting, "interrupt_at", None)
    done = list(fits)
    fit(search(str(tmp_path), SPACE), two_classes)
    assert len(done) == 7 and len(fits) == 12 + 1, (
        "the rest, and again the one that was interrupted"
    )


def test_failing_candidate_is_fitted_once_in_a_search(two_classes, tmp_path, fits):
    space = {"C": [0.1, 1.0, 1e4]}
    with pytest.warns(match="1 of 3 candidates failed"):
        found = fit(search(str(tmp_path), space, refit=False), two_classes)
    assert sorted(fits) == [0.1, 1.0, 1e4]
    assert found.cv_results_["fit_error"].tolist() == [None, None, "ArithmeticError: too large"]
    with pytest.raises(ArithmeticError):
        fit(search(str(tmp_path), space, error_score="raise"), two_classes)


def test_other_training_set_or_parameters_are_fitted_again(two_classes, tmp_path, fits):
    X, y, X_val, y_val = two_classes
    memory = str(tmp_path)
    fit(search(memory), two_classes)
    for other, params, n in (
        (two_classes, {"sample_weight": np.arange(150)}, 4),
        ((X + 1, y, X_val, y_val), {}, 4),
        ((X, 1 - y, X_val, y_val), {}, 4),
        ((X, y, X_val[:50], y_val[:50]), {}, 0),  # the validation set is not part of the key
    ):
        fits.clear()
        fit(search(memory), other, **params)
        assert len(fits) == n
    fits.clear()
    fit(search(memory).set_params(estimator__tol=1e-3), two_classes)
    assert len(fits) == 4


class Watched(Known):
    """Calls `look` when validation records are predicted."""

    look = None

    def predict(self, X):
        if len(X) >= M:
            type(self).look()
        return super().predict(X)


@pytest.mark.parametrize("guidance", ["none", "public", "private"])
def test_no_file_is_written_once_validation_set_is_in_use(tmp_path, guidance, monkeypatch):
    """Modification times of files, and times of calls that joblib keeps, would depend on it."""
    before = []

    def listing():
        return {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()}

    monkeypatch.setattr(Watched, "look", lambda: before or before.append(listing()))
    train, val = data()
    grid = {"which": [0, 1, 2, 3], "letter": list("abcdefghijklmnopqrstuvwxyz")}
    PrivateBayesSearchCV(
        Watched(), grid, strategy=WorstCase(guidance), n_iter=16, epsilon=0.2, random_state=0,
        noise_random_state=1, memory=str(tmp_path), prediction="together",
    ).fit(**train, **val)  # fmt: skip
    assert before[0] and listing() == before[0]


def test_cache_contains_no_raw_score(tmp_path):
    train, val = data()
    PrivateBayesSearchCV(
        Known(),
        {"which": [0, 1, 2, 3]},
        epsilon=EPSILON,
        memory=str(tmp_path),
        prediction="together",
    ).fit(**train, **val)
    counts = secrets("accuracy", None)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(path.name == "output.pkl" for path in files) == 4
    for path in files:
        kept = joblib.load(path) if path.suffix == ".pkl" else None
        assert not found_in(kept, counts) and not found_in_text(path.read_text("latin1"), counts)


@pytest.mark.filterwarnings(
    f"ignore::{GuaranteeAssumptionWarning.__module__}.GuaranteeAssumptionWarning"
)
def test_candidates_that_depend_on_scores_are_not_looked_up(two_classes, tmp_path, monkeypatch):
    looked_up, find = [], FitCache.find
    monkeypatch.setattr(
        FitCache, "find", lambda self, *args: looked_up.append(args[0].C) or find(self, *args)
    )
    s = search(str(tmp_path), SPACE, strategy=GPNoisy(), delta=1e-3)
    fit(s, two_classes)
    assert looked_up == [s.best_params_["C"]], "the one that is released"


def test_memory_is_cloned_and_validated(two_classes, tmp_path):
    s = clone(search(str(tmp_path)))
    assert s.get_params()["memory"] == str(tmp_path)
    with pytest.raises(ValueError, match="memory"):
        fit(search(3), two_classes)
    assert not list(Path(tmp_path).iterdir())
