"""Private hyper-parameter search with the scikit-learn interface (zone: released)."""

from .ledger._ledger import PrivacyLedger
from .planning._solve import plan_search
from .scoring._make import make_private_scorer
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
