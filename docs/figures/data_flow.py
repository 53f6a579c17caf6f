"""Draw how data flow through searches and to readers: python docs/figures/data_flow.py."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

HERE = Path(__file__).parent
WIDTH, HEIGHT = 1.8, 0.62
SENSITIVE, PLAIN, NOISE, RELEASED = "#f6c9c4", "#eeeeee", "#fff0c2", "#c9e4d3"


def box(axes, x, y, text, colour):
    """Draw a box that is centred at (x, y)."""
    corner = (x - WIDTH / 2, y - HEIGHT / 2)
    axes.add_patch(
        FancyBboxPatch(
            corner, WIDTH, HEIGHT, boxstyle="round,pad=0.04", facecolor=colour, edgecolor="#666666"
        )
    )
    axes.text(x, y, text, ha="center", va="center", fontsize=9)


def arrow(axes, start, end):
    """Draw an arrow from the right edge of one box to the left edge of another."""
    axes.annotate(
        "",
        (end[0] - WIDTH / 2 - 0.06, end[1]),
        (start[0] + WIDTH / 2 + 0.06, start[1]),
        arrowprops={"arrowstyle": "-|>", "color": "#444444"},
    )


def draw(axes, title, boxes, arrows):
    """Draw boxes, by name (x, y, text, colour), and arrows between them."""
    for each in boxes.values():
        box(axes, *each)
    for start, end in arrows:
        arrow(axes, boxes[start][:2], boxes[end][:2])
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axes.set_xlim(-1.05, 10.25)
    axes.set_ylim(-0.45, 1.55)
    axes.set_aspect("equal")
    axes.axis("off")


figure, axes = plt.subplots(2, 1, figsize=(9, 3.9), layout="constrained")
draw(
    axes[0],
    "Hold-out set: the validation set is protected",
    {
        "train": (0, 1.1, "training set\n(not protected)", PLAIN),
        "fit": (2.4, 1.1, "fit candidates,\nany estimator", PLAIN),
        "val": (0, 0, "validation set\n(sensitive)", SENSITIVE),
        "score": (4.6, 0, "score candidates\n(exact, kept secret)", SENSITIVE),
        "noise": (6.9, 0, "choose and score\nwith noise", NOISE),
        "result": (9.2, 0, "best_params_\nbest_score_", RELEASED),
        "model": (9.2, 1.1, "best_estimator_\n(not protected)", PLAIN),
    },
    [("train", "fit"), ("fit", "score"), ("val", "score"), ("score", "noise"), ("noise", "result"),
     ("fit", "model")],
)  # fmt: skip
draw(
    axes[1],
    'One table: every record is protected, protect="all"',
    {
        "table": (0, 0.55, "one table\n(sensitive)", SENSITIVE),
        "first": (2.4, 1.1, "first part\n(sensitive)", SENSITIVE),
        "second": (2.4, 0, "second part\n(sensitive)", SENSITIVE),
        "fit": (4.6, 1.1, "fit candidates\nwith noise", NOISE),
        "noise": (6.9, 0, "choose and score\nwith noise", NOISE),
        "result": (9.2, 0, "best_params_\nbest_score_", RELEASED),
        "model": (9.2, 1.1, "best_estimator_\n(private)", RELEASED),
    },
    [("table", "first"), ("table", "second"), ("first", "fit"), ("second", "noise"),
     ("fit", "noise"), ("noise", "result"), ("noise", "model")],
)  # fmt: skip
figure.savefig(HERE / "data_flow.png", dpi=130)

figure, ax = plt.subplots(figsize=(9, 2.1), layout="constrained")
draw(
    ax,
    "From a search to its readers",
    {
        "data": (0, 1.1, "sensitive records", SENSITIVE),
        "search": (2.4, 1.1, "search\n(charges first)", NOISE),
        "ledger": (2.4, 0, "ledger\n(of the data's owner)", PLAIN),
        "report": (4.9, 1.1, "result and\nprivacy report", RELEASED),
        "verify": (7.1, 0, "ledger verify", PLAIN),
        "paper": (9.2, 1.1, "paper, dashboard", RELEASED),
    },
    [("data", "search"), ("search", "report"), ("report", "paper"), ("ledger", "verify"),
     ("report", "verify")],
)  # fmt: skip
ax.annotate(
    "",
    (2.4, HEIGHT / 2 + 0.06),
    (2.4, 1.1 - HEIGHT / 2 - 0.06),
    arrowprops={"arrowstyle": "-|>", "color": "#444444"},
)
figure.savefig(HERE / "publishing.png", dpi=130)
