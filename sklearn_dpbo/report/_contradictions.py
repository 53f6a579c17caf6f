"""Contradictions between the parts of a release: noise, units, choice, report (zone: released).

What a file says twice has to agree. So a file that is edited in one place is found, although it has
no signature.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ..metrics._make import NAMES
from ..metrics._queries import Cells, total_weight
from ..metrics._released import ReadTable, table_as_json
from ..metrics.evaluations._base import Evaluation
from ..metrics.evaluations._classifier import ClassifierEvaluation
from ..privacy.accounting import SCORE, PrivacyLoss
from ..privacy.mechanisms import GAUSSIAN_ONLY, Price
from ..privacy.noisy_counts import noise_std
from ..privacy.report._report import PrivacyReport
from ..search._released import SEARCH, SearchResult

_ROUNDING = 1e-6
# Deviations of noise that the sum of the counts of a table may be off.
_MANY_DEVIATIONS = 8
# Purposes of releases that tables of a file are of; others are choices, training and class sizes.
_PAYS_FOR_TABLES = (
    SCORE, "scores of all candidates", "evaluation of the chosen candidate",
    "score at the threshold", "evaluation of a model", "comparison of two models",
)  # fmt: skip


def contradictions(released: Any) -> Iterator[str]:
    """Yield, in words, what two parts of a release say differently."""
    if isinstance(released, PrivacyReport):
        return
    report = released.privacy_
    tables = list(_distinct_tables(released))
    yield from _check_units(tables, released)
    if report.assumption is None:  # else noise may be less than the worst case needs
        yield from _check_noise(tables, report, isinstance(released, SearchResult))
    elif not isinstance(released, SearchResult):
        yield f"a {released.kind} rests on no assumption"
    if isinstance(released, SearchResult):
        yield from _check_search(released)
    evaluation = getattr(released, "evaluation_", released)
    if isinstance(evaluation, ClassifierEvaluation):
        yield from _check_subgroups(evaluation)


def _distinct_tables(released: Any) -> Iterator[ReadTable]:
    """Yield each table that was released, once, although several scores may follow from it."""
    tables: list[tuple[int | None, ReadTable]] = []
    best = getattr(released, "best_index_", None)
    if isinstance(released, SearchResult):
        by_index: dict[Any, Any] = {**released._all_scores} or {best: released._scores}
        for index, scores in by_index.items():
            tables += [
                (index, ReadTable(score.scorer.counts, score.noisy, score.units))
                for score in scores.values()
            ]
    evaluation = getattr(released, "evaluation_", released)
    if isinstance(evaluation, Evaluation):
        design, noisy_tables = evaluation._source
        pairs = zip(design._parts, noisy_tables, strict=True)
        tables += [(best, ReadTable(query, noisy, evaluation._units)) for query, noisy in pairs]
    seen: list[tuple[int | None, Mapping[str, Any]]] = []
    for place, table in tables:
        key = place, table_as_json(*table)
        if key not in seen:
            seen.append(key)
            yield table


def _check_units(tables: list[ReadTable], released: Any) -> Iterator[str]:
    """Compare the units that were counted with those that the report protects."""
    report = released.privacy_
    possible = ("validation set", "table") if _is_search(released) else ("validation set",)
    if report.data not in possible or report.unit == "instance":
        yield f"a {released.kind} is not of the {report.unit}s of a {report.data}"
    for query, noisy, units in tables:
        if units.grouped != (report.unit == "group"):
            counted = "groups" if units.grouped else "records"
            yield f"the report protects each {report.unit}, but a table counts {counted}"
        # A search on one table counts its held-out part.
        if units.m > report.m or (report.data == "validation set" and units.m != report.m):
            yield f"the report protects {report.m} units, but a table counts {units.m}"
        if units.m != tables[0].units.m:
            yield f"tables count {tables[0].units.m} and {units.m} units"
        if isinstance(query, Cells):
            expected = total_weight(units) * len(query.sizes)
            noise = noise_std(noisy.scale, noisy.gaussian) * math.sqrt(len(noisy.counts))
            if abs(sum(noisy.counts) - expected) > _MANY_DEVIATIONS * noise + 1:
                yield f"a table counts {units.m} units, and its counts are not of so many"


def _check_noise(tables: list[ReadTable], report: PrivacyReport, is_whole: bool) -> Iterator[str]:
    """Compare the scale of the noise of each table with what the report says was paid for it."""
    losses = [loss for loss in report.spends if loss.purpose in _PAYS_FOR_TABLES]
    losses.sort(key=lambda loss: loss.purpose == SCORE)  # of which tables may be missing
    alike: dict[tuple[float, bool, int], int] = {}
    for query, noisy, units in tables:
        key = noisy.scale, noisy.gaussian, query.sensitivity(units)
        alike[key] = alike.get(key, 0) + 1
    for (scale, gaussian, sensitivity), n_tables in alike.items():
        paid = _paid_for(losses, scale, gaussian, sensitivity, n_tables)
        if not paid:
            yield f"noise of scale {scale:g} is not what any release that is listed pays for"
        for loss in paid:
            losses.remove(loss)
    for loss in losses:
        # The evaluation of a search may be handed in alone, without the search's scores.
        if is_whole or loss.purpose != SCORE:
            yield f"there is no table of a release that is listed: {loss.release}"


def _paid_for(
    losses: list[PrivacyLoss], scale: float, gaussian: bool, sensitivity: int, n_tables: int
) -> list[PrivacyLoss]:
    """Return the losses that paid for n tables with this noise: each for as many; none if none."""
    for loss in losses:
        equal = [each for each in losses if each.epsilon == loss.epsilon]
        for n_losses in (k for k in range(1, len(equal) + 1) if n_tables % k == 0):
            n_each = n_tables // n_losses
            if gaussian and not loss.delta > 0:
                continue
            price = (
                Price.shared(n_each, loss.epsilon, loss.delta, GAUSSIAN_ONLY)
                if gaussian
                else Price(n_each, loss.epsilon)
            )
            if math.isclose(scale, price.scale(sensitivity), rel_tol=_ROUNDING):
                return equal[:n_losses]
    return []


def _is_search(released: Any) -> bool:
    return isinstance(released, SearchResult) and released.kind == SEARCH


def _check_search(result: SearchResult) -> Iterator[str]:
    """Check names of metrics, the chosen candidate, and how many candidates were compared."""
    for scores in (result._scores, *result._all_scores.values()):
        for name, released in scores.items():
            if name in NAMES and (name != released.scorer.name or released.scorer.custom):
                yield f"the score named {name!r} was computed as another metric"
            if released.n_compared is not None and not released.n_compared >= 1:
                yield f"n_compared is {released.n_compared}: it is 1 or more, or null"
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
    for i, scores in result._all_scores.items():
        if i != index and any(score.n_compared is not None for score in scores.values()):
            yield f"n_compared of candidate {i} is not null: it was not chosen"
    if result.privacy_.assumption is not None:
        return
    if None not in validated:
        yield from _check_choice(result, validated.count(True))
    elif result.privacy_.data != "table":
        yield "validated is null, and only a search on one table keeps it secret"


def _check_choice(result: SearchResult, n_validated: int) -> Iterator[str]:
    """Compare the number of candidates that a score is the best of with those validated."""
    evaluation = result.evaluation_
    numbers = [released.n_compared for released in result._scores.values()]
    numbers += [] if evaluation is None else [evaluation._n_compared]
    for n_compared in numbers:
        if n_compared != n_validated:
            yield f"n_compared is {n_compared}, but {n_validated} candidates were validated"


def _check_subgroups(evaluation: ClassifierEvaluation) -> Iterator[str]:
    """Compare the number of subgroups in the tables with their levels."""
    n_subgroups = 1 if evaluation._subgroups is None else evaluation._subgroups.n
    for query in evaluation._source[0]._parts:
        if query.n_subgroups != n_subgroups:
            yield f"a table has {query.n_subgroups} subgroups, but the levels make {n_subgroups}"
