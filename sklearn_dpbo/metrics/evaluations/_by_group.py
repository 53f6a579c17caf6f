"""Scores by subgroup, from one table of counts by subgroup (zone: released)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...records.subgroups import OTHER
from ...records.units import Units
from .._queries import total_weight, unit_weight
from .._registry import METRICS
from .._scorers import CONFIDENCE

# Width of an interval, as a share of the score's range, from which on it gets a note.
_WIDE = 0.2
# Share of records that are "other" from which on a level without records is warned of.
_MANY = 0.05
# Numbers of records that are tried to find how many would be enough.
_SIZES = np.unique(np.geomspace(20, 1_000_000, 40).astype(int)).tolist()


class SubgroupScores:
    """Scores of a `ClassifierEvaluation` by subgroup."""

    def by_group(self: Any, name: str, by: Any = None, **options: Any) -> Any:
        """Return a score of each subgroup.

        Parameters
        ----------
        name : str
            As for `score`.
        by : str or list of str, default=None
            Columns of ``subgroups=`` that divide the records; None is all of them.
        **options
            As for `score`, such as ``threshold=0.3``.

        Returns
        -------
        scores : pandas.DataFrame
            A row for each subgroup: its levels; its estimated "size" (records, or groups); "value",
            "low" and "high" of the score; if the score depends on predicted labels, their
            "threshold", the same for all subgroups; and a "note". The note is "too few to tell" if
            the interval is wider than 0.2 (as it is if a score of positive records may have none),
            or than a fifth of the score's range if that is above 1. If a subgroup that resembles
            all records would also need more of them, the note says how many would be enough.
            Subgroups of values that are no level ("other") are left out if they may be empty.
        """
        import pandas as pd

        enough = cache(lambda n_members: self._enough(n_members, name, options))
        rows = []
        for labels, evaluation in self._by(by).items():
            score = evaluation.score(name, **options)
            size = round(evaluation._size.value)
            note = ""
            if score.high - score.low > _WIDE * self._range(name):
                n_members = len(evaluation._parts[-1].subgroups)
                note = "too few to tell" + _needed(enough(n_members), size)
            facts = self._facts(name, options)
            rows.append(
                {
                    **dict(zip(self._columns(by), labels, strict=True)),
                    "size": size,
                    **score._asdict(),
                    **facts,
                    "note": note,
                }
            )
        return pd.DataFrame(rows)

    def group_differences(self: Any, name: str, by: Any = None, **options: Any) -> Any:
        """Return the difference of a score between each two subgroups.

        All intervals together have a confidence of 95 %: each has 1 - 0.05 / (number of
        differences). An interval is computed from those of both scores, whose errors are
        independent, by the method of Zou and Donner (2008).

        Parameters
        ----------
        name, by, **options
            As for `by_group`; "selection_rate" and "recall", for example, to judge fairness.

        Returns
        -------
        differences : pandas.DataFrame
            A row for each pair: "group" and "other_group"; "value", the score of the first minus
            that of the second; "low" and "high".
        """
        import pandas as pd

        evaluations = self._by(by)
        confidence = 1 - (1 - CONFIDENCE) / max(math.comb(len(evaluations), 2), 1)
        scores = {
            _text(labels): replace(evaluation, _confidence=confidence).score(name, **options)
            for labels, evaluation in evaluations.items()
        }
        rows = []
        for (first, a), (second, b) in combinations(scores.items(), 2):
            difference = a.value - b.value
            low = difference - math.hypot(a.value - a.low, b.high - b.value)
            high = difference + math.hypot(a.high - a.value, b.value - b.low)
            rows.append((first, second, difference, low, high))
        return pd.DataFrame(rows, columns=["group", "other_group", "value", "low", "high"])

    def plot_by_group(
        self: Any, name: str, by: Any = None, *, ax: Any = None, **options: Any
    ) -> Any:
        """Draw a forest plot: a score of each subgroup, and of all records, with intervals.

        Parameters
        ----------
        name, by, **options
            As for `by_group`.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        ax : matplotlib Axes
        """
        import matplotlib.pyplot as plt

        ax = ax or plt.subplots(layout="constrained")[1]
        whole = self.score(name, **options)
        scores = self.by_group(name, by=by, **options)
        ax.axvline(whole.value, color="k", ls="--", lw=1, label="all records")
        ends = np.array([whole[1:], *scores[["low", "high"]].to_numpy()])
        ends, view = _seen(ends)
        ax.axvspan(*ends[0], color="k", alpha=0.1, lw=0)
        texts = []
        columns = self._columns(by)
        for i, row in enumerate(scores.to_dict("records")):
            low, high = ends[i + 1]
            value = row["value"]
            style = {"color": "0.6" if row["note"] else "C0", "fmt": "o", "capsize": 3}
            ax.errorbar(value, i, xerr=[[value - low], [high - value]], **style)
            levels = _text([row[name] for name in columns])
            note = "\ntoo few to tell" if row["note"] else ""
            texts.append(f"{levels} ({row['size']:,}){note}")
        ax.set_yticks(range(len(texts)), texts)
        ax.set(
            xlabel=(name in METRICS and METRICS[name].label) or name.replace("_", " "),
            ylim=(len(texts) - 0.5, -0.5),
            xlim=view,
        )
        ax.legend(fontsize="small")
        return ax

    # ------------------------------------------------------------ inside
    def _released_hint(self: Any) -> str:
        """Return a warning if a level may be empty, and many records have no level; "" if not."""
        for name in self._subgroups.levels if self._subgroups else ():
            sizes = {level: subgroup._size for (level,), subgroup in self._by(name).items()}
            no_level = sizes.pop(OTHER, None)
            empty = [level for level, size in sizes.items() if size.low <= 0]
            if empty and no_level and no_level.low > _MANY * self.m:
                return (
                    f"About {no_level.value:,.0f} {self._units.name}s have no level of subgroups"
                    f"[{name!r}], and maybe none has the level {empty[0]!r}: is it misspelt?"
                )
        return ""

    def _columns(self: Any, by: Any) -> list[str]:
        if self._subgroups is None:
            raise ValueError("the evaluation has no subgroups: pass subgroups_val and subgroups")
        by = list(self._subgroups.levels) if by is None else by
        return [by] if isinstance(by, str) else list(by)

    def _by(self: Any, by: Any) -> dict[tuple[Any, ...], Any]:
        """Return the evaluation of each subgroup by labels; "other" only if not empty."""
        columns = self._columns(by)
        members = self._subgroups.members(columns)
        by_labels = {labels: self._of(subgroups) for labels, subgroups in members.items()}
        return {
            labels: evaluation
            for labels, evaluation in by_labels.items()
            if OTHER not in labels or evaluation._size.low > 0
        }

    def _of(self: Any, members: tuple[int, ...]) -> Any:
        """Return the evaluation of the records in these subgroups."""
        parts = tuple(replace(part, subgroups=members) for part in self._parts)
        scorers = {
            name: replace(scorer, counts=parts[-1]) for name, scorer in self._scorers.items()
        }
        return replace(self, _parts=parts, _scorers=scorers)

    @property
    def _size(self: Any) -> Any:
        """Estimated number of records, or of groups."""
        return self._estimate(
            lambda n, _: self._parts[-1].by_table(n)[0].sum(axis=-1) / unit_weight(self._units),
            bounds=(0.0, float(self.m)),
        )

    def _enough(self: Any, n_members: int, name: str, options: dict[str, Any]) -> float:
        """Find the size from which a subgroup that resembles all records has narrow intervals."""
        shares = [self._counts(k)[0] / total_weight(self._units) for k in range(len(self._parts))]

        def is_enough(size: int) -> bool:
            noisy = []
            units = Units(size, self._units.labels)
            for part, cells in zip(self._noisy, shares, strict=True):
                counts = np.zeros((self._subgroups.n, cells.size), dtype=int)
                counts[:n_members] = np.rint(cells * total_weight(units) / n_members)
                noisy.append(replace(part, counts=tuple(counts.ravel().tolist())))
            whole = replace(self, _noisy=tuple(noisy), _units=units)
            score = whole._of(tuple(range(n_members))).score(name, **options)
            return bool(score.high - score.low <= _WIDE * self._range(name))

        i = bisect_left(_SIZES, True, key=is_enough)
        return math.inf if i == len(_SIZES) else float(f"{_SIZES[i]:.1g}")


def _needed(enough: float, size: int) -> str:
    """Return, in words, how many records would be enough; "" if the subgroup has as many."""
    if math.isinf(enough):
        return f": {_SIZES[-1]:,} would be, too"
    return f": about {enough:,.0f} would be enough" if enough > size else ""


def _seen(ends: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[float, float] | None]:
    """Replace infinite ends by values beyond the limits of a figure; return both."""
    finite = ends[np.isfinite(ends)]
    if finite.size == ends.size:
        return ends, None
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    reach = max(0.1 * (high - low), 0.1)
    return ends.clip(low - 2 * reach, high + 2 * reach), (low - reach, high + reach)


def _text(labels: Sequence[Any]) -> str:
    return ", ".join(map(str, labels))
