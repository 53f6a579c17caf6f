"""Curator and modeler together, in one process or by messages (zone: boundary).

Messages are dictionaries that JSON can represent:

    {"type": "table"}                                                           modeler to curator
    {"type": "table", "version": 1, "rows": [[...], ...], "input_noise": 0.0}    curator to modeler
    {"type": "ask", "rows": [17, ...]}                                          modeler to curator
    {"type": "tell", "rows": [17, ...], "values": [0.3, ...]}                   curator to modeler
    {"type": "done", "row": 17, "value": 0.3}                                   modeler to curator

With a `PrivateObjective` there are candidates ("settings") in place of rows, and a value is null if
a candidate cannot be fitted:

    {"type": "terms"}                                                           modeler to curator
    {"type": "terms", "version": 1, "score": ..., "settings": {...}, ...}       curator to modeler
    {"type": "ask", "settings": [{"C": 0.3}, ...]}                              modeler to curator
    {"type": "tell", "settings": [{"C": 0.3}, ...], "values": [0.8, ...], "calls_left": 7}
    {"type": "best"}                                                            modeler to curator
    {"type": "best", "setting": {"C": 0.3}, "value": 0.81, "interval": [0.79, 0.83]}
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterable
from functools import cache
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...objective._messages import VERSION, MessageError, check_message, number
from ...objective._objective import PrivateObjective
from ...objective._spaces import Range, domains
from ._modeler import Modeler

__all__ = ["CuratorSide", "ModelerSide", "optimize"]

# Rows or candidates of one message.
_MOST_ITEMS = 100


class CuratorSide:
    """The side that holds the data: sends outcomes by row number or by candidate.

    Either of the rows of a curator, without noise, by row number. Or the scores of a
    `PrivateObjective`, by candidate: they have noise, and there are as many as the objective has
    calls.

    Parameters
    ----------
    curator : GaussianCurator, ProjectionCurator or None, default=None
        A fitted curator, whose table is sent.
    oracle : PrivateObjective or callable
        With a curator, a callable that takes a row number and returns the outcome of the row, a
        float, which is sent without noise. It is called once per row. To limit how many are sent,
        let it raise `BudgetExceededError`.
    settings : dict, default=None
        The candidates that a `PrivateObjective` offers: from names of parameters to lists of values
        that JSON can represent, or scipy.stats' `uniform`, `loguniform` and `randint`. This must be
        the objective's only user.

    Attributes
    ----------
    result : tuple (row, value) or None
        The best row and its outcome, as the modeler reported them at the end.
    """

    def __init__(
        self,
        curator: Any = None,
        oracle: PrivateObjective | Callable[[int], float] | None = None,
        *,
        settings: Any = None,
    ) -> None:
        private = isinstance(oracle, PrivateObjective)
        if not callable(oracle) or {curator is None, settings is not None} != {private}:
            raise ValueError(
                "pass a fitted curator and a function of a row number as oracle, or a "
                f"PrivateObjective as oracle and settings; found {curator!r}, {oracle!r} and "
                f"{settings!r:.200}"
            )
        self._curator, self._oracle = curator, oracle if private else cache(oracle)
        self._objective = oracle if isinstance(oracle, PrivateObjective) else None
        self._settings = _offered(oracle, settings) if self._objective else {}
        if curator is not None:
            check_is_fitted(curator, "released_")
        self._lock = threading.Lock()
        self.result: tuple[int, float] | None = None

    def table(self) -> dict[str, Any]:
        """Return the message with the released table."""
        if self._curator is None:
            raise MessageError("there is no table: ask for outcomes by settings")
        return {
            "type": "table",
            "version": VERSION,
            "rows": self._curator.released_.tolist(),
            "input_noise": float(getattr(self._curator, "sigma_", 0.0)),
        }

    def terms(self) -> dict[str, Any]:
        """Return the message with what a `PrivateObjective` offers and how many calls are left."""
        objective = self._private()
        return {
            "type": "terms",
            "version": VERSION,
            "score": objective.scorer_.name,
            "is_score": objective.scorer_.is_mean,  # if not, outcomes are a proxy for it
            "noise_std": objective.noise_std_,
            "calls_left": objective.n_calls_left_,
            "epsilon": objective.privacy_.epsilon,
            "unit": objective.privacy_.unit,
            "settings": {
                name: {"low": domain.low, "high": domain.high}
                if isinstance(domain, Range)
                else domain
                for name, domain in self._settings.items()
            },
        }

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to a message. The final message is kept in `result`: None is returned.

        The message is from `ModelerSide.ask`, or ``{"type": "ask", "settings": [...]}``, or
        ``{"type": "best"}`` for the choice that a `PrivateObjective` makes, or asks for the "table"
        or the "terms". If an objective runs out of calls, BudgetExceededError is raised; outcomes
        that it has released can be asked for again. A malformed message raises MessageError, which
        is a ValueError.
        """
        kind = message.get("type") if isinstance(message, dict) else None
        with self._lock:
            if kind == "done":
                self.result = self._result(message)
                return None
            questions = {"table": self.table, "terms": self.terms, "best": self._best}
            return questions[kind]() if kind in questions else self._tell(message)

    def _tell(self, message: Any) -> dict[str, Any]:
        name = "rows" if self._objective is None else "settings"
        items = _items_of(message, "ask", name)
        if len(items) > _MOST_ITEMS:
            raise MessageError(
                f"a message may ask for at most {_MOST_ITEMS} {name}; found {len(items)}"
            )
        canonical = self._row if self._objective is None else self._setting
        asked = [canonical(each) for each in items]
        answer = {"type": "tell", name: asked, "values": [self._outcome(each) for each in asked]}
        if self._objective is None:
            return answer
        return {**answer, "calls_left": self._objective.n_calls_left_}

    def _outcome(self, asked: Any) -> float | None:
        value = float(self._oracle(asked))
        if math.isfinite(value):
            return value
        if self._objective is None:
            raise ValueError(f"the outcome of row {asked} is {value}, not a finite number")
        return None  # it cannot be fitted

    def _row(self, row: Any) -> int:
        n = len(self._curator.released_)
        return int(number("a row", row, f"numbered from 0 to {n - 1}", lambda r: 0 <= r < n))

    def _setting(self, candidate: Any) -> dict[str, Any]:
        """Return a candidate with the space's own values, such as 1 for 1.0 in a list with 1."""
        if not isinstance(candidate, dict) or set(candidate) != set(self._settings):
            raise MessageError(
                f"each of settings must be a dict of {sorted(self._settings)}; found "
                f"{candidate!r:.200}"
            )
        return {name: _value(name, self._settings[name], candidate[name]) for name in candidate}

    def _private(self) -> PrivateObjective:
        if self._objective is None:
            raise MessageError("there is no PrivateObjective: outcomes are sent without noise")
        return self._objective

    def _best(self) -> dict[str, Any]:
        objective = self._private()
        if not any(math.isfinite(call.score) for call in objective.calls_):
            raise MessageError("no candidate has been scored yet")
        for call in objective.calls_:
            self._setting(call.params)  # the best may be another user's, of which nothing is said
        setting, value, interval = objective.best()
        return {"type": "best", "setting": setting, "value": value, "interval": list(interval)}

    def _result(self, message: dict[str, Any]) -> tuple[int, float]:
        if self._curator is None:
            raise MessageError('there are no rows: ask for {"type": "best"} instead')
        any_number = "a number", lambda _: True, Real
        value = number("the value of a result", message.get("value"), *any_number)
        return self._row(message.get("row")), value


def _offered(objective: Any, settings: Any) -> dict[str, list[Any] | Range]:
    """Return what a modeler may ask for, which the estimator has and JSON can represent."""
    space = domains(settings)
    objective._checked({name: d.low if isinstance(d, Range) else d[0] for name, d in space.items()})
    try:
        same = json.loads(json.dumps(space, allow_nan=False)) == {k: [*d] for k, d in space.items()}
    except (TypeError, ValueError):
        same = False
    if not same:
        raise ValueError(f"settings must have values that JSON can represent; found {space!r:.200}")
    return space


def _value(name: str, domain: list[Any] | Range, value: Any) -> Any:
    """Return the domain's own value that equals this one."""
    if isinstance(domain, Range):
        low, high = domain.low, domain.high
        expected = f"{'a whole number' if domain.whole else 'a number'} from {low!r} to {high!r}"
        number(name, value, expected, lambda v: low <= v <= high, Real)
        if not domain.whole:
            return float(value)
        if value == int(value):
            return int(value)
        raise MessageError(f"{name} is {expected}; found {value!r:.200}")
    for known in domain:
        # JSON may send 1.0 for 1; but True is not 1.
        if known == value and isinstance(known, bool) == isinstance(value, bool):
            return known
    raise MessageError(f"{name} must be one of {domain!r}; found {value!r:.200}")


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
        check_message(message, type="table", version=VERSION)
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


def _items_of(message: Any, kind: str, name: str) -> list[Any]:
    check_message(message, type=kind)
    if not isinstance(message.get(name), list):
        raise MessageError(f"expected a message with a list of {name}; found {message!r:.200}")
    items: list[Any] = message[name]
    return items


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
    if hasattr(curated, "fit"):
        check_is_fitted(curated, "released_")
    Z = getattr(curated, "released_", curated)
    params = {"input_noise": float(getattr(curated, "sigma_", 0.0)), **params}
    modeler = Modeler(Z, n_iter=n_iter, **params)
    for row in start:
        modeler.tell(row, float(oracle(row)))
    while len(modeler.rows) < n_iter:
        row = modeler.ask()
        modeler.tell(row, float(oracle(row)))
    return modeler
