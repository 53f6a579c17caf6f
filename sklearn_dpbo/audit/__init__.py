"""Audits: attacks that measure the privacy of mechanisms (zone: public).

`audit_mechanism`, `audit_search` and `audit_estimator` run a mechanism on two neighbouring data
sets many times, and bound epsilon from below. `opposed_models` and `training_neighbours` have the
worst neighbours of a search and of a training set.
"""

from ._fits import audit_estimator, audit_search
from ._mechanism import audit_mechanism
from ._neighbours import ConstantClassifier, opposed_models, training_neighbours
from ._report import AuditReport

__all__ = [
    "AuditReport",
    "ConstantClassifier",
    "audit_estimator",
    "audit_mechanism",
    "audit_search",
    "opposed_models",
    "training_neighbours",
]
