"""The guarantee of the private boosting of the package interpret (zone: public).

From the source code of interpret-core 0.7.8; file names below are relative to `interpret/`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from .._params import as_floats, check_number
from ._declaration import PrivateTraining

__all__ = ["KNOWN"]

# Here the floating-point search for the scale of the noise errs by less than its margin, and sums
# cannot overflow.
_CALIBRATED = "the range in which its noise is known to be calibrated"
_RANGES = (
    ("epsilon", (1e-5, 10.0), _CALIBRATED),
    ("delta", (1e-12, 0.1), _CALIBRATED),
    ("bin_budget_frac", (1e-6, 1 - 1e-6), "because histograms and trees each need some of epsilon"),
    ("learning_rate", (1e-6, 1e6), "so that its sums are neither too small nor too large"),
)

_NOISE = (
    "interpret's: random numbers of the processor or operating system, made approximately Gaussian "
    "and added to sums in floating-point numbers; not exact, and not proven at finite precision"
)
_CONDITION = (
    "no value is missing, and both classes occur: otherwise an error, or a model with a single "
    "class, reveals it"
)


def classifier(estimator: Any) -> PrivateTraining:
    """Return what `DPExplainableBoostingClassifier` guarantees: mu-GDP, one record added.

    A fit is a sequence of Gaussian mechanisms. A record is in one cell of each column's histogram
    (`utils/_privacy.py`, line 97), and adds a gradient, at most 1, to one leaf of each tree
    (`glassbox/_ebm/_boost.py`, line 280); all else follows from these noisy sums. The histograms
    are private at (f epsilon, delta / 2), f = `bin_budget_frac`, and the trees at the rest
    (`glassbox/_ebm/_ebm.py`, lines 816 and 968): together mu-GDP with mu^2 = mu_1^2 + mu_2^2, at
    most what implies (epsilon, delta), by basic composition. With ``composition="classic"`` there
    is more noise. The number of records is published (`bag_weights_`), so replacing one is two
    steps with that number the same.
    """
    if estimator.random_state is not None:
        raise ValueError(
            f"random_state={estimator.random_state!r} seeds the noise of "
            "DPExplainableBoostingClassifier, so anyone could remove it: leave it None"
        )
    n_columns = _continuous(estimator.feature_types)
    _bounded(estimator.privacy_bounds, n_columns)
    for name, (low, high), why in _RANGES:
        check_number(
            f"{name} of a fit of DPExplainableBoostingClassifier",
            getattr(estimator, name),
            f"a number from {low:g} to {high:g}, {why}",
            partial(_between, low, high),
        )
    return PrivateTraining(
        "GDP", neighbours="add-or-remove-one", condition=_CONDITION, noise=_NOISE
    )


def regressor(estimator: Any) -> NoReturn:
    """Refuse `DPExplainableBoostingRegressor`: its noise is not scaled for what it sums.

    It is scaled for the range of targets; residuals, which nothing clips, are summed.
    """
    raise ValueError(
        "DPExplainableBoostingRegressor is less private than its epsilon says: its noise suffices "
        "for residuals no larger than the range of targets, but its residuals are not bounded. "
        "With targets in [100, 101], one record changes a sum by 100 times what the noise covers. "
        "Use PrivateRidge of sklearn_dpbo.learners"
    )


def _between(low: float, high: float, value: float) -> bool:
    return low <= value <= high


def _continuous(feature_types: Any) -> int:
    """Return the number of columns, all of which are declared to be continuous."""
    try:
        kinds = [] if isinstance(feature_types, str) else list(feature_types)
    except TypeError:
        kinds = []
    if not kinds or any(not isinstance(kind, str) or kind != "continuous" for kind in kinds):
        raise ValueError(
            'feature_types must be ["continuous"] * n_columns: the categories of other columns '
            "would be taken from the records, and could reveal rare ones; "
            f"found {feature_types!r:.100}. Encode categories beforehand, in a pipeline, "
            'with OrdinalEncoder(categories=[...], handle_unknown="use_encoded_value", '
            "unknown_value=-1)"
        )
    return len(kinds)


def _bounded(privacy_bounds: Any, n_columns: int) -> None:
    """Raise ValueError unless there is a lowest and a highest value of each column."""
    bounds = as_floats(privacy_bounds)
    in_pairs = bounds is not None and bounds.shape == (n_columns, 2)
    if bounds is None or not in_pairs or not (bounds[:, 0] < bounds[:, 1]).all():
        raise ValueError(
            "privacy_bounds must be the lowest and the highest value of each column, chosen "
            f"without looking at the records: a list of {n_columns} pairs, or an array of shape "
            f"({n_columns}, 2). interpret takes missing bounds from the records; found "
            f"{privacy_bounds!r:.100}"
        )


_MODULE = "interpret.glassbox._ebm._ebm"
KNOWN: dict[str, Callable[[Any], PrivateTraining]] = {
    f"{_MODULE}.DPExplainableBoostingClassifier": classifier,
    f"{_MODULE}.DPExplainableBoostingRegressor": regressor,
}
