"""Kill, interrupt or fail a process at each system call that touches a folder.

A library in C (`system_calls.c`), preloaded into a process, counts the calls and strikes at one of
them. `preloaded` starts a Python process with it. There, `recorded` lists the calls that a function
makes, `killed` kills a forked process at one of them, and `planned` strikes in the process itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

SOURCE = Path(__file__).with_suffix(".c")
LIBRARY = "SYSTEM_CALLS_LIBRARY"
# As in the source.
NOTHING, KILL_BEFORE, KILL_AFTER, TORN, SHORT, FAIL, INTERRUPT_BEFORE, INTERRUPT_AFTER = range(8)


class Call(NamedTuple):
    """A system call that was made; `offset` is a size or a flag for some."""

    name: str
    inode: int
    offset: int
    written: bytes
    result: int
    path: str


class Strike(NamedTuple):
    """What happens at the k-th call."""

    k: int
    what: int
    amount: int = 0


def why_not() -> str | None:
    """Return why nothing can be preloaded here; None if it can."""
    if not sys.platform.startswith("linux"):
        return "system calls are intercepted on Linux only"
    if shutil.which("cc") is None:
        return "no C compiler (cc)"
    return None


def preloaded(folder: Path, script: str, *arguments: str) -> subprocess.Popen[str]:
    """Compile into a folder; start a Python script with the library, and with pipes to it."""
    library = folder / "system_calls.so"
    flags = ["-Wall", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, "-o", library, SOURCE, "-ldl"], check=True)
    return subprocess.Popen(
        [sys.executable, script, *arguments],
        env=os.environ
        | {
            "LD_PRELOAD": str(library),
            LIBRARY: str(library),
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


NO_STRIKE = Strike(0, NOTHING)

# ---------------------------------------------------------------- in the preloaded process


def plan(folder: Path | None, strike: Strike = NO_STRIKE, log: int = -1) -> None:
    """Count calls in the folder from now on; with None, count no more."""
    library = ctypes.CDLL(os.environ[LIBRARY])
    library.system_calls_plan(
        os.fsencode(folder or ""),
        ctypes.c_long(strike.k),
        strike.what,
        ctypes.c_long(strike.amount),
        log,
    )


@contextlib.contextmanager
def planned(folder: Path, strike: Strike) -> Iterator[None]:
    """Strike at a call in this process."""
    plan(folder, strike)
    try:
        yield
    finally:
        plan(None)


def recorded(folder: Path, operation: Callable[[], object]) -> list[Call]:
    """Return the calls that an operation makes in a folder."""
    with tempfile.TemporaryFile() as log:
        plan(folder, NO_STRIKE, log.fileno())
        try:
            operation()
        finally:
            plan(None)
        return list(read_calls(log))


def killed(folder: Path, operation: Callable[[], object], strike: Strike) -> list[Call]:
    """Run an operation in a forked process that is killed; return the calls it made."""
    with tempfile.TemporaryFile() as log:
        child = os.fork()
        if child == 0:
            try:
                plan(folder, strike, log.fileno())
                operation()
            finally:
                os._exit(1)
        status = os.waitpid(child, 0)[1]
        assert os.WIFSIGNALED(status), "the call was not made"
        return list(read_calls(log))


def read_calls(log: IO[bytes]) -> Iterator[Call]:
    log.seek(0)
    for line in log:
        name, *numbers, path = line.rstrip(b"\n").split(b" ", 5)
        inode, offset, n, result = map(int, numbers)
        yield Call(name.decode(), inode, offset, log.read(n), result, os.fsdecode(path))


def kills(calls: list[Call]) -> list[Strike]:
    """Return the ways to die at these calls: before the first, after each, in the middle of writes.

    Before a later one is after the one before it: nothing else changes what is in the folder.
    """
    found = [Strike(1, KILL_BEFORE)]
    for k, call in enumerate(calls, start=1):
        n = len(call.written)
        found += [
            Strike(k, TORN, amount) for amount in sorted({1, n // 2, n - 1}) if 0 < amount < n
        ]
        found.append(Strike(k, KILL_AFTER))
    return found


def failures(calls: list[Call]) -> list[Strike]:
    """Return errors at each of these calls, and writes that end early."""
    found = []
    for k, call in enumerate(calls, start=1):
        found.append(Strike(k, FAIL, errno.EIO))
        if call.name in ("open", "write", "link", "linkat"):
            found.append(Strike(k, FAIL, errno.ENOSPC))
        if n := len(call.written) // 2:
            found.append(Strike(k, SHORT, n))
    return found


def interrupts(calls: list[Call]) -> list[Strike]:
    """Return Ctrl-C before and after each of these calls."""
    return [
        Strike(k, what)
        for k in range(1, len(calls) + 1)
        for what in (INTERRUPT_BEFORE, INTERRUPT_AFTER)
    ]


def describe(strike: Strike, calls: list[Call]) -> str:
    """Say what happens where."""
    if not strike.k:
        return ""
    names = ["", "killed before", "killed after", "torn", "short", "error at", "interrupt before",
             "interrupt after"]  # fmt: skip
    call = calls[strike.k - 1]
    at = f"{names[strike.what]} call {strike.k} ({call.name} {Path(call.path).name!r})"
    return f"{at}, {strike.amount}" if strike.amount else at
