"""The documentation's network, fitted by Opacus: what it releases, and with how much noise."""

import math
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from sklearn_dpbo import PrivateTableSearchCV

torch = pytest.importorskip("torch")
opacus = pytest.importorskip("opacus")
PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "neural_networks.md"


@pytest.fixture(scope="module")
def names():
    found = {}
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1], found)
    return found


@pytest.fixture
def table():
    X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    return X, (X[:, 0] > 0).astype(int)


def test_a_replaced_record_has_epsilon_and_delta_by_the_accountant(names, table):
    from opacus.accountants import RDPAccountant

    model = names["OpacusClassifier"](epsilon=2.0, delta=1e-5, epochs=3, batch_size=20).fit(*table)
    accountant = RDPAccountant()
    accountant.history = [(model.noise_multiplier_, 0.1, 30)]
    for_one = accountant.get_epsilon(delta=1e-5 / (1 + math.e))
    assert 0.98 < for_one <= 1.0, "adding or removing"


@pytest.mark.parametrize("half", [False, True])
def test_noise_has_the_deviation_that_is_accounted_for(names, table, half, monkeypatch):
    """One step, without the gradients of records: labels are not among the classes."""
    if half:
        optimizer = names["DPOptimizer"]
        halved = lambda *args, noise_multiplier, **params: optimizer(  # noqa: E731
            *args, noise_multiplier=noise_multiplier / 2, **params
        )
        monkeypatch.setitem(names, "DPOptimizer", halved)
    before = names["network_of"](2, 2)
    monkeypatch.setitem(names, "network_of", lambda d, K: before)
    old = torch.cat([p.detach().ravel().clone() for p in before.parameters()])
    model = names["OpacusClassifier"](epochs=1, batch_size=200, clip=0.5, learning_rate=1.0)
    X, y = table
    model.fit(X, y + 7)
    new = torch.cat([p.detach().ravel() for p in model.network_.parameters()])
    ratio = float((new - old).std()) / (model.noise_multiplier_ * 0.5 / 200)
    assert (0.8 < ratio < 1.2) != half


def test_nothing_of_single_records_is_kept(names, table):
    X, y = table
    X[3] = 0.12345678
    model = names["OpacusClassifier"](epochs=2, batch_size=50).fit(X, y)
    assert all(p.grad is None and not vars(p) for p in model.network_.parameters())
    assert np.float32(0.12345678).tobytes() not in pickle.dumps(
        vars(model)["network_"].state_dict()
    )
    assert set(vars(model)) - set(model.get_params()) == {
        "classes_", "network_", "noise_multiplier_"
    }  # fmt: skip


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_odd_records_and_empty_batches_do_not_spread(names, table, value):
    X, y = table
    X[0] = value
    model = names["OpacusClassifier"](epochs=1, batch_size=1).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
def test_a_search_charges_and_scores_it(names, table):
    model = names["OpacusClassifier"](epochs=1, batch_size=50)
    search = PrivateTableSearchCV(model, epsilon=8.0, delta=1e-6, prediction="together")
    search.fit(*table)
    assert "which records were in which batch" in search.privacy_.condition
    assert search.best_estimator_.delta == pytest.approx(1e-6)
    assert search.privacy_.epsilon == 8.0
