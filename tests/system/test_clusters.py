"""Searches spread by joblib's backends, and on a Dask cluster whose workers may die."""

import contextlib
import os
import signal
import time
import warnings
from pathlib import Path

import joblib
import pytest
from conftest import EveryFourth
from leaks import Known, M, data, found_in_text, search_of, secrets
from scipy.stats import loguniform
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV
from sklearn_dpbo.testing import seeded_noise

GRID = {"C": [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0]}
SPACE = {"C": loguniform(1e-4, 1e2)}


@contextlib.contextmanager
def two_workers():
    """Two worker processes of one thread each, which Dask restarts when they die."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as started:
        yield started


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster) as connected:
        yield connected


@pytest.fixture
def mortals():
    """A client of workers that no other test uses, on a cluster that does not drop copies."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    keeping = {"distributed.scheduler.active-memory-manager.start": False}
    with (
        dask.config.set(keeping),
        two_workers() as cluster,
        distributed.Client(cluster) as connected,
    ):
        assert not cluster.scheduler.extensions["amm"].running
        yield connected


def search(estimator=None, space=SPACE, **params):
    params = {"epsilon": 5.0, "n_iter": 12, "random_state": 0} | params
    params = {"prediction": "together"} | params
    return PrivateBayesSearchCV(estimator or LogisticRegression(), space, **params)


def fit(search, two_classes):
    X, y, X_val, y_val = two_classes
    with seeded_noise(0):
        return search.fit(X, y, X_val=X_val, y_val=y_val)


def result(search):
    """Return what a search released, without times."""
    shown = {k: v for k, v in search.cv_results_.items() if "time" not in k}
    return repr((search.best_params_, search.best_score_, search.best_score_interval_, shown))


def wait_until(condition, seconds=30):
    """Dask releases tasks and data with a delay."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


# ---------------------------------------------------------------- the same result everywhere
@pytest.mark.parametrize(
    ("backend", "space"),
    [
        pytest.param(*case, id=case[0], marks=() if case[0] == "threading" else pytest.mark.slow)
        for case in [("loky", SPACE), ("threading", GRID), ("pool", GRID), ("dask", SPACE)]
    ],
)
def test_result_does_not_depend_on_joblib_backend(two_classes, request, backend, space):
    if backend == "dask":
        request.getfixturevalue("client")
    alone = result(fit(search(space=space), two_classes))
    with joblib.parallel_config(backend, n_jobs=2):
        assert result(fit(search(space=space), two_classes)) == alone


@pytest.mark.slow
def test_result_does_not_depend_on_ray(two_classes, tmp_path):
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    register_ray()
    alone = result(fit(search(), two_classes))
    paths = {
        "env_vars": {
            "PYTHONPATH": os.pathsep.join(
                [str(Path(__file__).parent), str(Path(__file__).parents[1]), os.getcwd()]
            )
        }
    }
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=10**8, runtime_env=paths)
    try:
        with joblib.parallel_config("ray", n_jobs=2):
            assert result(fit(search(), two_classes)) == alone
    finally:
        ray.shutdown()


@pytest.mark.slow
def test_search_in_cross_validation_on_dask_gives_same_scores(two_classes, client):
    X, y, _, _ = two_classes
    nested = search(space={"C": [1.0]}, cv=EveryFourth())  # one candidate: workers have no seed
    alone = cross_val_score(nested, X, y, cv=3, error_score="raise")
    with joblib.parallel_config("dask"):
        spread = cross_val_score(nested, X, y, cv=3, n_jobs=2, error_score="raise")
    assert spread.tolist() == alone.tolist()
    assert wait_until(lambda: not client.cluster.scheduler.tasks)


# ---------------------------------------------------------------- what is sent to workers
@pytest.mark.slow
def test_ledger_is_not_sent_to_cluster(two_classes, client, tmp_path, monkeypatch):
    def refuse(self):
        raise AssertionError("the ledger is sent to workers")

    monkeypatch.setattr(PrivacyLedger, "__reduce__", refuse)
    ledger = PrivacyLedger(tmp_path / "budget.db", "patients", 10.0, create=True)
    with joblib.parallel_config("dask"):
        fit(search(ledger=ledger), two_classes)
    assert ledger.spent["epsilon"] == 5.0 and len(ledger.history) == 1


# ---------------------------------------------------------------- what stays on the cluster
def memory_of_workers(client):
    return sum(client.run(lambda dask_worker: len(dask_worker.data)).values())


def seen_by(client):
    """Return names of tasks, events, logs, and what the cluster still keeps, as a text."""
    scheduler = client.cluster.scheduler
    seen = [client.get_worker_logs(), client.get_scheduler_logs(), scheduler.get_events()]
    seen += [list(scheduler.transition_log), dict(scheduler.tasks), dict(client.futures)]
    return repr(seen)


@pytest.mark.slow
def test_cluster_keeps_no_data_and_no_raw_score(client):
    public, protected = data()
    with joblib.parallel_config("dask"):
        search_of(verbose=10).fit(**public, **protected)
    assert wait_until(lambda: not client.cluster.scheduler.tasks)
    assert wait_until(lambda: not memory_of_workers(client))
    text = seen_by(client)
    # The number of a process is one of the counts by chance, once in some hundred runs.
    processes = {str(pid) for pid in [os.getpid(), *client.run(os.getpid).values()]}
    found = set(found_in_text(text, secrets("accuracy", None)))
    assert "_run" in text and not found - processes


@pytest.mark.slow
def test_cluster_inspection_finds_planted_score(client):
    kept = client.submit(lambda: 7_717, key="kept-7717")
    kept.result()
    assert memory_of_workers(client) and found_in_text(seen_by(client), {7_717})


# ---------------------------------------------------------------- workers that die
COMPANIONS = 16


class Mortal(LogisticRegression):
    """Kills its worker when it predicts `rows` rows for the first time."""

    def __init__(self, C=1.0, folder=".", parent=0, rows=150):
        super().__init__(C=C)
        self.folder = folder
        self.parent = parent
        self.rows = rows

    def predict(self, X):
        worker = os.getpid() != self.parent
        rows = self.rows + COMPANIONS
        if worker and len(X) == rows and self.C == 0.1 and not os.listdir(self.folder):
            Path(self.folder, "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().predict(X)


@pytest.mark.slow
def test_dying_worker_does_not_change_result_or_cost(two_classes, mortals, tmp_path):
    ledger, deaths = (
        PrivacyLedger(tmp_path / "budget.db", "patients", 10.0, create=True),
        tmp_path / "deaths",
    )
    deaths.mkdir()
    alone = fit(search(space=GRID), two_classes)
    mortal = search(Mortal(folder=str(deaths), parent=os.getpid()), GRID, ledger=ledger)
    with joblib.parallel_config("dask"):
        fit(mortal, two_classes)
    assert len(os.listdir(deaths)) == 1, "one worker died"
    assert result(mortal) == result(alone)
    assert ledger.spent["epsilon"] == 5.0 and len(ledger.history) == 1


@pytest.mark.slow
def test_search_that_is_repeated_after_its_charge_is_charged_again(two_classes, mortals, tmp_path):
    """The worker dies when the 50 test rows are scored: the search inside has ended then."""
    X, y, _, _ = two_classes
    ledger, deaths = (
        PrivacyLedger(tmp_path / "budget.db", "patients", 100.0, create=True),
        tmp_path / "deaths",
    )
    deaths.mkdir()
    mortal = Mortal(folder=str(deaths), parent=os.getpid(), rows=50 - COMPANIONS)
    nested = search(mortal, {"C": [0.1]}, cv=EveryFourth(), ledger=ledger)
    with joblib.parallel_config("dask"):
        spread = cross_val_score(nested, X, y, cv=3, n_jobs=2, error_score="raise")
    alone = search(mortal, {"C": [0.1]}, cv=EveryFourth())
    assert spread.tolist() == cross_val_score(alone, X, y, cv=3).tolist()
    assert len(os.listdir(deaths)) == 1 and len(ledger.history) >= 4
    assert ledger.spent["epsilon"] == 5.0 * len(ledger.history)


# ---------------------------------------------------------------- threads
class Warns(Known):
    """Warns in each fit and in each prediction of the validation set."""

    def fit(self, X, y):
        warnings.warn("fitting", stacklevel=1)
        return super().fit(X, y)

    def predict(self, X):
        if len(X) >= M:
            warnings.warn("predicting", stacklevel=1)
        return super().predict(X)


@pytest.mark.slow
def test_cluster_of_threads_suppresses_warnings_and_keeps_no_data(two_classes):
    """Its threads share one suppression of output, and it drops the data afterwards."""
    distributed = pytest.importorskip("distributed")
    public, protected = data()
    alone = result(fit(search(), two_classes))
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
        warnings.catch_warnings(record=True) as heard,
    ):
        warnings.simplefilter("always")
        assert result(fit(search(), two_classes)) == alone
        chatty = PrivateBayesSearchCV(
            Warns(), {"which": list(range(16))}, refit=False, prediction="together"
        )
        chatty.fit(**public, **protected)
        assert wait_until(lambda: not cluster.scheduler.tasks)
    texts = [str(w.message) for w in heard]
    assert "fitting" in texts, "fits are over before anything protected is predicted"
    assert "predicting" not in texts
