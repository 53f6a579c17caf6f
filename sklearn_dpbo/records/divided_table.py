"""One table, of which every record is protected: cut into two parts (zone: public).

Models are fitted on one part and evaluated on the other. The cut is made at random, by row number
or by group, and looks at no record. A unit lies in one part, and pays for what is released of that
part alone.
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
    """What is public of a table that is cut in two parts.

    `units` are all of them, `m_val` those of the second part, `fit_params` the names of arguments
    of `fit` with an entry for each record.
    """

    units: Units
    m_val: int
    classes: bool
    fit_params: tuple[str, ...]


# Made-up records; of classes, so many of each at least.
_STAND_INS, _OF_EACH_CLASS = 256, 4


@dataclass(frozen=True, eq=False, repr=False)
class DividedTable:
    """Two protected parts of a table, each with its units; and its labels, which are public.

    These are the classes or, for regression, numbers spread over the bounds of targets.
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
        """Cut a table at random; models are evaluated on n_val(m) of m units (of groups, if given).

        `levels` are the values that were declared of columns, by position: of one of objects they
        say which kinds of cells it has. Else it has texts.
        Raises ValueError if X is no plain table, y is no single column, lengths differ, or a part
        would be empty.
        """
        check_same_index("X", X, y=y, groups=groups)
        X = plain_table(X)
        if y is None:
            raise ValueError("y is None: pass one label per record as y")
        y = check_labels(y, labels, n_rows(X))
        units = Units.of(n_rows(X), groups)
        number = n_val(units.m)
        if not 0 < number < units.m:
            raise ValueError(
                f"{units.m} {units.name}s cannot be cut into two parts, one to fit models on and "
                f"one of {number} to evaluate them on"
            )
        unit = np.arange(units.m) if units.labels is None else units.labels
        held_out = np.isin(unit, rng.permutation(units.m)[:number])
        n_stand_ins = max([2, *map(len, levels.values())])
        _, X = in_one_form(stand_in_rows(X, n_stand_ins, rng, levels), X)
        fit, val = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        units, units_val = (
            Units.of(len(rows), unit[rows] if units.grouped else None) for rows in (fit, val)
        )
        training = Training(take_rows(X, fit), y[fit])
        return cls(training, units, take_rows(X, val), y[val], units_val, labels, classes, levels)

    @property
    def schema(self) -> TableSchema:
        """What is public of both parts."""
        whole = replace(self.units.schema, m=self.units.m + self.units_val.m)
        return TableSchema(whole, self.units_val.m, self.classes, (*self.training.fit_params,))

    def grouped(self, name: str) -> DividedTable:
        """Return the table, with the groups as an argument of this name of the models' `fit`."""
        fit_params = {name: self.units.labels}
        return replace(self, training=replace(self.training, fit_params=fit_params))

    def problem(self, frequent: NDArray[np.float64], rng: np.random.Generator) -> Problem:
        """Make the problem that models are evaluated on, with made-up records as public ones.

        Of these, the given shares have each label.
        """
        counts = np.maximum(_OF_EACH_CLASS, np.rint(_STAND_INS * frequent)).astype(int)
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
    """Return a table of which all is protected: an array of numbers, or a frame with no index.

    Numbers of nullable types are floats there: no cell decides, by being missing, what others are.
    """
    if is_frame(X):
        return as_table(X).reset_index(drop=True)
    X = plain_array(X)
    plain = isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray)
    if not plain or X.ndim != 2 or X.dtype.kind not in "biuf":
        library = type(X).__module__.partition(".")[0]
        raise ValueError(
            "a protected table is an array of numbers with two dimensions, or a pandas.DataFrame: "
            "these declare what they hold, whatever the records are; found "
            + "a sparse table, " * issparse(X)
            + f"{type(X).__name__} ({library}). Convert it, as X.toarray() or X.to_pandas() does"
        )
    return X


def stand_in_rows(X: Any, n: int, rng: np.random.Generator, levels: Levels) -> Any:
    """Return n made-up rows with the schema of a table, which is as `plain_table` returns it.

    They stand in for public records: beside protected ones, and at a first try of every estimator.
    Columns of objects hold their `levels`, by position, and others texts.
    """
    if not is_frame(X):
        return _made_up(X.dtype, (n, X.shape[1]), rng).astype(X.dtype)
    frame = X.iloc[:0].reindex(range(n))
    for j, dtype in enumerate(X.dtypes):
        cells = _made_up(dtype, (n,), rng, levels.get(j, ()))
        frame.isetitem(j, type(X.iloc[:0, j])(cells, dtype=cells.dtype).astype(dtype))
    return frame


def _made_up(dtype: Any, shape: tuple[int, ...], rng: np.random.Generator, levels: Any = ()) -> Any:
    """Return cells of a dtype: categories, fractions from -1 to 1, 0 and 1, levels, or texts."""
    categories, kind = getattr(dtype, "categories", None), getattr(dtype, "kind", "O")
    if categories is not None and len(categories):
        return categories[rng.integers(len(categories), size=shape)]
    if kind == "f":
        return rng.uniform(-1, 1, shape)
    if kind in "biumM":
        return rng.integers(0, 2, shape)
    texts = ["", "a"] if categories is None else [None]
    return np.resize(objects(levels if len(levels) else texts), shape)
