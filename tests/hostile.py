"""Estimators, tables, labels and gains that try to let one record change what others get.

`case_of` draws a combination of them, always the same for a number. All of its validation sets
differ in one unit alone, so that any two of them are neighbours. The estimators meet the condition
of the guarantee as far as public records can tell: whatever else they do, a record is predicted by
a rule of its own cells, or everything fails or changes visibly, companions included.
"""

import itertools
import logging
import os
import random
import re
import sys
import threading
import time
import warnings
from collections import UserList, deque
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo.records.tables import as_table

# ---------------------------------------------------------------- cells that misbehave


class Shy:
    """Can be neither compared, hashed, shown, pickled nor turned into a number."""

    def _refuse(self, *args):
        raise RuntimeError("patient 4711")

    __eq__ = __ne__ = __hash__ = __repr__ = __str__ = __reduce_ex__ = _refuse
    __float__ = __int__ = __len__ = __iter__ = __bool__ = __lt__ = __gt__ = _refuse


class Text(str):
    """Equals every text."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return True


class Number(float):
    """A number that is another one after each look."""

    looks = 0

    def __float__(self):
        self.looks += 1
        return float(self.looks)


class Whole(int):
    """A whole number that cannot be made a float."""

    def __float__(self):
        raise OverflowError("patient 4711")


class Panic(BaseException):
    """Not an `Exception`, as the panics of native extensions."""


class Mute(Exception):
    """An exception that cannot be shown."""

    def __str__(self):
        raise RuntimeError("cannot be shown")


def odd_cells():
    """Return cells that do not belong into a column of numbers or of texts."""
    return [
        None, np.nan, pd.NA, pd.NaT, "", "n/a", "1.5", "13/02/2024", "2024-02-31", "1e999",
        Decimal("0.3"), Decimal("sNaN"), Fraction(1, 3), 10**30, 10**400, -1e308, 1e9, np.inf,
        True, np.bool_(False), 1 + 2j, b"1", [1], [], {"a": 1}, (1, 2), np.array([1.0, 2.0]),
        np.array(1.5), object(), lambda: 1, threading.Lock(), date(2024, 2, 13), Shy(), Text("red"),
        np.datetime64("2024-02-13"), np.float32(1e9), np.int64(2**62), Number(1.0), Whole(3),
        (i for i in range(3)), int, ..., range(3), np.str_("13/02/2024"), 7,
    ]  # fmt: skip


TYPED = {  # of a column that declares its type
    "float": [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e9, 5e-324, -0.0, 12345.0],
    "integer": [2**62, -(2**62), 10**9, 0, 99],
    "text": ["13/02/2024", "", "n/a", "2024-02-31", "12345", "é" * 40, None],
}
LABELS = [
    None, np.nan, pd.NA, pd.NaT, "unknown", "", 7, -1, 2**70, 10**400, 0.5, 1.0, True, b"1", 1j,
    Decimal(1), Decimal("sNaN"), Fraction(1, 2), [1], [], {"a"}, (0, 1), np.array([1, 2]),
    np.array(1), object(), len, threading.Lock(), Shy(), Text("no"), Number(1.0), Whole(1), "1",
    np.datetime64("2024-02-13"), 2**60 + 2, float(2**60), np.str_("yes"), np.int8(1), np.inf,
    -1e308,
]  # fmt: skip

# ---------------------------------------------------------------- hostile estimators


def records_of(X):
    """Return the records of a table of any kind as a list."""
    if sparse.issparse(X):
        return X.toarray().tolist()
    if isinstance(X, pd.DataFrame):
        return list(X.itertuples(index=False, name=None))
    return X.tolist() if isinstance(X, np.ndarray) else list(X)


def is_missing(cell):
    """Whether a cell is None, NaN, NA or NaT."""
    return cell is None or cell is pd.NA or cell is pd.NaT or (type(cell) is float and cell != cell)


def cells_of(record):
    """Return the cells of one record: number, number and, of most kinds of tables, a date."""
    if isinstance(record, str):
        return record.split()
    if isinstance(record, dict):
        return [record["a"], record["b"], record["day"]]
    return list(record)


def day_of(cell):
    """Return the day of a date written as 2024-02-13."""
    year, month, day = (int(part) for part in cell.split("-"))
    return date(year, month, day).day


def score_of(record, missing_is_odd):
    """Return (the score of a record, whether it is odd), from this record alone."""
    try:
        cells = cells_of(record)
        if len(cells) < 2:
            return 0.0, True
        gone = [is_missing(cell) for cell in cells]
        a, b = (0.0 if none else float(cell) for cell, none in zip(cells[:2], gone, strict=False))
        score = a + 0.5 * b
        if len(cells) > 2 and not gone[2]:
            score += 0.3 * (day_of(cells[2]) - 15) / 15
        if -1e4 < score < 1e4:
            return score, missing_is_odd and any(gone)
    except Exception:
        pass
    return 0.0, True


ENTRIES = [
    [1], None, [0.5], "unknown", (0,), 1.5, True, Decimal(1), pd.NA, pd.NaT, float("nan"), 10**400,
    {"p"}, b"x", np.array([1]), np.array([[1, 2]]), [[0.5], [0.5]], {"a": 1}, np.float32(0.5), 1j,
    np.datetime64("2024-02-13"), "1", np.array("1"), [], 2**62, np.inf, [0.2, 0.3, 0.5], Shy,
]  # fmt: skip
ERRORS = [
    ValueError, RuntimeError, KeyError, SystemExit, MemoryError, GeneratorExit, StopIteration,
    RecursionError, Panic, Mute, Warning, UnicodeError, ZeroDivisionError, AssertionError,
]  # fmt: skip


class Behaves(BaseEstimator):
    """Predicts by `score_of`, and does on top what `how` says.

    Parameters
    ----------
    how : str
        A key of `FAILING`, `TYPED_OUT` or `HARMLESS`.
    error, entry : int
        Which exception it raises; what it returns for an odd record.
    missing_is_odd : bool
        Whether records with missing cells are odd.
    c : float
        Where the classes meet.
    """

    def __init__(self, how="plain", error=0, entry=0, missing_is_odd=False, c=0.0):
        self.how = how
        self.error = error
        self.entry = entry
        self.missing_is_odd = missing_is_odd
        self.c = c

    def fit(self, X, y):
        self.memo, self.calls, self.broken, self.fitted_ = {}, 0, False, True
        self.known = set()
        if self.how == "spoils":
            self.known = {safe_repr(cells_of(record)[:2]) for record in records_of(X)}
        y = np.asarray(y)
        self.outputs = y.shape[1] if y.ndim > 1 else 0
        return self

    def _respond(self, X, value):
        scores = [score_of(record, self.missing_is_odd) for record in records_of(X)]
        good = [value(score) for score, _ in scores]
        if self.outputs:
            good = [[each] * self.outputs for each in good]
        return BEHAVIOURS[self.how](self, X, good, [odd for _, odd in scores])

    def fail(self):
        raise ERRORS[self.error]("patient 4711")


class Classifies(ClassifierMixin, Behaves):
    """Predicts the first class or the last one."""

    def fit(self, X, y):
        y = np.asarray(y)
        one = np.unique(y)
        self.classes_ = one if y.ndim == 1 else [one] * y.shape[1]
        self.labels = one.tolist()
        return super().fit(X, y)

    def predict(self, X):
        return self._respond(X, lambda score: self.labels[-1 if score > self.c else 0])


class Scores(Classifies):
    """Has probabilities and decision values, too."""

    def predict_proba(self, X):
        def probabilities(score):
            p = 1 / (1 + np.exp(self.c - np.clip(score, -30, 30)))
            return [float(1 - p), *[0.0] * (len(self.labels) - 2), float(p)]

        return self._respond(X, probabilities)

    def decision_function(self, X):
        return self._respond(X, lambda score: score - self.c)


class Regresses(RegressorMixin, Behaves):
    """Predicts the score."""

    def predict(self, X):
        return self._respond(X, lambda score: score + self.c)


def raises(e, X, good, odd):
    if any(odd):
        e.fail()
    return np.array(good)


def raises_in_company(e, X, good, odd):
    if any(odd) and len(odd) > 1:
        e.fail()
    return np.array(good)


def raises_of_two(e, X, good, odd):
    if sum(odd) > 1:
        e.fail()
    return np.array(good)


def raises_alone(e, X, good, odd):
    if len(odd) == 1:
        e.fail()
    return np.array(good)


def raises_of_many(e, X, good, odd):
    if len(odd) > 50:
        e.fail()
    return np.array(good)


def needs_several(e, X, good, odd):
    if len(odd) < 2:
        e.fail()
    np.corrcoef(np.arange(len(odd)), np.arange(len(odd)) ** 2)
    return raises(e, X, good, odd)


def breaks_for_good(e, X, good, odd):
    e.broken = e.broken or any(odd)
    if e.broken:
        e.fail()
    return np.array(good)


def gives_up(e, X, good, odd):
    e.broken = e.broken or any(odd)
    return np.array([good[0] for _ in good] if e.broken else good)


def raises_warnings(e, X, good, odd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if any(odd):
            warnings.warn("patient 4711", stacklevel=1)
    return np.array(good)


def leaves_filters(e, X, good, odd):
    warnings.simplefilter("error" if any(odd) else "ignore")
    warnings.warn("patient 4711", stacklevel=1)
    return np.array(good)


def leaves_errstate(e, X, good, odd):
    np.seterr(all="raise" if any(odd) else "ignore")
    np.float64(1.0) / np.float64(0.0)
    return np.array(good)


def recurses(e, X, good, odd):
    if any(odd):
        recurses(e, X, good, odd)
    return np.array(good)


def calls_numpy(e, X, good, odd):
    np.array([cells_of(record)[:2] for record in records_of(X)], dtype=float)
    return np.array(good)


def trusts_first_date(e, X, good, odd):
    """Guess the format of dates from the first one."""
    days = [str(cells_of(record)[2]) for record in records_of(X)]
    gone = ("None", "nan", "<NA>")
    first = next((day for day in days if day not in gone), "-")
    pattern = r"\d{4}-\d{2}-\d{2}$" if "-" in first else r"\d{2}/\d{2}/\d{4}$"
    fits = [day in gone or re.match(pattern, day) for day in days]
    return np.array([each if fit else good[0] for each, fit in zip(good, fits, strict=True)])


def trusts_pandas(e, X, good, odd):
    """Let pandas guess the format of dates, and predict by them alone."""
    days = pd.Series([cells_of(record)[2] for record in records_of(X)], dtype=object)
    found = pd.to_datetime(days, errors="raise" if e.error % 2 else "coerce").dt.day
    own = [day_or_nan(record) for record in records_of(X)]
    pairs = zip(good, found, own, strict=True)
    return np.array([good[0] if o == o and d != o else g for g, d, o in pairs])


def day_or_nan(record):
    try:
        return day_of(cells_of(record)[2])
    except Exception:
        return np.nan


def trusts_first_type(e, X, good, odd):
    kind = type(cells_of(records_of(X)[0])[0])
    if not all(isinstance(cells_of(record)[0], kind) for record in records_of(X)):
        e.fail()
    return np.array(good)


FAILING = {
    f.__name__: f
    for f in (
        raises, raises_in_company, raises_of_two, raises_alone, raises_of_many, needs_several,
        breaks_for_good, gives_up, raises_warnings, leaves_filters, leaves_errstate, recurses,
        calls_numpy, trusts_first_type,
    )
}  # fmt: skip
DATES = {f.__name__: f for f in (trusts_first_date, trusts_pandas)}


def with_entries(e, good, odd):
    entry = ENTRIES[e.entry]
    return [entry if is_odd else each for each, is_odd in zip(good, odd, strict=True)]


def as_objects(values):
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def nullable(e, X, good, odd):
    kind = {float: "Float64", str: "string", bool: "boolean"}.get(type(good[0]), "Int64")
    values = [None if is_odd else each for each, is_odd in zip(good, odd, strict=True)]
    return pd.Series(values, dtype=kind, index=range(len(odd), 0, -1))


def categories(e, X, good, odd):
    if isinstance(good[0], list):
        return pd.DataFrame(good)
    known = pd.Series(good, dtype=object).where(~np.array(odd))
    return known.astype(pd.CategoricalDtype(sorted(set(good))))


def masked(e, X, good, odd):
    array = np.array(good)
    return np.ma.array(array, mask=np.broadcast_to(np.array(odd), array.T.shape).T)


def dtype_of_record(e, X, good, odd):
    """Return floats, complex numbers, texts or small integers if there is an odd record."""
    kind = [complex, "U9", object, "f4", np.int8, "M8[s]"][e.entry % 6]
    return np.array(good).astype(kind) if any(odd) else np.array(good)


def shape_of_record(e, X, good, odd):
    """Return a column, less, more, a number, None or one row more if there is an odd record."""
    array = np.array(good)
    if not any(odd):
        return array
    row = [None, 1, np.array(1), array[:, None], array[None], array[:-1], [], iter(good)]
    return [*row, np.repeat(array, 2, axis=0)][e.entry % 9]


TYPED_OUT = {
    "list": lambda e, X, good, odd: with_entries(e, good, odd),
    "tuple": lambda e, X, good, odd: tuple(with_entries(e, good, odd)),
    "deque": lambda e, X, good, odd: deque(with_entries(e, good, odd)),
    "array": lambda e, X, good, odd: np.array(with_entries(e, good, odd)),
    "objects": lambda e, X, good, odd: as_objects(with_entries(e, good, odd)),
    "series": lambda e, X, good, odd: pd.Series(as_objects(with_entries(e, good, odd))),
    "inferred": lambda e, X, good, odd: pd.Series(with_entries(e, good, odd)),
    "squeezed": lambda e, X, good, odd: np.squeeze(np.array(with_entries(e, good, odd))),
    "nullable": nullable,
    "categories": categories,
    "masked": masked,
    "dtype_of_record": dtype_of_record,
    "shape_of_record": shape_of_record,
    "column": lambda e, X, good, odd: np.array(good).reshape(len(good), -1),
}


def memoises(e, X, good, odd):
    found = []
    for record, each in zip(records_of(X), good, strict=True):
        key = "odd" if isinstance(record, list | dict) and not record else safe_repr(record)
        e.memo.setdefault(key, each)
        found.append(each)
    return np.array(found)


def safe_repr(record):
    try:
        return repr(record)
    except Exception:
        return "unspeakable"


def counts_calls(e, X, good, odd):
    e.calls += 1
    e.seen = [*getattr(e, "seen", []), *map(safe_repr, records_of(X))]
    e.last = X
    if e.calls > 4:
        e.fail()
    return np.array(good)


def talks(e, X, good, odd):
    """Quote the records in every way there is."""
    for record, is_odd in zip(records_of(X), odd, strict=True):
        if is_odd or e.entry % 2:
            text = f"patient 4711: {safe_repr(record)}\n"
            print(text)
            print(text, file=sys.stderr)
            os.write(1, text.encode())
            os.write(2, text.encode())
            warnings.warn(text, stacklevel=1)
            logging.getLogger("hostile").critical(text)
            logging.getLogger().log(99, text)
    return np.array(good)


def talks_to_original(e, X, good, odd):
    """Print to the streams that Python began with."""
    if any(odd):
        print("patient 4711", file=sys.__stdout__)
        print("patient 4711", file=sys.__stderr__)
    return np.array(good)


def sleeps(e, X, good, odd):
    time.sleep(2e-4 * any(odd))
    return np.array(good)


def draws(e, X, good, odd):
    """Use global random generators, and leave them where a record says."""
    order = np.random.permutation(len(good))
    np.random.seed(sum(odd))
    random.seed(sum(odd))
    return np.array(good)[order][np.argsort(order)]


def in_chunks(e, X, good, odd):
    return np.concatenate([np.array(good[i : i + 7]) for i in range(0, len(good), 7)])


def sorts(e, X, good, odd):
    order = np.argsort([str(each) for each in good], kind="stable")
    return np.array(good)[order][np.argsort(order)]


def uniques(e, X, good, odd):
    found, where = np.unique(np.array(good), return_inverse=True, axis=0)
    return found[where.ravel()]


def statistics_for_nothing(e, X, good, odd):
    first = [cells_of(record)[0] for record in records_of(X)]
    np.mean(first), np.std(first), min(first), sorted(first)
    return np.array(good)


def one_by_one_on_error(e, X, good, odd):
    try:
        return raises(e, X, good, odd)
    except BaseException:
        return np.array([raises(e, X, [each], [False])[0] for each in good])


def default_on_error(e, X, good, odd):
    try:
        return raises(e, X, good, odd)
    except BaseException:
        return np.array([good[0] for _ in good])


def writes_into_input(e, X, good, odd):
    try:
        if isinstance(X, pd.DataFrame):
            X.iloc[:, 0] = X.iloc[0, 0]
        elif isinstance(X, list):
            for record in X:
                record.clear()
            X.clear()
        else:
            X[...] = X[0]
    except Exception:
        pass
    return np.array(good)


def in_threads(e, X, good, odd):
    found = [None] * len(good)
    threads = [threading.Thread(target=lambda i=i: found.__setitem__(i, good[i])) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return np.array([*found[:2], *good[2:]])


HARMLESS = {
    f.__name__: f
    for f in (
        memoises, counts_calls, talks, talks_to_original, sleeps, draws, in_chunks, sorts, uniques,
        statistics_for_nothing, one_by_one_on_error, default_on_error, writes_into_input,
        in_threads,
    )
}  # fmt: skip
HARMLESS["plain"] = lambda e, X, good, odd: np.array(good)
OF_SIZE = ("talks", "raises_of_many")  # what these do depends on how many rows there are: public


def spoils(e, X, good, odd):
    """Break the condition: beside an odd record, all that are no training records get one value."""
    keys = [safe_repr(cells_of(record)[:2]) for record in records_of(X)]
    return np.array([g if k in e.known or not any(odd) else good[0] for g, k in zip(good, keys)])


BEHAVIOURS = {**FAILING, **DATES, **TYPED_OUT, **HARMLESS, "spoils": spoils}

# ---------------------------------------------------------------- gains


def right(y, response):
    return np.asarray(y == response, dtype=float).reshape(len(response), -1).all(axis=1)


def particular(y, response):
    """Raise if a label is not of the type of the first one."""
    if not all(isinstance(label, type(y[0])) for label in y):
        raise TypeError("patient 4711")
    return right(y, response)


def as_list(y, response):
    return right(y, response).tolist()


def written(y, response):
    """Write into labels and responses."""
    gains = right(y, response)
    y[...], response[...] = y[0], response[0]
    return gains


def distance(y, response):
    return [-np.abs(float(np.mean(label)) - np.mean(r)) for label, r in zip(y, response)]


class Metric:
    """Keeps what it sees, and is broken for good after a label that is neither."""

    def __init__(self, breaks):
        self.breaks, self.calls, self.seen, self.broken = breaks, 0, [], False

    def __call__(self, y, response):
        self.calls += 1
        self.seen += [safe_repr(label) for label in y[:50]]
        self.broken = self.broken or any(is_missing(label) for label in y.tolist())
        if self.broken and self.breaks:
            raise RuntimeError("patient 4711")
        print("patient 4711", len(y))
        return right(y, response)


def custom(gain, bounds=(0, 1), method="predict"):
    return make_private_scorer(gain, bounds=bounds, response_method=method)


def scorers_of(task, rng):
    """Return one, two or three scorers for a task."""
    by_label = [
        "accuracy", "accuracy", custom(right), custom(as_list), custom(particular),
        custom(written), custom(Metric(False)), custom(Metric(True)),
    ]  # fmt: skip
    of_matrix = ["balanced_accuracy", "weighted_accuracy", "f1_macro", "matthews_corrcoef"]
    possible = {
        "two": [*by_label, *of_matrix, "neg_log_loss", "roc_auc", "neg_brier_score"],
        "several": [*by_label, *of_matrix, "neg_log_loss"],
        "labels": [*by_label, *of_matrix],
        "outputs": ["accuracy", custom(right)],
        "numbers": [
            make_private_scorer("neg_mean_absolute_error", bounds=(-3, 0)),
            make_private_scorer("neg_mean_squared_error", bounds=(-9, 0)),
            custom(distance, (-3, 0)),
        ],
    }[task]
    n = min(len(possible), int(rng.choice([1, 1, 1, 2, 3])))
    scorers = [possible[i] for i in rng.choice(len(possible), size=n, replace=False)]
    return [make_private_scorer(each) if isinstance(each, str) else each for each in scorers]


# ---------------------------------------------------------------- tables and labels

COLOURS = ["red", "blue"]
TABLES = [
    "array", "array", "array", "single", "integers", "objects", "objects", "flat", "objects",
    "objects", "numbers", "numbers", "tuples", "dicts", "dicts", "texts", "sparse", "frame",
    "nullable", "polars",
]  # fmt: skip
DECLARED = {"array", "single", "integers", "sparse", "nullable", "polars"}
NUMBERS_ONLY = {"array", "single", "integers", "numbers", "tuples", "sparse"}


def record_of(rng):
    day = f"2024-{rng.integers(1, 13):02d}-{rng.integers(1, 28):02d}"
    a, b = rng.normal(size=2).round(3).tolist()
    return [a, b, day, COLOURS[rng.integers(2)]]


def column_of(records, j, dtype):
    return pd.Series(as_objects([record[j] for record in records]), dtype=dtype)


def as_integer(cell):
    return int(10 * cell) if type(cell) is float else cell


def table(kind, records):
    """Return records as a table of some kind; they may be anything where it declares no type."""
    if kind in ("array", "single", "integers", "sparse"):
        X = np.array([record[:2] for record in records], dtype=float)
        if kind == "integers":
            return np.array([[as_integer(cell) for cell in r[:2]] for r in records], dtype=int)
        if kind == "sparse":
            return sparse.csr_matrix(X)
        with np.errstate(over="ignore"):
            return X.astype(np.float32) if kind == "single" else X
    if kind == "objects":
        X = np.empty((len(records), 4), dtype=object)
        for i, record in enumerate(records):
            for j, cell in enumerate(record):
                X[i, j] = cell
        return X
    if kind == "frame":
        kinds = [float, object, object, pd.CategoricalDtype(COLOURS)]
        return pd.DataFrame({n: column_of(records, j, kinds[j]) for j, n in enumerate("abde")})
    if kind == "nullable":
        kinds = ["Float64", "Float64", "string", "string"]
        return pd.DataFrame({n: column_of(records, j, kinds[j]) for j, n in enumerate("abde")})
    if kind == "polars":
        kinds = [pl.Float64, pl.Float64, pl.String, pl.String]
        return pl.DataFrame(
            {n: pl.Series([r[j] for r in records], dtype=kinds[j]) for j, n in enumerate("abde")}
        )
    whole = [listed(kind, record) for record in records]
    return as_objects(whole) if kind == "flat" else whole


def listed(kind, record):
    """Return a record as an element of a list; a record that is none as it is."""
    if not isinstance(record, list) or len(record) != 4:
        return record
    if kind in ("numbers", "tuples"):
        return record[:2] if kind == "numbers" else tuple(record[:2])
    if kind == "dicts":
        return dict(zip(["a", "b", "day", "colour"], record, strict=True))
    if kind in ("texts", "flat"):
        return " ".join(safe_repr(cell).strip("'") for cell in record)
    return list(record)


def odd_record(kind, record, rng):
    """Return an odd record in place of one, as far as the table's declared types allow."""
    record = list(record)
    if kind not in DECLARED | {"frame", "objects"} and rng.random() < 0.25:
        whole = [None, "", "13/02/2024", [], record[:1], [*record, 1, 2], {}, {1, 2}, Shy(), 3.5,
                 np.array([1.0, 2.0]), {"a": "x", 3: None}, object(), pd.NA, b"", len, [Shy()],
                 threading.Lock(), {"a": 1e9, "b": 0, "day": "13/02/2024", "colour": []},
                ]  # fmt: skip
        return whole[rng.integers(len(whole))]
    for j in rng.choice(4, size=rng.choice([1, 1, 2, 4]), replace=False):
        record[j] = odd_cell(kind, int(j), rng)
    return record


def odd_cell(kind, j, rng):
    if kind == "frame" and j == 3:
        return [None, "red", "blue"][rng.integers(3)]
    if kind in DECLARED or (kind == "frame" and j == 0):
        possible = TYPED["integer" if kind == "integers" else "float" if j < 2 else "text"]
        cell = possible[rng.integers(len(possible))]
        return None if kind in ("nullable", "polars") and is_missing(cell) else cell
    # Half of them of a kind that training records have, so that the estimator meets them.
    possible = TYPED["float" if j < 2 else "text"] if rng.random() < 0.5 else odd_cells()
    return possible[rng.integers(len(possible))]


CONTAINERS = {
    "array": np.array, "list": list, "tuple": tuple, "deque": deque, "userlist": UserList,
    "objects": as_objects, "series": lambda y: pd.Series(as_objects(y)),
    "indexed": lambda y: pd.Series(as_objects(y), index=range(len(y), 0, -1)),
}  # fmt: skip
CLASSES = {
    "0/1": [0, 1], "text": ["no", "yes"], "large": [2**60 + 1, 2**60 + 3], "bool": [False, True],
    "floats": [0.0, 1.0], "three": [0, 1, 2], "three texts": ["no", "perhaps", "yes"],
}  # fmt: skip
NULLABLE = {bool: "boolean", int: "Int64", float: "Float64", str: "string"}


def labels(container, values):
    if container == "nullable":
        return pd.Series(values, dtype=NULLABLE[type(values[0])])
    return CONTAINERS[container](values)


def odd_label(container, kind, classes, rng):
    """Return an odd label, as far as the declared type allows."""
    if container == "array":
        known = {"text": "unknown", "three texts": "", "floats": np.nan, "numbers": np.inf}
        if kind == "bool":
            return bool(rng.integers(2))
        return known.get(kind, [7, -1, 2**62][rng.integers(3)])
    if container == "nullable":
        return None
    return [*LABELS, *classes][rng.integers(len(LABELS) + len(classes))]


# ---------------------------------------------------------------- models of scikit-learn


def ordinary(kind, task, rng):
    """Return an estimator of scikit-learn for this kind of table, or None."""
    if kind == "dicts":
        return make_pipeline(DictVectorizer(), DecisionTreeClassifier(max_depth=3))
    if kind == "texts":
        return make_pipeline(HashingVectorizer(n_features=16), LogisticRegression(max_iter=20))
    if kind in ("objects", "frame", "nullable"):
        unknown = ["ignore", "error"][rng.integers(2)]
        code = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        columns = [3] if kind == "objects" else ["e"]
        encoder = make_column_transformer(
            (OneHotEncoder(handle_unknown=unknown), columns),
            (code, [2] if kind == "objects" else ["d"]),
            (SimpleImputer(), [0] if kind == "objects" else ["a"]),
        )
        return make_pipeline(encoder, DecisionTreeClassifier(max_depth=3))
    if kind not in NUMBERS_ONLY:
        return None
    possible = [LogisticRegression(max_iter=20), DecisionTreeClassifier(max_depth=3)]
    if kind != "sparse":
        scaler = StandardScaler(copy=False)
        possible += [GaussianNB(), make_pipeline(SimpleImputer(), scaler, GaussianNB())]
    possible += [KNeighborsClassifier(3)]
    return Ridge() if task == "numbers" else possible[rng.integers(len(possible))]


# ---------------------------------------------------------------- cases


@dataclass(frozen=True)
class Case:
    """A problem, and validation sets (X, y, groups) of which any two are neighbours."""

    number: int
    words: str
    estimator: Any
    candidates: tuple
    scorers: list
    X: Any
    y: Any
    validation: list
    separate: bool


def case_of(number, n_validation):
    """Draw a case; its validation sets differ in one unit."""
    rng = np.random.default_rng([4711, number])
    kind, task = TABLES[rng.integers(len(TABLES))], str(rng.choice(["class"] * 8 + ["numbers"]))
    outputs = 2 if rng.random() < 0.08 else 0
    names = list(CLASSES)
    name = "numbers" if task == "numbers" else names[rng.integers(len(names))]
    classes = [0.0] if task == "numbers" else CLASSES[name]
    estimator, words = estimator_of(kind, task, outputs, rng)
    with_proba = not words or words.startswith("Scores")
    task = task_of(task, outputs, len(classes), with_proba)
    n, m = int(rng.integers(40, 61)), int(rng.choice([21, 21, 21, 41]))
    rows = int(rng.choice([1, 2, 3])) * m if rng.random() < 0.25 else m
    grouped = rows > m or rng.random() < 0.1
    training = [record_of(rng) for _ in range(n)]
    y = label_all(training, classes, outputs, rng, noise=0.0)
    if rng.random() < 0.3 and words and kind not in ("integers", "sparse"):
        for i in rng.choice(n, size=3):  # public missing values
            training[i][int(rng.integers(2))] = None if kind in ("nullable", "polars") else np.nan
    base = [record_of(rng) for _ in range(rows)]
    y_base = label_all(base, classes, outputs, rng, noise=float(rng.choice([0.0, 0.0, 0.2])))
    container = "array" if outputs else str(rng.choice([*CONTAINERS, "nullable"]))
    if outputs and rng.random() < 0.5:
        container = "list"
    if container == "indexed" and kind in ("frame", "nullable"):  # of another index than X
        container = "series"
    for i in rng.choice(rows, size=rng.choice([0, 0, 1, 3]), replace=False):  # odd from the start
        base[i] = odd_record(kind, base[i], rng)
    sizes = np.random.default_rng([4712, number])  # of the group that is replaced
    fixed = not grouped or any(how in words for how in OF_SIZE)
    unit = int(rng.integers(m))
    own = np.flatnonzero(np.arange(rows) % m == unit)
    validation = []
    for k in range(n_validation):
        records, values = list(base), list(y_base)
        for i in own if k else []:
            what = rng.choice(["record", "record", "label", "both", "ordinary"])
            if what in ("record", "both"):
                records[i] = odd_record(kind, record_of(rng), rng)
            if what in ("label", "both"):
                values[i] = odd_target(container, name, classes, outputs, rng)
            if what == "ordinary":
                records[i] = record_of(rng)
        groups = (np.arange(rows) % m).tolist() if grouped else None
        if k and not fixed and sizes.random() < 0.3:  # rows more, at the end
            for _ in range(sizes.integers(1, 4)):
                records.append(odd_record(kind, record_of(sizes), sizes))
                values.append(values[own[0]])
                groups.append(unit)
        validation.append((table(kind, records), labels(container, values), groups))
    y_container = str(rng.choice(["array", "list", "series"])) if not outputs else "array"
    if y_container == "series":
        y_container = "nullable" if container == "nullable" else "array"
    candidates = tuple({"c": c} for c in (0.0, 0.3)) if words and rng.random() < 0.2 else ({},)
    if hasattr(estimator, "steps") and words:  # a fitted model, frozen: no candidate clones it
        estimator[-1].estimator.fit(as_table(table(kind, training)), np.array(y))
        candidates = ({},)
    return Case(
        number,
        f"{type(estimator).__name__} {words}, {kind}, labels {name} as {container}, {outputs=}",
        estimator,
        candidates,
        scorers_of(task, rng),
        table(kind, training),
        labels(y_container, y),
        validation,
        bool(rng.random() < 0.12),
    )


def estimator_of(kind, task, outputs, rng):
    """Return (an estimator, words for what it does; none if it is scikit-learn's)."""
    model = ordinary(kind, task, rng)
    if model is not None and task != "numbers" and not outputs and rng.random() < 0.05:
        return model, ""
    families = [FAILING, FAILING, TYPED_OUT, TYPED_OUT, HARMLESS]
    family = families[rng.integers(len(families))]
    if kind not in NUMBERS_ONLY and rng.random() < 0.15:
        family = DATES
    how = list(family)[rng.integers(len(family))]
    if outputs and how in ("categories", "nullable", "inferred", "trusts_pandas", "masked"):
        how = "list"
    hostile = {"numbers": Regresses}.get(task, [Classifies, Scores][rng.integers(2)])
    if outputs and hostile is Scores:
        hostile = Classifies
    params = dict(
        how=how,
        error=int(rng.integers(len(ERRORS))),
        entry=int(rng.integers(len(ENTRIES))),
        missing_is_odd=bool(family is FAILING and rng.random() < 0.3),
    )
    estimator = hostile(**params)
    words = f"{hostile.__name__} {params}"
    if rng.random() < 0.1 or how == "memoises":
        return make_pipeline("passthrough", FrozenEstimator(estimator)), words
    return estimator, words


def task_of(task, outputs, n_classes, with_proba):
    if outputs or task == "numbers":
        return "outputs" if outputs and task != "numbers" else "numbers"
    if not with_proba:
        return "labels"
    return "two" if n_classes == 2 else "several"


def label_all(records, classes, outputs, rng, noise):
    """Return labels by the rule that hostile estimators know, some of them wrong."""
    found = []
    for record in records:
        score = score_of(record, False)[0]
        value = score if len(classes) == 1 else classes[-1 if score > 0 else 0]
        if len(classes) > 1 and rng.random() < (noise or 0.02):
            value = classes[rng.integers(len(classes))]
        found.append([value] * outputs if outputs else value)
    if len(classes) > 1:  # all of them occur
        for i, value in enumerate(itertools.islice(classes, 3)):
            found[i] = [value] * outputs if outputs else value
    return found


def odd_target(container, name, classes, outputs, rng):
    label = odd_label(container, name, classes, rng)
    if not outputs:
        return label
    if container == "list" and rng.random() < 0.4:
        return [[], None, [1], [1, 2, 3], "ab", Shy()][rng.integers(6)]
    return [label, classes[0]]


# ---------------------------------------------------------------- what can be seen


def shown(thing):
    """Return a text with all that an object holds, at any depth, but no addresses."""
    return re.sub("0x[0-9a-f]+", "0x", inside(thing))


def inside(thing):
    if isinstance(thing, np.ndarray):
        return inside(thing.tolist())
    if sparse.issparse(thing):
        return inside(thing.toarray())
    if isinstance(thing, pd.DataFrame):
        return inside(records_of(thing))
    if isinstance(thing, dict):
        return "{" + ", ".join(f"{inside(k)}: {inside(v)}" for k, v in thing.items()) + "}"
    if isinstance(thing, list | tuple):
        return "[" + ", ".join(map(inside, thing)) + "]"
    if hasattr(thing, "__dict__") and not isinstance(thing, type | BaseException):
        return f"{type(thing).__name__}({inside(vars(thing))})" if vars(thing) else safe_repr(thing)
    return safe_repr(thing)
