"""Algorithm configuration on protected instances: Balcan, Dick, Vitercik, 2018 (zone: boundary).

A *family* (`_families`, `_greedy`, `_rounding`) gives the utility of an instance as a step function
of the algorithm's parameter (`PiecewiseConstant`). By the sum of the utilities of the sample, the
exponential mechanism (`_configurator`) draws a parameter.
"""

from . import published
from ._bounds import (
    dispersion,
    excess_utility_bound,
    expected_utility_bound,
    rotation_dispersion_bound,
)
from ._configurator import PrivateConfigurator
from ._families import Family, piecewise_utility
from ._greedy import Graph, IndependentSet, Knapsack, KnapsackItems
from ._piecewise import PiecewiseConstant, uniform_grid
from ._rounding import OutwardRotation, QuadraticProgram, SLinear

__all__ = [
    "Family",
    "Graph",
    "IndependentSet",
    "Knapsack",
    "KnapsackItems",
    "OutwardRotation",
    "PiecewiseConstant",
    "PrivateConfigurator",
    "QuadraticProgram",
    "SLinear",
    "dispersion",
    "excess_utility_bound",
    "expected_utility_bound",
    "piecewise_utility",
    "published",
    "rotation_dispersion_bound",
    "uniform_grid",
]
