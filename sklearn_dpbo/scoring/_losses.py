"""Gains of regressors: minus a loss of the prediction of each record (zone: sensitive)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from .._data.tables import dense
from ._gains import Gain, check_same_shape

__all__ = ["LOSSES", "AbsoluteLoss", "Loss", "PinballLoss", "SquaredLoss", "WithinError"]

# Losses beyond that of this share of the training records count as much, if they are predicted to
# have the median label: unless bounds are given.
_COUNTED = 0.99


class Loss(Gain):
    """Minus a loss, averaged over outputs."""

    task = "regression"
    takes_bounds = True
    one_output = False
    bounds = None

    def loss(self, y: NDArray[np.float64], predicted: NDArray[Any]) -> NDArray[Any]:
        """Return the loss of each prediction.

        Parameters
        ----------
        y, predicted : ndarray of shape (n,) or (n, n_outputs)
            Labels and predictions.

        Returns
        -------
        loss : ndarray of the same shape
            Not negative.
        """
        raise NotImplementedError

    def bounds_from(self, y_train: Any) -> tuple[float, float]:
        """Return bounds for labels like these: the loss of predicting their median, mostly.

        Parameters
        ----------
        y_train : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Public.
        """
        y = np.asarray(dense(y_train), dtype=float)
        loss = -self(y, np.broadcast_to(np.median(y, axis=0), y.shape), None)
        worst = float(np.quantile(loss, _COUNTED, method="higher"))
        # Where nearly all labels are the same, so is this loss: 0.
        return (-(worst or float(loss.max()) or 1.0), 0.0)

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        check_same_shape(y, response)
        with np.errstate(all="ignore"):  # a loss that is not a number counts as the largest
            loss = self.loss(y.astype(float), response)
        return -loss if loss.ndim == 1 else -loss.mean(axis=1)


class AbsoluteLoss(Loss):
    """-|y - prediction|."""

    def loss(self, y: NDArray[np.float64], predicted: NDArray[Any]) -> NDArray[Any]:
        loss: NDArray[Any] = np.abs(y - predicted)
        return loss


class SquaredLoss(Loss):
    """-(y - prediction)^2."""

    def loss(self, y: NDArray[np.float64], predicted: NDArray[Any]) -> NDArray[Any]:
        loss: NDArray[Any] = (y - predicted) ** 2
        return loss


@dataclass(frozen=True)
class PinballLoss(Loss):
    """-max(alpha e, (alpha - 1) e) with e = y - prediction."""

    alpha: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha is a quantile, from 0 to 1; found {self.alpha!r}")

    def loss(self, y: NDArray[np.float64], predicted: NDArray[Any]) -> NDArray[Any]:
        error = y - predicted
        loss: NDArray[Any] = np.maximum(self.alpha * error, (self.alpha - 1) * error)
        return loss


class AbsolutePercentageLoss(Loss):
    """-|y - prediction| / |y|."""

    def loss(self, y: NDArray[np.float64], predicted: NDArray[Any]) -> NDArray[Any]:
        loss: NDArray[Any] = np.abs(y - predicted) / np.maximum(np.abs(y), np.finfo(float).eps)
        return loss


class SquaredLogLoss(Loss):
    """-(ln(1 + y) - ln(1 + prediction))^2."""

    def loss(self, y: NDArray[np.float64], predicted: NDArray[Any]) -> NDArray[Any]:
        loss: NDArray[Any] = (np.log1p(y) - np.log1p(predicted)) ** 2
        return loss


class PoissonDeviance(Loss):
    """-2 (y ln(y / prediction) - y + prediction), of positive predictions."""

    def loss(self, y: NDArray[np.float64], predicted: NDArray[Any]) -> NDArray[Any]:
        valid = (y >= 0) & (predicted > 0)
        return np.where(valid, 2 * (xlogy(y, y / predicted) - y + predicted), np.inf)


class GammaDeviance(Loss):
    """-2 (ln(prediction / y) + y / prediction - 1), of positive labels and predictions."""

    def loss(self, y: NDArray[np.float64], predicted: NDArray[Any]) -> NDArray[Any]:
        valid = (y > 0) & (predicted > 0)
        return np.where(valid, 2 * (np.log(predicted / y) + y / predicted - 1), np.inf)


@dataclass(frozen=True)
class WithinError(Gain):
    """[|y - prediction| <= largest].

    Parameters
    ----------
    largest : float
        Public.
    """

    largest: float
    task = "regression"
    counts = True

    def __call__(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        check_same_shape(y, response)
        within: NDArray[Any] = np.abs(y.astype(float) - response) <= self.largest
        return within


LOSSES: dict[str, Callable[..., Loss]] = {
    "neg_mean_absolute_error": AbsoluteLoss,
    "neg_mean_absolute_percentage_error": AbsolutePercentageLoss,
    "neg_mean_gamma_deviance": GammaDeviance,
    "neg_mean_pinball_loss": PinballLoss,
    "neg_mean_poisson_deviance": PoissonDeviance,
    "neg_mean_squared_error": SquaredLoss,
    "neg_mean_squared_log_error": SquaredLogLoss,
}
