"""Models that are differentially private with respect to their training records (zone: released).

Other than a search, which protects the records it validates on, they protect those that they are
fitted on: the fitted model may be published.
"""

from ._logistic import PrivateLogisticRegression
from ._private_training import PrivateTraining
from ._ridge import PrivateRidge, PrivateRidgeClassifier

__all__ = [
    "PrivateLogisticRegression",
    "PrivateRidge",
    "PrivateRidgeClassifier",
    "PrivateTraining",
]
