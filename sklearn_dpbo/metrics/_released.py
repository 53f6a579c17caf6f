"""Released scores, and the JSON of noisy counts and of scorers (zone: released).

All numbers in a file are computed from its noisy counts, and from its public settings such as the
edges of bins. The same code computes them for the release and when the file is read.
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

    The candidate was chosen as the best of `n_compared`; if this score `selects`, by this score.
    `n_compared` is None if the number of candidates is unknown, or depended on unknown things.
    """

    scorer: PrivateScorer
    noisy: NoisyCounts
    units: Units
    n_compared: float | None = None
    selects: bool = True

    @property
    def score(self) -> Score:
        """The noisy score, and the 95 % interval for the score without noise."""
        return score_and_interval(self.scorer, self.units, self.noisy)

    @property
    def value(self) -> float:
        """The noisy score."""
        return self.score[0]

    @cached_property
    def population(self) -> tuple[float, float]:
        """The 95 % interval for the score of the population; NaN if it is not known."""
        return population_interval(
            self.scorer, self.units, self.noisy, self.n_compared, self.selects
        )


class _Kind(NamedTuple):
    """A kind of table: the class of its query, and the names of its attributes.

    `attributes` maps the name of each attribute in JSON to the one that it has in the query.
    """

    query: type[Query]
    attributes: Mapping[str, str]


# The attribute of tables that may be counted for each subgroup of the records.
_BY_SUBGROUP = {"subgroups": "n_subgroups"}
# The attribute of tables that count classes.
_CLASSES = {"classes": "classes"}
_KINDS = {
    "confusion matrix": _Kind(Confusion, _CLASSES | _BY_SUBGROUP),
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
        | _BY_SUBGROUP,
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
# Placeholders for arguments of a query that only counting needs, so that JSON leaves them out.
_PLACEHOLDERS: dict[type[Query], dict[str, Any]] = {
    Agreement: {"parts": ()},
    MeanOf: {"gain": None},
}


class ReadTable(NamedTuple):
    """A query with the noisy counts of these units, read from a file or taken from an object.

    If it is read, `units` does not say which group a record belongs to.
    """

    query: Query
    noisy: NoisyCounts
    units: Units


def table_as_json(query: Query, noisy: NoisyCounts, units: Units) -> dict[str, Any]:
    """Return the query, the noisy counts and their noise as JSON has them."""
    table, kind = next((name, kind) for name, kind in _KINDS.items() if kind.query is type(query))
    return {
        "table": table,
        **{key: plain(getattr(query, attribute)) for key, attribute in kind.attributes.items()},
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
    values = {name: _read(key, table[key]) for key, name in kind.attributes.items()}
    if not 1 <= values.get("n_subgroups", 1) <= MOST_SUBGROUPS:
        raise ValueError(f"a table has from 1 to {MOST_SUBGROUPS} subgroups")
    if "n_subgroups" in values:
        values["subgroups"] = tuple(range(values["n_subgroups"]))
    query: Any = kind.query(**values, **_PLACEHOLDERS.get(kind.query, {}))
    # An array of labels, though empty, says that the units are groups.
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
    arguments = name, METRICS[name].bounds, dict(record["params"])
    of_classes = {
        "counts": counts,
        "classes": counts.classes,
        "positions": positions_of(name, record["params"], counts.classes),
    }
    if "smoothed" in record:
        return RankingScore(*arguments, **of_classes, smooth=record["smoothed"])
    return ConfusionScore(*arguments, **of_classes)


def _mean_from_json(name: str, gain: str, counts: MeanOf) -> MeanScore:
    """Return the score with this name that is the mean of a gain, or minus the root of minus one.

    It is a root if the names of score and gain differ. A user's function is called "" as a gain.
    """
    low, high = counts.bounds
    fixed = GAINS[gain].bounds if gain else None
    if isinstance(fixed, tuple) and np.isfinite(fixed).all() and fixed != counts.bounds:
        raise ValueError(f"the gain {gain!r} is from {fixed[0]} to {fixed[1]}")
    bounds = (float(low), float(high))
    if gain and gain != name:
        bounds = (-math.sqrt(-low), -math.sqrt(-high))
    task = "classification" if gain else None
    return MeanScore(name, bounds, {}, task=task, gain=gain, counts=counts)


def plain(value: Any) -> Any:
    """Convert numbers, texts and their containers to types of JSON; anything else to its repr.

    Floats that are not finite become texts: "nan", "inf" or "-inf".
    """
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
