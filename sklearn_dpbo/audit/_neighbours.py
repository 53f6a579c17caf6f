"""Data sets that differ in one unit, as much as possible (zone: public)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ..records.tables import dense, n_rows

# X and y.
Table: TypeAlias = tuple[NDArray[Any], NDArray[Any]]
# (X, y) or (X, y, groups), twice.
Neighbours: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...]]

# Distance of far values from the values of their column, in ranges of the column.
_FAR = 1e9


def check_neighbours(data: Any, neighbour: Any) -> None:
    """Raise ValueError unless the data sets are neighbours; others would refute any mechanism."""
    for part in (data, neighbour):
        if not isinstance(part, tuple | list) or len(part) not in (2, 3):
            raise ValueError("each data set must be (X, y) or (X, y, groups)")
    if len(data) != len(neighbour) or len({n_rows(x) for x in (*data, *neighbour)}) != 1:
        raise ValueError(
            "neighbouring data sets must have the same number of rows, and both or neither have "
            "groups"
        )
    differ = differing(data[0], neighbour[0]) | differing(data[1], neighbour[1])
    n_units = int(differ.sum())
    unit = "record"
    if len(data) == 3:
        if differing(data[2], neighbour[2]).any():
            raise ValueError(
                "neighbouring data sets must have the same groups, because the group of each row "
                "is public"
            )
        n_units = len(set(np.asarray(dense(data[2]))[differ].tolist()))
        unit = "group"
    if n_units > 1:
        raise ValueError(
            f"neighbouring data sets must differ in one {unit}; these differ in {n_units}"
        )


def differing(a: Any, b: Any) -> NDArray[np.bool_]:
    """Compare two tables row by row: True for rows that differ; NaN equals NaN."""
    a, b = (np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=object) for x in (a, b))
    same = np.frompyfunc(lambda x, y: x == y or (x != x and y != y), 2, 1)(a, b).astype(bool)
    differing: NDArray[np.bool_] = ~same.reshape(len(same), -1).all(axis=1)
    return differing


class ConstantClassifier(ClassifierMixin, BaseEstimator):
    """Classifier that predicts the same label for every record.

    Parameters
    ----------
    label : float, default=0
        The label is 1 if this is at least 1/2, else 0.
    x : any, default=0.0
        Has no effect; a second parameter for the space of a search.
    """

    def __init__(self, label: Any = 0, x: Any = 0.0) -> None:
        self.label = label
        self.x = x

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        return np.full(len(X), int(self.label >= 0.5))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        return np.zeros(len(X))


class OpposedModels(NamedTuple):
    """Data for two models that always disagree: (X, y) of each set."""

    train: Table
    held_out: Table
    held_out_neighbour: Table


def opposed_models(m: int = 21, ones: int | None = None) -> OpposedModels:
    """Return a training set, a validation set and its neighbour for models that always disagree.

    The models are `ConstantClassifier` with the labels 0 and 1: for each record one is right and
    the other wrong. A change of one record moves both scores, in opposite directions.

    Parameters
    ----------
    m : int, default=21
        Number of validation records.
    ones : int or None, default=None
        Number of validation records with the label 1, below m; the neighbour has one more. None is
        half.

    Returns
    -------
    train, held_out, held_out_neighbour : tuple of two ndarray
        X and y of each set, as `audit_search` takes them.
    """
    train = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    X = np.zeros((m, 1))
    ones = m // 2 if ones is None else ones
    held_out, neighbour = ((X, (np.arange(m) < k).astype(int)) for k in (ones, ones + 1))
    return OpposedModels(train, held_out, neighbour)


def training_neighbours(
    X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None, *, regression: bool = False
) -> dict[str, Neighbours]:
    """Make pairs of training sets in which one unit is replaced by very different ones.

    All records of the unit get the same values: a corner of the box that X spans, with the first or
    the last label; the centre of the box, except in one column; or numbers that are missing,
    infinite or far outside of the box.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numbers. Take few records, because one of many records changes a model little. They should
        span the allowed range, such as the columns' bounds.
    y : array-like of shape (n_samples,)
        Labels, at least two of which differ.
    groups : array-like of shape (n_samples,), default=None
        Group of each record; the largest group is then replaced.
    regression : bool, default=False
        Whether labels are numbers. Then some pairs have labels far outside of their range.

    Returns
    -------
    pairs : dict of str to pair of tuples (X, y) or (X, y, groups)
        Both data sets; the keys say what is replaced.

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
    groups_if_any = () if groups is None else (np.asarray(groups),)

    def replaced(row: NDArray[Any], label: Any) -> tuple[Any, ...]:
        new_table = table.copy()
        new_labels = labels.copy()
        new_table[unit] = row
        new_labels[unit] = label
        return (new_table, new_labels, *groups_if_any)

    replacements = _replacements(table, labels, regression)
    return {name: (replaced(*first), replaced(*second)) for name, first, second in replacements}


def _checked(X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    try:
        table = np.array(X, dtype=float)
        labels = np.array(y)
    except (TypeError, ValueError):
        table = labels = np.empty(0)
    if table.ndim != 2 or labels.shape != (len(table),) or not len(table):
        raise ValueError(
            "X must be a table of numbers, and y must have one label per row. For other records, "
            "pass pairs of training sets, as in audit_estimator(..., pairs={'what changes': (data, "
            "neighbour)})"
        )
    if len(np.unique(labels)) < 2:
        raise ValueError(f"y must have two labels or more; found only {labels[:1].tolist()}")
    return table, labels


def _unit_to_replace(labels: NDArray[Any], groups: Any) -> NDArray[np.intp]:
    """Return the rows of the largest group, or one record of the most frequent label."""
    names, number = np.unique(labels if groups is None else groups, return_inverse=True)
    rows = np.flatnonzero(number == np.bincount(number, minlength=len(names)).argmax())
    return rows if groups is not None else rows[:1]


def _replacements(
    table: NDArray[Any], labels: NDArray[Any], regression: bool
) -> Iterator[tuple[str, tuple[Any, Any], tuple[Any, Any]]]:
    """Yield (what changes, (row, label), (row, label)) for the two sides of each pair."""
    low, high = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
    a, *_, b = np.unique(labels)
    yield "another label", (high, a), (high, b)
    yield "opposite corners", (high, b), (low, b)
    if table.shape[1] > 1:
        in_first = (low + high) / 2
        in_last = in_first.copy()
        in_first[0] = high[0]
        in_last[-1] = high[-1]
        yield "two columns", (in_first, a), (in_last, b)
    yield "missing numbers", (np.full_like(high, np.nan), b), (high, b)
    yield "infinite numbers", (np.full_like(high, np.inf), b), (high, b)
    far = _FAR * (high - low + 1)
    yield "huge numbers", (high + far, b), (low - far, b)
    if regression:
        far = _FAR * (b - a + 1)
        yield "far targets", (high, b + far), (high, a - far)
