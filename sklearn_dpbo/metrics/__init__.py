"""Metrics: queries of known sensitivity, and scores from their noisy counts (zone: sensitive).

`_make` turns ``scoring=`` into a scorer. `_scorers` defines the interface of scorers and the means
of gains; `_of_counts` and `_variance` define the others. `_registry` has one entry per metric. The
building blocks are gains of records (`_gains`), queries (`_queries`, `_histogram`, `_pairs`),
functions of released counts (`_metrics`), and intervals (`_intervals`).
"""
