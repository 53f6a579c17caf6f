"""Plots of public and released results, as scikit-learn Displays (zone: released).

They need matplotlib (``pip install "sklearn_dpbo[plots]"``), which is imported when a plot is
drawn. Nothing here uses protected records or their raw scores: a fitted search has none.
"""

from ._path import SearchPathDisplay
from ._released import ScoreDisplay
from ._shapes import ShapeDisplay

__all__ = ["ScoreDisplay", "SearchPathDisplay", "ShapeDisplay"]
