"""Does an estimator predict row by row, as its user says? Tested on training rows (zone: public).

This finds honest mistakes: a mean of the batch, ranks, values filled in from other rows.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from .._data.pickles import fresh
from .._data.split import Problem
from .._data.tables import copied, is_frame, n_rows, take_rows
from ..exceptions import BatchDependentError
from ..scoring._response import respond
from .companions import spread_rows, with_own_labels
from .responses import agree

__all__ = ["RowByRowCheck", "to_check"]

_SAMPLE, _FEW = 256, 24
_FINER = ("decision_function", "predict_proba")


@dataclass(frozen=True, eq=False)
class RowByRowCheck:
    """Training rows that are predicted together, and then in smaller batches of another order."""

    X: Any

    @classmethod
    def on(cls, problem: Problem) -> RowByRowCheck:
        """Take a sample of the training rows."""
        return cls(problem.public_rows(spread_rows(problem.training.X, None, _SAMPLE)))

    def check(self, pickled: bytes, method: str) -> None:
        """Raise BatchDependentError if a response changes with the rows beside it."""
        model = fresh(pickled)
        finer = [name for name in _FINER if method == "predict" and hasattr(model, name)]
        for name in [method, *finer[:1]]:
            for X in (self.X, _with_holes(self.X)):
                self._check(pickled, name, X, public=X is self.X)

    def _check(self, pickled: bytes, method: str, X: Any, public: bool) -> None:
        model, expected = fresh(pickled), _respond(pickled, method, X)
        if expected is None and not public:  # it takes no missing cells
            return
        order = np.random.default_rng(0).permutation(n_rows(X))
        copies = np.repeat(order[:2], _FEW // 2)
        for rows in (np.sort(order)[::-1], order[:_FEW], np.sort(order[_FEW:]), copies):
            found = None if expected is None else _respond(pickled, method, take_rows(X, rows))
            classifies = hasattr(model, "classes_")
            if found is None or not agree(found, expected[rows], expected, classifies):
                raise BatchDependentError(
                    f"{type(model).__name__} predicts a training record differently beside other "
                    "records, or not at all, so one validation record could change the predictions "
                    "of all. Use an estimator without statistics of the batch and without "
                    'randomness, or let each record be predicted by itself, prediction="separate"'
                )


def _respond(pickled: bytes, method: str, X: Any) -> Any:
    with suppress(Exception), np.errstate(all="ignore"):
        return respond(fresh(pickled), with_own_labels(copied(X)), (method,)).copy()
    return None


def _with_holes(X: Any) -> Any:
    """Return a table in which every other cell is missing, where its type can say so."""
    if is_frame(X):
        odd = np.add.outer(np.arange(len(X)), np.arange(X.shape[1])) % 2 == 1
        can = [getattr(dtype, "kind", "O") in "fOmM" for dtype in X.dtypes]
        return X.mask(odd & can)
    X = copied(X)
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        X.reshape(-1)[1::2] = np.nan
    return X


# ---------------------------------------------------------------------- which candidates
def to_check(candidate_params: tuple[dict[str, Any], ...]) -> set[int]:
    """Return which candidates to check, by number: of those that differ in numbers alone, the ones
    with the smallest and the largest of each.
    """
    ends: dict[Any, tuple[Any, int]] = {}
    for i, params in enumerate(candidate_params):
        # Numbers of Python's: NumPy casts to a common type to compare.
        numbers = {k: np.asarray(v).item() for k, v in params.items() if _is_number(v)}
        alike = frozenset(
            (name, "number" if name in numbers else _name(value)) for name, value in params.items()
        )
        for name, value in (numbers or {"": 0}).items():
            for sign in (-1, 1):
                highest, _ = ends.setdefault((alike, name, sign), (sign * value, i))
                if sign * value > highest:
                    ends[alike, name, sign] = sign * value, i
    return {i for _, i in ends.values()}


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _name(value: Any) -> str:
    plain = value is None or isinstance(value, str | bool | np.bool_)
    return repr(value) if plain else f"object {id(value)}"
