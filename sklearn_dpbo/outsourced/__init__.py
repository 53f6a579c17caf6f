"""A curator that holds the data, a modeler that never sees them (zone: boundary).

The curator releases a protected image of its rows once; the modeler optimises over it by asking
for outcomes by row number (Kharkovskii, Dai and Low, ICML 2020).
"""

from ._calibration import delta_of_gaussian, gaussian_sigma
from ._curators import GaussianCurator
from ._modeler import Modeler
from ._protocol import CuratorSide, ModelerSide, optimize

__all__ = [
    "CuratorSide",
    "GaussianCurator",
    "Modeler",
    "ModelerSide",
    "delta_of_gaussian",
    "gaussian_sigma",
    "optimize",
]
