"""Models that are linear in straight and curved functions of the columns (zone: boundary)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._privacy.checks import check_number
from .._privacy.gdp import gdp_within
from ._blocks import Blocks
from ._descent import Descent
from ._rows import linear
from ._scaling import Scaling

__all__ = ["Curved"]

Floats = NDArray[np.float64]

# The share of curved functions is the number of units of a class times mu, divided by this, or by
# so many for each column if that is more, up to the largest: with few units their noise costs more
# than they give.
_UNITS, _UNITS_OF_COLUMN, _MOST_CURVED = 1_100, 22, 0.66
_N_WAVES = 100


class Curved(Descent):
    """Model that is linear in columns, functions of single ones, random trees and waves."""

    learning_rate = None

    def __init__(
        self,
        epsilon: Any,
        delta: Any,
        bounds: Any,
        curved: Any,
        n_trees: Any,
        C: Any,
        clip: Any,
        max_iter: Any,
        max_norm: Any,
        random_state: Any,
        ledger: Any,
    ) -> None:
        super().__init__(epsilon, delta, bounds, max_norm, ledger)
        self.curved = curved
        self.n_trees = n_trees
        self.C = C
        self.clip = clip
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def _n_classes(self) -> int:
        """The number of classes, which share the records; a regressor counts as two."""
        return len(self.classes_) if is_classifier(self) else 2

    def _check(self) -> None:
        super()._check()
        check_number("curved", self.curved, "in [0, 1]", lambda a: 0 <= a <= 1, optional=True)
        check_number(
            "n_trees", self.n_trees, "a whole number from 1 up", lambda n: n >= 1, Integral
        )

    def _draw(self, d: int, m: int) -> None:
        curved = self.curved
        if curved is None:
            mu = gdp_within(self.epsilon, self.delta)
            units = max(_UNITS, _UNITS_OF_COLUMN * d)
            curved = min(_MOST_CURVED, m * mu / self._n_classes / units)
        rng = check_random_state(self.random_state)
        drawn = Blocks.draw(d, float(curved), int(self.n_trees), _N_WAVES, rng)
        self.curved_ = drawn.curved
        self.bins_, self.frequencies_ = drawn.bins, drawn.frequencies
        self.tree_columns_, self.tree_thresholds_ = drawn.tree_columns, drawn.tree_thresholds

    def _blocks(self, X: Floats, scaling: Scaling) -> list[Any]:
        trees = self.tree_columns_, self.tree_thresholds_
        blocks = Blocks(self.curved_, self.bins_, *trees, self.frequencies_)
        return blocks.of(scaling.columns(X), scaling.max_norm)

    def _set_linear(self, w: Floats, constants: Floats) -> None:
        self.coef_, self.intercept_ = w, constants

    def _linear(self, X: Any) -> Floats:
        check_is_fitted(self, "coef_")
        scaling = Scaling(self.center_, self.scale_, self.max_norm_)
        blocks = self._blocks(self._table(X, reset=False), scaling)
        values: Floats = linear(blocks, self.coef_) + self.intercept_
        return values
