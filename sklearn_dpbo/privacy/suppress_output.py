"""Suppression of output while protected records are read or predicted (zone: public).

Warnings, log lines and prints of an estimator may quote the records that it predicts, or reveal by
their presence that a certain record is there. So may the state of global random generators.

All of these belong to the whole process, so threads share one suppression. Meanwhile another thread
may store the current state and restore it later, as `warnings.catch_warnings` does with filters and
`contextlib.redirect_stdout` with a stream. So filters are not changed. The streams that replace
others drop output only while a thread suppresses it, wherever references to them are kept.
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
# Size of the state of numpy's default global generator: 624 words, and the position among them.
_MT19937_BYTES = 625 * 4


@contextlib.contextmanager
def suppress_output(descriptors: bool = True, registries: bool = True) -> Iterator[None]:
    """Drop warnings, logging, and output to stdout and stderr; ignore floating-point errors.

    Parameters
    ----------
    descriptors : bool, default=True
        Redirect file descriptors 1 and 2, to which native code writes. New processes would inherit
        the redirection, and sums over threads depend on their order. So joblib runs sequentially.
    registries : bool, default=True
        Restore modules' registries of warnings at the end. This takes too long to do for each
        candidate in a worker.
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
    """Drop any error; restore warning filters, global generators and numerical settings.

    So calls of an estimator do not influence later ones. Use it while output is suppressed. It can
    be entered many times, and each time restores the state at its creation. The current list of
    filters gets its entries back; if another thread replaces the list, the new one is not changed.
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
    """Return the settings for floating-point errors of numpy and scipy, and of scikit-learn."""
    return np.geterr(), special.geterr(), get_config()


@contextlib.contextmanager
def hold_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the end of the context.

    Inside, it would be raised while some record is predicted, and its effect would depend on that
    record: it would be raised, or dropped with that record's own errors.
    """
    if threading.current_thread() is not threading.main_thread():  # only that one is interrupted
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
    """Store the state of the global random generators; return a function that restores it.

    Drop normal numbers that they store for the next call, so that every draw changes the state.
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
    """Store the state of numpy's global generator; return a function that restores it.

    Setting the state takes longer than many predictions of one record. So the state of the default
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
    """Context of the whole process: the first thread to enter begins it, the last one ends it.

    ``begin(stack)`` begins it, and registers at the stack what ends it.
    """

    def __init__(self, begin: Callable[[contextlib.ExitStack], None]) -> None:
        self._begin = begin
        # Re-entrant: the collector may end an interrupted context while this thread enters one.
        self._lock = threading.RLock()
        self._stack = contextlib.ExitStack()
        self.depth = 0

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Enter the context.

        Ctrl-C must not interrupt its beginning or end: all later output would be lost.
        """
        entered = False
        interrupted = None
        try:
            with hold_interrupts(), self._lock:
                self.depth += 1
                entered = True
                if self.depth == 1:
                    self._stack = contextlib.ExitStack()
                    self._begin(self._stack)
            yield
        finally:  # also if `begin` raised an error
            while entered:
                try:
                    with hold_interrupts(), self._lock:
                        self.depth -= 1
                        entered = False
                        if self.depth == 0:
                            self._stack.close()
                except KeyboardInterrupt as error:
                    interrupted = error
            if interrupted is not None:
                raise interrupted


def _suspend_autologging(stack: contextlib.ExitStack) -> None:
    mlflow = sys.modules.get("mlflow.utils.autologging_utils")
    # MLflow's suspension ends with the first context that ends: do not touch that of a user.
    if mlflow is not None and not getattr(mlflow, "_AUTOLOGGING_GLOBALLY_DISABLED", False):
        stack.enter_context(mlflow.disable_autologging())


def _begin_suppression(stack: contextlib.ExitStack) -> None:
    # Python calls this to show or to record a warning that passes the filters.
    _replace(warnings, "_showwarnmsg", lambda message: None, stack)
    # Python calls these with errors of finalizers and of other threads.
    _replace(sys, "unraisablehook", _silent(sys.unraisablehook), stack)
    _replace(threading, "excepthook", _silent(threading.excepthook), stack)
    # In a notebook or a test, these streams write to no file descriptor.
    _replace(sys, "stdout", _Stream.of(sys.stdout), stack)
    _replace(sys, "stderr", _Stream.of(sys.stderr), stack)
    stack.callback(logging.disable, logging.root.manager.disable)
    logging.disable(sys.maxsize)  # levels above CRITICAL, too
    # The whole state, with a stored normal number, which `_generators` drops.
    stack.callback(np.random.set_state, np.random.get_state(legacy=False))
    stack.callback(random.setstate, random.getstate())
    stack.callback(_generators())


def _replace(module: ModuleType, name: str, ours: Any, stack: contextlib.ExitStack) -> None:
    """Replace an attribute of a module, until the stack ends or somebody else replaces it."""
    theirs = getattr(module, name)

    def put_back() -> None:
        if getattr(module, name) is ours:
            setattr(module, name, theirs)

    stack.callback(put_back)
    setattr(module, name, ours)


def _silent(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a hook that does nothing while output is suppressed."""
    return lambda facts: None if _suppression.depth else hook(facts)


def _keep_registries(stack: contextlib.ExitStack) -> None:
    """Restore modules' registries of warnings, which would contain suppressed ones."""
    before = {key: dict(names[_REGISTRY]) for key, names in _with_registry().items()}

    def restore() -> None:
        for key, names in _with_registry().items():
            if key in before:
                names[_REGISTRY].clear()
                names[_REGISTRY].update(before[key])
            else:
                del names[_REGISTRY]  # its presence would reveal that there was a warning

    stack.callback(restore)


def _with_registry() -> dict[int, dict[str, Any]]:
    """Return the namespaces of modules with a registry, by id; 0 stands for the one of "once"."""
    shown_once = {_REGISTRY: warnings.onceregistry}  # type: ignore[attr-defined]
    return {0: shown_once} | {id(names): names for names in _namespaces() if _REGISTRY in names}


# The modules of the last call, and their namespaces: to list thousands takes milliseconds.
_listed: list[tuple[tuple[Any, ...], list[dict[str, Any]]]] = [((), [])]


def _namespaces() -> list[dict[str, Any]]:
    """Return the namespaces of all imported modules."""
    modules = tuple(sys.modules.values())
    listed, namespaces = _listed[0]
    if len(modules) != len(listed) or not all(map(operator.is_, modules, listed)):
        namespaces = [vars(module) for module in modules if type(module) is ModuleType]
        _listed[0] = modules, namespaces
    return namespaces


class _Stream:
    """Stream that drops what is written while output is suppressed, and else passes it on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @classmethod
    def of(cls, stream: Any) -> Any:
        """Wrap a stream, unless it is None or wrapped already."""
        return stream if stream is None or isinstance(stream, cls) else cls(stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(_nowhere() if _suppression.depth else self._stream, name)


@cache
def _nowhere() -> TextIO:
    """Return a null file that stays open, as another thread may be about to write to it."""
    nowhere = open(os.devnull, "w")
    atexit.register(nowhere.close)  # otherwise the interpreter warns
    return nowhere


def _redirect_descriptors(stack: contextlib.ExitStack) -> None:
    """Redirect file descriptors 1 and 2 to the null device."""
    sink = os.open(os.devnull, os.O_WRONLY)
    stack.callback(os.close, sink)
    _flush()
    for descriptor in (1, 2):
        try:
            kept = os.dup(descriptor)
        except OSError:  # the descriptor is closed
            continue
        stack.callback(os.close, kept)
        stack.callback(os.dup2, kept, descriptor)
        os.dup2(sink, descriptor)
    stack.callback(_flush)  # runs first, before buffers could reach the real descriptors


def _flush() -> None:
    """Flush the buffers of Python's streams and of the C library."""
    for stream in (sys.__stdout__, sys.__stderr__, sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # the stream is None, closed
            stream.flush()  # type: ignore[union-attr]
    with contextlib.suppress(AttributeError, OSError, TypeError):  # platforms without this function
        ctypes.CDLL(None).fflush(None)


# Suspends MLflow's autologging of fits and predictions, if MLflow is loaded.
without_autologging = _ProcessContext(_suspend_autologging)
_redirection = _ProcessContext(_redirect_descriptors)
kept_registries = _ProcessContext(_keep_registries)
_suppression = _ProcessContext(_begin_suppression)
