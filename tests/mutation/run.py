"""Makes mutants of the code that privacy rests on, and says which ones no test sees.

``python -m mutation.run --files "privacy/.*" --sample 100``, in the project's folder with `.` and
`tests` in PYTHONPATH. A mutant is judged first (`judges.py`); one that cannot be shown to be safe
is run against tests: those that planted bugs of the same function name, those of other bugs of the
file, and then the tests of modules that import the file, directly or not. They are read once, and
each mutant is put into a fork of this process.
"""

import argparse
import ast
import csv
import importlib
import json
import os
import random
import re
import signal
import sys
import time
import warnings
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import Phase, settings
from planting import definitions
from planting import mutants as planted_bugs

from . import judges
from .live import PACKAGE, in_a_fork, plant
from .operators import Mutant, mutants

TESTS = Path(__file__).parents[1]
# Files that privacy rests on, and those of their functions that only say how good a result is.
USEFUL = (
    "share_clipped|adjusted|summed|within_range|largest$|per_step|smaller_class|area|counts_as|same"
    "|__eq__|sampling|means|words|_hint|interval|matrices|predicted|tables$|exact|_warn|_check"
    "|VarianceExplained|ScoreHistogram.at|_edges|_shares_below|_unknown_below|follows|__repr__"
    "|search_space|frequent_labels|_of_regressor|evaluation_of|_bound$|_cut_of|needs$|method_of"
    "|GPStrategy._(explore|learn)"
    "|number$|in_bits|among|description|default_fits|PrivateRidge.(ref|_so|_dir|_used|coef|_warn)"
)
FILES = (*judges.MOVED, *judges.PRICED) + tuple(
    f"{name}.py" for name in (
        "privacy/noise", "privacy/sensitive", "learners/_ridge",
        "learners/_records", "learners/_columns", "learners/_private_training",
        "learners/_declaration", "search/_release", "search/_one_table", "search/_table",
        "prediction/session", "prediction/record_owner", "prediction/protected_values",
        "prediction/listed/separately", "evaluation/_release",
        "evaluation/_private_evaluation", "metrics/evaluations/_design",
        "metrics/evaluations/_designed_comparison", "papers/kusner2015/_gp",
    )
)  # fmt: skip
MOVES = "tests/core/test_declared.py"
# CPU seconds of a mutant's tests; of one of them, which hangs if it usually takes a quarter; and
# files of tests that take too long.
SECONDS, LONGEST = 30, 8
LATE = "late: "
SLOW = "site|notebook|crashes|server|clusters|figures|process|mutants|neural|leaks|packaging|faults"


def main() -> int:
    """Make, judge and test mutants; print the survivors and a table; return 1 if any weakens."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", default="", help="regular expression of files")
    parser.add_argument("--sample", type=int, help="so many of all mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--minutes", type=float, default=1e9, help="after which none is begun")
    parser.add_argument("--results", type=Path, help="file with a line for each, to go on from")
    options = parser.parse_args()
    chosen = [
        mutant for file in FILES if re.search(options.files, file)
        for mutant in mutants(file, (PACKAGE / file).read_text())
        if not re.search(USEFUL, mutant.function)
    ]  # fmt: skip
    if options.sample and options.sample < len(chosen):
        chosen = random.Random(options.seed).sample(chosen, options.sample)
    tests = Tests({mutant.file for mutant in chosen})
    run = Run(chosen, tests, time.monotonic() + 60 * options.minutes, options.results)
    own = "-p", "no:terminal", "-p", "no:cacheprovider", "--rootdir", str(TESTS.parent)
    code = pytest.main([*own, *map(str, tests.files)], [run])
    print(table(run.results))
    survived = [result for result in run.results if result["outcome"] == "survived"]
    for result in survived:
        print(*(result[key] for key in ("file", "function", "line", "change", "judged")), sep=" | ")
    return int(bool(survived) or code != pytest.ExitCode.OK)


def harmless() -> set[tuple[str, ...]]:
    """Return the places of mutants that are known to be harmless."""
    with (Path(__file__).parent / "harmless.csv").open() as file:
        return {tuple(row[:4]) for row in csv.reader(file)}


class Run:
    """A plugin of pytest: runs mutants in the place of all tests, once these have been read."""

    def __init__(self, chosen: list[Mutant], tests: "Tests", until: float, results: Path | None):
        self.chosen, self.tests, self.until, self.file = chosen, tests, until, results
        self.failed, self.judges, self.known = "", {}, harmless()
        lines = results.read_text().splitlines() if results and results.exists() else []
        self.results = [json.loads(line) for line in lines]

    def pytest_collection(self, session):
        """Let Hypothesis not look for simpler cases."""
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile(
            "once", derandomize=True, database=None, deadline=None, phases=phases
        )
        settings.load_profile("once")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        """Judge and test each mutant; True: there is nothing else to run."""
        warnings.simplefilter("ignore")
        self.tests.items = {item.nodeid: item for item in session.items}
        done = {tuple(result.values())[:4] for result in self.results}
        for mutant in self.chosen:
            if mutant.place in done:
                continue
            if time.monotonic() > self.until:
                break
            begun = time.monotonic()
            judged = "known" if mutant.place in self.known else self.judge(mutant)
            outcome, by = judged, ""
            if judged.startswith("weakens") and mutant.file in judges.MOVED:
                outcome, by = "killed", MOVES  # which looks at the same moves
            elif judged == "unjudged" or judged.startswith("weakens"):
                by = in_a_fork(partial(self.tested, mutant, self.tests.of(mutant)), SECONDS)
                by = self.hanging(by[len(LATE) :]) if by.startswith(LATE) else by
                outcome = {"": "survived", "time": "survived", "unseen": "unseen"}.get(by, "killed")
            result = dict(zip(Mutant._fields[:5], mutant[:5], strict=True)) | {
                "judged": judged, "outcome": outcome.partition(":")[0], "by": by,
                "seconds": round(time.monotonic() - begun, 1),
            }  # fmt: skip
            self.results.append(result)
            if self.file:
                with self.file.open("a") as file:
                    file.write(json.dumps(result) + "\n")
        return True

    def judge(self, mutant: Mutant) -> str:
        """Return what the judge of a mutant's file says."""
        file = mutant.file
        if file not in (*judges.MOVED, *judges.PRICED):
            return "unjudged"
        if file not in self.judges:
            self.judges[file] = judges.Judge(file)
        return self.judges[file](mutant)

    def tested(self, mutant: Mutant, items: list[pytest.Item]) -> str:
        """Return the first test that fails with a mutant; "" if none does."""
        if not plant(mutant):
            return "unseen"
        return self.first_failing(items)

    def first_failing(self, items: list[pytest.Item], longest: float = LONGEST) -> str:
        """Return the first test that fails, or that takes too long, which is said before it."""
        self.failed, late = "", []

        def stop(*_: object) -> None:
            late.append(LATE)
            raise TimeoutError

        signal.signal(signal.SIGPROF, stop)
        for item, following in zip(items, [*items[1:], None], strict=True):
            signal.setitimer(signal.ITIMER_PROF, longest)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed or late:
                return "".join(late[:1]) + item.nodeid
        return ""

    def hanging(self, name: str) -> str:
        """Return the test that took too long, or "time" if it takes long without a mutant, too."""
        alone = partial(self.first_failing, [self.tests.items[name]], LONGEST / 4)
        usual = in_a_fork(alone, SECONDS)
        return "time" if usual else name

    def pytest_runtest_logreport(self, report):
        """Remember a failure."""
        if report.failed:
            self.failed = report.nodeid


class Tests:
    """Which tests are run against a mutant, and in which order."""

    def __init__(self, mutated: set[str]) -> None:
        self.items: dict[str, pytest.Item] = {}
        found, package = definitions(PACKAGE), PACKAGE.name
        # Tests of planted bugs by file, and by function.
        self.planted = defaultdict(list)
        for bug in planted_bugs().values():
            file = str(found[bug.where][0].path).rpartition(f"/{package}/")[2]
            for key in (file, (file, bug.where.rpartition(":")[2])):
                self.planted[key].append(f"tests/{bug.test}")
        # By how many imports each module of tests is away from files of the package.
        own = {str(path.relative_to(PACKAGE)): imports(path) for path in PACKAGE.rglob("*.py")}
        self.steps = {
            path: distances(imports(path), own)
            for path in sorted(TESTS.rglob("test_*.py"))
            if not re.search(SLOW, path.name)
        }
        named = {name.partition("::")[0] for file in mutated for name in self.planted[file]}
        self.files = [
            path
            for path, steps in self.steps.items()
            if steps.keys() & mutated or str(path.relative_to(TESTS.parent)) in named
        ]

    def of(self, mutant: Mutant) -> list[pytest.Item]:
        """Return tests, those first that may be the ones that fail."""
        last = mutant.function.rpartition(".")[2]
        names = [*self.planted[mutant.file, mutant.function], *self.planted[mutant.file, last]]
        importing = {
            item.nodeid: self.steps[item.path][mutant.file]
            for item in self.items.values()
            if mutant.file in self.steps.get(item.path, ())
        }
        # The module's own tests, and those that share words; few of each before more parameters.
        words, turns, order = starts(f"{mutant.file} {last}"), Counter(), []
        own = f"test_{Path(mutant.file).stem.lstrip('_')}.py"
        for name, steps in importing.items():
            test = name.partition("[")[0]
            turns[test] += 1
            shared = len(words & starts(name)) + 9 * (own in name)
            # Those of moves take long, and the judge has looked at these.
            late = name.startswith(MOVES), steps, "tests/core" not in name
            order.append((*late, turns[test] - shared, name))
        names += [name for *_, name in sorted(order)[:60]] + self.planted[mutant.file]
        names += [name for *_, name in sorted(order)]
        return [self.items[name] for name in dict.fromkeys(names) if name in self.items]


def distances(files: set[str], imported: dict[str, set[str]]) -> dict[str, int]:
    """Return the files that these import, directly or not, and by how many steps, up to five."""
    steps: dict[str, int] = {}
    for n in range(1, 6):
        steps |= dict.fromkeys(files - steps.keys(), n)
        files = set().union(*(imported.get(file, set()) for file in files))
    return steps


def starts(text: str) -> set[str]:
    """Return what words begin with."""
    return {*re.findall("(?<![a-z])[a-z]{5}", text.lower())}


def imports(path: Path) -> set[str]:
    """Return the files of the package that a module imports from, also by what it re-exports."""
    package = PACKAGE.name
    module = path.resolve().with_suffix("").parts
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom):
            continue
        inside = module[module.index(package) :] if package in module else ()
        name = tuple((node.module or "").split(".")) if node.module else ()
        parts = (*inside[: -node.level], *name) if node.level else name
        if parts[0] == package:
            found |= {home(".".join(parts), alias.name) for alias in node.names}
        elif package not in module and (shared := TESTS / f"{parts[0]}.py").exists():
            found |= imports(shared)
    return found


def home(module: str, name: str) -> str:
    """Return the file of the package in which a name that a module has is defined."""
    value = getattr(importlib.import_module(module), name, None)
    defined = getattr(value, "__module__", None) or module
    defined = value.__name__ if isinstance(value, ModuleType) else defined
    inside = defined if defined.startswith(PACKAGE.name) else module
    return "/".join(inside.split(".")[1:]) + ".py"


def table(results: list[dict]) -> str:
    """Return how many mutants of each file were made, and what became of them."""
    columns = "made", "safe", "known", "error", "time", "unjudged", "weakens", "killed", "survived"
    counts = defaultdict(Counter)
    for result in results:
        judged = result["judged"].partition(":")[0]
        counts[result["file"]].update({"made", judged} | ({result["outcome"]} - {judged}))
    rows = [("file", *columns), ("---",) * (1 + len(columns))]
    rows += [(file, *(str(n[column]) for column in columns)) for file, n in counts.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
