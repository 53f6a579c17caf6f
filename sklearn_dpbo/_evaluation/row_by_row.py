"""Does an estimator predict row by row? Tested on training rows (zone: public).

The guarantee needs predictions to be made row by row, unless each unit is predicted by itself.
`RowByRowCheck` predicts the same rows in two batches that differ in all that a batch can have:
company, order, size, extremes, missing values, first and last rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.canonical import align
from .._data.pickles import copied, fresh
from .._data.split import Problem
from .._data.tables import is_frame, n_rows, stack, take_rows
from ..exceptions import BatchDependentError
from ..scoring._response import respond
from .companions import Companions, missing_cells, spread_rows
from .model import RecordScorer
from .responses import agree

__all__ = ["RowByRowCheck", "check_gain"]

# Training rows from which odd ones are made.
_SAMPLE = 2**10
# A quarter of the rows that are combined of others.
_N_ODD = 8
# Rows of a crowd: of the largest at most, and of the others.
_LARGEST, _SMALL = 2**12, 32
_MESSAGE = (
    "{} predicts a training record differently beside other records. One validation record could "
    "then change the predictions of all, and no noise of size 1/m would hide it. Use an estimator "
    "that predicts row by row and deterministically (no statistics of the batch, no randomness); "
    'or let each record be predicted by itself, prediction="separate"'
)
# By what numbers are multiplied in rows of another scale.
_SCALES = (10.0, 0.1, -10.0)


@dataclass(frozen=True)
class RowByRowCheck:
    """Training rows (public), and odd ones made of them, to repeat predictions on.

    Parameters
    ----------
    companions : Companions
        Whose predictions are repeated.
    X : table
        Training rows, in canonical form, that odd rows are made of.
    m : int
        Number of records of the validation set.
    """

    companions: Companions
    X: Any
    m: int

    @classmethod
    def on(cls, companions: Companions, problem: Problem) -> RowByRowCheck:
        """Take a sample of the training rows."""
        X = problem.training.X
        sample = problem.training.form.read(take_rows(X, spread_rows(X, None, _SAMPLE)))
        return cls(companions, align(sample, problem.X_val), n_rows(problem.X_val))

    def check(self, pickled: bytes, scorer: RecordScorer) -> None:
        """Compare the responses to the same rows in two batches.

        Parameters
        ----------
        pickled : bytes
            The fitted estimator.
        scorer : RecordScorer
            Whose response is compared, and a finer one where there is one.

        Raises
        ------
        BatchDependentError
            If a row's response changes with the rows beside it.
        """
        methods = scorer.response_method
        self._compare(pickled, methods)
        if "predict" in methods:
            for finer in _finer(fresh(pickled)):
                try:
                    self._respond(pickled, self.companions.X, finer)
                except Exception:  # a method that is there, and cannot be called
                    continue
                self._compare(pickled, finer)
                break

    def _compare(self, pickled: bytes, methods: tuple[str, ...]) -> None:
        for rows, crowds in self._batches:
            n, real = n_rows(rows), len(self.companions)
            try:
                beside = [self._respond(pickled, crowd, methods)[-n:][::-1] for crowd in crowds]
            except Exception:  # of odd rows; the last batch has none
                continue
            # Without odd rows beside them, which may be the most extreme ones of all batches.
            real_ones = self._respond(pickled, self.companions.X, methods)
            odd_ones = self._respond(pickled, rows, methods)[real:]
            classifier = hasattr(fresh(pickled), "classes_")
            for again in beside:
                for found, known in ((again[:real], real_ones), (again[real:], odd_ones)):
                    if not agree(found, known, known, classifier):
                        raise BatchDependentError(_MESSAGE.format(type(fresh(pickled)).__name__))
            return
        self._respond(pickled, self.companions.X, methods)  # raises

    def _respond(self, pickled: bytes, X: Any, methods: tuple[str, ...]) -> NDArray[Any]:
        """Return the response of a copy of the estimator to a copy of the rows."""
        return respond(fresh(pickled), copied(X, self.companions.copies), methods)

    @cached_property
    def _batches(self) -> list[tuple[Any, list[Any]]]:
        """Pairs (rows, crowds): each crowd has many other rows first, and then these in reverse.

        The oddest first: rows with missing values, of another scale and of other combinations, as
        far as the estimator can predict them.
        """
        odd = list(self._odd_rows())
        batches = []
        for first in range(len(odd) + 1):
            rows = stack([self.companions.X, *odd[first:]])
            reverse = take_rows(rows, np.arange(n_rows(rows))[::-1])
            batches.append((rows, [stack([c, reverse]) for c in self._crowds(odd[first:])]))
        return batches

    def _crowds(self, odd: list[Any]) -> Iterator[Any]:
        """Yield rows to put above others: mostly copies of one, which differs from crowd to crowd.

        The first crowd is as large as the validation set, up to a limit.
        """
        real, size = len(self.companions), min(max(self.m, _SMALL), _LARGEST)
        # Of another scale, extreme, and as they come.
        for source in [*odd[-2:], self.companions.X]:
            for row in range(min(len(_SCALES), n_rows(source))):
                copies = take_rows(source, np.full(size - size // 4, row))
                others = take_rows(self.companions.X, np.arange(real + size // 4) % real)
                # They share some cells with the companions.
                combined = [_combined(self.companions.X, self.X, seed=1)] if odd else []
                yield stack([copies, others, *combined])
                size = _SMALL

    def _odd_rows(self) -> Iterator[Any]:
        """Yield odd rows, the least likely to be predicted first."""
        if not _has_columns(self.X):
            return
        combined = _combined(self.X, self.X, seed=0)
        with_holes, scaled = _with_holes(combined), _scaled(self.X)
        if with_holes is not None:
            yield with_holes
        if scaled is not None:
            yield scaled
        yield stack([_extremes(self.X), combined])


def check_gain(
    scorer: RecordScorer, y: NDArray[Any] | None, response: NDArray[Any], classes: Any
) -> None:
    """Compare a user's gain of several public records with its gain of each one.

    Raises
    ------
    BatchDependentError
        If a record's gain changes with the records beside it.
    """
    gains = deepcopy(scorer).record_values(*deepcopy((y, response)), classes)
    alone = [
        scorer.record_values(None if y is None else y[[i]], response[[i]], classes)[0]
        for i in range(len(response))
    ]
    if not np.allclose(alone, gains, rtol=1e-5, atol=0):
        raise BatchDependentError(
            f"the gain of {scorer!r} values a record differently beside other records: "
            "compute each record's gain from that record alone"
        )


def _finer(estimator: Any) -> list[tuple[str, ...]]:
    """Return the methods that a classifier's labels follow from: they show more than labels do."""
    if not isinstance(getattr(estimator, "classes_", None), np.ndarray):
        return []
    methods = ("decision_function", "predict_proba")
    return [(method,) for method in methods if hasattr(estimator, method)]


# ---------------------------------------------------------------------- odd rows
def _has_columns(X: Any) -> bool:
    return is_frame(X) or (isinstance(X, np.ndarray) and X.ndim == 2)


def _from_cells(X: Any, index: NDArray[np.intp]) -> Any:
    """Return rows whose cell (i, j) is that of row ``index[i, j]`` in column j."""
    if isinstance(X, np.ndarray):
        return X[index, np.arange(X.shape[1])]
    columns = [X.iloc[index[:, j], j].reset_index(drop=True) for j in range(X.shape[1])]
    frame = take_rows(X, index[:, 0]).reset_index(drop=True)
    for j, column in enumerate(columns):
        frame.isetitem(j, column)
    return frame


def _combined(A: Any, B: Any, seed: int) -> Any:
    """Return rows that have some columns of a record in A, and the others of one in B."""
    rng, d, X = np.random.default_rng(seed), A.shape[1], stack([A, B])
    first = rng.permutation(n_rows(A))[: 4 * _N_ODD]
    second = n_rows(A) + rng.integers(n_rows(B), size=len(first))
    from_first = rng.random((len(first), d)) < 0.5
    return _from_cells(X, np.where(from_first, first[:, None], second[:, None]))


def _extremes(X: Any) -> Any:
    """Return a row of the largest numbers and rarest values, and one of the smallest."""
    largest, smallest = [], []
    for j in range(X.shape[1]):
        ranks = _ranks(X.iloc[:, j] if is_frame(X) else X[:, j])
        largest.append(int(ranks.argmax()))
        smallest.append(int(ranks.argmin()))
    return _from_cells(X, np.array([largest, smallest]))


def _ranks(column: Any) -> NDArray[Any]:
    """Return numbers by which cells of a column are ordered: their size, or how rare they are."""
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        values = values.astype(float)
        known = values[np.isfinite(values)]
        return np.where(np.isfinite(values), values, known.mean() if known.size else 0.0)
    names = [str(value) for value in values]
    counts = Counter(names)
    return np.array([-counts[name] for name in names])


def _scaled(X: Any) -> Any | None:
    """Return a row with its fractions multiplied; None if there are none."""
    index = np.zeros((len(_SCALES), X.shape[1]), dtype=int)
    rows = _from_cells(X, index)
    if isinstance(X, np.ndarray):
        return rows * np.array(_SCALES)[:, None] if X.dtype.kind == "f" else None
    fractions = [j for j, dtype in enumerate(X.dtypes) if getattr(dtype, "kind", "") == "f"]
    for j in fractions:
        rows.isetitem(j, rows.iloc[:, j] * np.array(_SCALES))
    return rows if fractions else None


def _with_holes(rows: Any) -> Any | None:
    """Return rows with a third of the cells missing; None if no column can have missing values."""
    holes = np.random.default_rng(2).random((n_rows(rows), rows.shape[1])) < 1 / 3
    holes[np.arange(n_rows(rows)), np.arange(n_rows(rows)) % rows.shape[1]] = True
    if isinstance(rows, np.ndarray):
        if rows.dtype.kind not in "fO":
            return None
        rows = rows.copy()
        rows[holes] = np.nan
        return rows
    for j, dtype in enumerate(rows.dtypes):
        if not isinstance(dtype, np.dtype) or dtype.kind in "fOmM":
            rows.isetitem(j, rows.iloc[:, j].mask(holes[:, j]))
    found = missing_cells(rows)
    return rows if found is not None and found.any() else None
