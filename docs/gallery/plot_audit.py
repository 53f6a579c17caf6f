"""
Believe nothing: an audit
=========================

A search is fitted many hundred times on two validation sets that differ in one record. What comes
out bounds epsilon from below; if that is more than was promised, the promise is broken.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.audit import audit_mechanism, audit_search, cases

# %%
# The worst case for a search: two models that disagree on every record, so that one record moves
# both scores, in opposite directions.
search = PrivateBayesSearchCV(cases.ConstantClassifier(), {"label": [0, 1]}, epsilon=2.0)
report = audit_search(search, *cases.opposed_models(), n=600)
print(report)
report.plot()
plt.show()

# %%
# A mechanism with a bug: a count of 0/1 records, released with Laplace noise of half the scale that
# epsilon = 1 asks for.
rng = np.random.default_rng()


def count_with_too_little_noise(records):
    return sum(records) + rng.laplace(scale=0.5)


neighbours = [1, 1, 0, 1], [1, 1, 0, 0]
report = audit_mechanism(count_with_too_little_noise, neighbours, n=4000, epsilon=1.0)
print(report)
report.plot()
plt.show()
