"""`cv_results_`: what is known of candidates, and why other columns lack (zone: released)."""

from __future__ import annotations

import re
from typing import Any, NoReturn

__all__ = ["CVResults"]


class CVResults(dict[str, Any]):
    """A dict of columns, one entry per candidate; asked for raw scores, it says what there is."""

    def __missing__(self, column: object) -> NoReturn:
        if not re.search("_(test|train|score)_", str(column)):
            raise KeyError(column)
        raise KeyError(
            f"no {column}: only the chosen candidate's score is released, with noise: best_score_. "
            "With release='all' the scores of all candidates are, each with more noise; "
            "cv_results_['public_score'] has those within the training set"
        )
