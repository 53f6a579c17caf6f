"""A hospital holds patients' records, a company optimises over them: two processes, one socket.

Run it without arguments: it is the hospital, and starts the company as a process of its own, which
is given a port number and nothing else. They exchange JSON, one message a line.
"""

import json
import socket
import subprocess
import sys

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo.papers.kharkovskii2020 import CuratorSide, GaussianCurator, ModelerSide

N_ITER = 40


def hospital():
    """Release a protected table once; then run the expensive test on rows that are asked for."""
    data = load_breast_cancer()
    X = StandardScaler().fit_transform(data.data[:, [0, 1, 4, 5]])  # what is on record
    test = data.data[:, 27]  # what only the expensive test shows: not released, measured on demand
    # Records may move by 0.25 standard deviations, say, without anyone being able to tell.
    curator = GaussianCurator(epsilon=1.0, delta=1e-3, distance=0.25, max_norm=4.0).fit(X)
    print(f"released: {curator.released_.shape}, noise of {curator.sigma_:.2f} standard deviations")
    print(f"guarantee: epsilon = {curator.epsilon:g}, delta = {curator.delta:g}")

    side = CuratorSide(curator, oracle=lambda row: test[row])
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        company = subprocess.Popen([sys.executable, __file__, "company", str(port)])
        connection, _ = server.accept()
        with connection, connection.makefile("rw") as line:
            send(line, side.table())
            while side.result is None:
                answer = side.answer(receive(line))
                if answer is not None:
                    send(line, answer)
        company.wait()
    row, value = side.result
    rank = int((test > value).sum()) + 1
    print(f"after {N_ITER} of {len(test)} tests: patient {row}, value {value:.3f}, rank {rank}")


def company(port):
    """Take the table, ask for outcomes by row number, say what was best."""
    with (
        socket.create_connection(("127.0.0.1", port)) as connection,
        connection.makefile("rw") as line,
    ):
        side = ModelerSide(receive(line), N_ITER)
        while True:
            message = side.ask()
            send(line, message)
            if message["type"] == "done":
                return
            side.tell(receive(line))


def send(line, message):
    line.write(json.dumps(message) + "\n")
    line.flush()


def receive(line):
    return json.loads(line.readline())


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "company":
        company(int(sys.argv[2]))
    else:
        hospital()
