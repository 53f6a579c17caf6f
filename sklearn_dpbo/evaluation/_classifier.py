"""The evaluation of a classifier (zone: released)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._params import check_number
from ..scoring._metrics import AVERAGES, average_precision, roc_auc
from ..scoring._of_counts import ConfusionScore
from . import _curves as curves
from ._base import Estimate, Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ClassifierEvaluation"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ClassifierEvaluation(Evaluation):
    """Numbers and figures of a classifier on protected records, all from one release.

    Returned by `private_evaluation`, and kept by a search with ``release="evaluation"``.

    For two classes, the release is a histogram: the numbers of records of each class with a score
    in each public bin. For more classes, half of epsilon pays for the confusion matrix and half for
    such a histogram of each class against the rest. Records with a score in the same bin count as
    ties, or as evenly spread over the bin. If all records of a group are protected together, the
    group has the weight of one record, however many records it has.

    Attributes
    ----------
    m : int
        Number of protected records, or groups.
    privacy_ : PrivacyReport
        The privacy report; print it.
    """

    @property
    def classes(self) -> NDArray[Any]:
        """Class labels in sorted order."""
        found: NDArray[Any] = self._design.histogram.classes
        return found

    @property
    def pos_label(self) -> Any:
        """The positive class of two; None for more classes."""
        return self.classes[self._design.histogram.positives[0]] if self._binary else None

    @property
    def thresholds(self) -> Floats:
        """Available thresholds for the score of the positive class, ascending."""
        if not self._binary:
            raise ValueError(f"thresholds are for two classes; there are {len(self.classes)}")
        return self._edges(0)

    @property
    def threshold(self) -> float:
        """The classifier's own threshold."""
        return float(self.thresholds[self._design.labels.cut])

    # ------------------------------------------------------------ labels
    def confusion_matrix(self, threshold: float | None = None) -> NDArray[np.int64]:
        """Return the confusion matrix with noise.

        Parameters
        ----------
        threshold : float, default=None
            For two classes, the score from which the positive class is predicted; the nearest of
            `thresholds` is used. None is the classifier's own threshold.

        Returns
        -------
        matrix : ndarray of int, shape (n_classes, n_classes)
            One row per true class and one column per predicted class. Non-negative numbers of
            records (or groups).
        """
        found: Floats = np.rint(self._matrices(self._counts(0), threshold)[0])
        return found.astype(np.int64)

    def confusion_matrix_interval(
        self, threshold: float | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return a 95 % interval for each number of the confusion matrix.

        Parameters
        ----------
        threshold : float, default=None
            As in `confusion_matrix`.

        Returns
        -------
        low, high : ndarray of int, shape (n_classes, n_classes)
        """
        low, high = self._band(lambda n, _: np.maximum(self._matrices(n, threshold), 0), 0)
        found = self.confusion_matrix(threshold)  # may lie outside if counts were adjusted
        low, high = np.minimum(np.floor(low), found), np.maximum(np.ceil(high), found)
        return low.astype(np.int64), high.astype(np.int64)

    def accuracy(self, threshold: float | None = None) -> Estimate:
        """Return the share of correct labels.

        Parameters
        ----------
        threshold : float, default=None
            As in `confusion_matrix`.
        """
        return self._metric("accuracy", threshold)

    def balanced_accuracy(self, threshold: float | None = None) -> Estimate:
        """Return the mean recall of the classes.

        Parameters
        ----------
        threshold : float, default=None
            As in `confusion_matrix`.
        """
        return self._metric("balanced_accuracy", threshold)

    def precision(self, threshold: float | None = None, *, average: str = "macro") -> Estimate:
        """Return the share of correct predictions among those of the positive class.

        Parameters
        ----------
        threshold : float, default=None
            As in `confusion_matrix`.
        average : {"macro", "micro", "weighted"}, default="macro"
            How to average over classes, if there are more than two.
        """
        return self._metric("precision", threshold, average)

    def recall(self, threshold: float | None = None, *, average: str = "macro") -> Estimate:
        """Return the share of positive records that are predicted to be positive.

        Parameters
        ----------
        threshold, average
            As in `precision`.
        """
        return self._metric("recall", threshold, average)

    def f1(self, threshold: float | None = None, *, average: str = "macro") -> Estimate:
        """Return the harmonic mean of precision and recall.

        Parameters
        ----------
        threshold, average
            As in `precision`.
        """
        return self._metric("f1", threshold, average)

    # ------------------------------------------------------------ scores
    def roc_auc(self, label: Any = None) -> Estimate:
        """Return the area under the ROC curve.

        Parameters
        ----------
        label : object, default=None
            For more than two classes, the class to hold against the rest; None is the mean over
            all classes.
        """
        return self._area("roc_auc", label)

    def average_precision(self, label: Any = None) -> Estimate:
        """Return the mean precision over the positive records.

        Parameters
        ----------
        label : object, default=None
            As in `roc_auc`.
        """
        return self._area("average_precision", label)

    def brier_score(self) -> Estimate:
        """Return the mean squared error of the probabilities; summed over more than two classes."""
        moments = self._moments()

        def total(counts: Floats, _: float | None) -> Floats:
            losses = map(curves.brier_score, self._tables(counts), moments)
            found: Floats = np.sum(list(losses), axis=0)
            return found

        return self._estimate(total, bounds=(0.0, 1.0 if self._binary else 2.0))

    def prevalence(self, label: Any = None) -> Estimate:
        """Return the share of positive records.

        Parameters
        ----------
        label : object, default=None
            As in `roc_curve`.
        """
        c = self._score_of(label)
        return self._estimate(lambda n, _: curves.prevalence(self._tables(n)[c]))

    # ------------------------------------------------------------ curves
    def roc_curve(self, label: Any = None) -> tuple[Floats, Floats, Floats]:
        """Return the ROC curve, as `sklearn.metrics.roc_curve` does.

        Parameters
        ----------
        label : object, default=None
            The class to hold against the rest; required for more than two classes.

        Returns
        -------
        fpr, tpr, thresholds : ndarray of shape (n_bins + 1,)
            False and true positive rates, and the thresholds in descending order.
        """
        c = self._score_of(label)
        fpr, tpr = curves.roc(self._table(c))
        return fpr, tpr, np.concatenate([[np.inf], self._edges(c)[::-1], [-np.inf]])

    def precision_recall_curve(self, label: Any = None) -> tuple[Floats, Floats, Floats]:
        """Return the precision-recall curve, as `sklearn.metrics.precision_recall_curve` does.

        Parameters
        ----------
        label : object, default=None
            As in `roc_curve`.

        Returns
        -------
        precision, recall : ndarray of shape (n_bins + 1,)
            In the order of ascending thresholds; the last values are 1 and 0.
        thresholds : ndarray of shape (n_bins,)
        """
        c = self._score_of(label)
        precision, recall = curves.precision_recall(self._table(c))
        return precision, recall, np.concatenate([[-np.inf], self._edges(c)])

    def calibration_curve(self, label: Any = None, *, n_bins: int = 5) -> tuple[Floats, Floats]:
        """Return the calibration curve, as `sklearn.calibration.calibration_curve` does.

        Parameters
        ----------
        label : object, default=None
            As in `roc_curve`.
        n_bins : int, default=5
            Number of groups of about equal size; fewer if many records have about the same score.

        Returns
        -------
        prob_true, prob_pred : ndarray of shape (n_groups,)
            Share of positives and mean probability of each group. The mean probability of a bin is
            that of public records.
        """
        mean, groups = self._groups(label, n_bins)
        return curves.calibration(self._table(self._score_of(label)), mean, groups)

    # ------------------------------------------------------------ figures
    def plot_confusion_matrix(
        self, threshold: float | None = None, *, ax: Axes | None = None, **kwargs: Any
    ) -> Any:
        """Draw the confusion matrix, with an interval for each number.

        Parameters
        ----------
        threshold : float, default=None
            As in `confusion_matrix`.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        **kwargs : dict
            Passed to the display's `plot`.

        Returns
        -------
        display : sklearn.metrics.ConfusionMatrixDisplay
        """
        from ._plots import draw_confusion

        return draw_confusion(self, threshold, ax, kwargs)

    def plot_roc_curve(self, label: Any = None, *, ax: Axes | None = None, **kwargs: Any) -> Any:
        """Draw the ROC curve, with a 95 % band at each false positive rate.

        Parameters
        ----------
        label : object, default=None
            As in `roc_curve`.
        ax, **kwargs
            As in `plot_confusion_matrix`.

        Returns
        -------
        display : sklearn.metrics.RocCurveDisplay
        """
        from ._plots import draw_roc

        return draw_roc(self, label, ax, kwargs)

    def plot_precision_recall_curve(
        self, label: Any = None, *, ax: Axes | None = None, **kwargs: Any
    ) -> Any:
        """Draw the precision-recall curve, with a 95 % band at each recall.

        Parameters
        ----------
        label, ax, **kwargs
            As in `plot_roc_curve`.

        Returns
        -------
        display : sklearn.metrics.PrecisionRecallDisplay
        """
        from ._plots import draw_precision_recall

        return draw_precision_recall(self, label, ax, kwargs)

    def plot_calibration_curve(
        self, label: Any = None, *, n_bins: int = 5, ax: Axes | None = None, **kwargs: Any
    ) -> Any:
        """Draw the calibration curve, with a 95 % interval for each share of positives.

        Parameters
        ----------
        label, n_bins
            As in `calibration_curve`.
        ax, **kwargs
            As in `plot_roc_curve`.

        Returns
        -------
        display : sklearn.calibration.CalibrationDisplay
        """
        from ._plots import draw_calibration

        return draw_calibration(self, label, n_bins, ax, kwargs)

    def scores(self) -> dict[str, Estimate]:
        """Return the main numbers by name.

        Returns
        -------
        scores : dict of str to Estimate
        """
        names = ["accuracy", "balanced_accuracy", "precision", "recall", "f1"]
        names += ["roc_auc", "average_precision"]
        names += ["brier_score"] * (self._design.moments is not None)
        names += ["prevalence"] * self._binary
        return {name: getattr(self, name)() for name in names}

    def _labelled(self) -> dict[str, Estimate]:
        if self._binary:
            return super()._labelled()
        mean = ("precision", "recall", "F1", "ROC AUC", "average precision")
        found = super()._labelled().items()
        return {f"{name} (macro)" if name in mean else name: score for name, score in found}

    def _figures(self) -> dict[str, Any]:
        low, high = self.confusion_matrix_interval()
        matrix = {"value": self.confusion_matrix(), "low": low, "high": high}
        found: dict[str, Any] = {
            "classes": self.classes.tolist(),
            "confusion_matrix": {name: array.tolist() for name, array in matrix.items()},
            "curves": [self._curves_of(c) for c in range(len(self._design.histogram.edges))],
        }
        if self._binary:
            found |= {"pos_label": self._class_of(0), "threshold": self.threshold}
        return found

    def _curves_of(self, c: int) -> dict[str, Any]:
        """Return the histogram of one score, from which all curves follow."""
        label = self._class_of(c)
        fpr, tpr, _ = self.roc_curve(label)
        precision, recall, _ = self.precision_recall_curve(label)
        negative, positive = self._table(c) / self._weight
        arrays = {
            "thresholds": self._edges(c),
            "negative": negative,
            "positive": positive,
            "fpr": fpr,
            "tpr": tpr,
            "precision": precision,
            "recall": recall,
        }
        return {"label": label, **{name: array.tolist() for name, array in arrays.items()}}

    # ------------------------------------------------------------ inside
    @property
    def _binary(self) -> bool:
        return len(self.classes) == 2

    def _labels_at(self, threshold: float | None) -> Any:
        """Return the query that has the confusion matrix of a threshold."""
        if threshold is None:
            return self._design.labels
        check_number("threshold", threshold, "a number")
        return replace(self._design.labels, cut=int(np.argmin(np.abs(self.thresholds - threshold))))

    def _matrices(self, counts: Floats, threshold: float | None) -> Floats:
        matrices: Floats = self._labels_at(threshold).matrices(counts) / self._weight
        return matrices

    def _metric(self, name: str, threshold: float | None, average: str | None = None) -> Estimate:
        if average is not None and average not in AVERAGES:
            raise ValueError(f'average is "macro", "micro" or "weighted"; found {average!r}')
        if average is not None and not self._binary:
            name = f"{name}_{average}"
        counts, positions = self._labels_at(threshold), self._design.histogram.positives
        return self._score(
            ConfusionScore(name, (0.0, 1.0), {}, counts=counts, positions=positions), 0
        )

    def _area(self, name: str, label: Any) -> Estimate:
        """Return what a search with this score releases, if there is such a score."""
        every = label is None and not self._binary
        scores = range(len(self.classes)) if every else [self._score_of(label)]
        if name in self._design.scorers and (every or self._binary):
            return self._score(self._design.scorers[name])
        area = {"roc_auc": roc_auc, "average_precision": average_precision}[name]

        def mean(counts: Floats, undefined: float | None) -> Floats:
            tables = self._tables(counts)
            found: Floats = np.mean([area(tables[c], undefined) for c in scores], axis=0)
            return found

        return self._estimate(mean)

    def _tables(self, counts: Floats) -> list[Floats]:
        """Return the tables of all scores, each of shape (n, 2, n_bins)."""
        tables: list[Floats] = self._design.histogram.tables(counts)
        return tables

    def _table(self, c: int) -> Floats:
        """Return the table of one score, as released; no count is negative."""
        table: Floats = self._tables(self._counts())[c][0]
        return table

    def _edges(self, c: int) -> Floats:
        return np.array(self._design.histogram.edges[c])

    def _moments(self) -> tuple[Floats, ...]:
        """Return mean and mean square of each score in each of its bins, shape (2, n_bins)."""
        if self._design.moments is None:
            raise ValueError(
                "the scores are not probabilities: the classifier has no predict_proba. "
                "CalibratedClassifierCV gives it one"
            )
        return self._design.moments

    def _class_of(self, c: int) -> Any:
        """Return the positive class of a score, as a Python object."""
        return self.classes.tolist()[self._design.histogram.positives[c]]

    def _score_of(self, label: Any) -> int:
        """Return the index of the score of this class."""
        if self._binary and label is None:
            return 0
        positives = self.classes[list(self._design.histogram.positives)].tolist()
        if label not in positives:
            raise ValueError(
                f"label is one of {positives}, to hold against the others; found {label!r}"
            )
        return int(positives.index(label))

    def _groups(self, label: Any, n_bins: int) -> tuple[Floats, NDArray[np.intp]]:
        """Return the mean probability of each bin, and which bins are taken together."""
        check_number("n_bins", n_bins, "a whole number from 1 up", lambda n: n >= 1, Integral)
        c = self._score_of(label)
        return self._moments()[c][0], curves.calibration_groups(self._table(c), int(n_bins))
