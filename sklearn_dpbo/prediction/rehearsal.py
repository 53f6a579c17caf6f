"""Rehearsal: before the charge, public rows are predicted as protected ones are (zone: released).

A fitted model predicts some training rows in the user's form. The same rows, in the form of
protected ones, pass through `ProtectedTable.values`. Predictions, and the values of queries, must
be the same. Otherwise every protected record might count as the worst, or as another one, and the
result would be paid for and wrong. All of this is public, so the error may tell everything. The
privacy guarantee does not depend on this module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from joblib import effective_n_jobs, parallel_config
from numpy.typing import NDArray

from ..metrics._queries import GRID, MeanOf, Query
from ..privacy.suppress_output import suppress_output
from ..privacy.warn import warn
from ..records.pickles import fresh, packed
from ..records.split import Problem
from ..records.tables import copied, dense, take_rows
from ..records.units import Units
from .calls import query_for_protected
from .companions import Companions
from .direct_responses import AsNumbers, DirectResponses
from .listed.networks import NETWORKS
from .listed.parts import Parts
from .listed.row_by_row import RowByRowCheck
from .model import Model
from .protected_values import ProtectedTable
from .public_rows import PublicRows
from .responses import agree

# Number of rows to rehearse for models that are called once for each unit.
_FEW = 4
# Largest difference of gains by rounding, in steps of their grid.
_TOLERANCE = 16
_FORM = (
    "Before a model gets validation records, they are brought into one form: numbers of one type, "
    "texts as str, rows numbered from 0 whatever their labels. If a step needs these labels, make "
    "them a column. Nothing has been charged"
)


class Tried(NamedTuple):
    """Difference found for public rows, "" if none; and seconds per row, NaN if not measured."""

    difference: str
    seconds: float


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """Public rows to be predicted in the place of protected ones.

    Candidates share outputs of models' parts for these rows, under the `name`. `check` is for
    models that predict all rows at once because the user says so; otherwise networks may be mapped
    over rows (`maps`). With `timed`, the duration is kept. This is only allowed before protected
    records are predicted, because these may slow down later computations.
    """

    rows: PublicRows
    companions: Companions
    name: str
    check: RowByRowCheck | None
    maps: bool
    timed: bool = True

    @classmethod
    def of(cls, problem: Problem, companions: Companions, prediction: str) -> Rehearsal:
        """Prepare the rehearsal of a problem."""
        check = RowByRowCheck.on(problem) if prediction == "together" else None
        return cls(PublicRows.of(problem), companions, uuid4().hex, check, prediction == "auto")

    def __call__(self, model: Model, estimator: Any, queries: Sequence[Query]) -> Model:
        """Rehearse, and return the model with the result; BatchDependentError if the check fails.

        If all rows are predicted at once, `estimator` itself is called and not a copy.
        """
        if self.check is not None and model.parts.unlisted:
            for method in model.responses:
                self.check.check(model.pickled, method)
        # Native code may print: these are public rows.
        with suppress_output(descriptors=False, registries=False), parallel_config("sequential"):
            if self.maps and not NETWORKS.isdisjoint(model.parts.unlisted):
                model = self._mapped(model)
            return replace(model, tried=self._run(model, estimator, queries))

    def _mapped(self, model: Model) -> Model:
        """Map networks over rows, if companions then get the same predictions.

        Otherwise the networks are called on one unit at a time, and their names get the reason.
        """
        mapped = model.with_networks_mapped()
        if not mapped.parts.mapped:
            return model
        reason = "companions get something else"
        try:
            if self._companions_get_the_same(model, mapped):
                return mapped
        except Exception as error:
            reason = re.split(r"\. |\n", str(error).removeprefix("vmap: "))[0]
        unlisted = (
            f"{part} (torch.vmap: {reason})" if part in NETWORKS else part
            for part in model.parts.unlisted
        )
        return replace(model, parts=model.parts._replace(unlisted=tuple(unlisted)))

    def _companions_get_the_same(self, model: Model, mapped: Model) -> bool:
        """Compare both models' labels and, as these show less, probabilities for companions."""
        table = self._table(self.rows.companions[:1])
        for method in ("predict", "predict_proba"):
            estimator = fresh(model.pickled)
            if hasattr(estimator, method):
                expected = np.asarray(getattr(estimator, method)(copied(self.companions.X)))
                response = table.companions_get(mapped, method)
                if not agree(response, expected, expected, method == "predict"):
                    return False
        return True

    def _run(self, model: Model, estimator: Any, queries: Sequence[Query]) -> Tried:
        # If the form of the table is the same, the known responses to companions are enough.
        same_form = self.rows.as_given and not model.cut
        places = self.rows.companions if same_form else self.rows.rehearsed
        if model.cut:
            places = places[np.unique(np.linspace(0, len(places) - 1, _FEW).astype(int))]
        seconds = 0.0
        for method in model.responses:
            start = perf_counter()
            values = self._values(model, method, places)
            seconds += perf_counter() - start
            asked = [query for query in queries if model.method(query) == method]
            responses = model.responses[method].values if same_form else None
            direct = DirectResponses.of(self.rows, model, estimator, method, places, responses)
            if text := self._difference(direct, values, asked):
                return Tried(text, 0.0)
        return Tried("", seconds / len(places) if self.timed else np.nan)

    def _values(self, model: Model, method: str, places: NDArray[np.intp]) -> NDArray[Any]:
        """Compute responses, as numbers, as for protected rows; NaN for rows that failed."""
        query = AsNumbers.of(model, method)
        return self._table(places).values(model.asked(query), query)

    def _table(self, places: NDArray[np.intp]) -> ProtectedTable:
        """Make a table of protected rows from these public ones."""
        y = None
        if self.rows.y is not None and self.companions.y is not None:
            y = np.concatenate([self.companions.y, self.rows.y[places]])
        X = take_rows(self.rows.X, places)
        return ProtectedTable(X, y, Units.of(len(places)), self.companions, self.name)

    def _difference(
        self, direct: DirectResponses, values: NDArray[Any], asked: Sequence[Query]
    ) -> str:
        """Describe a row with another prediction, or another value of a query; "" if none."""
        rehearsed = values[direct.predicted]
        wrong = direct.differing(rehearsed)
        if len(wrong):
            first = wrong[0]
            error = self._error_of(direct, direct.places[first])
            return (
                f"{direct.name} gives {direct.responses[first]} for row {direct.row(first)} of X, "
                f"but {direct.in_words(rehearsed[first])} for the same row in the place of a "
                f"validation record{error}. The same holds for {len(wrong)} of {len(rehearsed)} "
                f"rows that were tried. {_FORM}"
            )
        return next(filter(None, (self._difference_of_gains(direct, q) for q in asked)), "")

    def _difference_of_gains(self, direct: DirectResponses, query: Query) -> str:
        """Describe a row with another value of the query than directly; "" if there is none."""
        places = direct.places
        classes = direct.model.answers.classes
        y, y_of_user = (
            None if labels is None else dense(labels)[places]
            for labels in (self.rows.y, self.rows.sample.y)
        )
        isolated = query_for_protected(packed(query))
        counted = isolated.record_values(y, direct.responses.copy(), classes)
        expected = counted
        with suppress(Exception):  # of a gain that takes labels in the form of protected ones only
            expected = query.record_values(y_of_user, direct.responses.copy(), classes)
        tolerance = _TOLERANCE if np.max(expected, initial=0) > GRID // 2**10 else 0
        same = np.isclose(counted, expected, rtol=0, atol=tolerance, equal_nan=True)
        wrong = np.flatnonzero(~same.reshape(len(places), -1).all(axis=1))
        if not len(wrong):
            return ""
        in_place, directly = (_in_words(query, v[wrong[0]]) for v in (counted, expected))
        return (
            f"Row {direct.row(wrong[0])} of X has {in_place} in the place of a validation record, "
            f"and {directly} directly. The same holds for {len(wrong)} of {len(places)} rows that "
            "were tried. A gain of yours gets one record at a time, each by a new copy of it: it "
            f"must not keep anything of other records, nor draw random numbers. {_FORM}"
        )

    def _error_of(self, direct: DirectResponses, place: int) -> str:
        """Return the model's error for a row in the place of a protected one; "" if none."""
        batch, _ = self._table(np.array([place])).batch(np.zeros(1, dtype=np.intp))
        try:
            getattr(fresh(direct.model.pickled), direct.method)(batch)
        except Exception as error:
            return f" ({type(error).__name__}: {error})"
        return ""


def report_rehearsals(candidates: Any, fitted: Sequence[dict[str, Any]], warns: bool) -> None:
    """Raise ValueError if a candidate's rehearsal found a difference; warn of clipping and time."""
    models = [candidates.model(params) for params in fitted]
    for params, model in zip(fitted, models, strict=True):
        require_same(model, f" ({params})" if params else "")
    if warns:
        _warn_of_clipping(models, candidates.scorers)
        _warn_of_single_calls(models, candidates)


def require_same(model: Model, suffix: str = "") -> None:
    """Raise ValueError, with this suffix, if the rehearsal of a model found a difference."""
    if model.tried is not None and model.tried.difference:
        raise ValueError(f"{model.tried.difference}{suffix}")


def _warn_of_clipping(models: Sequence[Model], scorers: Sequence[Any]) -> None:
    """Warn of a scorer's bounds that clip most gains of training records."""
    for k, scorer in enumerate(scorers):
        clipped = float(np.mean([model.clipped[k] for model in models]))
        if clipped > 1 / 2 and not scorer.learns_bounds:
            warn(
                f"The bounds of {scorer!r} clip the gains of {clipped:.0%} of the training "
                "records that were tried, so the score hardly distinguishes candidates. Choose "
                "wider bounds, without looking at the validation data",
            )


def _warn_of_single_calls(models: Sequence[Model], candidates: Any) -> None:
    """Warn that parts of models are called for each unit, with the duration of all calls."""
    unlisted = Parts.of_all(model.parts for model in models).unlisted
    if not unlisted or candidates.options.prediction != "auto":
        return
    units = candidates.problem.units
    seconds = units.m * sum(model.seconds for model in models)
    seconds /= effective_n_jobs(candidates.options.n_jobs)
    duration = f", about {seconds:.2g} s in all for {len(models)} candidates"
    warn(
        f"Not known to treat each record independently of the others: {', '.join(unlisted)}. So "
        f"each of the {units.m:,} validation {units.name}s takes a call of its own"
        f"{duration if seconds >= 10 else ''}. If you know that it does, "
        'prediction="together" predicts all at once',
    )


def _in_words(query: Query, value: Any) -> str:
    """Write a record's value of a query: its gain for a mean, else its count."""
    if not isinstance(query, MeanOf):
        return f"the count {value}"
    a, b = query.bounds
    return f"the gain {a + (b - a) * value / query.steps:.6g}"
