"""The only way to predictions of protected records (zone: sensitive).

*Contract.* `ProtectedTable.values` is given a fitted `Model`, with what the public companions get
of it, and a query. It returns one value per record. The value of a unit is what it gets beside the
companions alone, or the lowest if it cannot be had; so no other unit has a part in it. All units
are predicted at once, to save time, wherever that gives the same: for estimators that predict row
by row.

* Each call of the user's code gets copies, unpickled for it and dropped after it.
* If predicting all at once fails, or the companions get anything else than they should, the units
  that are to blame are found by halving, beside companions, never alone. Companions stand in their
  places; what they get themselves is what they get beside the companions alone.
* If that fails, too, each unit is predicted beside the companions alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.pickles import fresh, packed
from .._data.split import Problem
from .._data.tables import n_rows, stack, take_rows, with_own_cells
from .._data.units import Units
from ..scoring._queries import Query
from .companions import Companions
from .model import Model
from .own_code import predicts_separately
from .responses import agree
from .suppress_output import drop_errors, suppress_output

__all__ = ["ProtectedTable"]

# By how much the companions' values may differ through rounding, in steps of their grid. One unit's
# is what 65,536 records would make together of such a difference.
_TOLERANCE = 16
# Of the companions with more than the lowest value, so many must have it as validation records.
_FEW = 0.1


@dataclass(frozen=True, eq=False)
class ProtectedTable:
    """Protected records; their labels, which follow the companions'; their units and companions.

    `rows` and `labels` begin with the companions, and end with the protected records.
    """

    rows: Any
    labels: NDArray[Any] | None
    units: Units
    companions: Companions
    prediction: str

    @classmethod
    @np.errstate(all="ignore")  # of casts, which would tell of a label
    def of(cls, problem: Problem, companions: Companions, prediction: str) -> ProtectedTable:
        """Return the validation set of a problem."""
        rows, y = stack([companions.X, problem.X_val]), problem.y_val
        if isinstance(rows, np.ndarray):  # whose layout sums depend on
            rows = np.ascontiguousarray(rows)
        if y is not None and companions.y is not None:
            y = np.concatenate([companions.y, y])
        return cls(rows, y, problem.units, companions, prediction)

    @property
    def y(self) -> Any:
        """The protected labels."""
        return None if self.labels is None else self.labels[len(self.companions) :]

    @property
    def n(self) -> int:
        """Number of protected records."""
        return n_rows(self.rows) - len(self.companions)

    def statistics(self, model: Model, query: Query) -> tuple[int, ...]:
        """Return the raw integers of the first query that the model was made for."""
        return tuple(query.statistics(self.values(model, query), self.y, self.units))

    def values(self, model: Model, query: Query) -> NDArray[Any]:
        """Return one value per record: see the contract."""
        predict = partial(self.beside_companions, model, packed(query))
        separate = predicts_separately(self.prediction, model.own_code)
        everyone = np.arange(self.n)
        if not separate:
            values = predict(everyone)
            if values is not None:
                return values
        lowest = query.lowest_values(self.y, self.n)
        failing = range(self.units.m) if separate else self._failing_units(predict)
        single = [self.units.rows(u, u + 1) for u in failing]
        others = everyone.copy()
        for rows in single:
            others[rows] = -1
        values = predict(others) if len(single) < self.units.m else lowest
        if values is None:  # of units that fail together, and not by themselves
            return replace(self, prediction="separate").values(model, query)
        values = values.copy()
        for rows in single:
            # Whatever it does to the companions, no other unit has a part in it.
            own = predict(rows, one_unit=True)
            values[rows] = lowest[rows] if own is None else own
        return values

    def rehearse(self, model: Model, query: Query) -> None:
        """Raise ValueError if no protected record could get more than the lowest value.

        Public: the companions are predicted in the types, and in the place, of protected records.
        """
        k = len(self.companions)
        twice = np.tile(np.arange(k), 2)
        y = None if self.labels is None else self.labels[twice]
        public = replace(self, rows=take_rows(self.rows, twice), labels=y, units=Units.of(k))
        model = model.asked(query)
        with suppress_output():
            found = public.values(model, query)
        lowest = query.lowest_values(public.y, k)
        able, kept = (
            (values != lowest).reshape(k, -1).any(axis=1) for values in (model.values[0], found)
        )
        if (able & kept).sum() < _FEW * able.sum():
            raise ValueError(
                f"{type(fresh(model.pickled)).__name__} predicts training records, but (nearly) "
                "none of them in the place of validation records, of which every one would count "
                "as the worst. Does it take the types of X_val and y_val, and batches of any size?"
            )

    def batch(self, rows: NDArray[np.intp]) -> tuple[Any, NDArray[Any] | None]:
        """Return X and y of the companions above, these protected rows, the companions below.

        A row number of -1 stands for the first companion.
        """
        k, n_above = len(self.companions), self.companions.n_above
        own = np.where(rows < 0, 0, rows + k)
        index = np.concatenate([np.arange(n_above), own, np.arange(n_above, k)])
        y = None if self.labels is None else self.labels[index]
        return with_own_cells(take_rows(self.rows, index)), y

    def beside_companions(
        self, model: Model, packed_query: bytes, rows: NDArray[np.intp], one_unit: bool = False
    ) -> NDArray[Any] | None:
        """Return the values of these rows, or None: why it failed depends on protected records.

        Unless the rows are those of one unit, the companions must get what they should.
        """
        with drop_errors():
            (X, y), query = self.batch(rows), fresh(packed_query)
            estimator, method = fresh(model.pickled), model.answers.method(query.response_method)
            expected, total = model.responses[method], len(rows) + len(self.companions)
            response, odd = expected.read(getattr(estimator, method)(X), total)
            classes = getattr(estimator, "classes_", None)
            values: NDArray[Any] = query.record_values(y, response.copy(), classes)
            own = slice(self.companions.n_above, self.companions.n_above + len(rows))
            beside = np.delete(np.arange(total), own)
            if one_unit or (
                not np.isin(odd, beside).any()
                and _as_expected(model, response[beside], values[beside], expected.values)
            ):
                values[odd] = query.lowest_values(y, total)[odd]
                return values[own]
        return None

    def _failing_units(self, predict: Callable[..., NDArray[Any] | None]) -> list[int]:
        """Return the units that fail beside companions, or change what those get, by halving."""
        failing: list[int] = []
        pending = [(0, self.units.m)]
        while pending:
            first, last = pending.pop()
            if predict(self.units.rows(first, last)) is not None:
                continue
            if last - first == 1:
                failing.append(first)
            else:
                middle = (first + last) // 2
                pending += [(first, middle), (middle, last)]
        return failing


def _as_expected(model: Model, response: Any, values: Any, expected: NDArray[Any]) -> bool:
    """Whether the companions got beside other records what they get alone."""
    near = np.allclose(values, model.values[0], rtol=0, atol=_TOLERANCE, equal_nan=True)
    return near and agree(response, expected, expected, model.answers.classes is not None)
