"""
Regression: clip errors at a bound
==================================

Noise has to be in proportion to what one record can change, and the error of a predicted price has
no bound. Clip errors at a bound that you choose on the training set.
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
# One third of the sales is for training and one third is the protected validation set. The last
# third is public and shows the result.
folder = os.environ.get("SKLEARN_DPBO_DATA")
if folder:
    X = pd.read_csv(Path(folder) / "kc_house.csv.gz")
    y = X["price_per_sqm"]
    X = X[["lat", "long", "sqft_living", "sqft_lot", "grade", "condition", "yr_built"]]
else:  # progression of diabetes
    X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=1 / 3, random_state=0)
X_val, X_test, y_val, y_test = train_test_split(X_rest, y_rest, train_size=0.5, random_state=0)

# Nine tenths of the training records lie closer to the median than this.
worst = np.quantile(np.abs(y_train - y_train.median()), 0.9)
print(f"target: {y.name}; errors are clipped at {worst:,.0f}")

# %%
search = PrivateBayesSearchCV(
    HistGradientBoostingRegressor(max_iter=60, random_state=0),
    {"learning_rate": loguniform(0.02, 0.5), "max_leaf_nodes": randint(4, 64)},
    epsilon=1.0,
    n_iter=12,
    scoring=make_private_scorer("neg_mean_absolute_error", bounds=(-worst, 0)),
    random_state=0,
)
search.fit(X_train, y_train, X_val=X_val, y_val=y_val)

low, high = sorted(abs(score) for score in search.best_score_interval_)
print(search.best_params_)
print(f"clipped error {-search.best_score_:,.1f} (95 % without noise: {low:,.1f} to {high:,.1f})")

# %%
# ``score`` adds no noise: call it on public records only.
print(f"error on public test records: {-search.score(X_test, y_test):,.1f}")

figure, ax = plt.subplots(figsize=(5, 5), layout="constrained")
ax.hexbin(y_test, search.predict(X_test), gridsize=40, bins="log", cmap="Blues", mincnt=1)
ends = np.quantile(y_test, [0.005, 0.995])
ax.set(xlim=ends, ylim=ends, xlabel=f"{y.name}, public test records", ylabel="predicted")
ax.axline((ends[0], ends[0]), slope=1, color="0.3", lw=1)
