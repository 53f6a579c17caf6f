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
    """Draw an arrow between the nearest edges of two boxes."""
    if start[1] > end[1]:  # from the lower edge to the upper one
        start, end = (start[0], start[1] - HEIGHT / 2 - 0.06), (end[0], end[1] + HEIGHT / 2 + 0.06)
    else:
        start, end = (start[0] + WIDTH / 2 + 0.06, start[1]), (end[0] - WIDTH / 2 - 0.06, end[1])
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "#444444"})


def draw(axes, title, boxes, arrows):
    """Draw boxes, by name (x, y, text, colour), and arrows between them."""
    for each in boxes.values():
        box(axes, *each)
    for start, end in arrows:
        arrow(axes, boxes[start][:2], boxes[end][:2])
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axes.set_aspect("equal")
    axes.axis("off")


def save(name, size, *drawing):
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    draw(axes, *drawing)
    xs, ys = zip(*(each[:2] for each in drawing[1].values()), strict=True)
    axes.set_xlim(min(xs) - WIDTH / 2 - 0.1, max(xs) + WIDTH / 2 + 0.1)
    axes.set_ylim(min(ys) - HEIGHT / 2 - 0.1, max(ys) + HEIGHT / 2 + 0.1)
    figure.savefig(HERE / name, dpi=115)


# Narrow, so that both stand side by side on a desk and one above the other on a phone.
NARROW = (3.5, 3.9)
save(
    "hold_out_flow.png",
    NARROW,
    "Protected: the validation set",
    {
        "train": (0, 4, "training set\n(public)", PLAIN),
        "fit": (0, 3, "fit candidates", PLAIN),
        "val": (2.2, 3, "validation set\n(protected)", SENSITIVE),
        "score": (2.2, 2, "score candidates\n(exact, kept secret)", SENSITIVE),
        "noise": (2.2, 1, "choose and score\nwith noise", NOISE),
        "model": (0, 0, "best_estimator_:\nshows the training set", PLAIN),
        "result": (2.2, 0, "best_params_, score\nto publish", RELEASED),
    },
    [("train", "fit"), ("fit", "score"), ("val", "score"), ("score", "noise"), ("noise", "result"),
     ("fit", "model"), ("noise", "model")],
)  # fmt: skip
save(
    "one_table_flow.png",
    NARROW,
    "Protected: the whole table",
    {
        "table": (1.1, 4, "one table\n(protected)", SENSITIVE),
        "first": (0, 3, "first part\n(protected)", SENSITIVE),
        "second": (2.2, 3, "second part\n(protected)", SENSITIVE),
        "fit": (0, 2, "fit candidates\nwith noise", NOISE),
        "noise": (2.2, 1, "choose and score\nwith noise", NOISE),
        "model": (0, 0, "best_estimator_\nto publish", RELEASED),
        "result": (2.2, 0, "best_params_, score\nto publish", RELEASED),
    },
    [("table", "first"), ("table", "second"), ("first", "fit"), ("second", "noise"),
     ("fit", "noise"), ("noise", "result"), ("noise", "model")],
)  # fmt: skip
save(
    "publishing.png",
    (9, 1.8),
    "From a search to its readers",
    {
        "data": (0, 1.1, "sensitive records", SENSITIVE),
        "search": (2.4, 1.1, "search\n(charges first)", NOISE),
        "ledger": (2.4, 0, "ledger\n(of the data's owner)", PLAIN),
        "report": (4.9, 1.1, "result and\nprivacy report", RELEASED),
        "verify": (7.1, 0, "ledger FILE", PLAIN),
        "paper": (9.2, 1.1, "paper, dashboard", RELEASED),
    },
    [("data", "search"), ("search", "report"), ("report", "paper"), ("ledger", "verify"),
     ("report", "verify"), ("search", "ledger")],
)  # fmt: skip
