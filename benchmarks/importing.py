"""Claim: importing the package takes about 1.2 times what scikit-learn and scipy take.

python benchmarks/importing.py [--turns 25] [--json importing.json]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time

IMPORTS = (
    "sklearn, scipy.stats",
    "sklearn.model_selection, sklearn.svm, scipy.stats",
    "sklearn_dpbo",
)


def seconds(modules: str, folder: str) -> float:
    """Start an interpreter elsewhere, so that the installed package is the one imported."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {modules}"], check=True, cwd=folder)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=25)
    parser.add_argument("--json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for modules in IMPORTS:  # once, so that files are compiled and in memory
            seconds(modules, folder)
        turns = [{m: seconds(m, folder) for m in IMPORTS} for _ in range(options.turns)]
    found = {}
    print("| import | seconds, median (least) | times the first |\n|---|---|---|")
    for modules in IMPORTS:
        times = [turn[modules] for turn in turns]
        ratios = [turn[modules] / turn[IMPORTS[0]] for turn in turns]
        found[modules] = {"seconds": times, "ratio": statistics.median(ratios)}
        print(
            f"| `{modules}` | {statistics.median(times):.2f} ({min(times):.2f}) "
            f"| {statistics.median(ratios):.2f} |"
        )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
