"""Write the results of `utility.py` on the problems held back to the files of the page.

python benchmarks/hold_out.py held_out.json

At epsilon = 1: regrets, test scores, and differences to no guidance, the defaults and the best
peer; and the same differences at epsilon = 0.3.
"""

import argparse
from pathlib import Path

import pandas as pd
from harness import load

RESULTS = Path(__file__).parent / "results"
WAYS = {
    "uniform": ("uniform", None, None), "defaults": ("defaults", None, None),
    '"none"': ("none", 64, 1.0), '"public"': ("public", 64, 1.0),
    "random": ("random", 64, None), "Optuna TPE": ("Optuna TPE", 64, None),
}  # fmt: skip


def cell(row, figure, sign=""):
    """Return "value ± standard error", or the value of what has no error."""
    value, error = row[figure], row[f"{figure}_se"]
    return f"{value:{sign}.4f} ± {error:.4f}" if error > 1e-9 else f"{value:{sign}.4f}"


def scores(results, figure):
    """Return a figure of each way, by problem."""
    for result in results:
        rows = {(row["method"], row["T"], row["epsilon"]): row for row in result["rows"]}
        ways = {way: cell(rows[key], figure) for way, key in WAYS.items()}
        yield {"problem": result["problem"]} | ways


def differences(results, epsilon):
    for result in results:
        cells = {"problem": result["problem"]}
        for minus in (d for d in result["differences"] if d["epsilon"] == epsilon):
            for figure in ("regret", "test"):
                cells[f"{minus['minus']}: {figure}"] = cell(minus, figure, "+")
            if minus["minus"] == "best peer":
                cells["which"] = minus["method"]
        yield cells


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", help="what `utility.py --json` wrote")
    results = load(parser.parse_args().json)
    tables = {
        "regret": scores(results, "regret"), "test": scores(results, "test"),
        "differences": differences(results, 1.0), "differences_at_0.3": differences(results, 0.3),
    }  # fmt: skip
    for name, rows in tables.items():
        pd.DataFrame(rows).to_csv(RESULTS / f"hold_out_{name}.csv", index=False)


if __name__ == "__main__":
    main()
