"""Rows of bounded norm, as the Lipschitz strategy needs them (zone: public)."""

from __future__ import annotations

import math
from numbers import Real
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._data.tables import row_norms

__all__ = ["UnitBall"]


class UnitBall(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Divide rows by a radius; move those that are still outside the unit ball onto it.

    ``x -> x / max(radius, |x|)``. Each row is scaled by itself, and none comes out longer than 1.
    Unlike ``Normalizer``, it keeps the lengths of rows that are not too long.

    Parameters
    ----------
    radius : float, default=None
        None is the largest Euclidean norm of a training row.

    Attributes
    ----------
    radius_ : float
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)

    Examples
    --------
    >>> from sklearn_dpbo.kusner2015 import UnitBall
    >>> UnitBall(radius=5).fit_transform([[3.0, 4.0], [0.0, 2.0], [0.0, 9.0]])
    array([[0.6, 0.8],
           [0. , 0.4],
           [0. , 1. ]])
    """

    def __init__(self, radius=None) -> None:
        self.radius = radius

    def fit(self, X, y=None) -> Self:
        """Learn the radius, if it is not given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        """
        X = validate_data(self, X, dtype=np.float64)
        if self.radius is None:
            self.radius_ = float(row_norms(X).max()) or 1.0
            return self
        number = isinstance(self.radius, Real)
        if not (number and 0 < self.radius < math.inf):
            raise ValueError(f"radius is None or positive; found {self.radius!r}")
        self.radius_ = float(self.radius)
        return self

    def transform(self, X) -> np.ndarray:
        """Return the rows, scaled.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X / np.maximum(row_norms(X)[:, None], self.radius_)
