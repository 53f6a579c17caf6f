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

# The share of curved functions is votes / _VOTES_FOR_CURVED, where votes are the units per class
# times mu. With d > _MANY_COLUMNS columns the votes needed grow by the square of d / _MANY_COLUMNS.
# With fewer votes, the noise of curved functions costs more than they gain.
_VOTES_FOR_CURVED = 1_100
_MANY_COLUMNS = 50
_LARGEST_CURVED = 0.66
_N_WAVES = 100
# From this number of units times mu on, descents are long, and there are more trees. Below, the
# noise hides weak signals, which costs more than curves gain.
_LONG_FROM = 5_000.0
_LONG_STEPS = 150
# From this number of votes on, trees are deep.
_DEEP_FROM = 150_000.0
_DEPTH = 6
_LARGE_DEPTH = 8
# Numbers of trees of short and of long descents, the latter at most.
_FEW_TREES = 40
_MANY_TREES = 120
# In a long descent, `C` is multiplied by votes / _VOTES_FOR_C, if that is above 1.
_VOTES_FOR_C = 500.0
# Average number of leaves of a tree, about; and limit on the numbers with noise of a long descent.
_N_LEAVES = 30
_MOST_NOISY_NUMBERS = 1_000_000


class Curved(Descent):
    """Model that is linear in columns, functions of single columns, random trees and waves."""

    curved: Any
    n_trees: Any
    random_state: Any
    learning_rate = None
    _indicates_missing = True

    @property
    def _n_classes(self) -> int:
        """Number of classes, which share the records; a regressor counts as two."""
        return len(self.classes_) if is_classifier(self) else 2

    def _check(self) -> None:
        super()._check()
        check_number("curved", self.curved, "in [0, 1]", lambda a: 0 <= a <= 1, optional=True)
        check_number("n_trees", self.n_trees, *COUNT, optional=True)
        check_random_state(self.random_state)  # before the charge

    def _votes(self, m: int) -> float:
        """Return the number of units per class times mu."""
        return m * gdp_within(self.epsilon, self.delta) / self._n_classes

    def _is_long(self, m: int) -> bool:
        """Return True if the descent of m units is long."""
        return m * gdp_within(self.epsilon, self.delta) >= _LONG_FROM

    def _course(self, m: int) -> Course:
        if not self._is_long(m):
            return super()._course(m)
        c_factor = max(1.0, self._votes(m) / _VOTES_FOR_C) if is_classifier(self) else 1.0
        noise_factor = 1 / self._widening(m, _LONG_FROM)
        return Course(_LONG_STEPS, 0.97, self._n_batches(m), c_factor, noise_factor)

    def _trees(self, m: int) -> tuple[int, int]:
        """Return the largest depth and the number of trees."""
        n_trees = _FEW_TREES
        if self._is_long(m):
            n_functions = self._n_classes if self._n_classes > 2 else 1
            affordable = _MOST_NOISY_NUMBERS / (_LONG_STEPS * n_functions * _N_LEAVES)
            n_trees = int(np.clip(affordable, _FEW_TREES, _MANY_TREES))
        depth = _DEPTH if self._votes(m) < _DEEP_FROM else _LARGE_DEPTH
        return depth, int(self.n_trees or n_trees)

    def _draw(self, d: int, m: int) -> Blocks:
        curved = self.curved
        if curved is None:
            votes_needed = _VOTES_FOR_CURVED * max(1.0, d / _MANY_COLUMNS) ** 2
            curved = min(_LARGEST_CURVED, self._votes(m) / votes_needed)
        drawn = Blocks.draw(
            chances_of_columns(self._n_numbers, self.categories_, d),
            self._n_numbers,
            float(curved),
            self._trees(m),
            _N_WAVES,
            check_random_state(self.random_state),
        )
        self.curved_ = drawn.curved
        self.bins_ = drawn.bins
        self.frequencies_ = drawn.frequencies
        self.tree_columns_ = drawn.tree_columns
        self.tree_thresholds_ = drawn.tree_thresholds
        return drawn

    def _blocks(self, table: Floats) -> list[Any]:
        """Compute the functions of columns and indicators."""
        trees = self.tree_columns_, self.tree_thresholds_
        drawn = Blocks(self._n_numbers, self.curved_, self.bins_, *trees, self.frequencies_)
        return blocks_of(table, self._scaling, drawn)

    def _set_linear(self, w: Floats, constants: Floats) -> None:
        self.coef_ = w
        self.intercept_ = constants

    def _values(self, table: Floats) -> Floats:
        values: Floats = linear(self._blocks(table), self.coef_) + self.intercept_
        return values

    @ignore_float_errors()
    def shape_function(self, column: Any, values: Any = None, *, target: Any = None) -> Bunch:
        """Compute the change of predictions along one column, and its noise.

        The other columns are at `center_`, where most values lie according to noisy counts, and
        columns of categories at none of their values. Trees and waves combine columns, so the
        change may differ if the other columns have other values. It costs no privacy, because only
        the fitted model is used.

        Parameters
        ----------
        column : int or str
            Position or name of the column.
        values : array-like of shape (n_values,), default=None
            Values of the column. None takes its categories or, for numbers, 101 values from
            `center_` - `scale_` to `center_` + `scale_` (within `bounds`). Curved functions are
            constant outside of this range; the column itself counts up to `reach_` times as far,
            and beyond like a logarithm if `tails_` is above 1.
        target : label, default=None
            Class whose log-odds are computed; required if there are more than two classes, and
            ignored otherwise: of two classes, it is the second.

        Returns
        -------
        shape : Bunch
            ``grid_values``, and three arrays of shape (n_values,). ``change``: difference from the
            prediction at the centre, or for the first category. For a classifier it is in log-odds
            (with more than two classes, relative to their mean), for a regressor in units of the
            target. ``of_column``: part of the change that functions of this column alone make.
            ``noise_std``: bound on the standard deviation of the noise in ``change`` (proven for a
            quadratic loss): see "Shape functions" in the documentation.
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
        differences = [block[1:] - block[np.zeros(len(values), dtype=int)] for block in blocks]
        weights = self._weights(target)
        w = weights @ self.coef_
        of_column = differences[0][:, : len(self.center_) + self._n_numbers * self.bins_.shape[1]]
        return Bunch(
            grid_values=values,
            change=linear(differences, w[None])[:, 0],
            of_column=of_column @ w[: of_column.shape[1]],
            noise_std=self.coef_noise_std_
            * np.linalg.norm(weights)
            * np.sqrt(squared_norms(differences)),
        )

    def _range(self, k: int) -> Floats:
        """Return 101 values of the k-th column of numbers, where curved functions change."""
        low = self.center_[k] - self.scale_[k]
        high = self.center_[k] + self.scale_[k]
        if (ends := self._ends()) is not None:
            lows, highs = ends
            low = max(low, lows[k])
            high = min(high, highs[k])
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
        """Return the weights with which linear functions add up to a shape function."""
        if not is_classifier(self):
            return np.array([self.y_scale_])
        K = len(self.classes_)
        if K == 2:
            return np.ones(1)
        if target not in self.classes_.tolist():
            raise ValueError(f"target must be one of {self.classes_.tolist()}; found {target!r}")
        weights: Floats = (self.classes_ == target) - 1 / K
        return weights
