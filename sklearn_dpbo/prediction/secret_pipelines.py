"""Pipelines whose last step learns from protected records, in secret (zone: sensitive).

The steps before it are fitted on made-up records. They transform protected ones as models predict
them (`ProtectedTable`): copies are used and dropped, and a record that cannot be transformed, or
that changes the transformation of others, has no effect on others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from ..metrics._queries import Query
from ..records.canonical import kind_of
from ..records.split import Problem, ProtectedRows, Training
from ..records.tables import is_frame, n_rows
from ..records.units import Units
from .companions import Companions
from .fitting import fit
from .model import Model
from .protected_values import ProtectedTable


def fit_last_step(estimator: Any, training: Training, made_up: Training, prediction: str) -> Any:
    """Fit an estimator on records; of a pipeline, fit all steps but the last on made-up records.

    Names of fit parameters start with the names of steps. ValueError if made-up records are not
    transformed into numbers.
    """
    if not isinstance(estimator, Pipeline):
        return fit(estimator, training)
    name, last = estimator.steps[-1]
    before = estimator.steps[:-1]
    if any(step not in (None, "passthrough") for _, step in before):
        steps = Pipeline(before)
        steps.fit(made_up.X, made_up.y)
        training = replace(training, X=_transformed(steps, training.X, made_up, prediction))
        made_up = replace(made_up, X=steps.transform(made_up.X))
        before = steps.steps
    fit_params = {k.removeprefix(f"{name}__"): v for k, v in training.fit_params.items()}
    last = fit_last_step(last, Training(training.X, training.y, fit_params), made_up, prediction)
    estimator.steps = [*before, (name, last)]
    return estimator


@dataclass(frozen=True)
class _TransformedRows(Query):
    """Query for transformed records, in the place of the values of a score."""

    shape: tuple[int, ...] = ()
    response_method = ("transform",)

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        return response

    def lowest_values(self, y: Any, n: int) -> NDArray[Any]:
        """Return zeros, for records that cannot be transformed."""
        return np.zeros((n, *self.shape))


def _transformed(steps: Any, X: Any, made_up: Training, prediction: str) -> Any:
    """Transform protected records by steps, to an array of floats, or to a frame if steps do."""
    units = Units.of(n_rows(X))
    companions = Companions.of(Problem(made_up, units, ""))
    model = Model.of(steps, (_TransformedRows(),), companions, prediction)
    response = next(iter(model.responses.values())).values
    if response.dtype.kind not in "biuf":
        raise ValueError(_no_numbers(response.dtype, made_up.X))
    query = _TransformedRows(response.shape[1:])
    table = ProtectedTable.of(ProtectedRows(X, None, units), companions)
    values = table.values(model, query).astype(float).reshape(n_rows(X), -1)
    like = steps.transform(companions.X)
    return type(like)(values, columns=like.columns) if is_frame(like) else values


def _no_numbers(dtype: Any, X: Any) -> str:
    """Say that steps do not make numbers of records such as these, and how they could."""
    said = f"the steps before the last one must return numbers; they return {dtype}"
    dtypes = X.dtypes.items() if is_frame(X) else []
    names = [name for name, dtype in dtypes if kind_of(dtype) != "numbers"]
    if not names:
        return said
    return (
        f"{said}. Of the columns {names}, which are no numbers, one or more are passed on as they "
        "are. In the steps, encode categories by OneHotEncoder(categories=[[...], ...], "
        'sparse_output=False, handle_unknown="ignore"), with values from a code book and not from '
        "the records, and free text by HashingVectorizer(n_features=64); drop the others"
    )
