"""Draw the picture of the page on benchmarks: python docs/figures/benchmarks.py.

It reads the files in benchmarks/results, so that it cannot show other figures than these.
"""

import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "benchmarks" / "results"


def table(name):
    """Return the rows of a file in benchmarks/results, as dicts."""
    with (RESULTS / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def draw(axes, rows, best, shown):
    """Draw scores less that of the column `best`."""
    for name, (label, marker, color) in shown.items():
        known = [(i, row) for i, row in enumerate(rows) if row[name]]
        x = [number(row[name]) - number(row[best]) for _, row in known]
        mfc = color if marker == "o" else "white"
        axes.plot(x, [i for i, _ in known], marker, color=color, mfc=mfc, label=label)
    axes.axvline(0, color="C0", lw=1)
    axes.set_yticks(range(len(rows)), [next(iter(row.values())) for row in rows])
    axes.invert_yaxis()
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))


def number(cell):
    return float(cell.split("±")[0])


figure, axes = plt.subplots(2, 1, figsize=(9, 6.4), layout="constrained")
draw(
    axes[0],
    table("hold_out_test"),
    "Optuna TPE",
    {
        "defaults": ("no search (defaults)", "s", "0.5"),
        "random": ("random search, not private", "D", "C0"),
        '"public"': ("PrivateBayesSearchCV", "o", "C3"),
    },
)
axes[0].set_title("Hold-out set of 2,000 records, epsilon = 1")
axes[0].set_xlabel("test score minus that of Optuna TPE (not private)")
draw(
    axes[1],
    [row for row in table("one_table") if row["tuned"]],
    "not private",
    {
        "defaults": ("private defaults, one fit", "s", "0.5"),
        "newcomer": ("the same, columns as they come", "D", "C0"),
        "kernel": ("with curved boundaries, one fit", "^", "C2"),
        "tuned": ("tuned, PrivateTableSearchCV", "o", "C3"),
    },
)
axes[1].set_title("One table, every record protected, epsilon = 1")
axes[1].set_xlabel("test accuracy minus that of a grid search without privacy")
figure.savefig(HERE / "benchmarks.png", dpi=110)
