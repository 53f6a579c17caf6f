"""A connection to a PostgreSQL server that ends a wait without an answer (zone: boundary).

libpq has limits for connecting and for hosts that vanish, and the server for its statements. But a
server that is stopped, or a proxy before it, keeps its connections open and says nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from typing import Any

import psycopg

__all__ = ["GRACE", "TIMEOUT", "Connection", "connect"]

# Seconds that the server may take for a statement or a commit, and seconds after which the client
# stops waiting for the server's own error.
TIMEOUT = 60.0
GRACE = 10.0
# The keepalives detect a host that is gone after half a minute.
_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "prepare_threshold": None,
    "client_encoding": "UTF8",
    "connect_timeout": 10,
    "tcp_user_timeout": 30_000,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
}


class Connection(psycopg.Connection[Any]):
    """A connection with a time limit for each answer, and of one process."""

    def __init__(self, *args: Any, **params: Any) -> None:
        self._process = os.getpid()
        super().__init__(*args, **params)

    def wait(self, gen: Any, *args: Any, **params: Any) -> Any:
        """Wait for an answer, as psycopg does for each command, but not forever."""
        if os.getpid() != self._process:
            raise psycopg.OperationalError(
                "the transaction belongs to the process that this one is a fork of"
            )
        return super().wait(_in_time(gen), *args, **params)

    def close(self) -> None:
        """Close the connection; a forked process leaves its parent's open."""
        if os.getpid() == self._process:
            super().close()


def _in_time(answer: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Pass on what psycopg waits for; it looks after a tenth of a second at most."""
    deadline, ready = time.monotonic() + TIMEOUT + GRACE, None
    while True:
        try:
            awaited = answer.send(ready)
        except StopIteration as end:
            return end.value
        ready = yield awaited
        if time.monotonic() > deadline:
            raise psycopg.OperationalError(
                f"the server has not answered for {TIMEOUT + GRACE:g} seconds"
            )


def connect(url: str) -> Connection:
    return Connection.connect(url, **_OPTIONS)
