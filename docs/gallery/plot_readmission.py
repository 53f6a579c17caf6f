"""
Protect patients rather than stays
==================================

A patient who was in hospital several times has several records. To protect the patient, all of
these records have to be protected together. Pass the patient of each record as ``groups_val``.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import loguniform, randint
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

from sklearn_dpbo import PrivateBayesSearchCV

# %%
# Will the patient be readmitted within 30 days? The records are hospital stays.
folder = os.environ.get("SKLEARN_DPBO_DATA")
if folder:
    X = pd.read_csv(Path(folder) / "diabetes130.csv.gz", keep_default_na=False)
    patient, y = X["patient_nbr"], (X["readmitted"] == "<30").astype(int)
    stay = ["time_in_hospital", "num_medications", "number_inpatient", "number_emergency"]
    X = X[[*stay, "admission_type_id", "discharge_disposition_id"]]
    data = "hospital stays (Diabetes 130-US)"
else:  # invented patients
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    patient = pd.Series(np.random.default_rng(0).integers(250, size=len(y)))
    data = "tumours (breast cancer)"

# All records of a patient go to the same side of the split.
shuffled = np.random.default_rng(0).permutation(patient.unique())[:40_000]
train, val = (patient.isin(part) for part in np.array_split(shuffled, 2))
print(f"{data}: {val.sum():,} records of {patient[val].nunique():,} patients are protected")

# %%
# The metric is the Brier score, the mean squared error of the predicted probability. Each patient
# has the same weight, whatever their number of records.
search = PrivateBayesSearchCV(
    HistGradientBoostingClassifier(max_iter=30, random_state=0),
    {"learning_rate": loguniform(0.02, 0.5), "max_leaf_nodes": randint(4, 32)},
    epsilon=1.0,
    n_iter=12,
    scoring="neg_brier_score",
    random_state=0,
)
search.fit(X[train], y[train], X_val=X[val], y_val=y[val], groups_val=patient[val])

low, high = sorted(abs(score) for score in search.best_score_interval_)
print(search.best_params_)
print(f"Brier score {-search.best_score_:.4f} (95 % without noise: {low:.4f} to {high:.4f})")

# %%
# Records per patient. The training set is not protected, so it may be plotted.
figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
counts = patient[train].value_counts().clip(upper=10).value_counts().sort_index()
ax.set(yscale="log", xlabel="records (10: or more)", ylabel="patients of the training set")
ax.bar(counts.index, counts, color="tab:blue")

# %%
# The privacy report names the unit: neighbouring validation sets differ in all records of one
# group.
search.privacy_
