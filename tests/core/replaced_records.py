"""Tries to break the list of what predicts row by row: replaces records and compares the others.

`Search` makes models of a class with its options of text and truth values, fits them on tables of
many kinds, and puts odd records in several places. Four at once: what one of them does to the rows
that stay, it does beside the others, too. Of records that a model refuses, some are put in alone.
"""

import contextlib
import inspect
import io
import pickle
from functools import cache
from importlib.util import find_spec
from itertools import islice

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
from sklearn.utils import murmurhash3_32
from sklearn.utils._param_validation import MissingValues, Options

from sklearn_dpbo.prediction.listed.listed import is_estimator, why_unlisted
from sklearn_dpbo.records.canonical import in_one_form
from sklearn_dpbo.records.tables import as_table

# Models of each choice of options: of one that a method of the class reads, and of others.
N_READ, N_UNREAD = 6, 2
# Tables beside which an odd record is alone of its kind.
TELLING = "one missing", "zeros", "sparse", "positive", "numbers", "one kind of objects"
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


@cache
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

    # Entries in the order of columns, several of one: a number and 20 ones, and numbers.
    in_order = {"a=cat": 1e16, "a": ["cat"] * 20, "z": 1.0}
    keys = sorted((f"k{i}" for i in range(60)), key=lambda key: abs(murmurhash3_32(key)) % 16)
    hashed = {key: (1e16, -1e16, 1.0, 7.0)[i % 4] for i, key in enumerate(keys)}
    backwards = [{"z": 1.0, "a": "cat"}, {keys[-1]: 1.0, keys[0]: 1.0}]

    strange = [{}, {"z": 9}, {"a": np.inf}, {"a": None, "b": 3}, {"b": ["cat", "dog"]}, 3]
    return {
        "texts": (text(N), text(M), odd),
        "dicts": (mapping(N), mapping(M), strange),
        "repeated columns": (*(objects([in_order] * k) for k in (N, M)), backwards),
        "repeated hashes": (*(objects([hashed] * k) for k in (N, M)), backwards),
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
        **DECLARED,
    }
    if find_spec("pyarrow"):
        columns["integers of pyarrow"] = ([1, 2], "int64[pyarrow]", [None, 7, 2**53 + 1])

    def frame(cells, dtype, k):
        c = pd.Series(objects([cells[i] for i in rng.integers(len(cells), size=k)]), dtype=object)
        return pd.DataFrame({"c": c.astype(dtype), "f": np.round(rng.normal(size=k), 1)})

    made = {
        name: (frame(cells, dtype, N), frame(cells, dtype, M), [(c, 9.0) for c in odd])
        for name, (cells, dtype, odd) in columns.items()
    }
    X, _, odd = made["objects"]
    return made | {"one kind of objects": (X, frame([True], object, M), odd)}


# Columns in which an array would have one type or another, were they not read as a fit reads them.
DECLARED = {
    "integer categories": ([1, 2, 3], pd.CategoricalDtype([1, 2, 3, 9]), [None, 9, 4]),
    "nullable integers": ([1, 2], "Int64", [None, 7, 2**53 + 1]),
    "nullable truth values": ([True, False], "boolean", [None, True, False]),
    "long integers": ([2**53, 2**53 + 1, 3], "int64", [2**53 + 1, -(2**53) - 1, 0]),
    "times": (list(pd.to_datetime(["2020-01-01", "2021-06-01"])), "datetime64[ns]", [None]),
}


@cache
def read(code, kind, rows=()):
    """A training table, and one to predict with odd records (by number) in some places.

    Those of declared types are as the package prepares them. None if the types cannot hold these.
    """
    X, batch, odd = tables(code)[kind]
    try:
        batch = replaced(batch, {i: odd[j] for i, j in rows}) if rows else batch
    except Exception:
        return None
    if kind not in (*DECLARED, "integers of pyarrow"):
        return X, batch
    return in_one_form(as_table(X), as_table(batch))


@cache
def names(code, kind):
    """What the odd records are called, alike in all tables."""
    return [repr(row) for row in tables(code)[kind][2]]


def replaced(batch, rows):
    """A batch with odd records in place of some; an exception if its type cannot hold them."""
    if sparse.issparse(batch):
        return sparse.csr_matrix(replaced(batch.toarray(), rows))
    if isinstance(batch, pd.DataFrame):
        c, f = (batch[name].astype(object).tolist() for name in batch.columns)
        for i, odd in rows.items():
            c[i], f[i] = odd
        c = pd.Series(objects(c), dtype=object).astype(batch["c"].dtype)
        return pd.DataFrame({"c": c, "f": f})
    batch = batch.copy()
    for i, odd in rows.items():
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


def options_of(cls):
    """No options, each value of each by itself, and some choices of all at once."""
    yield {}
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
    "n_features_to_select": 2,
    "cv": 2,
    "Cs": 2,
    "thresholds": 5,
    "max_subpopulation": 50,
}
FEW_COMPONENTS = {
    "NMF", "FactorAnalysis", "FastICA", "KernelPCA", "GaussianMixture", "GaussianRandomProjection",
    "SparseRandomProjection",
}  # fmt: skip
CHAINS = {"ClassifierChain", "RegressorChain"}  # which scikit-learn 1.6 gives a base_estimator
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
    name = "base_estimator" if cls.__name__ in CHAINS and "estimator" not in known else "estimator"
    nests = name in known and name not in options
    nested = [{name: each} for _, each in named] if nests else []
    if not nests or known[name].default is not inspect.Parameter.empty:
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
def same(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return pickle.dumps(a.tolist()) == pickle.dumps(b.tolist())


def output(model, method, batch):
    """What a model returns for a batch; None if it fails, or returns no table."""
    with contextlib.suppress(Exception), np.errstate(all="ignore"):
        rows = getattr(model, method)(batch.copy())
        rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
        return rows if len(rows) == batch.shape[0] else None
    return None


def watched(model, names):
    """The model, which adds the names of attributes that are read to a set."""

    class Watched(type(model)):
        def __getattribute__(self, name):
            names.add(name)
            return super().__getattribute__(name)

    Watched.__name__ = type(model).__name__
    with contextlib.suppress(TypeError):  # of compiled classes
        model.__class__ = Watched
    return model


def in_turn(models, i, all_of_them):
    """All models, or one of them."""
    return models if all_of_them or not models else [models[i % len(models)]]


class Search:
    """Tries to break classes; `calls` counts predictions, `tried` names classes of all models.

    Odd records are replaced four at a time, in places far from each other. Of those that a choice
    of options refused before, each next table meets two, which are drawn.
    """

    PLACES = M // 2, 0, M - 1, 7

    def __init__(self, must_be_listed=True):
        self.must_be_listed = must_be_listed
        self.calls = 0
        self.tried = set()
        self._read = set()  # attributes that methods of the class read

    def quickly(self, cls, kinds=None, **options):
        """Breaks of one choice of options, on tables of these kinds, or else on any one."""
        rng = np.random.default_rng(len(cls.__name__))
        return list(self._breaks(cls, options, rng, kinds, n_models=None if kinds else 1))

    def thoroughly(self, cls):
        """Breaks of no options on all tables, and of every choice of options on some of them."""
        rng = np.random.default_rng(len(cls.__name__))
        self._read = set()
        for options in options_of(cls):
            n_models = N_READ if options.keys() & self._read else N_UNREAD
            yield from self._breaks(cls, options, rng, n_models=n_models if options else None)

    def _breaks(self, cls, options, rng, kinds=None, n_models=None):
        code = options.get("missing_values", np.nan)
        refused = set()
        order = kinds or rng.permutation(list(tables(code))).tolist()
        if options.keys() & self._read:
            order.sort(key=lambda kind: kind not in TELLING)
        models = (
            (kind, model)
            for i, kind in enumerate(order)
            for model in in_turn(list(made(cls, options)), i, all_of_them=n_models is None)
            if self._fits(model, read(code, kind)[0])
        )
        for kind, model in islice(models, n_models):
            model = watched(pickle.loads(pickle.dumps(model)), self._read)
            for method in METHODS:
                if hasattr(model, method):
                    for rows in self._broken(model, method, code, kind, refused, rng):
                        yield kind, options, method, rows

    def _fits(self, model, X):
        if fitted(model, X) is None:
            return False
        parts = parts_of(model)
        if self.must_be_listed and any(map(why_unlisted, parts)):
            return False
        self.tried |= {type(part).__name__ for part in parts}
        return True

    def _output(self, model, method, tables):
        self.calls += tables is not None
        return None if tables is None else output(model, method, tables[1])

    def _broken(self, model, method, code, kind, refused, rng):
        """Odd records, by their places, that change what others get."""
        before = self._output(model, method, read(code, kind))
        if before is None:
            return
        odd = names(code, kind)
        order = np.random.default_rng(rng.integers(3)).permutation(len(odd)).tolist()
        groups = [[j] for j in order if odd[j] in refused][:2]
        rest = [j for j in order if odd[j] not in refused]
        groups += [rest[k : k + 4] for k in range(0, len(rest), 4)]
        while groups:
            group = groups.pop()
            rows = tuple(zip(self.PLACES, group))
            after = self._output(model, method, read(code, kind, rows))
            if after is None and len(group) > 1:
                groups += [group[: len(group) // 2], group[len(group) // 2 :]]
            elif after is None:
                refused.add(odd[group[0]])
            elif not same(*(np.delete(each, [i for i, _ in rows], 0) for each in (before, after))):
                yield [(i, odd[j]) for i, j in rows]
