"""What stands in a ledger: the first and the last line, or all of them (zone: public)."""

from __future__ import annotations

from typing import NamedTuple

from ._entries import DamagedError, Entry, Opening, salvaged, verified_entries
from ._store import Book

__all__ = ["State", "read_all", "read_state"]

_CUT_OFF = "a charge whose line was cut off by a crash: nothing was released"


class State(NamedTuple):
    """What decides on a charge.

    Parameters
    ----------
    opening : Opening
        The first line.
    last : Opening or Entry
        What the next charge follows.
    salvaged : list of Entry
        Charges whose lines were cut off, to be written before the next one.
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
    salvaged_entries = []
    for loss in filter(None, map(salvaged, pieces)):
        last = Entry.after(last, loss, opening.time, what=_CUT_OFF, mechanism="", estimator="",
                           purpose="")  # fmt: skip
        salvaged_entries.append(last)
    return State(opening, last, salvaged_entries)


def read_all(book: Book, dataset: str) -> tuple[Opening, list[Entry]]:
    """Return the opening and all charges, with the whole chain verified."""
    state, lines = read_state(book, dataset), book.lines()
    next(lines)  # the opening
    entries = list(verified_entries(state.opening, lines))
    return state.opening, [*entries, *state.salvaged]
