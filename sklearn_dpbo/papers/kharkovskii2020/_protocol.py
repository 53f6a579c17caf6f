"""Curator and modeler together, in one process or by messages (zone: boundary).

Messages are dictionaries that JSON can represent:

    {"type": "table", "version": 1, "rows": [[...], ...], "input_noise": 0.0}    curator to modeler
    {"type": "ask", "rows": [17, ...]}                                          modeler to curator
    {"type": "tell", "rows": [17, ...], "values": [0.3, ...]}                   curator to modeler
    {"type": "done", "row": 17, "value": 0.3}                                   modeler to curator

With a `PrivateObjective`, "terms" lists what it offers, "tell" also has "calls_left", a value is
null if a candidate cannot be fitted, and "best" asks for the choice. Messages may have candidates
("settings") in place of rows:

    {"type": "ask", "settings": [{"C": 0.3}, ...]}                              modeler to curator
    {"type": "tell", "settings": [{"C": 0.3}, ...], "values": [0.8, ...], "calls_left": 7}
    {"type": "best"}                                                            modeler to curator
    {"type": "best", "setting": {"C": 0.3}, "value": 0.81, "interval": [0.79, 0.83]}
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..._params import check_number
from ...exceptions import BudgetExceededError
from ...objective._inputs import identity
from ...objective._messages import MessageError
from ...objective._objective import PrivateObjective
from ._modeler import Modeler
from ._offers import RowsOffered, SpaceOffered

__all__ = ["CuratorSide", "ModelerSide", "optimize"]

_VERSION = 1


# Rows or candidates of one message.
_MOST_ITEMS = 100


class CuratorSide:
    """The side that holds the data: sends outcomes by row number or by candidate.

    With a `PrivateObjective` as the oracle, outcomes are private, too: they have noise, and there
    are as many as the objective has calls.

    Parameters
    ----------
    curator : GaussianCurator, ProjectionCurator or None, default=None
        A fitted curator; None if no table is sent.
    oracle : PrivateObjective or callable
        A callable takes a row number and returns the outcome of the row, a float, which is sent
        without noise. It is called once per row.
    most : int, default=None
        Largest number of rows or candidates whose outcomes are sent. None means no limit.
    settings : list of dict, or dict, default=None
        The candidates that a `PrivateObjective` offers; this must be the objective's only user. A
        list has one candidate for each row. A dict is a search space as in `PrivateBayesSearchCV`,
        of values that JSON can represent; messages then have candidates in place of row numbers.

    Attributes
    ----------
    result : tuple (row, value) or None
        The best row and its outcome, as the modeler reported them at the end.
    """

    def __init__(
        self,
        curator: Any = None,
        oracle: PrivateObjective | Callable[[int], float] | None = None,
        most: int | None = None,
        *,
        settings: Any = None,
    ) -> None:
        if not callable(oracle):
            hint = ": pass oracle=" if isinstance(curator, PrivateObjective) else ""
            raise ValueError(
                f"oracle must be a PrivateObjective or another callable{hint}; found {oracle!r}"
            )
        if curator is not None:
            check_is_fitted(curator, "released_")
        check_number("most", most, "1 or more", lambda n: n >= 1, Integral, optional=True)
        self._objective = oracle if isinstance(oracle, PrivateObjective) else None
        self._offer = _offer(curator, self._objective, settings)
        self._curator, self._oracle, self._most = curator, oracle, most
        self._known: dict[Any, float | None] = {}
        self._scored: dict[Any, Any] = {}  # rows or candidates, by the identity of the candidate
        self._lock = threading.RLock()
        self.result: tuple[int, float] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())

    def table(self) -> dict[str, Any]:
        """Return the message with the released table."""
        if self._curator is None:
            raise MessageError("there is no table: ask for outcomes by settings")
        return {
            "type": "table",
            "version": _VERSION,
            "rows": self._curator.released_.tolist(),
            "input_noise": float(getattr(self._curator, "sigma_", 0.0)),
        }

    def terms(self) -> dict[str, Any]:
        """Return the message with what a `PrivateObjective` offers and how many calls are left."""
        objective = self._objective
        if objective is None:
            raise MessageError(
                "there are no terms: outcomes are sent without noise and without a budget"
            )
        report = objective.privacy_
        return {
            "type": "terms",
            "version": _VERSION,
            "score": objective.scorer_.name,
            "is_score": objective.scorer_.is_mean,  # if not, outcomes are a proxy for it
            "noise_std": objective.noise_std_,
            "calls_left": objective.n_calls_left_,
            "epsilon": report.epsilon,
            "unit": report.unit,
            **self._offer.to_message(),
        }

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to a message. The final message is kept in `result`: None is returned.

        The message is from `ModelerSide.ask`, or ``{"type": "ask", "settings": [...]}``, or
        ``{"type": "best"}`` for the choice that a `PrivateObjective` makes. If an objective runs
        out of calls, the answer has the outcomes up to that point, or BudgetExceededError is raised
        if there are none. A malformed message raises ValueError.
        """
        kind = message.get("type") if isinstance(message, dict) else None
        with self._lock:
            if kind == "done":
                self.result = self._result(message)
                return None
            if kind == "best":
                return self._best()
            return self._tell(message)

    def _tell(self, message: Any) -> dict[str, Any]:
        name = self._offer.name
        items = _items_of(message, "ask", name)
        if len(items) > _MOST_ITEMS:
            raise MessageError(
                f"a message may ask for at most {_MOST_ITEMS} {name}; found {len(items)}"
            )
        asked = [self._offer.canonical(each) for each in items]
        keys = [_key(each) for each in asked]
        if self._most is not None and len({*keys, *self._known}) > self._most:
            raise MessageError(
                f"outcomes of at most {self._most} {name} are sent, and this message asks for more"
            )
        values: list[float | None] = []
        for each, key in zip(asked, keys, strict=True):
            try:
                if key not in self._known:
                    self._known[key] = self._outcome(each)
            except BudgetExceededError:
                if not values:
                    raise
                break
            values.append(self._known[key])
        answer = {"type": "tell", name: asked[: len(values)], "values": values}
        if self._objective is None:
            return answer
        return {**answer, "calls_left": self._objective.n_calls_left_}

    def _outcome(self, asked: Any) -> float | None:
        if self._objective is None:
            value = float(self._oracle(asked))
            if not math.isfinite(value):
                raise ValueError(f"the outcome of row {asked} is {value}, not a finite number")
            return value
        candidate = self._offer.candidate(asked)
        self._scored.setdefault(identity(candidate), asked)
        score = self._objective(candidate)
        return score if math.isfinite(score) else None  # it cannot be fitted

    def _best(self) -> dict[str, Any]:
        objective = self._objective
        if objective is None:
            raise MessageError(
                'only a PrivateObjective answers {"type": "best"}, and there is none'
            )
        if not any(value is not None for value in self._known.values()):
            raise MessageError("no candidate has been scored yet")
        if not {identity(call.params) for call in objective.calls_} <= self._scored.keys():
            raise MessageError(
                "the objective has other users, and its best candidate may be one of theirs"
            )
        params, value, interval = objective.best()
        found = {self._offer.name[:-1]: self._scored[identity(params)]}
        return {"type": "best", **found, "value": value, "interval": list(interval)}

    def _result(self, message: dict[str, Any]) -> tuple[int, float]:
        row, value = message.get("row"), message.get("value")
        if not isinstance(self._offer, RowsOffered):
            raise MessageError('there are no rows: ask for {"type": "best"} instead')
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise MessageError(f"the value of a result must be a number; found {value!r:.200}")
        return self._offer.canonical(row), value


def _offer(
    curator: Any, objective: PrivateObjective | None, settings: Any
) -> RowsOffered | SpaceOffered:
    if objective is None:
        if curator is None or settings is not None:
            raise ValueError(
                "a callable oracle needs a curator's table, and no settings: pass a fitted "
                "curator, or use a PrivateObjective"
            )
        return RowsOffered(len(curator.released_))
    by_space = isinstance(settings, Mapping)
    offer = SpaceOffered.of(settings) if by_space else RowsOffered.of(settings)
    if curator is not None and (by_space or len(settings) != len(curator.released_)):
        raise ValueError("with a table, settings must be a list with one candidate for each row")
    for each in offer.examples():
        objective.check(each)
        if identity(each) != identity({k: clone(v, safe=False) for k, v in each.items()}):
            raise ValueError(f"a copy of the candidate {each!r:.200} is not equal to it")
    return offer


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
        """Return the message that asks for (missing) outcomes or, at the end, has the result."""
        left = self._n_iter - len(self.modeler.rows)
        if left <= 0:
            row, value = self.modeler.best()
            return {"type": "done", "row": row, "value": value}
        if not self.modeler.pending:
            self.modeler.ask(min(left, self._batch_size))
        return {"type": "ask", "rows": list(self.modeler.pending)}

    def tell(self, message: dict[str, Any]) -> None:
        """Receive outcomes, as `CuratorSide.answer` returns them."""
        rows = _items_of(message, "tell", "rows")
        if not isinstance(message.get("values"), list):
            raise ValueError(f"expected a list of values; found {message!r:.200}")
        self.modeler.tell(rows, message["values"])


def _items_of(message: Any, kind: str, name: str) -> list[Any]:
    expected = isinstance(message, dict) and message.get("type") == kind
    items = message.get(name) if expected else None
    if not isinstance(items, list):
        raise MessageError(
            f"expected a message of type {kind!r} with {name}; found {message!r:.200}"
        )
    return items


def _key(asked: Any) -> Any:
    return json.dumps(asked, sort_keys=True) if isinstance(asked, dict) else asked


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
