"""Interfaces of the places that store a ledger's lines (zone: public)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

__all__ = ["Book", "Store"]


class Book(Protocol):
    """The lines of one ledger, during a transaction. A line has no line break at its end."""

    def first(self) -> str:
        """Return the first line, which is the opening."""

    def last(self) -> tuple[str, list[str]]:
        """Return the last whole line, and the pieces of lines after it that a crash cut off."""

    def lines(self) -> Iterator[str]:
        """Yield all whole lines, in order."""

    def append(self, lines: list[str]) -> None:
        """Add lines. They are durable once this has returned and the transaction has ended."""


class Store(Protocol):
    """A file or a server that keeps the ledger of one data set."""

    def create(self, lines: list[str]) -> None:
        """Create the ledger with these lines, durably; do nothing if there is one already."""

    def transaction(self, *, write: bool) -> AbstractContextManager[Book]:
        """Lock the ledger: against all others to write, against writers to read."""
