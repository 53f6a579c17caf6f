"""The page "What a call costs" counts fits as they are made."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.impute import IterativeImputer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.multiclass import OneVsRestClassifier

from sklearn_dpbo.learners import PrivateLogisticRegression, PrivateRidge

PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "costs.md"
ROWS = dict(re.findall(r"^\| `(.*)` \| (\d+) \|", PAGE.read_text(), re.MULTILINE))
# Of libraries that the tests do not need.
ELSEWHERE = re.compile("DoubleML|ExponentiatedGradient")
CALLERS = [
    CalibratedClassifierCV, BaggingClassifier, StackingClassifier, SequentialFeatureSelector,
    IterativeImputer, permutation_importance, GridSearchCV, cross_val_score, cross_validate,
    learning_curve, OneVsRestClassifier,
]  # fmt: skip


def names():
    X, y = make_classification(400, 5, n_informative=4, n_redundant=0, random_state=0)
    missing = X.copy()
    missing[::7, 0] = missing[::5, 1] = np.nan
    # As many fits as a search, but in milliseconds.
    search = PrivateLogisticRegression(max_iter=2, epsilon=1.0, delta=1e-6)
    return {caller.__name__: caller for caller in CALLERS} | {
        "X": X, "y": y, "X_two_missing": missing, "y_of_three": y + (X[:, 0] > 1),
        "search": search, "fitted": search.fit(X, y),
        "ridge": PrivateRidge(epsilon=1.0, delta=1e-6, y_bounds=(-5, 5)),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("call", [call for call in ROWS if not ELSEWHERE.search(call)])
def test_fits_are_as_many_as_the_page_says(call, counted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = names()
        counted.clear()
        eval(call, given)
    assert len(counted) == int(ROWS[call])


def test_the_page_has_all_callers():
    text = " ".join(ROWS)
    assert all(caller.__name__ in text for caller in CALLERS)
