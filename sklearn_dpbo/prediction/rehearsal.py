"""Before the charge: public rows take the way of protected ones, unchanged (zone: released).

Some training rows, as the user gave them, are predicted by a fitted model. The same rows, in the
form of protected ones, pass `ProtectedTable.values`. What comes must be the same: predictions, and
what queries make of them. Otherwise every protected record might count as the worst, or as another
one, and the result would be paid for and wrong. All of that is public, so the error tells all: who
believes in the privacy need not read this module.
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

# Of models that are called once for each unit, so few rows are rehearsed.
_FEW = 4
# By how much gains may differ through rounding, in steps of their grid.
_TOLERANCE = 16
_FORM = (
    "Before a model gets validation records, they are brought into one form: numbers of one type, "
    "texts as str, rows numbered from 0 whatever their labels. If a step needs these labels, make "
    "them a column. Nothing has been charged"
)


class Tried(NamedTuple):
    """What differs for public rows, if anything does; and seconds for a row, NaN if not timed."""

    difference: str
    seconds: float


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """Public rows, which are to be predicted in the place of protected ones.

    Candidates share what parts return for them, under the `name`. `check` is of models that predict
    all rows at once by their user's word; models of others may have networks mapped (`maps`). Times
    are kept unless protected records were predicted before (`timed`): these may slow down what
    comes after them.
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
        """Return the model with what was found; BatchDependentError if the check fails.

        Of an estimator that predicts all rows at once, not a copy but the estimator itself does.
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
        """Return the model with its networks mapped over rows, if companions get the same by that.

        Otherwise they stay called on one unit at a time, and are said to be, with the reason.
        """
        mapped = model.with_networks_mapped()
        if not mapped.parts.mapped:
            return model
        why = "companions get something else"
        try:
            if self._companions_get_the_same(model, mapped):
                return mapped
        except Exception as error:
            why = re.split(r"\. |\n", str(error).removeprefix("vmap: "))[0]
        named = (
            f"{part} (torch.vmap: {why})" if part in NETWORKS else part
            for part in model.parts.unlisted
        )
        return replace(model, parts=model.parts._replace(unlisted=tuple(named)))

    def _companions_get_the_same(self, model: Model, mapped: Model) -> bool:
        """Compare the labels of both models, and what labels follow from, which shows more."""
        table = self._table(self.rows.companions[:1])
        for method in ("predict", "predict_proba"):
            plain = fresh(model.pickled)
            if hasattr(plain, method):
                expected = np.asarray(getattr(plain, method)(copied(self.companions.X)))
                came = table.companions_get(mapped, method)
                if not agree(came, expected, expected, method == "predict"):
                    return False
        return True

    def _run(self, model: Model, estimator: Any, queries: Sequence[Query]) -> Tried:
        # What companions get is known already; a model may read another form of a table otherwise.
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
        """Return responses as numbers, by the way of protected rows; NaN for what failed."""
        query = AsNumbers.of(model, method)
        return self._table(places).values(model.asked(query), query)

    def _table(self, places: NDArray[np.intp]) -> ProtectedTable:
        """Return these rows as a table of protected ones."""
        y = None
        if self.rows.y is not None and self.companions.y is not None:
            y = np.concatenate([self.companions.y, self.rows.y[places]])
        X = take_rows(self.rows.X, places)
        return ProtectedTable(X, y, Units.of(len(places)), self.companions, self.name)

    def _difference(
        self, direct: DirectResponses, values: NDArray[Any], asked: Sequence[Query]
    ) -> str:
        """Say for which row another prediction, or another value of a query, came."""
        came = values[direct.predicted]
        wrong = direct.differing(came)
        if len(wrong):
            first = wrong[0]
            why = self._error_of(direct, direct.places[first])
            return (
                f"{direct.name} gives {direct.responses[first]} for row {direct.row(first)} of X, "
                f"but {direct.in_words(came[first])} for the same row in the place of a "
                f"validation record{why}. The same holds for {len(wrong)} of {len(came)} rows that "
                f"were tried. {_FORM}"
            )
        return next(filter(None, (self._difference_of_gains(direct, q) for q in asked)), "")

    def _difference_of_gains(self, direct: DirectResponses, query: Query) -> str:
        """Say which row is counted otherwise than it would be directly, if any is."""
        places, classes = direct.places, direct.model.answers.classes
        y, y_given = (
            None if of is None else dense(of)[places] for of in (self.rows.y, self.rows.sample.y)
        )
        isolated = query_for_protected(packed(query))
        counted = isolated.record_values(y, direct.responses.copy(), classes)
        expected = counted
        with suppress(Exception):  # of a gain that takes labels in the form of protected ones only
            expected = query.record_values(y_given, direct.responses.copy(), classes)
        tolerance = _TOLERANCE if np.max(expected, initial=0) > GRID // 2**10 else 0
        same = np.isclose(counted, expected, rtol=0, atol=tolerance, equal_nan=True)
        wrong = np.flatnonzero(~same.reshape(len(places), -1).all(axis=1))
        if not len(wrong):
            return ""
        in_place, directly = (_in_words(query, each[wrong[0]]) for each in (counted, expected))
        return (
            f"Row {direct.row(wrong[0])} of X has {in_place} in the place of a validation record, "
            f"and {directly} directly. The same holds for {len(wrong)} of {len(places)} rows that "
            "were tried. A gain of yours gets one record at a time, each by a new copy of it: it "
            f"must not keep anything of other records, nor draw random numbers. {_FORM}"
        )

    def _error_of(self, direct: DirectResponses, place: int) -> str:
        """Return what the model raises for a row in the place of a protected one, if it does."""
        batch, _ = self._table(np.array([place])).batch(np.zeros(1, dtype=np.intp))
        try:
            getattr(fresh(direct.model.pickled), direct.method)(batch)
        except Exception as error:
            return f" ({type(error).__name__}: {error})"
        return ""


def _check_classes(classes: Any, y: Any) -> None:
    """Raise ValueError if a model can predict none of some labels that it was fitted on."""
    if classes is not None and not {*np.unique(y).tolist()} <= {*np.asarray(classes).tolist()}:
        raise ValueError(
            f"of the labels {np.unique(y)} it makes the classes {np.asarray(classes)}: give labels "
            "of a kind that it keeps, such as integers"
        )


def report_rehearsals(candidates: Any, fitted: Sequence[dict[str, Any]], warns: bool) -> None:
    """Raise ValueError if public rows got something else from any candidate; warn."""
    models = [candidates.model(params) for params in fitted]
    for params, model in zip(fitted, models, strict=True):
        require_same(model, f" ({params})" if params else "")
    if warns:
        _warn_of_clipping(models, candidates.scorers)
        _warn_of_single_calls(models, candidates)


def require_same(model: Model, which: str = "") -> None:
    """Raise ValueError if public rows got something else in the place of protected ones."""
    if model.tried is not None and model.tried.difference:
        raise ValueError(f"{model.tried.difference}{which}")


def _warn_of_clipping(models: Sequence[Model], scorers: Sequence[Any]) -> None:
    """Warn of given bounds that clip most gains of training records."""
    for k, scorer in enumerate(scorers):
        clipped = float(np.mean([model.clipped[k] for model in models]))
        if clipped > 1 / 2 and not scorer.learns_bounds:
            warn(
                f"The bounds of {scorer!r} clip the gains of {clipped:.0%} of the training "
                "records looked at: the score hardly tells candidates apart. Choose wider "
                "bounds, by what is known without the validation data",
            )


def _warn_of_single_calls(models: Sequence[Model], candidates: Any) -> None:
    """Warn that parts of models are called for each unit, and how long that will take."""
    unlisted = Parts.of_all(model.parts for model in models).unlisted
    if not unlisted or candidates.options.prediction != "auto":
        return
    units = candidates.problem.units
    seconds = units.m * sum(model.seconds for model in models)
    seconds /= effective_n_jobs(candidates.options.n_jobs)
    lasts = f", about {seconds:.2g} s in all for {len(models)} candidates"
    warn(
        f"Not known to treat each record independently of the others: {', '.join(unlisted)}. So "
        f"each of the {units.m:,} validation {units.name}s takes a call of its own"
        f"{lasts if seconds >= 10 else ''}. If you know that it does, "
        'prediction="together" predicts all at once',
    )


def _in_words(query: Query, value: Any) -> str:
    """Say what a query counts a record as: of means, its gain."""
    if not isinstance(query, MeanOf):
        return f"the count {value}"
    a, b = query.bounds
    return f"the gain {a + (b - a) * value / query.steps:.6g}"
