"""
Keep a privacy budget across fits
=================================

The privacy losses of all fits on a data set add up. The owner of the data opens a ledger with a
budget. Each fit is charged to it, and a fit that the budget does not cover is refused.
"""

import tempfile
from pathlib import Path

import pandas as pd
from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV, PrivateThresholdClassifier

# %%
# A ledger is a file that several processes can share. This one is temporary.
folder = tempfile.TemporaryDirectory()
ledger = PrivacyLedger(Path(folder.name) / "tumours.ledger", "tumours", epsilon=2.0, create=True)

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_val, y_train, y_val = train_test_split(X, y, train_size=0.4, random_state=0)

# %%
# Two fits are charged.
model = make_pipeline(StandardScaler(), LogisticRegression())
search = PrivateBayesSearchCV(
    model, {"logisticregression__C": loguniform(1e-3, 1e3)}, epsilon=1.2, n_iter=12, ledger=ledger
)
search.fit(X_train, y_train, X_val=X_val, y_val=y_val)

tuned = PrivateThresholdClassifier(search.best_estimator_, epsilon=0.5, ledger=ledger)
tuned.fit(X_train, y_train, X_val=X_val, y_val=y_val)
print(ledger)

# %%
# A third fit asks for more than is left. The ledger refuses it before any model is fitted.
try:
    search.fit(X_train, y_train, X_val=X_val, y_val=y_val)
except ValueError as error:
    print(f"{type(error).__name__}: {error}")

# %%
# All charges, as a table,
charges = pd.DataFrame(ledger.history)[["number", "what", "mechanism", "epsilon", "delta"]]
charges

# %%
# and what they have added up to, beside the budget.
axes = charges.epsilon.astype(float).cumsum().plot.barh(xlim=(0, 2.1), figsize=(6, 2))
axes.axvline(2.0, linestyle="dashed", color="tab:red", label="budget")
axes.set(yticks=range(len(charges)), yticklabels=charges.what, xlabel="epsilon, added up")
axes.invert_yaxis()
axes.legend(loc="upper right")
axes.figure.tight_layout()
