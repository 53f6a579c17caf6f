"""The only way to predictions of protected records (zone: sensitive).

*Contract.* `ProtectedTable.values` is given a fitted `Model`, with what the public companions get
of it, and a query. It returns one value per record. The value of a unit is what it gets beside the
companions alone, or the lowest if it cannot be had; so no other unit has a part in it. To save
time, all units are predicted at once by a model whose unlisted parts are called on one unit at a
time (`separately`). That gives the same, as all other parts predict row by row.

* Each call of the user's code gets copies, unpickled for it and dropped after it.
* If predicting all at once fails, or the companions get anything else than they should, the units
  that are to blame are found by halving, beside companions, never alone. Companions stand in their
  places; what they get themselves is what they get beside the companions alone.
* So is what units get that a part failed for, or returned something of another kind for.
* If that fails, too, each unit is predicted beside the companions alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

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

# By how much the companions' values may differ through rounding, in steps of their grid. One unit's
# is what 65,536 records would make together of such a difference.
_TOLERANCE = 16


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedTable:
    """Protected records; their labels, which follow the companions'; their units and companions.

    `X` are the protected records alone: of many, each copy takes memory. What parts of models
    return for all of them is kept under the `name`, if it has one, for other candidates. A part of
    a table has some of its units, in these `rows`; its `cut` is which part it is, of how many.
    """

    X: Any
    labels: NDArray[Any] | None
    units: Units
    companions: Companions
    name: str = ""
    cut: tuple[int, int] = (0, 1)
    rows: NDArray[np.intp] | None = None

    @classmethod
    @ignore_float_errors()  # of casts, which would tell of a label
    def of(cls, rows: ProtectedRows, companions: Companions) -> ProtectedTable:
        """Return protected rows, to be predicted beside these companions."""
        y = rows.y
        if y is not None and companions.y is not None:
            y = np.concatenate([companions.y, y])
        return cls(rows.X, y, rows.units, companions)

    @property
    def y(self) -> Any:
        """The protected labels."""
        return None if self.labels is None else self.labels[len(self.companions) :]

    @property
    def n(self) -> int:
        """Number of protected records."""
        return n_rows(self.X)

    def part(self, k: int, n: int) -> ProtectedTable:
        """Return the units of the k-th of n parts: what they get is what they get among all."""
        first, last = (i * self.units.m // n for i in (k, k + 1))
        rows = self.units.rows(first, last)
        own = None if self.units.labels is None else self.units.labels[rows] - first
        labels, n_public = self.labels, len(self.companions)
        if labels is not None:
            labels = labels[np.concatenate([np.arange(n_public), n_public + rows])]
        X, units = take_rows(self.X, rows) if n > 1 else self.X, Units(last - first, own)
        return replace(self, X=X, labels=labels, units=units, cut=(k, n), rows=rows)

    def statistics(self, model: Model, query: Query) -> tuple[int, ...]:
        """Return the raw integers of a query that the model was made for."""
        return self.counted(self.values(model, query), query)

    def counted(self, values: NDArray[Any], query: Query) -> tuple[int, ...]:
        """Return the raw integers of a query, for one value per record."""
        isolated = query_for_protected(packed(query))
        return tuple(isolated.statistics(values, self.y, self.units))

    @hold_interrupts()
    @ignore_float_errors()
    def values(self, model: Model, query: Query) -> NDArray[Any]:
        """Return one value per record: see the contract."""
        packed_query = packed(query)
        predict = partial(self.beside_companions, model, packed_query)
        everyone = np.arange(self.n)
        failing: list[int] = []
        predicted = predict(everyone)
        if predicted is None:
            failing = self._failing_units(predict)
            for u in failing:
                everyone[self.units.rows(u, u + 1)] = -1
            predicted = predict(everyone) if len(failing) < self.units.m else None
        lowest = query_for_protected(packed_query).lowest_values(self.y, self.n)
        # None: of units that fail together, and not by themselves.
        values, odd = predicted or (lowest, set(range(self.units.m)))
        values = values.copy()
        for u in odd.union(failing):
            rows = self.units.rows(u, u + 1)
            # Whatever it does to the companions, no other unit has a part in it.
            own = self._alone(model, packed_query, rows)
            values[rows] = lowest[rows] if own is None else own
        return values

    def batch(self, rows: NDArray[np.intp]) -> tuple[Any, NDArray[Any] | None]:
        """Return X and y of the companions above, these protected rows, the companions below.

        A row number of -1 stands for the first companion.
        """
        k, n_above = len(self.companions), self.companions.n_above
        own = np.where(rows < 0, 0, rows + k)
        index = np.concatenate([np.arange(n_above), own, np.arange(n_above, k)])
        y = None if self.labels is None else self.labels[index]
        return with_own_cells(self._rows(rows)), y

    def _rows(self, rows: NDArray[np.intp]) -> Any:
        public = self.companions.X
        index = np.arange(len(self.companions))
        above, below = (
            take_rows(public, part) for part in np.split(index, [self.companions.n_above])
        )
        own = self.X  # all of them are copied once
        if not np.array_equal(rows, np.arange(self.n)):
            own = stack([take_rows(public, index[:1]), take_rows(own, rows[rows >= 0])])
            own = take_rows(own, np.where(rows < 0, 0, np.cumsum(rows >= 0)))
        both = stack([above, own, below])
        # Sums depend on the layout.
        return np.ascontiguousarray(both) if isinstance(both, np.ndarray) else both

    def beside_companions(
        self, model: Model, packed_query: bytes, rows: NDArray[np.intp]
    ) -> tuple[NDArray[Any], set[int]] | None:
        """Return the values of these rows, and the units among them to be predicted alone.

        Or None if the companions do not get what they should, or at any error: why it failed
        depends on protected records.
        """
        with drop_errors():
            batch = self._batch(rows)
            estimator = for_batch(model.cut, batch) if model.cut else fresh(model.pickled)
            response, values, own = self._predicted(model, estimator, packed_query, rows)
            expected = model.responses[model.method(fresh(packed_query))]
            beside = np.delete(np.arange(len(values)), own)
            if _as_expected(model, response[beside], values[beside], expected.values):
                return values[own], batch.odd and batch.odd & {*batch.units[rows >= 0].tolist()}
        return None

    def companions_get(self, model: Model, method: str) -> Any:
        """Predict companions by the way of protected rows, beside one of them in such a place."""
        rows = np.full(1, -1)
        X, _ = self.batch(rows)
        response = getattr(for_batch(model.cut, self._batch(rows)), method)(X)
        return np.delete(response, self.companions.n_above, axis=0)

    def _alone(self, model: Model, packed_query: bytes, rows: NDArray[np.intp]) -> Any:
        """Return the values of the rows of one unit, whatever companions get beside it, or None."""

        def values(estimator: Any) -> NDArray[Any]:
            _, values, own = self._predicted(model, estimator, packed_query, rows)
            return values[own]

        return Calls(model.pickled)(values)

    def _predicted(
        self, model: Model, estimator: Any, packed_query: bytes, rows: NDArray[np.intp]
    ) -> tuple[NDArray[Any], NDArray[Any], slice]:
        """Return responses and values of companions and these rows, and where the latter are."""
        (X, y), query = self.batch(rows), query_for_protected(packed_query)
        method = model.answers.method(query.response_method)
        raw = getattr(estimator, method)(X)
        response = model.responses[method].read(raw, len(rows) + len(self.companions))
        classes = getattr(estimator, "classes_", None)
        values: NDArray[Any] = query.record_values(y, response.copy(), classes)
        own = slice(self.companions.n_above, self.companions.n_above + len(rows))
        return response, values, own

    def _batch(self, rows: NDArray[np.intp]) -> Batch:
        """Return which units the rows of a batch belong to; each companion is one of its own."""
        n_above = self.companions.n_above
        n = len(rows)
        units = rows if self.units.labels is None else self.units.labels[rows]
        units = np.where(rows < 0, -1 - np.arange(n), units)
        below = len(self.companions) - n_above
        complete = bool(self.name) and n == self.n and bool((rows >= 0).all())
        return Batch(n_above, below, rows, units, self.name, complete, self.cut)

    def _failing_units(self, predict: Callable[..., Any]) -> list[int]:
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
