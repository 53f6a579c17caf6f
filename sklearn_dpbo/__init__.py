"""Differentially private hyper-parameter search with the scikit-learn interface."""

from .scoring import make_private_scorer
from .search import PrivateBayesSearchCV
from .threshold import PrivateThresholdClassifier

__all__ = ["PrivateBayesSearchCV", "PrivateThresholdClassifier", "make_private_scorer"]
__version__ = "0.1.0"
