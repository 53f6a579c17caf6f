"""`ShapeDisplay`: the shape functions of a private model, by column (zone: released)."""

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


# Largest number of plots by default, and number of plots in a row.
_N_SHOWN = 6
_PER_ROW = 3
# Width of one plot in points, about.
_WIDTH = 150
_Z95 = 1.96


class ShapeDisplay:
    """Shape functions of a private model: predictions along one column, with the noise's band.

    Create it with `from_estimator`. In each plot one column varies, and all others are at their
    released centres. The solid line is the model. The dashed line is the part of the functions of
    this column alone. The difference between the lines is due to trees and waves, which combine
    columns, and so may be different if the other columns are not at their centres. The plots do not
    show such interactions, nor the distribution of the records, which is not released.

    Categories are points with bars, relative to the first category.

    The band contains the function that would be fitted without noise with a probability of at least
    95 %. It does not cover the sampling of the records.

    Parameters
    ----------
    shapes : dict of str to Bunch
        Results of the estimator's `shape_function`, by the name of the column.
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
            The fitted model: of a search, `best_estimator_`, or the last step of this pipeline.
        columns : list of int or str, default=None
            Positions or names of columns. None takes the six along which the prediction changes
            most.
        target : label, default=None
            The class, if there are more than two.
        custom_values : dict of int or str to array-like, default=None
            Values of some columns, by their positions or names as in `columns`; for a boolean
            column, for example, ``[0, 1]``.
        """
        check_is_fitted(estimator, "coef_")
        if not hasattr(estimator, "shape_function"):
            raise ValueError(
                "estimator must be a PrivateClassifier or PrivateRegressor; found "
                f"{type(estimator).__name__}. For a search pass best_estimator_, for a pipeline "
                "its last step"
            )
        names = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))
        values = custom_values or {}
        shapes = {
            str(names[column] if isinstance(column, int | np.integer) else column): (
                estimator.shape_function(column, values.get(column), target=target)
            )
            for column in (names if columns is None else columns)
        }
        if columns is None:
            shapes = dict(sorted(shapes.items(), key=_height, reverse=True)[:_N_SHOWN])
        if is_regressor(estimator):
            label = "change of the prediction"
        else:
            positive = estimator.classes_[-1] if target is None else target
            label = f"change of the\nlog-odds of {positive}"
        return cls(shapes, label=label).plot(axes)

    def plot(self, axes: Sequence[Axes] | None = None) -> Self:
        """Draw on `axes`, one for each column, or in a new figure."""
        if axes is None:
            n_rows = -(-len(self.shapes) // _PER_ROW)
            n_columns = min(_PER_ROW, len(self.shapes))
            figure, ax = figure_and_axes(None, (3.0 * n_columns, 2.6 * n_rows))
            ax.remove()
            grid = figure.subplots(n_rows, n_columns, sharey=True, squeeze=False).ravel()
            for unused in grid[len(self.shapes) :]:
                unused.remove()
            axes = list(grid[: len(self.shapes)])
        self.axes_ = np.asarray(axes, dtype=object)
        self.figure_ = self.axes_[0].figure
        self.lines_ = []
        self.of_columns_ = []
        self.bands_ = []
        for ax, (name, shape) in zip(self.axes_, self.shapes.items(), strict=True):
            x = shape.grid_values
            low = shape.change - _Z95 * shape.noise_std
            high = shape.change + _Z95 * shape.noise_std
            model_style: dict[str, Any] = {"ls": "-"}
            column_style: dict[str, Any] = {"ls": "--", "lw": 1}
            if x.dtype == object:  # categories
                points = min(8.0, _WIDTH / len(x))  # side by side, however many
                ax.set_xticks(range(len(x)), x, rotation=90, fontsize=points)
                x = np.arange(len(x))
                model_style = {"ls": "", "marker": "o", "ms": 0.75 * points}
                column_style = {"ls": "", "marker": "_", "ms": 1.25 * points}
                band = ax.vlines(x, low, high, color=BLUE, alpha=0.2, lw=points)
            else:
                band = ax.fill_between(x, low, high, color=BLUE, alpha=0.2, lw=0)
            self.bands_.append(band)
            self.lines_ += ax.plot(x, shape.change, color=BLUE, label="model", **model_style)
            self.of_columns_ += ax.plot(
                x, shape.of_column, color=VERMILION, label="this column alone", **column_style
            )
            ax.set_xlabel(name)
        self.axes_[0].set_ylabel(self.label)
        self.axes_[0].legend(frameon=False, fontsize="small")
        return self


def _height(item: tuple[str, Bunch]) -> float:
    """Return the range of a shape function's values; the item is (name of column, shape)."""
    _, shape = item
    return float(np.ptp(shape.change))
