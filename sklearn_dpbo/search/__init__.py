"""The searches, used like scikit-learn's (zone: released).

`_search` shows the flow of data from the search space to the released result; `_table` has the flow
for one protected table. A `_strategy` decides which candidates are validated; `_worst_case` is the
default.
"""
