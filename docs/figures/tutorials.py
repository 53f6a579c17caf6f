"""Draw the picture of the tutorial on a first search: python docs/figures/tutorials.py.

It runs the tutorial's own code, then repeats the search. The records are made up; with sensitive
ones, the repetitions would cost privacy, and so would the scores without noise.
"""

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
page = (HERE.parent / "tutorials" / "first_search.md").read_text()
names = {}
for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
    exec(block, names)

protected = {name: names[name] for name in ("X_val", "y_val")}

figure, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for ax, epsilon in zip(axes, (0.1, 1.0, 10.0), strict=True):
    search = names["search"].set_params(epsilon=epsilon)
    for run in range(20):
        search.fit(names["X_train"], names["y_train"], **protected)
        low, high = search.best_score_interval_
        exact = search.score(names["X_val"], names["y_val"])
        ax.plot([run, run], [low, high], color="C0", lw=1.5)
        ax.plot(run, search.best_score_, "o", color="C0", ms=4, label="best_score_, 95 % interval")
        ax.plot(run, exact, "_", color="C3", ms=7, mew=1.5, label="without noise (secret)")
    ax.set_title(f"epsilon = {epsilon:g}", fontsize=10)
    ax.set_xlabel("run")
    ax.set_xticks([])
axes[0].set_ylabel("accuracy on the validation set")
handles, labels = axes[0].get_legend_handles_labels()
axes[1].legend(handles[:2], labels[:2], frameon=False, fontsize=8, loc="lower center")
figure.savefig(HERE / "repeated_searches.png", dpi=130)
