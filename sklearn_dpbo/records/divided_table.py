"""A protected table, divided into two parts at random (zone: public).

Models are fitted on the first part and evaluated on the second. Row numbers, or groups, are drawn
without a look at the records. Each unit lies in one part, and pays only for what is released of
that part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .canonical import as_labels, check_labels, in_one_form
from .split import Problem, Training, check_same_index
from .tables import as_table, is_frame, n_rows, objects, plain_array, take_rows
from .units import Units

Levels = Mapping[int, Any]


class TableSchema(NamedTuple):
    """Public facts about a divided table.

    `units` are those of both parts, and `m_val` is the number in the second part. `classes` is True
    if labels are classes, not numbers. `fit_params` are the names of arguments of `fit` with an
    entry for each record.
    """

    units: Units
    m_val: int
    classes: bool
    fit_params: tuple[str, ...]


# Number of made-up records, and the smallest number for each label.
_STAND_INS = 256
_FEWEST_PER_LABEL = 4


@dataclass(frozen=True, eq=False, repr=False)
class DividedTable:
    """A protected table in two parts, each with its units.

    `labels` are public: the classes or, for regression, numbers spread over the bounds of targets.
    `levels` are the declared values of columns, by position.
    """

    training: Training
    units: Units
    X_val: Any
    y_val: NDArray[Any]
    units_val: Units
    labels: NDArray[Any]
    classes: bool
    levels: Levels

    @classmethod
    def divide(
        cls,
        X: Any,
        y: Any,
        groups: Any,
        labels: NDArray[Any],
        classes: bool,
        n_val: Callable[[int], int],
        rng: np.random.Generator,
        levels: Levels,
    ) -> DividedTable:
        """Divide a table at random; n_val(m) of its m units go to the second part.

        A unit is a record or, with `groups`, all records of a group. `levels` are the declared
        values of columns, by position; a column of objects has cells of their kinds, or texts if
        none are declared. Raises ValueError if X is no plain table, y is no single column, lengths
        differ, or a part would be empty.
        """
        check_same_index("X", X, y=y, groups=groups)
        X = plain_table(X)
        if y is None:
            raise ValueError("y is None: pass one label per record as y")
        y = check_labels(y, labels, n_rows(X))
        units = Units.of(n_rows(X), groups)
        n_held_out = n_val(units.m)
        if not 0 < n_held_out < units.m:
            raise ValueError(
                f"{units.m} {units.name}s cannot be cut into two parts, one to fit models on and "
                f"one of {n_held_out} to evaluate them on"
            )
        unit_of_row = np.arange(units.m) if units.labels is None else units.labels
        held_out = np.isin(unit_of_row, rng.permutation(units.m)[:n_held_out])
        n_stand_ins = max([2, *map(len, levels.values())])
        _, X = in_one_form(stand_in_rows(X, n_stand_ins, rng, levels), X)
        rows = np.flatnonzero(~held_out)
        rows_val = np.flatnonzero(held_out)
        units, units_val = (
            Units.of(len(part), unit_of_row[part] if units.grouped else None)
            for part in (rows, rows_val)
        )
        training = Training(take_rows(X, rows), y[rows])
        X_val = take_rows(X, rows_val)
        return cls(training, units, X_val, y[rows_val], units_val, labels, classes, levels)

    @property
    def schema(self) -> TableSchema:
        """Public facts about both parts."""
        whole = replace(self.units.schema, m=self.units.m + self.units_val.m)
        return TableSchema(whole, self.units_val.m, self.classes, (*self.training.fit_params,))

    def grouped(self, name: str) -> DividedTable:
        """Pass the groups to the `fit` of models, as its argument `name`."""
        fit_params = {name: self.units.labels}
        return replace(self, training=replace(self.training, fit_params=fit_params))

    def problem(self, frequent: NDArray[np.float64], rng: np.random.Generator) -> Problem:
        """Make the problem that models are evaluated on, with made-up records as its training set.

        `frequent` has the share of made-up records with each label, shape (n_labels,).
        """
        counts = np.maximum(_FEWEST_PER_LABEL, np.rint(_STAND_INS * frequent)).astype(int)
        y = np.repeat(self.labels, counts)
        y = y[rng.permutation(len(y))]
        X = stand_in_rows(self.X_val, len(y), rng, self.levels)
        name = self.units.name
        protected = (
            f"X and y as given; models are fitted on {self.units.m:,} {name}s and compared on the "
            f"other {self.units_val.m:,}; each pays for what is released of its own part"
        )
        training = Training(X, as_labels(y, y))
        return Problem(training, self.units_val.schema, protected)


def plain_table(X: Any) -> Any:
    """Check a protected table: an array of numbers, or a frame, whose index is dropped.

    Numbers of nullable types become floats, so that no missing cell decides the type of others.
    """
    if is_frame(X):
        return as_table(X).reset_index(drop=True)
    X = plain_array(X)
    plain = isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray)
    if not plain or X.ndim != 2 or X.dtype.kind not in "biuf":
        library = type(X).__module__.partition(".")[0]
        sparse = "a sparse table, " if issparse(X) else ""
        raise ValueError(
            "a protected table is an array of numbers with two dimensions, or a pandas.DataFrame: "
            "these declare what they hold, whatever the records are; found "
            f"{sparse}{type(X).__name__} ({library}). Convert it, as X.toarray() or X.to_pandas() "
            "does"
        )
    return X


def stand_in_rows(X: Any, n: int, rng: np.random.Generator, levels: Levels) -> Any:
    """Make up n rows with the schema of X, a result of `plain_table`.

    They take the place of public records: next to protected ones in calls of a model, and when
    every estimator is tried out before anything is charged. A column of objects holds its
    `levels` (by position of the column), or texts if none are declared.
    """
    if not is_frame(X):
        return _made_up(X.dtype, (n, X.shape[1]), rng).astype(X.dtype)
    frame = X.iloc[:0].reindex(range(n))
    for j, dtype in enumerate(X.dtypes):
        cells = _made_up(dtype, (n,), rng, levels.get(j, ()))
        frame.isetitem(j, type(X.iloc[:0, j])(cells, dtype=cells.dtype).astype(dtype))
    return frame


def _made_up(dtype: Any, shape: tuple[int, ...], rng: np.random.Generator, levels: Any = ()) -> Any:
    """Make up cells of a dtype: categories, numbers in [-1, 1), 0 and 1, levels, or texts."""
    categories = getattr(dtype, "categories", None)
    kind = getattr(dtype, "kind", "O")
    if categories is not None and len(categories):
        return categories[rng.integers(len(categories), size=shape)]
    if kind == "f":
        return rng.uniform(-1, 1, shape)
    if kind in "biumM":
        return rng.integers(0, 2, shape)
    texts = ["", "a"] if categories is None else [None]
    return np.resize(objects(levels if len(levels) else texts), shape)
