"""
What a private model says of each column
========================================

A model of private trees is no black box. It is published, so what it says of each column can be
drawn at no cost in privacy, with a band for the noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from sklearn_dpbo.learners import PrivateRegressor
from sklearn_dpbo.plotting import ShapeDisplay

# %%
# A table of scikit-learn whose truth is known: the target is 10 sin(π x0 x1) + 20 (x2 - 0.5)² +
# 10 x3 + 5 x4, and the columns x5 and x6 do not matter. All columns lie between 0 and 1.
X, y = make_friedman1(12_000, 7, noise=1.0, random_state=0)
model = PrivateRegressor(epsilon=1.0, delta=1e-6, bounds=(0, 1), random_state=0)
model.fit(X, y)
centers = model.center_[:7]  # the others are of indicators of missing values
print(model.privacy_)

# %%
# Each picture moves one column and leaves the others at their released centres. The solid line is
# the model, and the dashed one its functions of this column alone: between them are random trees
# and waves, which combine columns. The dotted line is the truth, and the band 95 % of the noise.
columns = [0, 2, 3, 4, 5, 6]
display = ShapeDisplay.from_estimator(model, columns)


def target(x):
    """Return the expected target."""
    curved = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    return curved + 10 * x[:, 3] + 5 * x[:, 4]


for ax, column in zip(display.axes_, columns, strict=True):
    rows = np.tile(centers, (101, 1))
    rows[:, column] = np.linspace(0, 1, 101)
    change = target(rows) - target(centers[None])
    ax.plot(rows[:, column], change, color="0.4", ls=":", label="truth")
display.axes_[0].legend(frameon=False, fontsize="small")

# %%
# The column x0 matters together with x1. The picture shows it where x1 is at its centre; elsewhere
# it is another one, which public rows show.
_, ax = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
for other, style in ((0.2, "-"), (0.5, "--"), (0.8, ":")):
    rows = np.tile(centers, (101, 1))
    rows[:, 0], rows[:, 1] = np.linspace(0, 1, 101), other
    ax.plot(rows[:, 0], model.predict(rows), style, label=f"x1 = {other}")
ax.set(xlabel="0", ylabel="prediction")
ax.legend(frameon=False)
