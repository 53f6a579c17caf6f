"""Figures of evaluations, as scikit-learn draws them, with bands (zone: released)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import ConfusionMatrixDisplay, PrecisionRecallDisplay, RocCurveDisplay

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
Band = tuple[Floats, Floats, Floats]
_BAND = "95 % band of the noise"
_ALPHA = 0.2


def draw_confusion(
    matrix: NDArray[Any],
    interval: tuple[NDArray[Any], NDArray[Any]],
    labels: NDArray[Any],
    ax: Axes | None,
    kwargs: dict[str, Any],
) -> ConfusionMatrixDisplay:
    """Draw the matrix; beneath each number stands its interval, if there is room for it."""
    display = ConfusionMatrixDisplay(matrix, display_labels=labels)
    display.plot(
        ax=_axes(ax), **{"values_format": ",d", "cmap": "Blues", "colorbar": False} | kwargs
    )
    if display.text_ is not None and len(labels) <= 4:
        for text, low, high in zip(display.text_.flat, *(i.flat for i in interval), strict=True):
            text.set_text(f"{text.get_text()}\n({low:,d} to {high:,d})")
    return display


def draw_roc(
    curve: tuple[Floats, Floats],
    band: Band,
    area: Estimate,
    name: str | None,
    ax: Axes | None,
    kwargs: dict[str, Any],
) -> RocCurveDisplay:
    """Draw the curve and its band; the legend has the area with its interval."""
    display = RocCurveDisplay(fpr=curve[0], tpr=curve[1])
    options = {"plot_chance_level": ax is None or not ax.lines} | kwargs
    display.plot(ax=_axes(ax), name=_label(name, "AUC", area), **options)
    _draw_band(display, band)
    display.ax_.legend(loc="lower right", fontsize="small")
    return display


def draw_precision_recall(
    curve: tuple[Floats, Floats],
    band: Band,
    found: tuple[Estimate, Estimate],
    name: str | None,
    ax: Axes | None,
    kwargs: dict[str, Any],
) -> PrecisionRecallDisplay:
    """Draw the curve and its band; the legend has the area with its interval."""
    area, prevalence = found
    # Where no positive record lies above the threshold, the precision is 1 or 0, and means nothing.
    precision, recall = (each[curve[1] > 0] for each in curve)
    display = PrecisionRecallDisplay(np.append(precision, precision[-1:]), np.append(recall, 0.0))
    display.plot(ax=_axes(ax), name=_label(name, "AP", area), **kwargs)
    # Between two edges records are taken to be spread evenly: lines, and no steps.
    _line(display).set_drawstyle("default")
    _draw_band(display, band)
    display.ax_.axhline(prevalence.value, color="k", ls="--", label="share of positives")
    display.ax_.legend(loc="best", fontsize="small")
    return display


def draw_calibration(
    curve: tuple[Floats, Floats],
    interval: tuple[Floats, Floats],
    name: str | None,
    ax: Axes | None,
    kwargs: dict[str, Any],
) -> CalibrationDisplay:
    """Draw the curve, with an interval at each point."""
    prob_true, prob_pred = curve
    display = CalibrationDisplay(prob_true, prob_pred, None)
    display.plot(ax=_axes(ax), name=name or "classifier", **kwargs)
    low, high = interval
    reach = np.clip([prob_true - low, high - prob_true], 0, None)
    color, label = display.line_.get_color(), "95 % interval of the noise"
    display.ax_.errorbar(
        prob_pred, prob_true, reach, fmt="none", color=color, alpha=0.5, label=label
    )
    display.ax_.legend(loc="upper left", fontsize="small")
    return display


def draw_residuals(
    shares: Floats, interval: tuple[Floats, Floats], edges: Floats, ax: Axes | None
) -> Axes:
    """Draw the density of residuals between the outermost edges, with a band for each bin."""
    ax = _axes(ax) or _new_axes()
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


def _label(name: str | None, what: str, area: Estimate) -> str:
    text = f"{what} = {area.value:.3f} ({area.low:.3f} to {area.high:.3f})"
    return f"{name}: {text}" if name else text


def _draw_band(display: Any, band: Band) -> None:
    x, low, high = band
    color = _line(display).get_color()
    display.ax_.fill_between(x, low, high, color=color, alpha=_ALPHA, lw=0, label=_BAND)


def _line(display: Any) -> Any:
    """Return the curve; newer displays may have several."""
    line = display.line_
    return line[0] if isinstance(line, list) else line


def _axes(ax: Axes | None) -> Axes | None:
    """Return these axes; raise ImportError if there is nothing to draw with."""
    try:
        import matplotlib.pyplot  # noqa: F401
    except ImportError as error:
        raise ImportError('figures need matplotlib: pip install "sklearn_dpbo[plots]"') from error
    return ax


def _new_axes() -> Axes:
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]
