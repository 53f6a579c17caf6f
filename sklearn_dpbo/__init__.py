"""Hyper-parameter search with differential privacy for scikit-learn.

Start with `PrivateBayesSearchCV`, which is used like `GridSearchCV` (zone: released).
"""

from .evaluation._private_comparison import private_comparison
from .evaluation._private_evaluation import private_evaluation
from .metrics._make import make_private_scorer
from .planning._plan import plan_search
from .privacy.ledger._ledger import PrivacyLedger
from .records.fit_parameters import public
from .search._search import PrivateBayesSearchCV
from .search._table import PrivateTableSearchCV
from .search._threshold import PrivateThresholdClassifier

__all__ = [
    "PrivacyLedger",
    "PrivateBayesSearchCV",
    "PrivateTableSearchCV",
    "PrivateThresholdClassifier",
    "make_private_scorer",
    "plan_search",
    "private_comparison",
    "private_evaluation",
    "public",
]
__version__ = "1.0.0"
