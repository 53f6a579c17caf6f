"""The evaluation of a regressor (zone: released)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..scoring._make import NAMES
from ._base import Estimate, Evaluation

__all__ = ["RegressorEvaluation"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class RegressorEvaluation(Evaluation):
    """Numbers of a regressor on protected records, all from one release.

    Returned by `private_evaluation`, and kept by a search with ``release="evaluation"``. They
    follow from five sums: of squared and absolute errors, of labels and their squares, of errors.
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
    def largest_error(self) -> float:
        """The largest possible error; larger ones were clipped to it."""
        return float(self._parts[0].c_e)

    def score(self, name: str) -> Estimate:
        """Return a number by name.

        Parameters
        ----------
        name : str
            "r2" (its interval begins at -inf if the noise may hide all variance of the labels),
            "mean_squared_error", "root_mean_squared_error", "mean_absolute_error", or one of these
            errors as in ``scoring=``, such as "neg_mean_absolute_error"; "mean_error" (of label
            minus prediction).
        """
        if name in self._scorers:
            return self._score(self._scorers[name])
        if name in NAMES and name.startswith("neg_"):
            return -self.score(name.removeprefix("neg_"))
        moments, c = self._parts[0], self.largest_error
        # Of the means of e^2, t^2, t, e and |e|, see `Moments`; and the lowest value.
        known: dict[str, tuple[Callable[..., Floats], float]] = {
            "mean_squared_error": (lambda ee, *_: c**2 * np.clip(ee, 0, 1), 0),
            "root_mean_squared_error": (lambda ee, *_: c * np.sqrt(np.clip(ee, 0, 1)), 0),
            "mean_absolute_error": (lambda *means: c * means[4], 0),
            "mean_error": (lambda *means: c * means[3], -c),
        }
        if name not in known:
            raise ValueError(f"score takes one of {[*self._scorers, *known]}; found {name!r}")
        compute, low = known[name]
        high = c**2 if name == "mean_squared_error" else c
        return self._estimate(
            lambda counts, _: compute(*moments.means(counts, self.m)), bounds=(low, high)
        )

    @property
    def _names(self) -> list[str]:
        return ["r2", "mean_absolute_error", "root_mean_squared_error", "mean_error"]

    def _range(self, name: str) -> float:
        ranges = {"r2": 1.0, "mean_error": 2 * self.largest_error}
        return ranges.get(name, self.largest_error)
