"""Where ledgers are kept: paths of files, and URLs of databases (zone: boundary)."""

from __future__ import annotations

import contextlib
import os
import unicodedata
from collections.abc import Iterator

from ..exceptions import LedgerError
from . import _server as server
from ._entries import Opening
from ._file import FileStore
from ._store import Store

__all__ = ["checked_name", "checked_place", "datasets_at", "ledger_errors", "store_at"]


def checked_place(path: object) -> str:
    """Return the absolute path of a file, or the URL of a database; raise ValueError if neither."""
    path = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(path, str) or "\0" in path:
        # Do not show the value: it may be a URL with a password.
        raise ValueError("path must be the path of a file or a URL, as a str without NUL")
    # An absolute path stays valid if the process changes its directory.
    return (
        server.checked_url(path)
        if server.is_url(path)
        else os.path.abspath(os.path.expanduser(path))
    )


def checked_name(name: str, text: object) -> str:
    """Return the name of a data set, unit or purpose without spaces around it; or ValueError."""
    if not isinstance(text, str) or not text.strip() or len(text) > 200:
        raise ValueError(
            f"{name} must be a str of 1 to 200 characters that is not blank; found {text!r}"
        )
    return unicodedata.normalize("NFC", text.strip())


def store_at(place: str, dataset: str) -> Store:
    """Return what keeps the ledger of a data set at a checked path or URL."""
    return server.ServerStore(place, dataset) if server.is_url(place) else FileStore(place)


def datasets_at(place: str) -> list[str]:
    with ledger_errors(place):
        if server.is_url(place):
            return server.datasets(place)
        with FileStore(place).transaction(write=False) as book:
            return [Opening.parse(book.first()).dataset]


@contextlib.contextmanager
def ledger_errors(place: str) -> Iterator[None]:
    """Raise errors of a file or a server as LedgerError."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        raise LedgerError(
            f"the ledger {place} cannot be used: {error or type(error).__name__}. "
            "Nothing may be released without it"
        ) from None
