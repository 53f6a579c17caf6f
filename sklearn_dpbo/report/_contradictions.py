"""Contradictions between the parts of a release: noise, units, choice, report (zone: released).

What a file says twice has to agree. So a file that is edited in one place is found, although it has
no signature.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ..metrics._make import NAMES
from ..metrics._released import ReadTable, table_as_json
from ..metrics.evaluations._base import Evaluation
from ..metrics.evaluations._classifier import ClassifierEvaluation
from ..privacy.mechanisms import Price
from ..privacy.report._report import PrivacyReport
from ..search._released import SEARCH, SearchResult

_ROUNDING = 1e-9


def contradictions(released: Any) -> Iterator[str]:
    """Yield, in words, what two parts of a release say differently."""
    if isinstance(released, PrivacyReport):
        return
    report = released.privacy_
    tables = list(_distinct_tables(released))
    for table in tables:
        yield from _in_units(table, report)
    if report.assumption is None:  # else noise may be less than the worst case needs
        yield from _in_noise(tables, report)
    if isinstance(released, SearchResult):
        yield from _in_search(released)
    evaluation = getattr(released, "evaluation_", released)
    if isinstance(evaluation, ClassifierEvaluation):
        yield from _in_subgroups(evaluation)


def _distinct_tables(released: Any) -> Iterator[ReadTable]:
    """Yield each table that was released, once, although several scores may follow from it."""
    tables: list[ReadTable] = []
    if isinstance(released, SearchResult):
        for scores in (released._scores, *released._all_scores.values()):
            tables += [ReadTable(s.scorer.counts, s.noisy, s.units) for s in scores.values()]
    evaluation = getattr(released, "evaluation_", released)
    if isinstance(evaluation, Evaluation):
        design, noisy_tables = evaluation._source
        pairs = zip(design._parts, noisy_tables, strict=True)
        tables += [ReadTable(query, noisy, evaluation._units) for query, noisy in pairs]
    seen: list[Mapping[str, Any]] = []
    for table in tables:
        record = table_as_json(*table)
        if record not in seen:
            seen.append(record)
            yield table


def _in_units(table: ReadTable, report: PrivacyReport) -> Iterator[str]:
    """Compare the units that were counted with those that the report protects."""
    if table.units.grouped != (report.unit == "group"):
        yield f"the unit is {report.unit!r}, and grouped is {table.units.grouped} in a table"
    # Of one table, a part of the units is counted.
    whole = report.data == "validation set"
    if table.units.m > report.m or (whole and table.units.m != report.m):
        yield f"m is {report.m}, and a table counts {table.units.m} units"


def _in_noise(tables: list[ReadTable], report: PrivacyReport) -> Iterator[str]:
    """Compare the scale of the noise with the least that epsilon and delta allow."""
    gaussian = [table for table in tables if table.noisy.gaussian]
    laplace = [table for table in tables if not table.noisy.gaussian]
    spent = math.fsum(t.query.sensitivity(t.units) / t.noisy.scale for t in laplace)
    if spent > report.epsilon * (1 + _ROUNDING):
        yield f"the noise of the tables costs epsilon={spent:.6g}, and {report.epsilon:g} was spent"
    for query, noisy, units in gaussian if report.delta > 0 else ():
        price = Price.shared(len(gaussian), report.epsilon, report.delta, math.inf)
        least = price.scale(query.sensitivity(units))
        if noisy.scale < least * (1 - _ROUNDING):
            yield f"noise of scale {noisy.scale:g} is less than the {least:g} that delta allows"
    if gaussian and not report.delta > 0:
        yield "Gaussian noise needs a delta above 0"


def _in_search(result: SearchResult) -> Iterator[str]:
    """Compare the chosen candidate, and how many were compared, with the list of candidates."""
    for scores in (result._scores, *result._all_scores.values()):
        for name, released in scores.items():
            if name in NAMES and name != released.scorer.name:
                yield f"the score {name!r} is one of the metric {released.scorer.name!r}"
    if result.kind != SEARCH:
        return
    validated = [candidate["validated"] for candidate in result.candidates]
    index = result.best_index_
    if index is not None:
        in_list = 0 <= index < len(validated) and validated[index] is not False
        if not in_list or result.candidates[index]["params"] != result.best_params_:
            yield f"best_index is {index}, which is not the place of best_params among candidates"
    if result.privacy_.assumption is None and None not in validated:
        yield from _in_choice(result, validated.count(True))


def _in_choice(result: SearchResult, n_validated: int) -> Iterator[str]:
    """Compare the number of candidates that a score is the best of with those validated."""
    evaluation = result.evaluation_
    numbers = [released.n_compared for released in result._scores.values()]
    numbers += [] if evaluation is None else [evaluation._n_compared]
    for n_compared in numbers:
        if n_compared != n_validated:
            yield f"n_compared is {n_compared}, and {n_validated} candidates were validated"


def _in_subgroups(evaluation: ClassifierEvaluation) -> Iterator[str]:
    """Compare the number of subgroups in the tables with their levels."""
    n_subgroups = 1 if evaluation._subgroups is None else evaluation._subgroups.n
    for query in evaluation._source[0]._parts:
        if query.n_subgroups != n_subgroups:
            yield f"a table has {query.n_subgroups} subgroups, and the levels make {n_subgroups}"
