"""Several sites: who is voted for, which messages are taken, what is refused and charged."""

import copy
import json
import math
import pickle

import numpy as np
import pytest
from federated import TRAIN, Column, records, search_of
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score, r2_score

from sklearn_dpbo import PrivacyLedger, PrivateFederatedSearch, make_private_scorer
from sklearn_dpbo.exceptions import BudgetExceededError
from sklearn_dpbo.objective import FederatedCoordinator, FederatedSite
from sklearn_dpbo.testing import seeded_noise

HELD = {"north": records([30, 70, 40], 80), "south": records([20, 90, 50], 100)}
VOTE = dict(type="tell", version=1, what="vote", candidate=1, failed=[], m=80, unit="record")
COUNTS = dict(type="tell", version=1, what="counts", candidates=[1], counts=[[70]])
ASK = {"type": "ask", "version": 1, "what": "counts"}
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn_dpbo.exceptions.LowUtilityWarning",
    "ignore::sklearn.exceptions.FitFailedWarning",
)


class Fails(Column):
    """Candidates up to this one can be fitted, others cannot."""

    last = 1

    def fit(self, X, y):
        if self.which >= self.last:
            raise RuntimeError("no")
        return super().fit(X, y)


class NothingFits(Fails):
    last = 0


def site_of(search, name="north", held=HELD, **params):
    X, y = held[name]
    return FederatedSite(search, *TRAIN, X_val=X, y_val=y, name=name, **params)


def coordinator_of(search=None, sites=("north",)):
    return FederatedCoordinator(search or search_of(), *TRAIN, sites=sites)


def ledgers_in(folder, **epsilons):
    return {n: PrivacyLedger(folder / f"{n}.db", n, e, create=True) for n, e in epsilons.items()}


def sent(message):
    """As it comes out at the other end of a socket."""
    return json.loads(json.dumps(message, allow_nan=False))


def converse(coordinator, sites):
    while not coordinator.done:
        for name in coordinator.waiting:
            coordinator.tell(name, sent(sites[name].answer(sent(coordinator.ask(name)))))
    return coordinator.result()


# ------------------------------------------------------------------ results
def test_the_candidate_that_is_best_on_all_records_wins_with_its_score():
    search = search_of(epsilon=1e6).fit(*TRAIN, sites=HELD)
    assert search.best_params_ == {"which": 1} and search.best_index_ == 1
    assert search.best_score_ == pytest.approx(160 / 180)
    assert search.best_score_interval_ == pytest.approx((160 / 180, 160 / 180))
    assert search.votes_ == {"north": 1, "south": 1} and search.finalists_ == [1]
    assert search.predict(np.eye(3)).tolist() == [0, 1, 0]
    assert set(search.privacy_) == set(HELD)
    assert search.privacy_["north"].m == 80 and search.privacy_["north"].epsilon == 1e6


@pytest.mark.parametrize(
    ("votes", "finalists"),
    [
        ([(0, 5), (1, 3), (2, 3)], [0, 1]),
        ([(0, 5), (1, 3), (1, 3)], [1, 0]),
        ([(0, 9), (1, 3), (1, 3)], [0, 1]),  # votes count by units
        ([(2, 4), (1, 4), (0, 4)], [0, 1]),  # three sites, three votes: the first candidates
        ([(2, 4), (2, 9)], [2]),
    ],
)
def test_the_two_candidates_with_the_most_votes_are_counted(votes, finalists):
    coordinator = coordinator_of(sites=[str(i) for i in range(len(votes))])
    for i, (candidate, m) in enumerate(votes):
        coordinator.tell(str(i), VOTE | {"candidate": candidate, "m": m})
    assert coordinator.ask("0")["candidates"] == finalists


def test_where_sites_differ_the_counts_of_all_decide():
    held = {"a": records([90, 10, 80], 100), "b": records([0, 40, 70], 80)}
    search = search_of(epsilon=1e6).fit(*TRAIN, sites=held)
    assert search.votes_ == {"a": 0, "b": 2} and search.finalists_ == [0, 2]
    assert search.best_index_ == 2
    scores = search.cv_results_["mean_test_score"]
    assert scores == pytest.approx([90 / 180, math.nan, 150 / 180], nan_ok=True)


@pytest.mark.parametrize("scoring", ["accuracy", "f1"])
@pytest.mark.parametrize("grouped", [False, True])
def test_messages_and_fit_give_the_same(scoring, grouped, two_classes):
    X, y, X_val, y_val = two_classes
    groups = np.arange(75) // 3 if grouped else None
    held = {"a": (X_val[:75], y_val[:75], groups), "b": (X_val[75:], y_val[75:], groups)}
    search = PrivateFederatedSearch(
        LogisticRegression(), {"C": loguniform(1e-3, 10)}, epsilon=5.0, n_iter=6, scoring=scoring,
        random_state=3,
    )  # fmt: skip
    with seeded_noise(7):
        sites = {
            name: FederatedSite(search, X, y, X_val=v, y_val=w, groups_val=g, name=name)
            for name, (v, w, g) in held.items()
        }
    coordinator = FederatedCoordinator(search, X, y, sites=sites)
    found = converse(coordinator, sites)
    with seeded_noise(7):
        search.fit(X, y, sites=held)
    for name in ("best_params_", "best_score_", "best_score_interval_", "votes_", "finalists_"):
        assert getattr(found, name) == getattr(search, name), name
    reports = [{n: each.details() for n, each in search.privacy_.items()}]
    reports.append({n: site.privacy_.details() for n, site in sites.items()})
    assert reports[0] == reports[1]
    assert np.array_equal(found.predict(X), search.predict(X))
    done = coordinator.ask("a")
    assert sites["a"].answer(sent(done)) is None
    assert sites["a"].result == sent(done) and done["candidate"] == search.best_index_


@pytest.mark.parametrize(
    "scoring",
    [
        "balanced_accuracy", "r2", "neg_mean_absolute_error", "neg_root_mean_squared_error",
        make_private_scorer("neg_mean_absolute_error", bounds=(-1, 0)),
    ],
    ids=str,
)  # fmt: skip
def test_scores_of_other_kinds_are_those_of_all_records(scoring, two_classes):
    X, y, X_val, y_val = two_classes
    model, score = (LogisticRegression(), {"C": [1.0]}), balanced_accuracy_score
    if scoring != "balanced_accuracy":
        y, y_val, score = X @ np.arange(5) / 40, X_val @ np.arange(5) / 40 + 0.1, r2_score
        model = Ridge(), {"alpha": [1.0]}
    search = PrivateFederatedSearch(*model, scoring=scoring, epsilon=1e7)
    search.fit(X, y, sites={"a": (X_val[:60], y_val[:60]), "b": (X_val[60:], y_val[60:])})
    exact = search.score(X_val, y_val)
    if scoring in ("balanced_accuracy", "r2"):  # of which the second is clipped
        theirs = score(y_val, search.predict(X_val))
        assert exact == pytest.approx(theirs, abs=5e-3 * (scoring == "r2"))
    assert search.best_score_ == pytest.approx(exact, abs=1e-3)


def test_candidates_are_fitted_once_for_all_sites_and_all_before_any_prediction():
    log = []

    class Noted(Column):
        def fit(self, X, y):
            log.append("fit")
            return super().fit(X, y)

        def predict(self, X):
            log.append("protected") if (X == 7.25).any() else None
            return super().predict(X)

    held = {name: (7.25 * X, y) for name, (X, y) in HELD.items()}
    search_of(epsilon=10.0).set_params(estimator=Noted()).fit(*TRAIN, sites=held)
    assert log[:3] == ["fit"] * 3 and set(log[3:]) == {"protected"}


def test_candidates_that_fail_are_never_chosen():
    search = search_of(epsilon=1e6).set_params(estimator=Fails()).fit(*TRAIN, sites=HELD)
    assert search.best_index_ == 0
    assert [error is None for error in search.cv_results_["fit_error"]] == [True, False, False]


def test_a_site_at_which_all_candidates_fail_pays_nothing_however_often_it_is_asked(tmp_path):
    ledger = ledgers_in(tmp_path, north=1.0)["north"]
    search = search_of().set_params(estimator=NothingFits())
    site = site_of(search, ledger=ledger)
    for _ in range(2):
        with pytest.raises(ValueError, match="All 3 candidates failed"):
            site.answer(coordinator_of(search).ask("north"))
    assert ledger.spent["epsilon"] == 0


def test_a_vote_for_what_failed_elsewhere_does_not_count():
    coordinator = coordinator_of(sites=["a", "b"])
    coordinator.tell("a", VOTE | {"candidate": 0, "failed": [1]})
    coordinator.tell("b", VOTE)
    assert coordinator.ask("a")["candidates"] == [0]
    other = coordinator_of(sites=["a", "b"])
    other.tell("a", VOTE | {"candidate": 0, "failed": [1]})
    other.tell("b", VOTE | {"failed": [0]})
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
    site, ask = site_of(search), coordinator_of(search).ask("north")
    first = site.answer(ask)
    assert site.answer(ask) == first and site.privacy_.spends[0].epsilon == pytest.approx(0.6)
    counts = {**ASK, "candidates": [2, 0]}
    told = site.answer(counts)
    assert site.answer(counts) == told and len(site.privacy_.spends) == 2
    assert sum(loss.epsilon for loss in site.privacy_.spends) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="a site answers once"):
        site.answer({**counts, "candidates": [1]})
    told["counts"][0][0] += 1  # what is handed out is a copy
    assert site.answer(counts) != told


def test_a_coordinator_takes_one_answer_to_each_question():
    coordinator = coordinator_of(sites=["north", "south"])
    assert coordinator.ask("north") == coordinator.ask("north")
    coordinator.tell("north", VOTE)
    for again in (VOTE, VOTE | {"candidate": 2}, COUNTS):
        with pytest.raises(ValueError, match="nothing is asked of the site 'north' now"):
            coordinator.tell("north", again)
    assert coordinator.waiting == ["south"] and coordinator.ask("north") is None
    with pytest.raises(ValueError, match=r"\['south'\] have not answered yet"):
        coordinator.result()
    coordinator.tell("south", VOTE)
    assert coordinator.ask("north")["candidates"] == [1]


@pytest.mark.parametrize("late", [False, True])
def test_a_site_that_is_down_is_dropped_only_by_hand(late):
    search, held = search_of(epsilon=1e6), {**HELD, "west": records([60, 0, 0], 60)}
    sites = {name: site_of(search, name, held) for name in held}
    coordinator = coordinator_of(search, sites)
    for name in sites:
        if late or name != "west":
            coordinator.tell(name, sites[name].answer(coordinator.ask(name)))
    assert coordinator.waiting == (list(held) if late else ["west"])
    coordinator.ask("north")
    coordinator.drop("west")
    found = converse(coordinator, sites)
    assert set(found.votes_) == set(held if late else HELD)  # late, its vote has counted
    assert found.best_score_ == pytest.approx(160 / 180)
    with pytest.raises(ValueError, match="site must be one of"):
        coordinator.ask("west")
    coordinator.drop("south")
    with pytest.raises(ValueError, match="only remaining site"):
        coordinator.drop("north")


BAD_ASKS = [
    None, [], "vote", {}, {"type": "ask"}, {"type": "ask", "version": 2, "what": "vote"},
    ASK | {"what": "records"}, {"type": "tell", "version": 1}, ASK | {"what": ["vote"]},
    ASK | {"what": "vote"}, ASK | {"what": "vote", "plan": {"epsilon": 1.0}},
    ASK | {"candidates": [0]}, {"type": "done", "version": 9},
]  # fmt: skip
NO_CANDIDATES = [
    None, [], [3], [-1], [0, 0], [True], ["0"], [0.0], {"0": 1}, [[0]], [10**30],
]  # fmt: skip


def test_a_site_refuses_malformed_questions_and_spends_nothing(tmp_path):
    ledger = ledgers_in(tmp_path, north=1.0)["north"]
    site = site_of(search_of(), ledger=ledger)
    for message in BAD_ASKS:
        with pytest.raises(ValueError):
            site.answer(message)
    assert ledger.spent["epsilon"] == 0 and not site.privacy_.spends
    site.answer(coordinator_of().ask("north"))
    for candidates in NO_CANDIDATES:
        with pytest.raises(ValueError, match="candidates must be|none of, or"):
            site.answer({**ASK, "candidates": candidates})
    assert len(site.privacy_.spends) == 1


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
    coordinator = coordinator_of()
    with pytest.raises(ValueError):
        coordinator.tell("north", VOTE | change)
    coordinator.tell("north", VOTE)
    assert coordinator.ask("north")["candidates"] == [1]


@pytest.mark.parametrize(
    "change",
    [
        {"candidates": [2]}, {"candidates": None}, {"counts": [[70, 1]]}, {"counts": [70]},
        {"counts": [["70"]]}, {"counts": [[math.nan]]}, {"counts": [[10**400]]}, {"counts": []},
        {"counts": None}, {"counts": [[True]]}, {"counts": [[70], [70]]},
    ],
)  # fmt: skip
def test_a_coordinator_refuses_malformed_counts_and_forgets_them(change):
    coordinator = coordinator_of()
    with pytest.raises(ValueError):
        coordinator.tell("north", COUNTS)  # not asked for yet
    coordinator.tell("north", VOTE)
    coordinator.ask("north")
    with pytest.raises(ValueError):
        coordinator.tell("north", COUNTS | change)
    assert not coordinator.done
    coordinator.tell("north", COUNTS)
    assert coordinator.result().best_score_ == pytest.approx(70 / 80)


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        (search_of(epsilon=2.0), "epsilon is 2.0, here 1.0"),
        (search_of(4), "candidates is '4 with digest"),
        (search_of(scoring="f1"), "scoring is"),
        (search_of(score_share=0.5), "score_share is 0.5"),
        (search_of().set_params(estimator=Fails()), "estimator"),
    ],
)
def test_sites_with_another_plan_are_told_what_differs(other, differs):
    site = site_of(search_of(epsilon=1.0))
    with pytest.raises(ValueError, match=differs):
        site.answer(coordinator_of(other).ask("north"))
    assert not site.privacy_.spends


def test_records_and_groups_do_not_add_up():
    X, y = HELD["north"]
    held = {"north": (X, y, np.arange(80) // 2), "south": HELD["south"]}
    with pytest.raises(ValueError, match="some sites protect records and others groups"):
        search_of().fit(*TRAIN, sites=held)
    coordinator = coordinator_of(sites=["a", "b"])
    coordinator.tell("a", VOTE)
    with pytest.raises(ValueError, match="some sites protect records and others groups"):
        coordinator.tell("b", VOTE | {"unit": "group"})
    several = coordinator_of(search_of(scoring="f1"), ["a", "b"])
    several.tell("a", VOTE | {"unit": "group", "m": 2**20})
    with pytest.raises(ValueError, match="too many for scoring='f1'"):
        several.tell("b", VOTE | {"unit": "group", "m": 2**20})


# ------------------------------------------------------------------ ledgers
def test_each_site_pays_from_its_own_ledger(tmp_path):
    ledgers = ledgers_in(tmp_path, north=1.0, south=3.0)
    search = search_of(epsilon=1.0).fit(*TRAIN, sites=HELD, ledgers=ledgers)
    assert [ledger.left["epsilon"] for ledger in ledgers.values()] == [0, 2]
    assert "site 'north'" in ledgers["north"].history[0]["what"]
    with pytest.raises(BudgetExceededError):
        search.fit(*TRAIN, sites=HELD, ledgers=ledgers)
    assert ledgers["south"].left["epsilon"] == 2


def test_a_ledger_is_charged_before_the_first_draw(tmp_path, monkeypatch):
    ledgers = ledgers_in(tmp_path, north=1.0, south=1.0)

    def draw(*_):
        raise RuntimeError("stopped")

    monkeypatch.setattr("sklearn_dpbo._privacy.noise.SeededNoise.permute_and_flip", draw)
    search = search_of(epsilon=1.0)
    with pytest.raises(RuntimeError, match="stopped") as caught, seeded_noise(0):
        search.fit(*TRAIN, sites=HELD, ledgers=ledgers)
    assert [ledger.spent["epsilon"] for ledger in ledgers.values()] == [1, 0]
    assert "epsilon counts as spent at the sites" in "".join(caught.value.__notes__)
    assert not hasattr(search, "best_params_")


def test_a_ledger_that_refuses_late_ends_the_search_and_others_have_paid(tmp_path):
    """It is emptied by somebody else after the search has asked what is left."""
    ledgers = ledgers_in(tmp_path, north=1.0, south=1.0)

    class Empties(Column):
        def fit(self, X, y):
            if ledgers["south"].left["epsilon"]:
                ledgers["south"].charge(1.0, what="something else")
            return super().fit(X, y)

    search = search_of(epsilon=1.0).set_params(estimator=Empties())
    with pytest.raises(BudgetExceededError) as caught:
        search.fit(*TRAIN, sites=HELD, ledgers=ledgers)
    assert ledgers["north"].left["epsilon"] == 0
    assert [entry["what"] for entry in ledgers["south"].history] == ["something else"]
    assert "['north']" in "".join(caught.value.__notes__)
    assert not hasattr(search, "best_params_")


# ------------------------------------------------------------------ bad input
@pytest.mark.parametrize(
    ("params", "message"),
    [
        (dict(epsilon=0), "epsilon must be"), (dict(score_share=1), "score_share must be"),
        (dict(refit="accuracy"), "refit is True or False"),
        (dict(scoring="roc_auc"), "no site sees a pair"),
        (dict(scoring=["accuracy", "f1"]), "takes one score"),
        (dict(param_grid={"depth": [1]}), "depth"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        search_of().set_params(**params).fit(*TRAIN, sites=HELD)


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
