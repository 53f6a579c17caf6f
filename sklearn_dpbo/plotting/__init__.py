"""Plots of public and released results, as scikit-learn Displays (zone: released).

They need matplotlib (``pip install "sklearn_dpbo[plots]"``), which is imported when a plot is
drawn. Nothing here uses protected records or their raw scores: a fitted search has none.
"""

from ._parallel import ParallelCoordinatesDisplay
from ._parameters import ParameterAxis
from ._path import SearchPathDisplay
from ._released import LedgerDisplay, ScoreDisplay
from ._surrogate import SurrogateDisplay
from ._utility import PrivacyUtilityDisplay

__all__ = [
    "LedgerDisplay",
    "ParallelCoordinatesDisplay",
    "ParameterAxis",
    "PrivacyUtilityDisplay",
    "ScoreDisplay",
    "SearchPathDisplay",
    "SurrogateDisplay",
]
