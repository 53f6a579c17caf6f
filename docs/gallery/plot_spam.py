"""
First search: a spam filter
===========================

A support vector classifier is tuned on a validation set from which nothing may be learnt about any
single record. The picture shows where the search looked, and which candidate it chose.
"""

import os
from pathlib import Path

import pandas as pd
from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer
from sklearn.svm import SVC

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.plotting import SearchPathDisplay

# %%
# Some e-mails are to train on, and others, which are to be protected, to validate with.
folder = os.environ.get("SKLEARN_DPBO_DATA")
if folder:
    emails = pd.read_csv(Path(folder) / "spambase.csv.gz")
    X, y = emails.drop(columns="spam"), emails["spam"]
else:  # tumours instead
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_val, y_train, y_val = train_test_split(X, y, train_size=0.4, random_state=0)
print(f"{y.name}: {len(X_train):,} records to train on, {len(X_val):,} protected ones")

# %%
# As with ``GridSearchCV``, but for the budget ``epsilon``, and for the validation set in ``fit``.
search = PrivateBayesSearchCV(
    make_pipeline(QuantileTransformer(n_quantiles=100), SVC()),
    {"svc__C": loguniform(1e-2, 1e4), "svc__gamma": loguniform(1e-5, 1)},
    epsilon=1.0,
    n_iter=40,
    random_state=0,
)
search.fit(X_train, y_train, X_val=X_val, y_val=y_val)

low, high = search.best_score_interval_
print(f"chosen: {search.best_params_}")
print(f"accuracy {search.best_score_:.3f}; without noise, between {low:.3f} and {high:.3f}")

# %%
# Where it looked. Dots were explored within the training set, which is not protected, and so may
# show their scores. Squares were scored on the validation set: these scores are not kept.
display = SearchPathDisplay.from_search(search, "svc__C", "svc__gamma")

# %%
# The privacy report to publish with the result:
search.privacy_
