"""Model: a pickled fitted candidate with its responses to the companions (zone: public)."""

from __future__ import annotations

import math
import tempfile
import weakref
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from ..metrics._response import Predictions, Responses, check_response, method_of
from ..records.pickles import fresh
from ..records.tables import copied
from .companions import Companions
from .listed.parts import Parts, cut
from .responses import Response


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted estimator, pickled before it predicts anything, and its responses to companions.

    `cut` is the estimator pickled for counting, with its unlisted parts cut out (empty if there are
    none to cut out), and `parts` names all parts. `responses` has the responses to companions by
    method; `answers` has them for queries. `values` has the values of the companions for each
    query, and `clipped` the share of gains outside of the bounds of each query. `design` describes
    the release of its scores, if this depends on responses to public rows. `tried` is the result of
    the rehearsal (`rehearsal`).
    """

    pickled: bytes
    cut: bytes
    parts: Parts
    answers: Responses
    responses: dict[str, Response]
    values: tuple[NDArray[Any], ...]
    clipped: tuple[float, ...]
    design: Any = None
    tried: Any = None

    @classmethod
    def of(
        cls,
        estimator: Any,
        queries: tuple[Any, ...],
        companions: Companions,
        prediction: str = "auto",
    ) -> Model:
        """Make the model of a fitted estimator; raises if a query of companions fails.

        With `prediction` "auto" its unlisted parts predict each unit by itself, with "separate" the
        whole estimator does, and with "together" no part does.
        """
        pickled, without, parts = cut(estimator, prediction)
        responses = {}
        for method in dict.fromkeys(method_of(estimator, q.response_method) for q in queries):
            raw = getattr(estimator, method)(copied(companions.X))
            check_response(estimator, raw, len(companions), (method,))
            responses[method] = Response.of(raw)
        values = {method: response.values for method, response in responses.items()}
        answers = deepcopy(Responses.given(estimator, companions.y, values))
        model = cls(pickled, without, parts, answers, responses, (), ())
        return model.asked(*queries)

    @property
    def seconds(self) -> float:
        """Time to predict a public row in the place of a protected one; NaN if not measured."""
        return math.nan if self.tried is None else float(self.tried.seconds)

    def method(self, query: Any) -> str:
        """Return the name of the method whose responses a query takes."""
        return self.answers.method(query.response_method)

    def with_networks_mapped(self) -> Model:
        """Return a model whose networks are mapped over rows by torch.vmap, where possible."""
        _, without, parts = cut(fresh(self.pickled), "auto", maps=True)
        return replace(self, cut=without, parts=parts)

    def asked(self, *queries: Any) -> Model:
        """Return the model for other queries of the same responses, without calling it again."""
        pairs = [_values(query, self.answers(query.response_method)) for query in queries]
        values, clipped = zip(*pairs, strict=True)
        return replace(self, values=values, clipped=clipped)


def _values(query: Any, public: Predictions) -> tuple[NDArray[Any], float]:
    """Compute a query's values of responses, and the share of gains that its bounds clip."""
    # Copies, as a user's gain may change its arguments.
    y_and_response = public.y, public.response
    query.check(public.response)
    values = query.record_values(*deepcopy(y_and_response), public.classes)
    return values, query.share_clipped(*deepcopy(y_and_response), public.classes)


class Models:
    """Fitted candidates, by the identity of their parameters' dict; on disk if they are large."""

    _IN_MEMORY = 2**28  # bytes

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=self._IN_MEMORY)
        weakref.finalize(self, self._file.close)
        self._kept: dict[int, tuple[dict[str, Any], Model | str, int, tuple[int, int]]] = {}

    def add(self, params: dict[str, Any], model: Model | str) -> None:
        """Keep a model, or the error of a failed fit."""
        start = self._file.seek(0, 2)
        lengths = (0, 0)
        if isinstance(model, Model):
            lengths = len(model.pickled), len(model.cut)
            self._file.write(model.pickled + model.cut)
            model = replace(model, pickled=b"", cut=b"")
        self._kept[id(params)] = params, model, start, lengths

    def __contains__(self, params: dict[str, Any]) -> bool:
        return id(params) in self._kept

    def error(self, params: dict[str, Any]) -> str | None:
        """Return the error of a candidate whose fit failed, else None."""
        model = self._kept[id(params)][1]
        return model if isinstance(model, str) else None

    def __getitem__(self, params: dict[str, Any]) -> Model:
        """Return the model of a candidate whose fit succeeded."""
        _, model, start, lengths = self._kept[id(params)]
        if isinstance(model, str):
            raise KeyError(model)
        self._file.seek(start)
        pickled, without = map(self._file.read, lengths)
        return replace(model, pickled=pickled, cut=without)

    @property
    def parts(self) -> Parts:
        """Parts of all models."""
        models = [model for _, model, *_ in self._kept.values() if isinstance(model, Model)]
        return Parts.of_all(model.parts for model in models)
