"""A hospital scores candidates, a company chooses among them: two processes, HTTP.

Run it without arguments: it is the hospital, and starts the company as a process of its own, which
is given an address and a token and nothing else. In a real deployment a reverse proxy in front of
the hospital's server terminates TLS and limits requests, and the address begins with https. Run
one server process: it keeps the budget.

Needs ``pip install fastapi uvicorn httpx``.
"""

import asyncio
import hmac
import json
import logging
import os
import secrets
import socket
import subprocess
import sys
import threading

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_dpbo import PrivateObjective, public
from sklearn_dpbo.exceptions import BudgetExceededError
from sklearn_dpbo.papers.kharkovskii2020 import CuratorSide, MessageError, ModelerSide

N_CALLS = 12
LARGEST = 2**16  # bytes of a request


def application(side, token):
    """Return an ASGI application that answers messages in JSON: ``POST /messages``."""
    from fastapi import FastAPI, Request
    from fastapi.concurrency import run_in_threadpool
    from fastapi.responses import JSONResponse, Response

    app = FastAPI(openapi_url=None, redirect_slashes=False)
    answering = asyncio.Lock()

    def refused(status, reason):
        return JSONResponse({"type": "refused", "reason": reason}, status)

    @app.post("/messages")
    async def messages(request: Request) -> Response:
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            return refused(401, "Authorization: Bearer <token> is missing or wrong")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LARGEST:
                return refused(413, f"a request may have at most {LARGEST:,} bytes")
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            return refused(422, "the body of a request must be a message in JSON")
        try:
            async with answering:  # one after another
                answer = await run_in_threadpool(side.answer, message)
        except BudgetExceededError:
            return refused(409, "the budget is spent; what was sent before can be asked for again")
        except MessageError as error:
            return refused(422, str(error))
        except Exception:  # its text may hold records: it stays in the hospital's log
            logging.exception("a message could not be answered")
            return refused(500, "the hospital could not answer")
        return Response(status_code=204) if answer is None else JSONResponse(answer)

    return app


def hospital():
    """Serve private scores of candidates until the company has finished."""
    import uvicorn

    X, y = load_breast_cancer(return_X_y=True)
    X, X_val, y, y_val = train_test_split(X, y, test_size=0.6, random_state=0)
    objective = PrivateObjective(
        make_pipeline(StandardScaler(), SVC()), X, y, X_val, y_val, epsilon=10, n_calls=N_CALLS
    )
    candidates = np.stack(np.meshgrid(np.linspace(-2, 3, 11), np.linspace(-4, 1, 11)), -1)
    candidates = candidates.reshape(-1, 2)  # logarithms of C and gamma: public

    def score(row):
        log_C, log_gamma = candidates[row]
        return objective({"svc__C": 10**log_C, "svc__gamma": 10**log_gamma})

    side = CuratorSide(public(candidates), score)
    token = secrets.token_urlsafe()
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application(side, token), log_config=None))
    serving = threading.Thread(target=server.run, args=([listener],))
    serving.start()
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    company = subprocess.run(
        [sys.executable, __file__, "company", address], env={**os.environ, "TOKEN": token}
    )
    server.should_exit = True
    serving.join()
    company.check_returncode()
    best, value, (low, high) = objective.best()
    print(f"best: {best}, {value:.3f} (95 %: {low:.3f} to {high:.3f})")
    print(objective.privacy_)


def company(address):
    """Ask for scores until there are none left."""
    import httpx

    with httpx.Client(base_url=address, timeout=600) as client:
        assert client.post("/messages", json={"type": "table"}).status_code == 401
        client.headers["Authorization"] = f"Bearer {os.environ['TOKEN']}"
        assert client.post("/messages", content=b"no JSON").status_code == 422

        def answer(message):
            return client.post("/messages", json=message).raise_for_status().json()

        side = ModelerSide(answer({"type": "table"}), N_CALLS)
        while (message := side.ask())["type"] == "ask":
            side.tell(answer(message))
        another = next(row for row in range(121) if row not in side.modeler.rows)
        spent = client.post("/messages", json={"type": "ask", "rows": [another]})
        assert spent.status_code == 409
        row, value = side.modeler.best()
        print(f"the company's favourite: candidate {row}, {value:.3f}")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "company":
        company(sys.argv[2])
    else:
        hospital()
