"""The evaluation of a classifier (zone: released)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...privacy.checks import check_number
from ...privacy.warn import warn
from ...records.subgroups import Subgroups
from .._make import labels_scorer
from .._of_counts import RankingScore
from .._queries import unit_weight
from .._registry import METRICS, OF_MATRIX
from .._released import plain, scorer_as_json, scorer_from_json
from . import _curves as curves
from ._base import KEYS, SAMPLINGS, Estimate, Evaluation, hull, samplings, unknown_name
from ._by_group import SubgroupScores
from ._clinical import CLINICAL, OF_PROBABILITIES, ClinicalScores, usual
from ._plots import ClassifierFigures

Floats = NDArray[np.float64]
# Largest distance of probabilities that count as the same threshold.
_NEAR = 0.005
# Numbers of predicted labels besides the metrics of the confusion matrix.
OF_THRESHOLD = ("net_benefit", "selection_rate")
_OF_CLASS = ("average_precision", "prevalence", "roc_auc", "selection_rate")


@dataclass(frozen=True, eq=False, repr=False)
class ClassifierEvaluation(ClassifierFigures, ClinicalScores, SubgroupScores, Evaluation):
    """Numbers and figures of a classifier on protected records, all from one release.

    Returned by `private_evaluation`, and kept by a search with ``release="evaluation"``.

    For two classes, the release is a histogram: the numbers of records of each class with a score
    in each public bin. For more classes, half of epsilon pays for the confusion matrix and half for
    such a histogram of each class against the rest. Records with labels that are none of the
    classes have cells of their own: if there are more than the noise explains, the evaluation says
    so. Records with a score in the same bin count as ties, or as evenly spread over the bin. If all
    records of a group are protected together, the group has the weight of one record, however many
    records it has.

    Attributes
    ----------
    m : int
        Number of protected records, or groups.
    privacy_ : PrivacyReport
        The privacy report; print it.
    """

    _subgroups: Subgroups | None = None
    kind = "evaluation of a classifier"

    @property
    def classes(self) -> NDArray[Any]:
        """Class labels in sorted order."""
        classes: NDArray[Any] = self._parts[-1].classes
        return classes

    @property
    def pos_label(self) -> Any:
        """The positive class of two; None for more classes."""
        return self._positives[0] if self._binary else None

    @property
    def thresholds(self) -> Floats:
        """Available thresholds for the score of the positive class, ascending."""
        if not self._binary:
            raise ValueError(f"thresholds are for two classes; there are {len(self.classes)}")
        return self._edges(0)

    @property
    def threshold(self) -> float:
        """The classifier's own threshold."""
        return float(self.thresholds[self._parts[0].cut])

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
            records (or groups) whose labels are among `classes`.
        """
        self._say_nearest(threshold)
        matrix: Floats = np.rint(self._known(self._counts(0), threshold)[0])
        return matrix.astype(np.int64)

    def confusion_matrix_interval(
        self, threshold: float | None = None, *, interval: str = "population"
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return a 95 % interval for each number of the confusion matrix.

        Parameters
        ----------
        threshold : float, default=None
            As in `confusion_matrix`.
        interval : {"population", "records"}, default="population"
            "population": for the expected number among m records of the population (noise and
            sampling); "records": for the number of these records (noise alone).

        Returns
        -------
        low, high : ndarray of int, shape (n_classes, n_classes)
        """
        low, high = self._band(
            lambda n, _: np.maximum(self._known(n, threshold), 0), interval, 0, (0.0, math.inf)
        )
        matrix = self.confusion_matrix(threshold)  # may lie outside if counts were adjusted
        low = np.minimum(np.floor(low), matrix)
        high = np.maximum(np.ceil(high), matrix)
        return low.astype(np.int64), high.astype(np.int64)

    # ------------------------------------------------------------ numbers
    def score(
        self,
        name: str,
        *,
        threshold: float | None = None,
        label: Any = None,
        interval: str = "population",
        **params: Any,
    ) -> Estimate:
        """Return a number by name.

        Parameters
        ----------
        name : str
            A metric of the confusion matrix, as for ``scoring=``, such as "accuracy", "f1" (of more
            than two classes, "f1_macro") or "matthews_corrcoef"; "roc_auc" or "average_precision";
            "roc_auc_ovr", for more than two classes with probabilities; "prevalence", the share of
            positive records; "selection_rate", the share of records predicted to be positive; or
            "brier_score", the mean squared error of the probabilities, summed over more than two
            classes ("neg_brier_score" is minus that). Of two classes, also "sensitivity" (the
            recall), "specificity", "ppv" (the precision) and "npv"; and with probabilities
            "net_benefit", see `decision_curve`, "calibration_slope", the coefficient of an
            unpenalised logistic regression of the label on the logit of the probability,
            "calibration_intercept", the intercept of one in which that coefficient is 1
            (calibration in the large), and "observed_expected_ratio", the number of positive
            records by the sum of the probabilities. 1, 0 and 1 are perfect. All probabilities in a
            bin count as the mean of public ones there, within 1e-4 and 1 - 1e-4.
        threshold : float, default=None
            For metrics of the confusion matrix, those named above, "selection_rate" and
            "net_benefit"; as in `confusion_matrix`. A warning says if the nearest threshold is
            another one.
        label : object, default=None
            For areas, "prevalence" and "selection_rate"; as in `roc_curve`.
        interval : {"population", "records"}, default="population"
            "population": a 95 % interval for the number of the population that the records (or
            groups) are a random sample of, which covers noise and sampling; "records": for the
            exact number of these records, which covers the noise alone.
        **params
            Parameters of a metric of the confusion matrix, as for `make_private_scorer`, such as
            ``pos_label=0``.
        """
        name, params = self._usual(name, params)
        self._say_nearest(threshold)
        return hull([self._with(s, name, threshold, label, params) for s in samplings(interval)])

    def _with(
        self,
        sampling: float,
        name: str,
        threshold: float | None,
        label: Any,
        params: dict[str, Any],
    ) -> Estimate:
        """Return a number by name, with an interval for this factor of the sampling error."""
        of_matrix = name in OF_MATRIX
        of_probabilities = name in OF_PROBABILITIES
        allowed = OF_MATRIX[name].params if of_matrix else ()
        unused = {key: value for key, value in params.items() if key not in allowed}
        if not of_matrix and name not in OF_THRESHOLD:
            unused["threshold"] = threshold
        if of_matrix or of_probabilities or name.endswith("brier_score"):
            unused["label"] = label
        if superfluous := {key: value for key, value in unused.items() if value is not None}:
            raise ValueError(
                f"{name!r} depends on no {' or '.join(superfluous)}; found {superfluous}"
            )
        if of_matrix:
            scorer = labels_scorer(name, params, self.classes, self.pos_label)
            return self._score(replace(scorer, counts=self._labels_at(threshold)), 0, sampling)
        if of_probabilities:
            compute, bounds = self._of_probabilities(name, threshold)
            return self._estimate(compute, bounds=bounds, sampling=sampling)
        if name in self._scorers and label in (None, self.pos_label):
            return self._score(self._scorers[name], sampling=sampling)
        if name == "neg_brier_score":
            return -self._with(sampling, "brier_score", None, None, {})
        if name == "brier_score":
            return self._brier_score(sampling)
        if name not in _OF_CLASS:
            names = [*OF_MATRIX, *CLINICAL, *self._scorers, *_OF_CLASS, "brier_score"]
            raise ValueError(unknown_name(name, list(dict.fromkeys(names))))
        c = self._score_of(label)
        histogram = self._parts[-1]
        k = histogram.positives[c]
        if name == "selection_rate":
            return self._estimate(
                lambda n, end: curves.share_predicted(self._matrices(n, threshold), k, end),
                0,
                sampling=sampling,
            )
        if name == "prevalence":
            return self._estimate(
                lambda n, end: curves.prevalence(self._tables(n)[c], end), sampling=sampling
            )
        area = RankingScore(name, METRICS[name].bounds, {}, counts=histogram, positions=(k,))
        return self._score(area, sampling=sampling)

    def _facts(self, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the threshold if a number depends on predicted labels of two classes."""
        name, _ = usual(name, self.classes, self._parts[-1].positives[0])
        if not self._binary or not (name in OF_MATRIX or name in OF_THRESHOLD):
            return {}
        threshold = options.get("threshold")
        labels = self._labels_at(threshold)
        edge = labels.cut if labels.edge is None else labels.edge
        # The model's own is the float next to 0.5, which nobody means.
        return {"threshold": round(float(self.thresholds[edge]), 12)}

    def _brier_score(self, sampling: float) -> Estimate:
        """Compute the Brier score, summed over classes if there are more than two."""
        moments = self._known_moments()

        def compute(counts: Floats, end: float | None) -> Floats:
            cases = zip(self._tables(counts), moments, strict=True)
            total: Floats = np.sum([curves.brier_score(*case, end) for case in cases], axis=0)
            return total

        return self._estimate(
            compute,
            bounds=(0.0, 1.0 if self._binary else 2.0),
            sampling=sampling * math.sqrt(len(moments)),  # as of `RankingScore`
        )

    def _labels_hint(self) -> str:
        if not self._binary or self._parts[0].follows:
            return ""
        return (
            "The model's predict does not follow the scores of predict_proba (or "
            "decision_function) for all public records. Numbers without a threshold are for the "
            f"labels by scores above {self.threshold:.3g}, not for its predictions"
        )

    @property
    def _names(self) -> list[str]:
        macro = "" if self._binary else "_macro"
        names = ["accuracy", "balanced_accuracy", f"precision{macro}", f"recall{macro}"]
        names += [f"f1{macro}", *self._scorers]
        if self._moments is not None:
            names.append("brier_score")
        if self._binary:
            names.append("prevalence")
        return names

    def _range(self, name: str) -> float:
        if name in OF_PROBABILITIES and name != "net_benefit":
            return 5.0  # unbounded; an interval up to a fifth of this wide is informative
        if name == "brier_score":
            return 1.0 if self._binary else 2.0
        low, high = METRICS[name].bounds if name in METRICS else (0.0, 1.0)
        return high - low

    # ------------------------------------------------------------ curves
    def roc_curve(self, label: Any = None) -> tuple[Floats, Floats, Floats]:
        """Return the ROC curve, as `sklearn.metrics.roc_curve` does.

        Parameters
        ----------
        label : object, default=None
            The class to compare with the rest; required for more than two classes.

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
            Share of positives and mean probability of each group. Records in a bin count with the
            mean probability of public records in it.
        """
        mean, groups = self._groups(label, n_bins)
        return curves.calibration(self._table(self._score_of(label)), mean, groups)

    def to_dict(self) -> dict[str, Any]:
        ends = (self.confusion_matrix_interval(interval=interval) for interval in SAMPLINGS)
        matrix = dict(zip(KEYS, (self.confusion_matrix(), *chain(*ends)), strict=True))
        return super().to_dict() | {
            "classes": self.classes.tolist(),
            "confusion_matrix": {name: array.tolist() for name, array in matrix.items()},
        }

    def _public_design(self) -> dict[str, Any]:
        moments = None if self._moments is None else [rows.tolist() for rows in self._moments]
        levels = None if self._subgroups is None else plain(self._subgroups.to_dict())
        return {
            "threshold": self.threshold if self._binary else None,
            "pos_label": plain(self.pos_label),
            "scorers": [scorer_as_json(scorer) for scorer in self._scorers.values()],
            "probabilities": moments,
            "subgroups": levels,
        }

    @classmethod
    def _of_design(cls, design: Mapping[str, Any], parts: tuple[Any, ...]) -> Self:
        """Return the unreleased evaluation of these parts and a `_public_design`."""
        scorers = [scorer_from_json(record, parts[-1]) for record in design["scorers"]]
        moments = design["probabilities"]
        levels = design["subgroups"]
        return cls(
            parts,
            {scorer.name: scorer for scorer in scorers},
            None if moments is None else tuple(map(np.array, moments)),
            _subgroups=None if levels is None else Subgroups.from_dict(levels),
        )

    # ------------------------------------------------------------ inside
    @property
    def _binary(self) -> bool:
        return len(self.classes) == 2

    @property
    def _positives(self) -> list[Any]:
        """The positive class of each score, as a Python object."""
        labels: list[Any] = self.classes[list(self._parts[-1].positives)].tolist()
        return labels

    def _labels_at(self, threshold: float | None) -> Any:
        """Return the query that computes the confusion matrix at a threshold."""
        if threshold is None:
            return self._parts[0]
        self._check_threshold(threshold)
        return replace(self._parts[0], edge=int(np.argmin(np.abs(self.thresholds - threshold))))

    def _check_threshold(self, threshold: Any) -> None:
        """Raise ValueError unless a threshold is a number, of probabilities one in [0, 1]."""
        if self._moments is None:
            check_number("threshold", threshold, "a number")
        else:
            check_number(
                "threshold", threshold, "a probability, from 0 to 1", lambda t: 0 <= t <= 1
            )

    def _say_nearest(self, threshold: float | None) -> None:
        """Warn if the nearest released threshold differs from this probability."""
        if threshold is None or self._moments is None or not self._binary:
            return
        self._check_threshold(threshold)
        nearest = float(self.thresholds[np.argmin(np.abs(self.thresholds - threshold))])
        if abs(nearest - threshold) > _NEAR:
            warn(
                f"This is for the threshold {nearest:.3g}, the nearest to {threshold:g} that was "
                f"released. To have {threshold:g}, pass thresholds=[{threshold:g}] to "
                "private_evaluation"
            )

    def _matrices(self, counts: Floats, threshold: float | None) -> Floats:
        matrices: Floats = self._labels_at(threshold).matrices(counts) / unit_weight(self._units)
        return matrices

    def _known(self, counts: Floats, threshold: float | None) -> Floats:
        """Return confusion matrices of known labels."""
        return self._matrices(counts, threshold)[..., : len(self.classes), :]

    def _tables(self, counts: Floats) -> list[Floats]:
        """Return the tables of all scores, each of shape (n, 2, n_bins)."""
        tables: list[Floats] = self._parts[-1].tables(counts)
        return tables

    def _table(self, c: int) -> Floats:
        """Return the table of one score, as released; no count is negative."""
        table: Floats = self._tables(self._counts())[c][0]
        return table

    def _edges(self, c: int) -> Floats:
        return np.array(self._parts[-1].edges[c])

    def _known_moments(self) -> tuple[Floats, ...]:
        """Return the `moments_of` each score, by bin; ValueError if scores are no probabilities."""
        if self._moments is None:
            raise ValueError(
                "the scores are not probabilities of all classes, from predict_proba. To have "
                "them, wrap the classifier in CalibratedClassifierCV"
            )
        return self._moments

    def _score_of(self, label: Any) -> int:
        """Return the index of the score of this class."""
        if self._binary and label is None:
            return 0
        if label not in self._positives:
            raise ValueError(
                f"label must be one of {self._positives}, the class to compare with the others; "
                f"found {label!r}"
            )
        return self._positives.index(label)

    def _groups(self, label: Any, n_bins: int) -> tuple[Floats, NDArray[np.intp]]:
        """Return the mean probability and the group of each bin, both of shape (n_bins,)."""
        check_number("n_bins", n_bins, "a whole number from 1 up", lambda n: n >= 1, Integral)
        c = self._score_of(label)
        return self._known_moments()[c][0], curves.calibration_groups(self._table(c), int(n_bins))
