"""Contexts that Ctrl-C neither enters nor leaves by halves (zone: public).

Python raises `KeyboardInterrupt` between any two calls of the main thread: also before the first
line of an ``__exit__``, and in a ``finally``. What a context has changed of the process would then
stay changed. Blocking the signal would not help: another thread would receive it, and the main
thread raise all the same. So the handler waits instead.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, TypeVar

__all__ = ["uninterrupted"]

_T = TypeVar("_T")


def uninterrupted(
    function: Callable[..., Iterator[_T]],
) -> Callable[..., contextlib.AbstractContextManager[_T]]:
    """Make a context manager of a generator function, as `contextlib.contextmanager` does.

    An interrupt that arrives while it is entered or left is raised right afterwards: if it was
    entered, once it has been left again. Inside, interrupts are what they were.
    """
    make = contextlib.contextmanager(function)
    return functools.wraps(function)(lambda *args, **params: _Uninterrupted(make(*args, **params)))


class _Uninterrupted(contextlib.AbstractContextManager[_T]):
    """The context, with a handler of SIGINT from before it is entered until after it is left.

    Only the main thread is interrupted, and only it can set handlers. A process that is to ignore
    the signal, or to end by it, is left alone.
    """

    def __init__(self, context: contextlib.AbstractContextManager[_T]) -> None:
        self._context = context
        self._previous: Any = None
        self._arrived = False

    def __enter__(self) -> _T:
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler) and threading.current_thread() is threading.main_thread():
            self._previous = handler
            signal.signal(signal.SIGINT, self._handle)
        try:
            value = self._context.__enter__()
        except BaseException:
            self._restore()
            raise
        if not self._arrived:  # Python handles no signal from here to the block of the `with`
            return value
        self.__exit__(None, None, None)
        raise AssertionError("the interrupt has been raised")

    def __exit__(self, *error: Any) -> Any:
        try:
            return self._context.__exit__(*error)
        finally:
            self._restore()

    def _restore(self) -> None:
        """Set the handler that was there before, and have it handle what has arrived."""
        if self._previous is None:
            return
        if signal.getsignal(signal.SIGINT) == self._handle:  # and no other one was set inside
            signal.signal(signal.SIGINT, self._previous)
        if self._arrived:
            self._arrived = False
            signal.raise_signal(signal.SIGINT)

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        """Remember a signal that arrives on the way in or out; else do as the previous handler.

        Frames tell: a flag could not yet be set at the first instruction of the way out.
        """
        at = frame
        while at is not None:
            if at.f_code in _WAYS and at.f_locals["self"] is self:
                self._arrived = True
                return
            at = at.f_back
        self._previous(signum, frame)


_WAYS = {_Uninterrupted.__enter__.__code__, _Uninterrupted.__exit__.__code__}
