"""Conversion of a table to columns of numbers, by public declarations only (zone: sensitive)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..metrics._labels import encode
from ..records.canonical import as_array, key_of_name, kind_of
from ..records.tables import (
    as_number,
    as_table,
    check_readable,
    is_frame,
    is_missing,
    objects,
    with_columns,
)
from ._rows import Floats, Levels, Rows

# The lowest and the highest value of columns of numbers.
Ends = tuple[Floats, Floats]
# Instead of a column's categories: release those that are frequent.
_FREQUENT = "frequent"


class DeclaredLevels(NamedTuple):
    """A numpy array or pandas frame, and the categories of its columns.

    Columns are named by their positions. Categories of the `frequent` columns are to be released,
    and their `levels` are empty.
    """

    X: Any
    levels: Levels
    frequent: list[int]


def asks_for_frequent(categories: Any) -> bool:
    """Return True if the categories of a column are to be released."""
    is_mapping = isinstance(categories, Mapping)
    return is_mapping and any(isinstance(values, str) for values in categories.values())


def declared_levels(X: Any, categories: Any) -> DeclaredLevels:
    """Find the declared categories of each column; ValueError if they are not well formed.

    They come from `categories`, by name in a frame and else by position, and from pandas' dtypes.
    The dtypes of other libraries do not count, because their categories may be those that occur.
    """
    X = _as_array_or_frame(X)
    if not isinstance(categories, Mapping | None):
        raise ValueError(
            "categories must be a dict from columns to all values that each can have, such as "
            f"{{'ward': ['north', 'south'], 'diagnosis': {_FREQUENT!r}}}; found {categories!r}"
        )
    has_names = is_frame(X)
    names = list(X.columns) if has_names else list(range(X.shape[1]))
    declared = {key_of_name(name): values for name, values in (categories or {}).items()}
    for name in categories or {}:
        if key_of_name(name) not in map(key_of_name, names):
            spelled = {str(column): column for column in names}
            near = get_close_matches(str(name), spelled, 1)
            hint = f"; did you mean {spelled[near[0]]!r}?" if near else f": it has {names}"
            raise ValueError(f"categories names {name!r}, which X does not have{hint}")
    levels = {}
    frequent = []
    for j, name in enumerate(names):
        dtype = X.dtypes.iloc[j] if has_names else X.dtype
        values = declared.get(key_of_name(name), getattr(dtype, "categories", None))
        if isinstance(values, str) and values == _FREQUENT:
            frequent.append(j)
            levels[j] = objects([])
            if kind_of(dtype) not in (None, "text", "numbers"):
                raise ValueError(
                    f"{name!r} has dtype {dtype}, but {_FREQUENT!r} is for text and numbers only: "
                    "give its categories as a list"
                )
        elif values is not None:
            levels[j] = _levels(name, values, dtype)
    return DeclaredLevels(X, levels, frequent)


def _levels(name: Any, values: Any, dtype: Any) -> NDArray[Any]:
    """Check and return the categories of a column, without missing values."""
    is_list = hasattr(values, "__iter__") and not isinstance(values, str)
    levels = [value for value in getattr(values, "tolist", values.__iter__)()] if is_list else []
    levels = [value for value in levels if not is_missing(value)]
    if not levels or ... in levels:
        raise ValueError(
            f"categories[{name!r}] must list all values of the column, or be {_FREQUENT!r}, which "
            f"releases the values that many records have; found {values!r}"
        )
    if len(set(levels)) < len(levels):
        raise ValueError(f"categories[{name!r}] has a value twice: {levels}")
    kinds = {kind_of(dtype), kind_of(np.array(levels).dtype)} - {None}
    if len(kinds) > 1:
        raise ValueError(
            f"{name!r} has dtype {dtype}, but its categories are {levels}: no record would match "
            f"any. Give {kind_of(dtype)} as categories, or convert the column by astype"
        )
    return objects(levels)


def _as_array_or_frame(X: Any) -> Any:
    """Return a table whose type no record decides, or raise ValueError.

    scikit-learn's errors would quote X.
    """
    if is_frame(X) or hasattr(X, "to_pandas"):
        table = as_table(X)
        declared = [j for j, dtype in enumerate(table.dtypes) if hasattr(dtype, "categories")]
        return with_columns(table, {j: X.iloc[:, j] for j in declared})
    if issparse(X):  # refused by its type
        return X
    if not hasattr(X, "__array__"):
        raise ValueError(
            f"X is a {type(X).__name__}, so single records could change the number and the type of "
            "columns. Pass an array or a data frame, such as np.array(X, dtype=float)"
        )
    check_readable("X", X, real=True)
    X = np.asarray(X)
    if X.dtype.kind not in "biufO":
        raise ValueError(f"X must be numbers; found an array of {kind_of(X.dtype)}")
    if np.ndim(X) != 2:
        raise ValueError(
            f"Expected 2D array, got {np.ndim(X)}D array instead. Reshape your data to one row "
            "per record"
        )
    return X


def as_declared(
    X: Any, levels: Levels, frequent: list[int], learner: str | None
) -> tuple[Any, Levels]:
    """Replace categories by their positions among the declared ones.

    In `frequent` columns, positions are among the values that occur, which are the second result.
    In arrays of objects, cells that are not numbers count as missing. ValueError if a frame has
    columns of other types: the message explains how `learner` declares them, or, if it is None,
    that they were numbers in fit.
    """
    if issparse(X):
        return X, {}
    has_names = is_frame(X)
    if has_names:
        _refuse_undeclared(X, levels, learner)
    columns = {j: X.iloc[:, j] if has_names else X[:, j] for j in levels}
    observed = {j: _values_and_positions(columns[j]) for j in frequent}
    positions = {j: category_positions(columns[j], levels[j]) for j in levels if j not in observed}
    positions |= {j: place for j, (_, place) in observed.items()}
    occurring = {j: values for j, (values, _) in observed.items()}
    if has_names:
        return with_columns(X, positions), occurring
    table = as_array(X, np.zeros((1, X.shape[1]))) if X.dtype == object and X.shape[1] else X
    if positions:
        table = table.astype(float)
        table[:, [*positions]] = np.transpose([*positions.values()])
    return table, occurring


def _values_and_positions(column: Any) -> tuple[NDArray[Any], Floats]:
    """Return the n values that occur, and the position of each cell's value among them.

    The position is n for missing cells, and n + 1 for those that are neither numbers nor text.
    """
    cells = column.tolist()
    cell_values = [_value(cell) for cell in cells]
    values = sorted({*cell_values} - {None}, key=lambda value: (isinstance(value, str), value))
    position = {value: i for i, value in enumerate([*values, None])}
    positions = np.array([position[value] for value in cell_values], dtype=float)
    unreadable = [
        i for i, value in enumerate(cell_values) if value is None and not is_missing(cells[i])
    ]
    positions[unreadable] += 1
    return objects(values), positions


def _value(cell: Any) -> Any:
    """Convert a cell to str, int or float, so that equal cells are equal; None for other cells."""
    if issubclass(type(cell), str):
        return str.__str__(cell)
    if type(cell) is int:
        return cell
    number = as_number(cell)
    if number.is_integer():
        return int(number)
    return None if np.isnan(number) else number


def _refuse_undeclared(X: Any, levels: Levels, learner: str | None) -> None:
    """Raise ValueError, with a remedy, if columns are neither numbers nor declared."""
    kinds = {
        name: kind_of(dtype) for j, (name, dtype) in enumerate(X.dtypes.items()) if j not in levels
    }
    times = [name for name, kind in kinds.items() if kind == "times"]
    undeclared = [name for name, kind in kinds.items() if kind not in ("numbers", "times")]
    if not times + undeclared:
        return
    if learner is None:
        dtypes = {name: str(X.dtypes[name]) for name in undeclared + times}
        raise ValueError(
            f"these columns were numbers in fit, and now have other dtypes: {dtypes}. Convert "
            "them, for example by pd.to_numeric"
        )
    remedies = []
    if undeclared:
        call = ", ".join(f"{name!r}: [...]" for name in undeclared)
        remedies.append(
            f"the columns {undeclared} are neither numbers nor declared categories. Categories "
            "that are learnt from the records would reveal rare ones. Declare all values that each "
            "column can have, from a code book and not from the records: "
            f"{learner}(categories={{{call}}}). If nobody knows them, {_FREQUENT!r} instead of a "
            "list releases the values that many records have, at the cost of a part of the budget. "
            "Free text has no such list: make numbers of it in a step of a pipeline before the "
            "learner, by a public list of words or HashingVectorizer(n_features=64)"
        )
    if times:
        X_when = f"X[{times[0]!r}]"
        remedies.append(
            f"the columns {times} are dates or times: convert each to days, such as {X_when} = "
            f"({X_when} - start) / pd.Timedelta(days=1), with a start that is not from the records"
        )
    raise ValueError(
        f"{'; '.join(remedies)}. Or leave out such columns, and identifiers: "
        f"X.drop(columns={undeclared + times})"
    )


def category_positions(column: Any, levels: NDArray[Any]) -> Floats:
    """Find the position of each cell among n levels: n if it is missing, -1 for other values."""
    n = len(levels)
    if hasattr(column.dtype, "categories"):
        of_categories = encode(objects(column.dtype.categories.tolist()), levels)
        positions = np.append(of_categories, n)[column.cat.codes.to_numpy()]
    else:
        cells = column.tolist()
        positions = encode(objects(cells), levels)
        positions[[i for i in np.flatnonzero(positions < 0) if is_missing(cells[i])]] = n
    as_numbers: Floats = positions.astype(float)
    return as_numbers


def value_counts(rows: Rows) -> dict[tuple[int, bool, Any], int]:
    """Count the units that have each value; keys are (column, value is text, value).

    A unit has one value of a column, that of its first record. Values that no unit has in this
    sense are left out.
    """
    unit = np.arange(len(rows.X)) if rows.unit is None else rows.unit
    first = rows.X[np.unique(unit, return_index=True)[1]]
    return {
        (j, isinstance(values[i], str), values[i]): int(count)
        for j, values in rows.occurring.items()
        for i, count in enumerate(np.bincount(first[:, j].astype(int))[: len(values)])
        if count
    }


def with_categories(rows: Rows, levels: Levels, missing: bool, ends: Ends | None) -> Rows:
    """Replace categories by indicators; `levels` include those that have been released."""
    table = rows.X.copy()
    for j, values in rows.occurring.items():
        positions = np.append(encode(values, levels[j]), [len(levels[j]), -1])
        table[:, j] = positions[table[:, j].astype(np.intp)]
    return replace(rows, X=indicated(table, levels, missing, ends), occurring={})


def indicated(table: Floats, levels: Levels, missing: bool, ends: Ends | None) -> Floats:
    """Clip columns of numbers at their ends, and append indicators (0 or 1).

    Indicators are those of missing numbers, if `missing`; and for each column of categories those
    of its levels, and of missing values.
    """
    numbers = np.delete(table, [*levels], axis=1)
    parts = [numbers if ends is None else numbers.clip(*ends)]
    if missing:
        parts.append(np.isnan(numbers))
    parts += [table[:, [j]] == np.arange(len(values) + 1) for j, values in levels.items()]
    return np.hstack(parts, dtype=float)


def names_of_columns(names: list[Any], levels: Levels, missing: bool) -> list[str]:
    """Name the columns that `indicated` returns, from the names of the table's columns.

    Duplicate names, for example of a category "missing", get underscores.
    """
    numbers = [str(name) for j, name in enumerate(names) if j not in levels]
    of_missing = [f"{name}_missing" for name in numbers] if missing else []
    of_levels = [
        f"{names[j]}_{level}" for j, values in levels.items() for level in (*values, "missing")
    ]
    unique: dict[str, None] = {}
    for name in numbers + of_missing + of_levels:
        while name in unique:
            name += "_"
        unique[name] = None
    return list(unique)


def chances_of_columns(n_numbers: int, levels: Levels, d: int) -> Floats:
    """Compute the probability with which a split takes each of d columns and indicators.

    All columns of the table have the same probability, which a column of categories divides
    between its indicators.
    """
    of_levels = [np.full(len(values) + 1, 1 / (len(values) + 1)) for values in levels.values()]
    of_missing = np.zeros(d - n_numbers - sum(map(len, of_levels)))
    chances = np.concatenate([np.ones(n_numbers), of_missing, *of_levels])
    shares: Floats = chances / chances.sum()
    return shares
