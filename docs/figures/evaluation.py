"""Draw the figure of the page on evaluations: python docs/figures/evaluation.py.

The data are public, so the noise may be seeded: the figure is the same each time.
"""

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from sklearn_dpbo import private_evaluation
from sklearn_dpbo.testing import seeded_noise

warnings.filterwarnings("ignore", "seeded_noise")
X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
model = LogisticRegression().fit(X[:250], y[:250])
evaluation = seeded_noise(0)(private_evaluation)(
    model, X[250:], y[250:], X=X[:250], y=y[:250], epsilon=1.0
)
print(evaluation.score("roc_auc"), evaluation.score("f1"))

figure, axes = plt.subplots(2, 2, figsize=(7.4, 6.6), layout="constrained")
evaluation.plot_confusion_matrix(ax=axes[0, 0])
evaluation.plot_roc_curve(ax=axes[0, 1])
evaluation.plot_precision_recall_curve(ax=axes[1, 0])
evaluation.plot_calibration_curve(ax=axes[1, 1])
figure.savefig(Path(__file__).parent / "evaluation.png", dpi=110)
