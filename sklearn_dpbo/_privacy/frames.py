"""No frame that saw a protected value outlives an exception (zone: boundary)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

__all__ = ["clear_frames"]

P = ParamSpec("P")
R = TypeVar("R")


def clear_frames(method: Callable[P, R]) -> Callable[P, R]:
    """If the method is interrupted, keep no frame that saw the value: debuggers show frames."""

    @wraps(method)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except BaseException as error:
            error.__cause__ = error.__context__ = None
            raise error.with_traceback(None) from None

    return guarded
