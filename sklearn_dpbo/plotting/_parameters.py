"""A parameter's values as positions on an axis: linear, logarithmic or by category (zone: public).

What has no place on a numeric axis (a setting without the parameter, or a category among numbers)
stands beside it, at a *mark*.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Number

import numpy as np

from .._space.axes import Distribution, same
from .._space.space import SearchSpace

__all__ = ["ParameterAxis"]

_NOT_SET = "not set"
_LONGEST = 20
# Beside a numeric axis: distance of marks, as a share of its length.
_BESIDE = 0.08
# Values that span less are drawn on a linear axis.
_LEAST_SPAN = 10


@dataclass(frozen=True)
class ParameterAxis:
    """Where values of a parameter are drawn.

    Parameters
    ----------
    name : str
    positions : ndarray of shape (n_settings,)
    scale : {"linear", "log", "category"}
    marks : tuple of (float, str), default=()
        Positions of what is no number, and its name.
    """

    name: str
    positions: np.ndarray
    scale: str = "linear"
    marks: tuple[tuple[float, str], ...] = ()

    @classmethod
    def of(cls, name: str, column, param_grid) -> ParameterAxis:
        """Place a masked column of `cv_results_`, on the scale that its distribution suggests."""
        grids = [g[name] for g in SearchSpace(param_grid).subspaces if name in g]
        numeric = any(grid.ordered for grid in grids)
        numbers = np.full(len(column), np.nan)
        others, which = _others(grids, numeric), np.full(len(column), -1)
        mask = np.ma.getmaskarray(column)
        for i, value in enumerate(np.ma.getdata(column)):
            if not mask[i] and numeric and _is_number(value):
                numbers[i] = value
                continue
            value = _NOT_SET if mask[i] else value
            which[i] = next((j for j, other in enumerate(others) if same(other, value)), -1)
            if which[i] < 0:
                which[i] = len(others)
                others.append(value)
        labels = [_label(value) for value in others]
        if not numeric:
            return cls(name, which.astype(float), "category", tuple(enumerate(labels)))
        ordered = [grid for grid in grids if grid.ordered]
        scale = "log" if all(map(_is_logarithmic, ordered)) else "linear"
        places = _beside(numbers, scale, len(labels))
        at = places[which] if len(labels) else numbers
        positions = np.where(which >= 0, at, numbers)
        return cls(name, positions, scale, tuple(zip(places.tolist(), labels, strict=True)))

    @classmethod
    def number(cls, n: int) -> ParameterAxis:
        """Return the axis of the settings' numbers, from 1 to n."""
        return cls("number of the setting", np.arange(1, n + 1, dtype=float))

    def apply(self, ax, which: str) -> None:
        """Name and scale the axis "x" or "y" of matplotlib Axes."""
        axis = getattr(ax, f"{which}axis")
        axis.set_label_text(self.name)
        if self.scale == "log":
            getattr(ax, f"set_{which}scale")("log")
        if self.scale == "category":
            self._apply_categories(ax, axis, which)
            return
        numbers = self._numbers
        if self.scale == "linear" and (numbers == np.rint(numbers)).all():
            from matplotlib.ticker import MaxNLocator

            axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
        if self.marks:
            if len(numbers):
                ticks = axis.get_major_locator().tick_values(numbers.min(), numbers.max())
                axis.set_ticks(ticks[(ticks >= numbers.min()) & (ticks <= numbers.max())])
            axis.set_ticks(
                [place for place, _ in self.marks],
                labels=[label for _, label in self.marks],
                minor=True,
                rotation=90 if which == "x" else 0,
            )

    def _apply_categories(self, ax, axis, which: str) -> None:
        labels = [label for _, label in self.marks]
        crowded = which == "x" and sum(map(len, labels)) > 40
        rotated = {"rotation": 30, "ha": "right"} if crowded else {}
        axis.set_ticks([place for place, _ in self.marks], labels=labels, **rotated)
        getattr(ax, f"set_{which}lim")(-0.5, len(labels) - 0.5)

    def is_numeric(self, positions: np.ndarray) -> bool:
        """Whether these are all numbers, between which a line means something."""
        return not np.isin(positions, [place for place, _ in self.marks]).any()

    def edges(self, places: np.ndarray) -> np.ndarray:
        """Return where the cells around increasing positions end, one more than there are."""
        line = _line(self.scale, places)
        middles = (line[1:] + line[:-1]) / 2
        first, last = (
            (2 * line[0] - middles[0], 2 * line[-1] - middles[-1])
            if len(line) > 1
            else (line[0] - 0.5, line[0] + 0.5)
        )
        edges = np.r_[first, middles, last]
        return 10**edges if self.scale == "log" else edges

    @property
    def _numbers(self) -> np.ndarray:
        """Return the positions that are numbers."""
        return np.setdiff1d(self.positions, [place for place, _ in self.marks])

    # ------------------------------------------------------------ for parallel coordinates
    @property
    def heights(self) -> np.ndarray:
        """The positions, in [0, 1]."""
        return self._height(self.positions)

    def ticks(self) -> list[tuple[float, str]]:
        """Return heights and labels to write beside the axis."""
        from matplotlib.ticker import LogLocator, MaxNLocator

        marks = [(float(self._height(np.array(place))), label) for place, label in self.marks]
        numbers = self._numbers
        if self.scale == "category" or not len(numbers):
            return marks
        low, high = numbers.min(), numbers.max()
        whole = bool((numbers == np.rint(numbers)).all())
        locator = LogLocator(numticks=6) if self.scale == "log" else MaxNLocator(4, integer=whole)
        places = [t for t in locator.tick_values(low, high) if low <= t <= high]
        if len(places) < 2:
            places = sorted({low, high})
        return marks + [(float(self._height(np.array(t))), f"{t:.5g}") for t in places]

    def _height(self, positions: np.ndarray) -> np.ndarray:
        ends = [*self.positions, *(place for place, _ in self.marks)]
        low, high = _line(self.scale, np.array([min(ends), max(ends)]))
        if high == low:
            return np.full(np.shape(positions), 0.5)
        return (_line(self.scale, positions) - low) / (high - low)


def _line(scale: str, positions: np.ndarray) -> np.ndarray:
    return np.log10(positions) if scale == "log" else np.asarray(positions, dtype=float)


def _is_number(value) -> bool:
    return isinstance(value, Number) and not isinstance(value, bool | complex) and value == value


def _others(grids, numeric: bool) -> list:
    """Return the categories, in the order of the lists, each once."""
    others: list = []
    for grid in grids:
        for value in () if isinstance(grid, Distribution) or grid.ordered else grid.values:
            if not (numeric and _is_number(value)) and not any(same(value, o) for o in others):
                others.append(value)
    return others


def _beside(numbers: np.ndarray, scale: str, n: int) -> np.ndarray:
    """Return n places below the numbers."""
    known = numbers[~np.isnan(numbers)]
    line = _line(scale, known) if len(known) else np.zeros(1)
    places = line.min() - _BESIDE * (np.ptp(line) or 1.0) * (1.5 + np.arange(n))
    return 10**places if scale == "log" else places


def _is_logarithmic(grid) -> bool:
    """Whether logarithms of the values lie closer to a straight line than the values do."""
    u: np.ndarray
    if isinstance(grid, Distribution):
        u = np.linspace(0.05, 0.95, 19)
        values = grid.quantiles(u)
    else:
        values = np.array(sorted(set(grid.values)), dtype=float)
        u = np.arange(len(values))
    if len(values) < 2 or values[0] <= 0 or values[-1] < _LEAST_SPAN * values[0]:
        return False
    straight = [np.corrcoef(u, line)[0, 1] for line in (np.log(values), values)]
    return bool(straight[0] > straight[1] - 1e-9)


def _label(value) -> str:
    text = " ".join(str(getattr(value, "__name__", value)).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
