"""What depends on the operating system: systems without `flock` and `fork`, and macOS's `fsync`."""

import importlib
import os
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV
from sklearn_dpbo.exceptions import LedgerError
from sklearn_dpbo.privacy.ledger import _file

fcntl = pytest.importorskip("fcntl")


@pytest.fixture
def windows(monkeypatch):
    """The module of ledger files as it is where Python has neither `fcntl` nor `os.fork`."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.delattr(os, "register_at_fork")
    before = dict(vars(_file))
    without = dict(vars(importlib.reload(_file)))
    vars(_file).update(before)
    monkeypatch.setattr(_file, "_HAS_FLOCK", without["_HAS_FLOCK"])
    return without


def test_without_flock_a_ledger_says_so_and_creates_nothing(windows, tmp_path):
    path = tmp_path / "patients.ledger"
    with pytest.raises((LedgerError, OSError), match="needs flock.*use a PostgreSQL server"):
        PrivacyLedger(path, "patients", epsilon=1.0, create=True)
    assert not windows["_HAS_FLOCK"] and not list(tmp_path.iterdir())


def test_without_flock_a_search_works_without_a_ledger(windows, two_classes):
    X, y, X_val, y_val = two_classes
    search = PrivateBayesSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, epsilon=1e3)
    assert np.isfinite(search.fit(X, y, X_val=X_val, y_val=y_val).best_score_)


def test_macos_is_asked_to_empty_the_cache_of_the_disk(monkeypatch, tmp_path):
    asked, full = [], 51
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", full, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda _, command: asked.append(command))
    ledger = PrivacyLedger(tmp_path / "a.ledger", "patients", epsilon=1.0, create=True)
    created = len(asked)
    ledger.charge(0.5, what="a release")
    assert created and len(asked) > created and set(asked) == {full}
