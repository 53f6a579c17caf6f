"""Bytes that worker processes map, in files that have no name (zone: public).

joblib's own maps are files in /dev/shm, which somebody has to remove. If all processes are killed
at once, nobody does, and protected records stay there. The kernel frees these here with the last
process that has them.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from functools import cache
from typing import Any

import numpy as np

__all__ = ["MemoryFile", "available"]

_PR_GET_DUMPABLE = 3


class MemoryFile:
    """A copy of some bytes, for processes of this user on this machine; pickled as its place.

    Parameters
    ----------
    part : memoryview
        What is copied.
    """

    def __init__(self, part: memoryview) -> None:
        descriptor = os.memfd_create("sklearn_dpbo")
        weakref.finalize(self, os.close, descriptor)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(part)
        self._path, self._size = f"/proc/{os.getpid()}/fd/{descriptor}", part.nbytes

    def __len__(self) -> int:
        return self._size

    def __reduce__(self) -> tuple[object, ...]:
        return _mapped, (self._path,)


def _mapped(path: str) -> np.memmap[Any, np.dtype[np.uint8]]:
    try:
        return np.memmap(path, np.uint8, "r")
    except OSError as error:
        raise OSError(
            "this system does not let a process map the memory of another one; set the environment "
            "variable JOBLIB_TEMP_FOLDER to a folder that memory maps are kept in"
        ) from error


def available() -> bool:
    """Return whether workers can open such files: on Linux, if joblib is not told another place."""
    return hasattr(os, "memfd_create") and not os.environ.get("JOBLIB_TEMP_FOLDER") and _readable()


@cache
def _readable() -> bool:
    """Whether other processes of the user may look at this one's files."""
    if not os.path.isdir("/proc/self/fd"):
        return False
    dumpable: int = ctypes.CDLL(None).prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0)
    return dumpable == 1
