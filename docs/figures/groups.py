"""Draw what one privacy unit is, without groups and with: python docs/figures/groups.py."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

PATIENTS = ["A", "A", "B", "C", "C", "C", "D"]
COLOURS = {"A": "#cfe0f3", "B": "#f9e0b8", "C": "#d3ead4", "D": "#e6d8ee"}
REPLACED = "#e0564a"

figure, axes = plt.subplots(1, 2, figsize=(7.5, 2.6), layout="constrained")
titles = ("Without groups: one record", "With groups: all records of one patient")
for ax, title, hidden in zip(axes, titles, ({4}, {3, 4, 5}), strict=True):
    for row, patient in enumerate(PATIENTS):
        style = {"edgecolor": "white", "linewidth": 1, "zorder": 1}
        if row in hidden:
            style = {"edgecolor": REPLACED, "linewidth": 2.5, "zorder": 2}
        ax.add_patch(Rectangle((0, -row), 4, 0.8, facecolor=COLOURS[patient], **style))
        ax.text(0.2, 0.4 - row, f"patient {patient}", va="center", fontsize=8, zorder=3)
    middle = 0.4 - sum(hidden) / len(hidden)
    ax.text(4.3, middle, "hidden\nby the noise", va="center", fontsize=8, color=REPLACED)
    ax.set_title(title, loc="left", fontsize=9, fontweight="bold")
    ax.set_xlim(-0.1, 6.2)
    ax.set_ylim(-len(PATIENTS) + 0.8, 1)
    ax.axis("off")
figure.savefig(Path(__file__).with_suffix(".png"), dpi=130)
