"""One object, handed to each joblib worker once (zone: sensitive).

joblib pickles a task's arguments anew for every task. A `Handover` pickles its value once, into
arrays, which joblib memory-maps when they are large. A worker unpickles it for its first task and
keeps it for the following ones, unless it lies in memory maps: then opening it again costs
next to nothing, and joblib would wait a second for maps that are kept.
"""

from __future__ import annotations

import pickle
import uuid

import cloudpickle
import numpy as np

__all__ = ["Handover"]

# In a worker: the value it was last handed, by key.
_received: dict[str, object] = {}


class Handover:
    """A value to pass to joblib tasks.

    Within the process (sequential or threaded backends) nothing is copied.
    """

    def __init__(self, value, key: str | None = None):
        self.value = value
        self._key = key or uuid.uuid4().hex
        self._packed: tuple | None = None

    def __reduce__(self):
        if self._packed is None:
            buffers: list[pickle.PickleBuffer] = []
            head = cloudpickle.dumps(self.value, protocol=5, buffer_callback=buffers.append)
            self._packed = (
                np.frombuffer(head, np.uint8),
                [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers],
            )
        return _receive, (self._key, *self._packed)


def _receive(key: str, head: np.ndarray, buffers: list[np.ndarray]) -> Handover:
    value = _received.get(key)
    if value is None:
        value = pickle.loads(head.data, buffers=buffers)
        _received.clear()  # of an earlier search
        if not any(isinstance(buffer, np.memmap) for buffer in buffers):
            _received[key] = value
    return Handover(value, key)
