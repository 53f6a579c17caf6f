"""What a notebook shows beneath scikit-learn's diagrams: the privacy report (zone: released).

Only released values and public facts come here.
"""

from __future__ import annotations

import textwrap
from types import SimpleNamespace

import numpy as np

__all__ = ["ShowsEstimatorAndPrivacy", "ShowsPrivacy"]


class ShowsPrivacy:
    """Adds a card to scikit-learn's HTML, once there is a privacy statement.

    To be inherited from before `BaseEstimator`, of which `_repr_html_` and `_repr_mimebundle_`, the
    names that notebooks ask for, are extended; how they come about differs between versions.
    """

    @property
    def _repr_html_(self):
        # Of BaseEstimator, which comes later in the order of inheritance.
        diagram = super()._repr_html_  # type: ignore[misc]  # an AttributeError with set_config(display="text")
        return lambda: diagram() + self._privacy_card()

    def _repr_mimebundle_(self, **kwargs):
        shown = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in shown:
            shown["text/html"] += self._privacy_card()
        return shown

    def _privacy_card(self) -> str:
        """Return the privacy statement with the results, as HTML; nothing before `fit`."""
        if not hasattr(self, "privacy_"):
            return ""
        return self.privacy_._card(_results(self))


class ShowsEstimatorAndPrivacy(ShowsPrivacy):
    """Shows the fitted estimator in the diagram, or else the given one."""

    def _sk_visual_block_(self):
        """Return what scikit-learn draws: any object with these attributes will do."""
        names = ("best_estimator_", "estimator_", "estimator")
        name = next(name for name in names if name in vars(self))
        inner = getattr(self, name)
        return SimpleNamespace(
            kind="parallel",
            estimators=[inner],
            names=[f"{name}: {type(inner).__name__}"],
            name_details=[str(inner)],
            name_caption=None,
            doc_link_label=None,
            dash_wrapped=True,
        )


def _results(estimator) -> list[tuple[str, list[str]]]:
    """Return what was chosen, and its score with where it lies without noise."""
    rows = []
    if hasattr(estimator, "best_params_"):
        setting = [f"{name} = {_short(v)}" for name, v in estimator.best_params_.items()]
        rows.append(("Best parameters", setting))
    for name in ("threshold", "parameter"):
        if hasattr(estimator, f"best_{name}_"):
            rows.append((f"Best {name}", [_short(getattr(estimator, f"best_{name}_"))]))
    if hasattr(estimator, "best_scores_"):
        by_name = estimator.best_score_intervals_.items()
        said = [f"{name} {_said(estimator.best_scores_[name], where)}" for name, where in by_name]
        rows.append(("Scores", said))
    elif hasattr(estimator, "best_score_"):
        interval = getattr(estimator, "best_score_interval_", None)
        name = f"{estimator.scorer_.name} " if hasattr(estimator, "scorer_") else ""
        rows.append(("Score", [name + _said(estimator.best_score_, interval)]))
    return rows


def _said(score: float, interval) -> str:
    said = f"{_short(score)} with noise"
    if interval is None:
        return said
    low, high = map(_short, interval)
    return f"{said}; without it, {low} to {high} (95 %)"


def _short(value) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.4g}"
    return textwrap.shorten(repr(value), 100, placeholder=" ...")
