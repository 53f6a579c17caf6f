"""Removal of stack frames that saw a protected value from exceptions (zone: boundary)."""

from __future__ import annotations

import contextlib
from types import CodeType, TracebackType


class ClearFrames(contextlib.ContextDecorator):
    """Remove stack frames from exceptions raised inside: debuggers would show their variables.

    As a decorator it also removes the decorated function's frame. The traceback is kept from the
    first frame of `public` code on, so that users can find their error.
    """

    # Not `contextlib.contextmanager`, which would restore the previous traceback.
    def __init__(self, *public: CodeType) -> None:
        self._public = public

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: object, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            return
        while traceback is not None and traceback.tb_frame.f_code not in self._public:
            with contextlib.suppress(RuntimeError):  # raised for a frame that is still running
                traceback.tb_frame.clear()
            traceback = traceback.tb_next
        cause = error.__cause__ if self._public else None
        error.__context__ = None
        try:
            raise error.with_traceback(traceback) from cause
        finally:  # this frame stays in the traceback, and must not refer to the others
            del error, traceback
