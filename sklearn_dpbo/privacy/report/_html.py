"""Privacy reports beneath scikit-learn's diagrams in notebooks (zone: released).

It shows only released values and public facts.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

Interval: TypeAlias = tuple[float, float] | None


class ShowsPrivacy(BaseEstimator):
    """Mixin that adds a card with the privacy report to the HTML of a fitted estimator.

    The hooks beneath `_repr_html_` and `_repr_mimebundle_` differ between versions of scikit-learn.
    """

    @property
    def _repr_html_(self) -> Callable[[], str]:
        diagram = super()._repr_html_  # raises AttributeError with set_config(display="text")
        return lambda: diagram() + self._privacy_card()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        shown: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:
            shown["text/html"] += self._privacy_card()
        return shown

    def _privacy_card(self) -> str:
        """Return the privacy report with the results, as HTML; an empty string before `fit`."""
        if not hasattr(self, "privacy_"):
            return ""
        shown: str = self.privacy_._card(_results(self))
        return shown


def _results(estimator: Any) -> list[tuple[str, list[str]]]:
    """Format the chosen candidate and its released scores, with intervals, as rows of a card."""
    rows = []
    if hasattr(estimator, "best_params_"):
        params = [f"{name} = {_short(v)}" for name, v in estimator.best_params_.items()]
        rows.append(("Best parameters", params))
    if hasattr(estimator, "best_threshold_"):
        rows.append(("Best threshold", [_short(estimator.best_threshold_)]))
    if hasattr(estimator, "best_scores_"):
        scores = estimator.best_scores_
        intervals = estimator.best_score_intervals_
        populations = estimator.best_score_population_intervals_
        texts = [
            f"{name} {_score_text(scores[name], intervals[name], populations[name])}"
            f"{_clipping(scorer)}"
            for name, scorer in estimator.scorer_.items()
        ]
        rows.append(("Scores", texts))
    elif hasattr(estimator, "best_score_"):
        interval = getattr(estimator, "best_score_interval_", None)
        population = getattr(estimator, "best_score_population_interval_", None)
        text = _score_text(estimator.best_score_, interval, population)
        if hasattr(estimator, "scorer_"):
            text = f"{estimator.scorer_.name} {text}{_clipping(estimator.scorer_)}"
        rows.append(("Score", [text]))
    elif hasattr(estimator, "best_params_"):
        rows.append(("Score", ["none released: all of epsilon paid for the choice"]))
    return rows


def _clipping(scorer: Any) -> str:
    return f"; {scorer.clipping}" if scorer.clipping else ""


def _score_text(score: float, interval: Interval, population: Interval) -> str:
    """Format a score with its intervals: for the population, then for these records."""
    if interval is None:
        return f"{_short(score)} with noise"
    texts = [
        f"for {whom}: {_short(ends[0])} to {_short(ends[1])}"
        for whom, ends in (("the population", population), ("these records", interval))
        if ends is not None and not math.isnan(ends[0])
    ]
    return f"{_short(score)} (95 % {'; '.join(texts)})"


def _short(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.4g}"
    return textwrap.shorten(repr(value), 100, placeholder=" ...")
