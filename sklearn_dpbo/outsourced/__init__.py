"""A curator that holds the data, a modeler that never sees them.

The curator releases a protected image of its rows once; the modeler optimises over it by asking
for outcomes by row number (Kharkovskii, Dai and Low, ICML 2020).
"""

from .calibration import delta_of_gaussian, gaussian_sigma
from .curators import GaussianCurator, ProjectionCurator
from .modeler import Modeler
from .protocol import CuratorSide, ModelerSide, optimize

__all__ = [
    "CuratorSide",
    "GaussianCurator",
    "Modeler",
    "ModelerSide",
    "ProjectionCurator",
    "delta_of_gaussian",
    "gaussian_sigma",
    "optimize",
]
