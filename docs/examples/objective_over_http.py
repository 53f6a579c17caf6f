"""A hospital scores candidates, a company chooses among them: two processes, HTTP.

Run it without arguments: it is the hospital, and starts the company as a process of its own, which
is given an address and a token and nothing else. In a real deployment a reverse proxy in front of
the hospital's server terminates TLS, and the address begins with https.

Needs ``pip install ".[http]" uvicorn httpx``.
"""

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
from sklearn_dpbo.papers.kharkovskii2020 import CuratorSide, ModelerSide

N_CALLS = 12


def hospital():
    """Serve private scores of candidates until the company has finished."""
    import uvicorn

    from sklearn_dpbo.papers.kharkovskii2020.http import create_app

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
    server = uvicorn.Server(uvicorn.Config(create_app(side, token), log_config=None))
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

    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    with httpx.Client(base_url=address, headers=headers, timeout=600) as client:

        def answer(message):
            return client.post("/messages", json=message).raise_for_status().json()

        side = ModelerSide(answer({"type": "table"}), N_CALLS)
        while (message := side.ask())["type"] == "ask":
            side.tell(answer(message))
        row, value = side.modeler.best()
        print(f"the company's favourite: candidate {row}, {value:.3f}")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "company":
        company(sys.argv[2])
    else:
        hospital()
