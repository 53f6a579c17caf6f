"""Fits without a ledger: the process counts them, and each but the first warns of the sum."""

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from test_first_hour import weak_fits

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV, public
from sklearn_dpbo.exceptions import PrivacyWarning
from sklearn_dpbo.learners import PrivateLogisticRegression

pytestmark = [
    pytest.mark.filterwarnings("ignore:No X_val and no cv"),
]
FITS = []


class Listed(LogisticRegression):
    """Lists its fits."""

    def fit(self, X, y, eval_set=None):
        FITS.append(len(X))
        return super().fit(X, y)


def search_over(estimator=None, **params):
    params = {"epsilon": 1.0, "random_state": 0, "prediction": "together"} | params
    return PrivateBayesSearchCV(estimator or Listed(), {"C": [0.1, 1.0]}, **params)


def sums_told(call):
    """Return what warnings say of further fits: the numbers and sums."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    said = [str(w.message) for w in caught if w.category is PrivacyWarning]
    return [
        (int(text.split()[2]), text.partition("they have ")[2].partition(" for a record")[0])
        for text in said if text.startswith("fit number")
    ]  # fmt: skip


def test_each_further_fit_says_what_all_cost_together(counted, two_classes):
    X, y, X_val, y_val = two_classes

    def loop():
        for epsilon in (0.1, 0.2, 0.5):
            search_over(epsilon=epsilon).fit(X, y, X_val=X_val, y_val=y_val)
        PrivateLogisticRegression(epsilon=1.0, delta=1e-6).fit(X, y)

    assert sums_told(loop) == [
        (2, "epsilon = 0.3"), (3, "epsilon = 0.8"), (4, "epsilon = 1.8, delta = 1e-06"),
    ]  # fmt: skip


def test_the_warning_names_the_users_line_and_the_remedy(counted, two_classes):
    X, y, X_val, y_val = two_classes
    search = search_over().fit(X, y, X_val=X_val, y_val=y_val)
    with pytest.warns(PrivacyWarning, match="fit number 2 .*a PrivacyLedger as ledger=") as caught:
        search.fit(X, y, X_val=X_val, y_val=y_val)
    assert {w.filename for w in caught if w.category is PrivacyWarning} == {__file__}


@pytest.mark.slow
@pytest.mark.parametrize("caller", ["cross_val_score", "GridSearchCV", "bagging", "threads"])
def test_whatever_calls_fit_again_is_told(counted, two_classes, caller):
    X, y, *_ = two_classes
    search = search_over()

    def call():
        if caller == "GridSearchCV":
            GridSearchCV(search, {"epsilon": [1.0]}, cv=2).fit(X, y)
        elif caller == "bagging":
            BaggingClassifier(search, 3).fit(X, y)
        else:
            with joblib.parallel_config("threading", n_jobs=1 + (caller == "threads")):
                cross_val_score(search, X, y, cv=3)

    told = sums_told(call)
    assert counted == [(1.0, 0.0)] * 3
    if caller != "threads":  # two of which may begin together
        assert told == [(2, "epsilon = 2"), (3, "epsilon = 3")]


@pytest.mark.first(2)
@pytest.mark.parametrize("name", ["search", "table", "threshold", "evaluation", "learner"])
@pytest.mark.filterwarnings("ignore")
def test_whatever_spends_counts_once_with_all_that_it_fits_itself(counted, two_classes, name):
    """A table's search fits private learners, in the budget of its own."""
    fit = weak_fits(two_classes)[name]
    fit(0.5, 0.0 if name != "learner" else 1e-6)
    assert [epsilon for epsilon, _ in counted] == [0.5]


def test_candidates_that_train_privately_are_not_counted(counted, two_classes):
    X, y, X_val, y_val = two_classes
    search = search_over(PrivateLogisticRegression(epsilon=1.0, delta=1e-6))
    assert not sums_told(lambda: search.fit(X, y, X_val=X_val, y_val=y_val))
    assert counted == [(1.0, 0.0)]


def test_a_ledger_adds_up_itself(counted, two_classes, tmp_path):
    X, y, X_val, y_val = two_classes
    ledger = PrivacyLedger(tmp_path / "a.ledger", "data", epsilon=2, create=True)
    search = search_over(ledger=ledger)
    fit = lambda: search.fit(X, y, X_val=X_val, y_val=y_val)  # noqa: E731
    assert not sums_told(lambda: (fit(), fit())) and not counted


def test_a_refused_fit_costs_nothing_and_fits_nothing(counted, two_classes):
    X, y, X_val, y_val = two_classes
    with pytest.raises(ValueError, match="epsilon"):
        search_over(epsilon=-1).fit(X, y, X_val=X_val, y_val=y_val)
    with pytest.raises(ValueError, match="same table"):
        search_over().fit(X, y, X_val=X, y_val=y)
    assert not counted
    search_over().fit(X, y, X_val=X_val, y_val=y_val)
    FITS.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)
        for _ in range(2):  # what the warning refused has spent nothing: the number is the same
            with pytest.raises(PrivacyWarning, match="fit number 2"):
                search_over().fit(X, y, X_val=X_val, y_val=y_val)
    assert not FITS and len(counted) == 1


# ------------------------------------------------------- the same records as public ones
def views(X):
    frame = pd.DataFrame(X).assign(name="a")[["name", 0, 1]]
    return [(X, X), (X, X[50:]), (X[:100], X[99:]), (X[::2], X.reshape(X.shape)[1:]),
            (frame, frame[40:])]  # fmt: skip


@pytest.mark.parametrize("i", range(5))
def test_a_view_of_the_protected_records_is_refused(two_classes, i):
    X, y, *_ = two_classes
    public_rows, protected = views(X)[i]
    given = {"X_val": protected, "y_val": y[: len(protected)]}
    FITS.clear()
    with pytest.raises(ValueError, match="X and X_val are the same table, or views of it"):
        search_over().fit(public_rows, y[: len(public_rows)], **given)
    assert not FITS


def test_other_rows_of_one_array_are_no_view(two_classes):
    X, y, *_ = two_classes
    for X in (X, pd.DataFrame(X), np.asfortranarray(X)):
        search_over().fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])


@pytest.mark.parametrize(
    "held",
    [
        lambda X, y: X, lambda X, y: [(X, y)], lambda X, y: {"of": ([y.copy()], X[5:9])},
        lambda X, y: ([0.0], y),
    ],
    ids=["itself", "listed", "view", "labels"],
)  # fmt: skip
def test_protected_records_are_not_public(two_classes, held):
    X, y, X_val, y_val = two_classes
    with pytest.raises(ValueError, match="'eval_set' is marked as public, but holds protected"):
        search_over().fit(X, y, X_val=X_val, y_val=y_val, eval_set=public(held(X_val, y_val)))
    with pytest.raises(ValueError, match="'eval_set' is marked as public, but holds protected"):
        search_over().fit(X, y, eval_set=public(held(X, y)))
    others = public(held(X_val[::-1].copy(), y_val[::-1].copy()))
    search_over().fit(X, y, X_val=X_val, y_val=y_val, eval_set=others)
