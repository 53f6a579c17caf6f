"""From ``scoring=`` to integers of known sensitivity (zone: sensitive).

A name goes through `_make` to a gain per record (`_gains`) and to a score whose integer statistics
have a known sensitivity (`_scorers`).
"""

from ._scorers import PrivateScorer

__all__ = ["PrivateScorer"]
