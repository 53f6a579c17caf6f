"""Labels and groups of protected training records (zone: sensitive)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .._data.canonical import as_array, check_labels, kind_of, refuse_complex
from .._data.tables import dense, is_frame, is_missing, is_number, objects
from ..scoring._labels import encode
from ..scoring._queries import numbers

__all__ = ["as_declared", "class_numbers", "public_classes", "targets_of"]


def as_declared(X: Any) -> Any:
    """Return a table whose type no record decides: objects are read cell by cell.

    Cells that are not numbers are missing. ValueError here, since scikit-learn's messages quote X.
    """
    if is_frame(X):
        other = [c for c, dtype in X.dtypes.items() if not _is_of_numbers(dtype)]
        if other:
            raise ValueError(
                f"the columns {other} are not numeric. Encode them, for example with "
                'OneHotEncoder(categories=[...], sparse_output=False, handle_unknown="ignore"), '
                "or times as a number of days"
            )
        return X
    if issparse(X):
        return X  # refused by its type
    if isinstance(X, list | tuple):
        raise ValueError(
            "X is a list, in which single records decide the number and the type of columns. Give "
            "an array or a data frame, such as np.array(X, dtype=float)"
        )
    X = np.asarray(X)
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X is an array of {X.dtype}")
    if X.dtype.kind not in "biufO":
        raise ValueError(f"X has to be numbers; found an array of {X.dtype}")
    width = X.shape[1] if X.dtype == object and X.ndim == 2 else 0
    if not width and np.ndim(X) != 2:
        raise ValueError(
            f"Expected 2D array, got {np.ndim(X)}D array instead. Reshape your data to one row "
            "per record"
        )
    return as_array(X, np.zeros((1, width))) if width else X


def _is_of_numbers(dtype: Any) -> bool:
    """Whether a column holds numbers, or categories that are (and cannot be missing)."""
    own = getattr(getattr(dtype, "categories", None), "dtype", None)
    return kind_of(dtype) == "numbers" and (own is None or isinstance(own, np.dtype))


def public_classes(classes: Any, y: Any) -> NDArray[Any]:
    """Return the classes, in sorted order; by default those of y that are not missing."""
    declared = getattr(y, "dtype", None)
    refuse_complex(y)
    if classes is None:
        # A list is read label by label: numpy would choose one type for all.
        labels = objects(y) if isinstance(y, list | tuple) else column_or_1d(dense(y))
        if labels.dtype.kind in "fO":
            known = [label for label in labels.tolist() if not is_missing(label)]
            numeric = all(map(is_number, known))  # they may be objects because one is missing
            labels = np.array(known, dtype=None if numeric else object)
        with np.errstate(all="ignore"):
            check_classification_targets(labels)
        classes = labels
    classes = np.unique(np.asarray(classes))
    # The dtype of an array is public; the types in objects and lists are not.
    if len({kind_of(declared), kind_of(classes.dtype)} - {None}) > 1:
        raise ValueError(f"y has dtype {declared}, but the classes are {classes}: none would occur")
    if len(classes) < 2:
        raise ValueError(f"a classifier needs two or more classes; there is 1 class: {classes}")
    return classes  # type: ignore[no-any-return]


def targets_of(y: Any, n: int) -> NDArray[np.float64]:
    """Return one number for each of n rows; NaN for other objects."""
    return numbers(_one_each(y, np.zeros(1), n))


def class_numbers(y: Any, classes: NDArray[Any], n: int) -> NDArray[np.intp]:
    """Return the position of each label among the classes; -1 for other labels."""
    return encode(_one_each(y, classes, n), classes)


def _one_each(y: Any, like: NDArray[Any], n: int) -> NDArray[Any]:
    """Return one label for each of n rows, those without a type read one by one."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    refuse_complex(y)  # before scikit-learn does, which quotes them
    declared = isinstance(y, np.ndarray) and y.dtype != object
    return check_labels(column_or_1d(y, warn=True) if declared else y, like, n)
