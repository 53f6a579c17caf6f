"""How many records, how much epsilon and how many candidates a search needs (zone: released).

`_solve` finds the number that is asked for. A `SearchPlan` has the errors with it: those of
theorems for means (`_bounds`), estimates by the shares of classes for other metrics (`_shares`).
"""

from ._plan import SearchPlan

__all__ = ["SearchPlan"]
