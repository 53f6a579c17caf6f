"""A private estimator as the last step of a pipeline (zone: released)."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from sklearn.pipeline import Pipeline

from ..learners._private_training import learns_nothing

__all__ = ["refuse_steps_before"]


def refuse_steps_before(estimator: Any, *, protects_all: bool = False) -> None:
    """Raise ValueError if a pipeline that fits this estimator has transformed X, and not X_val.

    Of a `fit` that protects all of its records: if the pipeline has learnt from them. A pipeline
    does not tell its steps that it fits them, so this looks for it among the callers.
    """
    what = "transformed X, and X_val came as it was"
    if protects_all:
        what = "learnt from X, which nothing protects"
    harmless = learns_nothing if protects_all else (lambda step: step in (None, "passthrough"))
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        pipeline = frame.f_locals.get("self")
        if isinstance(pipeline, Pipeline) and frame.f_code.co_name.startswith("fit"):
            passed = not protects_all and "X_val" in (
                getattr(pipeline, "transform_input", None) or ()
            )
            harmful = [name for name, step in pipeline.steps[:-1] if not harmless(step)]
            if harmful and not passed:
                raise ValueError(
                    f"the steps {harmful} of the pipeline have {what}: search over the whole "
                    f"pipeline, {type(estimator).__name__}(make_pipeline(...), ...)"
                )
        frame = frame.f_back
