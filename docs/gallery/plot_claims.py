"""
Insurance: choose the bound of an unbounded metric
==================================================

Predict what an insurer pays for an injury, and tune the model on confidential claims. A policy
holder may have several claims, so all of them are protected together. A few claims are very large,
so the deviance of each claim is clipped at a bound. This example shows how to choose it.

The claims are simulated: we know of no public data set with policy-holder identifiers.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import loguniform, randint
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold, cross_val_predict

from sklearn_dpbo import PrivateBayesSearchCV, make_private_scorer


# %%
# Amounts are in thousands. How a policy holder drives affects all of their claims and is in no
# column.
def simulate_claims(n_holders, seed):
    rng = np.random.default_rng(seed)
    holder = np.repeat(np.arange(n_holders), rng.geometric(0.6, n_holders))
    driving = rng.normal(0, 0.4, n_holders)[holder]
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_holders)[holder],
            "speed": rng.gamma(6, 9, len(holder)) * np.exp(0.3 * driving),
            "belt": rng.random(len(holder)) < 0.85,
            "car_age": rng.integers(0, 20, len(holder)),
        }
    )
    severity = 0.025 * X["speed"] - 0.9 * X["belt"] + 0.03 * X["car_age"] + 0.01 * (X["age"] - 40)
    amount = np.exp(severity + driving + rng.normal(0, 0.8, len(holder)))
    return X, amount.rename("amount"), pd.Series(holder, name="holder")


X_train, y_train, holder_train = simulate_claims(3000, seed=0)
X_val, y_val, holder_val = simulate_claims(3000, seed=1)
m, epsilon = holder_val.nunique(), 1.0
print(f"protected: {len(X_val):,} claims of {m:,} policy holders")

# %%
# The metric is the gamma deviance, which compares an error with the amount. It has no bound, and
# noise has to be in proportion to one: a large bound needs much noise, a small one clips large
# errors. The training claims are not protected, so they can show by how much: cross-validate on
# policy holders whom the model has not seen. As in the score, each policy holder has the same
# weight.
model = HistGradientBoostingRegressor(loss="gamma", max_iter=50, random_state=0)
predicted = cross_val_predict(model, X_train, y_train, groups=holder_train, cv=GroupKFold(3))
deviances = 2 * (np.log(predicted / y_train) + y_train / predicted - 1)

bounds = np.geomspace(1, 50, 100)
clipped = np.array(
    [(deviances - bound).clip(lower=0).groupby(holder_train).mean().mean() for bound in bounds]
)
noise = bounds / (0.4 * epsilon * m)  # two fifths of epsilon are for the score
bound = bounds[np.argmin(clipped + noise)]
print(f"deviances are clipped at {bound:.1f}")

# %%
search = PrivateBayesSearchCV(
    model,
    {"learning_rate": loguniform(0.005, 0.5), "max_leaf_nodes": randint(3, 64)},
    epsilon=epsilon,
    n_iter=12,
    scoring=make_private_scorer("neg_mean_gamma_deviance", bounds=(-bound, 0)),
    random_state=0,
)
search.fit(X_train, y_train, X_val=X_val, y_val=y_val, groups_val=holder_val)

low, high = sorted(abs(score) for score in search.best_score_interval_)
print(search.best_params_)
print(f"deviance {-search.best_score_:.3f} (95 % without noise: {low:.3f} to {high:.3f})")

# %%
# Left: the error from clipping, the error from noise, and their sum. Right: new claims, in twenty
# bins of equal size by predicted amount.
X_new, y_new, _ = simulate_claims(3000, seed=2)
expected = pd.Series(search.predict(X_new))
bins = pd.qcut(expected, 20, labels=False)

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
left.plot(bounds, clipped, label="clipping")
left.plot(bounds, noise, label="noise, mean size")
left.plot(bounds, clipped + noise, color="0.3", label="sum")
left.axvline(bound, color="crimson", ls="--", lw=1, label="chosen")
left.set(xscale="log", xlabel="bound of the deviance", ylabel="error of the score")
left.legend()
right.scatter(expected.groupby(bins).mean(), y_new.groupby(bins).mean())
right.set(xscale="log", yscale="log", xlabel="predicted, thousands", ylabel="paid, mean, thousands")
right.axline((1, 1), (10, 10), color="0.3", lw=1)

# %%
# Neighbouring validation sets differ in all claims of one policy holder, however many they are.
search.privacy_
