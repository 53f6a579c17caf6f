"""Draw the picture of the page on benchmarks: python docs/figures/benchmarks.py.

It reads the files in benchmarks/results, so that it cannot show other figures than these.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "benchmarks"))

from printed import hold_out, means  # noqa: E402


def draw(axes, columns, best, shown):
    """Draw scores less those of `best`; `columns` has a score of each problem by name."""
    for name, (label, marker, color) in shown.items():
        score = columns[name].reindex(best.index)
        mfc = color if marker == "o" else "white"
        axes.plot(score - best, range(len(best)), marker, color=color, mfc=mfc, label=label)
    axes.axvline(0, color="C0", lw=1)
    axes.set_yticks(range(len(best)), best.index.str.replace("_", " "))
    axes.invert_yaxis()
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))


figure, axes = plt.subplots(2, 1, figsize=(9, 6.4), layout="constrained")
test = hold_out("test")
draw(
    axes[0],
    test,
    test["Optuna TPE"],
    {
        "defaults": ("no search (defaults)", "s", "0.5"),
        "random": ("random search, not private", "D", "C0"),
        '"public"': ("PrivateBayesSearchCV", "o", "C3"),
    },
)
axes[0].set_title("Hold-out set of 2,000 records, epsilon = 1")
axes[0].set_xlabel("test score minus that of Optuna TPE (not private)")
arms = {
    "diffprivlib, logistic": ("diffprivlib, logistic regression", "s", "0.5"),
    "DP-EBM": ("DP-EBM", "D", "0.5"),
    "straight": ("PrivateLogisticRegression", "^", "C2"),
    "curved": ("PrivateClassifier", "o", "C3"),
}
not_private = means("boosting").combine(means("logistic regression"), max)
draw(axes[1], {arm: means(arm) for arm in arms}, not_private, arms)
axes[1].set_title("One table, every record protected, epsilon = 1, one fit with defaults")
axes[1].set_xlabel("test accuracy minus the best of two models without privacy")
figure.savefig(HERE / "benchmarks.png", dpi=110)
