"""Does an estimator predict row by row? Tested on training rows (zone: public).

The guarantee needs predictions to be made row by row, unless each unit is predicted by itself.
`RowByRowCheck` predicts the same rows in two batches that differ in all that a batch can have:
company, order, size, extremes, missing values, first and last rows.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from .._data.pickles import copied, fresh
from .._data.split import Problem
from .._data.tables import n_rows, stack, take_rows
from ..exceptions import BatchDependentError
from ..scoring._response import respond
from .companions import Companions, spread_rows, with_own_labels
from .odd_rows import OddRows, odd_rows
from .responses import agree

__all__ = ["PublicQuery", "RowByRowCheck"]

# Training rows from which odd ones are made.
_SAMPLE = 2**10
# Copies of one row in a crowd, for each row that is compared.
_MANY = 4
# How often rows that are odd in some columns are tried.
_MOST_TRIALS = 32
# Rows of a crowd: of the largest at most, and of the others; how many there are.
_LARGEST, _SMALL, _N_CROWDS = 2**12, 32, 3
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


class PublicQuery(Protocol):
    """What is asked about public records of a `Query`, which counts protected ones."""

    @property
    def response_method(self) -> tuple[str, ...]:
        """Methods of the estimator; the first that it has is called."""

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        """Return one value per record."""

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        """Return the share of gains outside of the bounds."""


@dataclass(frozen=True)
class _Predictor:
    """Predicts public rows: each call with a copy of the estimator, and of the rows."""

    pickled: bytes
    methods: tuple[str, ...]
    copies: bool

    def __call__(self, X: Any) -> NDArray[Any]:
        X = with_own_labels(copied(X, self.copies))
        with np.errstate(all="ignore"):  # of numbers that nobody asked for
            return respond(self.estimator, X, self.methods).copy()

    @property
    def estimator(self) -> Any:
        return fresh(self.pickled)

    @cached_property
    def classes(self) -> Any:
        return getattr(self.estimator, "classes_", None)

    def agrees(self, batch: Any, expected: NDArray[Any], n_companions: int) -> bool:
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
        for part in (slice(n_companions), slice(n_companions, None)):
            sample = expected[part]
            if len(sample) and not agree(found[part], sample, sample, self.classes is not None):
                raise BatchDependentError(_MESSAGE.format(type(self.estimator).__name__))
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
        sample = problem.public_rows(spread_rows(problem.training.X, None, _SAMPLE))
        size = _LARGEST if problem.units.grouped else problem.units.m
        return cls(companions, sample, size)

    def check(self, pickled: bytes, methods: tuple[str, ...]) -> None:
        """Raise BatchDependentError if a response changes with the rows beside it.

        Of a classifier's labels, also what they follow from is compared, as it shows more.
        """
        predictor = _Predictor(pickled, methods, self.companions.copies)
        known = predictor(self.companions.X)
        if "predict" in methods and isinstance(predictor.classes, np.ndarray):
            for method in ("decision_function", "predict_proba"):
                finer, scores = replace(predictor, methods=(method,)), None
                with suppress(Exception):  # it is not there, or cannot be called
                    scores = finer(self.companions.X)
                if scores is not None:
                    self._compare(predictor, known, self._ordinary[::_N_CROWDS])
                    predictor, known = finer, scores
                    break
        self._compare(predictor, known, self._ordinary)
        refuses_missing = _refuses_missing(predictor.estimator)
        for sort in self._sorts:
            if not (sort.holes and refuses_missing):
                self._compare_odd(predictor, known, sort)

    def _compare(
        self,
        predictor: _Predictor,
        known: NDArray[Any],
        batches: list[tuple[Any, NDArray[np.intp]]],
    ) -> None:
        """Compare what the companions get in these batches with what they get alone."""
        # A list, for all batches: `any` of a generator would stop at the first.
        compared = [predictor.agrees(batch, known[rows], len(known)) for batch, rows in batches]
        if not any(compared[:_N_CROWDS]):
            raise BatchDependentError(_FAILS.format(type(predictor.estimator).__name__))

    def _compare_odd(self, predictor: _Predictor, known: NDArray[Any], sort: OddRows) -> None:
        """Compare companions and odd rows below ordinary rows, and below copies of odd ones.

        Where an estimator refuses rows that are odd in several columns, each half of the columns
        is tried.
        """
        pending = [sort.columns]
        for _ in range(_MOST_TRIALS):
            if not pending:
                return
            columns = pending.pop(0)
            rows = stack([self.companions.X, sort.make(columns)])
            try:
                expected = predictor(rows)
            except Exception:  # rows that cannot be predicted
                half = len(columns) // 2
                pending += [columns[:half], columns[half:]] if half else []
                continue
            expected[: len(known)] = known
            n, size = n_rows(rows), n_rows(self.X)
            copies = (np.full(_MANY * n, len(known) + i) for i in (0, 1))
            crowds = [take_rows(self.X, np.arange(_SMALL) % size)]
            crowds += [take_rows(rows, copy) for copy in copies]
            for crowd in crowds:
                batch = stack([crowd, take_rows(rows, np.arange(n)[::-1])])
                predictor.agrees(batch, expected, len(known))

    @cached_property
    def _sorts(self) -> list[OddRows]:
        return odd_rows(self.X)

    @cached_property
    def _ordinary(self) -> list[tuple[Any, NDArray[np.intp]]]:
        """Batches of training rows only, and which companions they end with, in reverse.

        First crowds of other rows, one of them large; then many copies of one
        companion, and few of them: batches without a range or variance of their own.
        """
        n, everyone = n_rows(self.X), np.arange(len(self.companions))
        rng, size = np.random.default_rng(3), min(max(self.size, _SMALL), _LARGEST)
        sizes = (size, _SMALL, _SMALL)[:_N_CROWDS]
        crowds = [take_rows(self.X, rng.permutation(max(n, size))[:size] % n) for size in sizes]
        reverse = take_rows(self.companions.X, everyone[::-1])
        copies = [np.full(_SMALL // 2, row) for row in (0, len(everyone) // 2)]
        return [(stack([crowd, reverse]), everyone) for crowd in crowds] + [
            (take_rows(self.companions.X, rows[::-1]), rows)
            for rows in (*copies, everyone[:4], everyone[-4:])
        ]
