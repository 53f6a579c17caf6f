"""
Audit a search and find a bug
=============================

Fit a search hundreds of times on two validation sets that differ in one record. How well the
results tell the two apart gives a lower bound for epsilon. A bound above the promised epsilon
proves a bug.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.audit import ConstantClassifier, audit_mechanism, audit_search, opposed_models

# %%
# The worst case for a search: two models that disagree on every record. One record then changes
# both scores, in opposite directions.
search = PrivateBayesSearchCV(ConstantClassifier(), {"label": [0, 1]}, epsilon=2.0)
report = audit_search(search, *opposed_models(), n=200)
print(report)
report.plot()
plt.show()

# %%
# A mechanism with a bug: it counts ones among records and adds Laplace noise of half the scale that
# epsilon = 1 requires.
rng = np.random.default_rng()


def count_with_too_little_noise(records):
    return sum(records) + rng.laplace(scale=0.5)


neighbours = [1, 1, 0, 1], [1, 1, 0, 0]
report = audit_mechanism(count_with_too_little_noise, neighbours, n=2000, epsilon=1.0)
print(report)
report.plot()
plt.show()
