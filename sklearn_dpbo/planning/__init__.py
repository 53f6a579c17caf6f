"""How many records, how much epsilon and how many candidates a search needs (zone: released).

`_bounds` computes the bounds of the theorems, `_plan` states what they promise, `_solve` finds the
number that is asked for.
"""

from ._bounds import UtilityBounds
from ._one_table_plan import OneTablePlan
from ._pilot_plan import PilotPlan
from ._plan import SearchPlan

__all__ = ["OneTablePlan", "PilotPlan", "SearchPlan", "UtilityBounds"]
