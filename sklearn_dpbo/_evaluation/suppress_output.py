"""Suppress output while protected records are predicted (zone: public).

Warnings, log lines and prints of an estimator may quote the records that it predicts, or tell by
their presence that a certain record is there. So may the state of global random generators.

All of that belongs to the whole process, so threads share one suppression. Another thread may
meanwhile save what it finds and put it back later, as `warnings.catch_warnings` does with filters
and `contextlib.redirect_stdout` with a stream. So filters stay as they are, and the streams that
are put in place have an effect only while a thread suppresses output, wherever they are kept.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import random
import secrets
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any, TextIO

import numpy as np
from joblib import parallel_config

__all__ = [
    "SharedContext",
    "kept_warning_registries",
    "restored_state",
    "seed_global_generators",
    "suppress_all_output",
    "suppress_output",
]

_REGISTRY = "__warningregistry__"


class SharedContext:
    """A context of the whole process: the first thread to enter begins it, the last one ends it."""

    def __init__(self, begin: Callable[[contextlib.ExitStack], None]) -> None:
        self._begin, self._lock = begin, threading.Lock()
        self.depth, self._stack = 0, contextlib.ExitStack()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Enter; `begin` gets the stack of what is undone at the end."""
        entered = 0
        try:
            with self._lock:
                if self.depth == 0:
                    self._stack = contextlib.ExitStack()
                    self._begin(self._stack)
                self.depth, entered = self.depth + 1, 1
            yield
        finally:  # also after an error on the way in
            with self._lock:
                self.depth -= entered
                if self.depth == 0:
                    self._stack.close()


@contextlib.contextmanager
def suppress_output(descriptors: bool = True) -> Iterator[None]:
    """Drop warnings, logging and what is written to stdout and stderr; restore global generators.

    Native code writes to file descriptors 1 and 2. Processes that are started while they are
    redirected inherit that.
    """
    with _redirection() if descriptors else contextlib.nullcontext(), _suppression():
        yield


@contextlib.contextmanager
def suppress_all_output() -> Iterator[None]:
    """Suppress output of this process and of child processes; and keep no trace of warnings."""
    with kept_warning_registries(), suppress_output(), parallel_config("sequential"):
        yield


@contextlib.contextmanager
def kept_warning_registries() -> Iterator[None]:
    """Restore what modules remember of warnings, which they do of suppressed ones, too."""
    before = {id(names): dict(names[_REGISTRY]) for names in _with_registry()}
    once: Any = warnings.onceregistry  # type: ignore[attr-defined]
    shown_once = dict(once)
    try:
        yield
    finally:
        once.clear()
        once.update(shown_once)
        for names in _with_registry():
            if id(names) not in before:
                names.pop(_REGISTRY, None)  # that it is there would tell, too
            elif names[_REGISTRY] != before[id(names)]:
                names[_REGISTRY].clear()
                names[_REGISTRY].update(before[id(names)])


def _with_registry() -> list[dict[str, Any]]:
    """Return the names of each module that remembers warnings, once if it is there twice."""
    modules = {id(m): m for m in tuple(sys.modules.values()) if type(m) is ModuleType}
    return [m.__dict__ for m in modules.values() if _REGISTRY in m.__dict__]


@contextlib.contextmanager
def restored_state() -> Iterator[None]:
    """Restore filters of warnings and global generators: no call of an estimator shows in the next.

    To be used within a suppression of output. Of the filters, the list that is in use now gets its
    entries back; what other threads put in its place stays.
    """
    filters: Any = warnings.filters
    entries = list(filters)
    with contextlib.ExitStack() as stack:
        stack.callback(filters.__setitem__, slice(None), entries)
        _restore_generators(stack)
        yield


def seed_global_generators() -> None:
    """Seed the process's generators from the operating system, within a suppression of output.

    Each leaves them as it found them. So what is drawn from them would otherwise be the same in one
    suppression as in the next, and could be drawn again afterwards: noise must not be.
    """
    np.random.seed(np.frombuffer(secrets.token_bytes(64), dtype=np.uint32))
    random.seed()
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "manual_seed"):
        torch.manual_seed(secrets.randbits(63))


def _restore_generators(stack: contextlib.ExitStack) -> None:
    """Restore the state of global random generators when the stack is closed."""
    stack.callback(np.random.set_state, np.random.get_state())
    stack.callback(random.setstate, random.getstate())
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "get_rng_state"):
        stack.callback(torch.set_rng_state, torch.get_rng_state())


# ---------------------------------------------------------------- what belongs to the process
def _begin_suppression(stack: contextlib.ExitStack) -> None:
    # Python calls it to show or to record a warning, whatever the filters say.
    stack.callback(setattr, warnings, "_showwarnmsg", getattr(warnings, "_showwarnmsg"))  # noqa: B009
    setattr(warnings, "_showwarnmsg", lambda message: None)  # noqa: B010
    for name in ("stdout", "stderr"):
        _replace_stream(name, stack)
    stack.callback(logging.disable, logging.root.manager.disable)
    logging.disable(sys.maxsize)  # levels above CRITICAL, too
    _restore_generators(stack)


def _replace_stream(name: str, stack: contextlib.ExitStack) -> None:
    """Replace sys.stdout, say, which in a notebook or a test writes to no file descriptor."""
    stream = getattr(sys, name)
    if stream is None or isinstance(stream, _Stream):
        return
    replacement = _Stream(stream)

    def put_back() -> None:
        if getattr(sys, name) is replacement:
            setattr(sys, name, stream)

    stack.callback(put_back)
    setattr(sys, name, replacement)


class _Stream:
    """A stream that drops what is written while output is suppressed; otherwise another stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(_nowhere() if _suppression.depth else self._stream, name)


@cache
def _nowhere() -> TextIO:
    """Return a file that stays open: another thread may be about to write to it."""
    return open(os.devnull, "w")


def _redirect_descriptors(stack: contextlib.ExitStack) -> None:
    """Send what goes to file descriptors 1 and 2 nowhere."""
    sink = os.open(os.devnull, os.O_WRONLY)
    stack.callback(os.close, sink)
    _flush()
    for descriptor in (1, 2):
        try:
            kept = os.dup(descriptor)
        except OSError:  # it is closed
            continue
        stack.callback(os.close, kept)
        stack.callback(os.dup2, kept, descriptor)
        os.dup2(sink, descriptor)
    stack.callback(_flush)  # before buffers could reach the real descriptors


def _flush() -> None:
    """Empty the buffers of Python's streams and of the C library, which are written late."""
    for stream in (sys.__stdout__, sys.__stderr__, sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # None, or closed
            stream.flush()  # type: ignore[union-attr]
    with contextlib.suppress(AttributeError, OSError, TypeError):  # not on every platform
        ctypes.CDLL(None).fflush(None)


_redirection, _suppression = SharedContext(_redirect_descriptors), SharedContext(_begin_suppression)
