"""A released score, and the JSON of noisy counts and of how scores follow (zone: released).

A file holds the noisy counts and the public design alone. All else is computed from them, when they
are released and when the file is read, by the same code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..privacy.noisy_counts import NoisyCounts
from ..records.units import Units
from ._agreement import Agreement
from ._errors import ErrorHistogram, Moments
from ._histogram import ScoreHistogram
from ._of_counts import ConfusionScore, RankingScore
from ._pairs import PairCounts
from ._population import population_interval
from ._queries import Confusion, MeanOf, Query, unit_weight
from ._registry import METRICS
from ._scorers import MeanScore, PrivateScorer, Score, score_and_interval
from ._variance import VarianceExplained


@dataclass(frozen=True, eq=False)
class ReleasedScore:
    """A score, by the noisy counts that it follows from.

    Of the best of `n_compared` candidates, which were compared by this score if it `selects`; None
    if their number, or what they depended on, is not known.
    """

    scorer: PrivateScorer
    noisy: NoisyCounts
    units: Units
    n_compared: float | None = None
    selects: bool = True

    @property
    def score(self) -> Score:
        """The score, and where it lies without noise (95 %)."""
        return score_and_interval(self.scorer, self.units, self.noisy)

    @property
    def value(self) -> float:
        """The score."""
        return self.score[0]

    @cached_property
    def population(self) -> tuple[float, float]:
        """Where the score of the population lies, NaN if that is not known."""
        return population_interval(
            self.scorer, self.units, self.noisy, self.n_compared, self.selects
        )


class _Kind(NamedTuple):
    """What is counted: the class of the query, and its attributes by their names in JSON."""

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
# What only counting needs, and reading does not.
_NOT_READ: dict[type[Query], dict[str, Any]] = {Agreement: {"parts": ()}, MeanOf: {"gain": None}}


def table_as_json(query: Query, noisy: NoisyCounts, units: Units) -> dict[str, Any]:
    """Return what was counted, the noisy counts, and their noise."""
    name, kind = next((n, k) for n, k in _KINDS.items() if k.query is type(query))
    return {
        "table": name,
        **{key: plain(getattr(query, of)) for key, of in kind.attributes.items()},
        "units": units.m,
        "grouped": units.grouped,
        "counts_per_unit": unit_weight(units),
        "noise": "discrete Gaussian" if noisy.gaussian else "discrete Laplace",
        "scale": noisy.scale,
        "counts": list(noisy.counts),
    }


def table_from_json(table: Mapping[str, Any]) -> tuple[Query, NoisyCounts, Units]:
    """Return what `table_as_json` wrote; KeyError, TypeError or ValueError if that is not so."""
    kind = _KINDS[table["table"]]
    own = {of: _read(key, table[key]) for key, of in kind.attributes.items()}
    if "n_subgroups" in own:
        own["subgroups"] = tuple(range(own["n_subgroups"]))
    query: Any = kind.query(**own, **_NOT_READ.get(kind.query, {}))
    units = Units(table["units"], np.empty(0, dtype=np.intp) if table["grouped"] else None)
    gaussian = table["noise"] == "discrete Gaussian"
    noisy = NoisyCounts(tuple(table["counts"]), float(table["scale"]), gaussian)
    if not (noisy.scale > 0 and units.m > 0 and all(type(n) is int for n in noisy.counts)):
        raise ValueError("a table has whole numbers as counts, and noise of a positive scale")
    return query, noisy, units


def scorer_as_json(scorer: PrivateScorer) -> dict[str, Any]:
    """Return how a score follows from the counts of its table."""
    record: dict[str, Any] = {"metric": scorer.name}
    if isinstance(scorer, MeanScore):
        record |= {"mean_of": scorer.gain, "bounds": plain(scorer.bounds)}
    if isinstance(scorer, ConfusionScore | RankingScore):
        record |= {"positive_classes": list(scorer.positions)}
        record |= {"params": {key: plain(value) for key, value in scorer.params.items()}}
    if isinstance(scorer, RankingScore):
        record |= {"smoothed": scorer.smooth}
    return record


def scorer_from_json(record: Mapping[str, Any], counts: Any) -> PrivateScorer:
    """Return the score of these counts that `scorer_as_json` wrote."""
    name = record["metric"]
    if isinstance(counts, MeanOf):
        low, high = record["bounds"]
        task = "classification" if record["mean_of"] else None
        own = {"task": task, "gain": record["mean_of"], "counts": counts}
        return MeanScore(name, (float(low), float(high)), {}, **own)
    if isinstance(counts, Moments):
        return VarianceExplained(name, METRICS[name].bounds, {}, counts=counts)
    known = {
        "counts": counts,
        "classes": counts.classes,
        "positions": tuple(record["positive_classes"]),
    }
    settings = name, METRICS[name].bounds, dict(record["params"])
    if "smoothed" in record:
        return RankingScore(*settings, **known, smooth=record["smoothed"])
    return ConfusionScore(*settings, **known)


def plain(value: Any) -> Any:
    """Return a value of numbers and texts as JSON has it; anything else as its text."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value if not isinstance(value, float) or np.isfinite(value) else repr(value)
    return repr(value)


def _read(key: str, value: Any) -> Any:
    """Return an attribute of a query: classes are an array, and all other lists are tuples."""
    if key == "classes":
        return np.array(value)
    return tuple(_read("", each) for each in value) if isinstance(value, list) else value
