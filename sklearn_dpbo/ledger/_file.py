"""A ledger in one file, to which lines are only ever added (zone: boundary).

A transaction locks the open file with `flock`. Such a lock belongs to what was opened, under
whatever name, and excludes threads like processes. A charge is one write at the end of the file,
and is made once `fsync` has returned. Nothing is kept in a second file: what happens to the file
(moved, copied, mounted elsewhere) happens to all charges together.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import stat
import time
import weakref
from collections.abc import Iterator

try:
    import fcntl
except ImportError:  # not a POSIX system
    _HAS_FLOCK = False
else:
    _HAS_FLOCK = True

__all__ = ["FileStore", "lock", "sync_folder"]

# Seconds to wait for a lock, and between attempts.
_LOCK_TIMEOUT = 60.0
_RETRY_INTERVAL = 0.002
# What is appended to a piece of a line, so that the next line can follow it.
_TORN = b" <torn>"
# Bytes that are read at first to find a line, and at most.
_BLOCK = 4096
_MAX_LINE = 2**20

# Files locked by this process now. A forked child has copies of their descriptors, which would
# keep the locks after the parent's death. The references are weak: if an interrupt prevents
# `close`, Python closes the file.
_open_books: weakref.WeakSet[FileBook] = weakref.WeakSet()


class FileStore:
    """The ledger of one data set in one file.

    Parameters
    ----------
    path : str
        Absolute path of the file.
    """

    def __init__(self, path: str) -> None:
        if not _HAS_FLOCK:
            raise OSError(
                "a ledger in a file needs flock, which this system does not have; use a "
                "PostgreSQL server"
            )
        self.path = path

    def create(self, lines: list[str]) -> None:
        """Create the file with these lines, durably, unless it exists.

        It gets its name when it is complete: no other process ever finds a part of it.
        """
        if os.path.lexists(self.path):
            return
        folder = os.path.dirname(self.path)
        content = "".join(f"{line}\n" for line in lines).encode()
        with contextlib.suppress(FileExistsError):  # another process was faster
            if not _create_without_name(folder, content, self.path):
                _create_and_rename(folder, content, self.path)
        sync_folder(folder)

    @contextlib.contextmanager
    def transaction(self, *, write: bool) -> Iterator[FileBook]:
        """Lock the file, and yield its lines."""
        with _locked(self.path, write) as book:
            yield book


class FileBook:
    """The lines of a locked file.

    Parameters
    ----------
    file : io.FileIO
        The file, opened for reading, or for reading and appending. Python closes it, and so
        releases the lock, even if an interrupt prevents `close`.
    """

    def __init__(self, file: io.FileIO) -> None:
        self._file = file

    @property
    def descriptor(self) -> int:
        """Of the file. A forked process has none."""
        if self._file.closed:
            raise OSError("a forked process cannot continue a transaction of its parent")
        return self._file.fileno()

    def first(self) -> str:
        """Return the first line, which is the opening."""
        size = _BLOCK
        while True:
            content = os.pread(self.descriptor, size, 0)
            if content.startswith(b"SQLite format 3\0"):
                raise OSError(
                    "the file is a database, as earlier versions kept ledgers in. Convert it: "
                    "python -m sklearn_dpbo ledger convert OLD_FILE NEW_FILE"
                )
            line, ended, _ = content.partition(b"\n")
            if ended:
                return _text(line)
            if len(content) < size or size >= _MAX_LINE:
                raise OSError(
                    "the file is empty or cut off; restore it from a backup (a new ledger is not "
                    "created in its place)"
                )
            size *= 4

    def last(self) -> tuple[str, list[str]]:
        """Return the last whole line, and the pieces of lines after it that a crash cut off."""
        end, size = os.fstat(self.descriptor).st_size, _BLOCK
        while True:
            start = max(0, end - size)
            *whole, rest = os.pread(self.descriptor, end - start, start).split(b"\n")
            if start > 0:
                whole = whole[1:]  # the first one may lack its beginning
            pieces = [rest] if rest else []
            while whole and _is_torn(whole[-1]):
                pieces.insert(0, whole.pop())
            if whole:
                return _text(whole[-1]), [_text(piece) for piece in pieces]
            if start == 0 or size >= _MAX_LINE:
                raise OSError("the file is cut off, or has been damaged; restore it from a backup")
            size *= 4

    def lines(self) -> Iterator[str]:
        """Yield all whole lines, in order."""
        with open(os.dup(self.descriptor), "rb") as content:
            content.seek(0)
            for line in content:
                if line.endswith(b"\n") and not _is_torn(line[:-1]):
                    yield _text(line[:-1])

    def append(self, lines: list[str]) -> None:
        """Add lines, durably."""
        end = os.fstat(self.descriptor).st_size
        ended = os.pread(self.descriptor, 1, end - 1) == b"\n"
        mark = b"" if ended else _TORN + b"\n"
        content = mark + "".join(f"{line}\n" for line in lines).encode()
        if end == len(self.first()) + 1:
            # The first charge. Whoever created the file may have died before its name was durable.
            sync_folder(os.path.dirname(os.path.realpath(self._file.name)))
        try:
            _write(self.descriptor, content)
            _sync(self.descriptor)
        except OSError:
            # The disk is full, say. Nothing was released. If this fails, what was written counts.
            with contextlib.suppress(OSError):
                os.ftruncate(self.descriptor, end)
            raise

    def close(self) -> None:
        """Release the lock, of copies of the descriptor in forked processes, too."""
        if not self._file.closed:
            with self._file:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def forget(self) -> None:
        """In a forked process: close the copy of the descriptor. The parent keeps its lock."""
        self._file.close()


def _forget_parents_books() -> None:
    for book in list(_open_books):
        book.forget()
    _open_books.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parents_books)


@contextlib.contextmanager
def _locked(path: str, write: bool) -> Iterator[FileBook]:
    deadline = time.monotonic() + _LOCK_TIMEOUT
    while True:
        book = FileBook(_opened(path, write))
        _open_books.add(book)
        try:
            lock(book.descriptor, write, deadline)
            if _is_at(book.descriptor, path):
                yield book
                return
        finally:
            book.close()
            _open_books.discard(book)


def _opened(path: str, write: bool) -> io.FileIO:
    flags = os.O_RDWR | os.O_APPEND if write else os.O_RDONLY
    flags |= os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY  # do not wait for what is a pipe
    try:
        file = io.FileIO(path, "r+" if write else "r", opener=lambda path, _: os.open(path, flags))
    except FileNotFoundError:
        raise FileNotFoundError(
            "no such file. To begin a new ledger pass epsilon= and create=True; one that is "
            "missing is to be restored from a backup"
        ) from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError("it is not a file")
    return file


def lock(descriptor: int, write: bool, deadline: float) -> None:
    """Lock an open file: against all others to write, against writers to read."""
    kind = fcntl.LOCK_EX if write else fcntl.LOCK_SH
    while True:
        try:
            return fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"locked by another process for more than {_LOCK_TIMEOUT:g} seconds"
                ) from None
            time.sleep(_RETRY_INTERVAL)


def _is_at(descriptor: int, path: str) -> bool:
    """Whether the file still has the name; another may have taken its place before the lock."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _is_torn(line: bytes) -> bool:
    """Whether a crash cut off this line. Parts of a file that never got to the disk are zero."""
    return line.endswith(_TORN) or b"\0" in line


def _text(line: bytes) -> str:
    return line.decode("ascii", "replace")


def _write(descriptor: int, content: bytes) -> None:
    if (n := os.write(descriptor, content)) < len(content):
        raise OSError(f"only {n} of {len(content)} bytes could be written")


def _sync(descriptor: int) -> None:
    os.fsync(descriptor)
    if hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync leaves data in the cache of the disk
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)


def _create_without_name(folder: str, content: bytes, path: str) -> bool:
    """Write a file without a name and link it. Return False where that is not possible."""
    if not hasattr(os, "O_TMPFILE"):
        return False
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
    except FileNotFoundError:
        raise
    except OSError:  # the file system does not have it
        return False
    try:
        _write(descriptor, content)
        _sync(descriptor)
        # With src_dir_fd, which is not used, Python calls linkat, which can follow such links.
        os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=descriptor)
    except FileNotFoundError:  # no /proc
        return False
    finally:
        os.close(descriptor)
    return True


def _create_and_rename(folder: str, content: bytes, path: str) -> None:
    temporary = os.path.join(folder, f".{os.path.basename(path)}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o666)
    try:
        _write(descriptor, content)
        _sync(descriptor)
        os.link(temporary, path)
    finally:
        os.close(descriptor)
        os.unlink(temporary)


def sync_folder(folder: str) -> None:
    """Make the new name durable, on systems that can synchronise folders."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:  # others may use the file, and not list the folder
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
