"""The comparison of two classifiers (zone: released)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...privacy.checks import check_number
from .._metrics import confusion_metric, ratio
from ._base import Estimate, Evaluation, hull, samplings, unknown_name

__all__ = ["ModelComparison"]

Floats = NDArray[np.float64]
_OF_SEVERAL = ["accuracy", "balanced_accuracy"]
_OF_TWO = [*_OF_SEVERAL, "recall", "specificity", "precision", "f1", "net_benefit"]


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
        What was compared: the class of each model (of a pipeline, that of its last step), and from
        which score on the positive class is predicted, if that was chosen.
    """

    model_a: str = ""
    model_b: str = ""
    _positive: int = 1
    _threshold: float | None = None
    _title = "Differentially private comparison"

    def score(
        self,
        name: str,
        *,
        model: str | None = None,
        threshold: float | None = None,
        interval: str = "population",
    ) -> Estimate:
        """Return a difference, or one model's own number, by name.

        Parameters
        ----------
        name : {"accuracy", "balanced_accuracy", "recall", "specificity", "precision", "f1", \
                "net_benefit"}
            "accuracy" alone if nothing else is compared; for more than two classes the first two.
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
        """
        if name not in self._known:
            raise ValueError(unknown_name(name, self._known))
        if model not in (None, "a", "b"):
            raise ValueError(f"model is 'a', 'b' or None; found {model!r}")
        odds, p = 0.0, self._positive
        if name == "net_benefit":
            t: Any = self._threshold if threshold is None else threshold
            check_number("threshold", t, "above 0 and below 1", lambda t: 0 < t < 1)
            odds = t / (1 - t)
        elif threshold is not None:
            raise ValueError(f"{name!r} depends on no threshold; found {threshold!r}")

        def of(k: int, counts: Floats, undefined: float | None) -> Floats:
            C = self._parts[0].matrices(counts, k)
            if name == "net_benefit":
                C = C[..., :2, :]  # of known labels, as the evaluation's
                benefit = C[..., p, p] - odds * C[..., 1 - p, p]
                return ratio(benefit, C.sum(axis=(-2, -1)), undefined)
            if name == "specificity":
                return confusion_metric("recall", C, undefined, 1 - p)
            return confusion_metric(name, C, undefined, p)

        def difference(counts: Floats, end: float | None) -> Floats:
            # The lowest difference has the lowest number of b, and the highest of a.
            b, a = (None, None) if end is None else (float(end > 0), float(end < 0))
            return of(1, counts, b) - of(0, counts, a)

        compute, bounds = difference, (-1.0 - odds, 1.0 + odds)
        if model is not None:
            compute, bounds = partial(of, "ab".index(model)), (-odds, 1.0)
        each = [self._estimate(compute, bounds=bounds, sampling=s) for s in samplings(interval)]
        return hull(each)

    @property
    def _known(self) -> list[str]:
        counts = self._parts[0]
        if not counts.by_class:
            return ["accuracy"]
        binary = len(counts.classes) == 2
        return _OF_TWO if binary else _OF_SEVERAL

    @property
    def _names(self) -> list[str]:
        return [name for name in self._known if name != "net_benefit" or self._threshold]

    def _range(self, name: str) -> float:
        return 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as numbers, texts, and lists and dicts of them.

        Returns
        -------
        comparison : dict
            With the keys "m", "unit", "scores" (differences, b minus a), "scores_a" and "scores_b"
            (each model's own), "model_a" and "model_b" (what they are), and "privacy". Each score
            has "value", "low" and "high" (for the population), "records_low" and "records_high"
            (for these records).
        """
        own = {f"scores_{model}": self._as_dicts(model=model) for model in "ab"}
        return super().to_dict() | {"model_a": self.model_a, "model_b": self.model_b} | own

    def _rows(self) -> dict[str, str]:
        shown = {"a": self.model_a, "b": self.model_b}
        for name, difference in self.scores().items():
            a, b = (self.score(name, model=k).value for k in "ab")
            shown[f"{name}, b - a"] = f"{difference}; a: {a:.4g}, b: {b:.4g}"
        return shown
