"""Draw the pictures of the page on plotting: python docs/figures/plotting.py.

The data are public, so the noise may be seeded: the pictures come out the same each time.
"""

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.plotting import ScoreDisplay, SearchPathDisplay
from sklearn_dpbo.testing import seeded_noise

HERE = Path(__file__).parent
warnings.filterwarnings("ignore", "seeded_noise")
plt.rcParams.update({"font.size": 9})

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
protected = {"X_val": X[250:], "y_val": y[250:]}
rbf = {"kernel": ["rbf"], "C": loguniform(1e-2, 1e4), "gamma": loguniform(1e-5, 1)}
linear = {"kernel": ["linear"], "C": loguniform(1e-2, 1e4)}


def fitted(param_grid, epsilon, seed):
    search = PrivateBayesSearchCV(SVC(), param_grid, epsilon=epsilon, n_iter=48, random_state=seed)
    with seeded_noise(seed):
        return search.fit(X[:250], y[:250], **protected)


def save(name, draw, *pictures, size=(9, 3.6)):
    figure, axes = plt.subplots(1, len(pictures), figsize=size, layout="constrained", squeeze=False)
    for ax, picture in zip(axes.flat, pictures, strict=True):
        draw(picture, ax)
    figure.savefig(HERE / f"{name}.png", dpi=150)


search, mixed = fitted(rbf, 1.0, 0), fitted([linear, rbf], 1.0, 1)
save(
    "search_path",
    lambda names, ax: SearchPathDisplay.from_search(mixed, *names, ax=ax),
    ("C", "gamma"),
    ("C",),
)

scores = {"rbf": search, "rbf and linear": mixed, "rbf, epsilon = 0.3": fitted(rbf, 0.3, 2)}
save(
    "released", lambda scores, ax: ScoreDisplay.from_estimator(scores, ax=ax), scores, size=(6, 2.4)
)
