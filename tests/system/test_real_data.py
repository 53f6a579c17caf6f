"""Real sensitive records: mail, and hospital patients with several stays."""

import numpy as np
import pandas as pd
import pytest
from conftest import data_file
from scipy.stats import loguniform, randint
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC

from sklearn_dpbo import PrivateBayesSearchCV


@pytest.mark.slow
def test_search_on_spambase_finds_good_classifier():
    frame = pd.read_csv(data_file("spambase.csv.gz"))
    X, y = frame.drop(columns="spam"), frame["spam"].map({0: "ham", 1: "spam"})
    X, X_val, y, y_val = train_test_split(X, y, train_size=1000, random_state=0)
    model = make_pipeline(FunctionTransformer(np.log1p), StandardScaler(), SVC())
    space = {"svc__C": loguniform(1e-2, 1e3), "svc__gamma": loguniform(1e-5, 1)}
    search = PrivateBayesSearchCV(model, space, epsilon=1.0, n_iter=16, n_jobs=2, random_state=0)
    search.fit(X, y, X_val=X_val, y_val=y_val)
    assert search.privacy_.m == 3601
    # The best of these candidates has 0.94. Noise of the choice or of the score exceeds 0.03 with
    # a probability of e^-30.
    assert 0.90 < search.best_score_ < 0.97
    low, high = search.best_score_interval_
    assert low <= search.best_score_ <= high and high - low < 0.01
    assert search.score(X_val, y_val) > 0.91


@pytest.mark.slow
@pytest.mark.parametrize("by_patient", [True, False])
def test_search_on_readmissions_protects_records_or_patients(by_patient):
    frame = pd.read_csv(data_file("diabetes130.csv.gz"), keep_default_na=False)
    # Patient numbers are no random numbers (97 % of them are divisible by nine): shuffle them.
    shuffled = np.random.default_rng(0).permutation(frame["patient_nbr"].unique())
    frame = frame[frame["patient_nbr"].isin(shuffled[:9_000])]
    patient = frame["patient_nbr"]
    X = frame.drop(columns=["readmitted", "encounter_id", "patient_nbr"])
    X = X.drop(columns=["diag_1", "diag_2", "diag_3"])
    y = (frame["readmitted"] != "NO").map({True: "again", False: "no"})
    train = patient.isin(shuffled[:3_000])
    encode = make_column_transformer(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
         make_column_selector(dtype_exclude="number")), remainder="passthrough",
    )  # fmt: skip
    model = make_pipeline(encode, HistGradientBoostingClassifier(max_iter=30, random_state=0))
    space = {
        "histgradientboostingclassifier__learning_rate": loguniform(0.01, 0.5),
        "histgradientboostingclassifier__max_leaf_nodes": randint(3, 40),
    }
    search = PrivateBayesSearchCV(model, space, epsilon=1.0, n_iter=5, random_state=0)
    groups = patient[~train] if by_patient else None
    search.fit(X[train], y[train], X_val=X[~train], y_val=y[~train], groups_val=groups)
    report = search.privacy_
    assert report.unit == ("group" if by_patient else "record")
    assert report.m == (patient[~train].nunique() if by_patient else (~train).sum())
    # The majority class has 0.54 by encounter and 0.67 by patient, because patients with one stay
    # return less often. The models are trained by encounter, and reach 0.63 and 0.68.
    assert (0.665 if by_patient else 0.60) < search.best_score_ < 0.72
    right = (search.predict(X[~train]) == y[~train]).to_numpy()
    exact = pd.Series(right).groupby(patient[~train].to_numpy()).mean() if by_patient else right
    low, high = search.best_score_interval_
    assert low - 0.01 < exact.mean() < high + 0.01


def test_search_on_breast_cancer_finds_good_classifier():
    """With 369 records and epsilon = 1 most of what can be learnt is found."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    X, X_val, y, y_val = train_test_split(X, y, train_size=200, random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    found = []
    for _ in range(5):
        search = PrivateBayesSearchCV(model, {"logisticregression__C": loguniform(1e-5, 1e3)},
                                      epsilon=1.0, n_iter=32, random_state=0)  # fmt: skip
        search.fit(X, y, X_val=X_val, y_val=y_val)
        found.append(search.score(X_val, y_val))
    assert np.mean(found) > 0.93
