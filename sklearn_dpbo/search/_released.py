"""All results that a search released, as one object and as JSON (zone: released)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from ..metrics._intervals import simulation
from ..metrics._released import (
    ReleasedScore,
    plain,
    scorer_as_json,
    scorer_from_json,
    table_as_json,
    table_from_json,
)
from ..metrics.evaluations._base import (
    KEYS,
    Estimate,
    Evaluation,
    samplings,
    table_of,
    unknown_name,
)
from ..metrics.evaluations._from_dict import read_evaluation
from ..privacy.report._json import as_json, require_equal
from ..privacy.report._report import PrivacyReport

SEARCH = "search"
THRESHOLD = "threshold"


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult:
    """Everything that a search released, and nothing else.

    Searches and `PrivateThresholdClassifier` keep it as ``released_``; `sklearn_dpbo.report.load`
    returns it from a file. Attributes have the names that they have on the search.

    Attributes
    ----------
    privacy_ : PrivacyReport
        The privacy report; print it.
    kind : {"search", "threshold"}
        What was chosen.
    best_params_, best_index_ : dict and int, or None
        The chosen candidate, if one was. Values that are no numbers, texts, None, or lists and
        dicts of them are texts (their repr); tuples are lists.
    best_threshold_ : float or None
        The chosen threshold, if one was.
    candidates : list of dict
        What could be chosen: "params", and "validated" (True; False if it was only explored; None
        if that is not released).
    choice_counts_ : list of float, list of lists of float, or None
        Noisy counts that were released before the choice, if any were.
    evaluation_ : ClassifierEvaluation, RegressorEvaluation or None
        The evaluation of the chosen candidate, if it was released.
    """

    privacy_: PrivacyReport
    kind: str
    best_params_: dict[str, Any] | None
    best_index_: int | None
    best_threshold_: float | None
    candidates: list[dict[str, Any]]
    choice_counts_: Any
    evaluation_: Evaluation | None
    _scores: Mapping[str, ReleasedScore]
    # By number of the candidate, if those of all candidates were released.
    _all_scores: Mapping[int, Mapping[str, ReleasedScore]]

    @property
    def best_score_(self) -> float:
        """The released score, that of the metric that selected; AttributeError without one."""
        return self._first.value

    @property
    def best_score_interval_(self) -> tuple[float, float]:
        """Interval for the score of these records (95 %)."""
        return self._first.score[1]

    @property
    def best_score_population_interval_(self) -> tuple[float, float]:
        """Interval for the score of the population (95 %), NaN where nothing is claimed."""
        return self._first.population

    @property
    def _first(self) -> ReleasedScore:
        if not self._scores:
            raise AttributeError("no score was released: all of epsilon paid for the choice")
        return next(iter(self._scores.values()))

    def scores(self, interval: str = "population") -> dict[str, Estimate]:
        """Return the released scores by name.

        Parameters
        ----------
        interval : {"population", "records"}, default="population"
            As in `score`.

        Returns
        -------
        scores : dict of str to Estimate
        """
        return {name: self.score(name, interval=interval) for name in self._scores}

    def score(self, name: str, *, interval: str = "population") -> Estimate:
        """Return a released score by name.

        Parameters
        ----------
        name : str
            Name of the metric, as in ``scoring=``.
        interval : {"population", "records"}, default="population"
            "population": a 95 % interval for the score of the population that the records are a
            random sample of (NaN where no such interval is known); "records": for the score of
            these records, which covers the noise alone.

        Returns
        -------
        score : Estimate
        """
        if name not in self._scores:
            raise ValueError(unknown_name(name, list(self._scores)))
        samplings(interval)
        released = self._scores[name]
        ends = released.population if interval == "population" else released.score[1]
        return Estimate(released.value, *ends)

    def table(self, digits: int = 2, *, interval: str = "population") -> Any:
        """Return the released scores as a frame, for a paper.

        Parameters
        ----------
        digits : int, default=2
            Decimals of "text".
        interval : {"population", "records"}, default="population"
            As in `score`.

        Returns
        -------
        table : pandas.DataFrame
            A row for each metric, with the columns "value", "low", "high" and "text".
        """
        rows = [{"metric": n, **s._asdict()} for n, s in self.scores(interval).items()]
        options = {} if interval == "population" else {"interval": interval}
        return table_of([row | {"options": options} for row in rows], digits)

    def to_dict(self) -> dict[str, Any]:
        """Return released counts, the scores that follow from them, and the privacy report.

        Returns
        -------
        result : dict
            With the keys "format", "kind", "m", "unit", "best_params", "best_index",
            "best_threshold", "candidates", "choice_counts", "tables" (what was counted, by which
            public design, the noisy counts and their noise), "released_scores" (how each follows
            from a table), "simulation" (of intervals), "scores" (as in `Evaluation.to_dict`),
            "evaluation" and "privacy". Candidates have "scores", too, if those of all were
            released. `sklearn_dpbo.report.from_dict` returns the result again.
        """
        privacy = self.privacy_.to_dict()
        tables, released = self._as_released()
        evaluation = None
        if self.evaluation_ is not None:
            evaluation = self.evaluation_.to_dict()
            del evaluation["privacy"]  # it is that of the whole
        candidates = [
            {**candidate, "scores": _in_numbers(self._all_scores[i])}
            if i in self._all_scores
            else candidate
            for i, candidate in enumerate(self.candidates)
        ]
        return {
            "format": privacy["format"],
            "kind": self.kind,
            "m": self.privacy_.m,
            "unit": self.privacy_.unit,
            "best_params": self.best_params_,
            "best_index": self.best_index_,
            "best_threshold": self.best_threshold_,
            "candidates": candidates,
            "choice_counts": self.choice_counts_,
            "tables": tables,
            "released_scores": released,
            "simulation": simulation(),
            "scores": _in_numbers(self._scores),
            "evaluation": evaluation,
            "privacy": privacy,
        }

    def _as_released(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """List the different tables of noisy counts, and the scores that follow from them."""
        tables: list[dict[str, Any]] = []
        records = []
        everywhere: dict[int | None, Mapping[str, ReleasedScore]] = {self.best_index_: self._scores}
        everywhere.update(self._all_scores.items())
        for candidate, scores in everywhere.items():
            for name, released in scores.items():
                table = table_as_json(released.scorer.counts, released.noisy, released.units)
                if table not in tables:
                    tables.append(table)
                records.append(
                    {
                        "name": name,
                        "candidate": candidate,
                        "table": tables.index(table),
                        "n_compared": released.n_compared,
                        "selects": released.selects,
                        **scorer_as_json(released.scorer),
                    }
                )
        return tables, records

    def to_json(self) -> str:
        """Return `to_dict` as JSON: one file from which all scores and intervals follow.

        `sklearn_dpbo.report.load` reads it, ``python -m sklearn_dpbo.report check`` checks it, and
        a JSON Schema describes it.
        """
        return as_json(self.to_dict())

    def _rows(self) -> dict[str, str]:
        """Format the choice and the scores, by name."""
        chosen = {"best_params_": self.best_params_, "best_threshold_": self.best_threshold_}
        shown = {name: str(value) for name, value in chosen.items() if value is not None}
        return shown | {name: str(score) for name, score in self.scores().items()}

    def _repr_html_(self) -> str:
        return self.privacy_._card([(name, [text]) for name, text in self._rows().items()])

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} of a {self.kind}, {self.privacy_!r}"]
        return "\n".join([*lines, *(f"  {name:<25} {x}" for name, x in self._rows().items())])

    @classmethod
    def of(
        cls,
        kind: str,
        privacy: PrivacyReport,
        scores: Mapping[str, ReleasedScore],
        *,
        best_params: dict[str, Any] | None = None,
        best_index: int | None = None,
        best_threshold: float | None = None,
        candidates: Sequence[tuple[dict[str, Any], bool | None]] = (),
        choice_counts: Any = None,
        evaluation: Evaluation | None = None,
        all_scores: Mapping[int, Mapping[str, ReleasedScore]] | None = None,
    ) -> Self:
        """Make the result; `candidates` are pairs of parameters and `validated`."""
        listed = [
            {"params": plain(params), "validated": validated} for params, validated in candidates
        ]
        params = None if best_params is None else plain(best_params)
        counts = plain(choice_counts)
        return cls(
            privacy,
            kind,
            params,
            best_index,
            best_threshold,
            listed,
            counts,
            evaluation,
            scores,
            all_scores or {},
        )

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Read the result of `to_dict`; raise ValueError if `to_dict` does not return it again."""
        privacy = PrivacyReport.from_dict(record["privacy"])
        tables = [table_from_json(table) for table in record["tables"]]
        scores: dict[int | None, dict[str, ReleasedScore]] = {}
        for released in record["released_scores"]:
            counts, noisy, units = tables[released["table"]]
            scorer = scorer_from_json(released, counts)
            scores.setdefault(released["candidate"], {})[released["name"]] = ReleasedScore(
                scorer, noisy, units, released["n_compared"], released["selects"]
            )
        best = record["best_index"]
        evaluation = record["evaluation"]
        candidates = [
            {key: candidate[key] for key in ("params", "validated")}
            for candidate in record["candidates"]
        ]
        all_scores = {i: named for i, named in scores.items() if i is not None}
        result = cls(
            privacy,
            record["kind"],
            record["best_params"],
            best,
            record["best_threshold"],
            candidates,
            _require_numbers(record["choice_counts"]),
            None if evaluation is None else read_evaluation(evaluation, privacy),
            scores.get(best, {}),
            all_scores if len(scores) > 1 else {},
        )
        require_equal(result.to_dict(), record, "record")
        return result


def _in_numbers(scores: Mapping[str, ReleasedScore]) -> dict[str, dict[str, Any]]:
    """Return the value and both intervals of each score, and a note on clipped losses."""
    numbers: dict[str, dict[str, Any]] = {}
    for name, released in scores.items():
        row = (released.value, *released.population, *released.score[1])
        finite = (x if math.isfinite(x) else None for x in row)
        clipping = released.scorer.clipping
        numbers[name] = dict(zip(KEYS, finite, strict=True))
        numbers[name] |= {"note": clipping} if clipping else {}
    return numbers


def _require_numbers(counts: Any) -> Any:
    """Return noisy counts, lists of them, or None; ValueError if they are anything else."""
    if isinstance(counts, list):
        return [_require_numbers(count) for count in counts]
    if counts is None or type(counts) in (int, float):
        return counts
    raise ValueError(f"choice_counts are numbers; found {counts!r}")
