"""Scores with noise for any optimiser, one candidate at a time (zone: boundary)."""

from ._objective import Best, Call, PrivateObjective

__all__ = ["Best", "Call", "PrivateObjective"]
