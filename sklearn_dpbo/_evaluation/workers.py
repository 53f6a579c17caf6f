"""joblib's worker processes: begun whole, ended with their parent or by a clock (zone: public).

A worker that outlives its parent holds protected records, and keeps alive joblib's resource
tracker, which removes memory maps once nobody is left. So workers end when their parent does,
however that was killed; and with the last of them the tracker removes what they had mapped.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs
from joblib._parallel_backends import LokyBackend, MultiprocessingBackend
from joblib.externals.loky.backend.process import LokyProcess
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import get_active_backend

from .._privacy.interrupts import uninterrupted
from .shared_context import without_warnings

__all__ = ["begun", "check_backend", "end_with_parent", "limited", "limited_results"]

_PR_SET_PDEATHSIG = 1
# Seconds between two looks at the parent where the kernel does not send a signal when it dies.
_LOOK = 1.0
# Seconds that any kernel can count.
_LONGEST = 1e8


# ---------------------------------------------------------------- in the parent
def check_backend(n_jobs: int | None, fit_timeout: float | None = None) -> None:
    """Raise ValueError if joblib's active backend cannot do what is asked of it.

    Parameters
    ----------
    n_jobs : int or None
        As joblib takes it.
    fit_timeout : float or None, default=None
        After which a fit is to be ended.
    """
    backend, _ = get_active_backend()
    several = effective_n_jobs(n_jobs) > 1
    # Not isinstance: Ray's backend inherits from it, and notices dead workers.
    if several and type(backend) is MultiprocessingBackend:
        raise ValueError(
            'joblib\'s backend "multiprocessing" waits for ever for a worker that was killed, as '
            "by a lack of memory, and cannot always be stopped then: use joblib's default, "
            '"loky", which raises an error'
        )
    if fit_timeout is None:
        return
    if not (several and isinstance(backend, LokyBackend) and hasattr(signal, "setitimer")):
        name = type(backend).__name__ if several else "this process, by n_jobs=1 or None"
        raise ValueError(
            f"fit_timeout={fit_timeout!r} ends a fit with its process, which takes n_jobs from 2 "
            'up and joblib\'s default backend, "loky", on Linux or macOS; found fits in '
            f"{name}. A thread cannot be ended, and a cluster would begin the fit again"
        )


def begun(start: Callable[[], Any]) -> contextlib.AbstractContextManager[Any]:
    """Return a context of the results of joblib's tasks, which end with it.

    joblib's processes are started whole. An interrupt in the middle would leave some that nobody
    watches, and break what is run next.

    Parameters
    ----------
    start : callable
        Starts the tasks, and returns the generator of their results.
    """
    backend, _ = get_active_backend()
    # Others may wait long while they start, for a cluster, say.
    loky = isinstance(backend, LokyBackend)
    return (uninterrupted if loky else contextlib.contextmanager)(_begun)(start)


def _begun(start: Callable[[], Any]) -> Iterator[Any]:
    found = start()
    try:
        yield found
    finally:
        with without_warnings():  # of tasks whose results nobody will fetch
            found.close()


def limited_results(found: Iterator[Any], seconds: float) -> Iterator[Any]:
    """Yield results of tasks that were `limited`, or say that one took too long.

    Raises
    ------
    TimeoutError
        If a worker was ended by its clock.
    """
    try:
        yield from found
    except TerminatedWorkerError as error:
        if signal.SIGALRM.name not in str(error):
            raise
        raise TimeoutError(
            f"the fit of a candidate took longer than fit_timeout={seconds:g} seconds, and was "
            "ended with its process. Nothing has been released, and no privacy spent. verbose=2 "
            "prints which candidates were fitted before; leave out those that hang, or allow more"
        ) from None


# ---------------------------------------------------------------- in a worker
def limited(function: Callable[..., Any], seconds: float) -> Callable[..., Any]:
    """Return the function, with a clock that ends the worker if a call takes longer.

    The kernel ends it, whatever it is doing: code of C that never returns cannot hinder it.
    """
    return partial(_limited, function, seconds)


def _limited(function: Callable[..., Any], seconds: float, *args: Any) -> Any:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # whatever the parent does with it
    signal.setitimer(signal.ITIMER_REAL, min(seconds, _LONGEST))
    try:
        return function(*args)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


@cache
def end_with_parent() -> None:
    """Have this process end when its parent does, if it is one of joblib's workers.

    Linux sends a signal when the *thread* that started a process ends. So that is asked for only if
    it was the main thread; else, and elsewhere, a thread looks for the parent once a second.
    """
    process = multiprocessing.current_process()
    if not isinstance(process, LokyProcess) or os.name != "posix":
        return
    parent: int = process._parent_pid
    if not (_begun_by_main_thread(parent) and _signalled_when_parent_ends()):
        threading.Thread(target=_wait_for_end_of, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # it ended before
        os._exit(1)


def _begun_by_main_thread(parent: int) -> bool:
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    except OSError:
        return False
    return str(os.getpid()) in children


def _signalled_when_parent_ends() -> bool:
    if sys.platform != "linux":
        return False
    done: int = ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    return done == 0


def _wait_for_end_of(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os.kill(os.getpid(), signal.SIGKILL)
