"""Joint table of the correct predictions of two models (zone: sensitive)."""

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
    """Numbers of records by class, and by which of two models predict it correctly.

    There are four cells for each class (or four in total, unless `by_class`): both models are
    wrong, only the second is right, only the first is right, both are right. For two classes this
    is the joint table of the label and both predictions. `parts` are the confusion matrices of the
    two models. The "response" to a record is its cell in each of them, shape (n, 2).

    A record lies in one cell, so replacing it changes two counts by 1. The last cells are those of
    records of unknown labels, which both models predict wrongly: one cell or, for two classes, one
    for each pair of predictions.
    """

    parts: tuple[Any, ...]
    classes: NDArray[Any]
    by_class: bool = True
    response_method = ("both",)
    what = "joint table of two models' predictions"

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        """Return 4 times the class, plus 2 if the first and 1 if the second model is right."""
        K = len(self.classes)
        code = class_numbers(y, self.classes)
        true, column = np.divmod(response, K)
        right = true == column
        if self.n_unknown == 4:
            by_model = zip(self.parts, column.T, strict=True)
            predicted = np.stack([part.predicted[columns] for part, columns in by_model], axis=1)
            right = np.where(code[:, None] == K, predicted, right)
        stratum = code if self.by_class else code == K
        cells: NDArray[np.intp] = 4 * stratum + right @ np.array([2, 1])
        return cells

    def public(self, answers: Sequence[Responses]) -> Responses:
        """Return the "response" to public records, from the responses of each model."""
        values = []
        for part, responses in zip(self.parts, answers, strict=True):
            public = responses(part.response_method)
            cells = part.record_values(public.y, public.response, public.classes)
            values.append(cells.reshape(-1))
        return Responses(answers[0].y, None, {"both": np.stack(values, axis=1)})

    @property
    def known_sizes(self) -> tuple[int, ...]:
        return (4 * (len(self.classes) if self.by_class else 1),)

    @property
    def n_unknown(self) -> int:
        return 4 if self.by_class and len(self.classes) == 2 else 1

    def matrices(self, counts: NDArray[Any], model: int) -> Floats:
        """Return confusion matrices of one model (0 or 1), shape (..., K, K).

        They are exact for two classes. For more, each error counts as a prediction of the next
        class. Unless `by_class`, there is one row (right, wrong). Unknown labels have another row.
        """
        counts = np.asarray(counts, dtype=float)
        axis_of_other = -1 if model == 0 else -2
        with_class, unknown = np.split(counts, self.known_sizes, axis=-1)
        by_result = with_class.reshape(*with_class.shape[:-1], -1, 2, 2).sum(axis=axis_of_other)
        n_rows = by_result.shape[-2]
        diagonal = np.eye(n_rows, max(n_rows, 2))
        wrong = by_result[..., 0, None]
        correct = by_result[..., 1, None]
        matrices: Floats = correct * diagonal + wrong * np.roll(diagonal, 1, axis=1)
        if not self.unknown:
            return matrices
        if self.n_unknown == 4:
            row = unknown.reshape(*unknown.shape[:-1], 2, 2).sum(axis=axis_of_other)
        else:  # any prediction is wrong
            row = unknown * np.eye(1, matrices.shape[-1])
        return np.concatenate([matrices, row[..., None, :]], axis=-2)
