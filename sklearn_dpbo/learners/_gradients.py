"""Gradients of records, each of a bounded norm, and their losses (zone: sensitive)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from ._blocks import Blocks, blocks_of
from ._rows import Floats, IntegerRows, Integers, Rows, Scaling

# The column of the intercept is light: a gradient's norm, to which noise is proportional, is mostly
# that of the columns.
INTERCEPT = 0.5
# Of a squared loss of targets in [-1, 1]: the largest second derivative of the logistic loss, so
# that the same steps suit both.
CURVATURE = 0.25
# Number of rows whose columns are computed with at a time: floats of all rows need much memory.
_CHUNK = 2048


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


@dataclass(frozen=True, eq=False)
class Objective:
    """The loss of a model that is linear in functions of scaled rows, summed over batches of them.

    Without functions, it is linear in the rows.
    """

    scaling: Scaling
    functions: Blocks | None
    loss: Loss
    n_batches: int = 1


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows, in integers, their targets, and the loss."""

    rows: IntegerRows
    targets: NDArray[Any]
    loss: Loss

    def gradient(self, W: Floats, clip: float) -> Integers:
        """Return the sum of gradients at W, in steps of `IntegerRows`, each clipped to a norm."""

        def factors(values: Floats) -> Floats:
            return _clipped(self.loss.errors(values, self.targets), self.rows.norms, clip)

        return self.rows.total(W, factors)


class GradientRows:
    """Rows of which gradients are computed, in batches: chunks of blocks of columns."""

    def __init__(self, rows: Rows, of: Objective) -> None:
        targets, sizes = of.loss.targets(rows.y), rows.sizes

        def chunk(own: NDArray[np.intp]) -> Chunk:
            blocks = blocks_of(rows.X[own], of.scaling, of.functions)
            blocks.append(np.full((len(own), 1), INTERCEPT))
            integers = IntegerRows(blocks, None if sizes is None else sizes[own])
            return Chunk(integers, targets[own], of.loss)

        self.batches = [
            [chunk(batch[first : first + _CHUNK]) for first in range(0, len(batch), _CHUNK)]
            for batch in _batches(rows, of.n_batches)
        ]


def _batches(rows: Rows, n: int) -> list[NDArray[np.intp]]:
    """Return the rows of each of n batches, between which units are divided.

    By the number of the unit alone, which is public: a unit is in one batch, whatever it holds.
    """
    unit = np.arange(len(rows.X)) if rows.unit is None else rows.unit
    if n == 1:
        return [np.arange(len(unit))]
    order = np.random.default_rng(0).permutation(unit.max() + 1)  # public; tables may be sorted
    return [np.flatnonzero(order[unit] % n == batch) for batch in range(n)]


def gradient(rows: GradientRows, W: Floats, clip: float, batch: int = 0) -> Integers:
    """Return the sum of a batch's gradients at W, in steps of `IntegerRows`, each clipped."""
    total: Integers = np.sum([c.gradient(W, clip) for c in rows.batches[batch]], axis=0)
    return total


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
