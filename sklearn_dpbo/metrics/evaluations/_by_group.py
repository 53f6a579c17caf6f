"""Scores by subgroup, from one table of subgroups and what is counted (zone: released)."""

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

# Intervals that are wider do not tell. Numbers of records that are tried, to say how many would.
_WIDE = 0.2
# Share of records that are "other" from which on a level without records is warned of.
_MANY = 0.05
_SIZES = np.unique(np.geomspace(20, 1_000_000, 40).astype(int)).tolist()


class SubgroupScores:
    """The part of a `ClassifierEvaluation` that is by subgroup."""

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
            "low" and "high" of the score; of predicted labels, the "threshold" from which on the
            positive class is predicted, which is that of all records; and a "note". This is "too
            few to tell" if the interval is wider than 0.2 (as it is if a score of positive records
            may have none), or than a fifth of a larger range. If a subgroup that is as all records
            are would need more records, the note says how many would be enough. Subgroups of values
            that are no level ("other") are left out if they may be empty.
        """
        import pandas as pd

        enough = cache(lambda n_members: self._enough(n_members, name, options))
        rows = []
        for labels, own in self._by(by).items():
            score, size, note = own.score(name, **options), round(own._size.value), ""
            if score.high - score.low > _WIDE * self._range(name):
                note = "too few to tell" + _needed(enough(len(own._parts[-1].subgroups)), size)
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
        differences). It combines the intervals of both scores, whose errors are independent, as Zou
        and Donner (2008) do.

        Parameters
        ----------
        name, by, **options
            As for `by_group`; "selection_rate" and "recall", for example, to judge fairness.

        Returns
        -------
        differences : pandas.DataFrame
            A row for each two subgroups: "group" and "other_group"; "value", the score of the first
            less that of the second; "low" and "high".
        """
        import pandas as pd

        own, scores, rows = self._by(by), {}, []
        confidence = 1 - (1 - CONFIDENCE) / max(math.comb(len(own), 2), 1)
        for labels, each in own.items():
            of_all = replace(each, _confidence=confidence)
            scores[_text(labels)] = of_all.score(name, **options)
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
        whole, scores = self.score(name, **options), self.by_group(name, by=by, **options)
        ax.axvline(whole.value, color="k", ls="--", lw=1, label="all records")
        ends = np.array([whole[1:], *scores[["low", "high"]].to_numpy()])
        ends, view = _seen(ends)
        ax.axvspan(*ends[0], color="k", alpha=0.1, lw=0)
        texts = []
        columns = self._columns(by)
        for i, row in enumerate(scores.to_dict("records")):
            low, high = ends[i + 1]
            value, note = row["value"], row["note"]
            style = {"color": "0.6" if note else "C0", "fmt": "o", "capsize": 3}
            ax.errorbar(value, i, xerr=[[value - low], [high - value]], **style)
            levels = _text([row[name] for name in columns])
            texts.append(f"{levels} ({row['size']:,})" + ("\ntoo few to tell" if note else ""))
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
        """Say which levels may have no record where many records have none of the levels."""
        for name in self._subgroups.levels if self._subgroups else ():
            sizes = {level: own._size for (level,), own in self._by(name).items()}
            other = sizes.pop(OTHER, None)
            empty = [level for level, size in sizes.items() if size.low <= 0]
            if empty and other and other.low > _MANY * self.m:
                return (
                    f"About {other.value:,.0f} {self._units.name}s have no level of subgroups"
                    f"[{name!r}], and maybe none has the level {empty[0]!r}: is it misspelt?"
                )
        return ""

    def _columns(self: Any, by: Any) -> list[str]:
        if self._subgroups is None:
            raise ValueError("the evaluation has no subgroups: pass subgroups_val and subgroups")
        by = list(self._subgroups.levels) if by is None else by
        return [by] if isinstance(by, str) else list(by)

    def _by(self: Any, by: Any) -> dict[tuple[Any, ...], Any]:
        """Return the evaluation of each subgroup, by its labels."""
        columns = self._columns(by)
        own = {key: self._of(each) for key, each in self._subgroups.members(columns).items()}
        return {key: each for key, each in own.items() if OTHER not in key or each._size.low > 0}

    def _of(self: Any, members: tuple[int, ...]) -> Any:
        """Return the evaluation of the records in these subgroups."""
        parts = tuple(replace(part, subgroups=members) for part in self._parts)
        scorers = {name: replace(each, counts=parts[-1]) for name, each in self._scorers.items()}
        return replace(self, _parts=parts, _scorers=scorers)

    @property
    def _size(self: Any) -> Any:
        """The estimated number of records, or of groups."""
        return self._estimate(
            lambda n, _: self._parts[-1].by_table(n)[0].sum(axis=-1) / unit_weight(self._units),
            bounds=(0.0, float(self.m)),
        )

    def _enough(self: Any, n_members: int, name: str, options: dict[str, Any]) -> float:
        """Return how many records of a subgroup that is as all records are would be enough."""
        share = [self._counts(k)[0] / total_weight(self._units) for k in range(len(self._parts))]

        def is_enough(size: int) -> bool:
            noisy, units = [], Units(size, self._units.labels)
            for part, cells in zip(self._noisy, share, strict=True):
                counts = np.zeros((self._subgroups.n, cells.size), dtype=int)
                counts[:n_members] = np.rint(cells * total_weight(units) / n_members)
                noisy.append(replace(part, counts=tuple(counts.ravel().tolist())))
            own = replace(self, _noisy=tuple(noisy), _units=units)._of(tuple(range(n_members)))
            score = own.score(name, **options)
            return bool(score.high - score.low <= _WIDE * self._range(name))

        i = bisect_left(_SIZES, True, key=is_enough)
        return math.inf if i == len(_SIZES) else float(f"{_SIZES[i]:.1g}")


def _needed(enough: float, size: int) -> str:
    """Say how many records would be enough; nothing if a subgroup of this size should have been."""
    if math.isinf(enough):
        return f": {_SIZES[-1]:,} would be, too"
    return f": about {enough:,.0f} would be enough" if enough > size else ""


def _seen(ends: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[float, float] | None]:
    """Return where intervals end in a figure, and its limits: infinite ones go beyond them."""
    known = ends[np.isfinite(ends)]
    if known.size == ends.size:
        return ends, None
    low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
    reach = max(0.1 * (high - low), 0.1)
    return ends.clip(low - 2 * reach, high + 2 * reach), (low - reach, high + reach)


def _text(labels: Sequence[Any]) -> str:
    return ", ".join(map(str, labels))
