"""A parameter's values as positions on an axis: linear, logarithmic or by category (zone: public).

A value without a place on a numeric axis (a category among numbers, or a candidate without the
parameter) is drawn beside the numbers, at a *mark*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._space.axes import Axis, Distribution, same
from .._space.space import SearchSpace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ParameterAxis"]

_NOT_SET = "not set"
_MAX_LABEL_LENGTH = 20
# Distance of marks from the numbers and from each other, relative to the range of the numbers.
_MARK_DISTANCE = 0.08
# Values whose ratio is smaller are drawn on a linear axis.
_MIN_LOG_RATIO = 10


@dataclass(frozen=True, eq=False)
class ParameterAxis:
    """Positions of a parameter's values on an axis.

    Parameters
    ----------
    name : str
        Name of the parameter, the label of the axis.
    positions : ndarray of shape (n_candidates,)
        Position of each candidate.
    scale : {"linear", "log", "category"}, default="linear"
        Scale of the axis; categories have the positions 0, 1, ...
    marks : tuple of (float, str), default=()
        Positions and labels of the values that are not numbers.
    """

    name: str
    positions: NDArray[np.float64]
    scale: str = "linear"
    marks: tuple[tuple[float, str], ...] = ()

    @classmethod
    def of(cls, name: str, column: np.ma.MaskedArray[Any, Any], param_grid: Any) -> ParameterAxis:
        """Return the axis of a column of ``cv_results_``, scaled as `param_grid` suggests."""
        grids = [g[name] for g in SearchSpace(param_grid).subspaces if name in g]
        numeric = any(grid.ordered for grid in grids)
        numbers = np.full(len(column), np.nan)
        categories, which = _categories(grids, numeric), np.full(len(column), -1)
        mask = np.ma.getmaskarray(column)
        for i, value in enumerate(np.ma.getdata(column)):
            if not mask[i] and numeric and _is_number(value):
                numbers[i] = value
                continue
            value = _NOT_SET if mask[i] else value
            which[i] = next((j for j, other in enumerate(categories) if same(other, value)), -1)
            if which[i] < 0:
                which[i] = len(categories)
                categories.append(value)
        labels = [_label(value) for value in categories]
        if not numeric:
            return cls(name, which.astype(float), "category", tuple(enumerate(labels)))
        ordered = [grid for grid in grids if grid.ordered]
        scale = "log" if all(map(_is_logarithmic, ordered)) else "linear"
        marks = _mark_positions(numbers, scale, len(labels))
        at_mark = marks[which] if len(labels) else numbers
        positions = np.where(which >= 0, at_mark, numbers)
        return cls(name, positions, scale, tuple(zip(marks.tolist(), labels, strict=True)))

    @classmethod
    def number(cls, n: int) -> ParameterAxis:
        """Return the axis of the candidates' numbers, from 1 to n."""
        return cls("number of the candidate", np.arange(1, n + 1, dtype=float))

    def apply(self, ax: Axes, which: Literal["x", "y"]) -> None:
        """Set the label, scale and ticks of the "x" or "y" axis of matplotlib Axes."""
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
                [position for position, _ in self.marks],
                labels=[label for _, label in self.marks],
                minor=True,
                rotation=90 if which == "x" else 0,
            )

    def _apply_categories(self, ax: Axes, axis: Any, which: str) -> None:
        labels = [label for _, label in self.marks]
        crowded = which == "x" and sum(map(len, labels)) > 40
        rotated = {"rotation": 30, "ha": "right"} if crowded else {}
        axis.set_ticks([position for position, _ in self.marks], labels=labels, **rotated)
        getattr(ax, f"set_{which}lim")(-0.5, len(labels) - 0.5)

    @property
    def _numbers(self) -> NDArray[np.float64]:
        return np.setdiff1d(self.positions, [position for position, _ in self.marks])


def _scaled(scale: str, positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logarithms of the positions on a logarithmic axis, else the positions."""
    return np.log10(positions) if scale == "log" else np.asarray(positions, dtype=float)


def _unscaled(scale: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 10**values if scale == "log" else values


def _is_number(value: Any) -> bool:
    """Whether a value is a real number and not NaN."""
    return isinstance(value, Number) and not isinstance(value, bool | complex) and value == value


def _categories(grids: Sequence[Axis], numeric: bool) -> list[Any]:
    """Return the distinct values that are drawn as categories, in the order of the lists."""
    categories: list[Any] = []
    for grid in grids:
        for value in () if isinstance(grid, Distribution) or grid.ordered else grid.values:
            if not (numeric and _is_number(value)) and not any(same(value, c) for c in categories):
                categories.append(value)
    return categories


def _mark_positions(numbers: NDArray[np.float64], scale: str, n: int) -> NDArray[np.float64]:
    """Return n positions below the numbers."""
    line = _scaled(scale, numbers[~np.isnan(numbers)])
    if not len(line):
        line = np.zeros(1)
    below = line.min() - _MARK_DISTANCE * (np.ptp(line) or 1.0) * (1.5 + np.arange(n))
    return _unscaled(scale, below)


def _is_logarithmic(grid: Axis) -> bool:
    """Whether the logarithms of the values are closer to a straight line than the values are."""
    u: NDArray[np.float64]
    if isinstance(grid, Distribution):
        u = np.linspace(0.05, 0.95, 19)
        values = grid.quantiles(u)
    else:
        values = np.array(sorted(set(grid.values)), dtype=float)
        u = np.arange(len(values), dtype=float)
    if len(values) < 2 or values[0] <= 0 or values[-1] < _MIN_LOG_RATIO * values[0]:
        return False
    log_correlation, correlation = (np.corrcoef(u, v)[0, 1] for v in (np.log(values), values))
    return bool(log_correlation > correlation - 1e-9)


def _label(value: Any) -> str:
    text = " ".join(str(getattr(value, "__name__", value)).split())
    return text if len(text) <= _MAX_LABEL_LENGTH else text[: _MAX_LABEL_LENGTH - 1] + "…"
