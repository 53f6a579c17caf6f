"""The evaluation of a regressor (zone: released)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
            "mean_squared_error", "root_mean_squared_error", "mean_absolute_error" or "mean_error"
            (of label minus prediction).
        """
        if name in self._scorers:
            return self._score(self._scorers[name])
        c = self.largest_error
        known: dict[str, tuple[Callable[[Floats], Floats], float, float]] = {
            "mean_squared_error": (self._mse, 0, c**2),
            "root_mean_squared_error": (lambda n: np.sqrt(self._mse(n)), 0, c),
            "mean_absolute_error": (lambda n: c * self._means(n)[4], 0, c),
            "mean_error": (lambda n: c * self._means(n)[3], -c, c),
        }
        if name not in known:
            raise ValueError(f"score takes one of {[*self._scorers, *known]}; found {name!r}")
        compute, low, high = known[name]
        return self._estimate(lambda n, _: compute(n), bounds=(low, high))

    def scores(self) -> dict[str, Estimate]:
        """Return the main numbers by name.

        Returns
        -------
        scores : dict of str to Estimate
        """
        names = ("r2", "mean_absolute_error", "root_mean_squared_error", "mean_error")
        return {name: self.score(name) for name in names}

    def _figures(self) -> dict[str, Any]:
        return {"largest_error": self.largest_error}

    def _means(self, counts: Floats) -> Floats:
        """Return the means of e^2, t^2, t, e and |e|, see `Moments`."""
        means: Floats = self._parts[0].means(counts, self.m)
        return means

    def _mse(self, counts: Floats) -> Floats:
        found: Floats = self.largest_error**2 * np.clip(self._means(counts)[0], 0, 1)
        return found
