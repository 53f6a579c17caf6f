"""A network of skorch for other benchmarks; to import it takes torch."""

import torch
from skorch import NeuralNetClassifier


class Network(torch.nn.Sequential):
    """Two hidden layers, normalised by their running means."""

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
