"""From a table to columns of numbers, by what is declared of it alone (zone: sensitive)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

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
# In place of the categories of a column: those that are frequent are released.
_FREQUENT = "frequent"


def asks_for_frequent(categories: Any) -> bool:
    """Whether categories are to be released."""
    named = isinstance(categories, Mapping)
    return named and any(isinstance(values, str) for values in categories.values())


def declared_levels(X: Any, categories: Any) -> tuple[Any, Levels, list[int]]:
    """Return a table of numpy or pandas, which of its columns have which categories, and frequent.

    Those of `categories`, by name in a frame and else by position, and of pandas' dtypes. Other
    libraries' categories may be the values that occur. The categories of the columns that are
    returned last are to be released: none is known. ValueError if they are not well formed.
    """
    X = _as_array_or_frame(X)
    if not isinstance(categories, Mapping | None):
        raise ValueError(
            "categories must be a dict from columns to all values that each can have, such as "
            f"{{'ward': ['north', 'south'], 'diagnosis': {_FREQUENT!r}}}; found {categories!r}"
        )
    named, d = is_frame(X), X.shape[1]
    names = list(X.columns) if named else list(range(d))
    given = {key_of_name(name): values for name, values in (categories or {}).items()}
    for name in categories or {}:
        if key_of_name(name) not in map(key_of_name, names):
            spelled = {str(own): own for own in names}
            near = get_close_matches(str(name), spelled, 1)
            hint = f"; did you mean {spelled[near[0]]!r}?" if near else f": it has {names}"
            raise ValueError(f"categories names {name!r}, which X does not have{hint}")
    levels, frequent = {}, []
    for j, name in enumerate(names):
        dtype = X.dtypes.iloc[j] if named else X.dtype
        values = given.get(key_of_name(name), getattr(dtype, "categories", None))
        if isinstance(values, str) and values == _FREQUENT:
            frequent.append(j)
            levels[j] = objects([])
            if kind_of(dtype) not in (None, "text", "numbers"):
                raise ValueError(
                    f"{name!r} has dtype {dtype}, and {_FREQUENT!r} takes text and numbers alone: "
                    "give its categories as a list"
                )
        elif values is not None:
            levels[j] = _levels(name, values, dtype)
    return X, levels, frequent


def _levels(name: Any, values: Any, dtype: Any) -> NDArray[Any]:
    """Return the categories of a column, without one that stands for missing values."""
    listed = hasattr(values, "__iter__") and not isinstance(values, str)
    levels = [value for value in getattr(values, "tolist", values.__iter__)()] if listed else []
    levels = [value for value in levels if not is_missing(value)]
    if not levels or ... in levels:
        raise ValueError(
            f"categories[{name!r}] must list all values of it, or be {_FREQUENT!r}, which releases "
            f"those that many records have; found {values!r}"
        )
    if len(set(levels)) < len(levels):
        raise ValueError(f"categories[{name!r}] has a value twice: {levels}")
    kinds = {kind_of(dtype), kind_of(np.array(levels).dtype)} - {None}
    if len(kinds) > 1:
        raise ValueError(
            f"{name!r} has dtype {dtype}, but its categories are {levels}: no record would have "
            f"one. Give {kind_of(dtype)} as categories, or change the column by astype"
        )
    return objects(levels)


def _as_array_or_frame(X: Any) -> Any:
    """Return a table whose type no record decides; ValueError, as scikit-learn's would quote X."""
    if is_frame(X) or hasattr(X, "to_pandas"):
        table = as_table(X)
        declared = [j for j, dtype in enumerate(table.dtypes) if hasattr(dtype, "categories")]
        return with_columns(table, {j: X.iloc[:, j] for j in declared})
    if issparse(X):  # refused by its type
        return X
    if not hasattr(X, "__array__"):
        raise ValueError(
            f"X is a {type(X).__name__}, in which single records decide the number and the type of "
            "columns. Give an array or a data frame, such as np.array(X, dtype=float)"
        )
    check_readable("X", X, real=True)
    X = np.asarray(X)
    if X.dtype.kind not in "biufO":
        raise ValueError(f"X has to be numbers; found an array of {kind_of(X.dtype) or 'fields'}")
    if np.ndim(X) != 2:
        raise ValueError(
            f"Expected 2D array, got {np.ndim(X)}D array instead. Reshape your data to one row "
            "per record"
        )
    return X


def as_declared(
    X: Any, levels: Levels, frequent: list[int], learner: str | None
) -> tuple[Any, Levels]:
    """Return the table with positions among the categories in their columns, the rest as it is.

    And the values that occur in those of `frequent`: positions there are among these. In arrays of
    objects, cells that are not numbers are missing. ValueError if frames have columns of other
    types: it says how to declare them, or without a `learner` that they were numbers.
    """
    if issparse(X):
        return X, {}
    framed = is_frame(X)
    if framed:
        _refuse_undeclared(X, levels, learner)
    columns = {j: X.iloc[:, j] if framed else X[:, j] for j in levels}
    own = {j: _values_and_positions(columns[j]) for j in frequent}
    positions = {j: category_positions(columns[j], levels[j]) for j in levels if j not in own}
    positions |= {j: place for j, (_, place) in own.items()}
    occurring = {j: values for j, (values, _) in own.items()}
    if framed:
        return with_columns(X, positions), occurring
    table = as_array(X, np.zeros((1, X.shape[1]))) if X.dtype == object and X.shape[1] else X
    if positions:
        table = table.astype(float)
        table[:, [*positions]] = np.transpose([*positions.values()])
    return table, occurring


def _values_and_positions(column: Any) -> tuple[NDArray[Any], Floats]:
    """Return the values that occur, and of each cell its position there.

    That is their number for a missing one, and one more for what is neither a number nor a text.
    """
    cells = column.tolist()
    own = [_value(cell) for cell in cells]
    values = sorted({*own} - {None}, key=lambda value: (isinstance(value, str), value))
    position = {value: i for i, value in enumerate([*values, None])}
    positions = np.array([position[value] for value in own], dtype=float)
    positions[[i for i, v in enumerate(own) if v is None and not is_missing(cells[i])]] += 1
    return objects(values), positions


def _value(cell: Any) -> Any:
    """Return a text, or a number, as the one of its kind that equals it; None for other cells."""
    if issubclass(type(cell), str):
        return str.__str__(cell)
    if type(cell) is int:
        return cell
    number = as_number(cell)
    if number.is_integer():
        return int(number)
    return None if np.isnan(number) else number


def _refuse_undeclared(X: Any, levels: Levels, learner: str | None) -> None:
    """Raise ValueError if columns are neither numbers nor declared, and say what to do."""
    kinds = {
        name: kind_of(dtype) for j, (name, dtype) in enumerate(X.dtypes.items()) if j not in levels
    }
    times = [name for name, kind in kinds.items() if kind == "times"]
    other = [name for name, kind in kinds.items() if kind not in ("numbers", "times")]
    if not times + other:
        return
    if learner is None:
        dtypes = {name: str(X.dtypes[name]) for name in other + times}
        raise ValueError(
            f"these columns were numbers in fit, and now have other dtypes: {dtypes}. Give "
            "numbers, for example by pd.to_numeric"
        )
    said = []
    if other:
        call = ", ".join(f"{name!r}: [...]" for name in other)
        said.append(
            f"the columns {other} are neither numbers nor declared categories. Categories that are "
            "learnt from the records would reveal rare ones. Declare all values that each can "
            f"have, from a code book and not from the records: {learner}(categories={{{call}}}). "
            f"If nobody knows them, {_FREQUENT!r} in place of a list releases those that many "
            "records have, which takes a part of the budget. Free text has no such list: make "
            "numbers of it in a step of a pipeline before the learner, by a public list of words "
            "or HashingVectorizer(n_features=64)"
        )
    if times:
        X_when = f"X[{times[0]!r}]"
        said.append(
            f"the columns {times} are dates or times: make days of each, such as {X_when} = "
            f"({X_when} - start) / pd.Timedelta(days=1), with a start that is not from the records"
        )
    raise ValueError(
        f"{'; '.join(said)}. Or leave such columns, and identifiers, out: "
        f"X.drop(columns={other + times})"
    )


def category_positions(column: Any, levels: NDArray[Any]) -> Floats:
    """Return the position of each cell among its levels; -1 for others, their number if missing."""
    n = len(levels)
    if hasattr(column.dtype, "categories"):
        own = encode(objects(column.dtype.categories.tolist()), levels)
        positions = np.append(own, n)[column.cat.codes.to_numpy()]
    else:
        cells = column.tolist()
        positions = encode(objects(cells), levels)
        positions[[i for i in np.flatnonzero(positions < 0) if is_missing(cells[i])]] = n
    as_numbers: Floats = positions.astype(float)
    return as_numbers


def value_counts(rows: Rows) -> dict[tuple[int, bool, Any], int]:
    """Return how many units have each value, by its column, whether it is text, and itself.

    A unit has one value of a column: that of its first record. Only values that a unit has are
    counted, not those of other records.
    """
    own = np.arange(len(rows.X)) if rows.unit is None else rows.unit
    first = rows.X[np.unique(own, return_index=True)[1]]
    return {
        (j, isinstance(values[i], str), values[i]): int(count)
        for j, values in rows.occurring.items()
        for i, count in enumerate(np.bincount(first[:, j].astype(int))[: len(values)])
        if count
    }


def with_categories(rows: Rows, levels: Levels, missing: bool, ends: Ends | None) -> Rows:
    """Return rows with indicators of these categories, some of which have been released."""
    table = rows.X.copy()
    for j, values in rows.occurring.items():
        positions = np.append(encode(values, levels[j]), [len(levels[j]), -1])
        table[:, j] = positions[table[:, j].astype(np.intp)]
    return replace(rows, X=indicated(table, levels, missing, ends), occurring={})


def indicated(table: Floats, levels: Levels, missing: bool, ends: Ends | None) -> Floats:
    """Return the columns of numbers, within their ends, then indicators: 1 or 0.

    Of numbers that are missing, if asked for; and of each category, and of missing ones.
    """
    numbers = np.delete(table, [*levels], axis=1)
    parts = [numbers if ends is None else numbers.clip(*ends)] + [np.isnan(numbers)] * missing
    parts += [table[:, [j]] == np.arange(len(own) + 1) for j, own in levels.items()]
    return np.hstack(parts, dtype=float)


def names_of_columns(names: list[Any], levels: Levels, missing: bool) -> list[str]:
    """Return the names of what `indicated` returns, by those of the table's columns.

    A name that another one has, as of a category "missing", gets an underscore.
    """
    numbers = [str(name) for j, name in enumerate(names) if j not in levels]
    of_levels = [f"{names[j]}_{level}" for j, own in levels.items() for level in (*own, "missing")]
    unique: dict[str, None] = {}
    for name in numbers + [f"{name}_missing" for name in numbers] * missing + of_levels:
        while name in unique:
            name += "_"
        unique[name] = None
    return list(unique)


def chances_of_columns(n_numbers: int, levels: Levels, d: int) -> Floats:
    """Return with which chance one of d columns and indicators is drawn: alike for each column.

    The indicators of a column of categories share its chance.
    """
    of_levels = [np.full(len(own) + 1, 1 / (len(own) + 1)) for own in levels.values()]
    of_missing = np.zeros(d - n_numbers - sum(map(len, of_levels)))
    chances = np.concatenate([np.ones(n_numbers), of_missing, *of_levels])
    shares: Floats = chances / chances.sum()
    return shares
