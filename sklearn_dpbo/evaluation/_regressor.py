"""The evaluation of a regressor (zone: released)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._privacy.checks import check_number
from ..scoring._intervals import Compute
from ..scoring._make import NAMES
from ._base import Estimate, Evaluation

Floats = NDArray[np.float64]
# Share of clipped errors that is warned of.
_OFTEN = 0.01
QUANTILES = ("median_absolute_error", "quantile_absolute_error")
# Errors that are lower if single ones are clipped.
_LOWERED = ("mean_absolute_error", "mean_squared_error", "root_mean_squared_error")

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

    def score(
        self,
        name: str,
        *,
        q: float = 0.9,
        tolerance: float | None = None,
        clipped: bool = True,
    ) -> Estimate:
        """Return a number by name.

        Parameters
        ----------
        name : str
            "r2", "explained_variance" (their intervals begin at -inf if the noise may hide all
            variance of the labels), "mean_squared_error", "root_mean_squared_error",
            "mean_absolute_error", or one of these errors as in ``scoring=``, such as
            "neg_mean_absolute_error"; "mean_error" (of label minus prediction); "share_clipped" (of
            records whose error exceeds `largest_error`). These are computed from sums. From a
            histogram, whose bins widen the interval: "median_absolute_error";
            "quantile_absolute_error"; "share_within" (of records whose absolute error is at most
            `tolerance`).
        q : float, default=0.9
            Share of records whose absolute error is at most "quantile_absolute_error".
        tolerance : float, default=None
            For "share_within"; the interval is narrower at one of `tolerances`.
        clipped : bool, default=True
            False is for mean absolute, mean squared and root mean squared errors that are not
            clipped. They are at least the clipped ones, and nothing released tells how much larger
            they are: the interval ends at infinity.
        """
        if name in NAMES and name.startswith("neg_"):
            return -self.score(name.removeprefix("neg_"), clipped=clipped)
        if not clipped:
            return self._unclipped(name)
        if name in self._scorers:
            return self._score(self._scorers[name], 0)
        if name in (sums := self._of_sums):
            return self._estimate(sums[name], 0, (-math.inf, math.inf))
        histogram, c = self._parts[-1], self.largest_error
        if name == "share_clipped":
            return self._estimate(lambda n, _: 1 - histogram.share_within(n, c, 0.0))
        if name == "share_within":
            check_number("tolerance", tolerance, "from 0 up", lambda size: size >= 0)
            return self._estimate(lambda n, end: histogram.share_within(n, tolerance, end))
        if name not in QUANTILES:
            names = [*self._scorers, *sums, "share_clipped", "share_within", *QUANTILES]
            raise ValueError(f"score takes one of {names}; found {name!r}")
        check_number("q", q, "in (0, 1)", lambda share: 0 < share < 1)
        share = 0.5 if name == "median_absolute_error" else q
        compute = partial(histogram.quantile, q=share)
        return self._estimate(lambda n, end: compute(n, end=end), bounds=(0.0, math.inf))

    @property
    def tolerances(self) -> Floats:
        """Absolute errors at which bins end, ascending."""
        return np.array(self._parts[-1].edges)

    @property
    def _of_sums(self) -> dict[str, Compute]:
        """How numbers are computed from sums."""
        moments, m, c = self._parts[0], self.m, self.largest_error

        def mean(k: int, sums: Floats) -> Floats:
            mean: Floats = moments.means(moments.within_range(sums, self._units), m)[k]
            return mean

        return {
            "mean_squared_error": lambda sums, _: c**2 * mean(0, sums),
            "root_mean_squared_error": lambda sums, _: c * np.sqrt(mean(0, sums)),
            "mean_absolute_error": lambda sums, _: c * mean(4, sums),
            "mean_error": lambda sums, _: c * mean(3, sums),
        }

    def _unclipped(self, name: str) -> Estimate:
        """Return the lower end of an error that clipping lowers."""
        if name not in _LOWERED:
            raise ValueError(f"clipped=False is for {', '.join(_LOWERED)}; found {name!r}")
        return self.score(name)._replace(high=math.inf)

    @property
    def _names(self) -> list[str]:
        errors = ("mean_absolute_error", "root_mean_squared_error", "mean_error", "share_clipped")
        return [*QUANTILES, "r2", *errors]

    def _range(self, name: str) -> float:
        ranges = {"r2": 1.0, "mean_error": 2 * self.largest_error, "share_clipped": 1.0}
        return ranges.get(name, self.largest_error)

    def _clipped_hint(self) -> str:
        value, low, _ = self.score("share_clipped")
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
            With the keys "m", "unit", "scores" (each with "value", "low" and "high"; None stands
            for infinity), "clipping" (as what larger errors count), "largest_error" and "privacy".
        """
        return super().to_dict() | {
            "clipping": self.clipping,
            "largest_error": self.largest_error,
        }
