"""Positions of a parameter's values on an axis: linear, logarithmic or categories (zone: public).

Values that are not numbers (a category among numbers, or a candidate without the parameter) are
drawn beside the numbers, at *marks*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..search._axes import Axis, Distribution
from ..search._space import SearchSpace

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MAX_LABEL_LENGTH = 20
# Distance of marks from the numbers and from each other, relative to the range of the numbers.
_MARK_DISTANCE = 0.08
# Smallest ratio of values that are drawn on a logarithmic axis.
_MIN_LOG_RATIO = 10
# Ratio of values on a logarithmic axis below which powers of ten are too few ticks.
_FEW_DECADES = 100


@dataclass(frozen=True, eq=False)
class ParameterAxis:
    """Positions of a parameter's values on an axis.

    Parameters
    ----------
    name : str
        Name of the parameter, the label of the axis.
    positions : ndarray of shape (n_candidates,)
        Position of each candidate.
    scale : {"linear", "log"}, default="linear"
        Scale of the axis.
    marks : dict of str to float, default={}
        Positions of the values that are not numbers.
    """

    name: str
    positions: NDArray[np.float64]
    scale: str = "linear"
    marks: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, column: np.ma.MaskedArray[Any, Any], param_grid: Any) -> ParameterAxis:
        """Make the axis of a column of ``cv_results_``, scaled as `param_grid` suggests."""
        grids = [grid[name] for grid in SearchSpace(param_grid).subspaces if name in grid]
        ordered = [grid for grid in grids if grid.ordered]
        scale = "log" if ordered and all(map(_is_logarithmic, ordered)) else "linear"
        values = list(column)
        texts = ["" if _is_number(value) else _text(value) for value in values]
        numbers = np.array([v for v, text in zip(values, texts, strict=True) if not text], float)
        marks = dict.fromkeys(filter(None, texts), math.nan)
        coordinates = np.log10(numbers) if scale == "log" else numbers
        mark_coordinates = np.arange(len(marks), dtype=float)
        if len(coordinates):
            spacing = _MARK_DISTANCE * (np.ptp(coordinates) or 1.0)
            mark_coordinates = coordinates.min() - spacing * (1.5 + mark_coordinates)
        mark_positions = 10**mark_coordinates if scale == "log" else mark_coordinates
        marks = dict(zip(marks, mark_positions, strict=True))
        positions = [
            marks[text] if text else value for value, text in zip(values, texts, strict=True)
        ]
        return cls(name, np.array(positions, dtype=float), scale, marks)

    def apply(self, ax: Axes, which: Literal["x", "y"]) -> None:
        """Set the label, scale and ticks of the "x" or "y" axis of matplotlib Axes."""
        from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

        axis = getattr(ax, f"{which}axis")
        axis.set_label_text(self.name)
        getattr(ax, f"set_{which}scale")(self.scale)
        numbers = np.setdiff1d(self.positions, list(self.marks.values()))
        labels = [
            text if len(text) <= _MAX_LABEL_LENGTH else text[: _MAX_LABEL_LENGTH - 1] + "…"
            for text in self.marks
        ]
        ticks = {"ticks": list(self.marks.values()), "labels": labels}
        if not len(numbers):
            crowded = which == "x" and sum(map(len, labels)) > 40
            axis.set_ticks(**ticks, **({"rotation": 30, "ha": "right"} if crowded else {}))
            getattr(ax, f"set_{which}lim")(-0.5, len(labels) - 0.5)
            return
        if self.scale == "log":  # labels of minor ticks would overlap
            axis.set_minor_formatter(NullFormatter())
            if numbers.max() < _FEW_DECADES * numbers.min():
                axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        elif (numbers == np.rint(numbers)).all():
            axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
        if self.marks:
            major = axis.get_major_locator().tick_values(numbers.min(), numbers.max())
            axis.set_ticks(major[(major >= numbers.min()) & (major <= numbers.max())])
            axis.set_ticks(**ticks, minor=True, rotation=90 if which == "x" else 0)


def _is_number(value: Any) -> bool:
    """Return True if a value is a finite real number."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _text(value: Any) -> str:
    """Write a value in one line, which is never empty."""
    if value is np.ma.masked:
        return "not set"
    return " ".join(str(getattr(value, "__name__", value)).split()) or repr(value)


def _is_logarithmic(grid: Axis) -> bool:
    """Return True if the values are closer to a geometric than to an arithmetic sequence."""
    if isinstance(grid, Distribution):
        values = grid.quantiles(np.linspace(0.05, 0.95, 19))
    else:
        values = np.array(sorted(set(grid.values)), dtype=float)
    if len(values) < 2 or values[0] <= 0 or values[-1] < _MIN_LOG_RATIO * values[0]:
        return False
    ranks = np.arange(len(values))
    geometric, arithmetic = (np.corrcoef(ranks, v)[0, 1] for v in (np.log(values), values))
    return bool(geometric > arithmetic - 1e-9)
