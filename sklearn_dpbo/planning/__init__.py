"""How many records, how much epsilon and how many candidates a search needs (zone: released).

A `SearchPlan` has the numbers of a search and the errors with them: those of theorems for means
(`_bounds`), estimates by the shares of classes for other metrics (`_shares`).
"""

from ._plan import SearchPlan

__all__ = ["SearchPlan"]
