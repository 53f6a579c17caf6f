"""Real sensitive records: mail, and hospital patients with several stays."""

import numpy as np
import pandas as pd
import pytest
from conftest import data_file
from scipy.stats import loguniform, randint
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from sklearn_dpbo import PrivateBayesSearchCV


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
