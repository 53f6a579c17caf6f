"""Figures of evaluations, as scikit-learn draws them, with bands (zone: released)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import ConfusionMatrixDisplay, PrecisionRecallDisplay, RocCurveDisplay

from . import _curves as curves
from ._base import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "draw_calibration",
    "draw_confusion",
    "draw_precision_recall",
    "draw_residuals",
    "draw_roc",
]

Floats = NDArray[np.float64]
_BAND = "95 % band of the noise"
_ALPHA = 0.2
# Where bands of curves are computed.
_GRID = np.linspace(0, 1, 101)


def draw_confusion(e: Any, threshold: Any, ax: Axes | None, kwargs: Any) -> ConfusionMatrixDisplay:
    """Draw the matrix; beneath each number stands its interval, if there is room for it."""
    display = ConfusionMatrixDisplay(e.confusion_matrix(threshold), display_labels=e.classes)
    options = {"values_format": ",d", "cmap": "Blues", "colorbar": False} | kwargs
    display.plot(ax=ax, **options)
    if display.text_ is not None and len(e.classes) <= 4:
        ends = (end.flat for end in e.confusion_matrix_interval(threshold))
        for text, low, high in zip(display.text_.flat, *ends, strict=True):
            text.set_text(f"{text.get_text()}\n({low:,d} to {high:,d})")
    return display


def draw_roc(e: Any, label: Any, ax: Axes | None, kwargs: Any) -> RocCurveDisplay:
    """Draw the curve and its band; the legend has the area with its interval."""
    c, (fpr, tpr, _) = e._score_of(label), e.roc_curve(label)
    display = RocCurveDisplay(fpr=fpr, tpr=tpr)
    options = {"plot_chance_level": ax is None or not ax.lines} | kwargs
    display.plot(ax=ax, name=_label(label, "AUC", e.roc_auc(label)), **options)
    _draw_band(display, e._band(lambda n, _: curves.tpr_at(e._tables(n)[c], _GRID)))
    display.ax_.legend(loc="lower right", fontsize="small")
    return display


def draw_precision_recall(
    e: Any, label: Any, ax: Axes | None, kwargs: Any
) -> PrecisionRecallDisplay:
    """Draw the curve and its band; the legend has the area with its interval."""
    c, (precision, recall, _) = e._score_of(label), e.precision_recall_curve(label)
    # Where no positive record lies above the threshold, the precision is 1 or 0, and means nothing.
    precision, recall = precision[recall > 0], recall[recall > 0]
    display = PrecisionRecallDisplay(np.append(precision, precision[-1:]), np.append(recall, 0.0))
    display.plot(ax=ax, name=_label(label, "AP", e.average_precision(label)), **kwargs)
    # Between two edges records are taken to be spread evenly: lines, and no steps.
    _line(display).set_drawstyle("default")
    _draw_band(display, e._band(lambda n, u: curves.precision_at(e._tables(n)[c], _GRID, u)))
    share = e.prevalence(label).value
    display.ax_.axhline(share, color="k", ls="--", label="share of positives")
    display.ax_.legend(loc="best", fontsize="small")
    return display


def draw_calibration(
    e: Any, label: Any, n_bins: int, ax: Axes | None, kwargs: Any
) -> CalibrationDisplay:
    """Draw the curve, with an interval at each point."""
    c, (mean, groups) = e._score_of(label), e._groups(label, n_bins)
    prob_true, prob_pred = e.calibration_curve(label, n_bins=n_bins)
    low, high = e._band(lambda n, u: curves.calibration(e._tables(n)[c], mean, groups, u)[0])
    display = CalibrationDisplay(prob_true, prob_pred, None)
    display.plot(ax=ax, name=_against(label) or "classifier", **kwargs)
    reach = np.clip([prob_true - low, high - prob_true], 0, None)
    options = {"color": display.line_.get_color(), "label": "95 % interval of the noise"}
    display.ax_.errorbar(prob_pred, prob_true, reach, fmt="none", alpha=0.5, **options)
    display.ax_.legend(loc="upper left", fontsize="small")
    return display


def draw_residuals(e: Any, ax: Axes | None) -> Axes:
    """Draw the density of residuals between the outermost edges, with a band for each bin."""
    import matplotlib.pyplot as plt

    ax = ax or plt.subplots(layout="constrained")[1]
    shares, edges = e._shares(e._counts())[0], e._edges
    interval = e._band(lambda n, _: np.clip(e._shares(n), 0, 1))
    density, low, high = (each[1:-1] / np.diff(edges) for each in (shares, *interval))
    ax.stairs(density, edges, color="C0")
    ax.stairs(high, edges, baseline=low, color="C0", alpha=_ALPHA, fill=True, label=_BAND)
    ax.axvline(0, color="k", ls=":", lw=1)
    outside = shares[0] + shares[-1]
    ax.set(
        xlabel=f"label minus prediction ({outside:.1%} lie further out)",
        ylabel="density",
        ylim=(0, None),
    )
    ax.legend(loc="upper left", fontsize="small")
    return ax


def _against(label: Any) -> str | None:
    """Return the name of a score for legends; None if there is only one."""
    return None if label is None else f"{label} against the rest"


def _label(label: Any, what: str, area: Estimate) -> str:
    text = f"{what} = {area.value:.3f} ({area.low:.3f} to {area.high:.3f})"
    return text if label is None else f"{_against(label)}: {text}"


def _draw_band(display: Any, band: tuple[Floats, Floats]) -> None:
    options = {"color": _line(display).get_color(), "alpha": _ALPHA, "lw": 0, "label": _BAND}
    display.ax_.fill_between(_GRID, *band, **options)


def _line(display: Any) -> Any:
    """Return the curve; newer displays may have several."""
    line = display.line_
    return line[0] if isinstance(line, list) else line
