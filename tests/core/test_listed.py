"""Each class of the list predicts row by row: replace one record, all else stays, bit by bit.

The test is generated: every class of the list, its options of text and truth values, tables of many
kinds, odd records and places. By default some of each; with `-m slow`, and in CI for each supported
version of scikit-learn, each class once; each week, thousands of each version. It has to find
classes that were put on the list wrongly, too.
"""

import importlib
import inspect
import runpy
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, special
from sklearn import calibration, config_context, decomposition, neighbors, preprocessing, svm
from sklearn.base import BaseEstimator
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401

from sklearn import impute  # isort: skip
from replaced_records import Search
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, PairwiseKernel
from sklearn.linear_model import BayesianRidge, RidgeClassifier
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import check_array

import sklearn_dpbo.prediction.listed.listed as listed
from sklearn_dpbo.prediction.listed.listed import KINDS, LISTED, READ, is_estimator, why_unlisted

pytestmark = pytest.mark.filterwarnings("ignore")


def class_of(line):
    return getattr(importlib.import_module(line.module), line.name)


LINES = [line for line in LISTED.values() if find_spec(line.module.partition(".")[0])]
CLASSES = {f"{line.module}.{line.name}": line for line in LINES if hasattr(class_of(line), "fit")}


# What the defaults do not try: classes with the options that are listed, and parts of another one.
QUICKLY = {
    "DictVectorizer": (DictVectorizer, {"sparse": False}),
    "FeatureHasher": (FeatureHasher, {"input_type": "string"}),
    "KernelCenterer": (decomposition.KernelPCA, {}),
    "LabelEncoder": (VotingClassifier, {}),
}


# By default those listed on a condition, ours, and some others, of which none fits many models:
# the slow tests try all, with all options.
DEAR = "RANSAC", "SequentialFeature", "RFECV", "RidgeCV", "Halving", "SearchCV", "Chain", "Stacking"


def is_quick(i, line):
    told = line.unless or line.name in QUICKLY or line.package == "sklearn_dpbo"
    return told or (i % 4 == 0 and not any(part in line.name for part in DEAR))


@pytest.mark.first(12)
@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, id=name, marks=() if is_quick(i, line) else pytest.mark.slow)
        for i, (name, line) in enumerate(CLASSES.items())
    ],
)
def test_replacing_a_record_changes_no_other(line):
    search = Search()
    cls, options = QUICKLY.get(line.name, (class_of(line), {}))
    assert not search.quickly(cls, **options)
    assert line.name in search.tried, "no model of it is listed"


@pytest.mark.parametrize(
    "package",
    [  # scikit-learn's take five minutes
        pytest.param(name, marks=pytest.mark.soak if name == "sklearn" else pytest.mark.slow)
        for name in sorted({line.module.partition(".")[0] for line in LINES})
    ],
)
def test_replacing_any_record_changes_no_other(package):
    """All options, tables, odd records and places; each line of the list, parts too, is tried."""
    own = [line for line in LINES if line.module.partition(".")[0] == package]
    lines = [line for line in own if line.kind != "F"]  # queries: see `test_calls.py`
    classes = [class_of(line) for line in lines if hasattr(class_of(line), "fit")]
    search = Search()
    assert not [broken for cls in classes for broken in search.thoroughly(cls)]
    print(f"{search.calls:,} predictions for {package}")
    parts = {line.name for line in lines} - {"HalfBinomialLoss"}  # of two classes, as is the next
    assert parts <= search.tried
    if package == "sklearn":
        assert "ExponentialLoss" in search.tried and search.calls > 30_000


# What the test has to find: classes and options that are not on the list, and tables that show it.
WRONG = {
    "draws": (
        impute.IterativeImputer,
        "missing",
        {
            "missing_values": -9999,
            "sample_posterior": True,
            "max_iter": 1,
            "estimator": BayesianRidge(),
        },
    ),
    "subset of rows": (impute.KNNImputer, "one missing", {"weights": "distance"}),
    "mean of the batch": (decomposition.NMF, "positive", {"solver": "mu"}),
    "stops for all at once": (decomposition.NMF, "sparse", {"solver": "cd"}),
    "asks for nnz > 0": (neighbors.KNeighborsClassifier, "zeros", {"metric": "l1"}),
    "asks whether all sum to 1": (
        calibration.CalibratedClassifierCV,
        "numbers",
        {"method": "temperature", "estimator": OneVsRestClassifier(GaussianNB())},
    ),
    "least of a column": (
        preprocessing.SplineTransformer,
        "missing",
        {"sparse_output": True, "handle_missing": "zeros", "extrapolation": "continue"},
    ),
    "types of the whole batch": (
        "ExplainableBoostingClassifier",
        "one kind of objects",
        {"interactions": 0, "max_rounds": 10, "outer_bags": 1, "n_jobs": 1},
    ),
    "sorts all rows or none": (DictVectorizer, "repeated columns", {}),
    "sorts all rows or none, hashed": (FeatureHasher, "repeated hashes", {"input_type": "dict"}),
    "compares all rows": (FunctionTransformer, "numbers", {"func": cosine_similarity}),
}


@pytest.mark.first(4)
@pytest.mark.parametrize("case", WRONG)
def test_classes_that_do_not_belong_on_the_list_are_found(case):
    cls, kind, options = WRONG[case]
    if cls is impute.KNNImputer and np.__version__ < "2":
        pytest.skip("one row is multiplied as two are, by this numpy's BLAS")
    if isinstance(cls, str):
        cls = getattr(pytest.importorskip("interpret.glassbox"), cls)
    constraints = getattr(cls, "_parameter_constraints", {})
    has_method = "method" not in options or options["method"] in " ".join(
        map(str, constraints["method"])
    )
    if not has_method or not options.keys() <= inspect.signature(cls).parameters.keys():
        pytest.skip("this version has no such option")
    assert Search(must_be_listed=False).quickly(cls, kinds=[kind], **options)
    listed_only = Search()
    assert not listed_only.quickly(cls, kinds=[kind], **options)
    assert not listed_only.tried, "it is not on the list"


# ---------------------------------------------------------------------- what is listed
def clip_lab_values(X):
    return np.clip(X, 0, 9)


class Clip(BaseEstimator):
    def transform(self, X):
        return clip_lab_values(X)


class LikeScaler(StandardScaler):
    pass


class Forged(Clip):
    __module__ = StandardScaler.__module__


Forged.__name__ = "StandardScaler"


class Number(float):
    def __array_ufunc__(self, *args, **kwargs):
        return args[2] - args[2].mean()


SPARSE = sparse.csr_matrix(np.eye(6))
FRAME = pd.DataFrame({"c": np.arange(10)})
UNLISTED = [
    (Clip(), "your class Clip"),
    (LikeScaler(), "your class LikeScaler"),
    (Forged(), "StandardScaler"),
    (preprocessing.Binarizer(threshold=Number(1)), "your class Number"),
    (FunctionTransformer(clip_lab_values), "your function clip_lab_values"),
    (FunctionTransformer(lambda X: X), "your function <lambda>"),
    (FunctionTransformer(np.frompyfunc(clip_lab_values, 1, 1)), "your function clip_lab_"),
    (FunctionTransformer(np.log, kw_args={"where": True}), "FunctionTransformer with kw_args"),
    (FunctionTransformer(np.log, inverse_func=clip_lab_values), "your function clip_lab_values"),
    (FunctionTransformer(cosine_similarity), "cosine_similarity"),
    (FunctionTransformer(partial(clip_lab_values)), "your function clip_lab_values"),
    (FunctionTransformer(partial(check_array, estimator=Clip)), "check_array"),
    (FunctionTransformer(Matern()), "Matern"),  # of a table alone it compares all rows
    (FunctionTransformer(np.matmul), "matmul"),
    (DictVectorizer(dtype=Number), "your class Number"),
    (DictVectorizer(), "DictVectorizer with sparse=True"),
    (FeatureHasher(), "FeatureHasher of numbers"),
    (FunctionTransformer(StandardScaler().fit_transform), "fit_transform"),
    (impute.IterativeImputer(), "IterativeImputer"),
    (decomposition.NMF(), "NMF"),
    (neighbors.NearestCentroid(), "NearestCentroid"),
    (neighbors.KNeighborsClassifier(1).fit(SPARSE, range(6)), "KNeighborsClassifier on"),
    (neighbors.KNeighborsRegressor(weights=Matern()), "KNeighborsRegressor on sparse tables, or"),
    (neighbors.KNeighborsRegressor(metric=np.negative), "negative"),  # writes into fitted points
    (neighbors.KNeighborsRegressor(metric=clip_lab_values), "your function clip_lab_values"),
    (neighbors.KNeighborsRegressor(weights=clip_lab_values), "your function clip_lab_values"),
    (svm.SVC(kernel=clip_lab_values), "your function clip_lab_values"),
    (GaussianProcessRegressor(PairwiseKernel(metric=clip_lab_values)), "your function clip_lab"),
    (preprocessing.SplineTransformer(sparse_output=True), "SplineTransformer with sparse_output"),
    (CountVectorizer(tokenizer=clip_lab_values), "your function clip_lab_values"),
    (CountVectorizer(input="filename"), "CountVectorizer with input="),
    (DummyClassifier(strategy="uniform"), "DummyClassifier with strategy="),
    (FrozenEstimator(preprocessing.LabelBinarizer()), "LabelBinarizer"),
    (make_pipeline(preprocessing.LabelBinarizer()), "LabelBinarizer"),
    (FunctionTransformer().set_output(transform="pandas"), "FunctionTransformer with set_output"),
    (StandardScaler().set_output(transform="polars").fit(FRAME), "StandardScaler with set_output"),
    (
        FunctionTransformer(partial(check_array)).set_output(transform="pandas").fit(FRAME),
        "FunctionTransformer with set_output, of arrays",
    ),
    (
        preprocessing.OneHotEncoder(dtype=object).set_output(transform="pandas").fit(FRAME),
        "OneHotEncoder with set_output, of arrays",
    ),
    (
        StackingClassifier([("a", GaussianNB())], passthrough=True)
        .set_output(transform="pandas")
        .fit(FRAME, [0, 1] * 5),
        "StackingClassifier with set_output, of arrays",
    ),
    (VarianceThreshold().set_output(transform="pandas").fit(FRAME.to_numpy()), "VarianceThreshold"),
    (TransformedTargetRegressor(transformer=decomposition.PCA()), "TransformedTargetRegressor"),
    (TransformedTargetRegressor(func=clip_lab_values), "your function clip_lab_values"),
]  # fmt: skip
LISTED_OBJECTS = [
    FunctionTransformer(np.log1p, inverse_func=special.expm1),
    FunctionTransformer(),
    neighbors.KNeighborsClassifier(1).fit(SPARSE.toarray(), range(6)),
    GaussianProcessRegressor(PairwiseKernel() + ConstantKernel() * Matern()),
    make_column_transformer((StandardScaler(), make_column_selector())),
    ColumnTransformer([("a", Clip(), lambda X: [0])]),  # which columns: `fit` has asked
    GridSearchCV(Clip(), {}, scoring=lambda *_: 0.0, cv=lambda: 1),  # parts ask for themselves
    CountVectorizer(stop_words="english"),
    TransformedTargetRegressor(func=np.log1p, inverse_func=np.expm1),
    RidgeClassifier().fit(np.eye(6), [0, 1] * 3),  # with a LabelBinarizer
    FunctionTransformer().set_output(transform="pandas").fit(FRAME),
    StandardScaler().set_output(transform="pandas").fit(FRAME),
]


@pytest.mark.parametrize("estimator, reason", UNLISTED, ids=[r for _, r in UNLISTED])
def test_says_why_an_object_is_not_listed(estimator, reason):
    assert why_unlisted(estimator).startswith(reason)


@pytest.mark.parametrize("estimator", LISTED_OBJECTS, ids=lambda e: str(e)[:40])
def test_lists_objects_of_known_parts(estimator):
    assert why_unlisted(estimator) is None


def test_method_that_was_set_on_an_object_is_unknown():
    model = StandardScaler().fit(np.eye(3))
    model.transform = clip_lab_values
    assert why_unlisted(model) == "your function clip_lab_values"


@pytest.mark.parametrize("version", ["1.5.2", "1.10.0", "2.0.dev0"])
def test_nothing_is_listed_under_a_version_that_was_not_read(monkeypatch, version):
    monkeypatch.setattr("sklearn.__version__", version)
    assert why_unlisted(StandardScaler()) == f"scikit-learn {version} was not tested"


def test_frozen_estimator_is_a_part_of_its_own():
    assert is_estimator(FrozenEstimator(StandardScaler())), "although its class has no `transform`"


def test_frames_are_data():
    assert not is_estimator(pd.DataFrame({"c": [1]})), "although they have `transform`"


def test_objects_in_frames_that_a_transformer_makes_are_not_listed():
    cells = pd.DataFrame({"c": pd.Series(["a", np.nan, "b"], dtype=object)})
    imputer = impute.SimpleImputer(strategy="most_frequent").fit(cells)
    assert why_unlisted(imputer) is None
    with config_context(transform_output="pandas"):
        assert why_unlisted(imputer).startswith("SimpleImputer with set_output, of arrays, objects")


def test_every_line_names_a_class_a_kind_and_where_it_is_not_listed():
    for line in LINES:
        assert line.kind in KINDS
        assert class_of(line).__name__ == line.name
        assert line.read == READ.get(line.package, ())
    assert {name for _, name in LISTED} >= set(listed._EXCEPT)


def test_the_page_shows_todays_list():
    script = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "figures" / "listed.py"))
    assert script["PAGE"].read_text() == script["page"](), "run: python docs/figures/listed.py"
