"""Guarantee of the private boosting of the package interpret (zone: public).

Taken from the source code of interpret-core 0.7.8; file names below are relative to `interpret/`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..privacy.checks import as_floats
from ._declaration import PrivateTraining

CLASSIFIER = "interpret.glassbox._ebm._ebm.DPExplainableBoostingClassifier"

# In these ranges the floating-point search for the scale of the noise errs by less than its margin,
# and sums cannot overflow.
_CALIBRATED = "the range in which its noise is known to be calibrated"
_RANGES = (
    ("epsilon", 1e-5, 10.0, _CALIBRATED),
    ("delta", 1e-12, 0.1, _CALIBRATED),
    ("bin_budget_frac", 1e-6, 1 - 1e-6, "because histograms and trees each need some of epsilon"),
    ("learning_rate", 1e-6, 1e6, "so that its sums are neither too small nor too large"),
)

_NOISE = (
    "interpret's: random numbers of the processor or operating system, approximately Gaussian and "
    "added to sums in floating-point numbers; not exact, and not proven at finite precision"
)
_CONDITION = (
    "no value is missing, and both classes occur: otherwise an error, or a model with a single "
    "class, reveals it"
)


def boosting(estimator: Any) -> PrivateTraining:
    """Declare the guarantee of `DPExplainableBoostingClassifier`: mu-GDP for one record added.

    A fit is a sequence of Gaussian mechanisms. A record is in one cell of each column's histogram
    (`utils/_privacy.py`, line 97), and adds a gradient, at most 1, to one leaf of each tree
    (`glassbox/_ebm/_boost.py`, line 280); everything else follows from these noisy sums. The
    histograms are private at (f epsilon, delta / 2), f = `bin_budget_frac`, and the trees at the
    remaining (epsilon, delta) (`glassbox/_ebm/_ebm.py`, lines 816 and 968). Together they are
    mu-GDP with mu^2 = mu_1^2 + mu_2^2. By basic composition, this is at most the mu that implies
    (epsilon, delta). With ``composition="classic"`` there is more noise. The number of records is
    published (`bag_weights_`), so the guarantee is stated for adding or removing a record, and a
    replacement consists of both.
    """
    if estimator.random_state is not None:
        raise ValueError(
            f"random_state={estimator.random_state!r} seeds the noise of "
            "DPExplainableBoostingClassifier, so anyone could remove it: leave it None"
        )
    _check_columns(estimator.feature_types, estimator.privacy_bounds)
    for name, low, high, reason in _RANGES:
        value = as_floats(getattr(estimator, name))
        if value is None or value.ndim or not low <= value <= high:
            raise ValueError(
                f"{name} of a fit of DPExplainableBoostingClassifier must be a number from {low:g} "
                f"to {high:g}, {reason}; found {getattr(estimator, name)!r}"
            )
    return PrivateTraining(
        "GDP", neighbours="add-or-remove-one", condition=_CONDITION, noise=_NOISE
    )


def _check_columns(feature_types: Any, privacy_bounds: Any) -> None:
    """Raise ValueError unless each column is declared to be continuous, and has bounds."""
    is_list = isinstance(feature_types, list | tuple | np.ndarray)
    n = len(feature_types) if is_list else 0
    if not n or any(not isinstance(kind, str) or kind != "continuous" for kind in feature_types):
        raise ValueError(
            'feature_types must be ["continuous"] * n_columns: the categories of other columns '
            "would be taken from the records, and could reveal rare ones; "
            f"found {feature_types!r:.100}. Encode categories beforehand, in a pipeline, "
            'with OrdinalEncoder(categories=[...], handle_unknown="use_encoded_value", '
            "unknown_value=-1)"
        )
    bounds = as_floats(privacy_bounds)
    if bounds is None or bounds.shape != (n, 2) or not (bounds[:, 0] < bounds[:, 1]).all():
        raise ValueError(
            "privacy_bounds must be the lowest and the highest value of each column, chosen "
            f"without looking at the records: a list of {n} pairs, or an array of shape ({n}, 2). "
            f"interpret takes missing bounds from the records; found {privacy_bounds!r:.100}"
        )
