"""Scores of two classes that clinical papers report, from the same counts (zone: released).

All probabilities in a bin count as the mean of public ones there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from .._intervals import Compute
from .._metrics import ratio
from ._curves import from_above, prevalence
from ._plots import COVERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Floats = NDArray[np.float64]
# scikit-learn's names for clinical metrics: those of the positive class, and of the other one.
_OF_POSITIVE = {"sensitivity": "recall", "ppv": "precision"}
_OF_OTHER = {"specificity": "recall", "npv": "precision"}
OF_TWO = _OF_POSITIVE | _OF_OTHER
OF_PROBABILITIES = (
    "calibration_slope",
    "calibration_intercept",
    "observed_expected_ratio",
    "net_benefit",
)
CLINICAL = (*OF_TWO, *OF_PROBABILITIES)
# Probabilities are clipped to [_LEAST, 1 - _LEAST], since the logit of 0 is not finite.
_LEAST = 1e-4
# Newton's method: largest number and size of steps, and the size at which it ends.
_MOST_STEPS = 50
_LONGEST = 1.0
_SMALL = 1e-6
# Added to the diagonal of the Hessian, so that it can be inverted.
_DIAGONAL = 1e-9


class ClinicalScores:
    """Scores of a `ClassifierEvaluation` that clinical papers report."""

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
        indices = self._decisions()
        p = self.thresholds[indices]
        positive = float(prevalence(self._table(0)))
        treat_all = positive - (1 - positive) * p / (1 - p)
        return self._net_benefit(self._counts(), indices)[0], treat_all, p

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

        benefit, treat_all, p = self.decision_curve()
        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        if not ax.lines:
            ax.plot(p, treat_all, "k--", lw=1, label="treat all")
            ax.axhline(0, color="k", lw=1, label="treat none")
            ax.set(xlabel="threshold probability", ylabel="net benefit")
        (line,) = ax.plot(p, benefit, **{"label": "model"} | kwargs)
        low, high = self._band(
            lambda n, u: self._net_benefit(n, self._decisions(), u),
            interval,
            bounds=(-math.inf, math.inf),
        )
        label = f"95 % band: {COVERS[interval]}"
        ax.fill_between(p, low, high, color=line.get_color(), alpha=0.2, lw=0, label=label)
        # Treating all is worth less and less: its line leaves the figure at the bottom.
        ax.set_ylim(-0.05, max(ax.get_ylim()[1], 1.05 * high.max()))
        ax.legend(loc="upper right", fontsize="small")
        return ax

    def _usual(self: Any, name: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Translate the name of a number into scikit-learn's, with parameters."""
        if name in OF_TWO and not self._binary:
            raise ValueError(f"{name!r} is for two classes; there are {len(self.classes)}")
        name, for_class = usual(name, self.classes, self._parts[-1].positives[0])
        return name, for_class | params

    def _decisions(self: Any) -> NDArray[np.intp]:
        """Return the indices of thresholds in (0, 1); ValueError unless there are probabilities."""
        self._known_moments()
        return np.flatnonzero((self.thresholds > 0) & (self.thresholds < 1))

    def _net_benefit(
        self: Any, counts: Floats, indices: NDArray[np.intp], undefined: float | None = None
    ) -> Floats:
        """Compute the net benefit per row of counts and threshold, shape (n, len(indices))."""
        table = self._tables(counts)[0]
        p = self.thresholds[indices]
        fp, tp = (n[:, -2:0:-1][:, indices] for n in from_above(table))
        return ratio(tp - fp * p / (1 - p), table.sum(axis=(-2, -1))[:, None], undefined)

    def _of_probabilities(
        self: Any, name: str, threshold: float | None
    ) -> tuple[Compute, tuple[float, float]]:
        """Return a function that computes a number in `OF_PROBABILITIES`, and its bounds."""
        means = self._known_moments()[0][0]
        indices = self._decisions()  # refuses more than two classes
        if name == "observed_expected_ratio":
            return lambda n, u: observed_by_expected(self._tables(n)[0], means, u), (0.0, math.inf)
        if name != "net_benefit":
            slope = name == "calibration_slope"
            anything = (-math.inf, math.inf)
            return lambda n, u: calibration_fit(self._tables(n)[0], means, slope, u), anything
        p = self.threshold if threshold is None else threshold
        self._check_threshold(p)
        nearest = indices[[np.argmin(np.abs(self.thresholds[indices] - p))]]
        return lambda n, u: self._net_benefit(n, nearest, u)[:, 0], (-math.inf, 1.0)


def usual(name: str, classes: NDArray[Any], positive: int) -> tuple[str, dict[str, Any]]:
    """Translate a clinical name into scikit-learn's, with the parameter for its class."""
    if name not in OF_TWO:
        return name, {}
    return OF_TWO[name], {"pos_label": classes.tolist()[positive ^ (name in _OF_OTHER)]}


def observed_by_expected(
    table: Floats, probabilities: Floats, undefined: float | None = None
) -> Floats:
    """Divide the number of positive records by the sum of probabilities, for tables (n, 2, n_bins).

    All records in a bin have the same probability; `probabilities` has shape (n_bins,).
    """
    expected = (table.sum(axis=-2) * probabilities).sum(axis=-1)
    return ratio(table[:, 1].sum(axis=-1), expected, undefined)


def calibration_fit(
    table: Floats, probabilities: Floats, slope: bool, undefined: float | None = None
) -> Floats:
    """Fit the slope or the intercept of logistic recalibration to tables (n, 2, n_bins).

    This is a maximum likelihood fit, with x the logit of a bin's probability: of the slope b in
    P(y = 1) = expit(a + b x), or of the intercept a in P(y = 1) = expit(a + x). If there is no
    fit, for example because the classes are separated, the result is `undefined` (or NaN).
    """
    x = logit(np.clip(probabilities, _LEAST, 1 - _LEAST))
    X = np.stack([np.ones_like(x), x])[: 1 + slope]
    offset = 0.0 if slope else x
    sizes = table.sum(axis=-2)
    w = np.zeros((len(table), len(X)))
    for _ in range(_MOST_STEPS):
        p = expit(offset + w @ X)
        hessian = np.einsum("nb,ib,jb->nij", sizes * p * (1 - p), X, X)
        hessian += _DIAGONAL * np.eye(len(X))
        gradient = (table[:, 1] - sizes * p) @ X.T
        steps = np.linalg.solve(hessian, gradient[..., None])[..., 0].clip(-_LONGEST, _LONGEST)
        w += steps
        if (small := np.abs(steps) < _SMALL).all():
            break
    return np.where(small.all(axis=1), w[:, -1], math.nan if undefined is None else undefined)
