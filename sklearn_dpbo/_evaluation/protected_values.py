"""The only way to predictions of protected records (zone: sensitive).

*Contract.* `ProtectedTable.values` is given a fitted estimator and a scorer, both pickled, what the
public companions get (a `Reference`), and the protected table. It returns one value per record. The
value of a unit is what it gets beside the companions alone, or the lowest if it cannot be had; so
no other unit has a part in it. All units are predicted at once, to save time, wherever that gives
the same: for estimators that predict row by row.

* Each call of the user's code gets copies, unpickled for it and dropped after it.
* If predicting all at once fails, or the companions get anything else than they should, the units
  that are to blame are found beside companions, never alone, and companions stand in their places.
* If it fails even then, each unit is predicted by itself, beside the companions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.pickles import fresh, packed
from .._data.split import Problem
from .._data.tables import n_rows, stack, take_rows
from .._data.units import Units
from ..scoring._response import call_method
from .companions import Companions
from .model import Reference

__all__ = ["ProtectedTable", "check_prediction"]


def check_prediction(prediction: Any) -> None:
    """Raise ValueError unless this says how the validation set is predicted."""
    if prediction not in ("together", "separate"):
        raise ValueError(f'prediction is "together" or "separate"; found {prediction!r}')


@dataclass(frozen=True)
class ProtectedTable:
    """Protected records with their companions.

    Parameters
    ----------
    X, y, units
        As in `Problem`.
    companions : Companions
        Stand above and below.
    copies : bool
        Whether cells may be written into, so that they are copied for each prediction.
    separate : bool, default=False
        Whether each unit is predicted by itself, in any case.
    """

    X: Any
    y: NDArray[Any] | None
    units: Units
    companions: Companions
    copies: bool
    separate: bool = False

    @classmethod
    def of(cls, problem: Problem, companions: Companions, separate: bool) -> ProtectedTable:
        """Return the validation set of a problem."""
        copies = problem.form.copies
        return cls(problem.X_val, problem.y_val, problem.units, companions, copies, separate)

    def values(self, model: bytes, scorer: bytes, reference: Reference) -> NDArray[Any]:
        """Return one value per record: see the contract."""
        attempt = _Attempt(self, model, scorer, reference)
        m, everything = self.units.m, np.arange(self.n)
        if self.separate:
            return attempt.one_by_one()
        values = attempt(everything)
        if values is not None:
            return values
        failing = attempt.find_failing(0, m)
        places = everything.copy()
        places[failing] = -1
        values = attempt(places)
        if values is None:
            return attempt.one_by_one()
        values[failing] = attempt.lowest[failing]
        return values

    @property
    def n(self) -> int:
        """Number of protected records."""
        return n_rows(self.X)

    def beside_companions(self, places: NDArray[np.intp]) -> tuple[Any, NDArray[Any] | None]:
        """Return X and y of the companions above, these protected rows, the companions below.

        Parameters
        ----------
        places : ndarray of int
            Row numbers; -1 is the first companion.
        """
        beside, k = self.companions, self.companions.n_above
        index = np.concatenate(
            [np.arange(k), np.where(places < 0, 0, places + len(beside)), np.arange(k, len(beside))]
        )
        y = None
        if self.y is not None and beside.y is not None:
            y = np.concatenate([beside.y, self.y])[index]
        if not isinstance(self.X, np.ndarray):
            X = take_rows(stack([beside.X, self.X]), index)
        else:  # one copy, always of the same memory layout
            X = np.empty((len(index), *self.X.shape[1:]), dtype=np.result_type(beside.X, self.X))
            own = X[k : k + len(places)]
            own[:] = self.X if len(places) == self.n else self.X[places]
            own[places < 0] = beside.X[0]
            X[:k], X[k + len(places) :] = beside.X[:k], beside.X[k:]
        return fresh(packed(X)) if self.copies else X, y


@dataclass(frozen=True)
class _Attempt:
    """Predictions of chosen protected rows, beside companions, by copies."""

    table: ProtectedTable
    model: bytes
    scorer: bytes
    reference: Reference

    def __call__(self, places: NDArray[np.intp]) -> NDArray[Any] | None:
        """Return the values of these rows, or None: why it failed depends on protected records."""
        try:
            with np.errstate(all="ignore"):  # and restored, whatever a record makes of it
                return self._values(places)
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None
        except BaseException:
            # Also SystemExit, and the panics of native extensions, which are no Exceptions.
            return None

    def _values(self, places: NDArray[np.intp]) -> NDArray[Any] | None:
        X, y = self.table.beside_companions(places)
        estimator, scorer = fresh(self.model), fresh(self.scorer)
        classes = getattr(estimator, "classes_", None)
        total, k = len(places) + len(self.table.companions), self.table.companions.n_above
        own = slice(k, k + len(places))
        raw = call_method(estimator, X, scorer.response_method)
        response, odd = self.reference.kind.read(raw, total)
        values: NDArray[Any] = scorer.record_values(y, response, classes)
        beside = np.ones(total, dtype=bool)
        beside[own] = False
        if beside[odd].any() or not self.reference.holds(
            response[beside], values[beside], classes is not None
        ):
            return None
        values[odd] = scorer.lowest_values(y, total)[odd]
        return values[own]

    @cached_property
    def lowest(self) -> NDArray[Any]:
        """The lowest values of all records."""
        lowest: NDArray[Any] = fresh(self.scorer).lowest_values(self.table.y, self.table.n)
        return lowest

    def find_failing(self, first: int, last: int) -> NDArray[np.intp]:
        """Return all rows of those of the units first, ..., last - 1 that fail, by halving."""
        failing: list[NDArray[np.intp]] = []
        pending = [(first, last)]
        while pending:
            first, last = pending.pop()
            rows = self.table.units.rows(first, last)
            if self(rows) is not None:
                continue
            if last - first == 1:
                failing.append(rows)
            else:
                middle = (first + last) // 2
                pending += [(first, middle), (middle, last)]
        return np.concatenate(failing) if failing else np.array([], dtype=np.intp)

    def one_by_one(self) -> NDArray[Any]:
        """Return the values of all records, each unit predicted beside the companions alone."""
        values = self.lowest.copy()
        for unit in range(self.table.units.m):
            rows = self.table.units.rows(unit, unit + 1)
            found = self(rows)
            if found is not None:
                values[rows] = found
        return values
