"""A ledger that is killed, interrupted or fails at each of its system calls, and loses power.

After each: every charge that was confirmed is in the ledger, at most the one that was not is counted
as well, the next open and the next charge work, and no more than the budget is ever accepted; also
after the file was moved and used elsewhere, copied, or mounted at two places.

This file is also the script of the helper process, which imports everything once and forks.
"""

import contextlib
import ctypes
import errno
import json
import os
import shutil
import signal
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

import pytest
from system_calls import (
    describe,
    failures,
    interrupts,
    kills,
    planned,
    preloaded,
    recorded,
    returns_when_killed,
    why_not,
)

from sklearn_dpbo import PrivacyLedger
from sklearn_dpbo.exceptions import BudgetExceededError, LedgerError

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

NAME = "budget.ledger"
# Four charges fit.
EPSILON, N_CHARGES = "0.25", 4
# States of the disk are compared.
TIME = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def helper(tmp_path_factory):
    """Return a function that calls a function of this file in the helper process."""
    process = preloaded(tmp_path_factory.mktemp("library"), __file__)

    def call(function, *arguments):
        process.stdin.write(json.dumps([function.__name__, *map(str, arguments)]) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        if "skip" in answer:
            pytest.skip(answer["skip"])
        return answer

    yield call
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()


def main():
    """Answer requests: the name of a function and its arguments, a line each."""
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            answer = globals()[name](*arguments)
        except Exception:
            answer = {"problems": [traceback.format_exc()], "n": 0}
        print(json.dumps(answer), file=answers, flush=True)


# ---------------------------------------------------------------- what is struck


def begin(path):
    return PrivacyLedger(path, "patients", 1, create=True)


def charge(path, what):
    return PrivacyLedger(path, "patients").charge(EPSILON, what=what, time=TIME)


def confirm(path, what, confirmed):
    """Charge; note that it was confirmed."""
    charge(path, what)
    confirmed.add(what)


# ---------------------------------------------------------------- what happens to the file then


def stay(path, confirmed):
    """Do nothing."""


def move(path, confirmed):
    """Move the file, alone; charge it at its new place; move it back."""
    elsewhere = path.parent.parent / "moved.ledger"
    os.rename(path, elsewhere)
    confirm(elsewhere, "moved", confirmed)
    os.rename(elsewhere, path)


def link(path, confirmed):
    """Charge it under a second name."""
    second = path.parent.parent / "linked.ledger"
    os.link(path, second)
    confirm(second, "linked", confirmed)
    confirm(path, "linked before", confirmed)
    os.unlink(second)


def copy(path, confirmed):
    """Copy the file, alone, and put the copy in its place."""
    elsewhere = path.parent.parent / "copied.ledger"
    shutil.copyfile(path, elsewhere)
    os.replace(elsewhere, path)


def mount(path, confirmed):
    """Charge it where it is mounted besides."""
    libc = ctypes.CDLL(None, use_errno=True)
    second = path.parent.parent / "mounted.ledger"
    second.touch()
    if libc.mount(os.fsencode(path), os.fsencode(second), None, MS_BIND, None):
        raise OSError(ctypes.get_errno(), "mount")
    try:
        confirm(second, "mounted", confirmed)
        confirm(path, "mounted before", confirmed)
    finally:
        libc.umount(os.fsencode(second))
    second.unlink()


MS_BIND, MS_REC, MS_PRIVATE, CLONE_NEWNS = 1 << 12, 1 << 14, 1 << 18, 1 << 17


def why_no_mounts():
    """Enter a name space of mounts; return why that is not possible."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
        return f"no mounts here: {os.strerror(ctypes.get_errno())}"
    return None


AFTERMATHS = {function.__name__: function for function in (stay, move, link, copy, mount)}

# ---------------------------------------------------------------- what must hold then


def problems_of(path, confirmed, attempts=()):
    """Charge until refused; return what is wrong then."""
    confirmed = set(confirmed)
    with contextlib.suppress(BudgetExceededError):
        for i in range(N_CHARGES + 1):
            confirm(path, f"after {i}", confirmed)
    ledger = PrivacyLedger(path, "patients")
    found = [row["what"] for row in ledger.history]
    problems = []
    if missing := confirmed - set(found):
        problems.append(f"lost: {sorted(missing)} of {sorted(confirmed)}")
    if len(confirmed) > N_CHARGES:
        problems.append(f"overspent: {sorted(confirmed)}")
    if len(found) > len(confirmed | set(attempts)):
        problems.append(f"never charged: {found}")
    if ledger.spent["epsilon"] != 1.0:
        problems.append(f"refused at {ledger.spent}")
    ledger.verify()
    return problems


def stray_files(path):
    return sorted(p.name for p in path.parent.iterdir() if p.name != NAME)


class Place:
    """Folders that begin alike, one after the other; what was checked is not checked again."""

    def __init__(self, folder, prepare):
        self.root = Path(folder)
        self.template = self.root / "template"
        self.template.mkdir()
        prepare(self.template / NAME)
        self.checked = {}
        self.n = 0

    def fresh(self):
        """Return the path of the ledger in a folder that is as it was at the beginning."""
        target = self.root / "now" / "folder"
        shutil.rmtree(target.parent, ignore_errors=True)
        shutil.copytree(self.template, target)
        self.n += 1
        return target / NAME

    def problems(self, path, aftermath, confirmed, attempts):
        state = tuple((p.name, p.read_bytes()) for p in sorted(path.parent.iterdir()))
        key = state, aftermath, frozenset(confirmed)
        if key not in self.checked:
            self.checked[key] = self._problems(path, aftermath, confirmed, attempts)
        return self.checked[key]

    def _problems(self, path, aftermath, confirmed, attempts):
        problems = [f"left behind: {stray}"] if (stray := stray_files(path)) else []
        confirmed = set(confirmed)
        try:
            if path.exists():
                AFTERMATHS[aftermath](path, confirmed)
            else:
                begin(path)
            problems += problems_of(path, confirmed, attempts)
        except Exception as error:
            problems.append(f"{type(error).__name__}: {error}")
        return problems + [f"left behind: {stray}" for stray in stray_files(path)]


# ---------------------------------------------------------------- kills

CONFIRMED = {"create": (), "first": (), "second": ("0",), "third": ("0", "1")}


def prepare(path, operation):
    """Bring a ledger to where an operation begins."""
    if operation != "create":
        begin(path)
        for what in CONFIRMED[operation]:
            charge(path, what)


def perform(path, operation):
    begin(path) if operation == "create" else charge(path, "struck")


def kill_everywhere(folder, operation, aftermath):
    """Kill at each system call of an operation; return how many times, and what went wrong."""
    if aftermath == "mount" and (reason := why_no_mounts()):
        return {"skip": reason}
    place = Place(folder, lambda path: prepare(path, operation))
    path = place.fresh()
    calls = recorded(path.parent, lambda: perform(path, operation))
    problems = {}
    for strike in kills(calls):
        path = place.fresh()
        returned = returns_when_killed(path.parent, strike, lambda: perform(path, operation))
        assert not returned
        found = place.problems(path, aftermath, CONFIRMED[operation], ["struck"])
        if found:
            problems[describe(strike, calls)] = found
    return {"problems": problems, "n": place.n, "calls": [call.name for call in calls]}


@pytest.mark.parametrize("aftermath", AFTERMATHS)
@pytest.mark.parametrize("operation", CONFIRMED)
def test_killed_at_any_system_call(helper, tmp_path, operation, aftermath):
    answer = helper(kill_everywhere, tmp_path, operation, aftermath)
    assert not answer["problems"]
    print(answer)
    assert {"open", "write", "fsync"} <= set(answer["calls"])


if __name__ == "__main__":
    main()
