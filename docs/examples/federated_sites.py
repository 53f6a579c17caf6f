"""Three hospitals choose a model together, and none hands over a record: four processes, sockets.

Run it without arguments: it is the coordinator, and starts each hospital as a process of its own,
which is given its name and a port number. They exchange JSON, one message a line.
"""

import json
import socket
import subprocess
import sys

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo import PrivateFederatedSearch
from sklearn_dpbo.objective import FederatedCoordinator, FederatedSite

# What all have agreed on: the search, and a public training set.
X, y = load_breast_cancer(return_X_y=True)
PUBLIC = X[:150], y[:150]
SEARCH = PrivateFederatedSearch(
    make_pipeline(StandardScaler(), LogisticRegression()),
    {"logisticregression__C": [1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0]},
    epsilon=1.0,
)
# Who holds which records; here in one file, there in three buildings.
RECORDS = {"north": slice(150, 350), "south": slice(350, 500), "west": slice(500, 569)}


def hospital(name, port):
    """Answer what is asked: one vote, one release of counts. A ledger would go in here."""
    rows = RECORDS[name]
    site = FederatedSite(SEARCH, *PUBLIC, X_val=X[rows], y_val=y[rows], name=name)
    with (
        socket.create_connection(("127.0.0.1", port)) as connection,
        connection.makefile("rw") as line,
    ):
        send(line, name)
        while site.result is None:
            answer = site.answer(receive(line))
            if answer is not None:
                send(line, answer)
    if name == "north":
        print(site.privacy_)


def coordinator():
    """Ask the hospitals, add up, and print what came out."""
    asking = FederatedCoordinator(SEARCH, *PUBLIC, sites=RECORDS)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        started = [subprocess.Popen([sys.executable, __file__, name, port]) for name in RECORDS]
        lines = {}
        for _ in RECORDS:
            connection, _ = server.accept()
            line = connection.makefile("rw")
            lines[receive(line)] = line
        while not asking.done:
            for name in asking.waiting:
                send(lines[name], asking.ask(name))
                asking.tell(name, receive(lines[name]))
        for name, line in lines.items():
            send(line, asking.ask(name))
            line.close()
        for process in started:
            process.wait()
    search = asking.result()
    low, high = search.best_score_interval_
    print(f"guarantee for each record at its hospital: epsilon = {search.epsilon:g}")
    print(f"votes: {search.votes_}; counted: {search.finalists_}")
    print(
        f"best: {search.best_params_}, accuracy {search.best_score_:.3f} ({low:.3f} to {high:.3f})"
    )


def send(line, message):
    line.write(json.dumps(message) + "\n")
    line.flush()


def receive(line):
    return json.loads(line.readline())


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] in RECORDS:
        hospital(sys.argv[1], int(sys.argv[2]))
    else:
        coordinator()
