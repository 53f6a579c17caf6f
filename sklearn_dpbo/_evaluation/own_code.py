"""Code in a model that is not known to predict row by row (zone: public).

Such code may compute something from the batch that it predicts for values alone that no training
record has; no test on training records would show it. So models with such code predict each record
separately, unless the user asks for something else.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from .._data.pickles import Unpickler

__all__ = ["check_prediction", "own_code", "predicts_separately"]

# Packages whose estimators and functions predict row by row, or are found by the check; and what of
# the standard library pickles need. Any other module of it may be a file of the user's.
_KNOWN = {
    "catboost", "imblearn", "interpret", "lightgbm", "numpy", "pandas", "scipy", "sklearn",
    "sklearn_dpbo", "xgboost",
    "builtins", "copyreg", "collections", "_codecs", "datetime", "decimal",
}  # fmt: skip
# Of scikit-learn, those where a prediction of one row runs a search that others steer were left
# out: NMF with solver="mu" starts from the mean of the batch, and stops for all rows at once.
_KNOWN_OF_SKLEARN = {
    "_loss", "base", "calibration", "compose", "covariance", "cross_decomposition",
    "discriminant_analysis", "dummy", "ensemble", "externals", "feature_extraction",
    "feature_selection", "frozen", "gaussian_process", "impute", "isotonic", "kernel_approximation",
    "kernel_ridge", "linear_model", "metrics", "mixture", "model_selection", "multiclass",
    "multioutput", "naive_bayes", "neighbors", "neural_network", "pipeline", "preprocessing",
    "random_projection", "svm", "tree", "utils",
    "cluster._kmeans", "decomposition._factor_analysis", "decomposition._fastica",
    "decomposition._incremental_pca", "decomposition._kernel_pca", "decomposition._pca",
    "decomposition._truncated_svd",
}  # fmt: skip
# Classes in these parts that branch on all rows: whether each sums to 1, and the least of a column.
_NOT_KNOWN = {"_TemperatureScaling", "SplineTransformer"}
# Functions beside ufuncs that are known: what pickles are made of, some that work on each number,
# and scores. Others may look at all rows: `scale` does so if one of them is large.
_FUNCTIONS = {
    "scalar", "newObj", "asarray", "check_array", "clip", "nan_to_num", "round", "around",
}  # fmt: skip
_OF_FITS = ("sklearn.feature_selection.", "sklearn.metrics.")


def check_prediction(prediction: Any) -> None:
    """Raise ValueError unless this says how the validation set is predicted."""
    if prediction not in ("auto", "together", "separate"):
        raise ValueError(f'prediction is "auto", "together" or "separate"; found {prediction!r}')


def own_code(pickled: bytes) -> str:
    """Return the first class or function in a pickled model that is not known; "" if all are."""
    unpickler = _Names(io.BytesIO(pickled))
    unpickler.load()
    return unpickler.found


def predicts_separately(prediction: str, found: str) -> bool:
    """Whether each unit is predicted by itself, by a model in which this code was found."""
    return prediction == "separate" or (prediction == "auto" and bool(found))


class _Names(Unpickler):
    """Notes the first class or function that is not known to predict row by row."""

    found = ""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function by name."""
        value = super().find_class(module, name)
        if not self.found and not _is_known(module, name, value):
            by_value = module.partition(".")[0] == "cloudpickle"
            self.found = "code without an importable name" if by_value else f"{module}.{name}"
        return value


def _is_known(module: str, name: str, value: Any) -> bool:
    # A method that stands for a function (`imputer.fit_transform`) can do what a user wants.
    if "." in name or (module, name) == ("builtins", "getattr"):
        return False
    if (module, name) == ("functools", "partial"):  # what it calls has a name of its own
        return True
    package, *inside = module.split(".")
    if package == "sklearn" and inside:
        known = not _KNOWN_OF_SKLEARN.isdisjoint((inside[0], ".".join(inside[:2])))
    else:
        known = package in _KNOWN
    if isinstance(value, type):  # a frame made of a list takes its types from all of it
        is_frame = package == "pandas" and name in ("DataFrame", "Series")
        return known and not is_frame and name not in _NOT_KNOWN
    is_listed = name.startswith("_") or name in _FUNCTIONS or module.startswith(_OF_FITS)
    return known and (isinstance(value, np.ufunc) or is_listed)
