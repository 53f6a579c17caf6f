"""Conversion of ``param_grid`` to candidates (zone: public)."""
