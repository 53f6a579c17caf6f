"""Draw the figures of the page on evaluations: python docs/figures/evaluation.py.

The README quotes what it prints first. The subgroups' data are public, so their noise is seeded.
"""

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo import private_evaluation
from sklearn_dpbo.testing import seeded_noise

warnings.filterwarnings("ignore", "seeded_noise")
X, y = load_breast_cancer(return_X_y=True)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:250], y[:250])
evaluation = private_evaluation(model, X[250:], y[250:], X=X[:250], y=y[:250], epsilon=1.0)
print(evaluation)
print(evaluation.score("roc_auc", interval="records"))

figure, axes = plt.subplots(2, 2, figsize=(7.4, 6.6), layout="constrained")
evaluation.plot_confusion_matrix(ax=axes[0, 0])
evaluation.plot_roc_curve(ax=axes[0, 1])
evaluation.plot_precision_recall_curve(ax=axes[1, 0])
evaluation.plot_calibration_curve(ax=axes[1, 1])
axes[1, 1].legend(loc="lower right", fontsize="small")
figure.savefig(Path(__file__).parent / "evaluation.png", dpi=110)

# Of subgroups: patients as numerous as the page speaks of.
rng = np.random.default_rng(0)
X, y = make_classification(6_000, 6, n_informative=4, flip_y=0.1, class_sep=0.8, random_state=0)
patients = pd.DataFrame({"sex": rng.choice(["f", "m"], 6_000), "age": rng.gamma(25, 2.4, 6_000)})
model = LogisticRegression().fit(X[:1_000], y[:1_000])
evaluation = seeded_noise(0)(private_evaluation)(
    model, X[1_000:], y[1_000:], X=X[:1_000], y=y[:1_000], epsilon=5.0,
    subgroups_val=patients[1_000:],
    subgroups={"sex": ["f", "m"], "age": [(18, 40), (40, 65), (65, 85)]},
)  # fmt: skip
print(evaluation.by_group("roc_auc").to_string())

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
evaluation.plot_by_group("roc_auc", ax=ax)
figure.savefig(Path(__file__).parent / "subgroups.png", dpi=110)
