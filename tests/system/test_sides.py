"""The curator's side with a `PrivateObjective`, and by HTTP with a real client."""

import json
import socket
import threading

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivateFederatedSearch, public
from sklearn_dpbo.exceptions import BudgetExceededError
from sklearn_dpbo.objective import FederatedCoordinator, FederatedSite
from sklearn_dpbo.papers.kharkovskii2020 import CuratorSide, GaussianCurator, ModelerSide

TOKEN = "a-token-of-some-length"
CS = [float(C) for C in np.logspace(-4, 4, 9)]
LOG_CS = np.log10(CS)[:, None]
TABLE = public(LOG_CS)


def side_of(objective, table=TABLE, **params):
    return CuratorSide(table, lambda row: objective({"C": CS[row], **params}))


def ask(*rows):
    return {"type": "ask", "rows": list(rows)}


# ------------------------------------------------------------ private outcomes
@pytest.mark.parametrize("table", [TABLE, GaussianCurator(epsilon=5.0, delta=1e-3).fit(LOG_CS)])
def test_outcomes_have_noise_and_a_budget(objective_of, table):
    """The modeler sees candidates, or a noisy image of them, and their scores with noise."""
    objective = objective_of(n_calls=4)
    side = side_of(objective, table)
    modeler = ModelerSide(side.table(), n_iter=4)
    while (message := modeler.ask())["type"] == "ask":
        modeler.tell(json.loads(json.dumps(side.answer(message))))
    assert side.answer(message) is None and side.result == modeler.modeler.best()
    assert modeler.modeler.values == [call.score for call in objective.calls_]
    with pytest.raises(BudgetExceededError, match="all 4 calls"):
        side.answer(ask(*[*{*range(9)} - {*modeler.modeler.rows}][:1]))
    assert side.answer(ask(modeler.modeler.rows[0]))["values"] == modeler.modeler.values[:1]


@pytest.mark.parametrize(
    "message",
    [None, [], {}, {"type": "ask", "rows": 1}, *map(ask, (9, -1, 1.0, True)), ask(*[0] * 101)],
)
def test_messages_that_are_refused_cost_nothing(objective_of, message):
    objective = objective_of()
    with pytest.raises(ValueError, match="found"):
        side_of(objective).answer(message)
    assert objective.calls_ == [] and not objective.privacy_.spends


@pytest.mark.parametrize(
    ("table", "oracle", "says"),
    [
        (TABLE, None, "oracle must be a function"),
        (LOG_CS, len, r"mark it: public\(table\); found ndarray"),  # it may hold protected rows
        (None, len, "found NoneType"),
        (public([[np.nan]]), len, "NaN"),
        (public([]), len, "array"),
    ],
)
def test_sides_that_make_no_sense(table, oracle, says):
    with pytest.raises(ValueError, match=says):
        CuratorSide(table, oracle)


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
    with client_of(side_of(objective)) as client:
        for row in (2, 4, 6):
            reply = client.post("/messages", json=ask(row))
            assert reply.status_code == 200 and reply.json()["rows"] == [row]
        reply = client.post("/messages", json=ask(7))
        assert reply.status_code == 409 and "the budget is spent" in reply.json()["reason"]
        assert client.post("/messages", json=ask(2)).status_code == 200
        assert client.post("/messages", json={"type": "best"}).status_code == 422
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
    with client_of(side_of(objective)) as client:
        client.headers["Authorization"] = header
        reply = client.post("/messages", json={"type": "table"})
        assert reply.status_code == 401 and "rows" not in reply.json()
        assert reply.headers["WWW-Authenticate"] == "Bearer"
        for page in ("/", "/docs", "/openapi.json", "/redoc"):
            assert client.get(page).status_code == 404
    assert objective.calls_ == []


def test_requests_are_limited(objective_of, client_of):
    side = side_of(objective_of())
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
    X = objective_of()._evaluator.problem.training.X

    def fails(row):
        raise ValueError(f"the first record is {X[row].tolist()}")

    with client_of(CuratorSide(TABLE, fails)) as client:
        reply = client.post("/messages", json=ask(1))
        assert reply.status_code == 500 and "record" not in reply.text
    assert "the first record is" in caplog.text  # the curator's own log


def test_applications_that_make_no_sense(objective_of):
    pytest.importorskip("fastapi")
    from sklearn_dpbo.papers.kharkovskii2020.http import create_app

    side = side_of(objective_of())
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
