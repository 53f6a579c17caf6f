"""Cells, labels, estimators and gains that try to let one record change what others get.

The estimators meet the condition of the guarantee as far as public records can tell: whatever else
they do, a record is predicted by a rule of its own cells, or everything fails or changes visibly,
companions included. `system/test_twins.py` searches with them.
"""

import logging
import os
import random
import sys
import threading
import time
import warnings
from collections import deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

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


LABELS = [
    None, np.nan, pd.NA, pd.NaT, "unknown", "", 7, -1, 2**70, 10**400, 0.5, 1.0, True, b"1", 1j,
    Decimal(1), Decimal("sNaN"), Fraction(1, 2), [1], [], {"a"}, (0, 1), np.array([1, 2]),
    np.array(1), object(), len, threading.Lock(), Shy(), Text("no"), Number(1.0), Whole(1), "1",
    np.datetime64("2024-02-13"), 2**60 + 2, float(2**60), np.str_("yes"), np.int8(1), np.inf,
    -1e308,
]  # fmt: skip

CLASSES = {
    "0/1": [0, 1], "text": ["no", "yes"], "large": [2**60 + 1, 2**60 + 3], "bool": [False, True],
    "floats": [0.0, 1.0], "three": [0, 1, 2], "three texts": ["no", "perhaps", "yes"],
}  # fmt: skip

# ---------------------------------------------------------------- hostile estimators


def rows_of(X):
    """Return the records of a table of any kind as lists."""
    if sparse.issparse(X):
        return X.toarray().tolist()
    if hasattr(X, "iloc"):
        return [[X.iat[i, j] for j in range(X.shape[1])] for i in range(len(X))]
    return X.tolist()


def is_missing(cell):
    """Whether a cell is None, NaN, NA or NaT."""
    return cell is None or cell is pd.NA or cell is pd.NaT or (type(cell) is float and cell != cell)


def score_of(record, missing_is_odd=False):
    """Return (the score of a record, whether it is odd), from its first two cells alone."""
    try:
        gone = [is_missing(cell) for cell in record[:2]]
        a, b = (0.0 if none else float(cell) for cell, none in zip(record, gone, strict=False))
        if -1e4 < a + 0.5 * b < 1e4:
            return a + 0.5 * b, missing_is_odd and any(gone)
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
    """Predicts by `score_of`, and does on top what `how`, a key of `BEHAVIOURS`, says.

    `error` and `entry` choose which exception it raises, and what it returns for an odd record.
    """

    def __init__(self, how="plain", error=0, entry=0, missing_is_odd=False, c=0.0):
        self.how = how
        self.error = error
        self.entry = entry
        self.missing_is_odd = missing_is_odd
        self.c = c

    def fit(self, X, y):
        self.memo, self.calls, self.broken, self.fitted_ = {}, 0, False, True
        return self

    def _respond(self, X, value):
        scores = [score_of(record, self.missing_is_odd) for record in rows_of(X)]
        good = [value(score) for score, _ in scores]
        return BEHAVIOURS[self.how](self, X, good, [odd for _, odd in scores])

    def fail(self):
        raise ERRORS[self.error % len(ERRORS)]("patient 4711")


class Classifies(ClassifierMixin, Behaves):
    """Predicts the first class or the last one, with probabilities and decision values."""

    def fit(self, X, y):
        self.classes_ = np.unique(np.asarray(y))
        self.labels = self.classes_.tolist()
        return super().fit(X, y)

    def predict(self, X):
        return self._respond(X, lambda score: self.labels[-1 if score > self.c else 0])

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


def failing(when):
    """Return a behaviour that raises, if the list of what is odd says so."""

    def respond(e, X, good, odd):
        if when(odd):
            e.fail()
        return np.array(good)

    return respond


raises = failing(any)


def breaks_for_good(e, X, good, odd):
    e.broken = e.broken or any(odd)
    return failing(lambda _: e.broken)(e, X, good, odd)


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
    np.array([record[:2] for record in rows_of(X)], dtype=float)
    return np.array(good)


def trusts_first_type(e, X, good, odd):
    first = [type(record[0]) for record in rows_of(X)]
    return failing(lambda _: {*first} != {first[0]})(e, X, good, odd)


def named(*behaviours):
    return {behaviour.__name__: behaviour for behaviour in behaviours}


FAILING = {
    "raises": raises,
    "raises in company": failing(lambda odd: any(odd) and len(odd) > 1),
    "raises of two": failing(lambda odd: sum(odd) > 1),
    "raises alone": failing(lambda odd: len(odd) == 1),
    "raises of many": failing(lambda odd: len(odd) > 50),
    "needs several": failing(lambda odd: any(odd) or len(odd) < 2),
} | named(
    breaks_for_good, gives_up, raises_warnings, leaves_filters, leaves_errstate, recurses,
    calls_numpy, trusts_first_type,
)  # fmt: skip


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


def of_entries(build):
    """Return a behaviour that returns something odd for an odd record."""

    def respond(e, X, good, odd):
        entry = ENTRIES[e.entry % len(ENTRIES)]
        return build([entry if is_odd else each for each, is_odd in zip(good, odd, strict=True)])

    return respond


TYPED_OUT = {
    "list": of_entries(list),
    "tuple": of_entries(tuple),
    "deque": of_entries(deque),
    "array": of_entries(np.array),
    "objects": of_entries(as_objects),
    "series": of_entries(lambda values: pd.Series(as_objects(values))),
    "inferred": of_entries(pd.Series),
    "squeezed": of_entries(lambda values: np.squeeze(np.array(values))),
    "column": lambda e, X, good, odd: np.array(good).reshape(len(good), -1),
} | named(nullable, categories, masked, dtype_of_record, shape_of_record)


def memoises(e, X, good, odd):
    found = []
    for record, each in zip(rows_of(X), good, strict=True):
        e.memo.setdefault(safe_repr(record), each)
        found.append(each)
    return np.array(found)


def safe_repr(record):
    try:
        return repr(record)
    except Exception:
        return "unspeakable"


def counts_calls(e, X, good, odd):
    e.calls += 1
    e.seen = [*getattr(e, "seen", []), *map(safe_repr, rows_of(X))]
    e.last = X
    if e.calls > 4:
        e.fail()
    return np.array(good)


def talks(e, X, good, odd):
    """Quote the records in every way there is."""
    for record, is_odd in zip(rows_of(X), odd, strict=True):
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
    first = [record[0] for record in rows_of(X)]
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
        else:
            X[...] = X[0]
    except Exception:
        pass
    return np.array(good)


def in_threads(e, X, good, odd):
    found = [None] * len(good)
    threads = [threading.Thread(target=found.__setitem__, args=(i, good[i])) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return np.array([*found[:2], *good[2:]])


HARMLESS = {"plain": lambda e, X, good, odd: np.array(good)} | named(
    memoises, counts_calls, talks, talks_to_original, sleeps, draws, in_chunks, sorts, uniques,
    statistics_for_nothing, one_by_one_on_error, default_on_error, writes_into_input, in_threads,
)  # fmt: skip
BEHAVIOURS = {**FAILING, **TYPED_OUT, **HARMLESS}

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


GAINS = (as_list, particular, written, Metric(False), Metric(True))
