"""What to do if an estimator is neither classifier nor regressor (zone: public)."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin, is_clusterer

__all__ = ["refuse_clusterer", "without_default"]

_OF_CLUSTERERS = (
    "Score each record by itself, as by minus its distance to the nearest centre: "
    "make_private_scorer(gain, bounds=(-10, 0), response_method='transform') with "
    "def gain(y, distances): return -distances.min(axis=1)"
)


def refuse_clusterer(estimator: Any, scoring: str) -> None:
    """Raise ValueError if a score that compares predictions with y is for a clusterer.

    Parameters
    ----------
    estimator : estimator
        What is scored.
    scoring : str
        Name of the score.
    """
    if is_clusterer(estimator):
        raise ValueError(
            f"scoring={scoring!r} compares predictions with y, and those of "
            f"{type(estimator).__name__} are numbers of clusters. {_OF_CLUSTERERS}"
        )


def without_default(estimator: Any) -> str:
    """Return why an estimator has no default score, and what to do about it.

    Parameters
    ----------
    estimator : estimator
        Neither a classifier nor a regressor by its tags.
    """
    name = type(estimator).__name__
    if is_clusterer(estimator):
        return f"scoring=None means accuracy or r2, and {name} is a clusterer. {_OF_CLUSTERERS}"
    inner = _last_step(estimator)
    for mixin, kind in ((ClassifierMixin, "classifier"), (RegressorMixin, "regressor")):
        if isinstance(inner, mixin):
            own, base = type(inner).__name__, mixin.__name__
            return (
                f"{own} is a {base}, and scikit-learn does not take it for a {kind}: perhaps "
                f"BaseEstimator stands before the mixin; write class {own}({base}, BaseEstimator)"
            )
    return (
        f"scoring=None means accuracy or r2, and {name} is neither a classifier nor a regressor. "
        "If it is one, let its class inherit from it, as in class Mine(ClassifierMixin, "
        "BaseEstimator). Otherwise pass scoring=make_private_scorer(gain, bounds=(-100, 0)), where "
        "gain(y, response) returns one number for each record"
    )


def _last_step(estimator: Any) -> Any:
    """Return what predicts in a pipeline; the estimator itself if it is none."""
    while isinstance(steps := getattr(estimator, "steps", None), list) and steps:
        estimator = steps[-1][-1]
    return estimator
