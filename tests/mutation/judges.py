"""Whether a mutant weakens privacy: by moves, by prices, or, without a number, perhaps.

A judge says "weakens" and why, "safe", or "error" where the mutant fails; "unjudged" of lines that
its numbers do not depend on.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import declared
from coverage import Coverage

from . import prices
from .live import PACKAGE, in_a_fork, plant
from .operators import Mutant

# Files whose mutants are judged by moves, of whatever `declared.py` says that they count.
MOVED = tuple(
    f"{name}.py" for name in (
        "metrics/_ranking", "metrics/_pairs", "metrics/_queries", "metrics/_errors",
        "metrics/_variance", "metrics/_histogram", "metrics/_agreement", "metrics/_labels",
        "metrics/_response", "records/units", "learners/_rows", "learners/_counts",
        "learners/_gradients", "learners/_blocks", "prediction/threshold_curve",
    )
)  # fmt: skip
PRICED = tuple(
    f"{name}.py" for name in (
        "privacy/gdp", "privacy/zcdp", "privacy/runs", "privacy/rounding", "privacy/accounting",
        "privacy/profiles", "privacy/spending", "privacy/mechanisms", "learners/_tables",
    )
)  # fmt: skip
# Rounding errors of floats, by which numbers of mutants may differ.
CLOSE = 1e-7


class Judge:
    """Judges mutants of a file by numbers, which it computes once as they are."""

    def __init__(self, file: str) -> None:
        self.priced = file in PRICED
        numbers = prices.prices if self.priced else partial(declared.moves, [file])
        self.numbers: Callable[[], Iterator[Any]] = numbers
        coverage = Coverage(data_file=None, source=[str(PACKAGE)], messages=False)
        prices.forget()
        begun = time.process_time()
        with coverage.collect():
            self.usual = list(numbers())
        self.seconds = 3 + 2 * (time.process_time() - begun)
        self.reached = {
            path: {*coverage.get_data().lines(path)}
            for path in coverage.get_data().measured_files()
        }

    def __call__(self, mutant: Mutant) -> str:
        """Return what a mutant is."""
        reached = self.reached.get(str(PACKAGE / mutant.file), ())
        # A statement is counted at its first line.
        if mutant.function and not any(mutant.at - k in reached for k in range(6)):
            return "unjudged"
        return str(in_a_fork(partial(self._judge, mutant), self.seconds))

    def _judge(self, mutant: Mutant) -> str:
        if not plant(mutant):
            return "unjudged"
        if self.priced:
            return self._of_prices()
        further = (f"weakens: {move}" for move in self.numbers() if not move.ratio <= 1 + CLOSE)
        return next(further, "safe")

    def _of_prices(self) -> str:
        usual = {name: number for name, number, _ in self.usual}
        for name, number, sign in self.numbers():
            more = number - usual.pop(name)
            same = abs(more) <= CLOSE * abs(number - more) + 1e-15
            if not same and (sign == 0 or not more * sign <= 0):
                return f"weakens: {name} is {number!r}, not {number - more!r}"
        return f"weakens: without {next(iter(usual))}" if usual else "safe"
