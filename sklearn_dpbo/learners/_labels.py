"""Labels and groups of protected training records (zone: sensitive)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ..scoring._labels import encode

__all__ = ["class_numbers", "public_classes", "targets_of", "unit_numbers"]


def public_classes(classes: Any, y: Any) -> NDArray[Any]:
    """Return the classes, in sorted order; if they are not given, those of y."""
    if classes is None:
        check_classification_targets(y)
        classes = column_or_1d(y, warn=True)
    found = np.unique(np.asarray(classes))
    if len(found) < 2:
        raise ValueError(f"a classifier needs two classes or more; there is 1 class: {found}")
    return found


def targets_of(y: Any, n: int, dtype: Any = None) -> NDArray[Any]:
    """Return one target for each of n rows."""
    targets: NDArray[Any] = column_or_1d(y, warn=True, dtype=dtype)
    if len(targets) != n:
        raise ValueError(f"X has {n} rows, y has {len(targets)}: inconsistent numbers of samples")
    return targets


def class_numbers(y: Any, classes: NDArray[Any], n: int) -> NDArray[np.intp]:
    """Return the position of each label among the classes; -1 for one that is none of them."""
    return encode(targets_of(y, n), classes)


def unit_numbers(groups: Any, n: int) -> NDArray[np.intp] | None:
    """Return the number of the group that each record belongs to."""
    if groups is None:
        return None
    if len(groups) != n:
        raise ValueError(f"groups has {len(groups)} entries for {n} rows")
    number: NDArray[np.intp] = np.unique(np.asarray(groups), return_inverse=True)[1]
    return number
