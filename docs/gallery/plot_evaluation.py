"""
All figures of a paper from one private release
===============================================

A paper on a model needs a table, curves and confusion matrices, and none may expose the patients
of the validation set. ``release="evaluation"`` releases one histogram of predicted
risks, with noise. Every figure below is computed from it and costs no further privacy.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from scipy.stats import loguniform, randint
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

from sklearn_dpbo import PrivateBayesSearchCV

# %%
# Will a patient be readmitted within 30 days? The data have one hospital stay of each patient.
folder = os.environ.get("SKLEARN_DPBO_DATA")
if folder:
    X = pd.read_csv(Path(folder) / "diabetes130.csv.gz", keep_default_na=False)
    X = X.drop_duplicates("patient_nbr").sample(50_000, random_state=0)
    y = (X["readmitted"] == "<30").astype(int)
    stay = ["time_in_hospital", "num_medications", "number_inpatient", "number_emergency"]
    X = X[[*stay, "number_diagnoses", "admission_type_id", "discharge_disposition_id"]]
    data = "hospital stays (Diabetes 130-US)"
else:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.sample(frac=1, random_state=0), y.sample(frac=1, random_state=0)
    data = "tumours (breast cancer), 1 is benign"
half = len(X) // 2
X_train, y_train, X_val, y_val = X[:half], y[:half], X[half:], y[half:]
print(f"{data}: {len(X_val):,} protected patients")

# %%
# One part of epsilon chooses the candidate by the area under the ROC curve; the rest is for the
# report.
search = PrivateBayesSearchCV(
    HistGradientBoostingClassifier(max_iter=40, random_state=0),
    {"learning_rate": loguniform(0.02, 0.5), "max_leaf_nodes": randint(4, 32)},
    epsilon=2.0,
    n_iter=8,
    scoring="roc_auc",
    release="evaluation",
    random_state=0,
)
search.fit(X_train, y_train, X_val=X_val, y_val=y_val)
evaluation = search.evaluation_

# %%
# Table 1. The intervals cover noise and sampling: they are for the population that these patients
# are a random sample of.
evaluation

# %%
# Figure 1: ROC curve and precision-recall curve.
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
evaluation.plot_roc_curve(ax=axes[0])
evaluation.plot_precision_recall_curve(ax=axes[1])

# %%
# Figure 2: calibration of the predicted risks.
figure, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
evaluation.plot_calibration_curve(ax=ax)
high = evaluation.calibration_curve()[1][-1]
ax.set(xlim=(0, min(1, 1.3 * high)), ylim=(0, min(1, 1.5 * high)))

# %%
# Figure 3: confusion matrices at the default threshold, and at the released one nearest to the
# prevalence. Where positives are rare, hardly any risk exceeds 0.5.
prevalence = evaluation.score("prevalence").value
threshold = min(evaluation.thresholds, key=lambda t: abs(t - prevalence))
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
evaluation.plot_confusion_matrix(ax=axes[0])
evaluation.plot_confusion_matrix(threshold, ax=axes[1])
axes[0].set_title(f"threshold {evaluation.threshold:.2f}")
axes[1].set_title(f"threshold {threshold:.2f}")
print("recall   ", evaluation.score("recall", threshold=threshold))
print("precision", evaluation.score("precision", threshold=threshold))

# %%
# Supplement: the counts that all curves follow from, as JSON.
print(evaluation.to_json()[:400])

# %%
# The privacy report lists what each release costs.
search.privacy_
