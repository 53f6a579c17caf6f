"""Send one object to each joblib worker once (zone: public).

joblib pickles the arguments of every task anew. A `Broadcast` pickles its value once: what is small
into bytes, which are copied fastest, and what is large into arrays, which joblib memory-maps. A
worker unpickles it for its first task and keeps it for the following ones, unless it lies in memory
maps: then opening it again is cheap, and joblib would wait a second for maps that are kept. A Dask
cluster keeps it itself, until the `Broadcast` is gone or a task has failed.
"""

from __future__ import annotations

import contextlib
import pickle
import uuid
import weakref
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import cloudpickle
import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

from .workers import end_with_parent

__all__ = ["Broadcast", "in_threads"]

# In a worker: the last value that it received, by key.
_received: dict[str, object] = {}

KEPT_BY_CLUSTER = ""
# Bytes above which joblib memory-maps an array, unless it is told otherwise.
_MAPPED = 2**20


class Broadcast:
    """A value to pass to joblib tasks.

    Within the process (sequential or threaded backends) nothing is copied.

    Parameters
    ----------
    value : object
        What is sent; tasks read it as ``sent.value``.
    key : str or None, default=None
        What workers remember it by; None makes a new one.
    """

    def __init__(self, value: Any, key: str | None = None) -> None:
        self.value = value
        self._key = uuid.uuid4().hex if key is None else key

    @contextlib.contextmanager
    def sent(self) -> Iterator[None]:
        """Keep the value where tasks run, for those that have it as an argument."""
        self._scatter()
        try:
            yield
        except BaseException as error:
            self._withdraw(error)
            raise

    def _scatter(self) -> None:
        """Give the value to all workers of a Dask cluster, if they are what joblib uses.

        Left to itself, joblib would send it anew in each round of a search.
        """
        scattered, client = _dask()
        if scattered is None or id(self) in scattered or effective_n_jobs() == 1:
            return  # (the number of jobs waits for a first worker, and with one the parent works)
        # Not self: workers in this process would keep it alive, and with it their data.
        parcel = Broadcast(self.value, KEPT_BY_CLUSTER)
        parcel._packed  # noqa: B018 (raises here, and not in a log, what cannot be pickled)
        scattered[id(self)] = client.scatter(parcel, hash=False)
        weakref.finalize(self, scattered.pop, id(self), None)
        # A separate call: if a worker dies meanwhile, those that lack the value get it from
        # another, and what was sent can still be withdrawn.
        with contextlib.suppress(Exception):
            client.replicate(scattered[id(self)])

    def _withdraw(self, error: BaseException) -> None:
        """Have a Dask cluster forget the value, and results of tasks that nobody will fetch."""
        scattered, _ = _dask()
        future = None if scattered is None else scattered.pop(id(self), None)
        if future is None:
            return
        if future.status in ("lost", "cancelled"):
            error.add_note("All of the Dask cluster's workers that held the data have died")
        future.cancel(force=True)

    @property
    def mapped(self) -> bool:
        """Whether the value has been pickled into memory maps."""
        return any(isinstance(part, np.ndarray) for part in vars(self).get("_packed", ()))

    @cached_property
    def _packed(self) -> tuple[bytes | np.ndarray, ...]:
        buffers: list[pickle.PickleBuffer] = []
        head = cloudpickle.dumps(self.value, protocol=5, buffer_callback=buffers.append)
        return tuple(_to_send(memoryview(part)) for part in (head, *(b.raw() for b in buffers)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _receive, (self._key, *self._packed)

    def __sizeof__(self) -> int:
        """Return how many bytes travel: Dask and Ray pass what is large by reference."""
        return sum(map(len, self._packed))


def _to_send(part: memoryview) -> bytes | np.ndarray:
    return np.frombuffer(part, np.uint8) if part.nbytes > _MAPPED else bytes(part)


def in_threads(n_jobs: int | None) -> bool:
    """Return whether tasks of the active joblib backend run at once in threads of this process."""
    backend, _ = get_active_backend()
    if getattr(backend, "supports_sharedmem", False):
        return bool(effective_n_jobs(n_jobs) > 1)
    _, client = _dask()
    return client is not None and any(each.startswith("inproc:") for each in client.ncores())


def _dask() -> tuple[Any, Any]:
    """Return (what joblib has scattered on a Dask cluster, by id; its client), or Nones."""
    backend, _ = get_active_backend()
    scattered = getattr(backend, "data_futures", None)
    return scattered, None if scattered is None else backend.client


def _receive(key: str, head: Any, *buffers: bytes | np.ndarray) -> Broadcast:
    end_with_parent()
    value = _received.get(key)
    if value is None:
        # Bytes can only be read: arrays in them could not be written into.
        parts = [bytearray(each) if isinstance(each, bytes) else each for each in buffers]
        value = pickle.loads(head, buffers=parts)
        _received.clear()  # of an earlier search
        if key != KEPT_BY_CLUSTER and not any(isinstance(part, np.memmap) for part in parts):
            _received[key] = value
    return Broadcast(value, key)
