"""Models that are differentially private with respect to their training records (zone: released).

They protect the records that they are fitted on, so the fitted model may be published. (A search
protects the records that candidates are compared on.)
"""

from ._declaration import PrivateTraining
from ._kernel import PrivateKernelClassifier
from ._logistic import PrivateLogisticRegression
from ._ridge import PrivateRidge, PrivateRidgeClassifier

__all__ = [
    "PrivateKernelClassifier",
    "PrivateLogisticRegression",
    "PrivateRidge",
    "PrivateRidgeClassifier",
    "PrivateTraining",
]
