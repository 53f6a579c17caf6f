"""The comparison of two classifiers (zone: released)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...privacy.checks import check_number
from .._agreement import Agreement
from .._intervals import Compute
from .._make import labels_scorer, make_private_scorer
from .._metrics import ratio
from .._registry import OF_MATRIX
from .._released import plain
from .._scorers import PrivateScorer
from ._base import Estimate, Evaluation, hull, samplings, unknown_name
from ._clinical import OF_TWO, usual

Floats = NDArray[np.float64]
# The main numbers.
_MAIN = ["accuracy", "balanced_accuracy"]
_MAIN_OF_TWO = [*_MAIN, "recall", "specificity", "precision", "f1"]


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Evaluation):
    """Differences between two classifiers on the same protected records, all from one release.

    Returned by `private_comparison`. A difference is that of `model_b` minus that of `model_a`: it
    is positive if `model_b` is better. The release is one table: the numbers of records by label,
    and by which of the two models are right. If all records of a group are protected together, the
    group has the weight of one record, however many records it has.

    Attributes
    ----------
    m : int
        Number of protected records, or groups.
    privacy_ : PrivacyReport
        The privacy report; print it.
    model_a, model_b : str
        The class of each model (of a pipeline, that of its last step), and its threshold for the
        positive class if `thresholds` was passed.
    """

    model_a: str = ""
    model_b: str = ""
    _positive: int = 1
    _threshold: float | None = None
    # The score of `scoring=`, if it was passed.
    _scoring: PrivateScorer | None = None
    _title = "Differentially private comparison"
    kind = "comparison of two models"
    _digits = 3  # with fewer, an end such as -0.004 would be shown as 0

    def score(
        self,
        name: str,
        *,
        model: str | None = None,
        threshold: float | None = None,
        interval: str = "population",
        **params: Any,
    ) -> Estimate:
        """Return the difference of a number between both models, or the number of one, by name.

        Parameters
        ----------
        name : str
            Of two classes, any metric of the confusion matrix, as for ``scoring=``, such as "f1" or
            "matthews_corrcoef"; "sensitivity" (the recall), "specificity", "ppv" (the precision)
            and "npv"; or "net_benefit". Of more classes, those that follow from how many records of
            each class are predicted correctly, such as "balanced_accuracy". Of all classes
            together, "accuracy" and micro averages.
        model : {"a", "b"}, default=None
            Whose number to return; None is the difference, b minus a.
        threshold : float, default=None
            For "net_benefit", (TP - FP t / (1 - t)) / m: the probability t of a positive label from
            which on it is worth while to act. None is the threshold of both models, if it is the
            same.
        interval : {"population", "records"}, default="population"
            "population": a 95 % interval for the number of the population that the records (or
            groups) are a random sample of, which covers noise and sampling; "records": for the
            exact number of these records, which covers the noise alone.
        **params
            Parameters of a metric, as for `make_private_scorer`, such as ``beta=2``.
        """
        if name not in (names := determined(self._parts[0])):
            raise ValueError(unknown_name(name, names))
        if model not in (None, "a", "b"):
            raise ValueError(f"model must be 'a', 'b' or None; found {model!r}")
        number, (lowest, highest) = self._number(name, threshold, params)

        def of_model(k: int, counts: Floats, undefined: float | None) -> Floats:
            return number(self._parts[0].matrices(counts, k), undefined)

        def difference(counts: Floats, end: float | None) -> Floats:
            # The lowest difference has the lowest number of b, and the highest of a.
            ends = (highest, lowest) if end is not None and end > 0 else (lowest, highest)
            b, a = (None, None) if end is None else ends
            return of_model(1, counts, b) - of_model(0, counts, a)

        compute: Compute = difference
        bounds = (lowest - highest, highest - lowest)
        if model is not None:
            compute = partial(of_model, "ab".index(model))
            bounds = (lowest, highest)
        return hull(
            [self._estimate(compute, bounds=bounds, sampling=s) for s in samplings(interval)]
        )

    def _number(
        self, name: str, threshold: float | None, params: dict[str, Any]
    ) -> tuple[Compute, tuple[float, float]]:
        """Return a function that computes a number from confusion matrices, and its bounds."""
        classes = self._parts[0].classes
        p = self._positive
        unused = params if name == "net_benefit" else {"threshold": threshold}
        if superfluous := {key: value for key, value in unused.items() if value is not None}:
            raise ValueError(
                f"{name!r} depends on no {' or '.join(superfluous)}; found {superfluous}"
            )
        if name == "net_benefit":
            t: Any = self._threshold if threshold is None else threshold
            check_number("threshold", t, "above 0 and below 1", lambda t: 0 < t < 1)
            odds = t / (1 - t)
            return partial(_net_benefit, p, odds), (-odds, 1.0)
        if self._scoring is not None and name == self._scoring.name:
            params = self._scoring.params | params
        name, for_class = usual(name, classes, p)
        scorer = labels_scorer(name, for_class | params, classes, classes.tolist()[p])
        return scorer.metric, scorer.bounds

    @property
    def _names(self) -> list[str]:
        if self._scoring is not None:
            return [self._scoring.name]
        if len(self._parts[0].classes) > 2:
            return _MAIN
        return [*_MAIN_OF_TWO, "net_benefit"] if self._threshold else _MAIN_OF_TWO

    def _range(self, name: str) -> float:
        low, high = OF_MATRIX[name].bounds if name in OF_MATRIX else (0.0, 1.0)
        return high - low

    def _public_design(self) -> dict[str, Any]:
        scoring = self._scoring
        record = None if scoring is None else {"metric": scoring.name, "params": scoring.params}
        return {
            "positive_class": self._positive,
            "threshold": self._threshold,
            "scoring": plain(record),
        }

    @classmethod
    def _of_design(cls, design: Mapping[str, Any], parts: tuple[Any, ...]) -> Self:
        """Return the unreleased comparison of these parts and a `_public_design`."""
        record = design["scoring"]
        scoring = record and make_private_scorer(record["metric"], **record["params"])
        return cls(
            parts,
            {},
            _positive=design["positive_class"],
            _threshold=design["threshold"],
            _scoring=scoring,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as numbers, texts, and lists and dicts of them.

        Returns
        -------
        comparison : dict
            As of a classifier, with "scores" (differences, b minus a), "scores_a" and "scores_b"
            (of each model), and "model_a" and "model_b" (their names) instead of classes and
            matrix.
        """
        scores = {f"scores_{model}": self._as_dicts(model=model) for model in "ab"}
        return super().to_dict() | {"model_a": self.model_a, "model_b": self.model_b} | scores

    def _rows(self) -> dict[str, str]:
        shown = {"a": self.model_a, "b": self.model_b}
        for name, difference in self.scores().items():
            a, b = (self.score(name, model=k).value for k in "ab")
            shown[f"{name}, b - a"] = f"{difference}; a: {a:.4g}, b: {b:.4g}"
        return shown


def determined(table: Agreement) -> list[str]:
    """Return the names of all numbers that can be computed from a joint table."""
    if table.by_class and len(table.classes) == 2:
        return [*OF_MATRIX, *OF_TWO, "net_benefit"]
    enough = ("correct", "recalls")[: 1 + table.by_class]
    metrics = OF_MATRIX.items()
    return [name for name, m in metrics if m.follows in enough and not m.of_one]


def _net_benefit(p: int, odds: float, C: Floats, undefined: float | None) -> Floats:
    C = C[..., :2, :]  # of known labels, as the evaluation's
    benefit = C[..., p, p] - odds * C[..., 1 - p, p]
    return ratio(benefit, C.sum(axis=(-2, -1)), undefined)
