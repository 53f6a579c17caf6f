"""Contexts of the whole process that several threads are in at once (zone: public)."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator

from .._privacy.interrupts import uninterrupted

__all__ = ["SharedContext", "without_warnings"]

# Python calls it to show or to record a warning.
_SHOW = "_showwarnmsg"


class SharedContext:
    """A context that the first to enter begins, and that the last to leave ends.

    Parameters
    ----------
    begin : callable
        Called with the `contextlib.ExitStack` that is closed at the end.
    """

    def __init__(self, begin: Callable[[contextlib.ExitStack], None]) -> None:
        self._begin = begin
        self._lock = threading.Lock()
        self._depth = 0
        self._stack = contextlib.ExitStack()

    @property
    def depth(self) -> int:
        """How many are inside."""
        return self._depth

    @uninterrupted
    def __call__(self) -> Iterator[None]:
        """Be inside."""
        entered = 0
        try:
            with self._lock:
                if self._depth == 0:
                    self._stack = contextlib.ExitStack()
                    self._begin(self._stack)
                self._depth, entered = self._depth + 1, 1
            yield
        finally:  # also after an error on the way in
            with self._lock:
                self._depth -= entered
                if self._depth == 0:
                    self._stack.close()


def _drop_warnings(stack: contextlib.ExitStack) -> None:
    """Show no warning, whatever the filters say, which other threads may replace."""
    stack.callback(setattr, warnings, _SHOW, getattr(warnings, _SHOW))
    setattr(warnings, _SHOW, lambda message: None)


without_warnings = SharedContext(_drop_warnings)
