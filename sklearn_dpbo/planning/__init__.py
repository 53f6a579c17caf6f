"""How many records, how much epsilon, how many candidates a search needs (zone: released).

`_bounds` has the theorems in numbers, `_plan` solves them, `_simulation` tries them on public data.
"""

from ._bounds import UtilityBounds
from ._plan import SearchPlan
from ._simulation import Simulation

__all__ = ["SearchPlan", "Simulation", "UtilityBounds"]
