"""What stands in a ledger: the first and the last line, or all of them (zone: public)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ._entries import DamagedError, Entry, Opening, salvaged, verified_entries
from ._store import Book

__all__ = ["State", "read_all", "read_heads", "read_state"]

_CUT_OFF = "what a crash cut off: nothing was released"


class State(NamedTuple):
    """What decides on a charge: the opening, and the last line.

    `salvaged`: one charge for all lines that were cut off, to be written before the next one.
    """

    opening: Opening
    last: Opening | Entry
    salvaged: list[Entry]


def read_state(book: Book, dataset: str) -> State:
    """Return the state of the ledger of a data set, from the first and the last line."""
    first = book.first()
    opening = Opening.parse(first)
    if opening.dataset != dataset:
        raise DamagedError(
            f"there is no ledger of {dataset!r} in it: it is the ledger of {opening.dataset!r}, "
            "and a file holds one ledger"
        )
    line, pieces = book.last()
    last: Opening | Entry = opening if line == first else Entry.parse(line)
    loss = salvaged(pieces)
    if loss is None:
        return State(opening, last, [])
    entry = Entry.after(last, loss, opening.time, what=_CUT_OFF, mechanism="", estimator="",
                        purpose="")  # fmt: skip
    return State(opening, entry, [entry])


def read_all(book: Book, dataset: str) -> tuple[Opening, list[Entry]]:
    state, entries = _verified(book, dataset)
    return state.opening, [*entries, *state.salvaged]


def read_heads(book: Book, dataset: str) -> tuple[str, list[str]]:
    """Return the identifier of the ledger, and the verified hashes of all its whole lines."""
    state, entries = _verified(book, dataset)
    return state.opening.ledger, [state.opening.hash, *(entry.hash for entry in entries)]


def _verified(book: Book, dataset: str) -> tuple[State, Iterator[Entry]]:
    state, lines = read_state(book, dataset), book.lines()
    next(lines)  # the opening
    return state, verified_entries(state.opening, lines)
