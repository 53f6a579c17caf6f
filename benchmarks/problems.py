"""Real data for the benchmarks: training, validation and test parts of each problem.

Data files are looked for in the folder that SKLEARN_DPBO_DATA names, by default in
``shared/data`` beside the project; digits and breast cancer come with scikit-learn.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import loguniform, randint, uniform
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC

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


def parts(X, y, n_train, m, rng):
    """Shuffle and cut into (train, val, test)."""
    order = rng.permutation(len(y))
    cuts = order[:n_train], order[n_train : n_train + m], order[n_train + m :]
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    return [(take(rows), y[rows]) for rows in cuts]


def svc(**fixed):
    model = make_pipeline(StandardScaler(), SVC(**fixed))
    return model, {"svc__C": loguniform(1e-3, 1e4), "svc__gamma": loguniform(1e-6, 10)}


def boosting(*prepare):
    model = make_pipeline(*prepare, HistGradientBoostingClassifier(max_iter=60, random_state=0))
    return model, {
        "histgradientboostingclassifier__learning_rate": loguniform(1e-3, 1),
        "histgradientboostingclassifier__max_leaf_nodes": randint(2, 64),
        "histgradientboostingclassifier__l2_regularization": loguniform(1e-3, 1e3),
    }


def spam(rng):
    frame = pd.read_csv(DATA / "spambase.csv.gz")
    X, y = np.log1p(frame.drop(columns="spam").to_numpy()), frame["spam"].to_numpy()
    return Problem("spam, SVC", *svc(), *parts(X, y, 1500, 1500, rng))


def readmission(rng):
    """Readmitted at all; units are patients, none of whom is in two parts."""
    frame = pd.read_csv(DATA / "diabetes130.csv.gz", keep_default_na=False)
    patients = rng.permutation(frame["patient_nbr"].unique())
    frame = frame.set_index("patient_nbr").drop(
        columns=["encounter_id", "diag_1", "diag_2", "diag_3"]
    )
    X, y = frame.drop(columns="readmitted"), (frame["readmitted"] != "NO").to_numpy().astype(int)
    cut = []
    for chosen in (patients[:8000], patients[8000:23000], patients[23000:38000]):
        rows = frame.index.isin(chosen)
        cut.append((X[rows].reset_index(drop=True), y[rows]))
    groups = [
        frame.index[frame.index.isin(chosen)].to_numpy()
        for chosen in (patients[8000:23000], patients[23000:38000])
    ]
    encode = make_column_transformer(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
         make_column_selector(dtype_exclude="number")), remainder="passthrough",
    )  # fmt: skip
    return Problem("readmission by patient, boosting", *boosting(encode), *cut, *groups)


def adult(rng):
    frame = pd.read_csv(DATA / "adult.csv.gz", keep_default_na=False)
    X, y = (
        frame.drop(columns=["income", "split"]),
        (frame["income"] == ">50K").to_numpy().astype(int),
    )
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        (StandardScaler(), make_column_selector(dtype_include="number")),
    )
    model = make_pipeline(encode, LogisticRegression(solver="liblinear"))
    space = {
        "logisticregression__C": loguniform(1e-5, 1e2),
        "logisticregression__class_weight": [None, "balanced"],
        "logisticregression__intercept_scaling": loguniform(1e-2, 1e2),
    }
    return Problem(
        "census income, logistic regression", model, space, *parts(X, y, 4000, 8000, rng)
    )


def forest_cover(rng):
    z = np.load(DATA / "covertype_60k.npz")
    space = {
        "max_depth": randint(2, 30), "max_features": uniform(0.05, 0.95),
        "min_samples_leaf": randint(1, 50),
    }  # fmt: skip
    model = RandomForestClassifier(30, random_state=0)
    return Problem("forest cover, random forest", model, space,
                   *parts(z["X"].astype(np.float32), z["y"], 3000, 5000, rng))  # fmt: skip


def digits(rng):
    X, y = load_digits(return_X_y=True)
    return Problem("digits, SVC", *svc(), *parts(X, y, 600, 600, rng))


def breast_cancer(rng):
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    space = {"logisticregression__C": loguniform(1e-5, 1e5)}
    return Problem("breast cancer, logistic regression", model, space, *parts(X, y, 200, 200, rng))


ALL = {f.__name__: f for f in (spam, readmission, adult, forest_cover, digits, breast_cancer)}
