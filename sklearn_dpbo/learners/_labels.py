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
    """Return the sorted classes; if `classes` is None, the labels in y that are not missing.

    With `warns`, it warns if `classes` is None; set it to False if the estimator has no such
    parameter.
    """
    declared = getattr(y, "dtype", None)
    check_readable("y", y, real=True)
    if classes is None and warns:
        warn(
            "classes is None: the labels in y become public as the classes, even a label that only "
            "one record has. Pass all possible labels, as in classes=[0, 1]",
            PrivacyWarning,
        )
    if classes is None:
        # A list is read label by label: numpy would choose one type for all.
        labels = objects(y) if isinstance(y, list | tuple) else column_or_1d(dense(y))
        if labels.dtype.kind in "fO":
            present = [label for label in labels.tolist() if not is_missing(label)]
            numeric = all(map(is_number, present))  # they may be objects because one is missing
            labels = np.array(present, dtype=None if numeric else object)
        check_classification_targets(labels)
        classes = labels
    classes = of_own_rows(np.unique(np.asarray(classes)))
    # The dtype of an array is public; the types in objects and lists are not.
    if len({kind_of(declared), kind_of(classes.dtype)} - {None}) > 1:
        raise ValueError(
            f"y has {kind_of(declared)}, but the classes are {classes}: no label would match any. "
            "Give classes of the type of y, spelled as in y"
        )
    if len(classes) < 2:
        raise ValueError(f"a classifier needs two or more classes; there is 1 class: {classes}")
    return classes  # type: ignore[no-any-return]


def _targets_of(y: Any, n: int) -> NDArray[np.float64]:
    """Convert y to n numbers; NaN for other objects."""
    return numbers(_one_each(y, np.zeros(1), n))


def scaled_targets(y: Any, n: int, low: float, high: float) -> NDArray[np.float64]:
    """Scale targets from [low, high] to [-1, 1], and clip them; other objects become 0."""
    scaled = np.nan_to_num((2 * _targets_of(y, n) - low - high) / (high - low))
    return np.clip(scaled, -1, 1)


def centred_targets(y: Any, n: int, middle: float, half: float) -> NDArray[np.float64]:
    """Subtract the middle from targets, and clip them to [-half, half] unless half is NaN."""
    targets = _targets_of(y, n) - middle
    return targets.clip(-half, half) if half > 0 else targets


def class_numbers(y: Any, n: int, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Find the position of each label among the classes; -1 for other labels."""
    return encode(_one_each(y, classes, n), classes)


def _one_each(y: Any, like: NDArray[Any], n: int) -> NDArray[Any]:
    """Return one label for each of n rows; labels in lists and object arrays are read singly."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    check_readable("y", y, real=True)  # before scikit-learn does, which quotes them
    declared = isinstance(y, np.ndarray) and y.dtype != object
    return check_labels(column_or_1d(y, warn=True) if declared else y, like, n)
