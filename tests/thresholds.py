"""Threshold classifiers, and validation sets for them, that tests of several files use."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivateThresholdClassifier
from sklearn_dpbo.testing import seeded_noise

GRID = [-1.0, 0.2, 0.3, 0.4, 0.6, 2.0]


class FirstColumn(ClassifierMixin, BaseEstimator):
    """Its decision value is the first column; NaN there makes it fail."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        X = np.asarray(X, dtype=float)
        if np.isnan(X).any():
            raise ValueError("SECRET of a record")
        return X[:, 0]

    def predict(self, X):
        return self.classes_[(self.decision_function(X) >= 0).astype(int)]


def tuner(estimator=None, **params):
    # At this epsilon the noise is below one record: the result is the non-private one.
    params = {"epsilon": 1e4, "random_state": 0} | params
    estimator = LogisticRegression() if estimator is None else estimator
    return PrivateThresholdClassifier(estimator, **params)


def fitted(data, *args, groups_val=None, seed=0, **params):
    X, y, X_val, y_val = data
    with seeded_noise(seed):
        return tuner(*args, **params).fit(X, y, X_val=X_val, y_val=y_val, groups_val=groups_val)


def data_of(labels, x=None):
    """Return a validation set with these labels and decision values, 0.5 if not given."""
    x = np.full(len(labels), 0.5) if x is None else np.asarray(x, dtype=float)
    return np.array([[0.0], [1.0]]), [0, 1], x[:, None], np.asarray(labels)
