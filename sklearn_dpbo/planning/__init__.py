"""How many records, how much epsilon and how many candidates a search needs (zone: released).

`_bounds` computes the bounds of the theorems, `_plan` solves them for one number, `_simulation`
tries a plan on public data.
"""

from ._bounds import UtilityBounds
from ._plan import SearchPlan
from ._simulation import Simulation

__all__ = ["SearchPlan", "Simulation", "UtilityBounds"]
