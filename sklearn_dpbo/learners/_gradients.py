"""Gradients of records, each of a bounded norm, and their losses (zone: sensitive)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from ._blocks import Blocks, blocks_of
from ._rows import Floats, IntegerRows, Integers, Rows, Scaling, linear, squared_norms

# The column of the intercept is light: a gradient's norm, to which noise is proportional, is mostly
# that of the columns.
INTERCEPT = 0.5
# Of a squared loss of targets in [-1, 1]: the largest second derivative of the logistic loss, so
# that the same steps suit both.
CURVATURE = 0.25


@dataclass(frozen=True)
class Logistic:
    """The logistic loss of labels, which are positions among the classes, or -1 for none."""

    def targets(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the labels."""
        return y

    def errors(self, values: Floats, targets: NDArray[Any]) -> Floats:
        """Return the derivative of each record's loss by the values of the linear functions."""
        errors = probabilities(values)
        errors[np.arange(len(values)), targets] -= 1
        errors[targets < 0] = 0
        return errors[:, 1:] if values.shape[1] == 1 else errors


@dataclass(frozen=True)
class Squared:
    """The squared loss of targets that are scaled by these numbers, and clipped to [-1, 1]."""

    center: float
    scale: float

    def targets(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return a column of scaled targets."""
        scaled: Floats = np.nan_to_num((y - self.center) / self.scale)
        return np.clip(scaled, -1, 1)[:, None]

    def errors(self, values: Floats, targets: NDArray[Any]) -> Floats:
        """Return the derivative of each record's loss by the values of the linear functions."""
        errors: Floats = CURVATURE * (values - targets)
        return errors


Loss: TypeAlias = Logistic | Squared


class GradientRows:
    """Rows in blocks of columns, with their norms, and in integers; their targets, and the loss."""

    def __init__(self, rows: Rows, scaling: Scaling, functions: Blocks | None, loss: Loss) -> None:
        intercept = np.full((len(rows.X), 1), INTERCEPT)
        self.blocks = [*blocks_of(rows.X, scaling, functions), intercept]
        self.norms = np.sqrt(squared_norms(self.blocks))
        self.integers = IntegerRows(self.blocks, rows.sizes)
        self.targets, self.loss = loss.targets(rows.y), loss


def gradient(rows: GradientRows, W: Floats, clip: float) -> Integers:
    """Return the sum of gradients at W, in steps of `IntegerRows`, each clipped to a norm."""
    errors = rows.loss.errors(linear(rows.blocks, W), rows.targets)
    return rows.integers.total(_clipped(errors, rows.norms, clip))


def probabilities(logits: Floats) -> Floats:
    """Return the probabilities of all classes; of two, there is one logit."""
    if logits.shape[1] == 1:
        p = expit(logits)
        return np.column_stack([1 - p, p])
    shares: Floats = softmax(logits, axis=1)
    return shares


def _clipped(errors: Floats, norms: Floats, clip: float) -> Floats:
    """Return e of each record: its gradient e x^T, in units of `clip`, has norm at most 1."""
    lengths = np.sqrt((errors**2).sum(axis=1)) * norms
    scaled: Floats = errors / np.maximum(lengths, clip)[:, None]
    return scaled
