"""
Tune a classifier on confidential records
=========================================

Tune a support vector classifier on validation data that must stay confidential. The search reports
the best candidate and its score, and limits by ``epsilon`` what they reveal about any one record.
The picture shows where it searched and what it chose.
"""

import os
from pathlib import Path

import pandas as pd
from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.plotting import SearchPathDisplay

# %%
# The training set is not protected; the validation set is. The data are 4,601 e-mails (Spambase) if
# the folder ``SKLEARN_DPBO_DATA`` has them, and otherwise tumours (breast cancer, 569 records).
folder = os.environ.get("SKLEARN_DPBO_DATA")
if folder:
    emails = pd.read_csv(Path(folder) / "spambase.csv.gz")
    X, y = emails.drop(columns="spam"), emails["spam"]
    data = "e-mails (Spambase)"
else:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    data = "tumours (breast cancer)"
X_train, X_val, y_train, y_val = train_test_split(X, y, train_size=0.4, random_state=0)
print(f"{data}: {len(X_train):,} training records, {len(X_val):,} protected validation records")

# %%
# As with ``GridSearchCV``, plus the privacy budget ``epsilon``, and the validation set in ``fit``.
search = PrivateBayesSearchCV(
    make_pipeline(StandardScaler(), SVC()),
    {"svc__C": loguniform(1e-2, 1e4), "svc__gamma": loguniform(1e-5, 1)},
    epsilon=1.0,
    n_iter=24,
    random_state=0,
)
search.fit(X_train, y_train, X_val=X_val, y_val=y_val)

low, high = search.best_score_interval_
print(f"chosen: {search.best_params_}")
print(f"accuracy {search.best_score_:.3f} (95 % interval without noise: {low:.3f} to {high:.3f})")

# %%
# Dots were scored by cross-validation on the training set, so their colours may show the scores.
# Squares were scored on the validation set. Those scores are confidential and are not kept.
display = SearchPathDisplay.from_search(search, "svc__C", "svc__gamma")

# %%
# Publish the privacy report with the result:
search.privacy_
