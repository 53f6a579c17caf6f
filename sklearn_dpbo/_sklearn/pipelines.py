"""A private estimator as the last step of a pipeline (zone: released)."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

__all__ = ["refuse_raw_validation_set"]


def refuse_raw_validation_set(estimator: Any) -> None:
    """Raise ValueError if a pipeline that fits this estimator has transformed X, and not X_val.

    Called in `fit` with an X_val. A pipeline does not tell its last step that it is one; so this
    looks for it among the callers. No data are looked at.

    Parameters
    ----------
    estimator : estimator
        The one whose `fit` calls this.
    """
    pipeline = _pipeline_around(estimator, sys._getframe(1))
    if pipeline is None or "X_val" in (getattr(pipeline, "transform_input", None) or ()):
        return
    before = [name for name, step in pipeline.steps[:-1] if step not in (None, "passthrough")]
    if before:
        raise ValueError(
            f"the steps {before} of the pipeline have transformed X, and X_val came as it was. "
            "Either search over the whole pipeline, "
            f"{type(estimator).__name__}(make_pipeline(...), ...).fit(X, y, X_val=X_val, "
            "y_val=y_val); or let the pipeline transform X_val, too: with "
            "sklearn.set_config(enable_metadata_routing=True), Pipeline(steps, "
            "transform_input=['X_val']) around this step after "
            ".set_fit_request(X_val=True, y_val=True)"
        )


def _pipeline_around(estimator: Any, frame: FrameType | None) -> Any:
    while frame is not None:
        if frame.f_code.co_name.startswith("fit"):
            steps = getattr(owner := frame.f_locals.get("self"), "steps", None)
            if isinstance(steps, list) and steps and steps[-1][-1] is estimator:
                return owner
        frame = frame.f_back
    return None
