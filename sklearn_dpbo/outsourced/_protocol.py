"""Curator and modeler together, in one process or by messages (zone: boundary).

Messages are dictionaries that JSON can represent:

    {"type": "table", "version": 1, "rows": [[...], ...], "input_noise": 0.0}    curator to modeler
    {"type": "ask", "rows": [17, ...]}                                          modeler to curator
    {"type": "tell", "rows": [17, ...], "values": [0.3, ...]}                   curator to modeler
    {"type": "done", "row": 17, "value": 0.3}                                   modeler to curator
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._params import check_number
from ._modeler import Modeler

__all__ = ["CuratorSide", "ModelerSide", "optimize"]

_VERSION = 1


class CuratorSide:
    """The side that holds the data: sends the released table, and outcomes by row number.

    Parameters
    ----------
    curator : GaussianCurator or ProjectionCurator
        A fitted curator.
    oracle : callable
        Takes a row number and returns the outcome of the row, a float. It is called once per row.
        Outcomes are not protected.
    most : int, default=None
        Largest number of rows whose outcomes are sent; None is no limit.

    Attributes
    ----------
    result : tuple (row, value) or None
        The best row and its outcome, as the modeler reported them at the end.
    """

    def __init__(
        self, curator: Any, oracle: Callable[[int], float], most: int | None = None
    ) -> None:
        check_is_fitted(curator, "released_")
        self._curator, self._oracle, self._most = curator, oracle, most
        self._known: dict[int, float] = {}
        self.result: tuple[int, float] | None = None

    def table(self) -> dict[str, Any]:
        """Return the message with the released table."""
        return {
            "type": "table",
            "version": _VERSION,
            "rows": self._curator.released_.tolist(),
            "input_noise": float(getattr(self._curator, "sigma_", 0.0)),
        }

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to a message; None to a result, which is kept in `result`.

        Parameters
        ----------
        message : dict
            As `ModelerSide.ask` returns it.

        Raises
        ------
        ValueError
            If the message is malformed or asks for more rows than `most`, or if an outcome is not a
            finite number.
        """
        if isinstance(message, dict) and message.get("type") == "done":
            row: Any = message.get("row")
            value: Any = message.get("value")
            self._check_rows([row])
            check_number("the value of a result", value, "a number", finite=False)
            self.result = row, value
            return None
        rows = _rows_of(message, "ask")
        self._check_rows(rows)
        if self._most is not None and len({*rows, *self._known}) > self._most:
            raise ValueError(f"outcomes of {self._most} rows are sent at most")
        for row in rows:
            if row not in self._known:
                value = float(self._oracle(row))
                if not math.isfinite(value):
                    raise ValueError(f"the outcome of row {row} is {value}, not a finite number")
                self._known[row] = value
        return {"type": "tell", "rows": rows, "values": [self._known[row] for row in rows]}

    def _check_rows(self, rows: list[Any]) -> None:
        n = len(self._curator.released_)
        for row in rows:
            # Of the type that JSON gives: the row is sent back.
            check_number("a row", row, f"numbered 0 to {n - 1}", lambda r: 0 <= r < n, int)


class ModelerSide:
    """The side that optimises: receives the table, asks for outcomes and receives them.

    Parameters
    ----------
    message : dict
        The message with the table, as `CuratorSide.table` returns it.
    n_iter : int
        Number of outcomes to ask for.
    batch_size : int, default=1
        Number of rows to ask for at a time.
    **params : dict
        Parameters of `Modeler`. If `input_noise` is not among them, it is that of the table.

    Attributes
    ----------
    modeler : Modeler
        With all rows and outcomes so far.
    """

    def __init__(
        self, message: dict[str, Any], n_iter: int, batch_size: int = 1, **params: Any
    ) -> None:
        kind, version = (message.get(key) for key in ("type", "version"))
        if (kind, version) != ("table", _VERSION) or not {"rows", "input_noise"} <= set(message):
            raise ValueError(
                f"the first message is a table of version {_VERSION}, with rows and input_noise; "
                f"found type {kind!r}, version {version!r}"
            )
        params = {"input_noise": message["input_noise"], **params}
        self.modeler = Modeler(np.array(message["rows"], float), n_iter=n_iter, **params)
        self._n_iter, self._batch_size = n_iter, batch_size

    def ask(self) -> dict[str, Any]:
        """Return the message that asks for outcomes or, at the end, has the result.

        As long as outcomes are missing, the same rows are asked for again.
        """
        left = self._n_iter - len(self.modeler.rows)
        if left <= 0:
            row, value = self.modeler.best()
            return {"type": "done", "row": row, "value": value}
        if not self.modeler.pending:
            self.modeler.ask(min(left, self._batch_size))
        return {"type": "ask", "rows": list(self.modeler.pending)}

    def tell(self, message: dict[str, Any]) -> None:
        """Receive outcomes, as `CuratorSide.answer` returns them."""
        rows = _rows_of(message, "tell")
        if not isinstance(message.get("values"), list):
            raise ValueError(f"expected a list of values; found {message!r:.200}")
        self.modeler.tell(rows, message["values"])


def _rows_of(message: Any, kind: str) -> list[Any]:
    expected = isinstance(message, dict) and message.get("type") == kind
    rows = message.get("rows") if expected else None
    if not isinstance(rows, list):
        raise ValueError(f"expected a message of type {kind!r} with rows; found {message!r:.200}")
    return rows


def optimize(
    curated: Any,
    oracle: Callable[[int], float],
    n_iter: int,
    *,
    batch_size: int = 1,
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
    batch_size : int, default=1
        Number of rows to ask for at a time.
    start : iterable of int, default=()
        Rows whose outcomes come first.
    **params : dict
        Parameters of `Modeler`. If `input_noise` is not among them, it is that of the curator.

    Returns
    -------
    modeler : Modeler
        With `rows`, `values` and `best`.
    """
    if hasattr(curated, "fit"):
        check_is_fitted(curated, "released_")
    Z = getattr(curated, "released_", curated)
    params = {"input_noise": float(getattr(curated, "sigma_", 0.0)), **params}
    modeler = Modeler(Z, n_iter=n_iter, **params)
    first = list(start)
    modeler.tell(first, [float(oracle(row)) for row in first])
    while len(modeler.rows) < n_iter:
        rows = modeler.ask(min(batch_size, n_iter - len(modeler.rows)))
        modeler.tell(rows, [float(oracle(row)) for row in rows])
    return modeler
