"""Ledgers that earlier versions kept in SQLite files, and their conversion (zone: boundary).

A converted ledger exists once at any time: the new file is written under a name of its own; one
transaction marks the old file, which earlier versions then refuse; the new file gets its name. An
interrupted conversion that is run again finds the file of the first step, and goes on with it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..exceptions import LedgerError
from ._file import FileStore, lock, sync_folder
from ._old_entries import converted_lines
from ._places import checked_name, checked_place

__all__ = ["convert_file"]

# SQLite's application_id of ledgers, and of those that were converted: "DPBO" and "DPBC" in ASCII.
_ID = 0x4450424F
_CONVERTED_ID = 0x44504243
# Seconds to wait for the lock of the file and for SQLite's.
_LOCK_TIMEOUT = 60.0

# Runs one SQL statement with values for its "?"; returns all rows of the result.
Execute = Callable[..., list[tuple[Any, ...]]]


def convert_file(
    old: str, new: str, dataset: str | None = None, unit: str = "record"
) -> tuple[str, list[str]]:
    """Write the ledger of one data set in an old file to a new file."""
    old, new, unit = checked_place(old), checked_place(new), checked_name("unit", unit)
    try:
        FileStore(new)  # an error where there is no flock
        with _locked(old), _transactions(old) as execute:
            name = _choice(execute, dataset)
            budget, head, rows = _content(execute, name)
            lines = converted_lines(budget, head, rows, unit)
            part = f"{new}.{head[:8]}.part"
            if not (earlier := _converted_to(execute, name)):
                _prepare(new, part, lines)
                _mark(execute, name, new)
            elif not os.path.lexists(part):
                raise OSError(f"the ledger of {name!r} was converted before, to {earlier}")
            _publish(part, new)
            return name, [each for each in _names(execute) if not _converted_to(execute, each)]
    except (sqlite3.Error, OSError, UnicodeError) as error:
        raise LedgerError(f"{old} cannot be converted: {error}") from None


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Lock the file as earlier versions did, before they opened the database."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        lock(descriptor, True, time.monotonic() + _LOCK_TIMEOUT)
        if os.fstat(descriptor).st_nlink > 1:
            # SQLite looks for the journal of a crash under one name only.
            raise OSError("the file has several names (hard links); remove all but one")
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _transactions(path: str) -> Iterator[Execute]:
    """Begin a transaction on an old ledger that is whole, and yield what runs SQL in it."""
    uri = f"{Path(path).as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=_LOCK_TIMEOUT, isolation_level=None)

    def execute(sql: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        return connection.execute(sql, values).fetchall()

    with contextlib.closing(connection):  # which rolls back
        execute("PRAGMA synchronous = EXTRA")
        execute("PRAGMA journal_mode = DELETE")
        execute("BEGIN EXCLUSIVE")
        if execute("PRAGMA application_id")[0][0] not in (_ID, _CONVERTED_ID):
            raise OSError("it is not a ledger of an earlier version")
        if (found := execute("PRAGMA integrity_check(1)")) != [("ok",)]:
            raise OSError(f"it has been damaged: {found[0][0]}")
        yield execute


def _names(execute: Execute) -> list[str]:
    return [name for (name,) in execute("SELECT name FROM datasets ORDER BY name")]


def _choice(execute: Execute, dataset: str | None) -> str:
    """Return the name of the data set to convert, as stored."""
    names = _names(execute)
    name = names[0] if dataset is None and len(names) == 1 else dataset
    if name is None or (name := checked_name("dataset", name)) not in names:
        found = "It has several data sets" if dataset is None else "There is no such data set"
        raise LedgerError(f"{found}; --dataset names one of: {', '.join(map(repr, names))}")
    return name


def _content(execute: Execute, name: str) -> tuple[list[Any], str, list[tuple[Any, ...]]]:
    """Return budget, hash of the chain and charges, as stored."""
    ((*budget, head),) = execute(
        "SELECT name, epsilon, delta, worst_case_only, head FROM datasets WHERE name = ?", (name,)
    )
    rows = execute(
        "SELECT number, time, what, mechanism, epsilon, delta, assumption FROM charges "
        "WHERE dataset = ? ORDER BY number",
        (name,),
    )
    return budget, head, rows


def _converted_to(execute: Execute, name: str) -> str | None:
    """Return the path of the new file, or None if the old one was not marked for this data set."""
    if not execute("SELECT 1 FROM sqlite_master WHERE name = 'converted'"):
        return None
    found = execute("SELECT path FROM converted WHERE dataset = ?", (name,))
    return found[0][0] if found else None


def _prepare(new: str, part: str, lines: list[str]) -> None:
    """Write the new file under a name that nobody uses."""
    if os.path.lexists(new):
        raise OSError(f"there is a file {new} already; name another one")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(part)  # of a conversion that was interrupted before it marked the old file
    FileStore(part).create(lines)


def _mark(execute: Execute, name: str, new: str) -> None:
    """Note the conversion, durably, so that earlier versions find that this is no ledger."""
    execute("CREATE TABLE IF NOT EXISTS converted (dataset TEXT PRIMARY KEY, path TEXT NOT NULL)")
    execute("INSERT INTO converted VALUES (?, ?)", (name, new))
    execute(f"PRAGMA application_id = {_CONVERTED_ID}")
    execute("COMMIT")


def _publish(part: str, new: str) -> None:
    """Give the new file its name, which no other file may have."""
    try:
        os.link(part, new)
    except FileExistsError:
        if not os.path.samefile(part, new):  # else interrupted right here
            raise OSError(f"there is a file {new} already; move it away, and run again") from None
    os.unlink(part)
    sync_folder(os.path.dirname(new))
