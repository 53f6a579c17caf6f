"""Models that are differentially private with respect to their training records (zone: released).

They protect the records that they are fitted on, so the fitted model may be published. (A search
protects the records on which candidates are compared.)
"""

from ._classifier import PrivateClassifier
from ._declaration import PrivateTraining
from ._logistic import PrivateLogisticRegression
from ._regressor import PrivateRegressor
from ._ridge import PrivateRidge

__all__ = [
    "PrivateClassifier",
    "PrivateLogisticRegression",
    "PrivateRegressor",
    "PrivateRidge",
    "PrivateTraining",
]
