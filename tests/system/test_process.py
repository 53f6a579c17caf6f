"""What is left of a search's processes and files when it is interrupted, killed, or hangs.

Searches that are killed run in a process of their own: this file as a script.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from joblib import parallel_config
from joblib.externals.loky import get_reusable_executor, process_executor
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV, PrivateFederatedSearch
from sklearn_dpbo._evaluation import workers
from sklearn_dpbo._evaluation.evaluator import Evaluator
from sklearn_dpbo.configuration import PrivateConfigurator
from sklearn_dpbo.strategies import WorstCase

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are ended by signals")


class Hanging(ClassifierMixin, BaseEstimator):
    """Hangs where it is told to: in C code that never gives other threads a turn, or in Python."""

    def __init__(self, where=None, marker=None, how="C", number=0):
        self.where, self.marker, self.how, self.number = where, marker, how, number

    def _reach(self, where):
        if self.where != where:
            return
        if self.marker:
            Path(f"{self.marker}{os.getpid()}").touch()
        if self.how == "C":
            ctypes.PyDLL(None).sleep(60)  # which holds the lock of the interpreter
        time.sleep(60)

    def fit(self, X, y):
        self._reach("fit")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        if (X[:, 1] == 2).sum() > 1000:
            self._reach("predict")
        return np.zeros(len(X), dtype=int)


def wide():
    """Data that joblib maps to files: 100 rows to train on, 2,000 to protect with a 2."""
    X = np.random.default_rng(0).random((2100, 100))
    X[100:, 1] = 2
    y = (X[:, 0] > 0.5).astype(int)
    return X[:100], y[:100], {"X_val": X[100:], "y_val": y[100:]}


def small():
    X = np.random.default_rng(0).random((60, 2))
    y = (X[:, 0] > 0.5).astype(int)
    return X[:30], y[:30], {"X_val": X[30:], "y_val": y[30:]}


def fitted(data, estimator=None, grid=None, **params):
    X, y, protected = data
    estimator = LogisticRegression() if estimator is None else estimator
    grid = {"C": [0.1, 1.0]} if grid is None else grid
    search = PrivateBayesSearchCV(
        estimator, grid, **{"n_jobs": 2, "prediction": "together", **params}
    )
    return search.fit(X, y, **protected)


# ---------------------------------------------------------------- the parent is killed


def hang(marker, how, thread):
    """Fit until killed, beside protected records that are mapped."""
    # A class of a script would be pickled by value.
    from test_process import Hanging

    def run():
        fitted(wide(), Hanging("predict", marker, how), {"number": [1, 2]})

    if thread == "thread":
        other = threading.Thread(target=run)
        other.start()
        other.join()
    run()


def until(condition, seconds):
    """Return whether it comes true."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")
@pytest.mark.parametrize(
    "end, how, thread",
    [
        (signal.SIGTERM, "C", "main"),
        pytest.param(signal.SIGKILL, "C", "main", marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, "Python", "thread", marks=pytest.mark.slow),
    ],
)
def test_end_of_the_parent_ends_workers_and_removes_their_maps(tmp_path, end, how, thread):
    folder, marker = tmp_path / "joblib", tmp_path / "worker"
    folder.mkdir()
    path = os.pathsep.join([str(HERE), *sys.path])
    parent = subprocess.Popen(
        [sys.executable, __file__, str(marker), how, thread],
        env={**os.environ, "PYTHONPATH": path, "JOBLIB_TEMP_FOLDER": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert until(lambda: len(list(tmp_path.glob("worker*"))) == 2, 60), "both hang"
        children = [int(each.name.removeprefix("worker")) for each in tmp_path.glob("worker*")]
        assert any(each.is_file() for each in folder.rglob("*")), "records are mapped"
    finally:
        parent.send_signal(end)
        parent.wait()
    left = [pid for pid in children if not until(lambda pid=pid: not alive(pid), 10)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, "workers have ended with their parent"
    assert until(lambda: not any(folder.iterdir()), 10), "no records are left"


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="not Linux")
def test_records_are_not_left_behind_if_all_processes_are_killed_at_once(tmp_path):
    """joblib's tracker, too, which would remove files of memory maps."""
    marker, env = tmp_path / "worker", {**os.environ, "TMPDIR": str(tmp_path)}
    env["PYTHONPATH"] = os.pathsep.join([str(HERE), *sys.path])
    env.pop("JOBLIB_TEMP_FOLDER", None)
    parent = subprocess.Popen(
        [sys.executable, __file__, str(marker), "C", "main"],
        env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        assert until(lambda: len(list(tmp_path.glob("worker*"))) == 2, 60), "both hang"
        child = next(tmp_path.glob("worker*")).name.removeprefix("worker")
        assert "memfd:sklearn_dpbo" in Path(f"/proc/{child}/maps").read_text()
    finally:
        os.killpg(parent.pid, signal.SIGKILL)  # its own session, begun above
        parent.wait()
    name = f"joblib_memmapping_folder_{parent.pid}_*/**/*"
    found = [*Path("/dev/shm").glob(name), *tmp_path.glob(name)]
    assert not [path for path in found if path.is_file()]


def test_workers_of_others_and_of_the_cluster_stay_as_they_are(monkeypatch):
    def fail(*_):
        raise AssertionError("this process is not one of joblib's workers")

    monkeypatch.setattr(workers, "_signalled_when_parent_ends", fail)
    monkeypatch.setattr(workers, "_wait_for_end_of", fail)
    workers.end_with_parent.__wrapped__()


# ---------------------------------------------------------------- hanging fits


@pytest.mark.parametrize(
    "guidance, how", [("public", "C"), pytest.param("none", "Python", marks=pytest.mark.slow)]
)
def test_fit_timeout_ends_a_hanging_fit_with_a_clear_error(tmp_path, guidance, how):
    ledger = PrivacyLedger(tmp_path / "ledger", "patients", 1.0, create=True)
    start = time.monotonic()
    search = PrivateBayesSearchCV(
        Hanging(how=how), {"where": [None, "fit"], "number": [1, 2, 3, 4]},
        n_jobs=2, strategy=WorstCase(guidance), ledger=ledger, fit_timeout=0.5,
        prediction="together",
    )  # fmt: skip
    X, y, protected = small()
    with pytest.raises(TimeoutError, match=r"fit_timeout=0.5 seconds.*no privacy spent") as raised:
        search.fit(X, y, **protected)
    assert time.monotonic() - start < 40
    assert raised.value.__cause__ is None and not ledger.history
    assert not [name for name in vars(search) if name.endswith("_")]


@pytest.mark.slow
def test_fit_timeout_counts_each_fit_and_not_the_start_of_workers():
    """Eight fits, begun in new workers, take longer together than each of them may."""
    get_reusable_executor().shutdown(kill_workers=True)
    fitted(small(), grid={"C": np.logspace(-2, 2, 8).tolist()}, fit_timeout=3.0)


def test_no_clock_is_looked_at_once_protected_records_are_predicted(monkeypatch):
    """Neither in their predictions nor in fits that come after them."""
    limits, results = [], Evaluator._results

    def recorded(self, function, tasks, sent, limit=None):
        limits.append((function.__name__, self._validation_set_used, limit))
        return results(self, function, tasks, sent, limit)

    monkeypatch.setattr(Evaluator, "_results", recorded)
    fitted(small(), fit_timeout=30.0)
    assert limits == [("fit_model", False, 30.0), ("_count", True, None)]
    limits.clear()
    evaluate = Evaluator.__call__

    def twice(self, candidate_params):
        evaluate(self, candidate_params)
        return evaluate(self, candidate_params)

    monkeypatch.setattr(Evaluator, "__call__", twice)
    fitted(small(), fit_timeout=30.0, strategy=WorstCase("none"))
    assert limits[2] == ("fit_model", True, None)


@pytest.mark.parametrize(
    "backend, params, match",
    [
        ("loky", dict(n_jobs=None), "n_jobs=1"),
        ("threading", {}, "ThreadingBackend.*A thread cannot be ended"),
        ("loky", dict(strategy=WorstCase("private")), "looks at a clock"),
        ("loky", dict(strategy="gp_noisy", delta=1e-6), "looks at a clock"),
        ("loky", dict(protect="all"), "looks at a clock"),
        ("loky", dict(fit_timeout=0), "fit_timeout.*above 0"),
        ("loky", dict(fit_timeout="1"), "fit_timeout.*above 0"),
    ],
)
def test_fit_timeout_is_refused_where_it_cannot_be_kept(backend, params, match, tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", "patients", 1.0, create=True)
    X, y, protected = small()
    params = {"n_jobs": 2, "fit_timeout": 5.0, "ledger": ledger, **params}
    search = PrivateBayesSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, **params)
    with parallel_config(backend), pytest.raises(ValueError, match=match):
        search.fit(X, y, **({} if search.protect == "all" else protected))
    assert not ledger.history


# ---------------------------------------------------------------- dead workers


class Dying(Hanging):
    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)


def test_killed_worker_of_loky_raises_an_error_and_the_next_fit_works():
    with pytest.raises(process_executor.TerminatedWorkerError, match="SIGKILL"):
        fitted(small(), Dying(), {"number": [1, 2]}, fit_timeout=30.0)
    fitted(small())


def test_multiprocessing_is_refused_because_it_waits_for_dead_workers(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", "patients", 1.0, create=True)
    X, y, protected = small()
    match = '"multiprocessing" waits for ever.*use joblib\'s default, "loky"'
    others = [
        lambda: fitted(small(), ledger=ledger),
        lambda: PrivateConfigurator(
            None, epsilon=1.0, utility_bound=1, interval=(0, 1), n_jobs=2
        ).fit([1]),
        lambda: PrivateFederatedSearch(LogisticRegression(), {"C": [1.0]}, n_jobs=2).fit([]),
    ]
    for fit in others:
        with parallel_config("multiprocessing"), pytest.raises(ValueError, match=match):
            fit()
    assert not ledger.history
    with parallel_config("multiprocessing"):
        fitted((X, y, protected), n_jobs=1)


# ---------------------------------------------------------------- interrupts


@pytest.mark.parametrize(
    "what",
    ["manager", *(pytest.param(w, marks=pytest.mark.slow) for w in ("process", "executor"))],
)
def test_interrupt_while_loky_starts_is_raised_and_the_next_fit_works(what, monkeypatch):
    get_reusable_executor().shutdown(kill_workers=True)
    owner, name = {
        "manager": (process_executor._ExecutorManagerThread, "start"),
        "process": (process_executor.ProcessPoolExecutor, "_adjust_process_count"),
        "executor": (joblib.executor.TemporaryResourcesManager, "register_new_context"),
    }[what]
    original, interrupted = getattr(owner, name), []

    def start(self, *args, **params):
        if not interrupted:
            interrupted.append(True)
            signal.raise_signal(signal.SIGINT)
        return original(self, *args, **params)

    monkeypatch.setattr(owner, name, start, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(KeyboardInterrupt):
            fitted(small())
        assert interrupted
        done = []
        thread = threading.Thread(target=lambda: done.append(fitted(small())), daemon=True)
        thread.start()
        thread.join(60)
        assert done, "the next fit works"


if __name__ == "__main__":
    hang(*sys.argv[1:])


# ---------------------------------------------------------------- threads
def test_searches_in_threads_leave_output_as_it_was_and_show_no_record():
    """Also if candidates fail, and if Ctrl-C ends other searches meanwhile."""
    script = HERE / "searches_in_threads.py"
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert ended.stdout == "shown\n", ended.stderr
    assert "54321" not in ended.stderr
