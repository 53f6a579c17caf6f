"""Base class of evaluations: numbers with intervals, and how they are shown (zone: released)."""

from __future__ import annotations

import difflib
import json
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...privacy.float_errors import ignore_float_errors
from ...privacy.noisy_counts import NoisyCounts
from ...privacy.report._json import as_json
from ...privacy.report._report import PrivacyReport
from ...records.units import Units
from .._intervals import (
    Compute,
    draws,
    likely,
    simulated_interval,
    simulation,
    without_noise,
)
from .._population import after_choice, score_after_choice
from .._precision import Width, expected_counts
from .._released import plain, table_as_json
from .._response import Responses
from .._scorers import CONFIDENCE, UNSET, PrivateScorer, score_and_interval
from .._unknown import settled, unknown_hint

if TYPE_CHECKING:
    from pandas import DataFrame


Floats = NDArray[np.float64]
# Keys of each score in `to_dict`.
KEYS = ("value", "low", "high", "records_low", "records_high")
# Decimals in tables, of the scores that need more than two.
_DIGITS = {"net_benefit": 3}
# Factors of the sampling error. An interval for the population also contains that for the records,
# which may reach farther where records in a bin are hard to tell apart.
SAMPLINGS = {"population": (0.0, 1.0), "records": (0.0,)}


def samplings(interval: str) -> tuple[float, ...]:
    """Return the factors of the sampling error; the interval contains that of each factor."""
    if interval not in SAMPLINGS:
        raise ValueError(f'interval must be "population" or "records"; found {interval!r}')
    return SAMPLINGS[interval]


class Estimate(NamedTuple):
    """A number with noise, and a 95 % interval.

    Parameters
    ----------
    value : float
        The number with noise.
    low, high : float
        The interval. With ``interval="population"``, it covers noise and sampling: it is for the
        number of the population that the records are a random sample of. With
        ``interval="records"`` it covers the noise alone: it is for the exact number of these
        records.
    """

    value: float
    low: float
    high: float

    def __float__(self) -> float:
        return self.value

    def __neg__(self) -> Estimate:
        return Estimate(-self.value, -self.high, -self.low)

    def __repr__(self) -> str:
        value, low, high = (f"{number:.4g}" for number in self)
        return f"{value} (95 %: {low} to {high})"


def unknown_name(name: object, known: Sequence[str]) -> str:
    """Describe an unknown name of a number, with the known name nearest to it."""
    near = difflib.get_close_matches(str(name).lower(), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"score takes one of {list(known)}; found {name!r}{hint}"


def hull(estimates: Sequence[Estimate]) -> Estimate:
    """Return the first number with an interval that contains all intervals."""
    values, lows, highs = zip(*estimates, strict=True)
    return Estimate(values[0], min(lows), max(highs))


def table_of(
    rows: Sequence[dict[Any, Any]],
    digits: int | None,
    levels: Sequence[str] = (),
    usual_digits: int = 2,
) -> DataFrame:
    """Format numbers as a frame for a paper, a row each; columns are the facts that all rows have.

    Every row has "metric", "value", "low" and "high". It may have other columns of
    `Evaluation.table`.
    """
    import pandas as pd

    table = pd.DataFrame(list(rows))
    scores = table["score"] if "score" in table else table["metric"]
    decimals = [_DIGITS.get(name, usual_digits) if digits is None else digits for name in scores]
    ends = table[["value", "low", "high"]].to_numpy(float)
    table["text"] = [_in_text(row, n) for row, n in zip(ends.tolist(), decimals, strict=True)]
    if "size" in table:
        table.loc[table["note"] != "", "text"] += ", too few to tell"
    table["options"] = [json.dumps(options) if options else "" for options in table["options"]]
    if (scores == table["metric"]).all():
        table = table.drop(columns="score", errors="ignore")
    if not table["options"].any():
        table = table.drop(columns="options")
    first = ["metric", *levels, "value", "low", "high"]
    facts = [name for name in ("threshold", "score", "options") if name in table]
    last = [name for name in ("size", "note", "text") if name in table]
    table = table[[*first, *facts, *last]]
    return table.set_index(["metric", *levels] if levels else "metric")


def _in_text(numbers: Sequence[float], n: int) -> str:
    value, low, high = (round(number, n) + 0.0 for number in numbers)  # no "-0.00"
    return f"{value:.{n}f} ({low:.{n}f} to {high:.{n}f})"


def _without_threshold(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name != "threshold"}


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Base of evaluations: first a design (queries), then also the released counts and scores."""

    # Queries, each with a share of epsilon in proportion to its weight. The first counts predicted
    # labels, the last has bins.
    _parts: tuple[Any, ...]
    # Scores that are computed from one part, as a search computes them.
    _scorers: dict[str, PrivateScorer]
    # Mean and mean square of the probabilities in each bin, per score.
    _moments: tuple[Floats, ...] | None = None
    _noisy: tuple[NoisyCounts, ...] = ()
    _units: Units = UNSET
    privacy_: PrivacyReport = UNSET
    _confidence: float = CONFIDENCE
    # Number of candidates that were compared, see `after_choice`. It also widens intervals of
    # scores that did not choose the candidate: luck may have moved these either way.
    _n_compared: float = 1.0
    # Number of records with unknown labels, in words; empty if noise alone may explain it.
    _unknown: str = ""
    # The design and the noisy counts as they were released, unknown labels included.
    _source: tuple[Evaluation, tuple[NoisyCounts, ...]] = UNSET
    # Value of "kind" in files.
    kind = ""
    # Decimals of numbers in tables.
    _digits = 2
    _title = "Differentially private evaluation"
    # Description of `interval="population"`.
    _covers = "for the population that the records are a random sample of"

    def _released(
        self,
        noisy: tuple[NoisyCounts, ...],
        units: Units,
        privacy: PrivacyReport,
        n_compared: float = 1,
    ) -> Self:
        """Return the evaluation with the noisy counts of each part; `units` are without labels."""
        source = self, noisy
        pairs = list(zip(self._parts, noisy, strict=True))
        unknown = next(filter(None, (unknown_hint(*pair, units) for pair in pairs)), "")
        parts, noisy = zip(*(settled(*pair) for pair in pairs), strict=True)
        scorers = {
            name: replace(scorer, counts=parts[self._parts.index(scorer.counts)])
            for name, scorer in self._scorers.items()
        }
        return replace(
            self,
            _parts=parts,
            _scorers=scorers,
            _noisy=noisy,
            _units=units,
            privacy_=privacy,
            _n_compared=n_compared,
            _unknown=unknown,
            _source=source,
        )

    def _expected(self, public: Responses, units: Units, epsilon: float) -> Self:
        """Return the evaluation expected of records that are predicted like public ones."""
        noisy = []
        weights = sum(part.weight for part in self._parts)
        for part in self._parts:
            counts = expected_counts(part, public(part.response_method), units)
            scale = part.sensitivity(units) * weights / part.weight / epsilon
            noisy.append(NoisyCounts(counts, scale))
        return self._released(tuple(noisy), units, UNSET)

    @property
    def clipping(self) -> str:
        """Public bounds to which values are clipped, in words; empty if nothing is clipped."""
        return ""

    @property
    def _after_choice(self) -> str:
        is_chosen = self._n_compared > 1
        return "; wider, as the candidate was chosen on the same records" if is_chosen else ""

    @property
    def m(self) -> int:
        """Number of protected records, or groups."""
        return self._units.m

    def scores(self, interval: str = "population") -> dict[str, Estimate]:
        """Return the main numbers by name.

        Parameters
        ----------
        interval : {"population", "records"}, default="population"
            As in `score`.

        Returns
        -------
        scores : dict of str to Estimate
        """
        return {name: self.score(name, interval=interval) for name in self._names}

    def score(self, name: str, *, interval: str = "population") -> Estimate:
        """Return a number by name."""
        raise NotImplementedError

    def _notes(self) -> dict[str, str]:
        """Return notes on main numbers, by name."""
        return {}

    def _rows(self) -> dict[str, str]:
        """Return the main numbers as text, with their notes, by name."""
        notes = {name: f", {note}" for name, note in self._notes().items()}
        return {name: f"{score}{notes.get(name, '')}" for name, score in self.scores().items()}

    def table(
        self: Any, metrics: Any = None, *, by: Any = None, digits: int | None = None, **options: Any
    ) -> DataFrame:
        """Return numbers with their intervals as a frame, for a paper.

        Parameters
        ----------
        metrics : str, list of str or dict, default=None
            Names for `score`; or by the label of each row, its name, or a pair of its name and a
            dict of further parameters of `score`, as in ``{"AUC": "roc_auc", "Sensitivity at 20 %":
            ("sensitivity", {"threshold": 0.2})}``. None is what `scores` returns.
        by : bool, str or list of str, default=None
            Columns of ``subgroups=`` that divide the records, True is all of them: there are rows
            for each subgroup, too. None is all records together.
        digits : int, default=None
            Decimals of "text". None is 2, and 3 for "net_benefit" and differences, which are small.
        **options
            Passed to `score` for every metric, such as ``interval="records"``; a threshold only
            where a number depends on it.

        Returns
        -------
        table : pandas.DataFrame
            A row for each metric (and subgroup, after "all" records), with the columns "value",
            "low", "high" and "text", such as "0.87 (0.84 to 0.90)". There may be more columns:
            "threshold", the score from which on the positive class is predicted, if any number
            depends on it; "score", the name for `score`, if rows have other labels; and "options",
            as JSON, if there are any besides a threshold. By subgroup there are "size" and "note"
            of `by_group`; where there is a note, the text ends in "too few to tell". The "note" of
            a regressor names the size to which errors are clipped. Write the frame with `to_html`,
            `to_csv`, or `to_latex`, which needs jinja2.
        """
        if by is not None and not hasattr(self, "by_group"):
            raise ValueError(f"{type(self).__name__} has no subgroups: leave by= out")
        metrics = self._names if metrics is None else metrics
        metrics = [metrics] if isinstance(metrics, str) else metrics
        named = metrics if isinstance(metrics, Mapping) else {name: name for name in metrics}
        notes = self._notes()
        rows: list[dict[Any, Any]] = []
        for label, metric in named.items():
            name, params = (metric, {}) if isinstance(metric, str) else metric
            facts = self._facts(name, options | params)
            common = options if "threshold" in facts else _without_threshold(options)
            params = {**common, **params}
            row = {
                "metric": label,
                "score": name,
                **facts,
                "options": plain(_without_threshold(params)),
            }
            whole = self.score(name, **params)._asdict()
            if by is None:
                clipped = params.get("clipped", True)
                note = notes.get(name.removeprefix("neg_"), "") if clipped else ""
                rows.append({**row, **whole, **({"note": note} if notes else {})})
                continue
            groups = self.by_group(name, by=None if by is True else by, **params)
            levels = dict.fromkeys(self._columns(None if by is True else by), "all")
            rows.append({**row, **levels, **whole, "size": self.m, "note": ""})
            rows += [{**row, **group} for group in groups.to_dict("records")]
        levels = [] if by is None else self._columns(None if by is True else by)
        return table_of(rows, digits, levels, self._digits)

    def _facts(self, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return public facts that a number with these options depends on, such as a threshold."""
        return {}

    def _released_hint(self) -> str:
        """Return a warning if the released counts suggest a mistake in a parameter; "" if not."""
        return ""

    def _labels_hint(self) -> str:
        """Return a warning if predicted labels are not those of the model's `predict`; else ""."""
        return ""

    @property
    def _names(self) -> list[str]:
        """Names of the main numbers."""
        raise NotImplementedError

    def _width(self, name: str) -> Width:
        """Return the width of the interval of a main number."""
        _, low, high = self.score(name, interval="records")
        return Width(name, high - low, self._range(name))

    def _range(self, name: str) -> float:
        """Return the largest difference of values of a main number."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the released counts, the main numbers and the privacy report, as in JSON.

        Returns
        -------
        evaluation : dict
            With the keys "format" (the version of these keys, 2), "kind", "m", "unit", "tables"
            (of each table its query, its noisy counts and their noise), "design" (all other public
            facts), "simulation" (of intervals), "scores" and "privacy"; of a classifier also
            "classes" and "confusion_matrix". Each score, and the matrix, has "value", "low" and
            "high" (for the population), "records_low" and "records_high" (for these records); None
            stands for infinity. Scores of clipped errors have a "note" that says so.
            "unknown_labels" is there if some labels are not among the classes, and says how many.
            `sklearn_dpbo.report.from_dict` returns the evaluation again.
        """
        privacy = self.privacy_.to_dict()
        head = {"format": privacy["format"], "kind": self.kind, "m": self.m}
        unknown = {"unknown_labels": self._unknown} if self._unknown else {}
        return {
            **head,
            "unit": self.privacy_.unit,
            **self._as_released(),
            "scores": self._as_dicts(),
            "privacy": privacy,
            **unknown,
        }

    def _as_released(self) -> dict[str, Any]:
        """Return the released counts and their public design, as JSON has them."""
        design, noisy = self._source
        tables = [
            table_as_json(part, counts, self._units)
            for part, counts in zip(design._parts, noisy, strict=True)
        ]
        public = {"n_compared": self._n_compared, **design._public_design()}
        return {"tables": tables, "design": public, "simulation": simulation()}

    def _public_design(self) -> dict[str, Any]:
        """Return the public facts of the design that no table has."""
        return {}

    def _as_dicts(self, **params: Any) -> dict[str, dict[str, Any]]:
        """Return the main numbers with both intervals; `params` are those of `score`."""
        notes = self._notes()
        dicts: dict[str, dict[str, Any]] = {}
        for name in self._names:
            score, for_records = (self.score(name, interval=i, **params) for i in SAMPLINGS)
            numbers = zip(KEYS, (*score, *for_records[1:]), strict=True)
            dicts[name] = {key: x if math.isfinite(x) else None for key, x in numbers}
            if name in notes:
                dicts[name]["note"] = notes[name]
        return dicts

    def to_json(self) -> str:
        """Return `to_dict` as JSON: one file from which all numbers and figures follow.

        `sklearn_dpbo.report.load` reads it, ``python -m sklearn_dpbo.report check`` checks it, and
        a JSON Schema describes it.
        """
        return as_json(self.to_dict())

    def _repr_html_(self) -> str:
        rows = [(name, [shown]) for name, shown in self._rows().items()]
        rows += [("95 % intervals", [self._covers + self._after_choice])]
        rows += [("Clipping", [self.clipping])] if self.clipping else []
        rows += [("Unknown labels", [self._unknown])] if self._unknown else []
        return replace(self.privacy_, title=self._title)._card(rows)

    def __repr__(self) -> str:
        unit = self.privacy_.unit
        private = "" if self.privacy_.secure else ", NOT PRIVATE: seeded noise"
        weights = " (of the same weight each)" if self._units.grouped else ""
        epsilon = f"epsilon = {self.privacy_.epsilon:g}{private}"
        lines = [f"{type(self).__name__} on {self.m:,} {unit}s{weights}, {epsilon}"]
        lines += [f"  {name:<25} {shown}" for name, shown in self._rows().items()]
        lines += [f"  95 % intervals {self._covers}{self._after_choice}"]
        for text in (self.clipping, self._unknown):
            lines += textwrap.wrap(text, 100, initial_indent="  ", subsequent_indent="  ")
        return "\n".join(lines)

    def _score(self, scorer: PrivateScorer, part: int = -1, sampling: float = 0.0) -> Estimate:
        """Compute a score and its interval from the counts of one part, as a search does."""
        released = (scorer, self._units, self._noisy[part], self._confidence)
        if sampling:
            value, ends = score_after_choice(*released, self._n_compared)
        else:
            value, ends = score_and_interval(*released)
        return Estimate(value, *ends)

    @ignore_float_errors()
    def _estimate(
        self,
        compute: Compute,
        part: int = -1,
        bounds: tuple[float, float] = (0.0, 1.0),
        sampling: float = 0.0,
    ) -> Estimate:
        """Compute a number within these bounds, and its interval, from the counts of one part."""
        value = float(compute(self._counts(part), None)[0])
        query = self._parts[part]
        noisy = self._noisy[part]
        n_compared = self._n_compared

        def interval(confidence: float, noisy: NoisyCounts, sampling: float) -> tuple[float, float]:
            return simulated_interval(
                compute, query, noisy, self._units, confidence, bounds, sampling
            )

        if sampling and n_compared > 1:
            noise = partial(interval, noisy=noisy, sampling=0.0)

            def sampled(times: float) -> tuple[float, float]:
                return interval(self._confidence, without_noise(noisy), times * sampling)

            ends = after_choice(value, noise, sampled, bounds, self._confidence, n_compared)
            low, high = map(float, ends)
        else:
            low, high = interval(self._confidence, noisy, sampling)
        return Estimate(value, min(low, value), max(high, value))

    @ignore_float_errors()
    def _band(
        self,
        compute: Callable[[Floats, float], Floats],
        interval: str,
        part: int = -1,
        bounds: tuple[float, float] = (0.0, 1.0),
    ) -> tuple[Floats, Floats]:
        """Compute intervals for several numbers, with 95 % confidence for each by itself."""
        query = self._parts[part]
        noisy = self._noisy[part]

        def ends(confidence: float, noisy: NoisyCounts, sampling: float) -> tuple[Floats, Floats]:
            counts = draws(query, noisy, self._units, sampling)
            outside = (1 - confidence) / 2
            low = np.quantile(compute(counts, 0.0), outside, axis=0)
            return low, np.quantile(compute(counts, 1.0), 1 - outside, axis=0)

        bands = [ends(CONFIDENCE, noisy, sampling) for sampling in samplings(interval)]
        if len(bands) > 1 and self._n_compared > 1:
            sampled = partial(ends, CONFIDENCE, without_noise(noisy))
            noise = partial(ends, noisy=noisy, sampling=0.0)
            value = compute(self._counts(part), 0.0)[0]
            bands[1] = after_choice(value, noise, sampled, bounds, CONFIDENCE, self._n_compared)
        lows, highs = zip(*bands, strict=True)
        return np.min(lows, axis=0), np.max(highs, axis=0)

    def _counts(self, part: int = -1) -> Floats:
        """Return the counts of one part as one row, adjusted so that no number is negative."""
        return likely(self._parts[part], self._noisy[part].counts, self._units)
