"""List of estimators that predict row by row, according to their source code (zone: public).

A class is *listed*, with conditions on its options, if row i of the output of its methods
(`predict`, `predict_proba`, `decision_function`, `transform`; and `inverse_transform` if another
class of the list calls it) is a function of row i of the input and of the fitted estimator. The
same holds for the values of records of a listed query or gain. If all parts of a model are listed,
the model's prediction is such a function, too, because these are closed under composition: with
f(X)_i = f'(X_i) and g(X)_i = g'(X_i), g(f(X))_i = g'(f'(X_i)).

The source was searched for statistics of columns, branches on any(), all() or nnz, types chosen by
content, subsets of rows passed on (a matrix product may round a row differently at another
position), and random draws. A branch that only raises an error does no harm, because the caller
finds the record that causes it. `tests/core/test_listed.py` tries to break each line.

*Assumed.* A row of a matrix product depends neither on the values of other rows nor, in elementwise
functions, on its lane. Threads add up trees in the order in which they finish: predict with
n_jobs=1.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from scipy import special
from scipy.sparse import issparse
from sklearn._loss import _loss
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import check_array
from sklearn.utils._set_output import _get_output_config, _SetOutputMixin

# Versions whose source was read; of compiled packages, the Python part.
READ = {
    "scikit-learn": ("1.6.1", "1.7.2", "1.8.0", "1.9.1"),
    "xgboost": ("3.2.0",),
    "lightgbm": ("4.6.0", "4.7.0"),
    "catboost": ("1.2.10",),
}
# Names under which packages are installed, by the names that are imported.
_INSTALLED = {
    "sklearn": "scikit-learn",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
    "sklearn_dpbo": "sklearn_dpbo",
}

KINDS = {
    "A": "an affine map of each row, or a function of each row or cell",
    "B": "distances or kernels between each row and fitted points",
    "C": "trees",
    "D": "a lookup of each cell, or of each text",
    "E": "calls listed estimators on all rows in order, and combines what they return row by row",
    "F": "a gain of each record, or the cells that each record is counted in",
}

_TABLE = """
sklearn._loss A loss.ExponentialLoss loss.HalfBinomialLoss loss.HalfMultinomialLoss
sklearn.calibration A _SigmoidCalibration
sklearn.calibration E CalibratedClassifierCV _CalibratedClassifier
sklearn.cluster B KMeans MiniBatchKMeans
sklearn.compose E ColumnTransformer TransformedTargetRegressor
sklearn.covariance B EllipticEnvelope
sklearn.cross_decomposition A CCA PLSCanonical PLSRegression PLSSVD
sklearn.decomposition A FactorAnalysis FastICA IncrementalPCA PCA TruncatedSVD
sklearn.decomposition B KernelPCA
sklearn.discriminant_analysis A LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis
sklearn.dummy D DummyClassifier DummyRegressor
sklearn.ensemble C ExtraTreesClassifier ExtraTreesRegressor GradientBoostingClassifier
sklearn.ensemble C GradientBoostingRegressor HistGradientBoostingClassifier IsolationForest
sklearn.ensemble C HistGradientBoostingRegressor RandomForestClassifier RandomForestRegressor
sklearn.ensemble C RandomTreesEmbedding _hist_gradient_boosting.predictor.TreePredictor
sklearn.ensemble D _hist_gradient_boosting.binning._BinMapper
sklearn.ensemble E AdaBoostClassifier AdaBoostRegressor BaggingClassifier BaggingRegressor
sklearn.ensemble E StackingClassifier StackingRegressor VotingClassifier VotingRegressor
sklearn.feature_extraction D DictVectorizer FeatureHasher
sklearn.feature_extraction.text A TfidfTransformer
sklearn.feature_extraction.text D CountVectorizer HashingVectorizer TfidfVectorizer
sklearn.feature_selection A GenericUnivariateSelect SelectFdr SelectFpr SelectFromModel SelectFwe
sklearn.feature_selection A SelectKBest SelectPercentile SequentialFeatureSelector VarianceThreshold
sklearn.feature_selection E RFE RFECV
sklearn.frozen E FrozenEstimator
sklearn.gaussian_process B GaussianProcessClassifier GaussianProcessRegressor
sklearn.gaussian_process B _gpc._BinaryGaussianProcessClassifierLaplace
sklearn.impute D MissingIndicator SimpleImputer
sklearn.isotonic A IsotonicRegression
sklearn.kernel_approximation A AdditiveChi2Sampler PolynomialCountSketch RBFSampler
sklearn.kernel_approximation A SkewedChi2Sampler
sklearn.kernel_approximation B Nystroem
sklearn.kernel_ridge B KernelRidge
sklearn.linear_model A ARDRegression BayesianRidge ElasticNet ElasticNetCV GammaRegressor Lars
sklearn.linear_model A HuberRegressor LarsCV Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC
sklearn.linear_model A LinearRegression LogisticRegression LogisticRegressionCV MultiTaskElasticNet
sklearn.linear_model A MultiTaskElasticNetCV MultiTaskLasso MultiTaskLassoCV Perceptron
sklearn.linear_model A OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV QuantileRegressor
sklearn.linear_model A PassiveAggressiveClassifier PassiveAggressiveRegressor PoissonRegressor Ridge
sklearn.linear_model A RidgeCV RidgeClassifier RidgeClassifierCV SGDClassifier SGDOneClassSVM
sklearn.linear_model A SGDRegressor TheilSenRegressor TweedieRegressor
sklearn.linear_model E RANSACRegressor
sklearn.mixture B BayesianGaussianMixture GaussianMixture
sklearn.model_selection E FixedThresholdClassifier GridSearchCV RandomizedSearchCV
sklearn.model_selection E TunedThresholdClassifierCV
sklearn.model_selection E _search_successive_halving.HalvingGridSearchCV
sklearn.model_selection E _search_successive_halving.HalvingRandomSearchCV
sklearn.multiclass D _ConstantPredictor
sklearn.multiclass E OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier
sklearn.multioutput E ClassifierChain MultiOutputClassifier MultiOutputRegressor RegressorChain
sklearn.naive_bayes A BernoulliNB ComplementNB GaussianNB MultinomialNB
sklearn.naive_bayes D CategoricalNB
sklearn.neighbors A NeighborhoodComponentsAnalysis
sklearn.neighbors B KNeighborsClassifier KNeighborsRegressor
sklearn.neural_network A BernoulliRBM MLPClassifier MLPRegressor
sklearn.pipeline E FeatureUnion Pipeline
sklearn.preprocessing A Binarizer KBinsDiscretizer KernelCenterer MaxAbsScaler MinMaxScaler
sklearn.preprocessing A FunctionTransformer Normalizer PolynomialFeatures PowerTransformer
sklearn.preprocessing A QuantileTransformer RobustScaler SplineTransformer StandardScaler
sklearn.preprocessing D LabelEncoder OneHotEncoder OrdinalEncoder TargetEncoder
sklearn.random_projection A GaussianRandomProjection SparseRandomProjection
sklearn.semi_supervised E SelfTrainingClassifier
sklearn.svm A LinearSVC LinearSVR
sklearn.svm B NuSVC NuSVR OneClassSVM SVC SVR
sklearn.tree C DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor
sklearn.tree C _tree.Tree
xgboost C XGBClassifier XGBRegressor XGBRFClassifier XGBRFRegressor core.Booster
lightgbm C LGBMClassifier LGBMRegressor basic.Booster
catboost C CatBoostClassifier CatBoostRegressor
sklearn_dpbo.learners A PrivateClassifier PrivateLogisticRegression PrivateRegressor PrivateRidge
sklearn_dpbo.metrics F _agreement.Agreement _errors.ErrorHistogram _errors.Moments _gains.Named
sklearn_dpbo.metrics F _gains.OfCell _histogram.ScoreHistogram _pairs.MeanArea _pairs.PairCounts
sklearn_dpbo.metrics F _pairs.Pairs _pairs.PrecisionSum _queries.ClassSizes _queries.Confusion
sklearn_dpbo.metrics F _queries.MeanOf _ranking.RankedConfusion _variance.ErrorVariance
sklearn_dpbo.prediction F direct_responses.AsNumbers secret_pipelines._TransformedRows
sklearn_dpbo.prediction F threshold_curve.LabelGains
"""

# Classes whose `inverse_transform` was read, too.
_INVERTIBLE = (
    "FunctionTransformer", "MaxAbsScaler", "MinMaxScaler", "PowerTransformer",
    "QuantileTransformer", "RobustScaler", "StandardScaler",
)  # fmt: skip
# Exception for all classes: only frames of declared types were read.
OBJECTS_IN_FRAMES = "with set_output, of arrays, objects or for polars"
_OF_FILES = 'with input="file" or "filename"', lambda e: e.input == "content"
_NEIGHBORS = (
    "on sparse tables, or with objects as metric or weights",
    lambda e: (
        not issparse(getattr(e, "_fit_X", None)) and {type(e.metric), type(e.weights)} == {str}
    ),
)
# By class: conditions under which it is not listed, in words, and a test if an estimator is listed.
_EXCEPT: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "CountVectorizer": _OF_FILES,
    # If the entries of any row are not in the order of columns, all rows are sorted again. The sort
    # is not stable, so values of one column change places.
    "DictVectorizer": ("with sparse=True", lambda e: not e.sparse),
    "DummyClassifier": (
        'with strategy="stratified" or "uniform"',
        lambda e: e.strategy in ("most_frequent", "prior", "constant"),
    ),
    "FeatureHasher": ("of numbers, unlike tokens", lambda e: e.input_type == "string"),
    "FunctionTransformer": ("with kw_args", lambda e: not (e.kw_args or e.inv_kw_args)),
    "HashingVectorizer": _OF_FILES,
    "KNeighborsClassifier": _NEIGHBORS,
    "KNeighborsRegressor": _NEIGHBORS,
    "SplineTransformer": ("with sparse_output=True", lambda e: not e.sparse_output),
    "TfidfVectorizer": _OF_FILES,
    "TransformedTargetRegressor": (
        f"with a transformer other than {', '.join(_INVERTIBLE[:-1])} or {_INVERTIBLE[-1]}",
        lambda e: _name_of(getattr(e, "transformer_", e.transformer)) in (*_INVERTIBLE, "NoneType"),
    ),
}


@dataclass(frozen=True)
class Listed:
    """A line of the list: module and name of a class, its kind, and conditions of exceptions."""

    module: str
    name: str
    kind: str
    unless: str = ""

    @property
    def package(self) -> str:
        """Name under which the package is installed."""
        return _INSTALLED[self.module.partition(".")[0]]

    @property
    def read(self) -> tuple[str, ...]:
        """Versions whose source was read; () for classes of this package."""
        return READ.get(self.package, ())


def _read_table() -> dict[tuple[str, str], Listed]:
    lines = {}
    for line in _TABLE.strip().splitlines():
        module, kind, *names = line.split()
        for path in names:
            where, _, name = f"{module}.{path}".rpartition(".")
            unless = _EXCEPT.get(name, ("", None))[0]
            lines[module.partition(".")[0], name] = Listed(where, name, kind, unless)
    return lines


# By package and name.
LISTED = _read_table()


def why_unlisted(estimator: Any) -> str | None:
    """Explain why an object is not known to predict row by row; None if it is listed.

    This covers the object itself, with its options and all parts that are not estimators. Parts
    that are estimators (`is_estimator`) have to be checked one by one.
    """
    cls = type(estimator)
    line = LISTED.get((cls.__module__.partition(".")[0], cls.__name__))
    if line is None or not _is_of(cls, line.module):
        return _words(cls)
    if reason := _untested(line):
        return reason
    parts = getattr(estimator, "__dict__", {})  # compiled classes have none
    functions = [parts.get(name) for name in _FUNCTIONS]
    unlisted_function = next(filter(None, map(_words, filter(_is_of_rows, functions))), None)
    data = {
        k: vars(v) if k in _BINARIZERS and type(v) is LabelBinarizer else v
        for k, v in parts.items()
        if k not in _NOT_CALLED and k not in _FUNCTIONS
    }
    if reason := unlisted_function or _unknown_part(data):
        return reason
    if line.unless and not _EXCEPT[line.name][1](estimator):
        return f"{line.name} {line.unless}"
    return f"{line.name} {OBJECTS_IN_FRAMES}" if _puts_objects_in_frames(estimator) else None


def is_listed(value: Any) -> bool:
    """Return True if the exact class of an object is on the list."""
    cls = type(value)
    line = LISTED.get((cls.__module__.partition(".")[0], cls.__name__))
    return line is not None and _is_of(cls, line.module)


def is_estimator(value: Any) -> bool:
    """Return True if a part of a model predicts or transforms, and so is listed or not by itself.

    Frames have `transform`, but are data. A LabelBinarizer belongs to the class that inverts labels
    with it; its own `transform` depends on all labels.
    """
    cls = type(value)
    if cls in _WITHOUT_METHODS or isinstance(value, type):
        return False
    has_methods = cls is FrozenEstimator or any(map(hasattr, repeat(cls), _METHODS))
    return has_methods and not _is_of(cls, "pandas")


def _untested(line: Listed) -> str | None:
    """Explain that the installed version was not read; None if a version of its series was."""
    if not line.read:
        return None
    version = sys.modules[line.module.partition(".")[0]].__version__
    return None if _is_read(version, line.read) else f"{line.package} {version} was not tested"


@functools.cache
def _is_read(version: str, read: tuple[str, ...]) -> bool:
    return _series(version) in map(_series, read)


def _series(version: str) -> list[str]:
    return version.split(".")[:2]


# ---------------------------------------------------------------------- parts of other kinds
_METHODS = (
    "predict", "predict_proba", "decision_function", "transform", "inverse_transform",
)  # fmt: skip
# Attributes that were read with the class that has them; elsewhere such a part is not listed.
_BINARIZERS = ("_label_binarizer", "label_binarizer_")
# Attributes that are called on a table.
_FUNCTIONS = ("func", "inverse_func")
# Attributes that need no check: templates, those that only `fit` calls or that pickling drops, and
# those that were read together with their class.
_NOT_CALLED = {
    "cv", "_checked_cv_orig", "scoring", "scorer_", "_curve_scorer", "refit", "param_grid",
    "param_distributions", "cv_results_", "best_params_", "memory", "score_func", "transformers",
    "f_", "ledger", "privacy_", "eval_metric", "callbacks",
}  # fmt: skip
_PLAIN = {type(None), bool, int, float, complex, str, bytes, slice, range, ctypes.c_void_p}
_CONTAINERS = {list, tuple, set, frozenset}
_MAPPINGS = {dict, OrderedDict, defaultdict}
_WITHOUT_METHODS = _PLAIN | _CONTAINERS | _MAPPINGS | {np.ndarray, LabelBinarizer}
# Modules whose classes are all known: data and compiled code; and classes of known parts.
_DATA = ("_catboost", "_loss", "pandas", "scipy.interpolate._bsplines", "scipy.sparse")
_KNOWN = (
    "sklearn._loss", "sklearn.compose._column_transformer", "sklearn.gaussian_process.kernels",
    "sklearn.linear_model._sgd_fast", "sklearn.metrics._dist_metrics",
    "sklearn.neighbors._ball_tree", "sklearn.neighbors._kd_tree",
    "sklearn.neural_network._stochastic_optimizers", "sklearn.utils._bunch",
    "sklearn.utils._metadata_requests",
)  # fmt: skip
_OF_NUMPY = (np.generic, np.ndarray, np.dtype, np.random.RandomState, np.random.Generator)


def _unknown_part(value: Any) -> str | None:
    """Name the first part of a value that is neither data nor known; estimators are left out.

    Types have to be exact, because a subclass can do what its author wants.
    """
    cls = type(value)
    if cls in _PLAIN or is_estimator(value):
        return None
    if cls in _MAPPINGS:
        return _first_unknown((*value.keys(), *value.values()))
    if cls in _CONTAINERS:
        return _first_unknown(value)
    if isinstance(value, type):  # a dtype, say
        return None if _is_of(value, "builtins", "numpy") else _words(value)
    if cls is np.ndarray:
        return _first_unknown(value.ravel()) if value.dtype.hasobject else None
    if _is_of(cls, *_DATA) or (isinstance(value, _OF_NUMPY) and _is_of(cls, "numpy")):
        return None
    if _is_of(cls, *_KNOWN):
        items = dict(value) if isinstance(value, dict) else {}  # of a Bunch
        return _unknown_part({**items, **getattr(value, "__dict__", {})})
    return _words(value)


def _first_unknown(values: Collection[Any]) -> str | None:
    if set(map(type, values)) <= _PLAIN:  # a vocabulary, say
        return None
    return next(filter(None, map(_unknown_part, values)), None)


def _is_of_rows(function: Any) -> bool:
    """Return True unless a function is known to work on each cell separately.

    Such functions are ufuncs of numpy or scipy with one argument (`np.frompyfunc` makes others),
    and scikit-learn's check of a table, which HistGradientBoosting has.
    """
    if function is None:
        return False
    if type(function) is functools.partial and function.func is check_array:
        return bool(function.args or _unknown_part(function.keywords))
    if type(function) is not np.ufunc or function.signature is not None:
        return True
    in_library = function in (getattr(module, function.__name__, None) for module in (np, special))
    return not in_library or (function.nin, function.nout) != (1, 1)


def _is_of(cls: type, *modules: str) -> bool:
    """Return True if one of these modules, or a submodule, has this very class under its name."""
    home = _loss if cls.__module__ == "_loss" else sys.modules.get(cls.__module__)
    inside = any(f"{cls.__module__}.".startswith(f"{module}.") for module in modules)
    return inside and getattr(home, cls.__name__, None) is cls


def _puts_objects_in_frames(estimator: Any) -> bool:
    """Return True if cells may decide the types of columns of frames that an estimator returns.

    pandas converts objects to text or times if all cells are such, and polars to numbers.
    """
    if not isinstance(estimator, _SetOutputMixin):
        return False
    output = _get_output_config("transform", estimator)["dense"]
    if output == "default":
        return False
    parts = getattr(estimator, "__dict__", {})
    return (
        output != "pandas"
        or not hasattr(estimator, "feature_names_in_")  # it was fitted on an array
        or bool(parts.get("passthrough"))
        or type(parts.get("func")) is functools.partial  # which makes an array
        or np.dtype(object) in (parts.get("dtype"), parts.get("_fit_dtype"))
    )


def _name_of(value: Any) -> str:
    return type(value).__name__


def _words(value: Any) -> str:
    """Name a function or class for users: as "your ...", unless it comes from a library."""
    value = getattr(value, "func", value)  # of a partial function
    value = value if hasattr(value, "__name__") else type(value)
    name: str = value.__name__
    module = getattr(value, "__module__", None) or ""
    file = getattr(sys.modules.get(module.partition(".")[0]), "__file__", None) or ""
    of_library = module.partition(".")[0] in {*_INSTALLED, "numpy", "scipy", "pandas"}
    if of_library or "site-packages" in file or value is getattr(np, name, None):
        return name
    return f"your {'class' if isinstance(value, type) else 'function'} {name}"
