"""Draw the picture of the page on the guarantee: ``python docs/figures/guarantee.py``."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PUBLIC, PROTECTED, RELEASED = "#d8e6f3", "#f6cfc9", "#d5ecd4"
BOXES = (  # x, y, width, height, colour, text
    (0.3, 8.1, 4.3, 1.5, PUBLIC, "training set\nX, y"),
    (5.4, 8.1, 4.3, 1.5, PROTECTED, "validation set\nX_val, y_val: m units"),
    (0.3, 5.7, 4.3, 1.4, PUBLIC, "models of\nthe candidates"),
    (5.4, 5.7, 4.3, 1.4, PROTECTED, "one integer per candidate:\na unit moves it by at most D"),
    (5.4, 3.3, 4.3, 1.4, RELEASED, "noise, then released:\nthe choice, counts for the score"),
    (
        0.3,
        0.9,
        9.4,
        1.4,
        RELEASED,
        "best_params_, best_score_, its interval,\ncv_results_, privacy_",
    ),
    (0.3, 3.3, 4.3, 1.4, PUBLIC, "best_estimator_:\nfitted on X, y alone"),
)
ARROWS = (
    ((2.45, 8.1), (2.45, 7.1)),
    ((4.6, 6.4), (5.4, 6.4)),
    ((7.55, 8.1), (7.55, 7.1)),
    ((7.55, 5.7), (7.55, 4.7)),
    ((7.55, 3.3), (7.55, 2.3)),
    ((5.4, 4.0), (4.6, 4.0)),
)


def draw():
    """Draw boxes for data and results, coloured by who may see them."""
    figure, ax = plt.subplots(figsize=(5.6, 5.0), layout="constrained")
    ax.set(xlim=(0, 10), ylim=(0, 9.8))
    ax.axis("off")
    for x, y, width, height, colour, text in BOXES:
        ax.add_patch(plt.Rectangle((x, y), width, height, facecolor=colour, edgecolor="0.4"))
        ax.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=9)
    for start, end in ARROWS:
        ax.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "->", "color": "0.2"})
    for x, colour, text in ((0.3, PUBLIC, "public"), (3.6, PROTECTED, "protected"),
                            (6.9, RELEASED, "released")):  # fmt: skip
        ax.add_patch(plt.Rectangle((x, 0.05), 0.5, 0.45, facecolor=colour, edgecolor="0.4"))
        ax.text(x + 0.7, 0.27, text, va="center", fontsize=9)
    figure.savefig(Path(__file__).parent / "guarantee.png", dpi=110)


if __name__ == "__main__":
    draw()
