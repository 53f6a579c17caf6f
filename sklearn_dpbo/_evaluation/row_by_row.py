"""Does an estimator predict row by row? Tested on training rows (zone: public).

The guarantee needs predictions to be made row by row, unless each unit is predicted by itself.
`RowByRowCheck` predicts the same rows in two batches that differ in all that a batch can have:
company, order, size, extremes, missing values, first and last rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from .._data.canonical import align
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
        finer = self._finer(pickled) if "predict" in methods else None
        if finer is not None:  # labels show less: a few batches do
            self._compare_ordinary(pickled, methods, self._ordinary[::_N_CROWDS])
        self._compare_ordinary(pickled, finer or methods, self._ordinary)
        for sort in self._sorts:
            if sort.holes and _refuses_missing(fresh(pickled)):
                continue
            for rows, expected in self._predictable(pickled, finer or methods, sort):
                expected[: len(self.companions)] = self._known(pickled, finer or methods)
                for batch in self._beside(rows):
                    self._agrees(pickled, finer or methods, batch, expected)

    def _compare_ordinary(
        self,
        pickled: bytes,
        methods: tuple[str, ...],
        batches: list[tuple[Any, NDArray[np.intp]]],
    ) -> None:
        known = self._known(pickled, methods)
        # A list, for all batches: `any` of a generator would stop at the first.
        compared = [self._agrees(pickled, methods, batch, known[rows]) for batch, rows in batches]
        if not any(compared[:_N_CROWDS]):
            raise BatchDependentError(_FAILS.format(type(fresh(pickled)).__name__))

    def _known(self, pickled: bytes, methods: tuple[str, ...]) -> NDArray[Any]:
        """Return the response to the companions alone."""
        return self._respond(pickled, self.companions.X, methods)

    def _agrees(
        self, pickled: bytes, methods: tuple[str, ...], batch: Any, expected: NDArray[Any]
    ) -> bool:
        """Return whether a batch can be predicted; its last rows are those expected, in reverse.

        Raises
        ------
        BatchDependentError
            If they get something else.
        """
        try:
            found = self._respond(pickled, batch, methods)[-len(expected) :][::-1]
        except Exception:  # of odd rows, or many copies of one
            return False
        classifier, real = hasattr(fresh(pickled), "classes_"), len(self.companions)
        for part in (slice(real), slice(real, None)):
            if not agree(found[part], expected[part], expected[part], classifier):
                raise BatchDependentError(_MESSAGE.format(type(fresh(pickled)).__name__))
        return True

    def _respond(self, pickled: bytes, X: Any, methods: tuple[str, ...]) -> NDArray[Any]:
        """Return the response of a copy of the estimator to a copy of the rows."""
        X = with_own_labels(copied(X, self.companions.copies))
        return respond(fresh(pickled), X, methods)

    def _finer(self, pickled: bytes) -> tuple[str, ...] | None:
        """Return the method that a classifier's labels follow from: it shows more than they do."""
        if not isinstance(getattr(fresh(pickled), "classes_", None), np.ndarray):
            return None
        for method in ("decision_function", "predict_proba"):
            try:
                self._respond(pickled, self.companions.X, (method,))
            except Exception:  # it is not there, or cannot be called
                continue
            return (method,)
        return None

    def _predictable(
        self, pickled: bytes, methods: tuple[str, ...], sort: OddRows
    ) -> Iterator[tuple[Any, NDArray[Any]]]:
        """Yield companions with odd rows, and the response: odd in as many columns as go at once.

        Where an estimator refuses rows that are odd in several columns, each half of the columns
        is tried.
        """
        pending = [sort.columns]
        for _ in range(_MOST_TRIALS):
            if not pending:
                return
            columns = pending.pop(0)
            try:
                rows = stack([self.companions.X, sort.make(columns)])
                expected = self._respond(pickled, rows, methods).copy()
            except Exception:  # rows that cannot be predicted
                half = len(columns) // 2
                pending += [columns[:half], columns[half:]] if half else []
                continue
            yield rows, expected

    @cached_property
    def _sorts(self) -> list[OddRows]:
        return odd_rows(self.companions.X, self.X)

    @cached_property
    def _ordinary(self) -> list[tuple[Any, NDArray[np.intp]]]:
        """Batches of training rows only, and which companions they end with, in reverse.

        First crowds of other rows, one of the size of the validation set; then many copies of one
        companion, and few of them: batches without a range or variance of their own.
        """
        n, real = n_rows(self.X), len(self.companions)
        everyone, rng = np.arange(real), np.random.default_rng(3)
        size = min(max(self.m, _SMALL), _LARGEST)
        sizes = (size, _SMALL, _SMALL)[:_N_CROWDS]
        crowds = [take_rows(self.X, rng.permutation(max(n, size))[:size] % n) for size in sizes]
        reverse = take_rows(self.companions.X, everyone[::-1])
        copies = [np.full(_SMALL // 2, row) for row in (0, real // 2)]
        return [(stack([crowd, reverse]), everyone) for crowd in crowds] + [
            (take_rows(self.companions.X, rows[::-1]), rows)
            for rows in (*copies, everyone[:4], everyone[-4:])
        ]

    def _beside(self, rows: Any) -> Iterator[Any]:
        """Yield batches that end with these rows in reverse, below a crowd of others.

        Ordinary rows; copies of an extreme one; copies of the odd ones.
        """
        n, real = n_rows(rows), len(self.companions)
        reverse = take_rows(rows, np.arange(n)[::-1])
        yield stack([take_rows(self.X, np.arange(_SMALL) % n_rows(self.X)), reverse])
        extremes = self._sorts[-1].make(self._sorts[-1].columns)
        for source, row in ((extremes, 0), (extremes, 1), (rows, real), (rows, real + 1)):
            copies = np.full(_MANY * n, min(row, n_rows(source) - 1))
            yield stack([take_rows(source, copies), reverse])


def _refuses_missing(estimator: Any) -> bool:
    """Whether this is an estimator of scikit-learn itself that takes no missing values."""
    own = type(estimator).__module__.startswith("sklearn.")
    nested = any(hasattr(p, "fit") or callable(p) for p in vars(estimator).values())
    return (
        own
        and not nested
        and not hasattr(estimator, "steps")
        and (not get_tags(estimator).input_tags.allow_nan)
    )


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
