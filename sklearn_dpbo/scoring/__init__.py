"""The public import path of scorers, which lie in `metrics` (zone: sensitive)."""

from ..metrics._scorers import PrivateScorer

__all__ = ["PrivateScorer"]
