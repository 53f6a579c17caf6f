"""Fixtures and data that all tests share."""

import os
import signal
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, settings
from joblib import register_parallel_backend
from joblib._parallel_backends import LokyBackend
from postgresql import (  # noqa: F401
    database,
    own_database,
    server,
)
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from sklearn_dpbo.privacy import accounting
from sklearn_dpbo.records.tables import n_rows
from sklearn_dpbo.testing import seeded_noise

# The matrices here are small: with two threads, libraries of linear algebra spend five times the
# CPU time, waiting. Set the variable to test with more. Processes that tests start read it, too.
threadpool_limits(int(os.environ.setdefault("OMP_NUM_THREADS", "1")))

# A shell lets commands that it runs in the background ignore Ctrl-C, which tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Real data that is not part of the package: a folder beside it, or one that the variable names.
DATA = Path(os.environ.get("SKLEARN_DPBO_DATA", Path(__file__).parents[2] / "shared" / "data"))


def data_file(name: str) -> Path:
    """Return the path of a data file, or skip the test."""
    if not (DATA / name).exists():
        pytest.skip(f"no {name} in {DATA}; set SKLEARN_DPBO_DATA to the folder that has it")
    return DATA / name


def pytest_configure(config):
    """Draw the same cases in every run; others with ``--hypothesis-seed=1``, to look for more."""
    seeded = config.getoption("--hypothesis-seed", None) is not None
    # Planted bugs show that tests fail: nobody reads the smallest case.
    shrinks = "WITHOUT_SHRINKING" not in os.environ
    phases = [phase for phase in Phase if shrinks or phase != Phase.shrink]
    settings.register_profile(
        "seeded", derandomize=not seeded, database=None, deadline=None, phases=phases
    )
    settings.load_profile("seeded")
    # Not in pyproject.toml: pytest would import the package before coverage begins.
    config.addinivalue_line("filterwarnings", "error::sklearn_dpbo.exceptions.PrivacyWarning")
    # Where noise would only disturb, tests take an epsilon or a delta that nobody should.
    config.addinivalue_line("filterwarnings", "ignore:epsilon=.* promise little")
    config.addinivalue_line("filterwarnings", "ignore:classes is None")
    config.addinivalue_line("filterwarnings", "ignore:score\\(\\) of protected records is exact")
    # Of threads, which `_fits_are_not_counted` does not reach.
    config.addinivalue_line("filterwarnings", "ignore:fit number")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Cases of a test beyond the `first` ones are slow: they see no other mechanism."""
    seen = Counter()
    for item in items:
        first = item.get_closest_marker("first")
        if first and not item.get_closest_marker("soak"):
            seen[item.function] += 1
            if seen[item.function] > first.args[0]:
                item.add_marker(pytest.mark.slow)


class PoolBackend(LokyBackend):
    """Gives all results at once at the end, as Ray's backend does."""

    supports_return_generator = False


register_parallel_backend("pool", PoolBackend)


@pytest.fixture
def two_classes():
    """X, y, X_val, y_val of a problem that is learnt in milliseconds."""
    X, y = make_classification(300, 5, n_informative=3, flip_y=0.05, random_state=0)
    return X[:150], y[:150], X[150:], y[150:]


@pytest.fixture(autouse=True, scope="module")
def _few_draws(request):
    """Simulate a tenth of the noise of which intervals are made, to save time.

    Not where ALL_DRAWS is set; tests of what intervals cover say themselves how many they need.
    """
    with pytest.MonkeyPatch.context() as patch:
        own = request.path.parent.name == "statistical"
        if not own and not getattr(request.module, "ALL_DRAWS", False):
            patch.setattr("sklearn_dpbo.metrics._intervals._N_DRAWS", 400)
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _same_draws_in_every_run():
    """Seed what is drawn with ``random_state=None``, as for the split of the training set."""
    np.random.seed(0)


@pytest.fixture(autouse=True)
def _fits_are_not_counted():
    """Tests fit again and again; those of the count ask for `counted`."""
    with accounting.uncounted():
        yield


@pytest.fixture
def counted(_fits_are_not_counted):
    """Count fits from 1, as a new process does; return what is counted."""
    accounting._fits.clear()
    token = accounting._counting.set(True)
    yield accounting._fits
    accounting._counting.reset(token)
    accounting._fits.clear()


@pytest.fixture(autouse=True)
def _seeded_noise_is_expected():
    """Tests seed the noise all the time; the tests of the warning itself record it."""
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "seeded_noise")
        yield


@pytest.fixture(autouse=True)
def _workers_are_used(monkeypatch):
    """Hand over cheap fits, too: tests of workers would else not use any on a quick machine."""
    monkeypatch.setattr("sklearn_dpbo.prediction.progress._OVERHEAD", 0.0)


@pytest.fixture
def seeded(_seeded_noise_is_expected):
    """Seed the noise of the whole test."""
    with seeded_noise(0):
        yield


class EveryFourth:
    """Holds out rows 1, 5, 9, ...; scikit-learn's checks that spoil X spoil row 0."""

    def get_n_splits(self, X=None, y=None, groups=None):
        return 1

    def split(self, X, y=None, groups=None):
        rows = np.arange(n_rows(X))
        if len(rows) < 2:
            raise ValueError(f"n_samples={len(rows)} cannot be split")
        yield rows[rows % 4 != 1], rows[rows % 4 == 1]


@pytest.fixture
def trusted_models():
    """Models of the test's module predict all records at once, as those of known libraries do."""
    from sklearn_dpbo.prediction.listed import parts

    # Not the fixture `monkeypatch`: tests expect that it is undone before their own fixtures are.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "why_unlisted", lambda _: None)
        yield


@pytest.fixture(autouse=True)
def statistical_tests_trust_models(request):
    """Predict all records at once, unchecked, where thousands of small searches are made.

    The check of public rows and predictions one by one draw nothing, and take most of their time.
    """
    if request.path.parent.name != "statistical":
        yield
        return
    from sklearn_dpbo.prediction.listed.row_by_row import RowByRowCheck

    request.getfixturevalue("trusted_models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowByRowCheck, "check", lambda *_: None)
        yield
