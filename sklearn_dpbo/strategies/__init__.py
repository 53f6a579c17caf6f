"""Search strategies: the order of evaluations and draws (zone: boundary).

A strategy turns (search space, sensitive oracle, budget) into a frozen `Release`.
"""

from ._base import Release, Strategy
from .gp_noise_free import GPNoiseFree
from .gp_noisy import GPNoisy
from .lipschitz import LipschitzConvex
from .worst_case import WorstCase

__all__ = [
    "BY_NAME",
    "GPNoiseFree",
    "GPNoisy",
    "LipschitzConvex",
    "Release",
    "Strategy",
    "WorstCase",
]

BY_NAME = {
    "worst_case": WorstCase,
    "gp_noisy": GPNoisy,
    "gp_noise_free": GPNoiseFree,
    "lipschitz": LipschitzConvex,
}
