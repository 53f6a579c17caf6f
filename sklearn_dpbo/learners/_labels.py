"""Labels and groups of protected training records (zone: sensitive)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ..exceptions import PrivacyWarning
from ..metrics._labels import encode
from ..metrics._queries import numbers
from ..privacy.float_errors import ignore_float_errors
from ..privacy.warn import warn
from ..records.canonical import check_labels, kind_of
from ..records.tables import (
    check_readable,
    dense,
    is_missing,
    is_number,
    objects,
    of_own_rows,
)


@ignore_float_errors()
def public_classes(classes: Any, y: Any, *, warns: bool = True) -> NDArray[Any]:
    """Return the classes, in sorted order; by default those of y that are not missing.

    It warns of the default, unless the estimator has no parameter to give them.
    """
    declared = getattr(y, "dtype", None)
    check_readable("y", y, real=True)
    if classes is None and warns:
        warn(
            "classes is None: the classes are the labels in y, which become public, even one that "
            "a single record has. Give all labels that there can be, as classes=[0, 1]",
            PrivacyWarning,
        )
    if classes is None:
        # A list is read label by label: numpy would choose one type for all.
        labels = objects(y) if isinstance(y, list | tuple) else column_or_1d(dense(y))
        if labels.dtype.kind in "fO":
            known = [label for label in labels.tolist() if not is_missing(label)]
            numeric = all(map(is_number, known))  # they may be objects because one is missing
            labels = np.array(known, dtype=None if numeric else object)
        check_classification_targets(labels)
        classes = labels
    classes = of_own_rows(np.unique(np.asarray(classes)))
    # The dtype of an array is public; the types in objects and lists are not.
    if len({kind_of(declared), kind_of(classes.dtype)} - {None}) > 1:
        raise ValueError(
            f"y holds {kind_of(declared)}, but the classes are {classes}: none would occur. Give "
            "classes of the type of y, spelled as there"
        )
    if len(classes) < 2:
        raise ValueError(f"a classifier needs two or more classes; there is 1 class: {classes}")
    return classes  # type: ignore[no-any-return]


def _targets_of(y: Any, n: int) -> NDArray[np.float64]:
    """Return one number for each of n rows; NaN for other objects."""
    return numbers(_one_each(y, np.zeros(1), n))


def scaled_targets(y: Any, n: int, low: float, high: float) -> NDArray[np.float64]:
    """Return targets, from the lowest and the highest one to [-1, 1]; 0 for other objects."""
    scaled = np.nan_to_num((2 * _targets_of(y, n) - low - high) / (high - low))
    return np.clip(scaled, -1, 1)


def centred_targets(y: Any, n: int, middle: float, half: float) -> NDArray[np.float64]:
    """Return targets less their middle, at most half on either side, if that is a number."""
    targets = _targets_of(y, n) - middle
    return targets.clip(-half, half) if half > 0 else targets


def class_numbers(y: Any, n: int, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each label among the classes; -1 for other labels."""
    return encode(_one_each(y, classes, n), classes)


def _one_each(y: Any, like: NDArray[Any], n: int) -> NDArray[Any]:
    """Return one label for each of n rows, those without a type read one by one."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    check_readable("y", y, real=True)  # before scikit-learn does, which quotes them
    declared = isinstance(y, np.ndarray) and y.dtype != object
    return check_labels(column_or_1d(y, warn=True) if declared else y, like, n)
