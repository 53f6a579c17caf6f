"""Does an estimator predict row by row? Tested on training rows (zone: public).

The guarantee needs predictions to be made row by row, unless each unit is predicted by itself.
`RowByRowCheck` predicts the same rows in two batches that differ in all that a batch can have:
company, order, size, extremes, missing values, first and last rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from .._data.pickles import copied, fresh
from .._data.split import Problem
from .._data.tables import n_rows, stack, take_rows
from ..exceptions import BatchDependentError
from ..scoring._response import respond
from .companions import Companions, spread_rows, with_own_labels
from .model import RecordScorer
from .odd_rows import OddRows, odd_rows
from .responses import agree

__all__ = ["RowByRowCheck", "check_gain"]

# Training rows from which odd ones are made.
_SAMPLE = 2**10
# How often the responses of companions are paired with other companions' labels.
_N_ROLLED = 3
# Copies of one row in a crowd, for each row that is compared.
_MANY = 4
# How often rows that are odd in some columns are tried.
_MOST_TRIALS = 32
# Rows of a crowd: of the largest at most, and of the others.
_LARGEST, _SMALL = 2**12, 32
_MESSAGE = (
    "{} predicts a training record differently beside other records. One validation record could "
    "then change the predictions of all, and no noise of size 1/m would hide it. Use an estimator "
    "that predicts row by row and deterministically (no statistics of the batch, no randomness); "
    'or let each record be predicted by itself, prediction="separate"'
)
_FAILS = (
    "{} cannot predict training records beside other ones, so that one validation record could "
    "keep all others from being predicted. Use an estimator that predicts row by row, or let each "
    'record be predicted by itself, prediction="separate"'
)
# Crowds of ordinary rows, of which one must be predicted.
_N_CROWDS = 3


@dataclass(frozen=True)
class _Predictor:
    """Predicts public rows: each call with a copy of the estimator, and of the rows."""

    pickled: bytes
    methods: tuple[str, ...]
    deep: bool
    name: str
    is_classifier: bool
    has_classes: bool
    refuses_missing: bool

    @classmethod
    def of(cls, pickled: bytes, methods: tuple[str, ...], deep: bool) -> _Predictor:
        estimator = fresh(pickled)
        classes = getattr(estimator, "classes_", None)
        has_classes = isinstance(classes, np.ndarray)
        name, refuses = type(estimator).__name__, _refuses_missing(estimator)
        return cls(pickled, methods, deep, name, classes is not None, has_classes, refuses)

    def __call__(self, X: Any) -> NDArray[Any]:
        X = with_own_labels(copied(X, self.deep))
        with np.errstate(all="ignore"):  # of numbers that nobody asked for
            return respond(fresh(self.pickled), X, self.methods)

    def agrees(self, batch: Any, expected: NDArray[Any], real: int) -> bool:
        """Return whether a batch can be predicted; its last rows are those expected, in reverse.

        Raises
        ------
        BatchDependentError
            If they get something else.
        """
        try:
            found = self(batch)[-len(expected) :][::-1]
        except Exception:  # of odd rows, or many copies of one
            return False
        for part in (slice(real), slice(real, None)):
            sample = expected[part]
            if len(sample) and not agree(found[part], sample, sample, self.is_classifier):
                raise BatchDependentError(_MESSAGE.format(self.name))
        return True


def _refuses_missing(estimator: Any) -> bool:
    """Whether this is an estimator of scikit-learn itself that takes no missing values."""
    if not type(estimator).__module__.startswith("sklearn.") or hasattr(estimator, "steps"):
        return False
    if any(hasattr(part, "fit") or callable(part) for part in vars(estimator).values()):
        return False  # there is other code in it
    return not get_tags(estimator).input_tags.allow_nan


@dataclass(frozen=True, eq=False)
class RowByRowCheck:
    """Training rows (public), and odd ones made of them, to repeat predictions on.

    Parameters
    ----------
    companions : Companions
        Whose predictions are repeated.
    X : table
        Training rows, in canonical form, that odd rows are made of.
    size : int
        Of the largest batch: the number of validation records; with groups, whose sizes are
        protected, a constant.
    """

    companions: Companions
    X: Any
    size: int

    @classmethod
    def on(cls, companions: Companions, problem: Problem) -> RowByRowCheck:
        """Take a sample of the training rows."""
        X = problem.training.X
        sample = take_rows(X, spread_rows(X, None, _SAMPLE))
        size = problem.units.m if problem.units.ends is None else _LARGEST
        return cls(companions, sample, size)

    def check(self, pickled: bytes, scorer: RecordScorer) -> None:
        """Compare the responses to the same rows in several batches.

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
        predictor = _Predictor.of(pickled, methods, self.companions.copies)
        finer, known = self._finer(predictor) if "predict" in methods else (None, None)
        if finer is not None:  # labels show less: a few batches do
            alone = predictor(self.companions.X)
            self._compare_ordinary(predictor, alone, self._ordinary[::_N_CROWDS])
            predictor = finer
        known = predictor(self.companions.X).copy() if known is None else known
        self._compare_ordinary(predictor, known, self._ordinary)
        for sort in self._sorts:
            if not (sort.holes and predictor.refuses_missing):
                for columns, expected in self._predictable(predictor, sort):
                    expected[: len(known)] = known
                    for batch in self._batches(sort, columns)[1:]:
                        predictor.agrees(batch, expected, len(known))

    def _compare_ordinary(
        self,
        predictor: _Predictor,
        known: NDArray[Any],
        batches: list[tuple[Any, NDArray[np.intp]]],
    ) -> None:
        """Compare what the companions get in these batches with what they get alone."""
        # A list, for all batches: `any` of a generator would stop at the first.
        compared = [predictor.agrees(batch, known[rows], len(known)) for batch, rows in batches]
        if not any(compared[:_N_CROWDS]):
            raise BatchDependentError(_FAILS.format(predictor.name))

    def _finer(self, predictor: _Predictor) -> tuple[_Predictor | None, NDArray[Any] | None]:
        """Return what a classifier's labels follow from, and what the companions get of it alone.

        It shows more than labels do; (None, None) if there is nothing of the kind.
        """
        for method in ("decision_function", "predict_proba") if predictor.has_classes else ():
            finer = replace(predictor, methods=(method,))
            try:
                return finer, finer(self.companions.X).copy()
            except Exception:  # it is not there, or cannot be called
                continue
        return None, None

    def _predictable(
        self, predictor: _Predictor, sort: OddRows
    ) -> Iterator[tuple[tuple[int, ...], NDArray[Any]]]:
        """Yield columns that can be odd at once, and the response to rows that are odd there.

        Where an estimator refuses rows that are odd in several columns, each half of the columns
        is tried.
        """
        pending = [sort.columns]
        for _ in range(_MOST_TRIALS):
            if not pending:
                return
            columns = pending.pop(0)
            try:
                expected = predictor(self._batches(sort, columns)[0]).copy()
            except Exception:  # rows that cannot be predicted
                half = len(columns) // 2
                pending += [columns[:half], columns[half:]] if half else []
                continue
            yield columns, expected

    @cached_property
    def _sorts(self) -> list[OddRows]:
        return odd_rows(self.companions.X, self.X)

    @cached_property
    def _ordinary(self) -> list[tuple[Any, NDArray[np.intp]]]:
        """Batches of training rows only, and which companions they end with, in reverse.

        First crowds of other rows, one of them large; then many copies of one
        companion, and few of them: batches without a range or variance of their own.
        """
        n, real = n_rows(self.X), len(self.companions)
        everyone, rng = np.arange(real), np.random.default_rng(3)
        size = min(max(self.size, _SMALL), _LARGEST)
        sizes = (size, _SMALL, _SMALL)[:_N_CROWDS]
        crowds = [take_rows(self.X, rng.permutation(max(n, size))[:size] % n) for size in sizes]
        reverse = take_rows(self.companions.X, everyone[::-1])
        copies = [np.full(_SMALL // 2, row) for row in (0, real // 2)]
        return [(stack([crowd, reverse]), everyone) for crowd in crowds] + [
            (take_rows(self.companions.X, rows[::-1]), rows)
            for rows in (*copies, everyone[:4], everyone[-4:])
        ]

    def _batches(self, sort: OddRows, columns: tuple[int, ...]) -> list[Any]:
        """Return companions with odd rows, and batches that end with these in reverse.

        Below ordinary rows, copies of an extreme one, and copies of odd ones.
        """
        if (sort, columns) not in self._made:
            rows = stack([self.companions.X, sort.make(columns)])
            n, real, size = n_rows(rows), len(self.companions), n_rows(self.X)
            reverse = take_rows(rows, np.arange(n)[::-1])
            extremes = self._sorts[-1].make(self._sorts[-1].columns)
            many = np.full(_MANY * n, 0)
            crowds = [take_rows(self.X, np.arange(_SMALL) % size), take_rows(extremes, many)]
            crowds += [take_rows(rows, many + real + i) for i in (0, 1)]
            self._made[sort, columns] = [rows, *(stack([crowd, reverse]) for crowd in crowds)]
        return self._made[sort, columns]

    @cached_property
    def _made(self) -> dict[tuple[OddRows, tuple[int, ...]], list[Any]]:
        return {}


def check_gain(
    scorer: RecordScorer, y: NDArray[Any] | None, response: NDArray[Any], classes: Any
) -> None:
    """Compare a user's gain of many public records with its gain of each one.

    Also of records with the labels of others, and with labels of another scale: an estimator may
    predict all training records without any error, so that nothing could be seen.

    Raises
    ------
    BatchDependentError
        If a record's gain changes with the records beside it.
    """

    def gains(pair: tuple[Any, NDArray[Any]]) -> NDArray[np.float64]:
        return deepcopy(scorer).unclipped(*deepcopy(pair), classes)

    pairs = [(y, np.roll(response, shift, axis=0)) for shift in range(_N_ROLLED)]
    if y is not None and y.dtype.kind in "if":
        pairs += [(scale * y, response) for scale in (10, -10)]
    known: list[tuple[Any, NDArray[Any]]] = []
    alone: list[NDArray[np.float64]] = []
    for pair in pairs:
        try:
            alone.append(np.concatenate([gains(_one(pair, i)) for i in range(len(response))]))
        except Exception:  # of labels that are none
            if not known:
                raise
            continue
        known.append(pair)
    together = (
        None if y is None else np.concatenate([labels for labels, _ in known]),
        np.concatenate([each for _, each in known]),
    )
    batches = [*zip(known, alone, strict=True), (together, np.concatenate(alone))]
    for pair, expected in batches:
        if not np.allclose(gains(pair), expected, rtol=1e-5, atol=1e-12, equal_nan=True):
            raise BatchDependentError(
                f"the gain of {scorer!r} values a record differently beside other records: "
                "compute each record's gain from that record alone"
            )


def _one(pair: tuple[Any, NDArray[Any]], i: int) -> tuple[Any, NDArray[Any]]:
    """Return one of several records, as a batch."""
    y, response = pair
    return None if y is None else y[[i]], response[[i]]
