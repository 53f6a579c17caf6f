"""Decision thresholds to choose from, placed by the training set alone (zone: public).

Their density is a prior: the choice favours regions with many thresholds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from ..metrics._response import Predictions, class_scores, respond
from ..prediction.fitting import fit, without_callbacks
from ..privacy.suppress_output import drop_errors
from ..records.split import Training, split_training
from ..records.tables import copied, dense, n_rows, take_rows
from ..records.units import Units

# Largest number of training records that thresholds are placed by.
_MOST_RECORDS = 2**12
# Weight of a threshold's score on them: the whole range of scores is a factor of e^200.
_TRUST = 200.0
# Thresholds that are tried on the public records of each class.
_N_TRIED = 100


def public_thresholds(
    estimator: Any, label_gains: Any, query: Any, training: Training, n: int
) -> NDArray[np.float64]:
    """Place n thresholds, ascending, some of them several times.

    A quarter are spread evenly over the range of responses, a quarter are quantiles of the
    responses to training records, and half are drawn from these two quarters with weights
    ``exp(200 u)``, where u in [0, 1] is a threshold's score on the training records, by `query`.
    """
    index = np.unique(np.linspace(0, n_rows(training.X) - 1, _MOST_RECORDS).astype(int))
    response = respond(estimator, take_rows(training.X, index), label_gains.response_method)
    y = dense(take_rows(training.y, index))
    values = label_gains.record_values(y, response, estimator.classes_)
    spread = _spread(values[:, 0], response.ndim == 2, n - n // 2, type(estimator).__name__)
    units = Units.of(len(index))
    u = label_gains.statistics_at(spread, values, y, units, query)[:, 0] / query.largest(units)
    cumulated = np.cumsum(np.exp(_TRUST * (u - u.max())))
    shares = (np.arange(n // 2) + 0.5) / (n // 2)
    promising = spread[np.searchsorted(cumulated, shares * cumulated[-1])]
    return np.sort(np.concatenate([spread, promising]))


def _spread(
    responses: NDArray[np.float64], are_probabilities: bool, n: int, estimator: str
) -> NDArray[np.float64]:
    """Place n thresholds, ascending: half evenly, half at quantiles of public responses."""
    responses = np.sort(responses[np.isfinite(responses)])
    if not len(responses):
        raise ValueError(
            f"{estimator} gives no finite number for any training record, so no threshold can be "
            "placed"
        )
    if responses[0] == responses[-1]:
        raise ValueError(
            f"{estimator} makes constant predictions: it gives all training records the same "
            "number, so no threshold divides them. Pass thresholds=[...] if it gives others "
            "different numbers"
        )
    low, high = (0.0, 1.0) if are_probabilities else (responses[0], responses[-1])
    # The same as np.quantile, which is slow for many quantiles.
    positions = (np.arange(n // 2) + 0.5) / max(1, n // 2) * (len(responses) - 1)
    quantiles = np.interp(positions, np.arange(len(responses)), responses)
    return np.sort(np.concatenate([np.linspace(low, high, n - n // 2), quantiles]))


def public_responses(
    estimator: Any,
    model: Any,
    training: Training,
    response_method: tuple[str, ...],
    rng: np.random.Generator,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return labels and responses, shape (n,) each, of training records.

    A copy of `model` is fitted on four fifths of the training set and responds to the rest. The
    fitted `estimator` responds to all of it instead if that fit fails or would spend a privacy
    budget, or if `model` is a `FrozenEstimator`.
    """
    names = (name.rpartition("__")[2] for name in model.get_params(deep=True))
    if not isinstance(model, FrozenEstimator) and "ledger" not in names:  # a fit spends nothing
        part, test = split_training(training, model, None, rng)
        with drop_errors():  # a search before this may have left traces of protected records
            fitted = fit(without_callbacks(clone(model)), part)
            if np.array_equal(fitted.classes_, estimator.classes_):
                response = respond(fitted, test.X, response_method)
                return dense(test.y), class_scores(response)[:, 0]
    response = respond(estimator, copied(training.X), response_method)
    return dense(training.y), class_scores(response)[:, 0]


def best_public(
    score: Callable[..., float],
    y: NDArray[Any],
    responses: NDArray[np.float64],
    classes: Any,
) -> tuple[float, NDArray[Any]]:
    """Find the threshold with the best score; also return the labels that it predicts.

    `score` takes `Predictions`; the second class is predicted from a threshold on upwards.
    """
    shares = (np.arange(_N_TRIED) + 0.5) / _N_TRIED
    finite = np.isfinite(responses)
    of_classes = [responses[finite & (y == label)] for label in classes]
    tried = np.unique([np.quantile(values, shares) for values in of_classes if len(values)])
    labels: list[NDArray[Any]] = [classes[(responses >= t).astype(int)] for t in tried]
    best = int(np.argmax([score(Predictions(y, predicted, classes)) for predicted in labels]))
    return float(tried[best]), labels[best]
