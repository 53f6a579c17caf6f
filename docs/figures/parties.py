"""Draw who sees what: python docs/figures/parties.py.

Makes outsourced_parties.png, a diagram of the parties and of the messages between them. Red boxes
hold protected records, green ones only released values.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
PROTECTED, RELEASED = "#f8cecc", "#d5e8d4"


def canvas(width, height):
    """Return a figure and its axes, in units of inches."""
    figure, axes = plt.subplots(figsize=(width, height))
    figure.subplots_adjust(0, 0, 1, 1)
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return figure, axes


def box(axes, x, y, width, height, title, text, color):
    """Draw a party: its name, and below it what it holds or does."""
    axes.add_patch(plt.Rectangle((x, y), width, height, facecolor=color, edgecolor="0.4"))
    axes.text(x + width / 2, y + height - 0.1, title, ha="center", va="top", weight="bold")
    axes.text(x + width / 2, y + height - 0.38, text, ha="center", va="top", fontsize=9)


def message(axes, start, end, text, side="bottom"):
    """Draw an arrow and what is sent along it; `side` is the side of the text at the arrow."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "0.2", "lw": 1.2})
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    shift = 0.06 if side == "bottom" else -0.06
    axes.text(x, y + shift, text, ha="center", va=side, fontsize=9)


def save(figure, name):
    """Write the picture next to this script."""
    figure.savefig(HERE / f"{name}.png", dpi=110)


def outsourced():
    """A curator and a modeler."""
    figure, axes = canvas(7, 2.3)
    text = "the sensitive rows X\n\nadds noise once,\nmeasures outcomes"
    box(axes, 0.1, 0.3, 2.0, 1.7, "curator", text, PROTECTED)
    text = "Z only\n\nfits a Gaussian process,\nproposes row numbers"
    box(axes, 4.9, 0.3, 2.0, 1.7, "modeler", text, RELEASED)
    message(axes, (2.1, 1.7), (4.9, 1.7), "Z: all rows with noise, once")
    message(axes, (4.9, 1.2), (2.1, 1.2), "a row number")
    message(axes, (2.1, 0.6), (4.9, 0.6), "its outcome")
    save(figure, "outsourced_parties")


if __name__ == "__main__":
    outsourced()
