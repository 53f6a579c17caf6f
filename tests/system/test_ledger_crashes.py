"""A ledger that is killed, interrupted or fails at each of its system calls, and loses power.

After each: every charge that was confirmed is in the ledger, at most the one that was not is counted
as well, the next open and the next charge work, and no more than the budget is ever accepted; also
after the file was moved and used elsewhere, copied, or mounted at two places.

This file is also the script of the helper process, which imports everything once and forks.
"""

import ctypes
import fcntl
import json
import os
import shutil
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

import pytest
from power import Disk
from system_calls import (
    KILL_AFTER,
    NO_STRIKE,
    TORN,
    describe,
    failures,
    in_child,
    interrupts,
    kills,
    planned,
    preloaded,
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


# ---------------------------------------------------------------- what is done


def begin(path):
    return PrivacyLedger(path, "patients", 1, create=True)


def charge(path, what):
    return PrivacyLedger(path, "patients").charge(EPSILON, what=what, time=TIME)


def confirm(path, what, confirmed):
    """Charge, and note that it was confirmed; return whether it was, or else refused."""
    try:
        charge(path, what)
    except BudgetExceededError:
        return False
    confirmed.add(what)
    return True


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
    for i in range(N_CHARGES + 1):
        if not confirm(path, f"after {i}", confirmed):
            break
    ledger = PrivacyLedger(path, "patients")
    found = [row["what"] for row in ledger.history]
    problems = []
    if missing := confirmed - set(found):
        problems.append(f"lost: {shown(missing)} of {shown(confirmed)}")
    if len(confirmed) > N_CHARGES:
        problems.append(f"overspent: {shown(confirmed)}")
    if len(found) > len(confirmed | set(attempts)):
        problems.append(f"never charged: {shown(found)}")
    if ledger.spent["epsilon"] != 1.0:
        problems.append(f"refused at {ledger.spent}")
    ledger.verify()
    return problems


def shown(charges):
    return sorted(what[:9] for what in charges)


def strays(path):
    names = [p.name for p in path.parent.iterdir() if p.name != NAME]
    return [f"left behind: {sorted(names)}"] if names else []


class Place:
    """Folders that begin alike, one after the other; a state that was checked is not again."""

    def __init__(self, folder, operation):
        self.root = Path(folder)
        (self.root / "template").mkdir()
        prepare(self.root / "template" / NAME, operation)
        self.confirmed = frozenset(OPERATIONS[operation])
        self.checked = {}

    def fresh(self):
        """Return the path of the ledger in a folder that is as it was at the beginning."""
        folder = self.root / "now" / "folder"
        shutil.rmtree(folder.parent, ignore_errors=True)
        shutil.copytree(self.root / "template", folder)
        return folder / NAME

    def filled(self, files):
        """Return the path of the ledger in a folder that holds these files."""
        path = self.root / "now" / "folder" / NAME
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir(parents=True)
        for name, content in files.items():
            (path.parent / name).write_bytes(content)
        return path

    def problems(self, path, confirmed, aftermath="stay"):
        """Return what is wrong with what is there now."""
        files = {p.name: p.read_bytes() for p in sorted(path.parent.iterdir())}
        key = tuple(files.items()), frozenset(confirmed), aftermath
        if key not in self.checked:
            self.checked[key] = self._problems(path, set(confirmed), aftermath)
        return self.checked[key]

    def _problems(self, path, confirmed, aftermath):
        problems = strays(path)
        try:
            if path.exists():
                AFTERMATHS[aftermath](path, confirmed)
            else:
                begin(path)
            problems += problems_of(path, confirmed, attempts=["torn", "struck", *LATER])
        except Exception as error:
            problems.append(f"{type(error).__name__}: {error}")
        return problems


# ---------------------------------------------------------------- what is struck

# What was confirmed before. "torn" charges after another charge was killed while it was written.
OPERATIONS = {
    "create": [], "first": [], "second": ["0"], "third": ["0", "1"],
    "torn at the first byte": ["0"], "torn in the middle": ["0"], "torn at the last byte": ["0"],
}  # fmt: skip


def prepare(path, operation):
    """Bring a ledger to where an operation begins."""
    if operation == "create":
        return
    begin(path)
    for what in OPERATIONS[operation]:
        charge(path, what)
    if "torn" in operation:
        content = path.read_bytes()
        _, calls = in_child(path.parent, lambda: charge(path, "torn"))
        path.write_bytes(content)
        tears = [strike for strike in kills(calls) if strike.what == TORN]
        where = ("first byte", "middle", "last byte").index(
            operation.removeprefix("torn at the ").removeprefix("torn in the ")
        )
        in_child(path.parent, lambda: charge(path, "torn"), tears[where])


def perform(path, operation):
    begin(path) if operation == "create" else charge(path, "struck")


def strike_everywhere(folder, operation, strikes_of, attempt):
    """Strike at each system call of an operation; return what went wrong, by strike.

    `attempt` does it, and returns whether the operation was confirmed, and the problems.
    """
    place = Place(folder, operation)
    path = place.fresh()
    _, calls = in_child(path.parent, lambda: perform(path, operation))
    strikes = strikes_of(calls)
    problems = {}
    for strike in strikes:
        if found := attempt(place, place.fresh(), strike):
            problems[describe(strike, calls)] = found
    return {"problems": problems, "n": len(strikes), "calls": [call.name for call in calls]}


# ---------------------------------------------------------------- kills


def kill_everywhere(folder, operation, aftermath):
    if aftermath == "mount" and (reason := why_no_mounts()):
        return {"skip": reason}

    def attempt(place, path, strike):
        ended, _ = in_child(path.parent, lambda: perform(path, operation), strike)
        assert not ended
        return place.problems(path, place.confirmed, aftermath)

    return strike_everywhere(folder, operation, kills, attempt)


@pytest.mark.parametrize("aftermath", AFTERMATHS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_any_system_call(helper, tmp_path, operation, aftermath):
    answer = helper(kill_everywhere, tmp_path, operation, aftermath)
    assert not answer["problems"]
    assert {"open", "write", "fsync"} <= set(answer["calls"])


# ---------------------------------------------------------------- errors and interrupts


def fail_everywhere(folder, operation):
    return strike_everywhere(folder, operation, failures, lambda *at: survive(operation, *at))


def interrupt_everywhere(folder, operation):
    return strike_everywhere(folder, operation, interrupts, lambda *at: survive(operation, *at))


def survive(operation, place, path, strike):
    """Fail or be interrupted in this process, which goes on; return what is wrong then."""
    confirmed = set(place.confirmed)
    try:
        with planned(path.parent, strike):
            perform(path, operation)
            confirmed |= set() if operation == "create" else {"struck"}
    except (LedgerError, KeyboardInterrupt):
        pass
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    return place.problems(path, confirmed) + locks_left(path)


def locks_left(path):
    """Return what is wrong if this process has kept a lock."""
    if not path.exists():
        return []
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return ["a lock was kept"]
    return []


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_error_at_any_system_call_is_a_ledger_error(helper, tmp_path, operation):
    assert not helper(fail_everywhere, tmp_path, operation)["problems"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_interrupted_at_any_system_call(helper, tmp_path, operation):
    """A charge that was written and not confirmed counts as spent."""
    assert not helper(interrupt_everywhere, tmp_path, operation)["problems"]


# ---------------------------------------------------------------- power failures


# Long ones, so that the second goes over the end of a block of the disk.
LATER = ("é" * 400, "è" * 400)


def lose_power_everywhere(folder, operation, kill=False):
    """Fail the power after each call of an operation and of two charges after it.

    If `kill`, the operation is killed first, everywhere.
    """
    place = Place(folder, operation)
    path = place.fresh()
    _, calls = in_child(path.parent, lambda: perform(path, operation))
    strikes = [s for s in kills(calls) if s.what in (KILL_AFTER, TORN)] if kill else [NO_STRIKE]
    problems, n = {}, 0
    for strike in strikes:
        path = place.fresh()
        for when, files, confirmed in power_failures(path, operation, strike, place.confirmed):
            n += 1
            if found := place.problems(place.filled(files), confirmed):
                problems[f"{describe(strike, calls)}; power failed after {when}"] = found
    return {"problems": problems, "n": n}


def power_failures(path, operation, strike, confirmed):
    """Yield when the power fails, what may be on the disk then, and what had been confirmed."""
    disk = Disk(path.parent)
    ended, calls = in_child(path.parent, lambda: perform(path, operation), strike)
    steps = [("struck", calls, ended and operation != "create")]
    for what in LATER:
        ended, calls = in_child(path.parent, lambda: begin_and_charge(path, what))
        steps.append((what, calls, ended))
    for what, calls, is_confirmed in steps:
        for i, call in enumerate(calls):
            if call.result >= 0:
                disk.make(call)
            after = confirmed | {what} if is_confirmed and i == len(calls) - 1 else confirmed
            for kind, files in disk.after_power_failure():
                yield f"{what[:6]}: call {i + 1} ({call.name}): {kind}", files, after
        confirmed = after


def begin_and_charge(path, what):
    if not path.exists():
        begin(path)
    charge(path, what)


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_power_failure_after_any_system_call(helper, tmp_path, operation, kill):
    assert not helper(lose_power_everywhere, tmp_path, operation, *["kill"] * kill)["problems"]


if __name__ == "__main__":
    main()
