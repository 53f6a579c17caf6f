"""
Every figure of a paper from one release
========================================

A model predicts readmissions. The paper about it needs a table, curves and confusion matrices, and
the patients whom the model was validated on must not show in any of them. ``report=True`` releases
one histogram of predicted risks, with noise; all the rest follows from it.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from scipy.stats import loguniform, randint
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from sklearn_dpbo import PrivateBayesSearchCV

# %%
# Does a stay in hospital end in a readmission within 30 days? One stay of each patient is taken.
folder = os.environ.get("SKLEARN_DPBO_DATA")
if folder:
    X = pd.read_csv(Path(folder) / "diabetes130.csv.gz", keep_default_na=False)
    X = X.drop_duplicates("patient_nbr").sample(40_000, random_state=0)
    y = (X["readmitted"] == "<30").astype(int)
    X = X.drop(columns=["encounter_id", "patient_nbr", "readmitted", "diag_1", "diag_2", "diag_3"])
else:  # tumours instead: 1 is a benign one
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.sample(frac=1, random_state=0), y.sample(frac=1, random_state=0)
half = len(X) // 2
X_train, y_train, X_val, y_val = X[:half], y[:half], X[half:], y[half:]
print(f"protected: {len(X_val):,} patients")

# %%
# The search chooses by the area under the ROC curve, and releases the report with what is left.
encode = make_column_transformer(
    (
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        make_column_selector(dtype_exclude="number"),
    ),
    remainder="passthrough",
)
search = PrivateBayesSearchCV(
    make_pipeline(encode, HistGradientBoostingClassifier(max_iter=40, random_state=0)),
    {
        "histgradientboostingclassifier__learning_rate": loguniform(0.02, 0.5),
        "histgradientboostingclassifier__max_leaf_nodes": randint(4, 32),
    },
    epsilon=2.0,
    n_iter=12,
    scoring="roc_auc",
    report=True,
    random_state=0,
)
search.fit(X_train, y_train, X_val=X_val, y_val=y_val)
evaluation = search.evaluation_

# %%
# Table 1. Intervals are for the numbers that these very patients have.
evaluation

# %%
# Figure 1: whom the model finds, and how many it calls in vain.
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
evaluation.plot_roc_curve(ax=axes[0])
evaluation.plot_precision_recall_curve(ax=axes[1])

# %%
# Figure 2: are the risks right?
figure, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
evaluation.plot_calibration_curve(ax=ax)
high = evaluation.calibration_curve()[1][-1]
ax.set(xlim=(0, min(1, 1.3 * high)), ylim=(0, min(1, 1.5 * high)))

# %%
# Figure 3: confusion matrices, with the model's own threshold, which hardly calls anybody, and with
# the risk that an average patient has.
threshold = evaluation.prevalence().value
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
evaluation.plot_confusion_matrix(ax=axes[0])
evaluation.plot_confusion_matrix(threshold, ax=axes[1])
axes[0].set_title(f"threshold {evaluation.threshold:.2f}")
axes[1].set_title(f"threshold {threshold:.2f}")
print("recall   ", evaluation.recall(threshold))
print("precision", evaluation.precision(threshold))

# %%
# The supplement: all points of all curves, as JSON.
print(evaluation.to_json()[:400])

# %%
# What was spent on what.
search.privacy_
