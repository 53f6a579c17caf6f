"""
Pipelines and conditional spaces
================================

Search over preprocessing, the choice between two models, and the parameters of each at once. Pass
several dicts for a conditional space: a candidate has only the parameters of the model that it
uses.
"""

import os
from pathlib import Path

import pandas as pd
from scipy.stats import loguniform, randint
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.plotting import SearchPathDisplay

# %%
# Numerical and categorical columns: does a person earn more than 50,000 dollars a year?
folder = os.environ.get("SKLEARN_DPBO_DATA")
if folder:
    people = pd.read_csv(Path(folder) / "adult.csv.gz", keep_default_na=False, nrows=6_000)
    X, y = people.drop(columns=["income", "split", "fnlwgt"]), people["income"]
    data = "people (Adult)"
else:  # numerical columns only
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    data = "tumours (breast cancer)"
X_train, X_val, y_train, y_val = train_test_split(X, y, train_size=0.5, random_state=0)
print(f"{data}: {len(X_val):,} protected validation records")

# %%
prepare = ColumnTransformer(
    [
        ("numbers", StandardScaler(), make_column_selector(dtype_include="number")),
        (
            "categories",
            OneHotEncoder(handle_unknown="ignore", min_frequency=10),
            make_column_selector(dtype_exclude="number"),
        ),
    ]
)
scaling = {"prepare__numbers": [StandardScaler(), QuantileTransformer(n_quantiles=100)]}
space = [
    {"model": [LogisticRegression(max_iter=1000)], "model__C": loguniform(1e-3, 1e2), **scaling},
    {
        "model": [ExtraTreesClassifier(n_estimators=30, random_state=0)],
        "model__min_samples_leaf": randint(1, 30),
    },
]
search = PrivateBayesSearchCV(
    Pipeline([("prepare", prepare), ("model", LogisticRegression())]),
    space,
    epsilon=1.0,
    n_iter=20,
    random_state=0,
)
search.fit(X_train, y_train, X_val=X_val, y_val=y_val)

for name, value in search.best_params_.items():
    print(f"{name} = {value}")
low, high = search.best_score_interval_
print(f"accuracy {search.best_score_:.3f} (95 % interval without noise: {low:.3f} to {high:.3f})")

# %%
# The candidates in the order in which they were tried. Colours are scores within the training set;
# scores on the validation set are confidential. Parameters of the other model are "not set".
display = SearchPathDisplay.from_search(search, "model__C", "model__min_samples_leaf")

# %%
tried = pd.DataFrame(search.cv_results_)
tried["model"] = [type(model).__name__ for model in tried["param_model"]]
tried.groupby(["model", "validated"]).size().rename("candidates").reset_index()
