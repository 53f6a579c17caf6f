"""Differentially private hyper-parameter search with the scikit-learn interface."""

from .ledger import PrivacyLedger
from .planning import plan_search
from .scoring import make_private_scorer
from .search import PrivateBayesSearchCV
from .threshold import PrivateThresholdClassifier

__all__ = [
    "PrivacyLedger",
    "PrivateBayesSearchCV",
    "PrivateThresholdClassifier",
    "make_private_scorer",
    "plan_search",
]
__version__ = "0.1.0"
