"""Which fitted estimators predict row by row: a list of classes and options (zone: public)."""

from __future__ import annotations

import functools
import io
import pickle
import types
from typing import Any

import numpy as np
from sklearn._loss import _loss
from sklearn.utils import check_array

__all__ = ["why_unlisted"]

# One row's output is a function of the row and of what was fitted.
_ALWAYS = set(
    """
StandardScaler MinMaxScaler MaxAbsScaler RobustScaler Normalizer Binarizer PowerTransformer QuantileTransformer
KBinsDiscretizer PolynomialFeatures PCA IncrementalPCA TruncatedSVD FactorAnalysis FastICA GaussianRandomProjection
SparseRandomProjection RBFSampler AdditiveChi2Sampler PolynomialCountSketch PLSRegression VarianceThreshold SelectKBest
SelectPercentile SelectFpr SelectFdr SelectFwe GenericUnivariateSelect SelectFromModel RFE RFECV SequentialFeatureSelector
LinearRegression Ridge RidgeCV Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC Lars LarsCV ElasticNet ElasticNetCV HuberRegressor
TheilSenRegressor RANSACRegressor QuantileRegressor BayesianRidge ARDRegression PoissonRegressor GammaRegressor
TweedieRegressor OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV MultiTaskLasso MultiTaskElasticNet
MultiTaskLassoCV MultiTaskElasticNetCV SGDRegressor SGDClassifier Perceptron PassiveAggressiveClassifier
PassiveAggressiveRegressor LogisticRegression LogisticRegressionCV RidgeClassifier RidgeClassifierCV LinearSVC LinearSVR
LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis GaussianNB BernoulliNB MultinomialNB ComplementNB CategoricalNB
MLPClassifier MLPRegressor DummyClassifier DummyRegressor IsotonicRegression
SVC SVR NuSVC NuSVR KernelRidge NearestCentroid Nystroem KernelPCA KernelCenterer KMeans MiniBatchKMeans
GaussianProcessClassifier GaussianProcessRegressor _BinaryGaussianProcessClassifierLaplace
DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor RandomForestClassifier
RandomForestRegressor ExtraTreesClassifier ExtraTreesRegressor RandomTreesEmbedding GradientBoostingClassifier
GradientBoostingRegressor HistGradientBoostingClassifier HistGradientBoostingRegressor AdaBoostClassifier AdaBoostRegressor
OneHotEncoder OrdinalEncoder TargetEncoder SimpleImputer MissingIndicator LabelEncoder LabelBinarizer
CountVectorizer TfidfVectorizer TfidfTransformer HashingVectorizer DictVectorizer
Pipeline FeatureUnion ColumnTransformer VotingClassifier VotingRegressor StackingClassifier StackingRegressor
BaggingClassifier BaggingRegressor _CalibratedClassifier _SigmoidCalibration OneVsRestClassifier
OneVsOneClassifier OutputCodeClassifier _ConstantPredictor MultiOutputClassifier MultiOutputRegressor ClassifierChain
RegressorChain FrozenEstimator TunedThresholdClassifierCV FixedThresholdClassifier GridSearchCV RandomizedSearchCV
HalvingGridSearchCV HalvingRandomSearchCV
""".split()  # noqa: E501, SIM905
)


def _cellwise(f: Any) -> bool:
    if isinstance(f, functools.partial):
        return f.func is check_array and not f.args  # in HistGradientBoosting
    return f is None or isinstance(f, np.ufunc) or f in (np.nan_to_num, np.clip, np.round)


_IF = {
    "FunctionTransformer": lambda e: _cellwise(e.func),
    "TransformedTargetRegressor": lambda e: _cellwise(e.func) and _cellwise(e.inverse_func),
    "CalibratedClassifierCV": lambda e: e.method != "temperature",
    "OneClassSVM": lambda e: True,
    "GaussianMixture": lambda e: True,
    "BayesianGaussianMixture": lambda e: True,
    "SkewedChi2Sampler": lambda e: True,
    "FeatureHasher": lambda e: True,
    "SplineTransformer": lambda e: not e.sparse_output,
    "KNeighborsClassifier": lambda e: not hasattr(getattr(e, "_fit_X", None), "tocsr"),
    "KNeighborsRegressor": lambda e: not hasattr(getattr(e, "_fit_X", None), "tocsr"),
}
# Parts that no prediction calls, or that C code calls for each row.
_PARTS = set(
    """AdamOptimizer SGDOptimizer EuclideanDistance Tree KDTree BallTree NewtonRaphson Bunch
TreePredictor _BinMapper _IdentityRegressor _MultinomialBinomial _PredictScorer _DecisionScorer
_ProbaScorer _ThresholdScorer _Scorer _PassthroughScorer _MultimetricScorer _CurveScorer MaskedArray
interp1d RandomState StratifiedKFold KFold StratifiedShuffleSplit ShuffleSplit GroupKFold
LeaveOneOut TimeSeriesSplit RepeatedKFold RepeatedStratifiedKFold _CVIterableWrapper LedoitWolf
EmpiricalCovariance OAS ShrunkCovariance MetadataRequest MethodMetadataRequest
make_column_selector""".split()  # noqa: SIM905
)
_PACKAGES = {"sklearn", "imblearn", "xgboost", "lightgbm", "catboost", "sklearn_dpbo"}
_OTHERS = {
    "xgboost": {
        "XGBClassifier", "XGBRegressor", "XGBRanker", "XGBRFClassifier", "XGBRFRegressor",
        "Booster",
    },
    "lightgbm": {"LGBMClassifier", "LGBMRegressor", "Booster"},
    "catboost": {"CatBoostClassifier", "CatBoostRegressor", "CatBoost", "_CatBoostBase"},
}  # fmt: skip
_PLAIN = {
    "numpy", "scipy", "builtins", "collections", "_collections", "copyreg", "functools", "decimal",
    "datetime", "pandas", "_thread", "re",
}  # fmt: skip
_RECONSTRUCT = {
    "_reconstruct", "scalar", "_frombuffer", "__randomstate_ctor", "__generator_ctor",
    "__bit_generator_ctor", "newObj", "_unpickle", "_mareconstruct",
}  # fmt: skip
_METHODS = (
    "predict", "predict_proba", "decision_function", "transform", "inverse_transform",
)  # fmt: skip


def why_unlisted(estimator: Any) -> str | None:
    """Return why this estimator may not predict row by row, or None; parts judged separately."""
    walk = _Walk(estimator)
    try:
        walk.dump(estimator)
    except Exception as error:
        return walk.why or f"{type(estimator).__name__} cannot be pickled ({type(error).__name__})"
    return walk.why or None


class _Walk(pickle.Pickler):
    """Notes the first object of an estimator that is not listed; not of its parts."""

    def __init__(self, whole: Any) -> None:
        super().__init__(io.BytesIO(), 5)
        self.whole, self.why = whole, ""

    def persistent_id(self, o: Any) -> Any:
        is_part = not isinstance(o, type) and any(hasattr(type(o), m) for m in _METHODS)
        return "part" if is_part and o is not self.whole else None

    def reducer_override(self, o: Any) -> Any:
        if not self.why:
            self.why = _why(o)
        return NotImplemented


def _why(o: Any) -> str:
    t = o if isinstance(o, type) else type(o)
    if t is getattr(_loss, t.__name__, 0):
        return ""
    if isinstance(o, type):
        package = o.__module__.partition(".")[0]
        return "" if package in _PLAIN | _PACKAGES else f"your class {o.__name__}"
    if isinstance(o, np.ufunc):
        return ""
    if type(o).__name__ == "cython_function_or_method":
        known = o.__name__.startswith("__pyx_unpickle") or o.__name__ in _RECONSTRUCT
        return "" if known else o.__name__
    if o is check_array:
        return ""
    if isinstance(o, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
        m = getattr(o, "__module__", "") or ""
        ok = m.startswith(
            ("scipy._lib.array_api_compat", "sklearn.metrics.", "sklearn.feature_selection.")
        )
        ok = ok or _cellwise(o) or m == "copyreg" or o.__name__ in _RECONSTRUCT
        if ok or getattr(o, "__name__", "").startswith("__pyx"):
            return ""
        known = m.partition(".")[0] in _PLAIN | _PACKAGES
        return f"{m}.{o.__qualname__}" if known else f"your function {o.__name__}"
    package, name = t.__module__.partition(".")[0], t.__name__
    if package in _PLAIN:
        return ""
    ok = package == "sklearn" and (
        name in _ALWAYS
        or name in _PARTS
        or (name in _IF and _IF[name](o))
        or t.__module__.startswith(
            (
                "sklearn._loss",
                "sklearn.gaussian_process.kernels",
                "sklearn.linear_model._glm",
                "sklearn.metrics._dist_metrics",
                "sklearn.utils._metadata_requests",
                "sklearn.linear_model._sgd_fast",
            )
        )
    )
    ok = ok or package == "sklearn_dpbo" or name in _OTHERS.get(package, ())
    if ok:
        return ""
    return name if package in _PACKAGES else f"your class {name}"
