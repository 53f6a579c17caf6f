"""No site keeps, sends or shows a raw count: attributes, messages, pickles, errors, ledgers."""

import gc
import io
import json
import pickle
import traceback

import numpy as np
import pytest
from leaks import COUNTS, EPSILON, Known, M, data, found_in, found_in_text, frames_of

from sklearn_dpbo import PrivacyLedger, PrivateFederatedSearch
from sklearn_dpbo.objective import FederatedCoordinator, FederatedSite
from sklearn_dpbo.testing import seeded_noise

HALF = M // 2
# Rows of each site: even and odd ones, so that each has about half of the right predictions.
ROWS = {"north": slice(0, None, 2), "south": slice(1, None, 2)}


def secrets():
    """Right predictions of each candidate: of each site, and of both."""
    counts = set(COUNTS.values())
    for c in COUNTS.values():
        counts |= {(c + 1) // 2, c // 2}
    return counts | {M - c for c in counts}


def fractions_of(counts):
    """What `found_in` has to look for, so that it finds the scores of each site, too."""
    return counts | {c * M / m for c in counts for m in (HALF, M - HALF)}


def problem():
    public, protected = data()
    X, y = protected["X_val"], protected["y_val"]
    return public, {name: (X[rows], y[rows]) for name, rows in ROWS.items()}


def search_of(fail=None, **params):
    params = dict(epsilon=EPSILON, prediction="together") | params
    return PrivateFederatedSearch(Known(fail=fail), {"which": list(COUNTS)}, **params)


def test_planted_counts_of_a_site_are_found():
    counts = secrets()
    c = (COUNTS[1] + 1) // 2
    for planted in ({"a": c}, [c / HALF], (c / (M - HALF),)):
        assert found_in(planted, fractions_of(counts))
    assert found_in_text(f"right: {c}", counts)


@pytest.mark.filterwarnings("always")
def test_no_raw_count_is_kept_or_shown_by_a_search(tmp_path, capfd, recwarn):
    public, sites = problem()
    ledgers = {
        name: PrivacyLedger(tmp_path / f"{name}.db", name, 1.0, create=True) for name in sites
    }
    search = search_of().fit(**public, sites=sites, ledgers=ledgers)
    assert not found_in(vars(search), fractions_of(secrets()))
    again = pickle.dumps(search)
    assert b"Sensitive" not in again
    assert not found_in(vars(pickle.loads(again)), fractions_of(secrets()))
    shown = io.StringIO()
    for each in (repr(search), search._repr_html_(), vars(search), search.privacy_["north"]):
        print(each, file=shown)
    for ledger in ledgers.values():
        print(ledger, ledger.history, file=shown)
    text = shown.getvalue() + "".join(capfd.readouterr())
    text += "".join(str(w.message) for w in recwarn)
    assert not found_in_text(text, secrets())


def test_no_raw_count_is_in_a_message_or_reached_from_a_site():
    public, held = problem()
    search = search_of()
    sites = {
        name: FederatedSite(search, **public, X_val=X, y_val=y, name=name)
        for name, (X, y) in held.items()
    }
    coordinator = FederatedCoordinator(search, **public, sites=sites)
    messages = []
    while not coordinator.done:
        for name in coordinator.waiting:
            messages += [coordinator.ask(name)]
            messages += [sites[name].answer(messages[-1])]
            coordinator.tell(name, messages[-1])
            # Between vote and counts, too. The records themselves are the site's own.
            reached = {k: v for k, v in vars(sites[name]).items() if k != "_lock"}
            assert not found_in(reached, fractions_of(secrets()))
    messages.append(coordinator.ask("north"))
    assert not found_in(messages, fractions_of(secrets()))
    assert not found_in_text(json.dumps(messages), secrets())
    assert not found_in(vars(coordinator), fractions_of(secrets()))
    for site in sites.values():
        with pytest.raises(TypeError, match="holds protected records"):
            pickle.dumps(site)


@pytest.mark.parametrize("fail", ["draw", "interrupt"])
def test_errors_contain_no_raw_count(fail, monkeypatch):
    public, sites = problem()
    search = search_of()
    if fail == "draw":

        def discrete_laplace(self, scale):
            raise RuntimeError("out of noise")

        path = "sklearn_dpbo._privacy.noise.SeededNoise.discrete_laplace"
        monkeypatch.setattr(path, discrete_laplace)
    else:
        calls = []

        class Late(Known):
            def predict(self, X):
                calls.append(len(X) > 1000)
                if sum(calls) == 6:
                    raise KeyboardInterrupt
                return super().predict(X)

        search.set_params(estimator=Late())
    with pytest.raises((RuntimeError, KeyboardInterrupt)) as caught, seeded_noise(0):
        search.fit(**public, sites=sites)
    seen = frames_of(caught.value)
    assert seen and not found_in(seen, fractions_of(secrets()))
    assert not found_in_text("".join(traceback.format_exception(caught.value)), secrets())
    assert not hasattr(search, "best_params_")


@pytest.mark.filterwarnings("ignore")
def test_no_array_of_raw_counts_is_alive_after_fit():
    public, sites = problem()
    search_of().fit(**public, sites=sites)
    gc.collect()
    wanted = [sorted((c + 1) // 2 for c in COUNTS.values()), sorted(COUNTS.values())]
    held = (o for holder in gc.get_objects() for o in gc.get_referents(holder))
    arrays = [o for o in held if isinstance(o, np.ndarray) and o.dtype == int and o.size == 4]
    assert not [a for a in arrays if sorted(a.ravel().tolist()) in wanted]
