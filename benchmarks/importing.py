"""Claim: importing the package takes about 1.2 times what scikit-learn and scipy take.

python benchmarks/importing.py [--turns 25] [--json importing.json]
"""

import statistics
import subprocess
import sys
import tempfile

from harness import in_turn, parser_of, print_head, print_row, save

IMPORTS = (
    "sklearn, scipy.stats",
    "sklearn.model_selection, sklearn.svm, scipy.stats",
    "sklearn_dpbo",
)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--turns", type=int, default=25)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:  # elsewhere: the installed package is imported
        runs = {
            modules: lambda m=modules: subprocess.run(
                [sys.executable, "-c", f"import {m}"], check=True, cwd=folder
            )
            for modules in IMPORTS
        }
        times = {modules: found[:, 0] for modules, found in in_turn(runs, options.turns).items()}
    print_head(["import", "seconds, median (least)", "times the first"])
    ratios = {m: statistics.median(found / times[IMPORTS[0]]) for m, found in times.items()}
    for modules, found in times.items():
        row = f"{statistics.median(found):.2f} ({min(found):.2f})", f"{ratios[modules]:.2f}"
        print_row([f"`{modules}`", *row])
    save(ratios, options.json)


if __name__ == "__main__":
    main()
