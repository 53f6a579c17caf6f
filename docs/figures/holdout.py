"""Draw cross-validation beside one protected hold-out set: python docs/figures/holdout.py."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TRAINED, VALIDATED = "#0072B2", "#E69F00"
plt.rcParams.update({"font.size": 9})


def block(ax, left, width, y, color, text, height=0.8):
    ax.barh(y, width, height, left, color=color, edgecolor="white")
    ink = "white" if color == TRAINED else "black"
    ax.text(left + width / 2, y, text, ha="center", va="center", color=ink, weight="bold")


def main():
    figure, (folds, private) = plt.subplots(1, 2, figsize=(9, 2.6), layout="constrained")
    for fold in range(5):
        for part in range(5):
            held_out = part == fold
            text = "score" if held_out else "fit"
            block(folds, part, 1, -fold, VALIDATED if held_out else TRAINED, text)
    folds.set_title("GridSearchCV(cv=5): every record is used for both")
    block(private, 0, 2.4, -2, TRAINED, "X_train: fit\nnot protected", 2.4)
    block(private, 2.6, 2.4, -2, VALIDATED, "X_val: score\nprotected", 2.4)
    private.set_title("PrivateBayesSearchCV: two sets of records")
    for ax in (folds, private):
        ax.set(xlim=(0, 5), ylim=(-4.6, 0.6))
        ax.axis("off")
    figure.savefig(Path(__file__).parent / "holdout.png", dpi=150)


if __name__ == "__main__":
    main()
