"""A ledger that runs out inside scikit-learn's cross-validation (zone: public).

`cross_val_score`, `GridSearchCV` and their like catch every `Exception` of a fold's fit and put nan
in place of its score: a grid search would compare candidates on the folds that could be paid. So
the error is not an `Exception`, like `asyncio.CancelledError`, unless ``error_score="raise"``.
"""

from __future__ import annotations

import sys
from types import FrameType

from ..exceptions import BudgetExceededError, CrossValidationBudgetError

__all__ = ["surfacing"]

_HOW_TO = (
    "The folds before this one stay charged, and their results are lost: k folds need k * epsilon. "
    "Cross-validate a search on public X and y only, with the protected records as "
    "params={'X_val': X_val, 'y_val': y_val}: the scores of the folds are exact, and no search "
    "protects the X and y of a fold. (This is no Exception, since scikit-learn would make nan of "
    "one; with error_score='raise' it is a BudgetExceededError.)"
)


def surfacing(error: BudgetExceededError) -> BaseException:
    """Return the error to raise: this one, unless scikit-learn would put a nan in its place."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if (
            frame.f_code.co_name == "_fit_and_score"
            and frame.f_globals.get("__name__") == "sklearn.model_selection._validation"
            and frame.f_locals.get("error_score") != "raise"
        ):
            return CrossValidationBudgetError(f"{error}. {_HOW_TO}")
        frame = frame.f_back
    return error
