"""What a disk may hold after a power failure: rebuilt from the system calls that were made.

What was written and not synchronised may be there, be lost, be cut off, or be zeros; names in a
folder that was not synchronised may be missing from some point on. Nothing else is assumed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from system_calls import Call

# The files of a folder: what each name holds.
Files = dict[str, bytes]
BLOCK = 4096


class Disk:
    """A folder of files: what is certainly on the disk, and what may be."""

    def __init__(self, folder: Path):
        self.inode = os.stat(folder).st_ino
        self.names: dict[str, int] = {}
        self.name_changes: list[tuple[str, int | None]] = []
        self.contents: dict[int, bytes] = {}
        self.writes: dict[int, list[tuple[int, bytes]]] = {}
        for path in Path(folder).iterdir():
            self.names[path.name] = path.stat().st_ino
            self.contents[path.stat().st_ino] = path.read_bytes()

    def make(self, call: Call) -> None:
        """Make a call."""
        if call.result < 0:
            return
        name = os.path.basename(call.path)
        match call.name:
            case "write":
                self.writes.setdefault(call.inode, []).append((call.offset, call.written))
            case "fsync" | "fdatasync" if call.inode == self.inode:
                self.names = renamed(self.names, self.name_changes)
                self.name_changes = []
            case "fsync" | "fdatasync":
                self.contents[call.inode] = self.kept(call.inode)
                self.writes[call.inode] = []
            case "open" if call.offset & os.O_CREAT and name not in self.now():
                self.name_changes.append((name, call.inode))
            case "link" | "linkat":
                self.name_changes.append((name, call.inode))
            case "unlink" | "unlinkat":
                self.name_changes.append((name, None))
            case "open" | "close" | "flock" | "fchmod":
                pass
            case other:
                raise NotImplementedError(other)

    def now(self) -> dict[str, int]:
        return renamed(self.names, self.name_changes)

    def kept(self, inode: int) -> bytes:
        return written(self.contents.get(inode, b""), self.writes.get(inode, []))

    def after_power_failure(self) -> Iterator[tuple[str, Files]]:
        """Yield every state of the folder that may be found, of the kinds above, and its kind."""
        for n in range(len(self.name_changes) + 1):
            names = renamed(self.names, self.name_changes[:n])
            for change in (lost, torn, zeros, first_block_zeros, complete):
                files = {
                    name: written(self.contents.get(i, b""), change(self.writes.get(i, [])))
                    for name, i in names.items()
                }
                yield f"{n} of {len(self.name_changes)} names, writes {change.__name__}", files


def renamed(names: dict[str, int], changes: list[tuple[str, int | None]]) -> dict[str, int]:
    after = names | dict(changes)
    return {name: inode for name, inode in after.items() if inode is not None}


def written(content: bytes, writes: Iterable[tuple[int, bytes]]) -> bytes:
    for offset, new in writes:
        content = content.ljust(offset, b"\0")
        content = content[:offset] + new + content[offset + len(new) :]
    return content


Writes = list[tuple[int, bytes]]


def complete(writes: Writes) -> Writes:
    return writes


def lost(writes: Writes) -> Writes:
    return []


def torn(writes: Writes) -> Writes:
    return [*writes[:-1], *((offset, new[: len(new) // 2]) for offset, new in writes[-1:])]


def zeros(writes: Writes) -> Writes:
    return [*writes[:-1], *((offset, bytes(len(new))) for offset, new in writes[-1:])]


def first_block_zeros(writes: Writes) -> Writes:
    """What was written goes over the end of a block; the disk has only what is behind it."""
    if not writes:
        return writes
    start, end = writes[0][0], max(at + len(new) for at, new in writes)
    n_zeros = min(end - start, -start % BLOCK)
    return [*writes, (start, bytes(n_zeros))] if start + n_zeros < end else writes
