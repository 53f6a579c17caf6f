"""Tries to break the list of what predicts row by row: replaces one record and compares the others.

`search` makes models of a class with its options of text and truth values, fits them on tables of
many kinds, and puts odd records in several places.
"""

import contextlib
import functools
import inspect
import io
import pickle
from itertools import cycle

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils._param_validation import MissingValues, Options

from sklearn_dpbo._evaluation.listed import is_estimator, why_unlisted

METHODS = "predict", "predict_proba", "decision_function", "transform"
N, M, D = 90, 30, 8  # of 8 columns, one row is multiplied otherwise than two


# ---------------------------------------------------------------------- tables and odd records
def of_numbers(make, odd):
    """A training table, a batch to predict, and odd records."""
    return make(N), make(M), [np.asarray(row, dtype=float) for row in odd]


def with_holes(table, rows, columns, code):
    table = table.copy()
    table[rows, columns] = code
    return table


@functools.cache
def tables(code):
    """Tables of every kind, by name. `code` is how a model writes a missing number."""
    rng = np.random.default_rng(0)
    extremes = [np.full(D, v) for v in (np.nan, np.inf, 1e308, -1e308, 1e160, -1e9, 0, 1, 1e-310)]
    holes = [np.full(D, code), [code, 0, 1, 2] * 2, [1, code] * 4, [*range(1, D), code]]
    odd = [*extremes, *holes, rng.normal(size=D) * 50, [-1, 1] * 4]

    def normal(k):
        return np.round(rng.normal(size=(k, D)), 1)

    def counts(k):
        return sparse.csr_matrix(rng.integers(0, 3, (k, D)).astype(float))

    def scattered(k):
        at = np.nonzero(rng.random((k, D)) < 0.2)
        return with_holes(normal(k), *at, code)

    def one_hole(k):  # of the batch
        table = scattered(k) if k == N else normal(k)
        return table if k == N else with_holes(table, 3, [1, 3, 4, 6], code)

    all_kinds = {
        "numbers": of_numbers(normal, odd),
        "float32": of_numbers(lambda k: normal(k).astype(np.float32), odd),
        "whole": of_numbers(lambda k: rng.integers(0, 5, (k, D)), [[0] * D, [9] * D, [-1] * D]),
        "positive": of_numbers(lambda k: np.abs(normal(k)) + 0.1, odd),
        "missing": of_numbers(scattered, odd),
        "one missing": of_numbers(one_hole, odd),
        "sparse": of_numbers(counts, [*odd, [0, 0, 5, 0] * 2]),
        "zeros": of_numbers(lambda k: counts(k) if k == N else sparse.csr_matrix((k, D)), odd[4:]),
        "one column": of_numbers(lambda k: normal(k)[:, :1], [row[:1] for row in odd]),
    }
    return all_kinds | texts(rng) | frames(rng)


def objects(cells):
    return np.fromiter(cells, dtype=object, count=len(cells))


def texts(rng):
    words = ["cat", "dog", "a  bird", "CAT dog", "Él, niño"]
    odd = ["", "unheard of words", "cat " * 9, "\U0001f600", None, 3.0, np.nan, b"cat"]

    def text(k):
        return objects(rng.choice(words, k).tolist())

    def mapping(k):
        return objects([{"a": 1.0, "b": w, "c": i} for i, w in enumerate(rng.choice(words, k))])

    strange = [{}, {"z": 9}, {"a": np.inf}, {"a": None, "b": 3}, {"b": ["cat", "dog"]}, 3]
    return {
        "texts": (text(N), text(M), odd),
        "dicts": (mapping(N), mapping(M), strange),
        "words": (*(objects([w.split() for w in text(k)]) for k in (N, M)), [[], ["cat"], None]),
    }


def frames(rng):
    """Frames of a column c, of declared types and of objects of several kinds, and numbers f."""
    mixed = [0.5, 1, True, "a", "1", None, np.nan, 2**62]
    strange = ["new", None, np.nan, 0, False, np.True_, 10**25, np.inf, "1", -1.5]
    of_categories = pd.CategoricalDtype(["a", "b", "never"])
    columns = {
        "objects": (mixed, object, strange),
        "texts in a frame": (["a", "b", "zz", None], object, ["new", "", None, np.nan]),
        "numbers as objects": ([0.5, 1, None], object, ["x", "2", True, np.nan, 1e308]),
        "categories": (["a", "b", None], of_categories, ["never", None, "new"]),
        "nullable": ([1, 2, None], "Int64", [None, 7, -1]),
        "truth values": ([True, False], bool, [True, False]),
    }

    def frame(cells, dtype, k):
        c = pd.Series(objects([cells[i] for i in rng.integers(len(cells), size=k)]), dtype=object)
        return pd.DataFrame({"c": c.astype(dtype), "f": np.round(rng.normal(size=k), 1)})

    made = {
        name: (frame(cells, dtype, N), frame(cells, dtype, M), [(c, 9.0) for c in odd])
        for name, (cells, dtype, odd) in columns.items()
    }
    X, _, odd = made["objects"]
    return made | {"one kind of objects": (X, frame([True], object, M), odd)}


def replaced(batch, i, odd):
    """A batch with an odd record in place of record i; an exception if its type cannot hold it."""
    if sparse.issparse(batch):
        return sparse.csr_matrix(replaced(batch.toarray(), i, odd))
    if isinstance(batch, pd.DataFrame):
        cells = batch["c"].astype(object).tolist()
        cells[i] = odd[0]
        f = batch["f"].where(np.arange(len(batch)) != i, odd[1])
        c = pd.Series(objects(cells), dtype=object).astype(batch["c"].dtype)
        return pd.DataFrame({"c": c, "f": f})
    batch = batch.copy()
    batch[i] = odd
    return batch


# ---------------------------------------------------------------------- models
def values_of(constraint):
    """Values of an option that can be listed."""
    if isinstance(constraint, Options):
        return sorted(constraint.options, key=str)
    if isinstance(constraint, MissingValues):
        return [-9999]
    return [True, False] if constraint == "boolean" else []


IRRELEVANT = {"verbose", "n_jobs", "memory", "copy", "copy_X", "warm_start", "input", "scoring"}


def options_of(cls, thorough):
    """No options, or each value of each by itself, and some choices of all at once."""
    yield {}
    if not thorough:
        return
    constraints = getattr(cls, "_parameter_constraints", {})
    values = {
        name: [value for each in some for value in values_of(each)]
        for name, some in constraints.items()
        if isinstance(some, list) and name not in IRRELEVANT
    }
    values = {name: some for name, some in values.items() if some}
    rng = np.random.default_rng(0)
    yield from ({name: value} for name, some in values.items() for value in some)
    for _ in range(6 if len(values) > 1 else 0):
        yield {name: some[rng.integers(len(some))] for name, some in values.items()}


NAMED = {
    True: [("a", LogisticRegression(max_iter=20)), ("b", OneVsRestClassifier(GaussianNB()))],
    False: [("a", Ridge()), ("b", DecisionTreeRegressor(max_depth=3))],
}
# Arguments that classes do not work without, or take long.
ARGUMENTS = {
    "transformers": [("a", StandardScaler(), [0]), ("b", SimpleImputer(), [1])],
    "transformer_list": [("a", StandardScaler()), ("b", SimpleImputer())],
    "steps": [("a", SimpleImputer()), ("b", LogisticRegression(max_iter=20))],
    "param_grid": {},
    "param_distributions": {},
    "random_state": 0,
    "n_estimators": 3,
    "max_iter": 20,
    "bounds": (-3, 3),
    "y_bounds": (-5, 5),
    "n_quantiles": 20,
    "nu": 0.1,
    "n_features": 16,
    "cv": 2,
    "Cs": 2,
    "thresholds": 5,
    "max_subpopulation": 50,
}
FEW_COMPONENTS = {
    "NMF", "FactorAnalysis", "FastICA", "KernelPCA", "GaussianMixture", "GaussianRandomProjection",
    "SparseRandomProjection",
}  # fmt: skip
BOOSTED = {
    "xgboost": {"n_jobs": 1, "enable_categorical": True},
    "lightgbm": {"n_jobs": 1, "verbose": -1, "min_child_samples": 2},
    "catboost": {"verbose": 0, "thread_count": 1, "allow_writing_files": False},
}


def made(cls, options):
    """Models of a class: of those that hold another estimator, with several sorts of it."""
    known = inspect.signature(cls).parameters
    given = {name: value for name, value in ARGUMENTS.items() if name in known}
    given |= BOOSTED.get(cls.__module__.partition(".")[0], {})
    if cls.__name__ in FEW_COMPONENTS:
        given["n_components"] = 2
    if cls.__name__ == "OrthogonalMatchingPursuitCV":
        del given["max_iter"]  # of columns
    named = NAMED["Regress" not in cls.__name__]
    if "estimators" in known:
        given["estimators"] = named
    nests = "estimator" in known and "estimator" not in options
    nested = [{"estimator": each} for _, each in named] if nests else []
    if not nests or known["estimator"].default is not inspect.Parameter.empty:
        nested = [{}, *nested]
    for own in nested:
        with contextlib.suppress(TypeError, ValueError):  # of a choice of options, say
            yield cls(**{**given, **own, **options})


def fitted(model, X):
    """A model fitted on the first sort of targets that it takes; None if it takes none."""
    numbers = np.random.default_rng(1).normal(size=N)
    labels = np.arange(N) % 3
    with contextlib.suppress(Exception):  # of a table without numbers
        f = X["f"] if isinstance(X, pd.DataFrame) else X[:, [0]]
        labels = np.argsort(np.argsort(np.ravel(f.toarray() if sparse.issparse(f) else f))) * 3 // N
    sorts = [labels, labels > 0, np.c_[labels > 0, labels > 1].astype(int)]
    with contextlib.suppress(Exception):  # of one whose estimator has to be given
        if is_regressor(model):
            sorts = [numbers, np.abs(numbers) + 0.1, np.c_[numbers, numbers**2]]
    if type(model).__name__ == "FrozenEstimator":
        model.estimator = fitted(model.estimator, X)
    for y in sorts:
        with contextlib.suppress(Exception):
            return model.fit(X, y)
    return None


def parts_of(model):
    """The estimators that a model consists of, itself among them, as pickling meets them."""
    parts = []

    class Meets(pickle.Pickler):
        def persistent_id(self, value):
            if is_estimator(value):
                parts.append(value)

    Meets(io.BytesIO(), pickle.HIGHEST_PROTOCOL).dump(model)
    return parts


# ---------------------------------------------------------------------- the test
def output(pickled, method, batch):
    """What a copy of a model returns for a copy of a batch; None if it fails, or is no table."""
    with contextlib.suppress(Exception), np.errstate(all="ignore"):
        found = getattr(pickle.loads(pickled), method)(batch.copy())
        found = found.toarray() if sparse.issparse(found) else np.asarray(found)
        return found if len(found) == batch.shape[0] else None
    return None


def same(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return pickle.dumps(a.tolist()) == pickle.dumps(b.tolist())


def breaks(model, batch, odd_records):
    """Methods of a fitted model of which one record changes the output for another, and how."""
    pickled = pickle.dumps(model)
    for method in METHODS:
        before = output(pickled, method, batch) if hasattr(model, method) else None
        if before is None:
            continue
        for odd, i in zip(odd_records, cycle([M // 2, 0, M - 1]), strict=False):
            with contextlib.suppress(Exception):
                after = output(pickled, method, replaced(batch, i, odd))
                if after is not None and not same(
                    *(np.delete(each, i, 0) for each in (before, after))
                ):
                    yield method, odd, i


def search(cls, thorough, kinds=None, must_be_listed=True, **options):
    """Try to break a class; return the breaks, and the names of all classes that were tried.

    A quick search is of one choice of options, and of the first few of all tables, which take
    turns, that a model can be fitted on.
    """
    rng, broken, tried = np.random.default_rng(len(cls.__name__)), [], set()
    for chosen in [options] if options else options_of(cls, thorough):
        some_tables = tables(chosen.get("missing_values", np.nan))
        names = kinds or (list(some_tables) if thorough else rng.permutation(list(some_tables)))
        left = len(names) if thorough or kinds else 2
        for name, model in ((name, model) for name in names for model in made(cls, chosen)):
            X, batch, odd = some_tables[name]
            if not left or fitted(model, X) is None:
                continue
            parts = parts_of(model)
            if must_be_listed and any(map(why_unlisted, parts)):
                continue
            left -= not thorough
            tried |= {type(part).__name__ for part in parts}
            some = odd if thorough or kinds else [odd[j] for j in rng.permutation(len(odd))[:3]]
            broken += [(name, chosen, *each) for each in breaks(model, batch, some)]
    return broken, tried
