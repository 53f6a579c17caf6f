"""The surrogate: a Gaussian process over the search space (zone: public)."""
