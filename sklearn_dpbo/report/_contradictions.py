"""Contradictions between the parts of a release: noise, units, choice, report (zone: released).

What a file says twice has to agree. So an edit in one place is found, although the file has no
signature.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ..metrics._make import NAMES
from ..metrics._released import ReadTable, table_as_json
from ..metrics.evaluations._base import Evaluation
from ..metrics.evaluations._classifier import ClassifierEvaluation
from ..privacy.mechanisms import GAUSSIAN_ONLY, Price
from ..privacy.report._report import PrivacyReport
from ..search._released import SEARCH, SearchResult

# Relative error that rounding may cause.
_ROUNDING = 1e-9


def contradictions(released: Any) -> Iterator[str]:
    """Yield, in words, what two parts of a release say differently."""
    if isinstance(released, PrivacyReport):
        return
    report = released.privacy_
    tables = list(_distinct_tables(released))
    for table in tables:
        yield from _check_units(table, report)
    # On an assumption about the data, less noise may be enough than in the worst case.
    if report.assumption is None:
        yield from _check_noise(tables, report)
    if isinstance(released, SearchResult):
        yield from _check_search(released)
    evaluation = _evaluation_of(released)
    if isinstance(evaluation, ClassifierEvaluation):
        yield from _check_subgroups(evaluation)


def _evaluation_of(released: Any) -> Any:
    """Return the evaluation in the result of a search, or None; all else is one itself."""
    return getattr(released, "evaluation_", released)


def _distinct_tables(released: Any) -> Iterator[ReadTable]:
    """Yield each table that was released, once, although several scores may follow from it."""
    tables: list[ReadTable] = []
    if isinstance(released, SearchResult):
        for scores in (released._scores, *released._all_scores.values()):
            tables += [ReadTable(s.scorer.counts, s.noisy, s.units) for s in scores.values()]
    evaluation = _evaluation_of(released)
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


def _check_units(table: ReadTable, report: PrivacyReport) -> Iterator[str]:
    """Compare the units that were counted with those that the report protects."""
    if table.units.grouped != (report.unit == "group"):
        counted = "groups" if table.units.grouped else "records"
        yield f"the report protects each {report.unit}, but a table counts {counted}"
    # All units of a validation set are counted; of one sensitive table, only the part for scores.
    counts_all = report.data == "validation set"
    if table.units.m > report.m or (counts_all and table.units.m != report.m):
        yield f"the report protects {report.m} units, but a table counts {table.units.m}"


def _check_noise(tables: list[ReadTable], report: PrivacyReport) -> Iterator[str]:
    """Compare the scale of the noise with the least that epsilon and delta allow."""
    gaussian = [table for table in tables if table.noisy.gaussian]
    laplace = [table for table in tables if not table.noisy.gaussian]
    spent = math.fsum(t.query.sensitivity(t.units) / t.noisy.scale for t in laplace)
    if spent > report.epsilon * (1 + _ROUNDING):
        yield (
            f"the noise of the tables costs epsilon={spent:.6g}, but the report says that only "
            f"{report.epsilon:g} was spent"
        )
    if gaussian and not report.delta > 0:
        yield "a table has Gaussian noise, which needs a delta above 0; the report has none"
    elif gaussian:
        price = Price.shared(len(gaussian), report.epsilon, report.delta, GAUSSIAN_ONLY)
        for query, noisy, units in gaussian:
            least = price.scale(query.sensitivity(units))
            if noisy.scale < least * (1 - _ROUNDING):
                yield (
                    f"a table has noise of scale {noisy.scale:g}, but the report's epsilon and "
                    f"delta need {least:g} or more"
                )


def _check_search(result: SearchResult) -> Iterator[str]:
    """Compare the names of scores with their metrics, and the choice with the list of candidates.

    The choice is the chosen candidate, and the number of candidates that it is the best of.
    """
    for scores in (result._scores, *result._all_scores.values()):
        for name, released in scores.items():
            if name in NAMES and name != released.scorer.name:
                yield f"the score named {name!r} was computed as {released.scorer.name!r}"
    if result.kind != SEARCH:
        return
    validated = [candidate["validated"] for candidate in result.candidates]
    index = result.best_index_
    if index is not None:
        if not 0 <= index < len(validated):
            yield f"best_index is {index}, but the file lists {len(validated)} candidates"
        elif validated[index] is False:
            yield f"best_index is {index}, but that candidate was not validated"
        elif result.candidates[index]["params"] != result.best_params_:
            yield f"best_index is {index}, but that candidate does not have best_params"
    if result.privacy_.assumption is None and None not in validated:
        yield from _check_n_compared(result, validated.count(True))


def _check_n_compared(result: SearchResult, n_validated: int) -> Iterator[str]:
    """Compare the numbers of candidates that scores are the best of with that of the validated."""
    evaluation = result.evaluation_
    numbers = [released.n_compared for released in result._scores.values()]
    numbers += [] if evaluation is None else [evaluation._n_compared]
    for n_compared in numbers:
        if n_compared != n_validated:
            yield f"n_compared is {n_compared}, but {n_validated} candidates were validated"


def _check_subgroups(evaluation: ClassifierEvaluation) -> Iterator[str]:
    """Compare the number of subgroups in each table with the number that the levels make."""
    n_subgroups = 1 if evaluation._subgroups is None else evaluation._subgroups.n
    for query in evaluation._source[0]._parts:
        if query.n_subgroups != n_subgroups:
            yield f"a table has {query.n_subgroups} subgroups, but the levels make {n_subgroups}"
