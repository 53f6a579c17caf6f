"""Rows of bounded norm, which `LipschitzConvex` requires (zone: public)."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._rows import row_norms


class UnitBall(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Divide rows by a radius; project rows that are still outside the unit ball onto it.

    ``x -> x / max(radius, |x|)``. Each row is scaled separately, and no scaled row has a norm above
    1. Unlike ``Normalizer``, it keeps the relative lengths of rows within the radius.

    Parameters
    ----------
    radius : float, default=None
        Rows within this Euclidean norm keep their relative lengths; positive. None means the
        largest norm of a training row.

    Attributes
    ----------
    radius_ : float
        The radius used.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)

    Examples
    --------
    >>> from sklearn_dpbo.papers.kusner2015 import UnitBall
    >>> UnitBall(radius=5).fit_transform([[3.0, 4.0], [0.0, 2.0], [0.0, 9.0]])
    array([[0.6, 0.8],
           [0. , 0.4],
           [0. , 1. ]])
    """

    def __init__(self, radius: Any = None) -> None:
        self.radius = radius

    def fit(self, X: Any, y: Any = None) -> Self:
        """Set `radius_`: the `radius`, or the largest norm of a row if it is None."""
        X = validate_data(self, X, dtype=np.float64)
        if self.radius is None:
            self.radius_ = float(row_norms(X).max()) or 1.0
            return self
        number = isinstance(self.radius, Real)
        if not (number and 0 < self.radius < math.inf):
            raise ValueError(f"radius must be None or positive; found {self.radius!r}")
        self.radius_ = float(self.radius)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the rows, scaled, each of norm at most 1."""
        check_is_fitted(self)
        rows: np.ndarray = validate_data(self, X, dtype=np.float64, reset=False)
        scaled: np.ndarray = rows / np.maximum(row_norms(rows)[:, None], self.radius_)
        return scaled
