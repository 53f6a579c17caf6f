"""The only way to predictions of protected records (zone: sensitive).

*Contract.* `ProtectedTable.values` is given a fitted `Model` and a scorer, both pickled, what the
public companions get (a `Reference`), and the protected table. It returns one value per record. The
value of a unit is what it gets beside the companions alone, or the lowest if it cannot be had; so
no other unit has a part in it. All units are predicted at once, to save time, wherever that gives
the same: for estimators that predict row by row.

* Each call of the user's code gets copies, unpickled for it and dropped after it.
* If predicting all at once fails, or the companions get anything else than they should, the units
  that are to blame are found by halving, beside companions, never alone. Companions stand in their
  places; what they get themselves is what they get beside the companions alone.
* If that fails, too, each unit is predicted beside the companions alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.pickles import copied, fresh
from .._data.split import Problem
from .._data.tables import n_rows, stack, take_rows
from .._data.units import Units
from ..scoring._response import call_method
from .companions import Companions
from .model import Model, Reference
from .own_code import predicts_separately
from .suppress_output import restored_state

__all__ = ["ProtectedTable"]


@dataclass(frozen=True, eq=False)
class ProtectedTable:
    """Protected records with their companions.

    Parameters
    ----------
    X, y, units
        As in `Problem`.
    companions : Companions
        Stand above and below.
    prediction : {"auto", "together", "separate"}
        Whether each unit is predicted by itself in any case; see `predicts_separately`.
    """

    X: Any
    y: NDArray[Any] | None
    units: Units
    companions: Companions
    prediction: str

    @classmethod
    def of(cls, problem: Problem, companions: Companions, prediction: str) -> ProtectedTable:
        """Return the validation set of a problem."""
        return cls(problem.X_val, problem.y_val, problem.units, companions, prediction)

    def values(self, model: Model, scorer: bytes) -> NDArray[Any]:
        """Return one value per record: see the contract."""
        attempt = _Attempt(self, model, scorer)
        everything = np.arange(self.n)
        separate = predicts_separately(self.prediction, model.own_code)
        if not separate:
            values = attempt(everything)
            if values is not None:
                return values
        apart = range(self.units.m) if separate else attempt.units_apart()
        rows = [self.units.rows(u, u + 1) for u in apart]
        places = everything.copy()
        for own in rows:
            places[own] = -1
        values = attempt(places) if len(rows) < self.units.m else attempt.lowest.copy()
        if values is None:  # of units that fail together, and not by themselves
            return replace(self, prediction="separate").values(model, scorer)
        for own in rows:
            values[own] = attempt.alone(own)
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
            kept = places >= 0
            in_place = len(places) == self.n and (places == np.arange(self.n))[kept].all()
            own[:] = self.X if in_place else self.X[places]
            own[~kept] = beside.X[0]
            X[:k], X[k + len(places) :] = beside.X[:k], beside.X[k:]
        return copied(X, deep=True) if beside.copies else X, y


@dataclass(frozen=True)
class _Attempt:
    """Predictions of chosen protected rows, beside companions, by copies."""

    table: ProtectedTable
    model: Model
    scorer: bytes

    @property
    def reference(self) -> Reference:
        return self.model.references[0]

    def __call__(self, places: NDArray[np.intp], alone: bool = False) -> NDArray[Any] | None:
        """Return the values of these rows, or None: why it failed depends on protected records.

        Unless they are of one unit alone, the companions must get what they should.
        """
        try:
            # Restored, whatever a record makes of it.
            with np.errstate(all="ignore"), restored_state():
                return self._values(places, alone)
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None
        except BaseException:
            # Also SystemExit, and the panics of native extensions, which are no Exceptions.
            return None

    def _values(self, places: NDArray[np.intp], alone: bool) -> NDArray[Any] | None:
        X, y = self.table.beside_companions(places)
        estimator, scorer = fresh(self.model.pickled), fresh(self.scorer)
        classes = getattr(estimator, "classes_", None)
        total, k = len(places) + len(self.table.companions), self.table.companions.n_above
        own = slice(k, k + len(places))
        raw = call_method(estimator, X, scorer.response_method)
        response, odd = self.reference.kind.read(raw, total)
        values: NDArray[Any] = scorer.record_values(y, response.copy(), classes)
        beside = np.ones(total, dtype=bool)
        beside[own] = False
        if not alone and (
            beside[odd].any()
            or not self.reference.holds(response[beside], values[beside], classes is not None)
        ):
            return None
        values[odd] = scorer.lowest_values(y, total)[odd]
        return values[own]

    @cached_property
    def lowest(self) -> NDArray[Any]:
        """The lowest values of all records."""
        lowest: NDArray[Any] = fresh(self.scorer).lowest_values(self.table.y, self.table.n)
        return lowest

    def alone(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Return the values of a unit beside the companions alone; the lowest if there are none.

        Whatever it does to the companions, no other unit has a part in it.
        """
        values = self(rows, alone=True)
        return self.lowest[rows] if values is None else values

    def units_apart(self) -> list[int]:
        """Return the units that fail beside companions, or change what those get, by halving."""
        apart: list[int] = []
        pending = [(0, self.table.units.m)]
        while pending:
            first, last = pending.pop()
            if self(self.table.units.rows(first, last)) is not None:
                continue
            if last - first == 1:
                apart.append(first)
            else:
                middle = (first + last) // 2
                pending += [(first, middle), (middle, last)]
        return apart
