"""Suppress output while protected records are read or predicted (zone: public).

Warnings, log lines and prints of an estimator may quote the records that it predicts, or tell by
their presence that a certain record is there. So may the state of global random generators.

All of that belongs to the whole process, so threads share one suppression. Another thread may
meanwhile save what it finds and put it back later, as `warnings.catch_warnings` does with filters
and `contextlib.redirect_stdout` with a stream. So filters stay as they are, and the streams that
are put in place have an effect only while a thread suppresses output, wherever they are kept.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import decimal
import logging
import operator
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import ModuleType
from typing import Any, TextIO

import numpy as np
from joblib import parallel_config
from scipy import special
from sklearn import get_config, set_config

from .float_errors import ignore_float_errors

_REGISTRY = "__warningregistry__"
# Of numpy's usual generator: 624 words, and the position among them.
_MT19937_BYTES = 625 * 4


@contextlib.contextmanager
def suppress_output(descriptors: bool = True, registries: bool = True) -> Iterator[None]:
    """Drop warnings, logging and what is written to stdout and stderr; leave no trace of them.

    Floating-point errors are ignored.

    Native code writes to file descriptors 1 and 2. Processes that are started while they are
    redirected inherit that, so joblib starts none; and what threads add up depends on which is
    first. Without `descriptors` it may start processes.
    Modules' registries of warnings take long to keep: not once for each candidate in a worker.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(without_autologging())
        if descriptors:
            stack.enter_context(_redirection())
            stack.enter_context(parallel_config("sequential"))
        if registries:
            stack.enter_context(kept_registries())
        stack.enter_context(_suppression())
        stack.enter_context(ignore_float_errors())
        stack.enter_context(decimal.localcontext())
        yield


class drop_errors:  # noqa: N801, as it is used like a function
    """Drop any error; restore warning filters, global generators, numerical settings.

    So no call of an estimator shows in the next; to be used within a suppression of output. Of the
    filters, the list that is in use now gets its entries back; what other threads put in its place
    stays. It can be entered many times, and each time restores what was there when it was made.
    """

    def __init__(self) -> None:
        self._filters: Any = warnings.filters
        self._entries = list(self._filters)
        self._restore_generators = _generators()
        self._settings = _settings()
        self._decimals = decimal.getcontext().copy()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        if _settings() != self._settings:
            for restore, settings in zip(_SETTERS, self._settings, strict=True):
                restore(**settings)
        decimal.setcontext(self._decimals.copy())  # with its flags
        self._filters[:] = self._entries
        self._restore_generators()
        return True  # also of Ctrl-C, of SystemExit, and of the panics of native extensions


_SETTERS: Any = (np.seterr, special.seterr, set_config)


def _settings() -> tuple[Any, ...]:
    """Return what is set for floating-point errors of numpy and scipy, and for scikit-learn."""
    return np.geterr(), special.geterr(), get_config()


@contextlib.contextmanager
def hold_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back until the end.

    Inside, it would be raised while one record or another is predicted, and come out, or be
    dropped with what else that record raises.
    """
    if threading.current_thread() is not threading.main_thread():  # no other is interrupted
        yield
        return
    held: list[Any] = []
    usual = signal.signal(signal.SIGINT, lambda *_: held.append(None))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if usual is None else usual)
        if held:
            signal.raise_signal(signal.SIGINT)


def _generators() -> Callable[[], None]:
    """Keep the state of the global random generators; return a function that restores it.

    A normal number that they keep for the next call is dropped: every draw changes the state then.
    """
    state = (*random.getstate()[:2], None)
    random.setstate(state)
    undo: list[Callable[[], Any]] = [_numpy_generator(), partial(random.setstate, state)]
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "get_rng_state"):
        undo.append(partial(torch.set_rng_state, torch.get_rng_state()))

    def restore() -> None:
        for put_back in undo:
            put_back()

    return restore


def _numpy_generator() -> Callable[[], None]:
    """Keep the state of numpy's global generator; return a function that restores it.

    To set the state takes longer than many predictions of one record. So that of the usual
    generator is set only if its memory has changed.
    """
    numpy: Any = np.random
    bits = numpy.get_bit_generator()
    state = numpy.get_state(legacy=False)
    if state["has_gauss"]:
        state |= {"has_gauss": 0, "gauss": 0.0}
        numpy.set_state(state)
    address = bits.ctypes.state_address
    usual = type(bits).__name__ == "MT19937"
    memory = (ctypes.c_char * _MT19937_BYTES).from_address(address) if usual else None
    before = memory and memory.raw

    def restore() -> None:
        if numpy.get_bit_generator() is not bits:
            numpy.set_bit_generator(bits)
        if memory is None or memory.raw != before:
            numpy.set_state(state)

    return restore


class _ProcessContext:
    """A context of the whole process: the first thread to enter begins it, the last one ends it."""

    def __init__(self, begin: Callable[[contextlib.ExitStack], None]) -> None:
        # Re-entrant: the collector may end an interrupted context while this thread enters one.
        self._begin, self._lock = begin, threading.RLock()
        self.depth, self._stack = 0, contextlib.ExitStack()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Enter; `begin` gets the stack of what is undone at the end.

        Ctrl-C ends neither half way: all later output would be lost.
        """
        entered, interrupted = 0, None
        try:
            with hold_interrupts(), self._lock:
                self.depth, entered = self.depth + 1, 1
                if self.depth == 1:
                    self._stack = contextlib.ExitStack()
                    self._begin(self._stack)
            yield
        finally:  # also after an error on the way in
            while entered:
                try:
                    with hold_interrupts(), self._lock:
                        self.depth, entered = self.depth - 1, 0
                        if self.depth == 0:
                            self._stack.close()
                except KeyboardInterrupt as error:
                    interrupted = error
            if interrupted is not None:
                raise interrupted


def _suspend_autologging(stack: contextlib.ExitStack) -> None:
    mlflow = sys.modules.get("mlflow.utils.autologging_utils")
    # MLflow's own suspension ends with the first that leaves: do not touch that of a user.
    if mlflow is not None and not getattr(mlflow, "_AUTOLOGGING_GLOBALLY_DISABLED", False):
        stack.enter_context(mlflow.disable_autologging())


def _begin_suppression(stack: contextlib.ExitStack) -> None:
    # Python calls it to show or to record a warning, whatever the filters say.
    _replace(warnings, "_showwarnmsg", lambda message: None, stack)
    # Called with what a finalizer or another thread raised.
    _replace(sys, "unraisablehook", _silent(sys.unraisablehook), stack)
    _replace(threading, "excepthook", _silent(threading.excepthook), stack)
    # In a notebook or a test they write to no file descriptor.
    _replace(sys, "stdout", _Stream.of(sys.stdout), stack)
    _replace(sys, "stderr", _Stream.of(sys.stderr), stack)
    stack.callback(logging.disable, logging.root.manager.disable)
    logging.disable(sys.maxsize)  # levels above CRITICAL, too
    # Whole: a normal number that they keep, too.
    stack.callback(np.random.set_state, np.random.get_state(legacy=False))
    stack.callback(random.setstate, random.getstate())
    stack.callback(_generators())


def _replace(module: ModuleType, name: str, ours: Any, stack: contextlib.ExitStack) -> None:
    """Replace what a module has under a name, until the end or until somebody else does."""
    theirs = getattr(module, name)

    def put_back() -> None:
        if getattr(module, name) is ours:
            setattr(module, name, theirs)

    stack.callback(put_back)
    setattr(module, name, ours)


def _silent(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a hook that is silent while output is suppressed, wherever it is kept."""
    return lambda facts: None if _suppression.depth else hook(facts)


def _keep_registries(stack: contextlib.ExitStack) -> None:
    """Restore what modules remember of warnings, which they do of suppressed ones, too."""
    before = {key: dict(names[_REGISTRY]) for key, names in _with_registry().items()}

    def restore() -> None:
        for key, names in _with_registry().items():
            if key in before:
                names[_REGISTRY].clear()
                names[_REGISTRY].update(before[key])
            else:
                del names[_REGISTRY]  # that it is there would tell, too

    stack.callback(restore)


def _with_registry() -> dict[int, dict[str, Any]]:
    """Return the names of each module that remembers warnings, and of those shown once, by id."""
    shown_once = {_REGISTRY: warnings.onceregistry}  # type: ignore[attr-defined]
    return {0: shown_once} | {id(own): own for own in _names() if _REGISTRY in own}


# The modules of the last call, and the names of each: to ask thousands takes milliseconds.
_listed: list[tuple[tuple[Any, ...], list[dict[str, Any]]]] = [((), [])]


def _names() -> list[dict[str, Any]]:
    modules, (known, names) = tuple(sys.modules.values()), _listed[0]
    if len(modules) != len(known) or not all(map(operator.is_, modules, known)):
        names = [vars(module) for module in modules if type(module) is ModuleType]
        _listed[0] = modules, names
    return names


class _Stream:
    """A stream that drops what is written while output is suppressed; otherwise another stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @classmethod
    def of(cls, stream: Any) -> Any:
        """Return the stream in its place; itself if there is none, or if it is one of these."""
        return stream if stream is None or isinstance(stream, cls) else cls(stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(_nowhere() if _suppression.depth else self._stream, name)


@cache
def _nowhere() -> TextIO:
    """Return a file that stays open to the end: another thread may be about to write to it."""
    nowhere = open(os.devnull, "w")
    atexit.register(nowhere.close)  # or the interpreter warns of it
    return nowhere


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


# Suspends what MLflow's autologging does with fits and predictions, if it is loaded.
without_autologging = _ProcessContext(_suspend_autologging)
_redirection, kept_registries = (
    _ProcessContext(_redirect_descriptors),
    _ProcessContext(_keep_registries),
)
_suppression = _ProcessContext(_begin_suppression)
