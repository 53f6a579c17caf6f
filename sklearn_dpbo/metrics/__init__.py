"""What is counted, how far a unit moves it, and numbers from noisy counts (zone: sensitive).

`_make` turns ``scoring=`` into a score. `_scorers` is the interface of scores, and has the means of
gains; `_of_counts` has the others, of which `_registry` has an entry for each. Their building
blocks are gains of records (`_gains`), queries of known sensitivity (`_queries`, `_histogram`,
`_pairs`), functions of released counts (`_metrics`), and intervals.
"""
