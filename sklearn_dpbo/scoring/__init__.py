"""Scoring, as integers of known sensitivity (zone: sensitive).

`_make` turns ``scoring=`` into a score. `_scorers` is the interface of scores, and has the means of
gains; `_of_counts` has the others. Their building blocks are gains of records (`_gains`), queries
of known sensitivity (`_queries`, `_histogram`, `_pairs`), functions of released counts
(`_metrics`), and intervals.
"""

from ..metrics._scorers import PrivateScorer

__all__ = ["PrivateScorer"]
