"""Audits: attacks that measure the privacy of mechanisms (zone: public).

`audit_mechanism`, `audit_search` and `audit_estimator` run a mechanism on two neighbouring data
sets many times, and bound epsilon from below. `audit_one_run` does so from one release of many
numbers. `cases` has the worst neighbours of each mechanism, `training_neighbours` those of a
training set.
"""

from . import cases
from ._estimator import audit_estimator
from ._one_run import OneRunReport, audit_one_run
from ._reconstruction import reconstruct_from_projection
from ._repeated import audit_mechanism, audit_search
from ._report import AuditReport
from ._training_sets import training_neighbours

__all__ = [
    "AuditReport",
    "OneRunReport",
    "audit_estimator",
    "audit_mechanism",
    "audit_one_run",
    "audit_search",
    "cases",
    "reconstruct_from_projection",
    "training_neighbours",
]
