"""
Choose a decision threshold from costs
======================================

Losing a good e-mail is worse than reading spam, so a filter should need a probability well above
0.5 to call an e-mail spam. ``PrivateThresholdClassifier`` chooses the threshold on protected
records.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo import PrivateThresholdClassifier, make_private_scorer

# %%
# One third of the records is for training, one third is protected, and one third is public.
folder = os.environ.get("SKLEARN_DPBO_DATA")
if folder:
    emails = pd.read_csv(Path(folder) / "spambase.csv.gz")
    X, y = emails.drop(columns="spam"), emails["spam"]
    data = "e-mails (Spambase), 1 is spam"
else:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    data = "tumours (breast cancer), 1 is benign"
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=1 / 3, random_state=0)
X_val, X_test, y_val, y_test = train_test_split(X_rest, y_rest, train_size=0.5, random_state=0)
print(f"{data}: {len(X_val):,} protected validation records")

# %%
# A row per true class, a column per predicted class: a false positive costs ten.
cost_matrix = np.array([[0, 10], [1, 0]])
tuned = PrivateThresholdClassifier(
    make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    epsilon=1.0,
    scoring=make_private_scorer("neg_cost", cost_matrix=cost_matrix),
)
tuned.fit(X_train, y_train, X_val=X_val, y_val=y_val)

low, high = sorted(abs(score) for score in tuned.best_score_interval_)
print(f"threshold {tuned.best_threshold_:.3f}")
print(f"mean cost {-tuned.best_score_:.3f} (95 % interval without noise: {low:.3f} to {high:.3f})")

# %%
# The cost of each threshold on the public records.
probability = tuned.estimator_.predict_proba(X_test)[:, 1]
thresholds = np.linspace(0.01, 0.99, 197)
costs = [cost_matrix[y_test, (probability >= t).astype(int)].mean() for t in thresholds]
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(thresholds, costs, drawstyle="steps-post")
ax.axvline(0.5, color="0.6", ls=":", label="default, 0.5")
ax.axvline(tuned.best_threshold_, color="crimson", label="chosen privately")
ax.set(xlabel="threshold", ylabel="mean cost,\npublic test records")
ax.legend()

# %%
tuned.privacy_
