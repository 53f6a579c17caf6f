"""What the benchmarks share: one thread per process, options, tables, JSON, and times in turn.

Import it first: it sets the number of threads.
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np


def parser_of(text):
    """Return a parser that shows the text, with ``--json`` for all figures."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", help="write all figures to this file")
    return parser


def save(results, path):
    """Write results as JSON, with what ran, if there is a path."""
    if path:
        with open(path, "w") as file:
            json.dump({"run": facts_of_this_run(), "results": results}, file, indent=1)


def load(path):
    """Read results that `save` wrote."""
    with open(path) as file:
        return json.load(file)["results"]


def facts_of_this_run():
    """Return the command, the commit, versions and the machine."""
    packages = ("sklearn_dpbo", "scikit-learn", "numpy", "scipy", "joblib", "opendp")
    commit = ["git", "-C", os.path.dirname(__file__), "describe", "--always", "--dirty"]
    return {
        "command": " ".join(["python", *sys.argv]),
        "commit": subprocess.run(commit, capture_output=True, text=True).stdout.strip(),
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages if installed(name)},
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def installed(name):
    with contextlib.suppress(PackageNotFoundError):
        return version(name) is not None
    return False


def print_row(cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def print_head(head):
    """Print the first two lines of a Markdown table."""
    print("\n| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|", flush=True)


def print_table(head, rows):
    print_head(head)
    for row in rows:
        print_row(row)


def seconds(run):
    """Wall time, and processor time of this process."""
    start, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - start, time.process_time() - cpu


def in_turn(runs, repeats, warm=True):
    """Return (wall, processor) seconds of each of the runs, by name; none is always the first."""
    found = {name: [] for name in runs}
    for run in runs.values() if warm else ():
        run()  # which warms the workers
    for i in range(repeats):
        for name in list(runs)[:: 1 if i % 2 else -1]:
            found[name].append(seconds(runs[name]))
    return {name: np.array(times) for name, times in found.items()}


def median_and_range(ratios):
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def mean_and_error(figures):
    """Means over rows, and their standard errors."""
    figures = np.array(figures)
    n = len(figures)
    error = figures.std(axis=0, ddof=1) / n**0.5 if n > 1 else np.full(figures.shape[1:], np.nan)
    return figures.mean(axis=0), error
