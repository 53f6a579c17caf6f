"""Draw the figure of the page on thresholds: python docs/figures/thresholds.py FOLDER.

FOLDER holds diabetes130.csv.gz. It runs the example on readmissions first, and looks at the
validation records afterwards as if they were public, which here they are.
"""

import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
example = runpy.run_path(str(HERE.parent / "examples" / "readmission_threshold.py"))
X, y, sensitive, test = (example[name] for name in ("X", "y", "sensitive", "test"))
grid = np.linspace(0, 0.5, 501)


def costs(rows):
    """Return the cost per patient (the mean of each one's stays) at each threshold of the grid."""
    p, again = example["model"].predict_proba(X[rows])[:, 1], (y[rows] == 1).to_numpy()
    patient = np.unique(example["stays"]["patient_nbr"][rows], return_inverse=True)[1]
    n_stays = np.bincount(patient)
    each = (np.where(p >= t, 1, np.where(again, 8, 0)) for t in grid)
    return np.array([(np.bincount(patient, cost) / n_stays).mean() for cost in each])


validation = costs(sensitive)
figure, axes = plt.subplots(2, 1, figsize=(7, 5), sharex=True, layout="constrained")
axes[0].plot(grid, costs(test), label="third hospital", color="black", lw=1)
axes[0].plot(grid, validation, label="validation set (protected)", lw=1)
axes[0].axvline(example["tuned"].best_threshold_, color="C3", lw=1, label="selected threshold")
axes[0].set_ylabel("cost per patient")
axes[0].legend(frameon=False)
for m in (150, 1_500, 15_000):
    # In units of the largest possible cost; 60 % of epsilon = 1 goes into the choice.
    weight = np.exp(-0.6 * m * (validation - validation.min()) / 8 / 2)
    density = weight / weight.mean() / np.ptp(grid)
    axes[1].plot(grid, density, lw=1, label=f"{m:,} patients")
axes[1].set_ylabel("density of the selected\nthreshold, epsilon = 1")
axes[1].set_xlabel("threshold")
axes[1].set_yscale("log")
axes[1].set_ylim(0.05, 500)
axes[1].legend(frameon=False)
figure.savefig(HERE / "thresholds.png", dpi=110)
