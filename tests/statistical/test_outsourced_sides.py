"""The curator's side with a `PrivateObjective`."""

import json

import numpy as np
import pytest

from sklearn_dpbo import public
from sklearn_dpbo.exceptions import BudgetExceededError
from sklearn_dpbo.papers.kharkovskii2020 import CuratorSide, GaussianCurator, ModelerSide

CS = [float(C) for C in np.logspace(-4, 4, 9)]
LOG_CS = np.log10(CS)[:, None]
TABLE = public(LOG_CS)


def side_of(objective, table=TABLE, **params):
    return CuratorSide(table, lambda row: objective({"C": CS[row], **params}))


def ask(*rows):
    return {"type": "ask", "rows": list(rows)}


# ------------------------------------------------------------ private outcomes
@pytest.mark.parametrize("table", [TABLE, GaussianCurator(epsilon=5.0, delta=1e-3).fit(LOG_CS)])
def test_outcomes_have_noise_and_a_budget(objective_of, table):
    """The modeler sees candidates, or a noisy image of them, and their scores with noise."""
    objective = objective_of(n_calls=4)
    side = side_of(objective, table)
    modeler = ModelerSide(side.table(), n_iter=4)
    while (message := modeler.ask())["type"] == "ask":
        modeler.tell(json.loads(json.dumps(side.answer(message))))
    assert side.answer(message) is None and side.result == modeler.modeler.best()
    assert modeler.modeler.values == [call.score for call in objective.calls_]
    with pytest.raises(BudgetExceededError, match="all 4 calls"):
        side.answer(ask(*[*{*range(9)} - {*modeler.modeler.rows}][:1]))
    assert side.answer(ask(modeler.modeler.rows[0]))["values"] == modeler.modeler.values[:1]


@pytest.mark.parametrize(
    ("table", "oracle", "says"),
    [
        (TABLE, None, "oracle must be a function"),
        (LOG_CS, len, r"mark it: public\(table\); found ndarray"),  # it may hold protected rows
        (None, len, "found NoneType"),
        (public([[np.nan]]), len, "NaN"),
        (public([]), len, "array"),
    ],
)
def test_sides_that_make_no_sense(table, oracle, says):
    with pytest.raises(ValueError, match=says):
        CuratorSide(table, oracle)
