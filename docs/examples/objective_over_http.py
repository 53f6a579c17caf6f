"""A hospital scores settings, a company optimises over them with Optuna: two processes, HTTP.

Run it without arguments: it is the hospital, and starts the company as a process of its own, which
is given an address and a token and nothing else. In a real deployment a reverse proxy in front of
the hospital's server terminates TLS, and the address begins with https.

Needs ``pip install ".[http]" uvicorn httpx optuna``.
"""

import os
import secrets
import socket
import subprocess
import sys
import threading

from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_dpbo import PrivateObjective
from sklearn_dpbo.papers.kharkovskii2020 import CuratorSide


def hospital():
    """Serve private scores of settings until the company has finished."""
    import uvicorn

    from sklearn_dpbo.papers.kharkovskii2020.http import create_app

    X, y = load_breast_cancer(return_X_y=True)
    X, X_val, y, y_val = train_test_split(X, y, test_size=0.6, random_state=0)
    objective = PrivateObjective(
        make_pipeline(StandardScaler(), SVC()), X, y, X_val, y_val, epsilon=10, n_calls=12
    )
    side = CuratorSide(
        oracle=objective,
        settings={"svc__C": loguniform(1e-2, 1e3), "svc__kernel": ["rbf", "poly", "sigmoid"]},
    )
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
    print(objective.privacy_)


def company(address):
    """Ask for scores until there are none left, then for the best."""
    import httpx
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    with httpx.Client(base_url=address, headers=headers, timeout=600) as client:

        def answer(message):
            return client.post("/messages", json=message).raise_for_status().json()

        terms = answer({"type": "terms"})
        print(f"{terms['score']} with noise of standard deviation {terms['noise_std']:.3f}")
        study = optuna.create_study(direction="maximize")
        for _ in range(terms["calls_left"]):
            trial = study.ask()
            setting = {
                "svc__C": trial.suggest_float("svc__C", 0.01, 1000.0, log=True),
                "svc__kernel": trial.suggest_categorical("svc__kernel", ["rbf", "poly", "sigmoid"]),
            }
            (score,) = answer({"type": "ask", "settings": [setting]})["values"]
            study.tell(trial, score)
        best = answer({"type": "best"})
        low, high = best["interval"]
        print(f"best: {best['setting']}, {best['value']:.3f} (95 %: {low:.3f} to {high:.3f})")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "company":
        company(sys.argv[2])
    else:
        hospital()
