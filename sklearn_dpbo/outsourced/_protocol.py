"""The two sides together, in one process or by messages (zone: boundary).

Messages are plain dictionaries, good for JSON:

    {"type": "table", "version": 1, "rows": [[...], ...], "input_noise": 0.0}    curator to modeler
    {"type": "ask", "rows": [17, ...]}                                          modeler to curator
    {"type": "tell", "rows": [17, ...], "values": [0.3, ...]}                   curator to modeler
    {"type": "done", "row": 17, "value": 0.3}                                   modeler to curator
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._modeler import Modeler

__all__ = ["CuratorSide", "ModelerSide", "optimize"]

_VERSION = 1


class CuratorSide:
    """The side that holds the data: hands over the table once, and outcomes by row number.

    Parameters
    ----------
    curator : GaussianCurator or ProjectionCurator
        Fitted.
    oracle : callable
        Of a row number, to its outcome. It is called once a row. Outcomes are not protected.
    most : int, default=None
        The most rows to give outcomes of; None is no limit.
    """

    def __init__(self, curator, oracle: Callable, most: int | None = None):
        check_is_fitted(curator, "released_")
        self._curator, self._oracle, self._most = curator, oracle, most
        self._known: dict[int, float] = {}
        self.result: tuple[int, float] | None = None

    def table(self) -> dict:
        """Return the message that hands over the released table."""
        return {
            "type": "table",
            "version": _VERSION,
            "rows": self._curator.released_.tolist(),
            "input_noise": float(getattr(self._curator, "sigma_", 0.0)),
        }

    def answer(self, message: dict) -> dict | None:
        """Return the answer to a question; None to a result, which is kept in `result`.

        Raises
        ------
        ValueError
            If the message makes no sense, asks for more rows than `most`, or an outcome is not a
            finite number.
        """
        if isinstance(message, dict) and message.get("type") == "done":
            row: Any = message.get("row")
            value = message.get("value")
            self._check_rows([row])
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"the value of a result is a number; found {value!r:.100}")
            self.result = row, value
            return None
        rows = _rows_of(message, "ask")
        self._check_rows(rows)
        if self._most is not None and len({*rows, *self._known}) > self._most:
            raise ValueError(f"outcomes of {self._most} rows are given, and no more")
        for row in rows:
            if row not in self._known:
                value = float(self._oracle(row))
                if not math.isfinite(value):
                    raise ValueError(
                        f"the outcome of row {row} is {value}, and cannot be handed on"
                    )
                self._known[row] = value
        return {"type": "tell", "rows": rows, "values": [self._known[row] for row in rows]}

    def _check_rows(self, rows: list) -> None:
        n = len(self._curator.released_)
        for row in rows:
            if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < n:
                raise ValueError(f"rows are numbered 0 to {n - 1}; found {row!r:.100}")


class ModelerSide:
    """The side that optimises: takes the table, asks, and takes outcomes.

    Parameters
    ----------
    message : dict
        The table.
    n_iter : int
        Outcomes to ask for.
    batch_size : int, default=1
    **params
        Of `Modeler`; the input noise is the table's.
    """

    def __init__(self, message: dict, n_iter: int, batch_size: int = 1, **params):
        kind, version = (message.get(key) for key in ("type", "version"))
        if (kind, version) != ("table", _VERSION) or not {"rows", "input_noise"} <= set(message):
            raise ValueError(
                f"a table of version {_VERSION}, with rows and input_noise, comes first; found "
                f"type {kind!r}, version {version!r}"
            )
        params = {"input_noise": message["input_noise"], **params}
        self.modeler = Modeler(np.array(message["rows"], float), n_iter=n_iter, **params)
        self._n_iter, self._batch_size = n_iter, batch_size

    def ask(self) -> dict:
        """Return the next question; the result, when all have been answered.

        A question that was not answered is asked again.
        """
        left = self._n_iter - len(self.modeler.rows)
        if left <= 0:
            row, value = self.modeler.best()
            return {"type": "done", "row": row, "value": value}
        if not self.modeler.pending:
            self.modeler.ask(min(left, self._batch_size))
        return {"type": "ask", "rows": list(self.modeler.pending)}

    def tell(self, message: dict) -> None:
        """Take outcomes."""
        rows = _rows_of(message, "tell")
        if not isinstance(message.get("values"), list):
            raise ValueError(f"expected a list of values; found {message!r:.200}")
        self.modeler.tell(rows, message["values"])


def _rows_of(message: dict, kind: str) -> list:
    fits = isinstance(message, dict) and message.get("type") == kind
    if not (fits and isinstance(message.get("rows"), list)):
        raise ValueError(f"expected a message of type {kind!r} with rows; found {message!r:.200}")
    return message["rows"]


def optimize(
    curated, oracle: Callable, n_iter: int, *, batch_size: int = 1, start=(), **params
) -> Modeler:
    """Run both sides in one process, for a simulation.

    Parameters
    ----------
    curated : GaussianCurator, ProjectionCurator, or array-like of shape (n_rows, n_components)
        Fitted; an array is a table without noise.
    oracle : callable
        Of a row number, to its outcome.
    n_iter : int
    batch_size : int, default=1
    start : iterable of int, default=()
        Rows to begin with.
    **params
        Of `Modeler`; the input noise is the curator's, if not given.

    Returns
    -------
    modeler : Modeler
        With all it asked for: `rows`, `values`, `best`.
    """
    if hasattr(curated, "fit"):
        check_is_fitted(curated, "released_")
    Z = getattr(curated, "released_", curated)
    params = {"input_noise": float(getattr(curated, "sigma_", 0.0)), **params}
    modeler = Modeler(Z, n_iter=n_iter, **params)
    modeler.tell(list(start), [float(oracle(row)) for row in start])
    while len(modeler.rows) < n_iter:
        rows = modeler.ask(min(batch_size, n_iter - len(modeler.rows)))
        modeler.tell(rows, [float(oracle(row)) for row in rows])
    return modeler
