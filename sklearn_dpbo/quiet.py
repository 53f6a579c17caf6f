"""Silence while protected records are being predicted (zone: sensitive).

Warnings, log lines and prints of an estimator may quote the records it is looking at, or say by
their presence that a certain record is there.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import warnings

__all__ = ["quiet"]

_lock = threading.Lock()
_depth = 0
_silence = contextlib.ExitStack()


@contextlib.contextmanager
def quiet():
    """Drop Python's warnings, logging, stdout and stderr for the whole process.

    These are process-wide, so threads inside it at the same time share one silence, which ends
    when the last of them leaves. (What native code writes to file descriptors is not caught.)
    """
    global _depth, _silence
    with _lock:
        if _depth == 0:
            _silence = _silenced()
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _silence.close()


def _silenced() -> contextlib.ExitStack:
    stack = contextlib.ExitStack()
    sink = stack.enter_context(open(os.devnull, "w"))
    stack.enter_context(contextlib.redirect_stdout(sink))
    stack.enter_context(contextlib.redirect_stderr(sink))
    stack.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")
    stack.callback(logging.disable, logging.root.manager.disable)
    logging.disable(logging.CRITICAL)
    return stack
