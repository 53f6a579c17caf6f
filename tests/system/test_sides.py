"""The curator's side with a `PrivateObjective`: by messages, and by HTTP with a real client."""

import json
import math
import pickle
import socket
import threading

import numpy as np
import pytest
from scipy.stats import loguniform, randint
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from sklearn_dpbo import PrivateFederatedSearch, PrivateObjective
from sklearn_dpbo.exceptions import BudgetExceededError
from sklearn_dpbo.federated import FederatedCoordinator, FederatedSite
from sklearn_dpbo.papers.kharkovskii2020 import CuratorSide, GaussianCurator, ModelerSide

TOKEN = "a-token-of-some-length"
SPACE = {"C": loguniform(1e-3, 1e3), "fit_intercept": [True, False]}
ROWS = [{"C": float(C)} for C in np.logspace(-4, 4, 9)]


def ask(side, *settings):
    name = "rows" if isinstance(settings[0], int) else "settings"
    return side.answer({"type": "ask", name: list(settings)})


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
    terms = CuratorSide(oracle=objective, settings=SPACE).terms()
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
    assert CuratorSide(oracle=objective, settings=ROWS).terms()["n_rows"] == 9


def test_rows_and_outcomes_are_private_both(objective_of):
    """The modeler sees an image of the settings, and their scores with noise."""
    objective = objective_of(n_calls=6, best_share=0.5)
    image = np.array([[math.log10(row["C"])] for row in ROWS])
    curator = GaussianCurator(epsilon=5.0, delta=1e-3, distance=1.0, random_state=0).fit(image)
    side = CuratorSide(curator, objective, settings=ROWS)
    modeler = ModelerSide(side.table(), n_iter=6)
    while (message := modeler.ask())["type"] == "ask":
        modeler.tell(json.loads(json.dumps(side.answer(message))))
    assert side.answer(message) is None and side.result == modeler.modeler.best()
    assert modeler.modeler.values == [call.score for call in objective.calls_]
    best = side.answer({"type": "best"})
    assert best["row"] in modeler.modeler.rows
    with pytest.raises(BudgetExceededError):
        ask(side, next(i for i in range(9) if i not in modeler.modeler.rows))


def test_when_calls_run_out_the_answer_has_those_before(objective_of):
    side = CuratorSide(oracle=objective_of(n_calls=2, best_share=0), settings=ROWS)
    told = ask(side, 0, 1, 2, 3)
    assert told["rows"] == [0, 1] and len(told["values"]) == 2 and told["calls_left"] == 0
    with pytest.raises(BudgetExceededError, match="all 2 calls"):
        ask(side, 2)
    assert ask(side, 1)["values"] == told["values"][1:]
    assert side.answer({"type": "best"})["row"] in (0, 1)


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
    side = CuratorSide(oracle=objective_of(Fails()), settings=ROWS)
    assert ask(side, 0, 8) == {
        "type": "tell", "rows": [0, 8], "values": [None, pytest.approx(0.5, abs=0.2)],
        "calls_left": 3,
    }  # fmt: skip


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
    ],
)
def test_messages_that_are_refused_cost_nothing(objective_of, message):
    objective = objective_of()
    with pytest.raises(ValueError):
        CuratorSide(oracle=objective, settings=SPACE).answer(message)
    assert objective.calls_ == [] and not objective.privacy_.spends


@pytest.mark.parametrize("row", [-1, 9, 0.0, True, "0", None, 10**30])
def test_rows_that_there_are_not(objective_of, row):
    with pytest.raises(ValueError, match="numbered from 0 to 8"):
        CuratorSide(oracle=objective_of(), settings=ROWS).answer({"type": "ask", "rows": [row]})


def test_sides_that_make_no_sense(objective_of):
    X = np.zeros((9, 2))
    curator = GaussianCurator(epsilon=1.0, delta=1e-3, distance=1.0).fit(X)
    objective = objective_of()
    for params in (
        {},
        {"oracle": objective},
        {"oracle": objective, "settings": []},
        {"oracle": objective, "settings": [1, 2]},
        {"oracle": len, "settings": SPACE},
        {"oracle": len},
        {"curator": curator, "oracle": objective, "settings": SPACE},
        {"curator": curator, "oracle": objective, "settings": ROWS[:8]},
        {"curator": curator},
        {"curator": objective, "settings": SPACE},
        {"oracle": objective, "settings": [SPACE, SPACE]},
        {"oracle": objective, "settings": ROWS, "most": "x"},
        {"oracle": objective, "settings": {"svc__C": [1.0]}},
        {"oracle": objective, "settings": [{"C": 1.0}, {"D": 1.0}]},
    ):
        with pytest.raises(ValueError):
            CuratorSide(**params)
    with pytest.raises(ValueError, match="no table"):
        CuratorSide(oracle=objective, settings=SPACE).table()
    with pytest.raises(ValueError, match="without a budget"):
        CuratorSide(curator, len).terms()


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
    with pytest.raises(ValueError, match="cannot represent"):
        CuratorSide(oracle=objective_of(), settings={"C": [1.0, value]})


@pytest.mark.parametrize("priors", [None, [0.5, 0.5]])
def test_best_names_the_row_of_odd_settings(two_classes, priors):
    """Estimators, and arrays, which `==` does not compare."""
    X, y, X_val, y_val = two_classes
    models = [LogisticRegression(), DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier()]
    rows = [{"model": each} for each in models]
    if priors:
        rows = [{"model__priors": np.array(p)} for p in ([0.5, 0.5], [0.01, 0.99], [0.4, 0.6])]
    pipeline = Pipeline([("model", GaussianNB() if priors else LogisticRegression())])
    objective = PrivateObjective(pipeline, X, y, X_val, y_val, epsilon=1e6, n_calls=3)
    side = CuratorSide(oracle=objective, settings=rows)
    rows[0].clear()  # the side has copies
    values = ask(side, 0, 1, 2)["values"]
    assert side.answer({"type": "best"})["row"] == int(np.argmax(values))


def test_best_is_refused_if_others_have_asked(objective_of):
    objective = objective_of()
    objective({"C": 7.123})
    side = CuratorSide(oracle=objective, settings=ROWS)
    ask(side, 0)
    with pytest.raises(ValueError, match="the objective has other users"):
        side.answer({"type": "best"})
    assert objective.n_calls_left_ == 2


def test_sides_without_an_objective_are_pickled():
    X = np.zeros((9, 2))
    curator = GaussianCurator(epsilon=1.0, delta=1e-3, distance=1.0).fit(X)
    side = pickle.loads(pickle.dumps(CuratorSide(curator, abs)))
    assert side.answer({"type": "ask", "rows": [3]})["values"] == [3.0]


# ------------------------------------------------------------ HTTP
@pytest.fixture
def client_of():
    """Return a function that serves a side and returns a client, with what the app is given."""
    httpx, uvicorn = pytest.importorskip("httpx"), pytest.importorskip("uvicorn")
    pytest.importorskip("fastapi")
    pytest.importorskip("limits")
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
        assert client.get("/terms").json() == side.terms()
        for C in (0.01, 1.0, 100.0):
            setting = {"C": C, "fit_intercept": True}
            reply = client.post("/messages", json={"type": "ask", "settings": [setting]})
            assert reply.status_code == 200 and reply.json()["settings"] == [setting]
        setting["C"] = 7.0
        reply = client.post("/messages", json={"type": "ask", "settings": [setting]})
        assert reply.status_code == 409 and "the budget is spent" in reply.json()["reason"]
        assert client.post("/messages", json={"type": "best"}).json()["value"] > 0.5
        assert client.get("/table").status_code == 422
    assert len(objective.calls_) == 3


def test_a_modeler_works_by_http(client_of):
    X = np.linspace(0, 1, 30)[:, None]
    curator = GaussianCurator(epsilon=5.0, delta=1e-3, distance=0.1, random_state=0).fit(X)
    side = CuratorSide(curator, lambda row: -float((X[row, 0] - 0.4) ** 2))
    with client_of(side) as client:
        modeler = ModelerSide(client.get("/table").json(), n_iter=5)
        while (message := modeler.ask())["type"] == "ask":
            modeler.tell(client.post("/messages", json=message).json())
        assert client.post("/messages", json=message).status_code == 204
    assert side.result == modeler.modeler.best()


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", TOKEN, f"Basic {TOKEN}"])
def test_without_the_token_nothing_is_answered(objective_of, client_of, header):
    objective = objective_of()
    with client_of(CuratorSide(oracle=objective, settings=SPACE)) as client:
        client.headers["Authorization"] = header
        for reply in (
            client.get("/terms"),
            client.get("/table"),
            client.post("/messages", json={"type": "best"}),
        ):
            assert reply.status_code == 401 and "C" not in reply.json()
        for page in ("/", "/docs", "/openapi.json", "/redoc"):
            assert client.get(page).status_code == 404
    assert objective.calls_ == []


def test_requests_are_limited(objective_of, client_of):
    side = CuratorSide(oracle=objective_of(), settings=SPACE)
    with client_of(side, requests_per_minute=3, largest_request=1000) as client:
        assert client.post("/messages", content=b"[" * 1001).status_code == 413
        assert client.post("/messages", content=b"[" * 900).status_code == 422
        assert client.post("/messages", content=b"\xff").status_code == 422
        limited = client.get("/terms")
        assert limited.status_code == 429 and limited.headers["Retry-After"] == "60"


def test_who_has_no_token_keeps_nobody_out(objective_of, client_of):
    side = CuratorSide(oracle=objective_of(), settings=SPACE)
    with client_of(side, requests_per_minute=3) as client:
        wrong = {"Authorization": "Bearer wrong"}
        codes = [client.get("/terms", headers=wrong).status_code for _ in range(5)]
        assert codes == [401, 401, 401, 429, 429]
        assert client.get("/terms").status_code == 200


def test_a_site_of_several_answers_by_http_too(two_classes, client_of):
    X, y, X_val, y_val = two_classes
    search = PrivateFederatedSearch(LogisticRegression(), {"C": [0.1, 1.0]}, epsilon=1e6)
    coordinator = FederatedCoordinator(search, X, y, sites=["here"])
    with client_of(FederatedSite(search, X, y, X_val=X_val, y_val=y_val, name="here")) as client:
        assert client.get("/terms").status_code == 404
        while not coordinator.done:
            reply = client.post("/messages", json=coordinator.ask("here"))
            coordinator.tell("here", reply.json())
        assert client.post("/messages", json=coordinator.ask("here")).status_code == 204
    assert coordinator.result().best_params_["C"] in (0.1, 1.0)


@pytest.mark.parametrize("body", [b'{"C": Infinity}', b"NaN", b"[-Infinity]"])
def test_numbers_that_json_does_not_have_are_refused(objective_of, client_of, body):
    with client_of(CuratorSide(oracle=objective_of(), settings=SPACE)) as client:
        assert client.post("/messages", content=body).status_code == 422


def test_other_errors_are_not_told(objective_of, client_of, caplog):
    """Training records are the curator's, too."""
    side = CuratorSide(oracle=objective_of(Fails(), error_score="raise"), settings=ROWS)
    with client_of(side) as client:
        reply = client.post("/messages", json={"type": "ask", "rows": [0]})
        assert reply.status_code == 500 and "record" not in reply.text
        assert client.post("/messages", json={"type": "ask", "rows": [8]}).status_code == 200
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
        ((side, TOKEN), {"requests_per_minute": 0}),
        ((side, TOKEN), {"largest_request": 1.5}),
    ]:
        with pytest.raises(ValueError):
            create_app(*arguments, **params)
