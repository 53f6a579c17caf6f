"""Released scores, and the JSON of noisy counts and of scorers (zone: released).

All numbers in a file are computed from its noisy counts and its public design, by the same code
when they are released and when the file is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..privacy.noisy_counts import NoisyCounts
from ..records.subgroups import MOST_SUBGROUPS
from ..records.units import Units
from ._agreement import Agreement
from ._errors import ErrorHistogram, Moments
from ._gains import GAINS
from ._histogram import ScoreHistogram
from ._of_counts import ConfusionScore, RankingScore, positions_of
from ._pairs import PairCounts
from ._population import population_interval
from ._queries import Confusion, MeanOf, Query, unit_weight
from ._registry import METRICS
from ._scorers import MeanScore, PrivateScorer, Score, score_and_interval
from ._variance import VarianceExplained


@dataclass(frozen=True, eq=False)
class ReleasedScore:
    """A score with the noisy counts from which it is computed.

    It is of the best of `n_compared` candidates, chosen by this score if it `selects`. `n_compared`
    is None if their number is not known, or depended on something that is not known.
    """

    scorer: PrivateScorer
    noisy: NoisyCounts
    units: Units
    n_compared: float | None = None
    selects: bool = True

    @property
    def score(self) -> Score:
        """The score, and the 95 % interval for the score without noise."""
        return score_and_interval(self.scorer, self.units, self.noisy)

    @property
    def value(self) -> float:
        """The score."""
        return self.score[0]

    @cached_property
    def population(self) -> tuple[float, float]:
        """The 95 % interval for the score of the population; NaN if it is not known."""
        return population_interval(
            self.scorer, self.units, self.noisy, self.n_compared, self.selects
        )


class _Kind(NamedTuple):
    """A kind of table: the class of its query, and attributes of it by their names in JSON."""

    query: type[Query]
    attributes: Mapping[str, str]


_CROSSED = {"subgroups": "n_subgroups"}
_CLASSES = {"classes": "classes"}
_KINDS = {
    "confusion matrix": _Kind(Confusion, _CLASSES | _CROSSED),
    "histogram of scores": _Kind(
        ScoreHistogram,
        _CLASSES
        | {
            "positive_classes": "positives",
            "edges": "edges",
            "threshold_edge": "cut",
            "threshold_is_the_models": "follows",
            "scores_repeat": "repeated",
            "each_score_has_a_bin": "separate",
            "methods": "response_method",
        }
        | _CROSSED,
    ),
    "agreement of two models": _Kind(Agreement, _CLASSES | {"by_class": "by_class"}),
    "histogram of errors": _Kind(ErrorHistogram, {"edges": "edges"}),
    "sums of errors and targets": _Kind(
        Moments,
        {
            "centre": "centre",
            "largest_distance": "c_y",
            "largest_error": "c_e",
            "steps": "steps",
        },
    ),
    "sum of gains": _Kind(MeanOf, {"bounds": "bounds", "steps": "steps", "with_spread": "spread"}),
    "pairs in order": _Kind(
        PairCounts,
        _CLASSES | {"positive_classes": "positives", "shares": "shares", "floor": "floor"},
    ),
}
# Arguments that only counting needs, for queries that are read.
_NOT_READ: dict[type[Query], dict[str, Any]] = {Agreement: {"parts": ()}, MeanOf: {"gain": None}}


class ReadTable(NamedTuple):
    """A table as `table_from_json` reads it; `units` hold no group labels."""

    query: Query
    noisy: NoisyCounts
    units: Units


def table_as_json(query: Query, noisy: NoisyCounts, units: Units) -> dict[str, Any]:
    """Return the query, the noisy counts and their noise as JSON has them."""
    name, kind = next((n, k) for n, k in _KINDS.items() if k.query is type(query))
    return {
        "table": name,
        **{key: plain(getattr(query, name)) for key, name in kind.attributes.items()},
        "units": units.m,
        "grouped": units.grouped,
        "counts_per_unit": unit_weight(units),
        "noise": "discrete Gaussian" if noisy.gaussian else "discrete Laplace",
        "scale": noisy.scale,
        "counts": list(noisy.counts),
    }


def table_from_json(table: Mapping[str, Any]) -> ReadTable:
    """Read what `table_as_json` returned; KeyError, TypeError or ValueError for anything else."""
    kind = _KINDS[table["table"]]
    attributes = {name: _read(key, table[key]) for key, name in kind.attributes.items()}
    if not 1 <= attributes.get("n_subgroups", 1) <= MOST_SUBGROUPS:
        raise ValueError(f"a table has from 1 to {MOST_SUBGROUPS} subgroups")
    if "n_subgroups" in attributes:
        attributes["subgroups"] = tuple(range(attributes["n_subgroups"]))
    query: Any = kind.query(**attributes, **_NOT_READ.get(kind.query, {}))
    units = Units(table["units"], np.empty(0, dtype=np.intp) if table["grouped"] else None)
    gaussian = table["noise"] == "discrete Gaussian"
    noisy = NoisyCounts(tuple(table["counts"]), float(table["scale"]), gaussian)
    if not (noisy.scale > 0 and units.m > 0 and all(type(n) is int for n in noisy.counts)):
        raise ValueError("counts of a table must be integers, and the scale of its noise above 0")
    return ReadTable(query, noisy, units)


def scorer_as_json(scorer: PrivateScorer) -> dict[str, Any]:
    """Return the metric and public parameters of a scorer as JSON has them."""
    record: dict[str, Any] = {"metric": scorer.name}
    if isinstance(scorer, MeanScore):
        record |= {"mean_of": scorer.gain}
    if isinstance(scorer, ConfusionScore | RankingScore):
        record |= {"params": {key: plain(value) for key, value in scorer.params.items()}}
    if isinstance(scorer, RankingScore):
        record |= {"smoothed": scorer.smooth}
    return record


def scorer_from_json(record: Mapping[str, Any], counts: Any) -> PrivateScorer:
    """Return the scorer for a query from what `scorer_as_json` returned."""
    name = record["metric"]
    if isinstance(counts, MeanOf):
        return _mean_from_json(name, record["mean_of"], counts)
    if isinstance(counts, Moments):
        return VarianceExplained(name, METRICS[name].bounds, {}, counts=counts)
    query = {
        "counts": counts,
        "classes": counts.classes,
        "positions": positions_of(name, record["params"], counts.classes),
    }
    settings = name, METRICS[name].bounds, dict(record["params"])
    if "smoothed" in record:
        return RankingScore(*settings, **query, smooth=record["smoothed"])
    return ConfusionScore(*settings, **query)


def _mean_from_json(name: str, gain: str, counts: MeanOf) -> MeanScore:
    """Return the mean of a gain, or of a user's function if that is "", or the root of a mean."""
    low, high = counts.bounds
    known = GAINS[gain].bounds if gain else None
    if isinstance(known, tuple) and np.isfinite(known).all() and known != counts.bounds:
        raise ValueError(f"the gain {gain!r} is from {known[0]} to {known[1]}")
    bounds = (float(low), float(high))
    if gain and gain != name:
        bounds = (-math.sqrt(-low), -math.sqrt(-high))
    task = "classification" if gain else None
    return MeanScore(name, bounds, {}, task=task, gain=gain, counts=counts)


def plain(value: Any) -> Any:
    """Convert numbers, texts and their containers to types of JSON; anything else to its repr."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value if not isinstance(value, float) or np.isfinite(value) else repr(value)
    return repr(value)


def _read(key: str, value: Any) -> Any:
    """Convert an attribute of a query from JSON: classes to an array, all other lists to tuples."""
    if key == "classes":
        return np.array(value)
    return tuple(_read("", item) for item in value) if isinstance(value, list) else value
