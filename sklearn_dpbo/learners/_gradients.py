"""Gradients of records, each of a bounded norm, and their losses (zone: sensitive)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from ._blocks import Blocks, blocks_of
from ._rows import Floats, IntegerRows, Integers, Rows, Scaling

# Constant in the intercept's column. It is small, because noise is proportional to a gradient's
# norm, to which the columns should contribute most.
INTERCEPT = 0.5
# Second derivative of the squared loss of targets in [-1, 1]: the largest one of the logistic loss,
# so that the same step sizes suit both losses.
CURVATURE = 0.25
# Rows of a chunk, which are floats for a while: those of all rows need much memory.
_CHUNK = 2048


@dataclass(frozen=True)
class Logistic:
    """Logistic loss of labels, which are positions among the classes, or -1 for none of them."""

    def targets(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the labels, unchanged."""
        return y

    def errors(self, values: Floats, targets: NDArray[Any]) -> Floats:
        """Return the derivative of each record's loss by the values of the linear functions."""
        errors = probabilities(values)
        errors[np.arange(len(values)), targets] -= 1
        errors[targets < 0] = 0
        return errors[:, 1:] if values.shape[1] == 1 else errors


@dataclass(frozen=True)
class Squared:
    """Squared loss of targets ``(y - center) / scale``, clipped to [-1, 1]."""

    center: float
    scale: float

    def targets(self, y: NDArray[Any]) -> NDArray[Any]:
        """Scale and clip targets, shape (n_rows, 1)."""
        scaled: Floats = np.nan_to_num((y - self.center) / self.scale)
        return np.clip(scaled, -1, 1)[:, None]

    def errors(self, values: Floats, targets: NDArray[Any]) -> Floats:
        """Return the derivative of each record's loss by the values of the linear functions."""
        errors: Floats = CURVATURE * (values - targets)
        return errors


Loss: TypeAlias = Logistic | Squared


@dataclass(frozen=True, eq=False)
class Objective:
    """Loss of a model that is linear in `functions` of scaled rows (None: in the rows).

    Gradients are summed over one of `n_batches` at a time.
    """

    scaling: Scaling
    functions: Blocks | None
    loss: Loss
    n_batches: int = 1


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows, rounded to integers, their targets, and the loss."""

    rows: IntegerRows
    targets: NDArray[Any]
    loss: Loss

    def gradient(self, W: Floats, clip: float) -> Integers:
        """Sum the rows' gradients at W, each clipped to a norm, in steps of `IntegerRows`."""

        def factors(values: Floats) -> Floats:
            return _clipped(self.loss.errors(values, self.targets), self.rows.norms, clip)

        return self.rows.total(W, factors)


class GradientRows:
    """Rows for which gradients are computed: batches, which are lists of chunks."""

    def __init__(self, rows: Rows, objective: Objective) -> None:
        targets = objective.loss.targets(rows.y)
        sizes = rows.sizes

        def chunk(positions: NDArray[np.intp]) -> Chunk:
            blocks = blocks_of(rows.X[positions], objective.scaling, objective.functions)
            blocks.append(np.full((len(positions), 1), INTERCEPT))
            integers = IntegerRows(blocks, None if sizes is None else sizes[positions])
            return Chunk(integers, targets[positions], objective.loss)

        self.batches = [
            [chunk(batch[first : first + _CHUNK]) for first in range(0, len(batch), _CHUNK)]
            for batch in _batches(rows, objective.n_batches)
        ]


def _batches(rows: Rows, n: int) -> list[NDArray[np.intp]]:
    """Divide units between n batches, and return the positions of each batch's rows.

    The number of the unit, which is public, determines its batch: whatever a unit holds, it is in
    one batch only.
    """
    unit = np.arange(len(rows.X)) if rows.unit is None else rows.unit
    if n == 1:
        return [np.arange(len(unit))]
    order = np.random.default_rng(0).permutation(unit.max() + 1)  # public; tables may be sorted
    return [np.flatnonzero(order[unit] % n == batch) for batch in range(n)]


def gradient(rows: GradientRows, W: Floats, clip: float, batch: int = 0) -> Integers:
    """Sum a batch's gradients at W, each clipped to a norm, in steps of `IntegerRows`."""
    total: Integers = np.sum([c.gradient(W, clip) for c in rows.batches[batch]], axis=0)
    return total


def probabilities(logits: Floats) -> Floats:
    """Convert logits to probabilities of all classes; two classes have one logit."""
    if logits.shape[1] == 1:
        p = expit(logits)
        return np.column_stack([1 - p, p])
    shares: Floats = softmax(logits, axis=1)
    return shares


def _clipped(errors: Floats, norms: Floats, clip: float) -> Floats:
    """Scale the errors e so that each gradient e x^T, in units of `clip`, has norm at most 1."""
    lengths = np.sqrt((errors**2).sum(axis=1)) * norms
    scaled: Floats = errors / np.maximum(lengths, clip)[:, None]
    return scaled
