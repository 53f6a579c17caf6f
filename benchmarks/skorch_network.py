"""Claim: a search over a network of skorch takes little longer than its fits and predictions alone.

CPU seconds per candidate, for each way to predict; one at a time (`prediction="separate"`) takes
two candidates. To import this script takes torch.

    python benchmarks/skorch_network.py [--records 5000] [--json network.json]
"""

import statistics
import time

from harness import parser_of, print_head, print_row, save

# isort: split
import numpy as np
import torch
from sklearn.datasets import make_classification
from skorch import NeuralNetClassifier

from sklearn_dpbo import PrivateBayesSearchCV

TRAINING = 2_000


class Network(torch.nn.Sequential):
    """A hidden layer, normalised by its running means."""

    def __init__(self, d=20, width=32):
        parts = torch.nn.Linear(d, width), torch.nn.BatchNorm1d(width), torch.nn.ReLU()
        super().__init__(*parts, torch.nn.Dropout(0.1), torch.nn.Linear(width, 2))

    def forward(self, x):
        return super().forward(x.float())


def network():
    return NeuralNetClassifier(
        Network, criterion=torch.nn.CrossEntropyLoss, optimizer=torch.optim.Adam, max_epochs=5,
        verbose=0,
    )  # fmt: skip


def seconds(call, n_candidates, repeats=3):
    """Return the median CPU time of a call that handles so many candidates, for each."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return statistics.median(times) / n_candidates


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--records", type=int, default=5_000)
    options = parser.parse_args()
    m = options.records
    torch.set_num_threads(1)
    X, y = make_classification(TRAINING + m, 20, n_informative=8, flip_y=0.05, random_state=0)
    training = X[:TRAINING], y[:TRAINING]
    print_head(["prediction of a network of skorch", "CPU seconds per candidate"])

    def alone():
        for rate in rates:
            network().set_params(lr=rate).fit(*training).predict(X[TRAINING:])

    def search(prediction):
        PrivateBayesSearchCV(network(), {"lr": rates}, refit=False, prediction=prediction).fit(
            *training, X_val=X[TRAINING:], y_val=y[TRAINING:]
        )

    figures = {}
    for prediction in (None, "auto", "together", "separate"):
        rates = np.geomspace(1e-3, 1e-1, 2 if prediction == "separate" else 8).tolist()
        call = alone if prediction is None else lambda name=prediction: search(name)
        call()
        repeats = 1 if prediction == "separate" else 3
        name = prediction or "without a search"
        figures[name] = seconds(call, len(rates), repeats)
        print_row([name, f"{figures[name]:.2f}"])
    save(figures, options.json)


if __name__ == "__main__":
    main()
