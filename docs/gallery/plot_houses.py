"""
Regression: what a house costs
==============================

An error in the price of a house has no bound, and noise has to be in proportion to what one record
can change. So errors are cut off at a bound that is chosen from the training set.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import loguniform, randint
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from sklearn_dpbo import PrivateBayesSearchCV, make_private_scorer

# %%
# A third of the sales is to train on, a third is protected, and a third, also public, to look at
# the outcome.
folder = os.environ.get("SKLEARN_DPBO_DATA")
if folder:
    X = pd.read_csv(Path(folder) / "kc_house.csv.gz")
    y = X["price_per_sqm"]
    X = X[["lat", "long", "sqft_living", "sqft_lot", "grade", "condition", "yr_built"]]
else:  # the progression of diabetes instead
    X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=1 / 3, random_state=0)
X_val, X_test, y_val, y_test = train_test_split(X_rest, y_rest, train_size=0.5, random_state=0)

# Nine tenths of the training records lie closer to the median than this.
worst = np.quantile(np.abs(y_train - y_train.median()), 0.9)
print(f"{y.name}: errors count up to {worst:,.0f}")

# %%
search = PrivateBayesSearchCV(
    HistGradientBoostingRegressor(max_iter=60, random_state=0),
    {"learning_rate": loguniform(0.02, 0.5), "max_leaf_nodes": randint(4, 64)},
    epsilon=1.0,
    n_iter=16,
    scoring=make_private_scorer("neg_mean_absolute_error", bounds=(-worst, 0)),
    random_state=0,
)
search.fit(X_train, y_train, X_val=X_val, y_val=y_val)

low, high = sorted(abs(score) for score in search.best_score_interval_)
print(search.best_params_)
print(
    f"mean absolute error {-search.best_score_:,.1f}; "
    f"without noise, between {low:,.1f} and {high:,.1f}"
)

# %%
# On public records, scores are computed as always.
print(f"public test records: {-search.score(X_test, y_test):,.1f}")

figure, ax = plt.subplots(figsize=(5, 5), layout="constrained")
ax.hexbin(y_test, search.predict(X_test), gridsize=40, bins="log", cmap="Blues", mincnt=1)
ends = np.quantile(y_test, [0.005, 0.995])
ax.set(xlim=ends, ylim=ends, xlabel=f"{y.name}, public test records", ylabel="predicted")
ax.axline((ends[0], ends[0]), slope=1, color="0.3", lw=1)
