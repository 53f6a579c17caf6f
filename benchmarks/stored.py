"""Stored predictions behind an estimator's interface: fit once, search many times.

`Stored` is an honest trick. A search with real noise is one draw; twenty draws would cost twenty
times as many fits of the same candidates on the same training set. So each candidate of a grid is
fitted once on the whole training set, and once on the part of it that a search holds out from for
what it wants to know in public. Both models predict all records of the data set, once. `Stored` has
one parameter, the number of a candidate, and one feature, the number of a record: its `fit` picks
the model, its predictions are looked up row by row. To a search it is an estimator like any other:
candidates are fitted, checked, pickled, and scored on protected records as always.

This module is apart from `scores.py` so that the class is pickled by its name: a class of a script
would be pickled with all predictions.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.model_selection import ParameterGrid

INNER_SHARE = 0.8


@dataclass
class Grid:
    """Predictions of all candidates for all records of a data set.

    Parameters
    ----------
    candidates : list of dict
    default : int
        Which candidate has the estimator's default parameters.
    full, inner : ndarray of shape (n_candidates, n_records)
        Predictions, or probabilities of the second class, of models fitted on the whole training
        set, and on `inner_rows` of it.
    inner_rows : ndarray
        Positions in the training set.
    """

    candidates: list
    default: int
    full: np.ndarray
    inner: np.ndarray
    inner_rows: np.ndarray


def fit_grid(estimator, grid, X, y, n_train):
    """Fit each candidate twice on the first `n_train` records; predict all."""
    candidates = list(ParameterGrid(grid))
    inner_rows = np.random.default_rng(8).permutation(n_train)[: int(INNER_SHARE * n_train)]
    full, inner = (
        np.array([_fitted(estimator, params, X[rows], y[rows], X) for params in candidates])
        for rows in (np.arange(n_train), inner_rows)
    )
    defaults = clone(estimator).get_params()
    (default,) = [i for i, params in enumerate(candidates)
                  if all(defaults[name] == value for name, value in params.items())]  # fmt: skip
    return Grid(candidates, default, full, inner, inner_rows)


def _fitted(estimator, params, X_train, y_train, X):
    model = clone(estimator).set_params(**params).fit(X_train, y_train)
    return model.predict_proba(X)[:, 1] if hasattr(model, "classes_") else model.predict(X)


# The grid that is looked up, by name of the problem; workers of other processes do not have it.
GRIDS = {}


class Stored(BaseEstimator):
    """A candidate of a grid, by its number; X is one column, numbers of records."""

    def __init__(self, problem, candidate=0):
        self.problem = problem
        self.candidate = candidate

    def fit(self, X, y):
        inner = len(X) == len(GRIDS[self.problem].inner_rows)
        self.part_ = "inner" if inner else "full"
        self.fallback_ = float(np.mean(y))
        if isinstance(self, ClassifierMixin):
            self.classes_ = np.unique(y)
        return self

    def _found(self, X):
        """Look each record up; a number that no record has gets the mean of the training labels."""
        table = getattr(GRIDS[self.problem], self.part_)[self.candidate]
        number = np.asarray(X, dtype=float)[:, 0]
        known = (number >= 0) & (number < len(table)) & (number % 1 == 0)
        place = np.where(known, number, 0).astype(int)
        return np.where(known, table[place], self.fallback_)


class StoredClassifier(ClassifierMixin, Stored):
    def predict_proba(self, X):
        p = self._found(X)
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.classes_[(self._found(X) > 0.5).astype(int)]


class StoredRegressor(RegressorMixin, Stored):
    def predict(self, X):
        return self._found(X)
