"""What papers on clinical models report of two classes, from the same counts (zone: released).

Tables are those of `_curves`, of shape (..., 2, n_bins). All probabilities in a bin count as the
mean of public ones there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from ..scoring._metrics import ratio
from ._base import Estimate
from ._curves import from_above, prevalence
from ._plots import COVERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AT_THRESHOLD", "CLINICAL", "ClinicalScores"]

Floats = NDArray[np.float64]
# By name: the metric that it is, of the positive class or of the other one.
_OF_LABELS = {
    "sensitivity": ("recall", True),
    "specificity": ("recall", False),
    "ppv": ("precision", True),
    "npv": ("precision", False),
}
AT_THRESHOLD = (*_OF_LABELS, "net_benefit")
CLINICAL = (*AT_THRESHOLD, "calibration_slope", "calibration_intercept")
# Probabilities beyond this, and 1 minus this, count as it: the logit of 0 is not finite.
_LEAST = 1e-4
# Of Newton's method: at most this many steps of at most this size, until they are this small.
_MOST_STEPS, _LONGEST, _SMALL = 50, 1.0, 1e-6
# A determinant is 0, up to rounding, if it is below this share of its diagonal's product.
_SINGULAR = 1e-9


class ClinicalScores:
    """The numbers of a `ClassifierEvaluation` that clinical papers report."""

    def decision_curve(self: Any) -> tuple[Floats, Floats, Floats]:
        """Return the decision curve (Vickers and Elkin, 2006): net benefit by threshold.

        The net benefit of treating records with a probability of at least p is the share of true
        positives minus p / (1 - p) times the share of false positives. That of treating none is 0.

        Returns
        -------
        net_benefit, treat_all : ndarray of shape (n_thresholds,)
            Of treating by the model, and of treating all records.
        thresholds : ndarray of shape (n_thresholds,)
            Those of `thresholds` between 0 and 1.
        """
        table, odds, thresholds = self._table(0), self._odds(), self.thresholds
        share, inside = prevalence(table), np.isfinite(odds)
        curves = net_benefit(table, odds), share - (1 - share) * odds, thresholds
        return tuple(curve[inside] for curve in curves)

    def plot_decision_curve(
        self: Any, *, interval: str = "population", ax: Axes | None = None, **kwargs: Any
    ) -> Axes:
        """Draw the decision curve, with a 95 % band, beside treating all records and none.

        Parameters
        ----------
        interval : {"population", "records"}, default="population"
            As in `score`.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.plot`, such as ``label="new model"``.

        Returns
        -------
        ax : matplotlib Axes
        """
        import matplotlib.pyplot as plt

        benefit, treat_all, thresholds = self.decision_curve()
        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        if not ax.lines:
            ax.plot(thresholds, treat_all, "k--", lw=1, label="treat all")
            ax.axhline(0, color="k", lw=1, label="treat none")
            top = 1.2 * max(0.05, *benefit)
            ax.set(xlabel="threshold probability", ylabel="net benefit", ylim=(-top / 5, top))
        (line,) = ax.plot(thresholds, benefit, **{"label": "model"} | kwargs)
        odds = self._odds()
        band = self._band(lambda n, u: net_benefit(self._tables(n)[0], odds, u), interval)
        ends = (end[np.isfinite(odds)] for end in band)
        label = f"95 % band: {COVERS[interval]}"
        ax.fill_between(thresholds, *ends, color=line.get_color(), alpha=0.2, lw=0, label=label)
        ax.legend(fontsize="small")
        return ax

    # ------------------------------------------------------------ inside
    def _odds(self: Any) -> Floats:
        """Return the odds of each threshold, NaN if it is not between 0 and 1."""
        self._known_moments()  # raises an error without probabilities
        p = np.where((self.thresholds > 0) & (self.thresholds < 1), self.thresholds, np.nan)
        odds: Floats = p / (1 - p)
        return odds

    def _clinical(self: Any, sampling: float, name: str, threshold: float | None) -> Estimate:
        """Return a number in `CLINICAL`."""
        thresholds = self.thresholds  # raises an error unless there are two classes
        if name in _OF_LABELS:
            metric, of_positive = _OF_LABELS[name]
            label = next(c for c in self.classes.tolist() if (c == self.pos_label) == of_positive)
            of_labels: Estimate = self._with(
                sampling, metric, threshold, None, {"pos_label": label}
            )
            return of_labels
        probabilities, odds = self._known_moments()[0][0], self._odds()
        cut = self._labels_at(threshold).cut

        def compute(counts: Floats, undefined: float | None) -> Floats:
            table = self._tables(counts)[0]
            if name == "net_benefit":
                return net_benefit(table, odds, undefined)[:, cut]
            return calibration_fit(table, probabilities, name == "calibration_slope", undefined)

        bounds = (-math.inf, math.inf)
        if name == "net_benefit":
            bounds = (-odds[cut], 1.0)
            if np.isnan(odds[cut]):
                raise ValueError(
                    "a net benefit needs a threshold between 0 and 1; the nearest of thresholds is "
                    f"{thresholds[cut]:g}"
                )
        estimate: Estimate = self._estimate(compute, bounds=bounds, sampling=sampling)
        return estimate


def net_benefit(table: Floats, odds: Floats, undefined: float | None = None) -> Floats:
    """Return the net benefit at thresholds with these odds, shape (..., n_bins - 1)."""
    fp, tp = (n[..., -2:0:-1] for n in from_above(table))
    return ratio(tp - fp * odds, table.sum(axis=(-2, -1))[..., None], undefined)


def calibration_fit(
    table: Floats, probabilities: Floats, slope: bool, undefined: float | None = None
) -> Floats:
    """Return the slope or the intercept of logistic recalibration, for tables (n, 2, n_bins).

    By maximum likelihood, with x the logit of a bin's probability: the slope b of P(y = 1) =
    expit(a + b x), or the intercept a of P(y = 1) = expit(a + x). Where there is none, as if the
    classes are separated, it is `undefined` (or NaN).
    """
    x = logit(np.clip(probabilities, _LEAST, 1 - _LEAST))
    both, positive = table.sum(axis=-2), table[..., 1, :]
    # P(y = 1) = expit(offset + a + b u): from the null model on, or from the probabilities.
    offset, u = (0.0, x) if slope else (x, np.zeros_like(x))
    a, b = np.zeros((2, len(table)))
    for _ in range(_MOST_STEPS):
        p = expit(offset + a[:, None] + b[:, None] * u)
        rest, weight = positive - both * p, both * p * (1 - p)
        h, h_ab, h_b = weight.sum(axis=-1), weight @ u, weight @ u**2 + (not slope)
        g, g_b = rest.sum(axis=-1), rest @ u
        det = h * h_b - h_ab**2
        steps = np.stack([h_b * g - h_ab * g_b, h * g_b - h_ab * g])
        steps /= np.where(det > _SINGULAR * h * h_b, det, np.nan)
        steps = np.clip(steps, -_LONGEST, _LONGEST)
        a, b = a + steps[0], b + steps[1]
        if not (np.abs(steps) >= _SMALL).any():
            break
    exists = (np.abs(steps) < _SMALL).all(axis=0)
    return np.where(exists, b if slope else a, math.nan if undefined is None else undefined)
