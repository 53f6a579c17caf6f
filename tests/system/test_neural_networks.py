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


def test_its_profile_is_that_of_the_accountant_and_above_opacus_for_one_record_added(names):
    """Half of the noise has another."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant
    from opacus.accountants import PRVAccountant

    declared = names["OpacusClassifier"](epochs=3, rate=0.1).private_training()
    event = dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(2.0))
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    accountant.compose(event, 30)
    expected = accountant.get_delta(1.0)
    assert declared.profile(2.0)(np.array([1.0]))[0] == pytest.approx(expected, rel=1e-3)
    assert declared.profile(1.0)(np.array([1.0]))[0] > 10 * expected
    added = PRVAccountant()
    added.history = [(2.0, 0.1, 30)]
    epsilon = added.get_epsilon(delta=1e-5, eps_error=0.01)
    assert epsilon < dp_accounting_epsilon(declared, 1e-5) < 2 * epsilon


def dp_accounting_epsilon(declared, delta):
    epsilons = np.linspace(0, 20, 2001)
    return epsilons[np.argmax(declared.profile(2.0)(epsilons) <= delta)]


def test_a_batch_has_each_record_with_its_probability(names, table, monkeypatch):
    """The accountant holds for Poisson sampling: sizes of batches vary as they should."""
    sizes = []
    network = names["network_of"]

    def counting(*args):
        made = network(*args)
        made.register_forward_pre_hook(lambda module, given: sizes.append(len(given[0])))
        return made

    monkeypatch.setitem(names, "network_of", counting)
    names["OpacusClassifier"](epochs=20, rate=0.1).fit(*table)
    assert len(sizes) == 200
    assert np.mean(sizes) == pytest.approx(20, abs=1.5)
    assert np.std(sizes) == pytest.approx(math.sqrt(200 * 0.1 * 0.9), rel=0.25)


@pytest.mark.parametrize("half", [False, True])
def test_noise_has_the_deviation_that_is_accounted_for(names, table, half, monkeypatch):
    """One step, without the gradients of records: labels are not among the classes."""
    if half:
        optimizer = names["DPOptimizer"]
        halved = lambda *args, noise_multiplier, **params: optimizer(  # noqa: E731
            *args, noise_multiplier=noise_multiplier / 2, **params
        )
        monkeypatch.setitem(names, "DPOptimizer", halved)
    before = names["network_of"](2, 2, 64)
    monkeypatch.setitem(names, "network_of", lambda d, K, width: before)
    old = torch.cat([p.detach().ravel().clone() for p in before.parameters()])
    model = names["OpacusClassifier"](epochs=1, rate=1.0, clip=0.5, learning_rate=1.0)
    X, y = table
    model.fit(X, y + 7)
    new = torch.cat([p.detach().ravel() for p in model.network_.parameters()])
    ratio = float((new - old).std()) / (model.noise_multiplier * 0.5 / 200)
    assert (0.8 < ratio < 1.2) != half


def test_nothing_of_single_records_is_kept(names, table):
    X, y = table
    X[3] = 0.12345678
    model = names["OpacusClassifier"](epochs=2, rate=0.25).fit(X, y)
    assert all(p.grad is None and not vars(p) for p in model.network_.parameters())
    assert np.float32(0.12345678).tobytes() not in pickle.dumps(
        vars(model)["network_"].state_dict()
    )
    assert set(vars(model)) - set(model.get_params()) == {"classes_", "network_"}


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_odd_records_and_empty_batches_do_not_spread(names, table, value):
    X, y = table
    X[0] = value
    model = names["OpacusClassifier"](epochs=0.2, rate=0.005).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
def test_a_search_finds_the_noise_that_all_fits_need(names, table):
    model = names["OpacusClassifier"](epochs=1, rate=0.25)
    search = PrivateTableSearchCV(
        model, {"learning_rate": [0.5, 2.0], "width": [2, 4]}, n_fits=4, epsilon=8.0, delta=1e-6,
        prediction="together",
    ).fit(*table)  # fmt: skip
    assert "which records were in which batch" in search.privacy_.condition
    assert search.privacy_.epsilon == 8.0
    noise = search.best_estimator_.noise_multiplier
    four = names["from_gaussian_mechanism"](
        noise, sampling_prob=0.25, neighboring_relation=names["NeighboringRelation"].REPLACE_ONE
    ).self_compose(16)
    assert 0.99e-6 < four.get_delta_for_epsilon(8.0) <= 1.001e-6
    assert f"noise_multiplier={noise:.4g}" in str(search.privacy_.spends[0])
