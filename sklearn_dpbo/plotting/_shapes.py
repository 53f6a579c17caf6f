"""`ShapeDisplay`: what a private model says of each column (zone: released)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from ._common import BLUE, VERMILION, figure_and_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_SHOWN, _PER_ROW = 6, 3
_POINTS = 150  # about the width of one picture
_Z95 = 1.96


class ShapeDisplay:
    """Shape functions of a private model: predictions along one column, with the noise's band.

    Create it with `from_estimator`. Each picture starts from the released centres of all columns
    and moves one column. The solid line is the model. The dashed one is its functions of this
    column alone; what is between them are trees and waves, which combine columns, and so may be
    different where other columns are not at their centre: no picture shows such interactions. Nor
    does one show where records lie, which is not released.

    Categories are points with bars, in comparison with the first one.

    The band is 95 % of the noise, at most, around the function that was fitted without noise. It
    does not cover how the records were sampled.

    Parameters
    ----------
    shapes : dict of str to Bunch
        What `shape_function` of the estimator returned, by the name of the column.
    label : str, default="change"
        Label of the vertical axes.

    Attributes
    ----------
    axes_, figure_ : ndarray of matplotlib Axes, and Figure
    lines_, of_columns_, bands_ : lists of matplotlib Line2D, Line2D and Collection
    """

    def __init__(self, shapes: Mapping[str, Bunch], *, label: str = "change") -> None:
        self.shapes = shapes
        self.label = label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        columns: Sequence[Any] | None = None,
        *,
        target: Any = None,
        custom_values: Mapping[Any, Any] | None = None,
        axes: Sequence[Axes] | None = None,
    ) -> Self:
        """Draw the shape functions of a fitted model on `axes`, or in a new figure.

        Parameters
        ----------
        estimator : PrivateClassifier or PrivateRegressor
            The fitted model: of a search, `best_estimator_`, or its last step.
        columns : list of int or str, default=None
            Positions or names of columns. None: the six along which the prediction changes most.
        target : label, default=None
            The class, if there are more than two.
        custom_values : dict of int or str to array-like, default=None
            Values of some columns, by what `columns` has: of a truth value, ``[0, 1]``.
        """
        check_is_fitted(estimator, "coef_")
        if not hasattr(estimator, "shape_function"):
            raise ValueError(
                "shapes are those of a PrivateClassifier or PrivateRegressor; found "
                f"{type(estimator).__name__}. Of a search give best_estimator_, of a pipeline its "
                "last step"
            )
        names = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))
        given = custom_values or {}
        shapes = {
            str(names[column] if isinstance(column, int | np.integer) else column): (
                estimator.shape_function(column, given.get(column), target=target)
            )
            for column in (names if columns is None else columns)
        }
        if columns is None:
            shapes = dict(sorted(shapes.items(), key=_height, reverse=True)[:_SHOWN])
        if is_regressor(estimator):
            label = "change of the prediction"
        else:
            positive = estimator.classes_[-1] if target is None else target
            label = f"change of the\nlog-odds of {positive}"
        return cls(shapes, label=label).plot(axes)

    def plot(self, axes: Sequence[Axes] | None = None) -> Self:
        """Draw on `axes`, one for each column, or in a new figure."""
        if axes is None:
            rows, per_row = -(-len(self.shapes) // _PER_ROW), min(_PER_ROW, len(self.shapes))
            figure, ax = figure_and_axes(None, (3.0 * per_row, 2.6 * rows))
            ax.remove()
            grid = figure.subplots(rows, per_row, sharey=True, squeeze=False).ravel()
            for unused in grid[len(self.shapes) :]:
                unused.remove()
            axes = list(grid[: len(self.shapes)])
        self.axes_ = np.asarray(axes, dtype=object)
        self.figure_ = self.axes_[0].figure
        self.lines_, self.of_columns_, self.bands_ = [], [], []
        for ax, (name, shape) in zip(self.axes_, self.shapes.items(), strict=True):
            x, y, half = shape.grid_values, shape.change, _Z95 * shape.noise_std
            model: dict[str, Any] = {"ls": "-"}
            alone: dict[str, Any] = {"ls": "--", "lw": 1}
            if x.dtype == object:  # categories
                points = min(8.0, _POINTS / len(x))  # side by side, however many
                ax.set_xticks(range(len(x)), x, rotation=90, fontsize=points)
                x = np.arange(len(x))
                model = {"ls": "", "marker": "o", "ms": 0.75 * points}
                alone = {"ls": "", "marker": "_", "ms": 1.25 * points}
                band = ax.vlines(x, y - half, y + half, color=BLUE, alpha=0.2, lw=points)
            else:
                band = ax.fill_between(x, y - half, y + half, color=BLUE, alpha=0.2, lw=0)
            self.bands_.append(band)
            self.lines_ += ax.plot(x, y, color=BLUE, label="model", **model)
            of_column = {"color": VERMILION, "label": "this column alone"} | alone
            self.of_columns_ += ax.plot(x, shape.of_column, **of_column)
            ax.set_xlabel(name)
        self.axes_[0].set_ylabel(self.label)
        self.axes_[0].legend(frameon=False, fontsize="small")
        return self


def _height(named: tuple[str, Bunch]) -> float:
    """Return how far a shape function moves."""
    return float(np.ptp(named[1].change))
