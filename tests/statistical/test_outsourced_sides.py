"""The curator's side: what it sends, and what it refuses."""

import json

import numpy as np
import pytest

from sklearn_dpbo import public
from sklearn_dpbo.exceptions import BudgetExceededError
from sklearn_dpbo.papers.kharkovskii2020 import CuratorSide, GaussianCurator, ModelerSide

CS = [float(C) for C in np.logspace(-4, 4, 9)]
LOG_CS = np.log10(CS)[:, None]
TABLE = public(LOG_CS)


class Outcomes:
    """Outcomes of four rows, and which were asked for."""

    def __init__(self):
        self.rows = []

    def __call__(self, row):
        if len(self.rows) == 4:
            raise BudgetExceededError("all 4 have been used")
        self.rows.append(row)
        return -((LOG_CS[row, 0] - 1) ** 2)


def ask(*rows):
    return {"type": "ask", "rows": list(rows)}


@pytest.mark.parametrize("table", [TABLE, GaussianCurator(epsilon=5.0, delta=1e-3).fit(LOG_CS)])
def test_outcomes_are_asked_for_once_and_until_the_oracle_refuses(table):
    """The modeler sees rows, or a noisy image of them, and outcomes by row number."""
    outcomes = Outcomes()
    side = CuratorSide(table, outcomes)
    modeler = ModelerSide(side.table(), n_iter=4)
    while (message := modeler.ask())["type"] == "ask":
        modeler.tell(json.loads(json.dumps(side.answer(message))))
    assert side.answer(message) is None and side.result == modeler.modeler.best()
    assert modeler.modeler.rows == outcomes.rows
    with pytest.raises(BudgetExceededError, match="all 4"):
        side.answer(ask(*[*{*range(9)} - {*modeler.modeler.rows}][:1]))
    assert side.answer(ask(modeler.modeler.rows[0]))["values"] == modeler.modeler.values[:1]


@pytest.mark.parametrize(
    "message",
    [None, [], {}, {"type": "ask", "rows": 1}, *map(ask, (9, -1, 1.0, True)), ask(*[0] * 101)],
)
def test_messages_that_are_refused_ask_for_nothing(message):
    outcomes = Outcomes()
    with pytest.raises(ValueError, match="found"):
        CuratorSide(TABLE, outcomes).answer(message)
    assert outcomes.rows == []


@pytest.mark.parametrize(
    ("table", "oracle", "says"),
    [
        (TABLE, None, "oracle must be a function"),
        (LOG_CS, len, r"or public\(table\) .*; found ndarray"),  # it may hold protected rows
        (None, len, "found NoneType"),
        (public([[np.nan]]), len, "NaN"),
        (public([]), len, "array"),
    ],
)
def test_sides_that_make_no_sense(table, oracle, says):
    with pytest.raises(ValueError, match=says):
        CuratorSide(table, oracle)
