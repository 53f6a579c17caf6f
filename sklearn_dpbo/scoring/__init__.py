"""Scoring, as integers of known sensitivity (zone: sensitive).

`_make` turns ``scoring=`` into a score, `_gains` computes a gain per record, and `_scorers` turns
gains into integer statistics of known sensitivity.
"""

from ._scorers import PrivateScorer

__all__ = ["PrivateScorer"]
