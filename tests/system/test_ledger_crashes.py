"""A ledger that is killed, interrupted or fails at each of its system calls, and loses power.

After each: every charge that was confirmed is in the ledger, at most the one that was not is
counted as well, the next open and the next charge work, and no more than the budget is ever
accepted; also after the file was moved and used elsewhere, copied, or mounted at two places.

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
from types import SimpleNamespace

import pytest
from power import Disk
from system_calls import (
    FAIL,
    NO_STRIKE,
    TORN,
    describe,
    failures,
    interrupts,
    killed,
    kills,
    planned,
    preloaded,
    recorded,
    why_not,
)

from sklearn_dpbo import PrivacyLedger
from sklearn_dpbo.exceptions import BudgetExceededError, LedgerError
from sklearn_dpbo.privacy.ledger import _ledger

NAME = "budget.ledger"
# Three charges fit.
BUDGET, EPSILON, N_CHARGES = 0.75, 0.25, 3
TIME = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def helper(tmp_path_factory):
    """Return a function that calls a function of this file in the helper process."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
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
    # Ledgers that are alike are checked once.
    _ledger.secrets = SimpleNamespace(token_hex=lambda n: "00" * n)
    _ledger.datetime = SimpleNamespace(now=lambda zone: TIME)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            answer = globals()[name](*arguments)
        except Exception:
            answer = {"problems": [traceback.format_exc()], "n": 0}
        print(json.dumps(answer), file=answers, flush=True)


# ---------------------------------------------------------------- what is done


def begin(path):
    return PrivacyLedger(path, "patients", BUDGET, create=True)


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
    if ledger.spent["epsilon"] != BUDGET:
        problems.append(f"refused at {ledger.spent}")
    ledger.verify()
    return problems


def shown(charges):
    return sorted(what[:9] for what in charges)


def fill(folder, files):
    """Let the folder hold these files and no others; those that are the same are one file."""
    for path in folder.iterdir():
        path.unlink()
    first = {}
    for name, content in files.items():
        if content in first:
            os.link(folder / first[content], folder / name)
        else:
            (folder / name).write_bytes(content)
            first[content] = name


class Place:
    """A folder that begins alike again and again; a state that was checked is not again."""

    def __init__(self, folder, operation):
        self.path = Path(folder) / "folder" / NAME
        self.path.parent.mkdir()
        prepare(self.path, operation)
        self.operation = operation
        self.confirmed = frozenset(OPERATIONS[operation])
        self.template = self.files()
        self.checked = {}

    def files(self):
        return {p.name: p.read_bytes() for p in sorted(self.path.parent.iterdir())}

    def fill(self, files):
        fill(self.path.parent, files)

    def calls(self):
        """Return the calls that the operation makes."""
        self.fill(self.template)
        return recorded(self.path.parent, self.perform)

    def perform(self):
        perform(self.path, self.operation)

    def strays(self, files):
        """Return what is wrong if there are other files; a creation may leave one."""
        others = sorted({*files} - {NAME})
        if self.operation == "create":
            others = [name for name in others if not name.startswith(f".{NAME}.")]
        return [f"left behind: {others}"] if others else []

    def problems(self, files, confirmed, aftermath="stay"):
        """Return what is wrong with these files, once they went through an aftermath."""
        key = tuple(files.items()), frozenset(confirmed), aftermath
        if key not in self.checked:
            self.fill(files)
            self.checked[key] = self._problems(set(confirmed), aftermath)
        return self.checked[key]

    def _problems(self, confirmed, aftermath):
        try:
            if self.path.exists():
                AFTERMATHS[aftermath](self.path, confirmed)
            else:
                begin(self.path)
            return problems_of(self.path, confirmed, attempts=["torn", "struck", *LATER])
        except Exception as error:
            return [f"{type(error).__name__}: {error}"]


# ---------------------------------------------------------------- what is struck

# What was confirmed before. "torn" charges after another charge was killed while it was written.
OPERATIONS = {
    "create": [], "first": [], "second": ["0"], "third": ["0", "1"],
    "torn at the first byte": ["0"], "torn in the middle": ["0"], "torn at the last byte": ["0"],
}  # fmt: skip
TEARS = [operation for operation in OPERATIONS if operation.startswith("torn")]
# Where less depends on what was there before.
SOME = ["create", "first", "torn in the middle"]


def one_by_default(*operations):
    """Parametrise a test: the first charge by default, the others with ``-m slow``."""
    rest = [pytest.param(name, marks=pytest.mark.slow) for name in operations if name != "first"]
    return pytest.mark.parametrize("operation", ["first", *rest])


def prepare(path, operation):
    """Bring a ledger to where an operation begins."""
    if operation == "create":
        return
    begin(path)
    for what in OPERATIONS[operation]:
        charge(path, what)
    if operation in TEARS:
        content = path.read_bytes()
        calls = recorded(path.parent, lambda: charge(path, "torn"))
        path.write_bytes(content)
        tears = [strike for strike in kills(calls) if strike.what == TORN]
        killed(path.parent, lambda: charge(path, "torn"), tears[TEARS.index(operation)])


def perform(path, operation):
    begin(path) if operation == "create" else charge(path, "struck")


# ---------------------------------------------------------------- kills


def kill_everywhere(folder, operation, *aftermaths):
    """Kill at each system call of an operation; return what went wrong then."""
    if "mount" in aftermaths and (reason := why_no_mounts()):
        return {"skip": reason}
    place, problems = Place(folder, operation), {}
    calls = place.calls()
    for strike in kills(calls):
        place.fill(place.template)
        killed(place.path.parent, place.perform, strike)
        files = place.files()
        found = place.strays(files)
        for aftermath in aftermaths:
            found += place.problems(files, place.confirmed, aftermath)
        if found:
            problems[describe(strike, calls)] = found
    return {"problems": problems, "n": len(kills(calls)), "calls": [call.name for call in calls]}


@pytest.mark.slow
@one_by_default(*OPERATIONS)
def test_killed_at_any_system_call(helper, tmp_path, operation):
    answer = helper(kill_everywhere, tmp_path, operation, "stay", "move", "link", "copy")
    assert not answer["problems"]
    assert {"open", "flock", "write", "fsync", "close"} <= {*answer["calls"]}


@pytest.mark.slow
@pytest.mark.parametrize("operation", SOME)
def test_killed_at_any_system_call_and_mounted_at_two_places(helper, tmp_path, operation):
    assert not helper(kill_everywhere, tmp_path, operation, "mount")["problems"]


# ---------------------------------------------------------------- errors and interrupts


def survive_everywhere(folder, operation, strikes):
    """Let each system call fail or be interrupted in this process, which goes on."""
    place, problems = Place(folder, operation), {}
    calls = place.calls()
    for strike in {"failures": failures, "interrupts": interrupts}[strikes](calls):
        place.fill(place.template)
        if found := survive(place, strike, calls[strike.k - 1].name):
            problems[describe(strike, calls)] = found
    return {"problems": problems}


def survive(place, strike, call):
    """Return what is wrong after an operation in which something happened to a call."""
    confirmed = set(place.confirmed)
    try:
        with planned(place.path.parent, strike):
            place.perform()
            confirmed |= set() if place.operation == "create" else {"struck"}
        if strike.what == FAIL and call == "fsync":
            return ["confirmed, and not durable"]
    except (LedgerError, KeyboardInterrupt):
        pass
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    kept = locks_kept(place.path)
    files = place.files()
    return kept + place.strays(files) + place.problems(files, confirmed)


def locks_kept(path):
    """Return what is wrong if this process still has a lock."""
    if path.exists():
        with open(path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return ["a lock was kept"]
    return []


@pytest.mark.slow
@one_by_default(*SOME)
def test_an_error_at_any_system_call_is_a_ledger_error(helper, tmp_path, operation):
    assert not helper(survive_everywhere, tmp_path, operation, "failures")["problems"]


@pytest.mark.slow
@one_by_default(*SOME)
def test_interrupted_at_any_system_call(helper, tmp_path, operation):
    """A charge that was written and not confirmed counts as spent."""
    assert not helper(survive_everywhere, tmp_path, operation, "interrupts")["problems"]


# ---------------------------------------------------------------- power failures

# Long ones, so that the second goes over the end of a block of the disk.
LATER = ("é" * 400, "è" * 400)


def lose_power_everywhere(folder, operation):
    """Fail the power after each call of an operation and of two charges after it.

    The operation ends, or is killed at any of its calls.
    """
    place, problems = Place(folder, operation), {}
    calls = place.calls()
    for strike in [NO_STRIKE, *kills(calls)[1:]]:
        place.fill(place.template)
        for when, files, confirmed in power_failures(place, strike):
            if found := place.problems(files, confirmed):
                problems[f"{describe(strike, calls)}; power failed after {when}"] = found
    return {"problems": problems, "n": len(place.checked)}


def power_failures(place, strike):
    """Return when the power fails, what may be on the disk then, and what had been confirmed."""
    disk, confirmed, found = Disk(place.path.parent), set(place.confirmed), []
    for what in ("struck", *LATER):
        after = set(confirmed)
        if what != "struck":
            calls = recorded(place.path.parent, lambda: begin_and_charge(place.path, what, after))
        elif strike == NO_STRIKE:
            calls = recorded(place.path.parent, place.perform)
            after |= set() if place.operation == "create" else {"struck"}
        else:
            calls = killed(place.path.parent, place.perform, strike)
        for i, call in enumerate(calls, start=1):
            disk.make(call)
            confirmed = after if i == len(calls) else confirmed
            for kind, files in disk.after_power_failure():
                found.append((f"{what[:6]}: call {i} ({call.name}): {kind}", files, confirmed))
    return found


def begin_and_charge(path, what, confirmed):
    if not path.exists():
        begin(path)
    confirm(path, what, confirmed)


@one_by_default(*SOME)
def test_power_failure_after_any_system_call(helper, tmp_path, operation):
    assert not helper(lose_power_everywhere, tmp_path, operation)["problems"]


def test_a_hole_before_the_last_line_costs_the_proof_and_not_the_count(tmp_path):
    """Two charges were written and not yet synchronised; the disk kept only the second block."""
    path = tmp_path / NAME
    ledger = begin(path)
    start = path.stat().st_size
    ledger.charge(EPSILON, what="é" * 400, mechanism="é" * 400)
    assert path.stat().st_size > 4096
    ledger.charge(EPSILON, what="the last")
    content = path.read_bytes()
    path.write_bytes(content[:start] + bytes(4096 - start) + content[4096:])
    ledger.charge(EPSILON, what="goes on")
    assert ledger.spent["epsilon"] == BUDGET
    with pytest.raises(LedgerError, match="damaged"):
        ledger.verify()


if __name__ == "__main__":
    main()
