"""Draw the diagrams of the how-to pages: python docs/figures/flows.py.

``one_table.png`` shows what happens to a table, ``cluster.png`` what travels to workers and back,
``ledger.png`` the charges to a budget. Red is protected, yellow has noise added, green is released.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

HERE = Path(__file__).parent
PROTECTED, NOISY, RELEASED = "#f8cecc", "#ffe6a8", "#d5e8d4"


def canvas(width, height):
    figure, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.set_xlim(0, width)
    ax.set_ylim(0, height)
    ax.axis("off")
    return figure, ax


def box(ax, x, y, width, height, text, colour):
    """Draw a box by its lower left corner."""
    style = {"boxstyle": "round,pad=0,rounding_size=0.08", "fc": colour, "ec": "#555555"}
    ax.add_patch(FancyBboxPatch((x, y), width, height, **style))
    ax.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=9)


def arrow(ax, start, end, text="", above=0.12):
    style = {"arrowstyle": "-|>", "color": "#333333", "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=style)
    middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + above
    ax.text(*middle, text, ha="center", va="bottom", fontsize=8)


def one_table():
    figure, ax = canvas(7.4, 2.9)
    box(ax, 0.05, 0.3, 1.2, 2.3, "one table,\nall of it\nprotected", PROTECTED)
    box(ax, 2.0, 1.5, 1.4, 1.1, "first part\n80 % of records", PROTECTED)
    box(ax, 2.0, 0.3, 1.4, 0.7, "second part\n20 %", PROTECTED)
    box(ax, 4.3, 1.5, 1.3, 1.1, "models\ntrained\nwith noise", NOISY)
    box(ax, 4.3, 0.3, 1.3, 0.7, "choice and score\nwith noise", NOISY)
    box(ax, 6.35, 0.3, 1.0, 2.3, "parameters,\nscore and\nmodel\nto publish", RELEASED)
    arrow(ax, (1.25, 2.05), (2.0, 2.05))
    arrow(ax, (1.25, 0.65), (2.0, 0.65))
    ax.text(1.62, 1.35, "cut by row\nnumber", ha="center", va="center", fontsize=8)
    arrow(ax, (3.4, 2.05), (4.3, 2.05), "all of ε, δ")
    arrow(ax, (3.4, 0.65), (4.3, 0.65), "all of ε")
    arrow(ax, (4.95, 1.5), (4.95, 1.0))
    arrow(ax, (5.6, 0.65), (6.35, 0.65), "one of\nthem")
    figure.savefig(HERE / "one_table.png", dpi=150)


def cluster():
    figure, ax = canvas(7.4, 3.0)
    style = {"fc": "none", "ec": "#555555", "ls": "--"}
    ax.add_patch(plt.Rectangle((0.05, 0.05), 5.75, 2.9, **style))
    ax.text(0.2, 2.68, "may see protected records", fontsize=8, style="italic")
    box(
        ax, 0.3, 0.4, 1.9, 2.0, "process that calls fit\n\nledger, noise,\nchoice, refit", PROTECTED
    )
    for i, y in enumerate((1.86, 1.13, 0.4)):
        box(ax, 4.2, y, 1.4, 0.54, f"worker {i + 1}", PROTECTED)
    arrow(ax, (2.2, 1.85), (4.15, 1.85), "training and validation\nset, candidates", 0.05)
    arrow(ax, (4.15, 0.85), (2.2, 0.85), "exact counts,\nreasons of failures", 0.05)
    box(ax, 6.3, 0.9, 1.05, 1.0, "released\nresult", RELEASED)
    # What is released leaves from the process that adds the noise, below the workers.
    ax.plot([1.25, 1.25, 6.82, 6.82], [0.4, 0.2, 0.2, 0.6], color="#333333", lw=1)
    arrow(ax, (6.82, 0.55), (6.82, 0.9))
    figure.savefig(HERE / "cluster.png", dpi=150)


if __name__ == "__main__":
    one_table()
    cluster()
