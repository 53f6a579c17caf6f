"""Tables in which situations that people have show: shares that differ, odd units, wrong entries.

Each is a function of a generator. Columns are in natural units.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from conftest import data_file
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine


@dataclass(frozen=True, eq=False)
class Tables:
    """A training set, protected records, and whose they are."""

    X: Any
    y: Any
    X_val: Any
    y_val: Any
    groups: Any = None

    @property
    def weight(self):
        """Each group counts like one record."""
        return None if self.groups is None else 1 / np.bincount(self.groups)[self.groups]

    @property
    def public(self):
        return {"X": self.X, "y": self.y}

    @property
    def protected(self):
        return {"X_val": self.X_val, "y_val": self.y_val, "groups_val": self.groups}

    def exact(self, scorer, model):
        """What scikit-learn computes."""
        weight = {} if self.groups is None else {"sample_weight": self.weight}
        return float(scorer(model, self.X_val, self.y_val, **weight))


# ---------------------------------------------------------------- two classes
def patients(n, positives, rng):
    """Age, blood pressure, BMI, sodium and creatinine; a share of them is readmitted."""
    y = (rng.random(n) < positives).astype(int)
    centre = np.array([58, 128, 27, 139.5, -0.1]) + y[:, None] * [8, 9, 1.5, -1, 0.3]
    X = rng.normal(centre, [12, 17, 4.5, 3, 0.35])
    X[:, 4] = np.exp(X[:, 4])
    return X, y


def positives(training, protected, n=800, m=2500):
    """Shares of positives among training and protected records."""
    return lambda rng: Tables(*patients(n, training, rng), *patients(m, protected, rng))


def older(rng):
    X_val, y_val = patients(9000, 0.25, rng)
    old = X_val[:, 0] > 68
    return Tables(*patients(1500, 0.25, rng), X_val[old], y_val[old])


def unequal_groups(rng):
    """Patients who are ill come more often."""
    X, y = patients(1500, 0.2, rng)
    groups = np.repeat(np.arange(1500), 1 + rng.integers(0, np.where(y == 1, 11, 2)))
    visits = X[groups] + rng.normal(size=(len(groups), 5)) * [0, 8, 0.5, 2, 0.1]
    y_val = np.where(rng.random(len(groups)) < 0.85, y[groups], 0)
    return Tables(*patients(1000, 0.2, rng), visits, y_val, groups)


def wrong_entries(rng):
    """Protected records with sentinel codes and outliers that training never had."""
    tables = positives(0.25, 0.25)(rng)
    tables.X_val[::50, 1] = 9999
    tables.X_val[::80] *= 100
    return tables


def other_site(rng):
    """Few malignant tumours in training, many among protected records."""
    X, y = load_breast_cancer(return_X_y=True)
    ill, well = (rng.permutation(np.flatnonzero(y == label)) for label in (0, 1))
    train, val = np.r_[ill[:50], well[:200]], np.r_[ill[50:], well[200:]]
    return Tables(X[train], 1 - y[train], X[val], 1 - y[val])


def census(rng):
    """High incomes are a third as frequent among protected records."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(data_file("adult.csv.gz"))
    y = (frame["income"] == ">50K").to_numpy().astype(int)
    X = frame[["age", "education_num", "capital_gain", "hours_per_week"]].to_numpy(float)
    train, rest = np.split(rng.permutation(len(y)), [2000])
    val = rest[(y[rest] == 0) | (rng.random(len(rest)) < 0.25)][:8000]
    return Tables(X[train], y[train], X[val], y[val])


TWO_CLASSES = {
    "as in training": positives(0.25, 0.25),
    "positives a third": positives(0.3, 0.1),
    "positives three times": positives(0.1, 0.3),
    "most are positive": positives(0.3, 0.82),
    "rare": positives(0.03, 0.03, 2000, 3000),
    "rarer": positives(0.09, 0.03, 2000, 4000),
    "older patients": older,
    "unequal groups": unequal_groups,
    "wrong entries": wrong_entries,
    "another site": other_site,
}


# ---------------------------------------------------------------- three classes
def flowers(n, shares, rng):
    y = rng.choice(3, size=n, p=shares)
    X = rng.normal(np.array([[5.0, 1.5], [5.9, 4.2], [6.6, 5.5]])[y], [0.6, 0.9])
    return X, np.array(["a", "b", "c"])[y]


def three(training, protected):
    return lambda rng: Tables(*flowers(800, training, rng), *flowers(2500, protected, rng))


def unseen_label(rng):
    """A twentieth of the protected records has a label that training never saw."""
    tables = three([0.4, 0.4, 0.2], [0.4, 0.4, 0.2])(rng)
    tables.y_val[::20] = "d"
    return tables


THREE_CLASSES = {
    "three classes": three([0.4, 0.4, 0.2], [0.4, 0.4, 0.2]),
    "three classes, other shares": three([0.6, 0.3, 0.1], [0.2, 0.5, 0.3]),
    "unseen label": unseen_label,
}


# ---------------------------------------------------------------- numbers
def houses(n, rng, skew=0.0, larger=0.0):
    """Area, year, latitude; the price."""
    area, year = rng.normal(120 + larger, 35, n), rng.integers(1900, 2020, n)
    X = np.column_stack([area, year, rng.normal(51, 0.2, n)])
    z = (X - [120, 1960, 51]) / [35, 35, 0.2] @ [0.6, 0.2, 0.3] + 0.3 * rng.normal(size=n)
    return X, np.exp(skew * z) if skew else np.abs(3 + z) + 0.1


def priced(scale=1.0, offset=0.0, moved=0.0, skew=0.0, larger=0.0):
    def make(rng):
        (X, y), (X_val, y_val) = houses(800, rng, skew), houses(2500, rng, skew, larger)
        return Tables(X, scale * y + offset, X_val, scale * (y_val + moved) + offset)

    return make


def outliers(rng):
    tables = priced()(rng)
    tables.y_val[::200] *= 30
    return tables


def houses_of_owners(rng):
    tables = priced()(rng)
    groups = np.repeat(np.arange(2500), rng.integers(1, 9, 2500))[:2500]
    return Tables(tables.X, tables.y, tables.X_val, tables.y_val, groups)


def progression(rng):
    X, y = load_diabetes(return_X_y=True)
    train, val = np.split(rng.permutation(len(y)), [200])
    return Tables(X[train], y[train], X[val], y[val])


NUMBERS = {
    "prices": priced(),
    "larger houses": priced(larger=40),
    "prices moved": priced(moved=5),
    "skewed prices": priced(skew=1.0),
    "very skewed prices": priced(skew=1.5),
    "tiny prices": priced(scale=1e-9),
    "huge prices": priced(scale=1e9),
    "offset prices": priced(offset=2e3),
    "outliers": outliers,
    "owners": houses_of_owners,
    "diabetes": progression,
}

# ---------------------------------------------------------------- columns of one table
CENTRES = np.array([2014, 140, 7.4, 36.9, 51, 130])
WIDTHS = np.array([4, 3, 0.05, 0.5, 2, 17])


def clinical(rng, n=4000):
    """Year, sodium, pH, temperature, latitude and blood pressure; a number to predict."""
    z = rng.normal(size=(n, 6))
    y = z @ [1, -1, 0.8, 0.7, 0.6, 0.9] + 0.7 * rng.normal(size=n)
    return CENTRES + WIDTHS * z, y


def in_units(units):
    def make(rng):
        X, y = clinical(rng)
        return (X - CENTRES) / WIDTHS * units, y

    return make


def body_mass(rng):
    x = rng.uniform(16.5, 31.5, 4000)
    return x[:, None], x - 24 + rng.normal(scale=0.5, size=4000)


def skewed(rng):
    z = rng.normal(size=(4000, 4))
    return np.exp(z), z @ [1, 1, 1, 0.5] + 0.5 * rng.normal(size=4000)


def sentinels(rng):
    X, y = clinical(rng)
    X[rng.random(len(y)) < 0.01, 1] = 9999
    return X, y


def far_outliers(rng):
    X, y = clinical(rng)
    X[rng.random(len(y)) < 0.005] *= 100
    return X, y


def few_positives(rng):
    X, y = clinical(rng, 8000)
    return X, y - np.quantile(y, 0.95)


def constant_and_flag(rng):
    X, y = clinical(rng)
    return np.column_stack([X, np.full(len(y), 7.0), rng.random(len(y)) < 0.3]), y


def shipped(load):
    def make(rng):
        X, y = load(return_X_y=True)
        rows = rng.permutation(len(y))
        return X[rows], y[rows]

    return make


SHIPPED = {
    "breast cancer": shipped(load_breast_cancer),
    "wine": shipped(load_wine),
    "digits": shipped(load_digits),
}
COLUMNS = {
    "clinical": clinical,
    "body mass": body_mass,
    "standardised": in_units(1.0),
    "tiny units": in_units(1e-6),
    "huge units": in_units(1e6),
    "mixed units": in_units(10.0 ** np.arange(-6, 12, 3)),
    "skewed": skewed,
    "sentinels": sentinels,
    "outliers": far_outliers,
    "few positives": few_positives,
    "constant and flag": constant_and_flag,
    **SHIPPED,
}
