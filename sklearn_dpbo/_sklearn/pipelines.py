"""A private estimator as the last step of a pipeline (zone: released)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ..learners._private_training import learns_nothing

__all__ = ["refuse_steps_before"]


def refuse_steps_before(estimator: Any, *, protects_all: bool = False) -> None:
    """Raise ValueError if a pipeline that fits this estimator has transformed X, and not X_val.

    Of a `fit` that protects all of its records: if the pipeline has learnt from them. A pipeline
    does not tell its last step that it is one; so this looks for it among the callers.
    """
    what = "transformed X, and X_val came as it was"
    if protects_all:
        what = "learnt from X, which nothing protects"
    for pipeline in _pipelines_around(estimator, sys._getframe(1)):
        if not protects_all and "X_val" in (getattr(pipeline, "transform_input", None) or ()):
            continue
        harmless = learns_nothing if protects_all else (lambda step: step in (None, "passthrough"))
        if harmful := [name for name, step in pipeline.steps[:-1] if not harmless(step)]:
            raise ValueError(
                f"the steps {harmful} of the pipeline have {what}: search over the whole pipeline, "
                f"{type(estimator).__name__}(make_pipeline(...), ...)"
            )


def _pipelines_around(estimator: Any, frame: FrameType | None) -> Iterator[Any]:
    """Yield pipelines that fit this estimator as their last step, or one that fits it."""
    inside = [estimator]
    while frame is not None:
        if frame.f_code.co_name.startswith("fit"):
            owner = frame.f_locals.get("self")
            steps = getattr(owner, "steps", None)
            if isinstance(steps, list) and steps and any(steps[-1][-1] is e for e in inside):
                yield owner
            inside.append(owner)
        frame = frame.f_back
