"""`cv_results_`: what is known of candidates, and why other columns lack (zone: released)."""

from __future__ import annotations

import re
from typing import Any, NoReturn

__all__ = ["CVResults"]

_SCORES = re.compile(r"(mean|std|rank|split\d+)_test_\w+")
_TIMES = ("mean_score_time", "std_score_time")
_TRAIN = re.compile(r"(mean|std|split\d+)_train_\w+")


class CVResults(dict[str, Any]):
    """A dict of columns, one entry per candidate; asked for others, it says why it lacks them."""

    def __missing__(self, column: object) -> NoReturn:
        raise KeyError(_why_not(column))


def _why_not(column: object) -> str:
    """Return why a column that GridSearchCV has is not here; the column itself if it has none."""
    name = str(column)
    if name.startswith("std_test_") or name.startswith("split"):
        return (
            f"no {name}: there is one validation set, and no other split of it. Intervals of "
            "scores are best_score_interval_ and, with release='all', low_test_score and "
            "high_test_score"
        )
    if _SCORES.fullmatch(name):
        return (
            f"no {name}: only the chosen candidate's score is released, with noise: best_score_. "
            "With release='all' the scores of all candidates are, each with more noise; "
            "cv_results_['public_score'] has those within the training set"
        )
    if name in _TIMES:
        return f"no {name}: how long predictions take depends on the validation records"
    if _TRAIN.fullmatch(name):
        return f"no {name}: pass the training set to score(X, y), it needs no privacy"
    return str(column)
