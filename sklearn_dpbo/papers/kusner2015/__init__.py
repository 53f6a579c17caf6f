"""The algorithms of Kusner, Gardner, Garnett and Weinberger, ICML 2015 (zone: boundary).

To reproduce and compare: `sklearn_dpbo.strategies.WorstCase` assumes less, and was better wherever
we measured. The module `published` has the forms that the papers print and that are known to fail.
"""

from ...search._surrogate import Kernel
from . import bounds, published
from ._acquisition import ExpectedImprovement, UpperConfidenceBound
from ._branch_and_bound import Path, branch_and_bound
from ._dataset_kernel import DatasetKernel, estimate_dataset_kernel, neighbouring_scores
from ._gp_noise_free import GPNoiseFree
from ._gp_noisy import GPNoisy
from ._lipschitz import LipschitzConvex
from ._unit_ball import UnitBall

__all__ = [
    "DatasetKernel",
    "ExpectedImprovement",
    "GPNoiseFree",
    "GPNoisy",
    "Kernel",
    "LipschitzConvex",
    "Path",
    "UnitBall",
    "UpperConfidenceBound",
    "bounds",
    "branch_and_bound",
    "estimate_dataset_kernel",
    "neighbouring_scores",
    "published",
]
