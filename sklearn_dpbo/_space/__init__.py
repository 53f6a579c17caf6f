"""From ``param_grid`` to candidates (zone: public)."""
