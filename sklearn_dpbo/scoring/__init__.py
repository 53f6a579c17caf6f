"""Scoring, as integers of known sensitivity (zone: sensitive).

`_make` turns ``scoring=`` into a score, `_gains` computes a gain per record, and `_mean_gain` and
`_roc_auc` turn them into integer statistics of known sensitivity; `_scorers` is their interface.
"""

from ._scorers import PrivateScorer

__all__ = ["PrivateScorer"]
