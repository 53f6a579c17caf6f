"""
All the records of a patient: readmissions
==========================================

Patients who were in hospital several times have several records, and it is the patient who is to be
protected, not each stay by itself. ``groups_val`` says whose record is whose.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import loguniform, randint
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from sklearn_dpbo import PrivateBayesSearchCV

# %%
# Does a stay in hospital end in a readmission within 30 days?
folder = os.environ.get("SKLEARN_DPBO_DATA")
if folder:
    X = pd.read_csv(Path(folder) / "diabetes130.csv.gz", keep_default_na=False)
    patient, y = X["patient_nbr"], (X["readmitted"] == "<30").astype(int)
    X = X[["time_in_hospital", "num_medications", "number_inpatient", "number_emergency"]].join(
        X[["age", "admission_type_id", "discharge_disposition_id", "insulin", "diabetesMed"]]
    )
else:  # tumours instead, with made-up numbers of patients
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    patient = pd.Series(np.random.default_rng(0).integers(250, size=len(y)))

# Whole patients are trained on, or validated with.
drawn = np.random.default_rng(0).permutation(patient.unique())[:40_000]
train, val = (patient.isin(part) for part in np.array_split(drawn, 2))
print(f"protected: {val.sum():,} records of {patient[val].nunique():,} patients")

# %%
# The score is Brier's, the squared error of the probability, in which each patient has the same
# weight, however many records.
encode = make_column_transformer(
    (
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        make_column_selector(dtype_exclude="number"),
    ),
    remainder="passthrough",
)
search = PrivateBayesSearchCV(
    make_pipeline(encode, HistGradientBoostingClassifier(max_iter=30, random_state=0)),
    {
        "histgradientboostingclassifier__learning_rate": loguniform(0.02, 0.5),
        "histgradientboostingclassifier__max_leaf_nodes": randint(4, 32),
    },
    epsilon=1.0,
    n_iter=12,
    scoring="neg_brier_score",
    random_state=0,
)
search.fit(X[train], y[train], X_val=X[val], y_val=y[val], groups_val=patient[val])

low, high = sorted(abs(score) for score in search.best_score_interval_)
print(search.best_params_)
print(f"Brier score {-search.best_score_:.4f}; without noise, between {low:.4f} and {high:.4f}")

# %%
# How many records a patient has, in the training set, which may be looked at.
figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
counts = patient[train].value_counts().clip(upper=10).value_counts().sort_index()
ax.set(yscale="log", xlabel="records (10: or more)", ylabel="patients of the training set")
ax.bar(counts.index, counts, color="tab:blue")

# %%
# Neighbours are now validation sets in which all the records of one group are replaced.
search.privacy_
