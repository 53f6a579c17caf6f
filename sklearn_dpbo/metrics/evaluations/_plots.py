"""Figures of classifiers, as scikit-learn draws them, with bands (zone: released)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _curves as curves

if TYPE_CHECKING:  # slow to import, and rarely needed
    from matplotlib.axes import Axes
    from sklearn.calibration import CalibrationDisplay
    from sklearn.metrics import ConfusionMatrixDisplay, PrecisionRecallDisplay, RocCurveDisplay


Floats = NDArray[np.float64]
# Sources of error that intervals cover, for legends.
COVERS = {"population": "noise and sampling", "records": "noise"}
# Abscissas of the bands of curves.
_GRID = np.linspace(0, 1, 101)


class ClassifierFigures:
    """Figures of a `ClassifierEvaluation`."""

    def plot_confusion_matrix(
        self: Any,
        threshold: float | None = None,
        *,
        interval: str = "population",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ConfusionMatrixDisplay:
        """Draw the confusion matrix, with an interval for each number if there is room.

        Parameters
        ----------
        threshold : float, default=None
            As in `confusion_matrix`.
        interval : {"population", "records"}, default="population"
            As in `confusion_matrix_interval`.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        **kwargs : dict
            Passed to the display's `plot`.

        Returns
        -------
        display : sklearn.metrics.ConfusionMatrixDisplay
        """
        from sklearn.metrics import ConfusionMatrixDisplay

        matrix = self.confusion_matrix(threshold)
        display = ConfusionMatrixDisplay(matrix, display_labels=self.classes)
        options = {"values_format": ",d", "cmap": "Blues", "colorbar": False} | kwargs
        display.plot(ax=ax, **options)
        if display.text_ is not None and len(self.classes) <= 4:
            ends = (
                end.flat for end in self.confusion_matrix_interval(threshold, interval=interval)
            )
            for text, low, high in zip(display.text_.flat, *ends, strict=True):
                text.set_text(f"{text.get_text()}\n({low:,d} to {high:,d})")
        return display

    def plot_roc_curve(
        self: Any,
        label: Any = None,
        *,
        interval: str = "population",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> RocCurveDisplay:
        """Draw the ROC curve, with a 95 % band at each false positive rate.

        Parameters
        ----------
        label : object, default=None
            As in `roc_curve`.
        interval : {"population", "records"}, default="population"
            As in `score`: whether the band covers noise and sampling, or the noise alone.
        ax, **kwargs
            As in `plot_confusion_matrix`.

        Returns
        -------
        display : sklearn.metrics.RocCurveDisplay
        """
        from sklearn.metrics import RocCurveDisplay

        c = self._score_of(label)
        fpr, tpr, _ = self.roc_curve(label)
        display = RocCurveDisplay(fpr=fpr, tpr=tpr)
        options = {"plot_chance_level": ax is None or not ax.lines} | kwargs
        display.plot(ax=ax, name=self._legend("AUC", "roc_auc", label, interval), **options)
        band = self._band(lambda n, _: curves.tpr_at(self._tables(n)[c], _GRID), interval)
        _draw_band(display, band, interval)
        return display

    def plot_precision_recall_curve(
        self: Any,
        label: Any = None,
        *,
        interval: str = "population",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> PrecisionRecallDisplay:
        """Draw the precision-recall curve, with a 95 % band at each recall.

        Parameters
        ----------
        label, interval, ax, **kwargs
            As in `plot_roc_curve`.

        Returns
        -------
        display : sklearn.metrics.PrecisionRecallDisplay
        """
        from sklearn.metrics import PrecisionRecallDisplay

        c = self._score_of(label)
        precision, recall, _ = self.precision_recall_curve(label)
        # Where no positive record lies above the threshold, the precision means nothing.
        precision = precision[recall > 0]
        recall = recall[recall > 0]
        display = PrecisionRecallDisplay(
            np.append(precision, precision[-1:]), np.append(recall, 0.0)
        )
        display.plot(ax=ax, name=self._legend("AP", "average_precision", label, interval), **kwargs)
        # Lines, not steps: records are taken to be spread evenly between two edges.
        _line(display).set_drawstyle("default")
        share = self.score("prevalence", label=label).value
        display.ax_.axhline(share, color="k", ls="--", label="share of positives")
        band = self._band(lambda n, u: curves.precision_at(self._tables(n)[c], _GRID, u), interval)
        _draw_band(display, band, interval)
        return display

    def plot_calibration_curve(
        self: Any,
        label: Any = None,
        *,
        n_bins: int = 5,
        interval: str = "population",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> CalibrationDisplay:
        """Draw the calibration curve, with a 95 % interval for each share of positives.

        Parameters
        ----------
        label, n_bins
            As in `calibration_curve`.
        interval, ax, **kwargs
            As in `plot_roc_curve`.

        Returns
        -------
        display : sklearn.calibration.CalibrationDisplay
        """
        from sklearn.calibration import CalibrationDisplay

        c = self._score_of(label)
        mean, groups = self._groups(label, n_bins)
        prob_true, prob_pred = self.calibration_curve(label, n_bins=n_bins)
        low, high = self._band(
            lambda n, u: curves.calibration(self._tables(n)[c], mean, groups, u)[0], interval
        )
        display = CalibrationDisplay(prob_true, prob_pred, None)
        display.plot(ax=ax, name=_against(label) or "classifier", **kwargs)
        reach = np.clip([prob_true - low, high - prob_true], 0, None)
        options = {
            "color": display.line_.get_color(),
            "label": f"95 % interval: {COVERS[interval]}",
        }
        display.ax_.errorbar(prob_pred, prob_true, reach, fmt="none", alpha=0.5, **options)
        display.ax_.legend(loc="upper left", fontsize="small")
        return display

    def _legend(self: Any, what: str, name: str, label: Any, interval: str) -> str:
        area = self.score(name, label=label, interval=interval)
        text = f"{what} = {area.value:.3f} ({area.low:.3f} to {area.high:.3f})"
        return text if label is None else f"{_against(label)}: {text}"


def _against(label: Any) -> str | None:
    """Return the name of a score for legends; None if there is only one."""
    return None if label is None else f"{label} against the rest"


def _draw_band(display: Any, band: tuple[Floats, Floats], interval: str) -> None:
    options = {"color": _line(display).get_color(), "alpha": 0.2, "lw": 0}
    display.ax_.fill_between(_GRID, *band, label=f"95 % band: {COVERS[interval]}", **options)
    display.ax_.legend(fontsize="small")


def _line(display: Any) -> Any:
    """Return the curve of a display; newer displays may have several."""
    line = display.line_
    return line[0] if isinstance(line, list) else line
