"""Evaluations: numbers and figures that follow from released counts (zone: released)."""
