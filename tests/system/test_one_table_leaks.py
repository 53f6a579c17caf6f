"""A search on one table shows no raw score, no number of fits, and no record, to anybody.

What is looked for is recognisable: counts as in `leaks`, a number of fits that is drawn for sure,
and values that no made-up record has.
"""

import contextlib
import gc
import itertools
import logging
import pickle
import re
import signal
import struct
import traceback
from collections import deque

import joblib
import numpy as np
import pytest
from joblib import register_parallel_backend
from joblib._parallel_backends import ThreadingBackend
from joblib.externals.loky import get_reusable_executor
from leaks import COUNTS, M, found_in, found_in_text, frames_of, walk
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_dpbo import PrivateTableSearchCV
from sklearn_dpbo.learners import PrivateTraining
from sklearn_dpbo.privacy import runs
from sklearn_dpbo.privacy.mechanisms import Mechanisms
from sklearn_dpbo.privacy.runs import Repeated
from sklearn_dpbo.search import _table

pytestmark = pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")

# A fifth of it is the second part, which has M records.
N = 5 * M
# A number of fits that nothing else has.
K = 89
# In a column of the table.
MARK = 314_159.265


class Known(ClassifierMixin, BaseEstimator):
    """Says that it trains privately; predicts class 1 up to the row number that makes COUNTS."""

    calls = 0

    def __init__(self, which=0, epsilon=1.0, fail=None):
        self.which = which
        self.epsilon = epsilon
        self.fail = fail

    def private_training(self):
        return PrivateTraining("pure", delta=None, groups="groups")

    def fit(self, X, y, groups=None):
        real = len(X) == N - M
        Known.calls += real
        if self.fail == "fit" and real:
            raise RuntimeError(f"{len(X)} records")
        if self.fail == "interrupt" and Known.calls == 3:
            signal.raise_signal(signal.SIGINT)
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        if self.fail == "predict" and (X[:, 0] == N - 1).any():
            raise RuntimeError(f"{(X[:, 0] < 1000).sum()} of {len(X)}")
        print("predicts", len(X))
        logging.getLogger("known").warning("predicts %d", len(X))
        return (X[:, 0] < 5 * COUNTS[self.which]).astype(int)


def table():
    X = np.column_stack([np.arange(N), np.full(N, MARK)]).astype(float)
    return X, (np.arange(N) > 0).astype(int)


def search_of(accounting="repeat", estimator=None, **params):
    estimator = Known(params.pop("fail", None)) if estimator is None else estimator
    runs.MOST_COMPOSED = {"compose": 99, "repeat": 0}[accounting]
    params = {"epsilon": 1e-7, "random_state": 0, "prediction": "together"} | params
    grid = params.pop("grid", {"which": list(COUNTS)})
    return PrivateTableSearchCV(estimator, grid, n_fits=4, **params)


@pytest.fixture(autouse=True)
def drawn(monkeypatch):
    """Exactly K fits are made, if their number is random; and exceptions start afresh."""
    monkeypatch.setattr(Repeated, "draw", lambda *_: K)
    Known.calls = 0


@pytest.fixture(scope="module", autouse=True)
def _same_cut():
    """A fifth of the table is held out; `search_of` sets how fits are accounted for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "MOST_COMPOSED", runs.MOST_COMPOSED)
        patch.setattr(_table, "held_out", lambda n_units, **_: round(0.2 * n_units))
        yield


@pytest.fixture(scope="module")
def counts():
    """The raw counts of all candidates; all searches here cut the table alike."""
    found, best_of = set(), Mechanisms.best_of

    def spied(self, models, fitted, scores, *args, **params):
        found.update(scores._open().ravel().tolist())
        return best_of(self, models, fitted, scores, *args, **params)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Mechanisms, "best_of", spied)
        search_of("compose").fit(*table())
    assert len(found) == len(COUNTS) and min(found) > 4096
    return found


def numbers_of_fits(thing):
    """What is reachable from an object that shows K: a number, or the size of something."""
    found = list(walk(thing, {}))
    sized = [v for v in found if isinstance(v, list | tuple | dict | set)]
    sized += [v for v in found if isinstance(v, np.ndarray) and v.ndim]
    whole = [v for v in found if isinstance(v, int | np.integer)]
    return [v for v in whole if v == K] + [v for v in sized if len(v) == K]


def test_what_shows_the_number_of_fits_is_found():
    """The tests below can fail."""
    for planted in (K, [0] * K, np.zeros(K), {i: i for i in range(K)}, ("x", {"k": [K]})):
        assert numbers_of_fits({"planted": planted})
    assert not numbers_of_fits({"planted": [[0] * (K - 1), K + 1, 0.5]})
    assert found_in_text(f"<Sensitive: {K} candidates, value withheld>", {K})


def shown_by(search):
    """All texts that a fitted search makes."""
    texts = [repr(search), str(search), search._repr_html_(), search.privacy_.details()]
    text = "".join([*texts, search.privacy_._repr_html_(), str(search.cv_results_)])
    # scikit-learn numbers what it draws in a process, and so has any number one day.
    return re.sub(r"sk-(estimator|container)-id-\d+", "", text)


CASES = [
    {},
    {"accounting": "compose"},
    {"fail": "predict"},
    {"groups": True},
    {"pipeline": True},
    {"n_jobs": 2},
]


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("case", "backend"),
    [
        *((case, "threading") for case in CASES[:2]),
        *(pytest.param(case, "threading", marks=pytest.mark.slow) for case in CASES[2:]),
        pytest.param({"n_jobs": 2}, "loky", marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_no_raw_score_and_no_number_of_fits_is_kept_printed_or_logged(
    case, backend, counts, capfd, caplog, recwarn
):
    params = dict(case)
    X, y = table()
    groups = np.arange(N) if params.pop("groups", False) else None
    estimator, grid = Known(fail=params.pop("fail", None)), {"which": list(COUNTS)}
    if params.pop("pipeline", False):
        estimator = make_pipeline(FunctionTransformer(), estimator)
        grid = {"known__which": list(COUNTS)}
    if "n_jobs" in params:
        get_reusable_executor().shutdown()  # workers of another test write to its output
    caplog.set_level(logging.DEBUG)
    search = search_of(estimator=estimator, grid=grid, verbose=10, **params)
    capfd.readouterr()
    with joblib.parallel_config(backend, verbose=50):
        search.fit(X, y, groups=groups)
    fits = {K} if case.get("accounting") != "compose" else set()
    captured = capfd.readouterr()
    text = captured.out + captured.err + caplog.text + shown_by(search)
    text += "".join(str(w.message) for w in recwarn)
    assert not found_in_text(text, counts | fits)
    for kept in (vars(search), vars(pickle.loads(pickle.dumps(search)))):
        assert not found_in(kept, counts)
        assert not fits or not numbers_of_fits(kept)
    raw = pickle.dumps(search)
    assert not [c for c in counts if int(c).to_bytes(8, "little") in raw]
    assert struct.pack("<d", MARK) not in raw and struct.pack("<d", N - 1) not in raw


class Counting(ThreadingBackend):
    """Counts what it gets, as pools of processes do: its threads pass for such."""

    uses_threads = supports_sharedmem = False
    received = 0

    def submit(self, *args, **kwargs):
        Counting.received += 1
        return super().submit(*args, **kwargs)


register_parallel_backend("counting", Counting)


def received(k, monkeypatch):
    """How many tasks a pool gets for k fits."""
    monkeypatch.setattr(Repeated, "draw", lambda *_: k)
    before = Counting.received
    with joblib.parallel_config("counting"):
        search_of(n_jobs=2).fit(*table())
    return Counting.received - before


def test_a_pool_gets_as_many_tasks_however_many_fits_there_are(monkeypatch):
    assert received(3, monkeypatch) == received(14, monkeypatch) > 0


RUNNERS = "_pytest", "execnet", "pluggy", "pytest", "xdist"


def counters():
    """All numbers, and sizes, that are attributes in this process, by whose and which they are.

    What runs the tests has queues of its own, which other threads change.
    """
    gc.collect()
    found = {}
    for thing in gc.get_objects():
        with contextlib.suppress(Exception):  # of what has none, or changes meanwhile
            if type(thing).__module__.partition(".")[0] in RUNNERS:
                continue
            for name, value in list(vars(thing).items()):
                if type(value) is itertools.count:
                    value = int(re.findall("[0-9]+", repr(value))[0])
                elif type(value) in (list, dict, set, deque):
                    value = len(value)
                if type(value) is int:
                    found[id(thing), type(thing).__name__, name] = value
    return found


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_no_counter_depends_on_the_number_of_fits_in_workers(backend, monkeypatch):
    def counted(k):
        monkeypatch.setattr(Repeated, "draw", lambda *_: k)
        before = counters()
        with joblib.parallel_config(backend):
            search_of(n_jobs=2).fit(*table())
        after = counters()
        moved = [key for key in after if key in before and after[key] != before[key]]
        return {key[1:]: after[key] - before[key] for key in moved}

    counted(3)  # starts the workers
    few, many = counted(3), counted(14)
    assert few == many
    assert backend != "loky" or few["MemmappingExecutor", "_queue_count"]


# ------------------------------------------------------------------------- exceptions
class FailsAtLast(Known):
    """Predicts made-up records once too often: after the choice, when it is released."""

    def predict(self, X):
        if len(X) < 100 and Known.calls >= K:
            raise RuntimeError("no more")
        return super().predict(X)


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (Known(fail="interrupt"), KeyboardInterrupt, None),
        (Known(fail="fit"), ValueError, "could not be fitted.*depends on protected records"),
        (FailsAtLast(), RuntimeError, "no more"),
    ],
    ids=["interrupted", "not fitted", "not predicting"],
)
def test_exceptions_show_no_raw_score_and_no_number_of_fits(estimator, error, message, counts):
    search = search_of(estimator=estimator)
    with pytest.raises(error, match=message) as caught:
        search.fit(*table())
    seen = frames_of(caught.value)
    assert len(seen) > 2
    assert not found_in(seen, counts)
    assert not numbers_of_fits([frame for frame in seen if isinstance(frame, dict)])
    text = "".join(traceback.format_exception(caught.value)) + "".join(map(str, seen))
    assert f"{K} candidates" not in text and f"{N - M}" not in str(caught.value)
    assert "had been charged before this (for: training of models" in caught.value.__notes__[0]
    assert not hasattr(search, "best_params_")


def test_an_interrupt_of_the_choice_shows_neither(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sklearn_dpbo.privacy.mechanisms._choice", lambda *_: interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        search_of().fit(*table())
    seen = [frame for frame in frames_of(caught.value) if isinstance(frame, dict)]
    assert not numbers_of_fits(seen) and f"{K} candidates" not in str(seen)


def test_models_that_were_not_chosen_are_gone():
    search = search_of(accounting="compose").fit(*table())
    gc.collect()
    known = [o for o in gc.get_objects() if issubclass(type(o), Known)]
    alive = [model for model in known if hasattr(model, "classes_")]
    assert alive == [search.best_estimator_]


class Keeper:
    """A function that keeps what it was called with."""

    def __init__(self):
        self.seen = []

    def __call__(self, X):
        self.seen.append(np.array(X))
        return X


def test_steps_of_the_released_pipeline_have_seen_no_record():
    estimator = make_pipeline(FunctionTransformer(Keeper()), Known())
    search = search_of("compose", estimator, grid={"known__which": [0]}).fit(*table())
    seen = search.best_estimator_[0].func.seen
    assert seen and max(np.abs(X).max() for X in seen) <= 1, "made-up records"
    assert struct.pack("<d", MARK) not in pickle.dumps(search)
