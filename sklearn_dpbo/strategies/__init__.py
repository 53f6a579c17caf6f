"""Search strategies: the order of evaluations and draws (zone: boundary).

A strategy turns (search space, sensitive oracle, budget) into a frozen `Release`.
"""

from ._base import Release, Strategy
from ._worst_case import WorstCase

__all__ = [
    "Release",
    "Strategy",
    "WorstCase",
]
