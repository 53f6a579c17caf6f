"""Which of two models predict a record correctly: one joint table (zone: sensitive)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._labels import class_numbers
from ._queries import Cells
from ._response import Responses

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Agreement(Cells):
    """Numbers of records by class, and by which of two models predict the class correctly.

    Four cells for each class (or four in all, unless `by_class`): both models are wrong, only the
    second is right, only the first, both. Of two classes this is the joint table of label, first
    and second prediction. The "response" to a record is what `parts` count it as, one for each
    model: each is a table of the true class (row) and the predicted one.

    A record lies in one cell, so replacing it changes two counts by 1. Records of unknown labels,
    which both models predict wrongly, follow: in one cell or, of two classes, in one for each pair
    of predictions.
    """

    parts: tuple[Any, ...]
    classes: NDArray[Any]
    by_class: bool = True
    response_method = ("both",)
    what = "joint table of two models' predictions"

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        """4 times the class, and 2 if the first model is right, and 1 if the second one is."""
        K, code = len(self.classes), class_numbers(y, self.classes)
        true, column = np.divmod(response, K)
        right = true == column
        if self.n_unknown == 4:
            pairs = zip(self.parts, column.T, strict=True)
            predicted = np.stack([part.predicted[own] for part, own in pairs], axis=1)
            right = np.where(code[:, None] == K, predicted, right)
        stratum = code if self.by_class else code == K
        cells: NDArray[np.intp] = 4 * stratum + right @ np.array([2, 1])
        return cells

    def public(self, answers: Sequence[Responses]) -> Responses:
        """Return the response to public records, given what each model answers to them."""
        values = []
        for part, responses in zip(self.parts, answers, strict=True):
            one = responses(part.response_method)
            values.append(part.record_values(one.y, one.response, one.classes).reshape(-1))
        return Responses(answers[0].y, None, {"both": np.stack(values, axis=1)})

    @property
    def known_sizes(self) -> tuple[int, ...]:
        return (4 * (len(self.classes) if self.by_class else 1),)

    @property
    def n_unknown(self) -> int:
        return 4 if self.by_class and len(self.classes) == 2 else 1

    def matrices(self, counts: NDArray[Any], model: int) -> Floats:
        """Return the confusion matrices of one model, shape (..., K, K): of two classes, its own.

        Of more classes, each error counts as a prediction of the next class. Without classes, there
        is one row (right, wrong). With unknown labels, there is another row.
        """
        counts, other = np.asarray(counts, dtype=float), -1 if model == 0 else -2
        known, unknown = np.split(counts, self.known_sizes, axis=-1)
        by_result = known.reshape(*known.shape[:-1], -1, 2, 2).sum(axis=other)
        rows = by_result.shape[-2]
        right = np.eye(rows, max(rows, 2))
        wrong, correct = by_result[..., 0, None], by_result[..., 1, None]
        found: Floats = correct * right + wrong * np.roll(right, 1, axis=1)
        if not self.unknown:
            return found
        if self.n_unknown == 4:
            row = unknown.reshape(*unknown.shape[:-1], 2, 2).sum(axis=other)
        else:  # any prediction is wrong
            row = unknown * np.eye(1, found.shape[-1])
        return np.concatenate([found, row[..., None, :]], axis=-2)
