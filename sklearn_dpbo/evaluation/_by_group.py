"""Scores by subgroup, from one table of subgroups and what is counted (zone: released)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._data.subgroups import OTHER, Subgroups
from .._data.units import Units
from ..scoring._queries import total_weight, unit_weight
from ..scoring._scorers import CONFIDENCE
from ._base import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["SubgroupScores"]

# Wider intervals do not tell. Numbers of records that are tried, to say how many would.
_WIDE = 0.2
_SIZES = np.unique(np.geomspace(20, 1_000_000, 40).astype(int)).tolist()


class SubgroupScores:
    """The part of a `ClassifierEvaluation` that is by subgroup."""

    def by_group(
        self: Any, name: str, *, by: str | Sequence[str] | None = None, **options: Any
    ) -> DataFrame:
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
            A row for each subgroup, with its levels, its estimated "size" (number of records, or of
            groups' shares), "value", "low" and "high" of the score, and a "note": "too few to tell"
            if the interval is wider than 0.2 or there may be no positive record, and how many
            records of the subgroup would be enough if it were as all records are. Subgroups of
            records without a level ("other") are left out if there may be none.
        """
        import pandas as pd

        enough = cache(lambda n: self._enough(n, name, options))
        rows = []
        for labels, own in self._by(by).items():
            size, score = own._size(), own.score(name, **options)
            note = ""
            if score.high - score.low > _WIDE or own._size(positive=True).low <= 0:
                note = f"too few to tell: {enough(len(own._parts[-1].subgroups))}"
            rows.append((*labels, round(size.value), *score, note))
        names = [*self._columns(by), "size", "value", "low", "high", "note"]
        return pd.DataFrame(rows, columns=names)

    def group_differences(
        self: Any, name: str, *, by: str | Sequence[str] | None = None, **options: Any
    ) -> DataFrame:
        """Return the difference of a score between each two subgroups.

        All intervals together contain all differences with a probability of 95 %: each has 1 - 0.05
        / (number of comparisons). They combine the intervals of both scores, whose errors are
        independent, as Zou and Donner (2008) do.

        Parameters
        ----------
        name, by, **options
            As for `by_group`. For fairness: "selection_rate", "recall", "precision".

        Returns
        -------
        differences : pandas.DataFrame
            A row for each two subgroups: "group", "other_group" and "value" (the first's score less
            the second's), "low" and "high".
        """
        import pandas as pd

        pairs = list(combinations(self._by(by).items(), 2))
        confidence = 1 - (1 - CONFIDENCE) / max(len(pairs), 1)
        rows = []
        for (label_a, a), (label_b, b) in pairs:
            x, y = (replace(own, _confidence=confidence).score(name, **options) for own in (a, b))
            low, high = (
                (x.value - y.value) + sign * math.hypot(x[i] - x.value, y[3 - i] - y.value)
                for sign, i in ((-1, 1), (1, 2))
            )
            rows.append((_text(label_a), _text(label_b), x.value - y.value, low, high))
        return pd.DataFrame(rows, columns=["group", "other_group", "value", "low", "high"])

    def plot_by_group(
        self: Any,
        name: str,
        *,
        by: str | Sequence[str] | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Axes:
        """Draw a score of each subgroup, and of all records, with intervals (a forest plot).

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
        scores, whole = self.by_group(name, by=by, **options), self.score(name, **options)
        ax.axvline(whole.value, color="k", ls="--", lw=1, label="all records")
        ax.axvspan(whole.low, whole.high, color="k", alpha=0.1, lw=0)
        for i, row in enumerate(scores.itertuples(index=False)):
            few = bool(row.note)
            ends = [[row.value - row.low], [row.high - row.value]]
            ax.errorbar(row.value, i, xerr=ends, fmt="o", color="0.6" if few else "C0", capsize=3)
        n_columns = len(self._columns(by))
        ax.set_yticks(
            range(len(scores)),
            [
                f"{_text(row[:n_columns])} ({row[n_columns]:,})" + "\ntoo few to tell" * bool(row[-1])
                for row in scores.itertuples(index=False)
            ],
        )
        ax.set(xlabel=name, ylim=(len(scores) - 0.5, -0.5))
        ax.legend(fontsize="small")
        return ax

    # ------------------------------------------------------------ inside
    def _columns(self: Any, by: str | Sequence[str] | None) -> list[str]:
        if self._subgroups is None:
            raise ValueError("the evaluation has no subgroups: pass subgroups_val and subgroups")
        known: Subgroups = self._subgroups
        return list(known.levels) if by is None else [by] if isinstance(by, str) else list(by)

    def _by(self: Any, by: str | Sequence[str] | None) -> dict[tuple[Any, ...], Any]:
        """Return the evaluation of each subgroup, by its labels."""
        names = self._columns(by)
        own = {key: self._of(members) for key, members in self._subgroups.members(names).items()}
        return {key: each for key, each in own.items() if OTHER not in key or each._size().low > 0}

    def _of(self: Any, members: tuple[int, ...]) -> Self:
        """Return the evaluation of the records of these subgroups."""
        parts = tuple(replace(part, subgroups=members) for part in self._parts)
        scorers = {name: replace(each, counts=parts[-1]) for name, each in self._scorers.items()}
        own: Self = replace(self, _parts=parts, _scorers=scorers)
        return own

    def _size(self: Any, positive: bool = False) -> Estimate:
        """Return the number of records, or that of the positive class that has the fewest."""
        rows, w = slice(int(positive), None), unit_weight(self._units)
        sizes = [
            self._estimate(
                lambda n, _, c=c: self._tables(n)[c][..., rows, :].sum(axis=(-2, -1)) / w,
                bounds=(0.0, float(self.m)),
            )
            for c in range(len(self._positives) if positive else 1)
        ]
        return min(sizes)

    def _enough(self: Any, n_members: int, name: str, options: dict[str, Any]) -> str:
        """Say how many records of a subgroup that is as all records are would be enough."""
        members = tuple(range(n_members))
        shares = [self._counts(part)[0] / total_weight(self._units) for part in range(len(self._parts))]

        def tells(size: int) -> bool:
            noisy, units = [], Units(size, self._units.labels)
            for part, share in zip(self._noisy, shares, strict=True):
                counts = np.zeros((self._subgroups.n, share.size))
                counts[:n_members] = share * total_weight(units) / n_members
                noisy.append(replace(part, counts=tuple(np.rint(counts).astype(int).ravel().tolist())))
            own = replace(self, _noisy=tuple(noisy), _units=units)._of(members)
            _, low, high = own.score(name, **options)
            return bool(high - low <= _WIDE)

        i = bisect_left(_SIZES, True, key=tells)
        if i == len(_SIZES):
            return f"{_SIZES[-1]:,} records would not be enough"
        return f"about {float(f'{_SIZES[i]:.1g}'):,.0f} records would be enough"


def _text(labels: Sequence[Any]) -> str:
    return ", ".join(map(str, labels))
