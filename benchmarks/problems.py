"""Real data for the benchmarks: training, validation and test parts of each problem.

A problem's `shifts` are rules that pick validation records (by label or by feature): the same
models are then scored on a validation set unlike the training set.

`TUNED_ON` names the problems that constants of the search may be set on, `HELD_OUT` and `SHIFTED`
those that are reported only. The problems under "also tuned on", "held out" and "shifted and rare"
were written down before any search was run on them.

Data files are looked for in the folder that SKLEARN_DPBO_DATA names, by default in
``shared/data`` beside the project; digits come with scikit-learn.
"""

import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import loguniform, randint, uniform
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectPercentile
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.svm import SVC

from sklearn_dpbo.papers.kusner2015 import UnitBall

DATA = Path(os.environ.get("SKLEARN_DPBO_DATA", Path(__file__).parents[2] / "shared" / "data"))


@dataclass
class Problem:
    name: str
    estimator: object
    space: dict
    train: tuple
    val: tuple
    test: tuple
    groups: np.ndarray | None = None
    test_groups: np.ndarray | None = None
    bounds: tuple | None = None  # of the absolute error, for regressions
    scoring: str = "accuracy"  # of classifications
    shifts: dict = field(default_factory=dict)  # name: function of (X, y) to a mask of rows


def parts(X, y, n_train, m, rng):
    """Shuffle and cut into (train, val, test)."""
    order = rng.permutation(len(y))
    cuts = order[:n_train], order[n_train : n_train + m], order[n_train + m :]
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    return [(take(rows), y[rows]) for rows in cuts]


def some_test(cut):
    """Keep 5,000 test records."""
    train, val, (X, y) = cut
    return train, val, (X[:5000], y[:5000])


def svc(**fixed):
    model = make_pipeline(StandardScaler(), SVC(**fixed))
    return model, {"svc__C": loguniform(1e-3, 1e4), "svc__gamma": loguniform(1e-6, 10)}


BOOSTING = {
    "learning_rate": loguniform(1e-3, 1),
    "max_leaf_nodes": randint(2, 64),
    "l2_regularization": loguniform(1e-3, 1e3),
    "min_samples_leaf": randint(1, 100),
    "max_features": uniform(0.1, 0.9),
    "max_bins": randint(8, 128),
}


def boosting():
    return HistGradientBoostingClassifier(max_iter=40, early_stopping=False, random_state=0)


FOREST = {
    "max_depth": randint(2, 30),
    "max_features": uniform(0.05, 0.95),
    "min_samples_leaf": randint(1, 50),
}
SMALL_FOREST = {
    "max_features": ["sqrt", "log2", 0.3, 0.6, 1.0],
    "min_samples_leaf": randint(1, 50),
}


def forest(n_trees=30):
    return RandomForestClassifier(n_trees, random_state=0)


def neighbours():
    """The model's own ten components and five neighbours lie in the space."""
    model = make_pipeline(StandardScaler(), PCA(10, random_state=0), KNeighborsClassifier())
    return model, {
        "pca__n_components": randint(2, 31),
        "kneighborsclassifier__n_neighbors": randint(1, 60),
        "kneighborsclassifier__weights": ["uniform", "distance"],
    }


def network():
    """Few epochs: many fits end before they have converged."""
    network = MLPClassifier(100, max_iter=60, random_state=0)
    return make_pipeline(StandardScaler(), network), {
        "mlpclassifier__alpha": loguniform(1e-6, 100),
        "mlpclassifier__learning_rate_init": loguniform(1e-4, 0.1),
        "mlpclassifier__hidden_layer_sizes": randint(4, 129),
    }


def with_copies(cut, n, rng):
    """Draw n training records with replacement: copies of a record are in both of its parts."""
    (X, y), *others = cut
    rows = rng.integers(len(y), size=n)
    return [(X[rows], y[rows]), *others]


def mislabelled(cut, share, rng):
    """Replace a share of the training labels by random ones, of all classes alike."""
    (X, y), *others = cut
    wrong = rng.random(len(y)) < share
    return [(X, np.where(wrong, rng.choice(np.unique(y), len(y)), y)), *others]


def fewer_of_class_0(X, y):
    """Label shift: one in four of the records of class 0 stays."""
    return (y != 0) | (np.arange(len(y)) % 4 == 0)


def hardly_any_but_class_1(X, y):
    """Strong label shift: one in twenty of the records of other classes stays."""
    return (y == 1) | (np.arange(len(y)) % 20 == 0)


def _spam_frame():
    frame = pd.read_csv(DATA / "spambase.csv.gz")
    return np.log1p(frame.drop(columns="spam").to_numpy()), frame["spam"].to_numpy()


def spam(rng):
    return Problem("spam, SVC", *svc(), *parts(*_spam_frame(), 1200, 2000, rng),
                   shifts={"label shift": fewer_of_class_0})  # fmt: skip


def spam_pipeline(rng):
    """Eight hyper-parameters of a whole pipeline, three of them categories."""
    model = make_pipeline(
        QuantileTransformer(n_quantiles=50), SelectPercentile(), PCA(random_state=0), SVC()
    )
    space = {
        "quantiletransformer__n_quantiles": randint(5, 500),
        "quantiletransformer__output_distribution": ["uniform", "normal"],
        "selectpercentile__percentile": randint(5, 101),
        "pca__n_components": uniform(0.4, 0.59),
        "pca__whiten": [False, True],
        "svc__C": loguniform(1e-3, 1e4),
        "svc__gamma": loguniform(1e-5, 10),
        "svc__class_weight": [None, "balanced"],
    }
    return Problem("spam, pipeline of 8 parameters", model, space,
                   *parts(*_spam_frame(), 1000, 2000, rng))  # fmt: skip


def spam_linear(rng):
    """A linear classifier that Lipschitz bounds apply to; its margins are scored by the ramp."""
    model = make_pipeline(
        StandardScaler(),
        UnitBall(),
        LogisticRegression(fit_intercept=False, tol=1e-8, max_iter=10_000),
    )
    return Problem("spam, logistic regression (ramp)", model,
                   {"logisticregression__C": loguniform(1e-3, 10)},
                   *parts(*_spam_frame(), 1200, 2000, rng), scoring="ramp")  # fmt: skip


def readmission(rng):
    """Readmitted at all; units are patients, none of whom is in two parts."""
    frame = pd.read_csv(DATA / "diabetes130.csv.gz", keep_default_na=False)
    patients = rng.permutation(frame["patient_nbr"].unique())
    frame = frame.set_index("patient_nbr").drop(
        columns=["encounter_id", "diag_1", "diag_2", "diag_3"]
    )
    X, y = frame.drop(columns="readmitted"), (frame["readmitted"] != "NO").to_numpy().astype(int)
    X = codes(X)
    cut, groups = [], []
    for chosen in (patients[:3000], patients[3000:10000], patients[10000:15000]):
        rows = frame.index.isin(chosen)
        cut.append((X[rows], y[rows]))
        groups.append(frame.index[rows].to_numpy())
    return Problem("readmission by patient, boosting", boosting(), BOOSTING, *cut, *groups[1:],
                   shifts={"hardly any but class 1": hardly_any_but_class_1,
                           "age 70 and over": lambda X, y: X[:, 2] >= 7})  # fmt: skip


def codes(frame):
    """Numbers for categories, in alphabetical order."""
    columns = [frame[name].to_numpy() for name in frame]
    return np.column_stack([
        c if c.dtype.kind in "if" else np.unique(c.astype(str), return_inverse=True)[1]
        for c in columns
    ]).astype(float)  # fmt: skip


def _census_table():
    frame = pd.read_csv(DATA / "adult.csv.gz", keep_default_na=False)
    y = (frame["income"] == ">50K").to_numpy().astype(int)
    return codes(frame.drop(columns=["income", "split"])), y


def census(rng):
    cut = some_test(parts(*_census_table(), 2500, 8000, rng))
    return Problem("census income, boosting", boosting(), BOOSTING, *cut,
                   shifts={"hardly any but class 1": hardly_any_but_class_1,
                           "age 45 and over": lambda X, y: X[:, 0] >= 45})  # fmt: skip


def _cover_table():
    z = np.load(DATA / "covertype_60k.npz")
    return z["X"].astype(np.float32), z["y"]


def forest_cover(rng):
    cut = some_test(parts(*_cover_table(), 2500, 5000, rng))
    return Problem("forest cover, random forest", forest(15), FOREST, *cut,
                   shifts={"high ground": lambda X, y: X[:, 0] > 3000})  # fmt: skip


def forest_cover_svc(rng):
    cut = some_test(parts(*_cover_table(), 1000, 3000, rng))
    return Problem("forest cover, SVC", *svc(max_iter=2000), *cut)


def digits(rng):
    X, y = load_digits(return_X_y=True)
    return Problem("digits, SVC", *svc(), *parts(X, y, 500, 900, rng))


def houses(rng):
    """Logarithm of the price per square metre; the absolute error counts up to 1."""
    frame = pd.read_csv(DATA / "kc_house.csv.gz")
    y = np.log(frame["price_per_sqm"].to_numpy())
    X = frame.drop(columns=["price", "price_per_sqm", "subset2004"]).to_numpy(float)
    model = HistGradientBoostingRegressor(max_iter=40, early_stopping=False, random_state=0)
    cut = some_test(parts(X, y, 2000, 4000, rng))
    return Problem("house prices, boosting", model, BOOSTING, *cut, bounds=(-1.0, 0.0))


# ---------------------------------------------------------------- also tuned on
def spam_300(rng):
    return Problem("spam, SVC, 300 training records", *svc(),
                   *parts(*_spam_frame(), 300, 2000, rng))  # fmt: skip


def census_600(rng):
    cut = some_test(parts(*_census_table(), 600, 2000, rng))
    return Problem("census income, boosting, 600 training records", boosting(), BOOSTING, *cut)


def census_copies(rng):
    cut = with_copies(some_test(parts(*_census_table(), 300, 2000, rng)), 600, rng)
    return Problem("census income, random forest, copies", forest(), SMALL_FOREST, *cut)


def cover_neighbours(rng):
    cut = some_test(parts(*_cover_table(), 800, 2000, rng))
    return Problem("forest cover, neighbours", *neighbours(), *cut)


def digits_network(rng):
    cut = parts(*load_digits(return_X_y=True), 300, 700, rng)
    return Problem("digits, network", *network(), *cut)


def rare(X, y, share, rng):
    """Keep all records of class 0, and of class 1 so many that they are this share."""
    n = round(share / (1 - share) * (y == 0).sum())
    kept = np.concatenate([np.flatnonzero(y == 0), rng.permutation(np.flatnonzero(y == 1))[:n]])
    return X[np.sort(kept)], y[np.sort(kept)]


def spam_rare(rng):
    cut = parts(*rare(*_spam_frame(), 0.05, rng), 500, 1500, rng)
    return Problem("spam, SVC, rare", *svc(), *cut, scoring="roc_auc")


def census_rare(rng):
    cut = some_test(parts(*rare(*_census_table(), 0.08, rng), 800, 2000, rng))
    return Problem("census income, random forest, rare", forest(), FOREST, *cut, scoring="f1")


# ---------------------------------------------------------------- held out
def spam_neighbours(rng):
    return Problem("spam, neighbours", *neighbours(), *parts(*_spam_frame(), 500, 2000, rng))


def cover_mislabelled(rng):
    """The validation and the test labels are right."""
    cut = mislabelled(some_test(parts(*_cover_table(), 600, 2000, rng)), 0.3, rng)
    return Problem("forest cover, random forest, labels wrong", forest(), FOREST, *cut)


def census_svc(rng):
    cut = some_test(parts(*_census_table(), 600, 2000, rng))
    return Problem("census income, SVC", *svc(max_iter=20_000), *cut)


def census_svc_2000(rng):
    cut = some_test(parts(*_census_table(), 2000, 2000, rng))
    return Problem("census income, SVC, 2,000 training records", *svc(max_iter=20_000), *cut)


def spam_copies(rng):
    cut = with_copies(parts(*_spam_frame(), 300, 2000, rng), 600, rng)
    return Problem("spam, random forest, copies", forest(), SMALL_FOREST, *cut)


def cover_rare(rng):
    """Douglas fir, 3 % of the records, against all else."""
    X, y = _cover_table()
    cut = some_test(parts(X, (y == 6).astype(int), 800, 2000, rng))
    return Problem("rare forest cover, random forest", forest(), FOREST, *cut, scoring="roc_auc")


def cover_rare_f1(rng):
    """Krummholz, 4 % of the records, against all else."""
    X, y = _cover_table()
    cut = some_test(parts(X, (y == 7).astype(int), 800, 2000, rng))
    return Problem("rare forest cover, SVC", *svc(max_iter=20_000), *cut, scoring="f1")


def spam_network(rng):
    return Problem("spam, network", *network(), *parts(*_spam_frame(), 600, 2000, rng))


# ---------------------------------------------------------------- shifted and rare
SCORINGS = ("f1", "balanced_accuracy", "average_precision")
WEIGHTED_FOREST = SMALL_FOREST | {"class_weight": [None, "balanced", {1: 3}, {1: 30}]}


def a_third_of_the_positives(X, y):
    """Label shift: 24 % positives become 8 %."""
    return (y == 0) | (np.cumsum(y == 1) % 11 < 3)


def three_times_the_positives(X, y):
    """Label shift: 24 % positives become 72 %."""
    return (y == 1) | (np.cumsum(y == 0) % 8 == 0)


# By name; the training set stays as it is.
CENSUS_SHIFTS = {
    "positives a third": a_third_of_the_positives,
    "positives three times": three_times_the_positives,
    "age 45 and over": lambda X, y: X[:, 0] >= 45,
}


def census_shifted(scoring, rng):
    cut = some_test(parts(*_census_table(), 1000, 4000, rng))
    return Problem(f"census income by {scoring}", forest(15), WEIGHTED_FOREST, *cut,
                   scoring=scoring, shifts=CENSUS_SHIFTS)  # fmt: skip


def census_few(scoring, rng):
    """3 % of all records are positive."""
    cut = some_test(parts(*rare(*_census_table(), 0.03, rng), 1500, 4000, rng))
    return Problem(f"census income, 3 % positive, by {scoring}", forest(15), WEIGHTED_FOREST, *cut,
                   scoring=scoring)  # fmt: skip


TUNED_ON = {
    f.__name__: f
    for f in (spam, spam_linear, spam_pipeline, readmission, census, forest_cover,
              forest_cover_svc, digits, houses,
              spam_300, census_600, census_copies, cover_neighbours, digits_network,
              spam_rare, census_rare)
}  # fmt: skip
HELD_OUT = {
    f.__name__: f
    for f in (spam_neighbours, cover_mislabelled, census_svc, census_svc_2000, spam_copies,
              cover_rare, cover_rare_f1, spam_network)
}  # fmt: skip
SHIFTED = {
    f"{make.__name__}_{scoring}": partial(make, scoring)
    for make in (census_shifted, census_few) for scoring in SCORINGS
}  # fmt: skip
ALL = TUNED_ON | HELD_OUT | SHIFTED


def names_of(words):
    """The names themselves; "tuned", "held-out" and "shifted" stand for several problems."""
    shifts = [
        f"census_shifted_{scoring}/{shift}" for scoring in SCORINGS for shift in CENSUS_SHIFTS
    ]
    groups = {"tuned": TUNED_ON, "held-out": HELD_OUT, "shifted": [*SHIFTED, *shifts]}
    return [name for word in words for name in groups.get(word, [word])]
