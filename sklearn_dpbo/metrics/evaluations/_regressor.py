"""The evaluation of a regressor (zone: released)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...privacy.checks import check_number
from .._intervals import Compute
from .._make import NAMES
from .._released import scorer_as_json, scorer_from_json
from ._base import Estimate, Evaluation, hull, samplings, unknown_name

Floats = NDArray[np.float64]
# Share of clipped errors from which on there is a warning.
_OFTEN = 0.01
# Means of errors, which clipping can only lower; then all main numbers of clipped errors.
_MEANS = ("mean_absolute_error", "root_mean_squared_error", "mean_squared_error")
_CLIPPED = ("r2", *_MEANS[:2], "mean_error")
_OF_SUMS = (*_CLIPPED, "mean_squared_error", "explained_variance")


@dataclass(frozen=True, eq=False, repr=False)
class RegressorEvaluation(Evaluation):
    """Numbers of a regressor on protected records, all from one release.

    Returned by `private_evaluation`, and kept by a search with ``release="evaluation"``. Means,
    and ratios of means, follow from sums of errors, labels and their squares: they are those of
    clipped errors and labels, see `clipping`. Quantiles and shares follow from a histogram of
    absolute errors, which is not clipped; errors that are not numbers count as the largest. If all
    records of a group are protected together, the group has the weight of one record, however many
    records it has.

    Attributes
    ----------
    m : int
        Number of protected records, or groups.
    privacy_ : PrivacyReport
        The privacy report; print it.
    """

    kind = "evaluation of a regressor"

    @property
    def clipping(self) -> str:
        """Bounds to which errors and labels are clipped, in words."""
        return self._scorers["r2"].clipping

    @property
    def largest_error(self) -> float:
        """Bound of absolute errors: larger ones count as this."""
        return float(self._parts[0].c_e)

    def score(
        self,
        name: str,
        *,
        q: float = 0.9,
        tolerance: float = 0.0,
        clipped: bool = True,
        interval: str = "population",
    ) -> Estimate:
        """Return a number by name.

        Parameters
        ----------
        name : str
            "r2", "explained_variance" (their intervals begin at -inf if the noise may hide all
            variance of the labels), "mean_squared_error", "root_mean_squared_error",
            "mean_absolute_error", or one of these errors as in ``scoring=``, such as
            "neg_mean_absolute_error"; "mean_error" (of label minus prediction). These follow from
            sums, of errors that are clipped. From a histogram of errors of all sizes, whose bins
            widen intervals: "median_absolute_error"; "quantile_absolute_error"; "share_within" (of
            records whose absolute error is at most `tolerance`); "share_clipped" (of records whose
            absolute error exceeds `largest_error`).
        q : float, default=0.9
            Share of records whose absolute error is at most "quantile_absolute_error".
        tolerance : float, default=0.0
            For "share_within"; the interval is narrower at an edge of the histogram, such as one of
            ``thresholds=``.
        clipped : bool, default=True
            False is for mean absolute, mean squared and root mean squared errors without clipping.
            They are not below those of clipped errors, and nothing released says how far above:
            their intervals end at inf.
        interval : {"population", "records"}, default="population"
            "population": a 95 % interval for the number of the population that the records (or
            groups) are a random sample of, which covers noise and sampling; "records": for the
            exact number of these records, which covers the noise alone.
        """
        if name in NAMES and name.startswith("neg_"):
            return -self.score(name.removeprefix("neg_"), clipped=clipped, interval=interval)
        if not clipped and name not in _MEANS:
            raise ValueError(
                f"clipped=False is for {', '.join(_MEANS)}, which clipping can only lower; "
                f"{name!r} without clipping is not known"
            )
        check_number("q", q, "in (0, 1)", lambda share: 0 < share < 1)
        check_number("tolerance", tolerance, "from 0 up", lambda size: size >= 0)
        score = hull([self._with(s, name, q, tolerance) for s in samplings(interval)])
        return score if clipped else score._replace(high=math.inf)

    def _with(self, sampling: float, name: str, q: float, tolerance: float) -> Estimate:
        """Return a number by name, with an interval for this factor of the sampling error."""
        if name in self._scorers:
            return self._score(self._scorers[name], 0, sampling)
        sums, histogram = self._parts
        c = self.largest_error

        def mean(n: Floats, k: int) -> Floats:
            return np.asarray(sums.means(sums.within_range(n, self._units), self.m)[k])

        quantile = partial(_quantile, histogram.edges)
        share = partial(_share_within, histogram.edges)
        computed: dict[str, tuple[int, Compute]] = {
            "mean_squared_error": (0, lambda n, _: c**2 * mean(n, 0)),
            "root_mean_squared_error": (0, lambda n, _: c * np.sqrt(mean(n, 0))),
            "mean_absolute_error": (0, lambda n, _: c * mean(n, 4)),
            "mean_error": (0, lambda n, _: c * mean(n, 3)),
            "median_absolute_error": (1, lambda n, end: quantile(n, 0.5, end)),
            "quantile_absolute_error": (1, lambda n, end: quantile(n, q, end)),
            "share_within": (1, lambda n, end: share(n, tolerance, end)),
            "share_clipped": (1, lambda n, end: 1 - share(n, c, end)),
        }
        if name not in computed:
            raise ValueError(unknown_name(name, [*self._scorers, *computed]))
        part, compute = computed[name]
        return self._estimate(compute, part, (-math.inf, math.inf), sampling)

    def _notes(self) -> dict[str, str]:
        c = f"{self.largest_error:.4g}"
        notes = dict.fromkeys(_OF_SUMS, f"errors above {c} counted as {c}")
        if self.score("share_clipped").high > _OFTEN:
            for name in _MEANS[:2]:
                notes[name] += f"; if not: {self.score(name, clipped=False).low:.4g} to inf"
        return notes

    @property
    def _names(self) -> list[str]:
        return ["median_absolute_error", "quantile_absolute_error", *_CLIPPED, "share_clipped"]

    def _range(self, name: str) -> float:
        ranges = {"r2": 1.0, "mean_error": 2 * self.largest_error, "share_clipped": 1.0}
        return ranges.get(name, self.largest_error)

    def _released_hint(self) -> str:
        value, low, _ = self.score("share_clipped", interval="records")
        if low <= _OFTEN:
            return ""
        return (
            f"The errors of {value:.1%} of the records (at least {low:.1%}) exceed "
            f"{self.largest_error:.4g}, and count as that: all numbers are of such clipped errors. "
            "Public records had smaller ones: so the protected records differ from them, or "
            "largest_error is too small"
        )

    def _public_design(self) -> dict[str, Any]:
        return {"scorers": [scorer_as_json(scorer) for scorer in self._scorers.values()]}

    @classmethod
    def _of_design(cls, design: Mapping[str, Any], parts: tuple[Any, ...]) -> Self:
        """Return the unreleased evaluation of these parts and a `_public_design`."""
        scorers = [scorer_from_json(record, parts[0]) for record in design["scorers"]]
        return cls(parts, {scorer.name: scorer for scorer in scorers})

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as numbers, texts, and lists and dicts of them.

        Returns
        -------
        evaluation : dict
            As of a classifier, with "clipping" (the bounds, in words) and "largest_error" instead
            of classes and matrix.
        """
        return super().to_dict() | {
            "clipping": self.clipping,
            "largest_error": self.largest_error,
        }


def _shares(edges: tuple[float, ...], counts: Floats) -> tuple[Floats, Floats]:
    """Return 0 and all edges, and the share of errors up to each (and in all) per row of counts."""
    shares = np.cumsum(counts, axis=-1) / counts.sum(axis=-1, keepdims=True)
    return np.array((0.0, *edges)), np.insert(shares, 0, 0.0, axis=-1)


def _share_within(
    edges: tuple[float, ...], counts: Floats, size: float, end: float | None
) -> Floats:
    """Compute the share of errors up to this size, per row of counts.

    If `end` is None, errors are taken to be spread evenly over their bin. If it is positive, all
    errors in the bin of `size` count as up to this size; otherwise none of them.
    """
    ends, shares = _shares(edges, counts)
    if end is None:
        return np.array([np.interp(size, ends, row) for row in shares[..., :-1].clip(0.0, 1.0)])
    up_to = np.searchsorted(edges, size, "left" if end > 0 else "right") + (end > 0)
    return np.clip(shares[..., up_to], 0.0, 1.0)


def _quantile(edges: tuple[float, ...], counts: Floats, q: float, end: float | None) -> Floats:
    """Compute the size that a share q of errors does not exceed, per row of counts.

    If `end` is None, errors are taken to be spread evenly over their bin; otherwise the size is the
    upper end of the bin, if `end` is positive, or the lower one. If noise lets cumulative shares
    fall, the bin is the last one in which they reach q, or the first one.
    """
    ends, shares = _shares(edges, counts)
    if end is None:
        return np.array([np.interp(q, row, ends) for row in shares[..., :-1]])
    if end > 0:
        below = np.minimum.accumulate(shares[..., ::-1], axis=-1) < q
        return np.asarray(np.append(ends, np.inf)[below.sum(axis=-1)])
    return np.asarray(ends[(np.maximum.accumulate(shares, axis=-1) < q).sum(axis=-1) - 1])
