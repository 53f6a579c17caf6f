"""Labels and groups of protected training records (zone: sensitive)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .._data.canonical import as_labels, canonical
from .._data.cells import is_missing, is_number
from .._data.tables import is_frame
from ..scoring._labels import encode
from ..scoring._statistics import numbers

__all__ = ["as_declared", "class_numbers", "public_classes", "targets_of", "unit_numbers"]


def as_declared(X: Any) -> Any:
    """Return a table whose type no record decides: lists and objects are read cell by cell.

    A cell of theirs that is no number is missing.

    Raises
    ------
    ValueError
        If columns of a frame do not declare that they hold numbers.
    """
    if is_frame(X):
        other = [c for c, dtype in X.dtypes.items() if not _is_of_numbers(dtype)]
        if other:
            raise ValueError(
                f"the columns {other} are not declared to hold numbers: encode them, with "
                'OneHotEncoder(categories=[...], sparse_output=False, handle_unknown="ignore"), say'
            )
        return X
    if isinstance(X, np.ndarray):
        width = X.shape[1] if X.dtype == object and X.ndim == 2 else 0
    else:
        listed = isinstance(X, list | tuple) and len(X) > 0
        width = len(X[0]) if listed and isinstance(X[0], list | tuple | np.ndarray) else 0
    return canonical(np.zeros((1, width))).read(X) if width else X


def _is_of_numbers(dtype: Any) -> bool:
    """Whether a column holds numbers or times, or categories that are."""
    categories = getattr(dtype, "categories", None)
    dtype = dtype if categories is None else categories.dtype
    return getattr(dtype, "kind", "O") in "biufmM"


def public_classes(classes: Any, y: Any) -> NDArray[Any]:
    """Return the classes, in sorted order; if they are not given, those of y that are not missing.

    Raises
    ------
    ValueError
        If there is one class only; or numbers that are none, such as 0.5.
    """
    if classes is None:
        classes = column_or_1d(y)
        if classes.dtype.kind in "fO":
            known = [label for label in classes.tolist() if not is_missing(label)]
            numeric = all(map(is_number, known))  # perhaps among objects, where one is missing
            classes = np.array(known, dtype=None if numeric else object)
        with np.errstate(all="ignore"):
            check_classification_targets(classes)
    found = np.unique(np.asarray(classes))
    if len(found) < 2:
        raise ValueError(f"a classifier needs two classes or more; there is 1 class: {found}")
    return found


def targets_of(y: Any, n: int) -> NDArray[np.float64]:
    """Return one number for each of n rows; NaN for what is no number.

    Raises
    ------
    ValueError
        If y declares that it has none, or has another length.
    """
    targets = _one_each(y, np.zeros(1), n)
    if targets.dtype.kind not in "biufO":
        raise ValueError(f"y has to be numbers; found an array of {targets.dtype}")
    return numbers(targets)


def class_numbers(y: Any, classes: NDArray[Any], n: int) -> NDArray[np.intp]:
    """Return the position of each label among the classes; -1 for one that is none of them."""
    return encode(_one_each(y, classes, n), classes)


def _one_each(y: Any, like: NDArray[Any], n: int) -> NDArray[Any]:
    """Return one label for each of n rows.

    Those of a list are read one by one, as numbers or objects: numpy would choose one type for all,
    so that a record whose label is a text would change the labels of all others.
    """
    listed = isinstance(y, list | tuple)
    found: NDArray[Any] = as_labels(y, like) if listed else column_or_1d(y, warn=True)
    if len(found) != n:
        raise ValueError(f"X has {n} rows, y has {len(found)}: inconsistent numbers of samples")
    return found


def unit_numbers(groups: Any, n: int) -> NDArray[np.intp] | None:
    """Return the number of the group that each record belongs to."""
    if groups is None:
        return None
    if len(groups) != n:
        raise ValueError(f"groups has {len(groups)} entries for {n} rows")
    number: NDArray[np.intp] = np.unique(np.asarray(groups), return_inverse=True)[1]
    return number
