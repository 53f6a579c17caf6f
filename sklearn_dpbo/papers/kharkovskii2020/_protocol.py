"""Curator and modeler together, in one process or by messages (zone: boundary).

Messages are dictionaries that JSON can represent:

    {"type": "table"}                                                           modeler to curator
    {"type": "table", "version": 1, "rows": [[...], ...], "input_noise": 0.0}    curator to modeler
    {"type": "ask", "rows": [17, ...]}                                          modeler to curator
    {"type": "tell", "rows": [17, ...], "values": [0.3, ...]}                   curator to modeler
    {"type": "done", "row": 17, "value": 0.3}                                   modeler to curator
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from functools import cache
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ...privacy.checks import check_number
from ...records.fit_parameters import Public
from ._modeler import Modeler

VERSION = 1

# Rows of one message.
_MOST_ROWS = 100


class MessageError(ValueError):
    """A message is malformed or asks for something not offered. Its text may be sent back."""


class CuratorSide:
    """The side that holds the data: hands over a table, and outcomes by row number.

    Parameters
    ----------
    curated : GaussianCurator, ProjectionCurator, or `public` table
        A fitted curator; or ``public(table)`` for a table that needs no protection, such as one of
        candidates, of shape (n_rows, n_components).
    oracle : callable
        Takes a row number and returns the outcome of the row, a float. It is called once per row,
        and what it returns is sent as it is: outcomes are not protected. To limit how many are
        sent, let it raise `BudgetExceededError`.

    Attributes
    ----------
    result : tuple (row, value) or None
        The best row and its outcome, as the modeler reported them at the end.
    """

    def __init__(self, curated: Any, oracle: Callable[[int], float]) -> None:
        if not callable(oracle):
            raise ValueError(f"oracle must be a function of a row number; found {oracle!r}")
        if isinstance(curated, Public):
            curated = curated.value
        elif not hasattr(curated, "fit"):
            raise ValueError(
                "curated must be a fitted curator, whose table has noise, or public(table) for a "
                f"table that needs no protection; found {type(curated).__name__}"
            )
        self._rows, self._input_noise = _table_of(curated)
        self._oracle = cache(oracle)
        self._lock = threading.Lock()
        self.result: tuple[int, float] | None = None

    def table(self) -> dict[str, Any]:
        """Return the message with the table."""
        return {
            "type": "table",
            "version": VERSION,
            "rows": self._rows.tolist(),
            "input_noise": self._input_noise,
        }

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Answer a message of `ModelerSide.ask`, or one that asks for the "table".

        The final message sets `result`, and its answer is None. A malformed message raises
        MessageError, which is a ValueError. Errors of the oracle are passed on; outcomes that were
        sent before can then be asked for again.
        """
        kind = message.get("type") if isinstance(message, dict) else None
        with self._lock:
            if kind == "table":
                return self.table()
            if kind == "done":
                value = _number("the value of a result", message.get("value"), "a number", Real)
                self.result = self._row(message.get("row")), value
                return None
            asked = [self._row(row) for row in _items_of(message, "ask", "rows")]
            if len(asked) > _MOST_ROWS:
                raise MessageError(
                    f"a message may ask for at most {_MOST_ROWS} rows; found {len(asked)}"
                )
            return {"type": "tell", "rows": asked, "values": [self._outcome(row) for row in asked]}

    def _outcome(self, row: int) -> float:
        value = float(self._oracle(row))
        if not math.isfinite(value):
            raise ValueError(f"the outcome of row {row} is {value}, not a finite number")
        return value

    def _row(self, row: Any) -> int:
        n = len(self._rows)
        number: int = _number(
            "a row", row, f"numbered from 0 to {n - 1}", int, lambda r: 0 <= r < n
        )
        return number


class ModelerSide:
    """The side that optimises: receives the table, asks for outcomes and receives them.

    Parameters
    ----------
    message : dict
        The message with the table, as `CuratorSide.table` returns it.
    n_iter : int
        Number of outcomes to ask for.
    **params : dict
        Parameters of `Modeler`. If `input_noise` is not among them, it is that of the table.

    Attributes
    ----------
    modeler : Modeler
        With all rows and outcomes so far.
    """

    def __init__(self, message: dict[str, Any], n_iter: int, **params: Any) -> None:
        _check_message(message, type="table", version=VERSION)
        if not {"rows", "input_noise"} <= set(message):
            raise MessageError("the table has no rows or no input_noise")
        params = {"input_noise": message["input_noise"], **params}
        self.modeler = Modeler(np.array(message["rows"], float), n_iter=n_iter, **params)
        self._n_iter = n_iter

    def ask(self) -> dict[str, Any]:
        """Return the message that asks for (missing) outcomes or, at the end, has the result."""
        if len(self.modeler.rows) >= self._n_iter:
            row, value = self.modeler.best()
            return {"type": "done", "row": row, "value": value}
        if not self.modeler.pending:
            self.modeler.ask()
        return {"type": "ask", "rows": list(self.modeler.pending)}

    def tell(self, message: dict[str, Any]) -> None:
        """Receive outcomes, as `CuratorSide.answer` returns them."""
        self.modeler.tell(_items_of(message, "tell", "rows"), _items_of(message, "tell", "values"))


def _check_message(message: Any, **expected: Any) -> None:
    """Raise MessageError unless this is a message with these entries."""
    entries = message if isinstance(message, dict) else {}
    if any(entries.get(key) != value for key, value in expected.items()):
        raise MessageError(f"expected a message with {expected}; found {message!r:.200}")


def _number(
    name: str, value: Any, expected: str, kind: type, holds: Callable[[Any], bool] = lambda _: True
) -> Any:
    """Return a number from a message; raise MessageError if it is not as expected."""
    try:
        check_number(name, value, expected, holds, kind)
    except ValueError as error:
        raise MessageError(str(error)) from None
    return value


def _items_of(message: Any, kind: str, name: str) -> list[Any]:
    _check_message(message, type=kind)
    if not isinstance(message.get(name), list):
        raise MessageError(f"expected a message with a list of {name}; found {message!r:.200}")
    items: list[Any] = message[name]
    return items


def _table_of(curated: Any) -> tuple[NDArray[np.float64], float]:
    """Return the rows that the modeler sees, and the standard deviation of their noise."""
    if hasattr(curated, "fit"):
        check_is_fitted(curated, "released_")
    table = check_array(getattr(curated, "released_", curated), dtype=np.float64)
    return table, float(getattr(curated, "sigma_", 0.0))


def optimize(
    curated: Any,
    oracle: Callable[[int], float],
    n_iter: int,
    *,
    start: Iterable[int] = (),
    **params: Any,
) -> Modeler:
    """Run both sides in one process, for a simulation.

    Parameters
    ----------
    curated : GaussianCurator, ProjectionCurator, or array-like of shape (n_rows, n_components)
        A fitted curator, or a table without noise.
    oracle : callable
        Takes a row number and returns the outcome of the row, a float.
    n_iter : int
        Number of outcomes to ask for, including those of `start`.
    start : iterable of int, default=()
        Rows whose outcomes come first.
    **params : dict
        Parameters of `Modeler`. If `input_noise` is not among them, it is that of the curator.

    Returns
    -------
    modeler : Modeler
        With `rows`, `values` and `best`.
    """
    Z, input_noise = _table_of(curated)
    modeler = Modeler(Z, n_iter=n_iter, **{"input_noise": input_noise, **params})
    for row in start:
        modeler.tell(row, float(oracle(row)))
    while len(modeler.rows) < n_iter:
        row = modeler.ask()
        modeler.tell(row, float(oracle(row)))
    return modeler
