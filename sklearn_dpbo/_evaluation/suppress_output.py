"""Suppress output while protected records are predicted (zone: sensitive).

Warnings, log lines and prints of an estimator may quote the records that it predicts, or tell by
their presence that a certain record is there. So may the state of global random generators.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import random
import secrets
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from joblib import parallel_config

from .._privacy.interrupts import uninterrupted
from .shared_context import SharedContext

__all__ = [
    "kept_warning_registries",
    "seed_global_generators",
    "suppress_all_output",
    "suppress_output",
]

_REGISTRY = "__warningregistry__"


@uninterrupted
def suppress_output(descriptors: bool = False) -> Iterator[None]:
    """Drop Python's warnings, logging, stdout and stderr, and restore global random generators.

    All of these belong to the whole process: threads that are inside at the same time share one
    suppression, which ends when the last of them leaves.

    Parameters
    ----------
    descriptors : bool, default=False
        Whether to redirect file descriptors 1 and 2, too: for one thread only.
    """
    with _suppression(), _redirected_descriptors() if descriptors else contextlib.nullcontext():
        yield


@uninterrupted
def kept_warning_registries() -> Iterator[None]:
    """Restore what modules remember of warnings, which they do of suppressed ones, too."""
    before = {id(names): dict(names[_REGISTRY]) for names in _with_registry()}
    try:
        yield
    finally:
        for names in _with_registry():
            if id(names) not in before:
                del names[_REGISTRY]  # that it is there would tell, too
            elif names[_REGISTRY] != before[id(names)]:
                names[_REGISTRY].clear()
                names[_REGISTRY].update(before[id(names)])


def _with_registry() -> list[dict[str, Any]]:
    """Return the names of each module that remembers warnings, once if it is there twice."""
    modules = {id(m): m for m in tuple(sys.modules.values()) if type(m) is ModuleType}
    return [m.__dict__ for m in modules.values() if _REGISTRY in m.__dict__]


@uninterrupted
def suppress_all_output() -> Iterator[None]:
    """Suppress output of one thread, of native code and of child processes."""
    with (
        kept_warning_registries(),
        suppress_output(descriptors=True),
        parallel_config("sequential"),
    ):
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


@uninterrupted
def _redirected_descriptors() -> Iterator[None]:
    """Send what goes to file descriptors 1 and 2 nowhere: they belong to the whole process."""
    with contextlib.ExitStack() as stack:
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
        yield


def _flush() -> None:
    """Empty the buffers of Python's streams and of the C library, which are written late."""
    for stream in (sys.__stdout__, sys.__stderr__, sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # None, or closed
            stream.flush()  # type: ignore[union-attr]
    with contextlib.suppress(AttributeError, OSError, TypeError):  # not on every platform
        _c_library().fflush(None)


@cache
def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _begin_suppression(stack: contextlib.ExitStack) -> None:
    sink = stack.enter_context(open(os.devnull, "w"))
    stack.enter_context(contextlib.redirect_stdout(sink))
    stack.enter_context(contextlib.redirect_stderr(sink))
    # Recorded warnings are dropped; a filter alone could be undone by another thread.
    stack.enter_context(warnings.catch_warnings(record=True))
    warnings.simplefilter("ignore")
    stack.callback(logging.disable, logging.root.manager.disable)
    logging.disable(sys.maxsize)  # levels above CRITICAL, too
    stack.callback(np.random.set_state, np.random.get_state())
    stack.callback(random.setstate, random.getstate())
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "get_rng_state"):
        stack.callback(torch.set_rng_state, torch.get_rng_state())


_suppression = SharedContext(_begin_suppression)
