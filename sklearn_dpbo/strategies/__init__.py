"""The public import path of strategies, which lie in `search` (zone: boundary).

A strategy turns a search space and a session, with a budget, into a frozen `Release`.
"""

from ..search._strategy import Release, Strategy
from ..search._worst_case import WorstCase

__all__ = [
    "Release",
    "Strategy",
    "WorstCase",
]
