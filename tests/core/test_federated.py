"""Several sites: who is voted for, which messages are taken, what is refused and charged."""

import copy
import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from federated import TRAIN, Column, records, search_of
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score, r2_score

from sklearn_dpbo import PrivacyLedger, PrivateFederatedSearch, make_private_scorer
from sklearn_dpbo._privacy.sensitive import Sensitive
from sklearn_dpbo.exceptions import BudgetExceededError
from sklearn_dpbo.federated import FederatedCoordinator, FederatedSite
from sklearn_dpbo.federated._site import _seed
from sklearn_dpbo.federated._votes import n_finalists, ranked

HELD = {"north": records([30, 70, 40], 80), "south": records([20, 90, 50], 100)}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")


def sites_of(search, held=HELD, ledgers=None, train=TRAIN):
    return {
        name: FederatedSite(
            search, *train, X_val=X, y_val=y, name=name, ledger=(ledgers or {}).get(name)
        )
        for name, (X, y) in held.items()
    }


def sent(message):
    """As it comes out at the other end of a socket."""
    return json.loads(json.dumps(message, allow_nan=False))


def converse(coordinator, sites):
    while not coordinator.done:
        for name in coordinator.waiting:
            coordinator.tell(name, sent(sites[name].answer(sent(coordinator.ask(name)))))
    return coordinator.result()


# ------------------------------------------------------------------ deciding
@pytest.mark.parametrize(
    ("votes", "m", "weights", "expected"),
    [
        ("abc", (5, 3, 3), "units", "abc"),
        ("abb", (5, 3, 3), "units", "ba"),
        ("abb", (9, 3, 3), "units", "ab"),
        ("abb", (9, 3, 3), "equal", "ba"),
        ("cba", (4, 4, 4), "units", "abc"),  # three sites, three votes: the first candidate
        ("cba", (4, 5, 4), "equal", "bac"),  # or the one of the larger site
    ],
)
def test_ranking_of_votes(votes, m, weights, expected):
    names = ["x", "y", "z"]
    ballot = {name: ord(v) - ord("a") for name, v in zip(names, votes, strict=True)}
    found = ranked(ballot, dict(zip(names, m, strict=True)), weights)
    assert "".join(chr(ord("a") + c) for c in found) == expected


def test_number_of_finalists_follows_from_public_numbers():
    assert n_finalists(5, 1_000, 0.4) == 2
    assert n_finalists(5, 5_000, 0.4) == 2
    assert n_finalists(5, 50_000, 0.4) == 8
    assert n_finalists(1, 1e300, 1e9) < math.inf


tables = st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=6)


@given(tables, st.data(), st.integers(1, 2**20), st.integers(1, 2**20))
def test_sums_of_disjoint_units_have_the_larger_sensitivity(a, data, D, E):
    b = data.draw(st.lists(st.integers(-(2**40), 2**40), min_size=len(a), max_size=len(a)))
    first, second = (Sensitive(np.array(x)[:, None], d) for x, d in ((a, D), (b, E)))
    both = first.pooled(second, largest=2**41)
    assert both._open()[:, 0].tolist() == [x + y for x, y in zip(a, b, strict=True)]
    assert both.sensitivity == second.pooled(first, largest=2**41).sensitivity == max(D, E)
    # A neighbour of one side: no sum moves by more.
    moved = Sensitive(np.array([x + D for x in a])[:, None], D).pooled(second, largest=2**42)
    assert np.abs(moved._open() - both._open()).max() <= both.sensitivity


def test_sums_of_other_shapes_or_too_large_ones_are_refused():
    with pytest.raises(ValueError, match="only tables of one shape add up"):
        Sensitive([[1]], 1).pooled(Sensitive([[1], [2]], 1), largest=9)
    with pytest.raises(ValueError, match="could overflow 64 bits"):
        Sensitive([[1]], 1).pooled(Sensitive([[1]], 1), largest=2**62)


# ------------------------------------------------------------------ results
@pytest.mark.parametrize("trust", ["nobody", "coordinator"])
def test_with_much_epsilon_the_best_candidate_of_all_sites_wins_with_its_score(trust):
    search = search_of(epsilon=1e6, trust=trust).fit(*TRAIN, sites=HELD)
    assert search.best_params_ == {"which": 1} and search.best_index_ == 1
    assert search.best_score_ == pytest.approx(160 / 180)
    assert search.best_score_interval_ == pytest.approx((160 / 180, 160 / 180))
    assert search.votes_ == ({} if trust == "coordinator" else {"north": 1, "south": 1})
    assert search.predict(np.eye(3)).tolist() == [0, 1, 0]
    assert set(search.privacy_) == set(HELD)
    assert search.privacy_["north"].m == 80 and search.privacy_["north"].epsilon == 1e6


def test_where_sites_differ_a_run_off_finds_the_best_of_all_and_plurality_does_not():
    held = {
        "a": records([90, 0, 80], 100), "b": records([90, 10, 85], 100),
        "c": records([0, 90, 80], 100), "d": records([0, 40, 50], 50),
    }  # fmt: skip
    params = dict(epsilon=1e6)
    plurality = search_of(finalists=1, **params).fit(*TRAIN, sites=held)
    assert (plurality.best_index_, plurality.finalists_) == (0, [0])
    runoff = search_of(**params).fit(*TRAIN, sites=held)
    assert runoff.votes_ == {"a": 0, "b": 0, "c": 1, "d": 2}
    assert (runoff.best_index_, runoff.finalists_) == (2, [0, 1, 2])
    assert runoff.best_score_ == pytest.approx((80 + 85 + 80 + 50) / 350)
    scores = runoff.cv_results_["mean_test_score"]
    assert scores == pytest.approx([180 / 350, 140 / 350, 295 / 350])
    assert runoff.cv_results_["votes"].tolist() == [2, 1, 1]


@pytest.mark.parametrize("scoring", ["accuracy", "f1", "balanced_accuracy", "matthews_corrcoef"])
@pytest.mark.parametrize("grouped", [False, True])
def test_messages_and_fit_give_the_same(scoring, grouped, two_classes):
    X, y, X_val, y_val = two_classes
    groups = np.arange(75) // 3 if grouped else None
    held = {"a": (X_val[:75], y_val[:75], groups), "b": (X_val[75:], y_val[75:], groups)}
    grid = {"C": loguniform(1e-3, 10)}
    search = PrivateFederatedSearch(
        LogisticRegression(), grid, epsilon=5.0, n_iter=6, scoring=scoring, random_state=3,
        noise_random_state=7,
    )  # fmt: skip
    sites = {
        name: FederatedSite(search, X, y, X_val=v, y_val=w, groups_val=g, name=name)
        for name, (v, w, g) in held.items()
    }
    coordinator = FederatedCoordinator(search, X, y, sites=sites)
    found = converse(coordinator, sites)
    search.fit(X, y, sites=held)
    for name in ("best_params_", "best_score_", "best_score_interval_", "votes_", "finalists_"):
        assert getattr(found, name) == getattr(search, name), name
    assert (
        {n: r.details() for n, r in found.privacy_.items()}
        == {n: site.privacy_.details() for n, site in sites.items()}
        == {n: r.details() for n, r in search.privacy_.items()}
    )
    assert np.array_equal(found.predict(X), search.predict(X))
    done = coordinator.ask("a")
    assert sites["a"].answer(sent(done)) is None
    assert sites["a"].result == sent(done) and done["candidate"] == search.best_index_


@pytest.mark.parametrize("trust", ["nobody", "coordinator"])
def test_scores_of_other_kinds_are_those_of_all_records(trust, two_classes):
    X, y, X_val, y_val = two_classes
    held = {"a": (X_val[:60], y_val[:60]), "b": (X_val[60:], y_val[60:])}
    params = dict(epsilon=1e7, trust=trust)
    search = PrivateFederatedSearch(
        LogisticRegression(), {"C": [0.1, 1.0]}, scoring="balanced_accuracy", **params
    ).fit(X, y, sites=held)
    assert search.best_score_ == pytest.approx(
        balanced_accuracy_score(y_val, search.predict(X_val))
    )
    t, t_val = X @ [1, 2, 3, 4, 5], X_val @ [1, 2, 3, 4, 5] + 1
    search = PrivateFederatedSearch(Ridge(), {"alpha": [1.0, 100.0]}, **params)
    search.fit(X, t, sites={"a": (X_val[:60], t_val[:60]), "b": (X_val[60:], t_val[60:])})
    assert search.best_score_ == pytest.approx(r2_score(t_val, search.predict(X_val)), abs=0.02)


def test_candidates_are_fitted_once_for_all_sites_and_all_before_any_prediction():
    log = []

    class Noted(Column):
        def fit(self, X, y):
            log.append("fit")
            return super().fit(X, y)

        def predict(self, X):
            log.append("protected") if len(X) > 70 else None
            return super().predict(X)

    search = search_of(epsilon=10.0).set_params(estimator=Noted(), prediction="separate")
    search.set_params(prediction="together").fit(*TRAIN, sites=HELD)
    assert log.count("fit") == 3
    assert "protected" in log


def test_tables_of_the_sites_may_differ_in_kind():
    frame = pd.DataFrame(HELD["south"][0].astype(int), columns=list("abc"))
    train = pd.DataFrame(TRAIN[0], columns=list("abc"))
    estimator = LogisticRegression().set_params(C=1.0)
    search = PrivateFederatedSearch(estimator, {"C": [0.1, 1.0]}, epsilon=10.0)
    held = {
        "north": (pd.DataFrame(HELD["north"][0], columns=list("abc")), HELD["north"][1].tolist()),
        "south": (frame, HELD["south"][1]),
    }
    search.fit(train, TRAIN[1], sites=held)
    assert search.best_params_["C"] in (0.1, 1.0)


def test_a_single_candidate_costs_nothing_to_choose():
    search = search_of(1, epsilon=1e6).fit(*TRAIN, sites=HELD)
    assert [loss.epsilon for loss in search.privacy_["south"].spends] == [1e6]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_candidates_that_fail_are_never_chosen():
    class Fails(Column):
        def fit(self, X, y):
            if self.which == 1:
                raise RuntimeError("no")
            return super().fit(X, y)

    search = search_of(epsilon=1e6).set_params(estimator=Fails()).fit(*TRAIN, sites=HELD)
    assert search.best_index_ == 2
    assert search.cv_results_["fit_error"][1] is not None
    with pytest.raises(ValueError, match="All 1 candidates failed"):
        search.set_params(param_grid={"which": [1]}).fit(*TRAIN, sites=HELD)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_site_at_which_all_candidates_fail_pays_nothing_however_often_it_is_asked(tmp_path):
    class Fails(Column):
        def fit(self, X, y):
            raise RuntimeError("no")

    ledgers = ledgers_in(tmp_path, north=1.0)
    search = search_of().set_params(estimator=Fails())
    site = sites_of(search, {"north": HELD["north"]}, ledgers)["north"]
    ask = FederatedCoordinator(search, *TRAIN, sites=["north"]).ask("north")
    for _ in range(2):
        with pytest.raises(ValueError, match="All 3 candidates failed"):
            site.answer(ask)
    assert ledgers["north"].spent["epsilon"] == 0


def test_a_vote_for_what_failed_elsewhere_does_not_count():
    search = search_of()
    coordinator = FederatedCoordinator(search, *TRAIN, sites=["a", "b"])
    vote = dict(type="tell", version=1, what="vote", m=10, unit="record", epsilon_left=0.4)
    coordinator.tell("a", {**vote, "candidate": 0, "failed": [1]})
    coordinator.tell("b", {**vote, "candidate": 1, "failed": []})
    assert coordinator.ask("a")["candidates"] == [0]
    other = FederatedCoordinator(search, *TRAIN, sites=["a", "b"])
    other.tell("a", {**vote, "candidate": 0, "failed": [1]})
    other.tell("b", {**vote, "candidate": 1, "failed": [0]})
    with pytest.raises(ValueError, match="failed to fit at some site"):
        other.ask("a")


def test_the_search_is_a_scikit_learn_estimator():
    search = search_of(epsilon=2.0)
    assert repr(clone(search)) == repr(search)
    fitted = copy.deepcopy(search).fit(*TRAIN, sites=HELD)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.best_params_ == fitted.best_params_
    assert "PrivateFederatedSearch" in repr(fitted) and fitted._repr_html_()
    assert 0 <= fitted.score(*HELD["north"]) <= 1


# ------------------------------------------------------------------ messages
def test_a_site_releases_once_and_sends_the_same_again():
    search = search_of(epsilon=1.0)
    sites = sites_of(search)
    coordinator = FederatedCoordinator(search, *TRAIN, sites=sites)
    ask = coordinator.ask("north")
    assert coordinator.ask("north") == ask
    first = sites["north"].answer(ask)
    assert sites["north"].answer(ask) == first
    assert sites["north"].epsilon_left == first["epsilon_left"] == pytest.approx(0.4)
    counts = {"type": "ask", "version": 1, "what": "counts", "candidates": [2, 0]}
    told = sites["north"].answer(counts)
    assert told["scale"] == pytest.approx(5.0) and sites["north"].answer(counts) == told
    assert sites["north"].epsilon_left == 0
    with pytest.raises(ValueError, match="a site releases counts once"):
        sites["north"].answer({**counts, "candidates": [1]})
    told["counts"][0][0] += 1  # what is handed out is a copy
    assert sites["north"].answer(counts) != told


def test_a_coordinator_takes_the_same_answer_twice_and_no_other():
    search = search_of(epsilon=1.0)
    sites = sites_of(search)
    coordinator = FederatedCoordinator(search, *TRAIN, sites=sites)
    answer = sites["north"].answer(coordinator.ask("north"))
    coordinator.tell("north", answer)
    coordinator.tell("north", answer)
    with pytest.raises(ValueError, match="has already sent a different answer"):
        coordinator.tell("north", {**answer, "candidate": (answer["candidate"] + 1) % 3})
    assert coordinator.waiting == ["south"] and coordinator.ask("north") is None
    with pytest.raises(ValueError, match=r"\['south'\] have not answered yet"):
        coordinator.result()


def test_a_site_that_is_down_is_dropped_only_by_hand():
    search = search_of(epsilon=1e6)
    held = {**HELD, "west": records([60, 0, 0], 60)}
    sites = sites_of(search, held)
    coordinator = FederatedCoordinator(search, *TRAIN, sites=sites)
    for name in ("north", "south"):
        coordinator.tell(name, sites[name].answer(coordinator.ask(name)))
    assert coordinator.waiting == ["west"] and not coordinator.done
    coordinator.drop("west")
    assert set(converse(coordinator, sites).votes_) == {"north", "south"}
    with pytest.raises(ValueError, match="site must be one of"):
        coordinator.ask("west")

    late = FederatedCoordinator(search, *TRAIN, sites=sites)
    sites = sites_of(search, held)
    for name in sites:
        late.tell(name, sites[name].answer(late.ask(name)))
    late.ask("north")
    late.drop("west")  # its vote has counted
    found = converse(late, sites)
    assert set(found.votes_) == set(held) and set(found.privacy_) == {"north", "south"}
    assert found.best_score_ == pytest.approx(160 / 180)
    late.drop("south")
    with pytest.raises(ValueError, match="only remaining site"):
        late.drop("north")


BAD_ASKS = [
    None, [], "vote", {}, {"type": "ask"}, {"type": "ask", "version": 2, "what": "vote"},
    {"type": "ask", "version": 1, "what": "records"}, {"type": "tell", "version": 1},
    {"type": "ask", "version": 1, "what": ["vote"]},
    {"type": "ask", "version": 1, "what": "vote"},
    {"type": "ask", "version": 1, "what": "vote", "plan": {"epsilon": 1.0}},
    {"type": "ask", "version": 1, "what": "counts", "candidates": [0]},
    {"type": "done", "version": 9},
]  # fmt: skip


@pytest.mark.parametrize("message", BAD_ASKS)
def test_a_site_refuses_malformed_questions_and_spends_nothing(message, tmp_path):
    ledger = PrivacyLedger(tmp_path / "north.db", "north", 1.0, create=True)
    site = sites_of(search_of(), {"north": HELD["north"]}, {"north": ledger})["north"]
    with pytest.raises(ValueError):
        site.answer(message)
    assert ledger.spent["epsilon"] == 0 and site.epsilon_left == 1.0


@pytest.mark.parametrize(
    "candidates", [None, [], [3], [-1], [0, 0], [True], ["0"], [0.0], {"0": 1}, [[0]], [10**30]]
)
def test_a_site_refuses_candidates_that_are_none(candidates):
    search = search_of()
    site = sites_of(search)["north"]
    site.answer(FederatedCoordinator(search, *TRAIN, sites=["north"]).ask("north"))
    left = site.epsilon_left
    with pytest.raises(ValueError, match="candidates must be a list of different integers"):
        site.answer({"type": "ask", "version": 1, "what": "counts", "candidates": candidates})
    assert site.epsilon_left == left > 0


VOTE = dict(
    type="tell", version=1, what="vote", candidate=1, failed=[], m=80, unit="record",
    epsilon_left=0.4,
)  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"candidate": 3}, {"candidate": -1}, {"candidate": "1"}, {"candidate": True},
        {"candidate": 1.0}, {"candidate": None}, {"failed": [1]}, {"failed": [7]}, {"failed": None},
        {"m": 0}, {"m": 2**41}, {"m": 1.5}, {"unit": "person"}, {"unit": None}, {"version": 2},
        {"what": "votes"}, {"what": None}, {"type": "ask"}, {"what": "counts"},
    ],
)  # fmt: skip
def test_a_coordinator_refuses_malformed_votes_and_forgets_them(change):
    coordinator = FederatedCoordinator(search_of(), *TRAIN, sites=["north"])
    with pytest.raises(ValueError):
        coordinator.tell("north", VOTE | change)
    coordinator.tell("north", VOTE)
    assert coordinator.ask("north")["candidates"] == [1]


COUNTS = dict(
    type="tell", version=1, what="counts", candidates=[1], counts=[[70]], scale=2.5, epsilon=1.0,
    spent=[], noise="", secure=True, epsilon_left=0.0,
)  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"candidates": [2]}, {"candidates": None}, {"counts": [[70, 1]]}, {"counts": [70]},
        {"counts": [["70"]]}, {"counts": [[math.nan]]}, {"counts": [[10**400]]}, {"counts": []},
        {"counts": None}, {"counts": [[True]]}, {"scale": 1.0}, {"scale": -2.5}, {"scale": "2.5"},
        {"scale": math.inf}, {"scale": math.nan}, {"spent": None}, {"spent": [{"epsilon": -1}]},
        {"spent": 3}, {"epsilon": "all"}, {"epsilon": None},
    ],
)  # fmt: skip
def test_a_coordinator_refuses_malformed_counts_and_forgets_them(change):
    coordinator = FederatedCoordinator(search_of(), *TRAIN, sites=["north"])
    with pytest.raises(ValueError):
        coordinator.tell("north", COUNTS)  # not asked for yet
    coordinator.tell("north", VOTE)
    coordinator.ask("north")
    with pytest.raises(ValueError):
        coordinator.tell("north", COUNTS | change)
    assert not coordinator.done
    coordinator.tell("north", COUNTS)
    assert coordinator.result().best_score_ == pytest.approx(70 / 80)


def test_sites_with_another_plan_are_told_what_differs():
    search = search_of(epsilon=1.0)
    site = sites_of(search)["north"]
    for other, differs in (
        (search_of(epsilon=2.0), "epsilon is 2.0, here 1.0"),
        (search_of(4), "candidates is '4 with digest"),
        (search_of(scoring="f1"), "scoring is"),
        (search_of(score_share=0.5), "score_share is 0.5"),
        (
            search_of().set_params(estimator=LogisticRegression(), param_grid={"C": [1]}),
            "estimator",
        ),
    ):
        coordinator = FederatedCoordinator(other, *TRAIN, sites=["north"])
        with pytest.raises(ValueError, match=differs):
            site.answer(coordinator.ask("north"))
    assert site.epsilon_left == 1.0


def test_records_and_groups_do_not_add_up():
    X, y = HELD["north"]
    held = {"north": (X, y, np.arange(80) // 2), "south": HELD["south"]}
    with pytest.raises(ValueError, match="some sites protect records and others groups"):
        search_of().fit(*TRAIN, sites=held)
    coordinator = FederatedCoordinator(search_of(), *TRAIN, sites=["a", "b"])
    coordinator.tell("a", VOTE)
    with pytest.raises(ValueError, match="some sites protect records and others groups"):
        coordinator.tell("b", VOTE | {"unit": "group"})
    several = FederatedCoordinator(search_of(scoring="f1"), *TRAIN, sites=["a", "b"])
    several.tell("a", VOTE | {"unit": "group", "m": 2**20})
    with pytest.raises(ValueError, match="too many for scoring='f1'"):
        several.tell("b", VOTE | {"unit": "group", "m": 2**20})


# ------------------------------------------------------------------ ledgers
def ledgers_in(folder, **epsilons):
    return {n: PrivacyLedger(folder / f"{n}.db", n, e, create=True) for n, e in epsilons.items()}


@pytest.mark.parametrize("trust", ["nobody", "coordinator"])
def test_each_site_pays_from_its_own_ledger(trust, tmp_path):
    ledgers = ledgers_in(tmp_path, north=1.0, south=3.0)
    search = search_of(epsilon=1.0, trust=trust).fit(*TRAIN, sites=HELD, ledgers=ledgers)
    assert [ledger.left["epsilon"] for ledger in ledgers.values()] == [0, 2]
    assert "site 'north'" in ledgers["north"].history[0]["what"]
    with pytest.raises(BudgetExceededError):
        search.fit(*TRAIN, sites=HELD, ledgers=ledgers)
    assert ledgers["south"].left["epsilon"] == 2


class Stop(Exception):
    pass


@pytest.mark.parametrize("trust", ["nobody", "coordinator"])
def test_ledgers_are_charged_before_the_first_draw(trust, tmp_path, monkeypatch):
    ledgers = ledgers_in(tmp_path, north=1.0, south=1.0)

    def draw(*_):
        raise Stop

    monkeypatch.setattr("sklearn_dpbo._privacy.noise.SeededNoise.permute_and_flip", draw)
    search = search_of(epsilon=1.0, trust=trust, noise_random_state=0)
    with pytest.raises(Stop) as caught:
        search.fit(*TRAIN, sites=HELD, ledgers=ledgers)
    paid = [ledger.spent["epsilon"] for ledger in ledgers.values()]
    assert paid == ([1, 1] if trust == "coordinator" else [1, 0])
    assert "epsilon counts as spent at the sites" in "".join(caught.value.__notes__)
    assert not hasattr(search, "best_params_")


@pytest.mark.parametrize("trust", ["nobody", "coordinator"])
def test_a_ledger_that_refuses_late_ends_the_search_and_others_have_paid(trust, tmp_path):
    """It is emptied by somebody else after the search has asked what is left."""
    ledgers = ledgers_in(tmp_path, north=1.0, south=1.0)

    class Empties(Column):
        def fit(self, X, y):
            if ledgers["south"].left["epsilon"]:
                ledgers["south"].charge(1.0, what="something else")
            return super().fit(X, y)

    search = search_of(epsilon=1.0, trust=trust).set_params(estimator=Empties())
    with pytest.raises(BudgetExceededError) as caught:
        search.fit(*TRAIN, sites=HELD, ledgers=ledgers)
    assert ledgers["north"].left["epsilon"] == 0
    assert [entry["what"] for entry in ledgers["south"].history] == ["something else"]
    assert "['north']" in "".join(caught.value.__notes__)
    assert not hasattr(search, "best_params_")


def test_predictions_that_depend_on_the_batch_cost_nothing(tmp_path):
    class Ranks(Column):
        def predict(self, X):
            return (X[:, 0] > X[:, 0].mean()).astype(int)

    ledgers = ledgers_in(tmp_path, north=1.0, south=1.0)
    search = search_of().set_params(estimator=Ranks(), prediction="together")
    train = np.random.default_rng(0).random((40, 3)), np.arange(40) % 2
    with pytest.raises(ValueError, match="beside other records"):
        search.fit(*train, sites=HELD, ledgers=ledgers)
    assert all(ledger.spent["epsilon"] == 0 for ledger in ledgers.values())


# ------------------------------------------------------------------ bad input
@pytest.mark.parametrize(
    ("params", "message"),
    [
        (dict(epsilon=0), "epsilon is"), (dict(score_share=1), "score_share is"),
        (dict(finalists=0), "finalists is"), (dict(n_iter=0), "n_iter is"),
        (dict(trust="all"), "trust is"), (dict(weights="m"), "weights is"),
        (dict(refit="accuracy"), "refit is True or False"),
        (dict(scoring="roc_auc"), "no site sees a pair"),
        (dict(estimator=3), "estimator is an object with a fit method"),
        (dict(scoring=["accuracy", "f1"]), "takes one score"),
        (dict(error_score="x"), "error_score"),
        (dict(prediction="all"), "prediction"),
        (dict(param_grid={"depth": [1]}), "depth"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(params, message):
    search = search_of().set_params(**params)
    with pytest.raises(ValueError, match=message):
        search.fit(*TRAIN, sites=HELD)


@pytest.mark.parametrize(
    ("sites", "message"),
    [
        (None, "sites must be a dict from names to records"), ({}, "sites must have names"),
        ([1, 2], "sites must be a dict"), ({"": HELD["north"]}, "sites must have names"),
        ({1: HELD["north"]}, "sites must have names"),
        ({"a": HELD["north"][0]}, "the records of a site"),
        ({"a": (HELD["north"][0], None)}, "y"), ({"a": (None, None)}, "found None"),
        ({"a": (HELD["north"][0][:0], HELD["north"][1][:0])}, "empty"),
        ({"a": (HELD["north"][0][:, :2], HELD["north"][1])}, "columns|features|shape"),
    ],
)  # fmt: skip
def test_bad_sites_are_named(sites, message):
    with pytest.raises(ValueError, match=message):
        search_of().fit(*TRAIN, sites=sites)


def test_records_by_position_and_ledgers_of_nobody_are_refused(tmp_path):
    with pytest.raises(TypeError, match="positional arguments"):
        search_of().fit(*TRAIN, HELD)
    with pytest.raises(ValueError, match="ledgers must be for the sites"):
        search_of().fit(*TRAIN, sites=HELD, ledgers=ledgers_in(tmp_path, west=1.0))
    for names in ("north", ["a", "a"], [], [3]):
        with pytest.raises(ValueError, match="name"):
            FederatedCoordinator(search_of(), *TRAIN, sites=names)
    for make in (
        lambda s: FederatedCoordinator(s, *TRAIN, sites=["a"]),
        lambda s: sites_of(s, {"a": HELD["north"]}),
    ):
        with pytest.raises(ValueError, match="no message may carry"):
            make(search_of(trust="coordinator"))
        with pytest.raises(ValueError, match="search must be a PrivateFederatedSearch"):
            make(LogisticRegression())


@pytest.mark.parametrize(
    "scoring",
    [
        make_private_scorer("neg_mean_absolute_error", bounds=(-1, 0)),
        "neg_mean_absolute_error",
        "neg_root_mean_squared_error",
    ],
    ids=str,
)
def test_losses_add_up(scoring):
    rng = np.random.default_rng(0)
    X, t = rng.random((60, 2)), rng.random(60)
    search = PrivateFederatedSearch(Ridge(), {"alpha": [1.0]}, scoring=scoring, epsilon=1e7)
    search.fit(X[:20], t[:20], sites={"a": (X[20:30], t[20:30]), "b": (X[30:], t[30:])})
    assert search.best_score_ == pytest.approx(search.score(X[20:], t[20:]), abs=1e-3)


@pytest.mark.parametrize("kind", [int, np.int64])
def test_a_seed_of_any_kind_of_integer_gives_each_site_noise_of_its_own(kind):
    seeds = {_seed(kind(3), name) for name in ("north", "south")}
    assert len(seeds) == 2 and kind(3) not in seeds
