"""A ledger in one file, to which lines are only ever added (zone: boundary).

A transaction locks the open file with `flock`. Such a lock belongs to what was opened, under
whatever name, and excludes threads like processes. A charge is one write at the end of the file,
and is made once `fsync` has returned. There is no second file: if the file is moved, copied or
mounted elsewhere, all charges go with it. Each line ends with its place (in bytes) in the file, so
that a last line which something else (such as a backup) added is not believed.

A process that charges the file may end in any of these states; its lock ends with it.

* Idle, locked or checked (its first and last line are read, and the charge fits): the file is as it
  was, and nothing counts.
* Appended (`write` has returned, or the process died during it): it leaves a line, which counts, or
  a piece, which does not. A power failure may also leave zeros, or nothing.
* Durable (`fsync` has returned), confirmed (the receipt is returned), released (the noise is
  added): the line stays and counts, also after a power failure.
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


# Seconds to wait for a lock in all, and between attempts.
_LOCK_TIMEOUT = 60.0
_RETRY_INTERVAL = 0.002
# Mark that is appended to a piece of a line, so that the next line can follow it.
_TORN = b" <torn>"
# Bytes to read first in search of the last line, and the largest size of the first one.
_BLOCK = 4096
_MAX_LINE = 2**19

# Files that this process has open. A forked child has copies of their descriptors, which would
# keep the locks after the parent's death.
_open_books: weakref.WeakSet[FileBook] = weakref.WeakSet()


def create(path: str, line: str) -> None:
    """Create the file with its first line, durably, unless it exists; it gets its name last.

    A process that is killed may leave a file under a temporary name, which nobody reads.
    """
    _require_flock()
    if os.path.lexists(path):
        return
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o666)
    try:
        _write(descriptor, placed([line]))
        _sync(descriptor)
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.link(temporary, path)
    finally:
        os.close(descriptor)
        os.unlink(temporary)
    sync_folder(folder)


def _require_flock() -> None:
    if not _HAS_FLOCK:
        raise OSError(
            "a ledger in a file needs flock, which this system does not have; use a PostgreSQL "
            "server"
        )


class FileBook(io.FileIO):
    """Lines of a file, which `first` locks.

    Leaving the `with` statement closes the file, which releases the lock. This is not written in
    Python, so no interrupt can come in between.
    """

    def __init__(self, path: str, write: bool) -> None:
        _require_flock()
        self._path = path
        self._adds = write
        self._end = 0
        self._open_file()

    def _open_file(self) -> None:
        """Open the file at the path, and close the one that was open."""
        flags = os.O_RDWR | os.O_APPEND if self._adds else os.O_RDONLY
        flags |= os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY  # do not wait for a pipe
        mode = "r+" if self._adds else "r"
        try:
            super().__init__(self._path, mode, opener=lambda path, _: os.open(path, flags))
        except FileNotFoundError:
            raise FileNotFoundError(
                "no such file. To create a new ledger, pass epsilon= and create=True; if a ledger "
                "was there, restore it from a backup"
            ) from None
        _open_books.add(self)
        if not stat.S_ISREG(os.fstat(self.descriptor).st_mode):
            self.close()
            raise OSError("it is not a file")

    def _lock(self) -> None:
        """Lock the file at the path: against all others to write, against writers to read."""
        deadline = time.monotonic() + _LOCK_TIMEOUT
        kind = fcntl.LOCK_EX if self._adds else fcntl.LOCK_SH
        while True:
            try:
                fcntl.flock(self.descriptor, kind | fcntl.LOCK_NB)
                if _is_at(self.descriptor, self._path):
                    return
                problem = "other files took its place"
                self._open_file()
            except BlockingIOError:
                problem = "locked by another process"
                time.sleep(_RETRY_INTERVAL)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{problem} for more than {_LOCK_TIMEOUT:g} seconds")

    def _unlock(self) -> None:
        """Release the lock, of copies of the descriptor in forked processes, too."""
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    @property
    def descriptor(self) -> int:
        """Descriptor of the file; OSError in a forked process, which has none."""
        if self.closed:
            raise OSError("a forked process cannot continue a transaction of its parent")
        return self.fileno()

    def first(self) -> str:
        """Lock the file; return the first line, which is the opening."""
        self._lock()
        return self._first()

    def _first(self) -> str:
        line, ended, _ = os.pread(self.descriptor, _MAX_LINE, 0).partition(b"\n")
        if not ended:
            raise OSError(
                "the file is empty or cut off; restore it from a backup (a new ledger is not "
                "created in its place)"
            )
        return _text(line, 0)

    def last(self) -> str:
        """Return the last whole line; a reader then releases the lock.

        A piece of a line after it, which a crash cut off, does not count: its charge was not
        confirmed, so nothing was released.
        """
        self._end = end = os.fstat(self.descriptor).st_size
        size = _BLOCK
        while True:
            start = max(0, end - size)
            *lines, piece = self._read(start, end).split(b"\n")
            if start > 0:
                lines = lines[1:]  # the first one may lack its beginning
            place = end - len(piece)
            while lines and _is_torn(lines[-1]):
                place -= len(lines.pop()) + 1
            if lines:
                break
            if start == 0:
                raise OSError("the file is cut off, or has been damaged; restore it from a backup")
            size *= 4
        if not self._adds:
            self._unlock()
        return _text(lines[-1], place - len(lines[-1]) - 1)

    def lines(self) -> Iterator[str]:
        """Yield all whole lines up to the last one that `last` found."""
        place = 0
        for line in self._read(0, self._end).split(b"\n")[:-1]:
            if not _is_torn(line):
                yield _text(line, place)
            place += len(line) + 1

    def append(self, line: str) -> None:
        """Add a line, durably, and release the lock."""
        end = self._end
        if end == len(placed([self._first()])):
            # The first charge: the creator may have died before the file's name was durable.
            sync_folder(os.path.dirname(os.path.realpath(self._path)))
        mark = b"" if self._read(end - 1, end) == b"\n" else _TORN + b"\n"
        try:
            _write(self.descriptor, mark + placed([line], end + len(mark)))
            _sync(self.descriptor)
        except OSError:
            # The disk is full, perhaps. Nothing was released. If this fails, the charge counts.
            with contextlib.suppress(OSError):
                os.ftruncate(self.descriptor, end)
            raise
        self._unlock()

    def _read(self, start: int, end: int) -> bytes:
        """Read bytes; OSError if there are fewer, which a failing disk may not report."""
        content = os.pread(self.descriptor, end - start, start)
        if len(content) < end - start:
            raise OSError(f"only {len(content)} of {end - start} bytes could be read")
        return content


def _forget_parents_books() -> None:
    """Close the copies of descriptors in a forked process; the parent keeps its locks."""
    for book in list(_open_books):
        book.close()
    _open_books.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parents_books)


def _is_at(descriptor: int, path: str) -> bool:
    """Return True if the open file has this path: another may have taken its place meanwhile."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _is_torn(line: bytes) -> bool:
    """Return True if a crash cut off this line; parts that never got to the disk are zero."""
    return line.endswith(_TORN) or b"\0" in line


def placed(lines: list[str], start: int = 0) -> bytes:
    """Encode lines for writing at this place of a file: each ends with its own place."""
    content = bytearray()
    for line in lines:
        content += f"{line} {start + len(content)}\n".encode()
    return bytes(content)


def _text(line: bytes, place: int) -> str:
    """Decode a line that `placed` encoded; OSError if it is at another place of the file."""
    text, _, written_at = line.rpartition(b" ")
    if written_at != str(place).encode():
        raise OSError(
            "it has been damaged or tampered with: a line is not where it was written, so others "
            "were added, removed or changed in length"
        )
    return text.decode("ascii", "replace")


def _write(descriptor: int, content: bytes) -> None:
    if (n := os.write(descriptor, content)) < len(content):
        raise OSError(f"only {n} of {len(content)} bytes could be written")


def _sync(descriptor: int) -> None:
    os.fsync(descriptor)
    if hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync leaves data in the cache of the disk
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)


def sync_folder(folder: str) -> None:
    """Make the new name durable, on systems that can synchronise folders."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:  # the file may be used without the right to list the folder
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
