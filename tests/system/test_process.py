"""Searches beside others: dead workers, joblib's pool, and threads."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from joblib.externals.loky import process_executor, reusable_executor
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from sklearn_dpbo import PrivateBayesSearchCV

GRID = {"C": [0.1, 1.0]}
X = np.random.default_rng(0).random((60, 2))
Y = (X[:, 0] > 0.5).astype(int)


def fitted(estimator=None, grid=GRID):
    estimator = LogisticRegression() if estimator is None else estimator
    search = PrivateBayesSearchCV(estimator, grid, n_jobs=2, prediction="together")
    return search.fit(X[:30], Y[:30], X_val=X[30:], y_val=Y[30:])


class Dying(ClassifierMixin, BaseEstimator):
    def __init__(self, number=0):
        self.number = number

    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are ended by signals")
def test_killed_worker_of_loky_raises_an_error_and_the_next_fit_works():
    with pytest.raises(process_executor.TerminatedWorkerError, match="SIGKILL"):
        fitted(Dying(), {"number": [1, 2]})
    fitted()


@pytest.mark.slow
def test_private_and_ordinary_searches_use_the_same_workers():
    """Two pools of other arguments would end each other, and start anew each time."""
    fitted()
    pool = reusable_executor._executor
    GridSearchCV(LogisticRegression(), GRID, n_jobs=2).fit(X, Y)
    fitted()
    assert reusable_executor._executor is pool


@pytest.mark.slow
def test_no_file_is_open_at_exit():
    code = (
        "from sklearn_dpbo.privacy.suppress_output import suppress_output\n"
        "with suppress_output():\n    print('dropped', flush=True)"
    )
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", code]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert (ended.stdout, "ResourceWarning" in ended.stderr) == ("", False), ended.stderr


@pytest.mark.slow
def test_searches_in_threads_leave_output_as_it_was_and_show_no_record():
    """Also if candidates fail, and if Ctrl-C ends other searches meanwhile."""
    script = Path(__file__).parent / "searches_in_threads.py"
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert ended.stdout == "shown\n", ended.stderr
    assert "54321" not in ended.stderr
