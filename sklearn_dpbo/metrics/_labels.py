"""Positions of labels among the classes; each is looked up by itself (zone: public)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def encode(y: Any, classes: Any) -> NDArray[np.intp]:
    """Return the position of each label in the sorted classes; -1 for labels not among them."""
    if "O" in (np.asarray(y).dtype.kind, np.asarray(classes).dtype.kind):
        return _encode_objects(np.asarray(y).tolist(), classes)
    index = np.searchsorted(classes, y)
    index[index == len(classes)] = 0
    return np.where(classes[index] == y, index, -1)


def class_numbers(y: Any, classes: Any) -> NDArray[np.intp]:
    """Return the position of each label; unknown labels get the next one, ``len(classes)``."""
    code = encode(y, classes)
    return np.where(code < 0, len(classes), code)


def _encode_objects(y: Any, classes: Any) -> NDArray[np.intp]:
    """Look up each label in a dict: if labels have no order, sorted search mixes up records."""
    positions = {label: i for i, label in enumerate(np.asarray(classes).tolist())}

    def position(label: Any) -> int:
        try:
            return positions.get(label, -1)
        except Exception:  # the label cannot be hashed or compared
            return -1

    return np.array([position(label) for label in y], dtype=int)


def position_of(pos_label: Any, classes: NDArray[Any]) -> int:
    """Return the position of the positive class; raise ValueError if it is not a class."""
    (position,) = _encode_objects([pos_label], classes)
    if position < 0:
        raise ValueError(
            f"pos_label={pos_label!r} is not a class of y, which has {classes.tolist()}. Pass one "
            "of these; for a search, scoring=make_private_scorer(name, pos_label=...)"
        )
    return int(position)
