"""What a search on one table charges, and what fails before."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV, PrivateTableSearchCV
from sklearn_dpbo.exceptions import LowUtilityWarning
from sklearn_dpbo.learners import PrivateLogisticRegression, PrivateRidge
from sklearn_dpbo.metrics._of_counts import RankingScore
from sklearn_dpbo.metrics._scorers import MeanScore
from sklearn_dpbo.privacy.accounting import Budget, PrivacyLoss
from sklearn_dpbo.privacy.noise import seed_noise

pytestmark = pytest.mark.usefixtures("seeded")


def data(n=400):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 2))
    return X, (X[:, 0] > 0).astype(int)


def fitted(estimator=None, **params):
    params = dict(epsilon=2.0, delta=1e-6, random_state=0) | params
    estimator = (
        PrivateLogisticRegression(max_norm=2.0, max_iter=5) if estimator is None else estimator
    )
    space = params.pop("space", {"clip": [0.5, 1.0]})
    search = PrivateTableSearchCV(estimator, space, **params)
    with seed_noise((0,)):
        return search.fit(*data())


# ------------------------------------------------------------ budgets
def test_ledger_is_charged_once_before_first_draw():
    calls = []
    budget = Budget(1.0, before_first=lambda: calls.append(len(budget.losses)))
    assert not budget.reserved
    for _ in range(2):
        budget.charge(PrivacyLoss(0.5, 0.0, "test", "none"))
        assert budget.reserved and calls == [0]


def test_charge_that_the_ledger_refuses_is_none():
    def refuse():
        raise RuntimeError("no")

    budget = Budget(1.0, before_first=refuse)
    with pytest.raises(RuntimeError):
        budget.charge(PrivacyLoss(0.5, 0.0, "test", "none"))
    assert not budget.reserved and not budget.losses


# ------------------------------------------------------------ what fails before a charge


@pytest.mark.parametrize(
    ("protect", "scoring"),
    [("all", "accuracy"), ("validation", "accuracy"), ("validation", "roc_auc")],
)
def test_score_that_cannot_be_computed_of_counts_is_an_error_before_a_charge(
    protect, scoring, tmp_path, monkeypatch
):
    def fails(*args, **kwargs):
        raise RuntimeError("a defect")

    for kind in (MeanScore, RankingScore):
        monkeypatch.setattr(kind, "interval", fails, raising=False)
    ledger = PrivacyLedger(tmp_path / "ledger", "patients", epsilon=9, delta=1e-3, create=True)
    params = dict(scoring=scoring, ledger=ledger, epsilon=1.0)
    with pytest.raises(RuntimeError, match="a defect") as caught:
        if protect == "all":
            fitted(**params)
        else:
            (X, y), (X_val, y_val) = data(), data()
            search = PrivateBayesSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, **params)
            search.fit(X, y, X_val=X_val, y_val=y_val)
    assert not ledger.history and not getattr(caught.value, "__notes__", [])


# ------------------------------------------------------------ models that predict one value
LOGISTIC = PrivateLogisticRegression(bounds=(-1, 1), classes=["no", "yes"])
RIDGE = PrivateRidge(bounds=([-1, -1], [1, 1]), y_bounds=(0, 100))


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("estimator", "space", "found"),
    [
        (LOGISTIC, {"C": [1e-7, 1e-6]}, "one value, 'no'"),
        (make_pipeline(FunctionTransformer(), LOGISTIC), {"max_iter": [20]}, None),
        (make_pipeline(FunctionTransformer(), LOGISTIC), {"C": [1e-7]}, "one value, 'no'"),
        (RIDGE, {"alpha": [1e9]}, "one value"),
        (RIDGE, {"alpha": [1.0]}, None),
    ],
)
def test_model_that_predicts_one_value_all_over_its_bounds_is_warned_of(estimator, space, found):
    X, y = data(2000)
    y = 100.0 * y if estimator is RIDGE else np.where(X[:, 0] > 0.5, "yes", "no")
    if estimator not in (LOGISTIC, RIDGE):
        space = {f"privatelogisticregression__{name}": values for name, values in space.items()}
    search = PrivateTableSearchCV(estimator, space, epsilon=5.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    caught = [each for each in caught if "chosen model predicts" in str(each.message)]
    assert len(caught) == (found is not None)
    for each in caught:
        assert found in str(each.message) and each.filename == __file__
        assert each.category is LowUtilityWarning
