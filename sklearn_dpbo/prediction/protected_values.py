"""The only way to predictions of protected records (zone: sensitive).

*Contract.* `ProtectedTable.values` takes a fitted `Model`, with its responses to the public
companions, and a query. It returns one value per record. The value of a unit is its value if it is
predicted beside the companions only, or the lowest value if that fails; so it does not depend on
any other unit. To save time, all units are predicted at once by a model whose unlisted parts are
called on one unit at a time (`separately`). The values are the same, because all other parts
predict row by row.

* Each call of the user's code gets copies, which are unpickled for it and dropped after it.
* If the prediction of all units fails, or companions get other values than they should, the failing
  units are found by halving. They are predicted beside companions, never alone. All other units are
  then predicted at once, with companions in the places of the failing ones. The failing units
  themselves are each predicted beside the companions only.
* The same is done for units for which a part failed, or returned output of another kind.
* If the prediction without failing units also fails, each unit is predicted beside the companions
  only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..metrics._queries import Query
from ..privacy.float_errors import ignore_float_errors
from ..privacy.suppress_output import drop_errors, hold_interrupts
from ..records.pickles import fresh, packed
from ..records.split import ProtectedRows
from ..records.tables import n_rows, stack, take_rows, with_own_cells
from ..records.units import Units
from .calls import Calls, query_for_protected
from .companions import Companions
from .listed.separately import Batch, for_batch
from .model import Model
from .responses import agree

# Largest difference of companions' values by rounding, in steps of their grid. In a mean of 65,536
# records, such a difference of each adds up to the value of one record.
_TOLERANCE = 16


class _Predicted(NamedTuple):
    """Responses and values of companions and protected rows; `protected` selects the latter."""

    response: NDArray[Any]
    values: NDArray[Any]
    protected: slice


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedTable:
    """Protected records, their labels and units, and the companions.

    `X` has the protected records only, because copies of large tables take much memory; `labels`
    has the companions' labels first. If the table has a `name`, outputs of models' parts for all
    records are kept under it, for other candidates. A part of a table has the units in these
    `rows`; it is part ``cut[0]`` of ``cut[1]``.
    """

    X: Any
    labels: NDArray[Any] | None
    units: Units
    companions: Companions
    name: str = ""
    cut: tuple[int, int] = (0, 1)
    rows: NDArray[np.intp] | None = None

    @classmethod
    @ignore_float_errors()  # of casts, which would reveal a label
    def of(cls, rows: ProtectedRows, companions: Companions) -> ProtectedTable:
        """Make the table of protected rows, to be predicted beside these companions."""
        y = rows.y
        if y is not None and companions.y is not None:
            y = np.concatenate([companions.y, y])
        return cls(rows.X, y, rows.units, companions)

    @property
    def y(self) -> Any:
        """Protected labels, without those of companions."""
        return None if self.labels is None else self.labels[len(self.companions) :]

    @property
    def n(self) -> int:
        """Number of protected records."""
        return n_rows(self.X)

    def part(self, k: int, n: int) -> ProtectedTable:
        """Return the k-th of n parts, whose units get the same values as in the whole table."""
        first, last = (i * self.units.m // n for i in (k, k + 1))
        rows = self.units.rows(first, last)
        unit_labels = None if self.units.labels is None else self.units.labels[rows] - first
        units = Units(last - first, unit_labels)
        labels = self.labels
        if labels is not None:
            n_public = len(self.companions)
            labels = labels[np.concatenate([np.arange(n_public), n_public + rows])]
        X = take_rows(self.X, rows) if n > 1 else self.X
        return replace(self, X=X, labels=labels, units=units, cut=(k, n), rows=rows)

    def statistics(self, model: Model, query: Query) -> tuple[int, ...]:
        """Compute the raw integers of a query for which the model was made."""
        return self.counted(self.values(model, query), query)

    def counted(self, values: NDArray[Any], query: Query) -> tuple[int, ...]:
        """Compute the raw integers of a query from one value per record."""
        isolated = query_for_protected(packed(query))
        return tuple(isolated.statistics(values, self.y, self.units))

    @hold_interrupts()
    @ignore_float_errors()
    def values(self, model: Model, query: Query) -> NDArray[Any]:
        """Compute one value per record: see the contract."""
        packed_query = packed(query)
        predict = partial(self.beside_companions, model, packed_query)
        all_rows = np.arange(self.n)
        failing: list[int] = []
        predicted = predict(all_rows)
        if predicted is None:
            failing = self._failing_units(predict)
            for u in failing:
                all_rows[self.units.rows(u, u + 1)] = -1
            predicted = predict(all_rows) if len(failing) < self.units.m else None
        lowest = query_for_protected(packed_query).lowest_values(self.y, self.n)
        # It is still None if units fail together, but not by themselves.
        values, odd = predicted or (lowest, set(range(self.units.m)))
        values = values.copy()
        for u in odd.union(failing):
            rows = self.units.rows(u, u + 1)
            # These values depend on no other unit, even if companions get other values.
            unit_values = self._alone(model, packed_query, rows)
            values[rows] = lowest[rows] if unit_values is None else unit_values
        return values

    def batch(self, rows: NDArray[np.intp]) -> tuple[Any, NDArray[Any] | None]:
        """Return X and y of the companions above, these protected rows, the companions below.

        A row number of -1 stands for the first companion.
        """
        k = len(self.companions)
        n_above = self.companions.n_above
        middle = np.where(rows < 0, 0, rows + k)
        index = np.concatenate([np.arange(n_above), middle, np.arange(n_above, k)])
        y = None if self.labels is None else self.labels[index]
        return with_own_cells(self._rows(rows)), y

    def _rows(self, rows: NDArray[np.intp]) -> Any:
        public = self.companions.X
        index = np.arange(len(self.companions))
        above, below = (
            take_rows(public, part) for part in np.split(index, [self.companions.n_above])
        )
        middle = self.X  # so that all rows are copied only once, by `stack`
        if not np.array_equal(rows, np.arange(self.n)):
            middle = stack([take_rows(public, index[:1]), take_rows(self.X, rows[rows >= 0])])
            middle = take_rows(middle, np.where(rows < 0, 0, np.cumsum(rows >= 0)))
        table = stack([above, middle, below])
        # The rounding of sums depends on the layout.
        return np.ascontiguousarray(table) if isinstance(table, np.ndarray) else table

    def beside_companions(
        self, model: Model, packed_query: bytes, rows: NDArray[np.intp]
    ) -> tuple[NDArray[Any], set[int]] | None:
        """Return the values of these rows, and the units among them to be predicted alone.

        None if the companions do not get the values that they should, or at any error, because the
        error depends on protected records.
        """
        with drop_errors():
            batch = self._batch(rows)
            estimator = for_batch(model.cut, batch) if model.cut else fresh(model.pickled)
            response, values, protected = self._predicted(model, estimator, packed_query, rows)
            expected = model.responses[model.method(fresh(packed_query))]
            public = np.delete(np.arange(len(values)), protected)
            if _as_expected(model, response[public], values[public], expected.values):
                odd = batch.odd and batch.odd & {*batch.units[rows >= 0].tolist()}
                return values[protected], odd
        return None

    def companions_get(self, model: Model, method: str) -> Any:
        """Predict companions as beside protected rows, with a companion in the place of these."""
        rows = np.full(1, -1)
        X, _ = self.batch(rows)
        response = getattr(for_batch(model.cut, self._batch(rows)), method)(X)
        return np.delete(response, self.companions.n_above, axis=0)

    def _alone(self, model: Model, packed_query: bytes, rows: NDArray[np.intp]) -> Any:
        """Compute the values of one unit, whatever companions get beside it; None if it fails."""

        def unit_values(estimator: Any) -> NDArray[Any]:
            predicted = self._predicted(model, estimator, packed_query, rows)
            return predicted.values[predicted.protected]

        return Calls(model.pickled)(unit_values)

    def _predicted(
        self, model: Model, estimator: Any, packed_query: bytes, rows: NDArray[np.intp]
    ) -> _Predicted:
        """Predict companions and these rows, and compute their values of a query."""
        X, y = self.batch(rows)
        query = query_for_protected(packed_query)
        method = model.answers.method(query.response_method)
        raw = getattr(estimator, method)(X)
        response = model.responses[method].read(raw, len(rows) + len(self.companions))
        classes = getattr(estimator, "classes_", None)
        values: NDArray[Any] = query.record_values(y, response.copy(), classes)
        n_above = self.companions.n_above
        return _Predicted(response, values, slice(n_above, n_above + len(rows)))

    def _batch(self, rows: NDArray[np.intp]) -> Batch:
        """Describe a batch: its rows and their units; each companion is a unit."""
        n_above = self.companions.n_above
        n = len(rows)
        units = rows if self.units.labels is None else self.units.labels[rows]
        units = np.where(rows < 0, -1 - np.arange(n), units)
        below = len(self.companions) - n_above
        complete = bool(self.name) and n == self.n and bool((rows >= 0).all())
        return Batch(n_above, below, rows, units, self.name, complete, self.cut)

    def _failing_units(self, predict: Callable[..., Any]) -> list[int]:
        """Find the units that fail beside companions, or change companions' values, by halving."""
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
    """Return True if companions got the same beside other records as without them."""
    near = np.allclose(values, model.values[0], rtol=0, atol=_TOLERANCE, equal_nan=True)
    return near and agree(response, expected, expected, model.answers.classes is not None)
