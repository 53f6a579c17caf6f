"""
Table 2 of your paper
=====================

A clinical paper reports how well a model discriminates, how well it is calibrated, and what it is
worth at a threshold, each number with an interval. All of them follow from one private release.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo import private_evaluation

# %%
# Will a patient's diabetes progress to a score of more than 140 within a year? The model was
# fitted on 120 patients of one clinic, whose records are public. The other patients are protected.
X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X, X_val, y, y_val = train_test_split(X, y > 140, train_size=120, random_state=0)
model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1)).fit(X, y)

# %%
# One release, with the threshold of the paper as an edge of a bin, and by sex. (The data do not say
# which sex is 1.)
evaluation = private_evaluation(
    model,
    X_val,
    y_val,
    X=X,
    y=y,
    epsilon=2.0,
    thresholds=[0.4],
    subgroups_val=X_val["sex"],
    subgroups={"sex": [1, 2]},
)
print(f"{evaluation.m} protected patients")

# %%
# The table. Its intervals cover the noise and the sampling of the patients.
table = evaluation.table(
    {
        "AUC": "roc_auc",
        "Brier score": "brier_score",
        "Calibration intercept": "calibration_intercept",
        "Calibration slope": "calibration_slope",
        "Sensitivity at 40 %": ("sensitivity", {"threshold": 0.4}),
        "Specificity at 40 %": ("specificity", {"threshold": 0.4}),
        "PPV at 40 %": ("ppv", {"threshold": 0.4}),
        "NPV at 40 %": ("npv", {"threshold": 0.4}),
        "Net benefit at 40 %": ("net_benefit", {"threshold": 0.4}),
    }
)
table

# %%
# By sex. Where an interval is too wide to tell anything, the table says so, and how many patients
# of this sex would be enough.
evaluation.table(["roc_auc", "accuracy", "sensitivity"], by="sex")

# %%
# For the manuscript: the column of texts, as HTML or as LaTeX.
print(table["text"].to_frame("Value (95 % interval)").to_latex(escape=True))

# %%
# Figure 2: calibration, and the decision curve. Treating by the model is worth it where its line
# lies above both others.
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
evaluation.plot_calibration_curve(ax=axes[0])
evaluation.plot_decision_curve(ax=axes[1])

# %%
# For the output checker: what was released, and on which conditions.
evaluation.privacy_
