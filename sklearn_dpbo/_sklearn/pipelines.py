"""A private estimator as the last step of a pipeline (zone: released)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ..learners._private_training import learns_nothing

__all__ = ["refuse_learning_steps", "refuse_raw_validation_set"]


def refuse_learning_steps(estimator: Any) -> None:
    """Raise ValueError if a pipeline that fits this estimator has learnt from the records before.

    To be called by a `fit` that protects all of its records.
    """
    for pipeline in _pipelines_around(estimator, sys._getframe(1)):
        if learn := [name for name, step in pipeline.steps[:-1] if not learns_nothing(step)]:
            raise ValueError(
                f"the steps {learn} of the pipeline have learnt from X, which nothing protects. "
                "Search over the whole pipeline, with steps that learn nothing: it says which"
            )


def refuse_raw_validation_set(estimator: Any) -> None:
    """Raise ValueError if a pipeline that fits this estimator has transformed X, and not X_val.

    To be called by a `fit` with an X_val. A pipeline does not tell its last step that it is one; so
    this looks for it among the callers.
    """
    for pipeline in _pipelines_around(estimator, sys._getframe(1)):
        before = [name for name, step in pipeline.steps[:-1] if step not in (None, "passthrough")]
        transformed = getattr(pipeline, "transform_input", None) or ()
        if before and "X_val" not in transformed:
            raise ValueError(
                f"the steps {before} of the pipeline have transformed X, and X_val came as it was: "
                f"search over the whole pipeline, {type(estimator).__name__}(make_pipeline(...), "
                "...); or route X_val through it, with Pipeline(steps, transform_input=['X_val'])"
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
