"""Does an estimator predict row by row? Tested on training rows (zone: public).

The guarantee needs predictions to be made row by row, unless each unit is predicted by itself.
`RowByRowCheck` predicts the same rows in two batches that differ in all that a batch can have:
company, order, size, extremes, missing values, first and last rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import cycle, islice
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._data.pickles import fresh
from .._data.split import Problem
from .._data.tables import copied, is_frame, is_series, n_rows, stack, take_rows
from ..exceptions import BatchDependentError
from ..scoring._response import respond
from .companions import SPECIAL, Companions, spread_rows, with_own_labels
from .responses import agree

__all__ = ["RowByRowCheck", "to_check"]

# Training rows from which odd ones are made.
_SAMPLE = 2**10
# Rows of the largest crowd at most, and of the others; also odd rows of a sort.
_LARGEST, _SMALL = 2**12, 32
# Copies of one row in a crowd, for each row that is compared.
_MANY = 4
# How often rows that are odd in some columns are tried.
_TRIALS = 7
# A sparse table of more columns is left as it is.
_MOST_COLUMNS = 10_000
# Texts that no column has, of which one comes first and one last in any order.
_NEW_TEXTS = ("\t!new", "~new", "\U0001f600 new")

# Which columns can be odd, and what makes rows that are odd in some of them.
_OddRows = tuple[tuple[int, ...], Callable[[tuple[int, ...]], Any]]


@dataclass(frozen=True, eq=False)
class RowByRowCheck:
    """Companions, whose predictions are repeated, and training rows that odd rows are made of.

    `size` is that of the largest batch: the number of validation records; with groups, whose sizes
    are protected, a constant.
    """

    companions: Companions
    X: Any
    size: int

    @classmethod
    def on(cls, companions: Companions, problem: Problem) -> RowByRowCheck:
        """Take a sample of the training rows."""
        sample = problem.public_rows(spread_rows(problem.training.X, None, _SAMPLE))
        size = _LARGEST if problem.units.grouped else problem.units.m
        return cls(companions, sample, size)

    def check(self, pickled: bytes, methods: tuple[str, ...]) -> None:
        """Raise BatchDependentError if a response changes with the rows beside it.

        Of a classifier's labels, also what they follow from is compared, as it shows more.
        """
        model = fresh(pickled)
        classes = getattr(model, "classes_", None)
        predict = _Predict(pickled, methods, classes is not None)
        known = predict(self.companions.X)
        changed = known is None or self._beside_ordinary(predict, known)
        if "predict" in methods and isinstance(classes, np.ndarray):
            finer = replace(predict, methods=("decision_function", "predict_proba"))
            if (found := finer(self.companions.X)) is not None:
                predict, known = finer, found
                changed = changed or self._beside_ordinary(predict, known)
        if changed or self._beside_odd(predict, known):
            raise BatchDependentError(
                f"{type(model).__name__} predicts a training record differently beside other "
                "records, or not at all, so one validation record could change the predictions of "
                "all. Use an estimator without statistics of the batch and without randomness, or "
                'let each record be predicted by itself, prediction="separate"'
            )

    def _beside_ordinary(self, predict: _Predict, known: Any) -> bool:
        """Whether companions get something else beside training rows, or nothing in any batch."""
        found = [predict.differs(batch, known[rows]) for batch, rows in self._ordinary]
        return True in found or set(found) == {None}

    @cached_property
    def _ordinary(self) -> list[tuple[Any, NDArray[np.intp]]]:
        """Batches of training rows only, and which companions they end with, in reverse.

        First crowds of other rows, one of them large; then many copies of one companion, and few
        of them: batches without a range or variance of their own.
        """
        n, everyone = n_rows(self.X), np.arange(len(self.companions))
        rng, largest = np.random.default_rng(3), min(max(self.size, _SMALL), _LARGEST)
        crowds = [take_rows(self.X, rng.permutation(max(n, k))[:k] % n) for k in (largest, _SMALL)]
        reverse = take_rows(self.companions.X, everyone[::-1])
        copies = np.full(_SMALL // 2, everyone[len(everyone) // 2])
        return [(stack([crowd, reverse]), everyone) for crowd in crowds] + [
            (take_rows(self.companions.X, rows[::-1]), rows)
            for rows in (copies, everyone[:4], everyone[-4:])
        ]

    def _beside_odd(self, predict: _Predict, known: Any) -> bool:
        """Whether companions or odd rows get something else below ordinary, or copies of odd ones.

        Where an estimator refuses rows that are odd in several columns, each half of the columns
        is tried.
        """
        for columns, make in self._odd:
            pending = [columns]
            for some in pending:
                rows = stack([self.companions.X, make(some)])
                expected = predict(rows)
                if expected is None:
                    half = len(some) // 2
                    pending += [some[:half], some[half:]] * (half > 0 and len(pending) < _TRIALS)
                    continue
                expected[: len(known)] = known
                n = n_rows(rows)
                reverse = take_rows(rows, np.arange(n)[::-1])
                first = np.repeat([len(known), len(known) + 1], _MANY * n // 2)
                few = take_rows(self.X, np.arange(_SMALL) % n_rows(self.X))
                for crowd in (few, take_rows(rows, first)):
                    if predict.differs(stack([crowd, reverse]), expected, len(known)):
                        return True
        return False

    @cached_property
    def _odd(self) -> list[_OddRows]:
        return _odd_rows(self.X)


@dataclass(frozen=True)
class _Predict:
    """Predicts public rows, or not (None): each call with a copy of the estimator and the rows."""

    pickled: bytes
    methods: tuple[str, ...]
    classifier: bool

    def __call__(self, X: Any) -> Any:
        # Of a method that is not there, odd rows, or many copies of one.
        with suppress(Exception), np.errstate(all="ignore"):
            return respond(fresh(self.pickled), with_own_labels(copied(X)), self.methods).copy()
        return None

    def differs(self, batch: Any, expected: NDArray[Any], n: int | None = None) -> bool | None:
        """Whether the last rows, in reverse, get something else; None if the batch is refused.

        What a rounding error is depends on the first n of them, and for the others on these.
        """
        found = self(batch)
        if found is None:
            return None
        found = found[-len(expected) :][::-1]
        return not all(
            agree(found[part], expected[part], expected[part], self.classifier)
            for part in (slice(n), slice(n, None) if n else slice(0))
        )


# ---------------------------------------------------------------------- odd rows
def _odd_rows(X: Any) -> list[_OddRows]:
    """Return sorts of odd rows, see `_odd_cells`; the first one has just cells of several records.

    Rows of a table without columns are only taken in another order.
    """
    columns, table = _columns(X)
    rng = np.random.default_rng(1)
    if not columns:
        rows = rng.permutation(n_rows(X))[:_SMALL]
        return [((), lambda _: take_rows(X, rows))]
    mixed = [take_rows(column, rng.permutation(n_rows(X))[:_SMALL]) for column in columns]
    sorts: dict[str, dict[int, Any]] = {"none": {}}
    for j, column in enumerate(mixed):
        for sort, cells in _odd_cells(column):
            with suppress(Exception):  # of a type that cannot hold them
                odd = _like(column, list(islice(cycle(cells), len(column))))
                sorts.setdefault(sort, {})[j] = odd

    def make(odd: dict[int, Any], some: tuple[int, ...]) -> Any:
        return table([odd[j] if j in some else own for j, own in enumerate(mixed)])

    return [(tuple(odd), partial(make, odd)) for odd in sorts.values()]


def _columns(X: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """Return one-dimensional columns, and what makes a table of such columns."""
    if is_series(X):
        return [X], lambda columns: columns[0]
    if is_frame(X):
        return [X.iloc[:, j] for j in range(X.shape[1])], lambda columns: _frame(X, columns)
    if sparse.issparse(X) and X.shape[1] <= _MOST_COLUMNS:
        return list(X.toarray().T), lambda columns: sparse.csr_matrix(np.stack(columns, axis=1))
    if isinstance(X, np.ndarray):
        flat = X.reshape(len(X), -1)
        return list(flat.T), lambda cells: np.stack(cells, axis=1).reshape(-1, *X.shape[1:])
    return [], lambda _: X


def _frame(X: Any, columns: list[Any]) -> Any:
    frame = take_rows(X, np.arange(len(columns[0])))
    for j, column in enumerate(columns):
        frame.isetitem(j, column.set_axis(frame.index))
    return frame


def _like(column: Any, cells: list[Any]) -> Any:
    """Return cells as a column of the same type."""
    if not isinstance(column, np.ndarray):
        return type(column)(cells, index=column.index, dtype=column.dtype)
    array = np.empty(len(column), column.dtype)
    array[:] = cells
    return array


def _odd_cells(column: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield sorts of cells that a column of this type can have, to be repeated.

    New texts, or categories that no row has; missing cells; infinite ones; numbers of another
    scale, positive and negative; special numbers, and the most frequent one.
    """
    cells, kind = column.tolist(), getattr(column.dtype, "kind", "O")
    if hasattr(column.dtype, "categories"):
        yield "new", [c for c in column.dtype.categories.tolist() if c not in set(cells)] or cells
    elif str(column.dtype).startswith("str") or any(isinstance(cell, str) for cell in cells):
        yield "new", list(_NEW_TEXTS)
    if not (isinstance(column.dtype, np.dtype) and kind in "biuSU"):
        if hasattr(column.dtype, "na_value"):
            hole = column.dtype.na_value
        else:
            hole = np.array("NaT", column.dtype)[()] if kind in "mM" else np.nan
        last = len(cells) - 1  # it is missing, too
        yield "missing", [cell if (last - i) % 2 else hole for i, cell in enumerate(cells)]
    if kind == "f":
        yield "infinite", [math.inf, -math.inf]
    numbers = [cell for cell in cells if _is_number(cell) and cell == cell]
    if not numbers or kind in "mM":
        return
    # Of pandas' nullable and sparse types.
    dtype = getattr(column.dtype, "numpy_dtype", getattr(column.dtype, "subtype", column.dtype))
    low, high = -math.inf, math.inf
    if kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    frequent = Counter(numbers).most_common(1)[0][0]
    for sort, odd in {
        "larger": [c * scale for c, scale in zip(numbers, cycle((10.0, 0.1)), strict=False)],
        "negative": [-10.0 * c for c in numbers],
        "special": [*SPECIAL, frequent],
    }.items():
        yield sort, [type(frequent)(min(max(c, low), high)) for c in odd]


def _is_number(cell: Any) -> bool:
    return isinstance(cell, Real) and not isinstance(cell, bool | np.bool_)


# ---------------------------------------------------------------------- which candidates
def to_check(candidate_params: tuple[dict[str, Any], ...]) -> set[int]:
    """Return which candidates to check for row-by-row predictions, by number.

    How an estimator predicts depends on what it is made of, and rarely on the size of a number. So
    of candidates that differ in numbers alone, these are the ones with the smallest and the largest
    of each.
    """
    ends: dict[Any, tuple[Any, int]] = {}
    for i, params in enumerate(candidate_params):
        # Numbers of Python's: NumPy casts to a common type to compare.
        numbers = {k: np.asarray(v).item() for k, v in params.items() if _is_number(v)}
        alike = frozenset(
            (name, "number" if name in numbers else _name(value)) for name, value in params.items()
        )
        for name, value in (numbers or {"": 0}).items():
            for sign in (-1, 1):
                highest, _ = ends.setdefault((alike, name, sign), (sign * value, i))
                if sign * value > highest:
                    ends[alike, name, sign] = sign * value, i
    return {i for _, i in ends.values()}


def _name(value: Any) -> str:
    plain = value is None or isinstance(value, str | bool | np.bool_)
    return repr(value) if plain else f"object {id(value)}"
