"""A fitted candidate, pickled, with its responses to the companions (zone: public)."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from .._data.pickles import packed
from .._data.split import Training
from .._data.tables import copied
from ..scoring._response import call_method, check_response
from .companions import Companions
from .fitting import without_callbacks
from .own_code import own_code, predicts_separately
from .responses import Response
from .row_by_row import RowByRowCheck

__all__ = ["MakesModel", "Model", "Models"]


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted estimator, pickled before it predicts anything, and its responses to companions.

    For each query: `values` is what it makes of these, `clipped` the share of gains outside of its
    bounds. `own_code` names code of no known library, if there is some.
    """

    pickled: bytes
    classes: Any
    responses: dict[tuple[str, ...], Response]
    values: tuple[NDArray[Any], ...]
    clipped: tuple[float, ...]
    own_code: str

    @classmethod
    def of(cls, estimator: Any, queries: tuple[Any, ...], companions: Companions) -> Model:
        """Return the model of a fitted estimator; raises if a query of companions fails."""
        pickled = packed(estimator)
        methods = dict.fromkeys(query.response_method for query in queries)
        responses = {}
        for each in methods:
            raw = call_method(estimator, copied(companions.X), each)
            check_response(estimator, raw, len(companions), each)
            responses[each] = Response.of(raw)
        classes = deepcopy(getattr(estimator, "classes_", None))
        found = [
            _values(query, companions.y, responses[query.response_method].values, classes)
            for query in queries
        ]
        values, clipped = zip(*found, strict=True)
        return cls(pickled, classes, responses, values, clipped, own_code(pickled))

    def asked(self, query: Any, companions: Companions) -> Model:
        """Return the model for another query of the same responses; it runs no user's code."""
        response = self.responses[query.response_method].values
        values, clipped = _values(query, companions.y, response, self.classes)
        return replace(self, values=(values,), clipped=(clipped,))


def _values(query: Any, y: Any, response: NDArray[Any], classes: Any) -> tuple[NDArray[Any], float]:
    """Return what a query makes of responses, and the share of gains that its bounds clip."""
    # Copies, as a user's gain may write into what it gets.
    values = query.record_values(*deepcopy((y, response)), classes)
    return values, query.share_clipped(*deepcopy((y, response)), classes)


@dataclass(frozen=True, eq=False)
class MakesModel:
    """Makes models of fitted candidates, or raises what `accept` or `check` do."""

    queries: tuple[Any, ...]
    companions: Companions
    prediction: str
    check: RowByRowCheck | None
    accept: Callable[[Any, Training], None] | None
    training: Training

    def __call__(self, estimator: Any) -> Model:
        if self.accept is not None:
            self.accept(estimator, self.training)
        model = Model.of(without_callbacks(estimator), self.queries, self.companions)
        if self.check is not None and not predicts_separately(self.prediction, model.own_code):
            for methods in model.responses:
                self.check.check(model.pickled, methods)
        return model


class Models:
    """Fitted candidates, by the very dict of their parameters; on disk if they are large."""

    _IN_MEMORY = 2**28  # bytes

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=self._IN_MEMORY)
        weakref.finalize(self, self._file.close)
        self._kept: dict[int, tuple[dict[str, Any], Model | str, int, int]] = {}

    def add(self, params: dict[str, Any], model: Model | str) -> None:
        """Keep a model, or why its fit failed."""
        start, pickled = self._file.seek(0, 2), b""
        if isinstance(model, Model):
            pickled, model = model.pickled, replace(model, pickled=b"")
        self._file.write(pickled)
        self._kept[id(params)] = params, model, start, len(pickled)

    def __contains__(self, params: dict[str, Any]) -> bool:
        return id(params) in self._kept

    def error(self, params: dict[str, Any]) -> str | None:
        """Return why a candidate failed, or None."""
        model = self._kept[id(params)][1]
        return model if isinstance(model, str) else None

    def __getitem__(self, params: dict[str, Any]) -> Model:
        """Return the model of a candidate whose fit succeeded."""
        _, model, start, length = self._kept[id(params)]
        if isinstance(model, str):
            raise KeyError(model)
        self._file.seek(start)
        return replace(model, pickled=self._file.read(length))
