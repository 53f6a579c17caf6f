"""The searches, used like scikit-learn's (zone: released).

`_search` shows the flow of data from the search space to the released result; `_table` has the flow
for one protected table.
"""

from ._search import PrivateBayesSearchCV
from ._table import PrivateTableSearchCV
from ._threshold import PrivateThresholdClassifier

__all__ = ["PrivateBayesSearchCV", "PrivateTableSearchCV", "PrivateThresholdClassifier"]
