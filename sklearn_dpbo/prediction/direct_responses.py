"""Responses of a fitted model to public rows in the user's form (zone: released)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics._labels import encode
from ..metrics._queries import Query
from ..privacy.suppress_output import drop_errors
from ..records.pickles import fresh
from ..records.public_rows import taken
from ..records.tables import dense, n_rows
from .calls import Calls
from .model import Model
from .public_rows import PublicRows
from .responses import agree

# Methods whose responses determine labels, and largest relative difference between responses for
# which rounding may decide the label.
_FINER = ("decision_function", "predict_proba")
_NEAR = 1e-6
# Number of repeated predictions by which random models are recognised.
_TRIES = 8


@dataclass(frozen=True, eq=False)
class AsNumbers(Query):
    """Query for the responses themselves, as numbers; labels are positions among public ones."""

    shape: tuple[int, ...]
    labels: NDArray[Any] | None
    response_method: tuple[str, ...]

    @classmethod
    def of(cls, model: Model, method: str) -> AsNumbers:
        """Return the query for responses of the kind that companions get."""
        public = model.responses[method].values
        labels = None
        if public.dtype.kind not in "biuf":
            classes = model.answers.classes
            unpredicted = (
                [] if classes is None else np.ravel(np.array(classes, dtype=object)).tolist()
            )
            different = list(dict.fromkeys([*public.ravel().tolist(), *unpredicted]))
            labels = np.fromiter(different, dtype=object, count=len(different))
        return cls(public.shape[1:], labels, (method,))

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        if self.labels is None:
            return response.astype(float)
        return encode(response.ravel(), self.labels).reshape(response.shape).astype(float)

    def lowest_values(self, y: Any, n: int) -> NDArray[Any]:
        """Return NaN, for rows that cannot be predicted; shape (n, ...)."""
        return np.full((n, *self.shape), np.nan)


@dataclass(frozen=True, eq=False)
class DirectResponses:
    """Responses of a model to rows in the user's form, for the rows that it can predict.

    `predicted` are the positions of these rows among those requested, and `places` their positions
    among the public rows.
    """

    rows: PublicRows
    model: Model
    estimator: Any
    method: str
    responses: NDArray[Any]
    predicted: NDArray[np.intp]
    places: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        rows: PublicRows,
        model: Model,
        estimator: Any,
        method: str,
        places: NDArray[np.intp],
        responses: NDArray[Any] | None = None,
    ) -> DirectResponses:
        """Call the model, unless its `responses` are known already.

        If the model has parts that are called separately, it is called on one row at a time, beside
        the companions.
        """
        if responses is not None:
            return cls(rows, model, estimator, method, responses, np.arange(len(places)), places)
        like = model.responses[method]
        calls = Calls(model.pickled)

        def ask(X: Any, estimator: Any) -> NDArray[Any]:
            return like.read(getattr(estimator, method)(X), n_rows(X))

        n_above = rows.n_above
        for table in (rows.sample.X, rows.X):
            responses_by_row: list[Any] = [None for _ in places]
            if model.cut:
                for k, place in enumerate(places):
                    beside = taken(table, rows.beside_companions(place))
                    alone = calls(partial(ask, beside))
                    responses_by_row[k] = None if alone is None else alone[n_above : n_above + 1]
            if any(response is None for response in responses_by_row):
                with drop_errors():
                    at_once = ask(taken(table, places), estimator)
                    responses_by_row = [
                        at_once[k : k + 1] if r is None else r
                        for k, r in enumerate(responses_by_row)
                    ]
            predicted = np.flatnonzero([response is not None for response in responses_by_row])
            if len(predicted):
                together = np.concatenate([responses_by_row[k] for k in predicted])
                return cls(rows, model, estimator, method, together, predicted, places[predicted])
        return cls(rows, model, estimator, method, like.values[:0], places[:0], places[:0])

    @property
    def name(self) -> str:
        """Name of the method, with the class of the model."""
        return f"{type(self.estimator).__name__}.{self.method}"

    @property
    def like(self) -> NDArray[Any]:
        """Responses to the companions."""
        return self.model.responses[self.method].values

    def row(self, k: int) -> int:
        """Return the number in X of the k-th predicted row."""
        return int(self.rows.sample.numbers[self.places[k]])

    def in_words(self, value: Any) -> str:
        """Write the response that a value of `AsNumbers` stands for."""
        if np.isnan(value).all():
            return "nothing"
        labels = AsNumbers.of(self.model, self.method).labels
        if labels is None or np.ndim(value):
            return str(np.asarray(value).astype(self.like.dtype if labels is None else float))
        return str(labels[int(value)]) if value >= 0 else "an unknown label"

    def differing(self, values: NDArray[Any]) -> NDArray[np.intp]:
        """Find the rows whose values of `AsNumbers` differ from the direct responses.

        Differences by rounding do not count; if the model is random, no row is returned.
        """
        query = AsNumbers.of(self.model, self.method)
        expected = query.record_values(None, self.responses, None)
        sample = expected.astype(self.like.dtype) if self.like.dtype.kind == "f" else expected
        classifies = self.model.answers.classes is not None
        pairs = zip(values[:, None], expected[:, None], strict=True)
        differs = np.array([not agree(*pair, sample, classifies) for pair in pairs], dtype=bool)
        if differs.any():
            differs &= ~self._tied()
        return np.flatnonzero(differs)[: 0 if differs.any() and self._random() else None]

    def _random(self) -> bool:
        """Return True if repeated predictions of the same rows differ."""
        for _ in range(_TRIES):
            copy = fresh(self.model.pickled)
            again = self.of(self.rows, self.model, copy, self.method, self.places)
            if not np.array_equal(again.responses, self.responses):
                return True
        return False

    def _tied(self) -> NDArray[np.bool_]:
        """Find the rows whose label may depend on rounding: True for these."""
        finer = [n for n in _FINER if self.method == "predict" and hasattr(self.estimator, n)]
        with suppress(Exception):
            rows = taken(self.rows.sample.X, self.places)
            scores = np.asarray(dense(getattr(self.estimator, finer[0])(rows)), dtype=float)
            scores = np.stack([scores, -scores], axis=1) if scores.ndim == 1 else scores
            second, first = np.sort(scores, axis=1)[:, -2:].T
            return np.asarray(first - second <= _NEAR * np.abs(scores).max())
        return np.zeros(len(self.places), dtype=bool)
