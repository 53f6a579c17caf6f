"""Private configuration of algorithms with one parameter (Balcan, Dick and Vitercik, 2018).

An instance of a problem goes through a *family* (`families.py`, `greedy.py`, `rounding.py`), which
gives its utility as a step function of the parameter (`piecewise.py`); the sum over the sample goes
through the exponential mechanism (`configurator.py`), and out comes a parameter.
"""

from .configurator import PrivateConfigurator
from .families import Family, piecewise_utility
from .greedy import Graph, IndependentSet, Knapsack, KnapsackItems
from .piecewise import (
    PiecewiseConstant,
    dispersion,
    excess_utility_bound,
    published_distribution,
    uniform_grid,
)
from .rounding import OutwardRotation, QuadraticProgram, SLinear

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
    "piecewise_utility",
    "published_distribution",
    "uniform_grid",
]
