"""Models that are linear in straight and curved functions of the columns (zone: boundary)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from ..privacy.checks import check_number
from ..privacy.float_errors import ignore_float_errors
from ..privacy.gdp import gdp_within
from ..records.tables import objects
from ._base import COUNT
from ._blocks import Blocks, blocks_of
from ._columns import category_positions, chances_of_columns
from ._descent import Course, Descent
from ._rows import Floats, linear, squared_norms

# The share of curved functions is the number of units of a class times mu, divided by this and, if
# there are more columns than so many, by the square of how many times more; up to the largest. With
# few units, or many columns, their noise costs more than they give.
_UNITS, _MANY_COLUMNS, _MOST_CURVED = 1_100, 50, 0.66
_N_WAVES = 100
# From so many units times mu on, descents have so many steps, and many trees; from so many for half
# of the classes on, trees are deep. Below, noise costs weak signals more than curves gain.
_MANY_FOR_LONG, _MANY_FOR_DEEP = 5_000.0, 300_000.0
_LONG = 150
# Number and depth of trees; and what the same number is divided by, which `C` is multiplied by.
_FEW_TREES, _MANY_TREES, _DEPTH, _DEEP, _C_FROM = 40, 120, 6, 8, 1000.0
# About so many leaves of a tree, on average; and how many numbers get noise, with many trees.
_LEAVES, _MOST_NOISE = 30, 1_000_000


class Curved(Descent):
    """Model that is linear in columns, functions of single ones, random trees and waves."""

    curved: Any
    n_trees: Any
    random_state: Any
    learning_rate = None
    _indicates_missing = True

    @property
    def _n_classes(self) -> int:
        """The number of classes, which share the records; a regressor counts as two."""
        return len(self.classes_) if is_classifier(self) else 2

    def _check(self) -> None:
        super()._check()
        check_number("curved", self.curved, "in [0, 1]", lambda a: 0 <= a <= 1, optional=True)
        check_number("n_trees", self.n_trees, *COUNT, optional=True)
        check_random_state(self.random_state)  # before the charge

    def _votes(self, m: int) -> float:
        """Return the number of units of a class, times mu."""
        return m * gdp_within(self.epsilon, self.delta) / self._n_classes

    def _is_long(self, m: int) -> bool:
        """Return True if the descent of m units is long."""
        return m * gdp_within(self.epsilon, self.delta) >= _MANY_FOR_LONG

    def _course(self, m: int) -> Course:
        if not self._is_long(m):
            return super()._course(m)
        c_factor = max(1.0, 2 * self._votes(m) / _C_FROM) if is_classifier(self) else 1.0
        noise = 1 / self._wider(m, _MANY_FOR_LONG)
        return Course(_LONG, 0.97, self._n_batches(m), c_factor, noise)

    def _trees(self, m: int) -> tuple[int, int]:
        """Return the largest depth of trees, and how many there are."""
        usual = _FEW_TREES
        if self._is_long(m):
            k = self._n_classes if self._n_classes > 2 else 1
            usual = int(np.clip(_MOST_NOISE / (_LONG * k * _LEAVES), _FEW_TREES, _MANY_TREES))
        return _DEPTH if 2 * self._votes(m) < _MANY_FOR_DEEP else _DEEP, int(self.n_trees or usual)

    def _draw(self, d: int, m: int) -> Blocks:
        curved = self.curved
        if curved is None:
            enough = _UNITS * max(1.0, d / _MANY_COLUMNS) ** 2
            curved = min(_MOST_CURVED, self._votes(m) / enough)
        rng = check_random_state(self.random_state)
        of = self._n_numbers, float(curved), self._trees(m), _N_WAVES, rng
        drawn = Blocks.draw(chances_of_columns(self._n_numbers, self.categories_, d), *of)
        self.curved_ = drawn.curved
        self.bins_, self.frequencies_ = drawn.bins, drawn.frequencies
        self.tree_columns_, self.tree_thresholds_ = drawn.tree_columns, drawn.tree_thresholds
        return drawn

    def _blocks(self, table: Floats) -> list[Any]:
        """Return the functions of columns and indicators."""
        trees = self.tree_columns_, self.tree_thresholds_
        drawn = Blocks(self._n_numbers, self.curved_, self.bins_, *trees, self.frequencies_)
        return blocks_of(table, self._scaling, drawn)

    def _set_linear(self, w: Floats, constants: Floats) -> None:
        self.coef_, self.intercept_ = w, constants

    def _values(self, table: Floats) -> Floats:
        values: Floats = linear(self._blocks(table), self.coef_) + self.intercept_
        return values

    @ignore_float_errors()
    def shape_function(self, column: Any, values: Any = None, *, target: Any = None) -> Bunch:
        """Return how predictions change along one column, and how much of that is noise.

        The other columns are at `center_`, where the noisy counts say that most values lie, and
        those of categories at none. Where they are elsewhere, trees and waves, which combine
        columns, may change differently. It costs no privacy: it is computed from the fitted model
        alone.

        Parameters
        ----------
        column : int or str
            Position or name of the column.
        values : array-like of shape (n_values,), default=None
            Values of the column. None: its categories; of numbers 101 values from `center_` -
            `scale_` to `center_` + `scale_` (within `bounds`), outside of which curved functions
            are constant, and straight ones from `reach_` times as far on (where `tails_` is above
            1, they grow like a logarithm there).
        target : label, default=None
            The class whose log-odds are meant, required if there are more than two. Ignored
            otherwise: of two classes, it is the second.

        Returns
        -------
        shape : Bunch
            ``grid_values``, and arrays of shape (n_values,): ``change``, the difference from the
            prediction at the centre, or for the first category (of a classifier in log-odds, with
            more than two classes in comparison with their mean; of a regressor in units of the
            target); ``of_column``, the
            part of functions of this column alone; ``noise_std``, the standard deviation of the
            noise in ``change``, at most (proven for a quadratic loss): see "Shape functions" in the
            documentation.
        """
        check_is_fitted(self, "coef_")
        j = self._position(column)
        if j in self.categories_:
            values = objects(list(self.categories_[j] if values is None else values))
            cells = np.append(0, category_positions(values, self.categories_[j]))
        else:
            k = self._numbers.tolist().index(j)
            values = np.asarray(self._range(k) if values is None else values, dtype=float)
            cells = np.append(self.center_[k], values)
        table = np.full((len(cells), self.n_features_in_), -1.0)
        table[:, self._numbers] = self.center_[: self._n_numbers]
        table[:, j] = cells
        blocks = self._blocks(self._indicated(table))
        moved = [block[1:] - block[[0] * len(values)] for block in blocks]
        weights = self._weights(target)
        w = weights @ self.coef_
        alone = moved[0][:, : len(self.center_) + self._n_numbers * self.bins_.shape[1]]
        return Bunch(
            grid_values=values,
            change=linear(moved, w[None])[:, 0],
            of_column=alone @ w[: alone.shape[1]],
            noise_std=self.coef_noise_std_
            * np.linalg.norm(weights)
            * np.sqrt(squared_norms(moved)),
        )

    def _range(self, k: int) -> Floats:
        """Return values between which curved functions change with the k-th column of numbers."""
        low, high = self.center_[k] - self.scale_[k], self.center_[k] + self.scale_[k]
        if (ends := self._ends()) is not None:
            lows, highs = ends
            low, high = max(low, lows[k]), min(high, highs[k])
        values: Floats = np.linspace(low, high, 101)
        return values

    def _position(self, column: Any) -> int:
        """Return the position of a column, given by its position or name."""
        names = list(getattr(self, "feature_names_in_", ()))
        if isinstance(column, int | np.integer) and 0 <= column < self.n_features_in_:
            return int(column)
        if column in names:
            return names.index(column)
        raise ValueError(
            f"column must be a position from 0 to {self.n_features_in_ - 1}, or one of the names "
            f"{names}; found {column!r}"
        )

    def _weights(self, target: Any) -> Floats:
        """Return the weights of the linear functions in what a shape function shows."""
        if not is_classifier(self):
            return np.array([self.y_scale_])
        K = len(self.classes_)
        if K == 2:
            return np.ones(1)
        if target not in self.classes_.tolist():
            raise ValueError(f"target must be one of {self.classes_.tolist()}; found {target!r}")
        weights: Floats = (self.classes_ == target) - 1 / K
        return weights
