"""Search strategies: the order of evaluations and draws (zone: boundary).

A strategy turns (search space, sensitive oracle, budget) into a frozen `Release`.
"""

from ..search._strategy import Release, Strategy
from ..search._worst_case import WorstCase

__all__ = [
    "Release",
    "Strategy",
    "WorstCase",
]
