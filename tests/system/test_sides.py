"""The curator's side with a `PrivateObjective`: by messages, and by HTTP with a real client."""

import json
import math
import socket
import threading

import numpy as np
import pytest
from scipy.stats import loguniform, randint
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivateFederatedSearch
from sklearn_dpbo.exceptions import BudgetExceededError
from sklearn_dpbo.objective import FederatedCoordinator, FederatedSite
from sklearn_dpbo.papers.kharkovskii2020 import CuratorSide, GaussianCurator, ModelerSide

TOKEN = "a-token-of-some-length"
SPACE = {"C": loguniform(1e-3, 1e3), "fit_intercept": [True, False]}
CS = {"C": [float(C) for C in np.logspace(-4, 4, 9)]}


def ask(side, *settings):
    return side.answer({"type": "ask", "settings": list(settings)})


# ------------------------------------------------------------ messages
def test_outcomes_by_setting(objective_of):
    objective = objective_of()
    side = CuratorSide(oracle=objective, settings=SPACE)
    settings = [{"C": 0.01, "fit_intercept": True}, {"C": 1, "fit_intercept": False}]
    told = ask(side, *settings)
    assert told == {
        "type": "tell",
        "settings": settings,
        "values": [call.score for call in objective.calls_],
        "calls_left": 2,
    }
    assert ask(side, settings[1])["values"] == told["values"][1:]
    best = side.answer({"type": "best"})
    assert best["setting"] in settings and best["value"] == pytest.approx(max(told["values"]))
    assert best["interval"][0] <= best["value"] <= best["interval"][1]
    for message in (told, best, side.terms()):
        assert json.loads(json.dumps(message)) == message


def test_terms_say_what_is_offered(objective_of):
    objective = objective_of(epsilon=50.0)
    terms = CuratorSide(oracle=objective, settings=SPACE).answer({"type": "terms"})
    assert terms == {
        "type": "terms",
        "version": 1,
        "score": "accuracy",
        "is_score": True,
        "noise_std": objective.noise_std_,
        "calls_left": 4,
        "epsilon": 50.0,
        "unit": "record",
        "settings": {
            "C": {"low": pytest.approx(1e-3), "high": pytest.approx(1e3)},
            "fit_intercept": [True, False],
        },
    }


def test_rows_and_outcomes_are_private_both(objective_of):
    """The modeler sees an image of the settings, and their scores with noise."""
    objective = objective_of(n_calls=4)
    curator = GaussianCurator(epsilon=5.0, delta=1e-3).fit(np.log10(CS["C"])[:, None])
    side = CuratorSide(curator, lambda row: objective({"C": CS["C"][row]}))
    modeler = ModelerSide(side.table(), n_iter=4)
    while (message := modeler.ask())["type"] == "ask":
        modeler.tell(json.loads(json.dumps(side.answer(message))))
    assert side.answer(message) is None and side.result == modeler.modeler.best()
    assert modeler.modeler.values == [call.score for call in objective.calls_]
    with pytest.raises(BudgetExceededError):
        side.answer({"type": "ask", "rows": [*{*range(9)} - {*modeler.modeler.rows}][:1]})


def test_when_calls_run_out_only_what_was_released_is_sent(objective_of):
    side = CuratorSide(oracle=objective_of(n_calls=2), settings=CS)
    settings = [{"C": C} for C in CS["C"]]
    with pytest.raises(BudgetExceededError, match="all 2 calls"):
        ask(side, *settings[:3])
    assert ask(side, *settings[:2])["calls_left"] == 0
    assert side.answer({"type": "best"})["setting"] in settings[:2]


class Fails(ClassifierMixin, BaseEstimator):
    """Its error shows a training record."""

    def __init__(self, C=0.0):
        self.C = C

    def fit(self, X, y):
        if self.C < 1:
            raise ValueError(f"the first record is {X[0].tolist()}")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_fit_that_fails_has_no_value_and_uses_up_no_call(objective_of):
    side = CuratorSide(oracle=objective_of(Fails()), settings=CS)
    told = ask(side, {"C": 1e-4}, {"C": 1e4})
    assert told["values"] == [None, pytest.approx(0.5, abs=0.2)] and told["calls_left"] == 3


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        "ask",
        {},
        {"type": "ask"},
        {"type": "ask", "rows": [0]},
        {"type": "ask", "settings": {"C": 1.0}},
        {"type": "ask", "settings": [None]},
        {"type": "ask", "settings": [{}]},
        {"type": "ask", "settings": [{"C": 1.0}]},
        {"type": "ask", "settings": [{"C": 1e9, "fit_intercept": True}]},
        {"type": "ask", "settings": [{"C": math.nan, "fit_intercept": True}]},
        {"type": "ask", "settings": [{"C": 10**400, "fit_intercept": True}]},
        {"type": "ask", "settings": [{"C": "1.0", "fit_intercept": True}]},
        {"type": "ask", "settings": [{"C": 1.0, "fit_intercept": 1}]},
        {"type": "ask", "settings": [{"C": 1.0, "fit_intercept": True, "n_jobs": 1000}]},
        {"type": "ask", "settings": [{"C": True, "fit_intercept": True}]},
        {"type": "ask", "settings": [{"C": 1e-3 - 1e-13, "fit_intercept": True}]},
        {"type": "ask", "settings": [{"C": 1.0, "fit_intercept": True}] * 101},
        {"type": "ask", "settings": [{"C": 1.0, "fit_intercept": True}, {"verbose": 1}]},
        {"type": "done", "row": 0, "value": 1.0},
        {"type": "best"},
        {"type": "table"},
    ],
)
def test_messages_that_are_refused_cost_nothing(objective_of, message):
    objective = objective_of()
    with pytest.raises(ValueError):
        CuratorSide(oracle=objective, settings=SPACE).answer(message)
    assert objective.calls_ == [] and not objective.privacy_.spends


def test_sides_that_make_no_sense(objective_of):
    curator, objective = GaussianCurator().fit(np.zeros((9, 2))), objective_of()
    for params in (
        {},
        {"oracle": objective},
        {"oracle": objective, "settings": []},
        {"oracle": objective, "settings": [SPACE, SPACE]},
        {"oracle": len, "settings": SPACE},
        {"oracle": len},
        {"curator": curator, "oracle": objective, "settings": SPACE},
        {"curator": curator, "oracle": objective},
        {"curator": curator},
        {"curator": objective, "settings": SPACE},
        {"oracle": objective, "settings": {"svc__C": [1.0]}},
    ):
        with pytest.raises(ValueError):
            CuratorSide(**params)


def test_equal_numbers_are_one_setting(objective_of):
    objective = objective_of(n_calls=3)
    space = {
        "C": loguniform(1e-3, 1e3),
        "max_iter": randint(50, 200),
        "tol": np.logspace(-4, -2, 3),
    }
    side = CuratorSide(oracle=objective, settings=space)
    told = ask(
        side,
        {"C": 1, "max_iter": 100.0, "tol": 0.01},
        {"C": 1.0, "max_iter": 100, "tol": 0.01},
        {"tol": 0.01, "C": 1.0, "max_iter": 100},
    )
    assert len(set(told["values"])) == 1 and told["calls_left"] == 2
    params = objective.calls_[0].params
    assert {name: type(value) for name, value in params.items()} == {
        "C": float, "max_iter": int, "tol": float,
    }  # fmt: skip
    assert json.loads(json.dumps(side.terms())) == side.terms()


@pytest.mark.parametrize("value", [(5, 5), LogisticRegression(), math.inf, {1: 2}, b"a"])
def test_values_that_json_does_not_have_are_refused_beforehand(objective_of, value):
    with pytest.raises(ValueError, match="can represent"):
        CuratorSide(oracle=objective_of(), settings={"C": [1.0, value]})


def test_nothing_is_said_of_candidates_of_others(objective_of):
    objective = objective_of()
    objective({"C": 7.123})
    side = CuratorSide(oracle=objective, settings=CS)
    ask(side, {"C": 1.0})
    with pytest.raises(ValueError, match="C must be one of"):
        side.answer({"type": "best"})
    assert objective.n_calls_left_ == 2


# ------------------------------------------------------------ HTTP
@pytest.fixture
def client_of():
    """Return a function that serves a side and returns a client, with what the app is given."""
    httpx, uvicorn = pytest.importorskip("httpx"), pytest.importorskip("uvicorn")
    pytest.importorskip("fastapi")
    from sklearn_dpbo.papers.kharkovskii2020.http import create_app

    running = []

    def serve(side, token=TOKEN, **params):
        listener = socket.create_server(("127.0.0.1", 0))
        # Its own configuration of logging closes the streams of handlers that others made.
        config = uvicorn.Config(create_app(side, TOKEN, **params), log_config=None)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        running.append((server, thread, listener))
        return httpx.Client(
            base_url=f"http://127.0.0.1:{listener.getsockname()[1]}",
            headers={"Authorization": f"Bearer {token}"},
        )

    yield serve
    for server, thread, listener in running:
        server.should_exit = True
        thread.join(10)
        listener.close()


def test_a_client_asks_until_nothing_is_left(objective_of, client_of):
    objective = objective_of(n_calls=3)
    side = CuratorSide(oracle=objective, settings=SPACE)
    with client_of(side) as client:
        assert client.post("/messages", json={"type": "terms"}).json() == side.terms()
        for C in (0.01, 1.0, 100.0):
            setting = {"C": C, "fit_intercept": True}
            reply = client.post("/messages", json={"type": "ask", "settings": [setting]})
            assert reply.status_code == 200 and reply.json()["settings"] == [setting]
        setting["C"] = 7.0
        reply = client.post("/messages", json={"type": "ask", "settings": [setting]})
        assert reply.status_code == 409 and "the budget is spent" in reply.json()["reason"]
        assert client.post("/messages", json={"type": "best"}).json()["value"] > 0.5
        assert client.post("/messages", json={"type": "table"}).status_code == 422
    assert len(objective.calls_) == 3


def test_a_modeler_works_by_http(client_of):
    X = np.linspace(0, 1, 30)[:, None]
    curator = GaussianCurator(epsilon=5.0, delta=1e-3, distance=0.1).fit(X)
    side = CuratorSide(curator, lambda row: -float((X[row, 0] - 0.4) ** 2))
    with client_of(side) as client:
        modeler = ModelerSide(client.post("/messages", json={"type": "table"}).json(), n_iter=5)
        while (message := modeler.ask())["type"] == "ask":
            modeler.tell(client.post("/messages", json=message).json())
        assert client.post("/messages", json=message).status_code == 204
    assert side.result == modeler.modeler.best()


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", TOKEN, f"Basic {TOKEN}"])
def test_without_the_token_nothing_is_answered(objective_of, client_of, header):
    objective = objective_of()
    with client_of(CuratorSide(oracle=objective, settings=SPACE)) as client:
        client.headers["Authorization"] = header
        reply = client.post("/messages", json={"type": "terms"})
        assert reply.status_code == 401 and "score" not in reply.json()
        assert reply.headers["WWW-Authenticate"] == "Bearer"
        for page in ("/", "/docs", "/openapi.json", "/redoc"):
            assert client.get(page).status_code == 404
    assert objective.calls_ == []


def test_requests_are_limited(objective_of, client_of):
    side = CuratorSide(oracle=objective_of(), settings=SPACE)
    with client_of(side, largest_request=1000) as client:
        for body, status in [(b"[" * 1001, 413), (b"[" * 900, 422), (b"\xff", 422)]:
            assert client.post("/messages", content=body).status_code == status
        for body in (b'{"C": Infinity}', b"NaN", b"[-Infinity]"):
            assert client.post("/messages", content=body).status_code == 422


def test_a_site_of_several_answers_by_http_too(two_classes, client_of):
    X, y, X_val, y_val = two_classes
    search = PrivateFederatedSearch(LogisticRegression(), {"C": [0.1, 1.0]}, epsilon=1e6)
    coordinator = FederatedCoordinator(search, X, y, sites=["here"])
    with client_of(FederatedSite(search, X, y, X_val=X_val, y_val=y_val, name="here")) as client:
        while not coordinator.done:
            reply = client.post("/messages", json=coordinator.ask("here"))
            coordinator.tell("here", reply.json())
        assert client.post("/messages", json=coordinator.ask("here")).status_code == 204
    assert coordinator.result().best_params_["C"] in (0.1, 1.0)


def test_other_errors_are_not_told(objective_of, client_of, caplog):
    """Training records are the curator's, too."""
    side = CuratorSide(oracle=objective_of(Fails(), error_score="raise"), settings=CS)
    with client_of(side) as client:
        reply = client.post("/messages", json={"type": "ask", "settings": [{"C": 0.1}]})
        assert reply.status_code == 500 and "record" not in reply.text
        assert ask(side, {"C": 100.0})["calls_left"] == 3
    assert "the first record is" in caplog.text  # the curator's own log


def test_applications_that_make_no_sense(objective_of):
    pytest.importorskip("fastapi")
    from sklearn_dpbo.papers.kharkovskii2020.http import create_app

    side = CuratorSide(oracle=objective_of(), settings=SPACE)
    for arguments, params in [
        (("side", TOKEN), {}),
        ((side, "short"), {}),
        ((side, None), {}),
        ((side, "spaces and not " * 3), {}),
        ((side, "ä" * 20), {}),
        ((side, TOKEN), {"largest_request": 1.5}),
    ]:
        with pytest.raises(ValueError):
            create_app(*arguments, **params)
