"""Training sets that differ in one unit, as much as possible (zone: public)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Neighbours", "training_neighbours"]

# (X, y) or (X, y, groups), twice.
Neighbours: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...]]

# How far values to be clipped lie outside of their column, in ranges of the column.
_FAR = 1e9


def training_neighbours(
    X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None, *, regression: bool = False
) -> dict[str, Neighbours]:
    """Return pairs of training sets in which one unit is replaced by very different ones.

    All records of the unit get the same values: a corner of the box that X spans, with the first or
    the last of the labels; its centre, except in one column; or numbers that are missing, infinite
    or far outside of the box.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numbers. Take few records, because one of many moves a model little. They should span the
        allowed range, such as the columns' bounds.
    y : array-like of shape (n_samples,)
        Labels, at least two of which differ.
    groups : array-like of shape (n_samples,), default=None
        Whom each record belongs to; the largest group is then replaced.
    regression : bool, default=False
        Whether labels are numbers. Then some pairs have labels far outside of their range.

    Returns
    -------
    pairs : dict of str to pair of tuples (X, y) or (X, y, groups)
        Both data sets, by what is replaced, in words.

    Examples
    --------
    >>> from sklearn_dpbo.audit import training_neighbours
    >>> pairs = training_neighbours([[-1.0], [1.0], [0.5]], [0, 1, 1])
    >>> data, neighbour = pairs["another label"]
    >>> data[1].tolist(), neighbour[1].tolist()
    ([0, 0, 1], [0, 1, 1])
    """
    table, labels = _checked(X, y)
    if regression:
        labels = labels.astype(float)
    unit = _unit_to_replace(labels, groups)
    others = () if groups is None else (np.asarray(groups),)

    def replaced(row: NDArray[Any], label: Any) -> tuple[Any, ...]:
        own_X, own_y = table.copy(), labels.copy()
        own_X[unit], own_y[unit] = row, label
        return (own_X, own_y, *others)

    found = dict(_units(table, labels))
    if regression:
        found["far targets"] = _far_targets(table, labels)
    return {name: (replaced(*one), replaced(*other)) for name, (one, other) in found.items()}


def _checked(X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    try:
        table, labels = np.array(X, dtype=float), np.array(y)
    except (TypeError, ValueError):
        table = labels = np.empty(0)
    if table.ndim != 2 or labels.shape != (len(table),) or not len(table):
        raise ValueError(
            "X must be a table of numbers, and y have a label for each of its rows. For other "
            "records, pass pairs of training sets, as audit_estimator(..., pairs={'what changes': "
            "(data, neighbour)})"
        )
    if len(np.unique(labels)) < 2:
        raise ValueError(f"y must have two labels or more; found only {labels[:1].tolist()}")
    return table, labels


def _unit_to_replace(labels: NDArray[Any], groups: Any) -> NDArray[np.intp]:
    """Return the rows of the largest group, or one record of the most frequent label."""
    names, number = np.unique(labels if groups is None else groups, return_inverse=True)
    rows = np.flatnonzero(number == np.bincount(number, minlength=len(names)).argmax())
    return rows if groups is not None else rows[:1]


def _units(table: NDArray[Any], labels: NDArray[Any]) -> Iterator[tuple[str, Any]]:
    """Yield what changes, and two (row, label)."""
    low, high = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
    a, *_, b = np.unique(labels)
    yield "another label", ((high, a), (high, b))
    yield "opposite corners", ((high, b), (low, b))
    if table.shape[1] > 1:
        first, last = np.stack([(low + high) / 2] * 2)
        first[0], last[-1] = high[0], high[-1]
        yield "two columns", ((first, a), (last, b))
    yield "missing numbers", ((np.full_like(high, np.nan), b), (high, b))
    yield "infinite numbers", ((np.full_like(high, np.inf), b), (high, b))
    far = _FAR * (high - low + 1)
    yield "huge numbers", ((high + far, b), (low - far, b))


def _far_targets(table: NDArray[Any], targets: NDArray[Any]) -> Any:
    high, far = np.nanmax(table, axis=0), _FAR * (np.ptp(targets) + 1)
    return (high, targets.max() + far), (high, targets.min() - far)
