"""Validation scores with noise, one candidate at a time, for any optimiser (zone: released)."""

from ._objective import Best, Call, PrivateObjective

__all__ = ["Best", "Call", "PrivateObjective"]
