"""Bayesian optimisation by a modeler that does not see the data (zone: boundary).

The curator holds the data and releases its rows once, with noise. The modeler optimises over the
noisy rows and asks for outcomes by row number (Kharkovskii, Dai and Low, ICML 2020).
"""

from . import bounds, published
from ._calibration import delta_of_gaussian, gaussian_sigma
from ._curators import GaussianCurator
from ._modeler import Modeler
from ._protocol import CuratorSide, MessageError, ModelerSide, optimize

__all__ = [
    "CuratorSide",
    "GaussianCurator",
    "MessageError",
    "Modeler",
    "ModelerSide",
    "bounds",
    "delta_of_gaussian",
    "gaussian_sigma",
    "optimize",
    "published",
]
