"""Search strategies: the order of evaluations and draws (zone: boundary).

A strategy turns (search space, sensitive oracle, budget) into a frozen `Release`.
"""

from ._base import Release, Strategy
from .worst_case import WorstCase

__all__ = ["BY_NAME", "Release", "Strategy", "WorstCase"]

BY_NAME = {"worst_case": WorstCase}
