"""Scoring, as integers of known sensitivity (zone: sensitive).

`_make` turns ``scoring=`` into a score. `_scorers` is the interface of scores, `_mean_gain`,
`_confusion`, `_ranking` and `_regression` are its kinds. The other modules are their building
blocks: gains of records, integer statistics of known sensitivity, metrics, intervals.
"""

from ._scorers import PrivateScorer

__all__ = ["PrivateScorer"]
