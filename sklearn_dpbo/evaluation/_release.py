"""Steps that evaluations and comparisons share: session, warning, release (zone: released)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..exceptions import LowUtilityWarning
from ..metrics._precision import Width, warn_of_expected_width, wide_hint
from ..metrics._response import Responses
from ..metrics.evaluations._base import Evaluation
from ..prediction.fitting import check_prediction
from ..prediction.session import Session
from ..privacy.checks import check_number
from ..privacy.ledger._ledger import PrivacyLedger
from ..privacy.sensitive import Sensitive
from ..privacy.spending import Part, Spending
from ..privacy.warn import warn
from ..records.remembered import warn_if_fitted_on
from ..records.units import Units, unit_name

_NOT_PROTECTED = (
    "the public records X and y, levels of subgroups, and whatever the model was fitted on; the "
    "schema of the validation set (number of units, group identifiers, columns, dtypes); the "
    "duration of the evaluation; and whatever else is computed from the validation records, "
    "including another evaluation"
)


def open_session(
    estimator: Any, X: Any, y: Any, *, epsilon: float, ledger: PrivacyLedger | None,
    prediction: str, what: str, mechanism: str, models: Mapping[str, Any], **rows: Any,
) -> Session:  # fmt: skip
    """Open a session with a budget of epsilon that holds these public and protected rows.

    `models` are those to evaluate, by name of the argument; a warning says if one was fitted on
    X_val. Raise ValueError for invalid arguments, and BudgetExceededError if the ledger has less
    than epsilon left. Nothing is charged yet.
    """
    check_number("epsilon", epsilon, "a finite number from 1e-9 up", lambda e: e >= 1e-9)
    check_prediction(prediction)
    unit = unit_name(rows["groups_val"])
    charge = {"what": what, "mechanism": mechanism, "unit": unit, "estimator": estimator}
    spending = Spending.begin(ledger, epsilon, **charge)
    if rows["X_val"] is None:
        raise ValueError("X_val and y_val, the protected records, are required; found None")
    warn_if_fitted_on(rows["X_val"], models)
    split: dict[str, Any] = {"cv": None, "rng": np.random.RandomState(0), "split_params": {}}
    return Session.holding(spending, estimator, X, y, {}, **split, **rows)


def will_be_wide(design: Evaluation, public: Responses, units: Units, epsilon: float) -> bool:
    """Warn, before anything is charged, of wide intervals; return True if there was a warning."""

    def expect(epsilon: float) -> list[Callable[[], Width]]:
        expected = design._expected(public, units, epsilon)
        return [partial(expected._width, name) for name in design._names]

    return warn_of_expected_width(expect, units, epsilon)


def released(
    design: Evaluation, tables: Sequence[Sensitive], session: Session, what: str, *,
    condition: str, warned: bool,
) -> Any:  # fmt: skip
    """Charge, add noise to the counts of each part, and return the evaluation.

    Warn of wide intervals, unless users were `warned` of them before.
    """
    several = len(tables) > 1
    noisy = session.release_each(
        [
            Part(table, query.weight, what, query.what if several else "")
            for table, query in zip(tables, design._parts, strict=True)
        ]
    )
    report = session.report(
        title=f"Differentially private {what}",
        condition=condition,
        not_protected=_NOT_PROTECTED,
        released="the evaluation: all numbers and figures follow from the same released counts",
    )
    evaluation = design._released(tuple(noisy), session.units, report)
    hint = "" if warned else wide_hint([evaluation._width(name) for name in design._names])
    hints = (evaluation._unknown, evaluation._released_hint() or hint)
    for hint in filter(None, hints):
        try:
            warn(hint, LowUtilityWarning)
        except LowUtilityWarning as error:
            error.add_note(f"This had been released and paid for:\n{evaluation!r}")
            raise
    return evaluation
