"""Plans of the records, the epsilon and the candidates that a search needs (zone: released).

A `SearchPlan` has the numbers of a search and its errors: bounds by theorems for means (`_bounds`),
estimates from the shares of classes for other metrics (`_shares`).
"""

from ._plan import SearchPlan

__all__ = ["SearchPlan"]
