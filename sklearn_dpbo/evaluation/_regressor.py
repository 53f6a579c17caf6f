"""The evaluation of a regressor (zone: released)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..scoring._make import NAMES
from ..scoring._scorers import CONFIDENCE
from ._base import Estimate, Evaluation, samplings

# Share of clipped errors that is warned of.
_OFTEN = 0.01

__all__ = ["RegressorEvaluation"]


@dataclass(frozen=True, eq=False, repr=False)
class RegressorEvaluation(Evaluation):
    """Numbers of a regressor on protected records, all from one release.

    Returned by `private_evaluation`, and kept by a search with ``release="evaluation"``. They
    follow from six sums: of squared and absolute errors, of labels and their squares, of errors,
    and the number of records whose errors count as `largest_error`, as they are larger or not
    numbers. Numbers and intervals are those of clipped errors and labels, as `clipping` says.
    If all records of a group are protected together, the group has the weight of one record,
    however many records it has.

    Attributes
    ----------
    m : int
        Number of protected records, or groups.
    privacy_ : PrivacyReport
        The privacy report; print it.
    """

    @property
    def clipping(self) -> str:
        """What larger errors, and labels far from most, count as, in words."""
        return self._scorers["r2"].clipping

    @property
    def largest_error(self) -> float:
        """The largest possible error; larger ones count as this."""
        return float(self._parts[0].c_e)

    _covers = "for these records: noise alone"

    def score(self, name: str, *, interval: str = "population") -> Estimate:
        """Return a number by name.

        Parameters
        ----------
        name : str
            "r2", "explained_variance" (their intervals begin at -inf if the noise may hide all
            variance of the labels), "mean_squared_error", "root_mean_squared_error",
            "mean_absolute_error", or one of these errors as in ``scoring=``, such as
            "neg_mean_absolute_error"; "mean_error" (of label minus prediction); "share_clipped" (of
            records whose error counts as `largest_error`).
        interval : {"population", "records"}, default="population"
            Both are for these records: they cover the noise alone.
        """
        samplings(interval)
        if name in self._scorers:
            return self._score(self._scorers[name])
        if name in NAMES and name.startswith("neg_"):
            return -self.score(name.removeprefix("neg_"))
        c = self.largest_error
        # Of the means of e^2, t^2, t, e, |e| and [|e| = 1], see `Moments`: which one, and of it.
        known: dict[str, tuple[int, Callable[[float], float]]] = {
            "mean_squared_error": (0, lambda mean: c**2 * mean),
            "root_mean_squared_error": (0, lambda mean: c * math.sqrt(mean)),
            "mean_absolute_error": (4, lambda mean: c * mean),
            "mean_error": (3, lambda mean: c * mean),
            "share_clipped": (5, lambda mean: mean),
        }
        if name not in known:
            raise ValueError(f"score takes one of {[*self._scorers, *known]}; found {name!r}")
        return self._of_sum(*known[name])

    def _of_sum(self, k: int, compute: Callable[[float], float]) -> Estimate:
        """Return an increasing function of the mean of one column of `Moments`."""
        noisy, moments = self._noisy[0], self._parts[0]

        def possible(count: int) -> int:
            counts = [*noisy.counts[:k], count, *noisy.counts[k + 1 :]]
            return int(moments.within_range(counts, self._units)[k])

        nearest = possible(noisy.counts[k])
        (ends,) = replace(noisy, counts=(nearest,)).interval(CONFIDENCE)
        total = moments.steps[k] * self.m
        return Estimate(*(compute(possible(count) / total) for count in (nearest, *ends)))

    @property
    def _names(self) -> list[str]:
        errors = ("mean_absolute_error", "root_mean_squared_error", "mean_error", "share_clipped")
        return ["r2", *errors]

    def _range(self, name: str) -> float:
        ranges = {"r2": 1.0, "mean_error": 2 * self.largest_error, "share_clipped": 1.0}
        return ranges.get(name, self.largest_error)

    def _clipped_hint(self) -> str:
        value, low, _ = self.score("share_clipped", interval="records")
        return (low > _OFTEN) * (
            f"The errors of {value:.1%} of the records (at least {low:.1%}) exceed "
            f"{self.largest_error:.4g}, and count as that: all numbers are of such clipped errors. "
            "Public records had smaller ones: so the protected records differ from them, or "
            "largest_error is too small"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as numbers, texts, and lists and dicts of them.

        Returns
        -------
        evaluation : dict
            As of a classifier, with the keys "m", "unit", "scores", "privacy", "clipping" (as what
            larger errors count) and "largest_error".
        """
        return super().to_dict() | {
            "clipping": self.clipping,
            "largest_error": self.largest_error,
        }
