"""A model of the ledger in a file, searched exhaustively: every order of the steps of processes.

The steps are those that the docstring of ``sklearn_dpbo/privacy/ledger/_file.py`` names. Processes
create the file, charge it once each and draw; at any moment one may die, wait in vain, write a
part, or fork, and the power may fail once. In every state that can be reached, each draw has a
line that is on the disk whatever happens next, no more than the budget is counted, the file can
be read, and some process can go on. Each step that is left out breaks one of these: that is
tested, too."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import pytest

BUDGET = 2
# Of a process. The last five are ends.
(UNBORN, START, LINKED, WAITS, LOCKED, CHECKED, WRITTEN, DURABLE, CONFIRMED, DRAWN, REFUSED, FAILED,
 DEAD) = range(13)  # fmt: skip
ENDS = (UNBORN, DRAWN, REFUSED, FAILED, DEAD)
# Of what stands in the file: a whole line, a piece, and a line that begins in a piece, and so can
# be read by nobody.
WHOLE, PIECE, SPOILT = "whole", "piece", "spoilt"
# What must not happen.
SPOILT_FILE = "a file that nobody can read"
BLOCKED = "nobody can go on"
OVERSPENT = "more than the budget"
UNCOUNTED = "less is counted than was released"
NOT_CHARGED = "a release without a durable charge"


@dataclass(frozen=True)
class Design:
    """Which steps are made. The defaults are the ledger's; each other value leaves one out."""

    locks: bool = True
    checks_after_locking: bool = True
    keeps_waiting: bool = True  # False: takes the lock of another that does not answer
    marks_pieces: bool = True
    notices_short_writes: bool = True
    draws_after_fsync: bool = True
    first_charge_syncs_folder: bool = True
    links_whole_file: bool = True  # False: creates it under its name, then writes
    child_closes: bool = True
    child_leaves_lock: bool = True
    child_ends_transaction: bool = True
    # What is assumed of the machine.
    fsync_tells_the_truth: bool = True


class Line(NamedTuple):
    """A line or a piece: whose charge it is, and how many charges it counts, with itself."""

    kind: str
    owner: int
    total: int


class State(NamedTuple):
    """Of the file, the lock (whose it is, and who has the descriptor), and the processes."""

    phases: tuple[int, ...]
    counted: tuple[int, ...]  # what each process has read
    name: str = "none"  # or "empty", "linked", "durable"
    file: tuple[Line, ...] = ()
    synced: int = 0  # lines that are on the disk
    lock: int | None = None
    holders: frozenset[int] = frozenset()
    power_failed: bool = False


def read(file):
    """Return how many charges are counted, as whoever opens the file reads it."""
    return next((line.total for line in reversed(file) if line.kind == WHOLE), 0)


def is_spoilt(file):
    return any(line.kind == SPOILT for line in file)


def set_at(values, i, value):
    return (*values[:i], value, *values[i + 1 :])


def goes(state, i, phase, **changes):
    return state._replace(phases=set_at(state.phases, i, phase), **changes)


def releases(state, i, phase, **changes):
    """The process unlocks (or it ends, and nobody else has the descriptor)."""
    if state.lock == i:
        changes |= {"lock": None, "holders": frozenset()}
    return goes(state, i, phase, **changes)


def dies(state, i, phase=DEAD):
    """A process ends; its lock, when the last descriptor is closed."""
    if i not in state.holders:
        return goes(state, i, phase)
    holders = state.holders - {i}
    return goes(state, i, phase, holders=holders, lock=state.lock if holders else None)


# ---------------------------------------------------------------- steps


def steps(design, state, i):
    """Yield what process i can do next if nothing goes wrong."""
    match state.phases[i]:
        case 1:  # START
            yield from opens(design, state, i)
        case 2:  # LINKED
            if state.name == "empty":
                yield goes(state, i, LINKED, name="linked")
            else:
                yield goes(state, i, WAITS, name="durable")
        case 3 if state.lock is None or not design.locks:  # WAITS
            counted = state.counted
            if design.checks_after_locking:
                counted = set_at(counted, i, None)
            yield goes(state, i, LOCKED, counted=counted, lock=i, holders=frozenset({i}))
        case 4:  # LOCKED
            yield from checks(state, i)
        case 5:  # CHECKED
            if must_sync_folder(design, state):
                yield state._replace(name="durable")
            else:
                yield goes(state, i, WRITTEN, file=appended(design, state, i)[-1])
        case 6:  # WRITTEN
            synced = len(state.file) if design.fsync_tells_the_truth else state.synced
            yield goes(state, i, DURABLE, synced=synced)
            if not design.draws_after_fsync:
                yield goes(state, i, DRAWN)
        case 7:  # DURABLE
            yield releases(state, i, CONFIRMED)
        case 8:  # CONFIRMED
            yield goes(state, i, DRAWN)


def opens(design, state, i):
    if state.name == "none":
        name = "linked" if design.links_whole_file else "empty"
        yield goes(state, i, LINKED, name=name)
    elif state.name == "empty":
        yield goes(state, i, FAILED)
    else:
        counted = None if design.checks_after_locking else read(state.file)
        yield goes(state, i, WAITS, counted=set_at(state.counted, i, counted))


def checks(state, i):
    if is_spoilt(state.file):
        yield releases(state, i, FAILED)
        return
    counted = read(state.file) if state.counted[i] is None else state.counted[i]
    if counted < BUDGET:
        yield goes(state, i, CHECKED, counted=set_at(state.counted, i, counted))
    else:
        yield releases(state, i, REFUSED)


def must_sync_folder(design, state):
    return design.first_charge_syncs_folder and not state.file and state.name != "durable"


def appended(design, state, i):
    """Return what the file may be after a part of a write, and after all of it."""
    line = Line(WHOLE, i, state.counted[i] + 1)
    if state.file and state.file[-1].kind == PIECE and not design.marks_pieces:
        line = line._replace(kind=SPOILT)
    return [(*state.file, line._replace(kind=PIECE)), (*state.file, line)]


def accidents(design, state):
    """Yield what may go wrong."""
    for i, phase in enumerate(state.phases):
        if phase not in ENDS:
            yield dies(state, i)  # or is interrupted, which releases the same
        if phase == WAITS:
            yield goes(state, i, FAILED if design.keeps_waiting else LOCKED)
        if phase == CHECKED and not must_sync_folder(design, state):
            yield from short_writes(design, state, i)
        if phase == UNBORN:
            yield from forks(design, state, i)
    if not state.power_failed:
        yield from power_failures(state)


def short_writes(design, state, i):
    for file in appended(design, state, i)[:-1]:
        yield dies(state._replace(file=file), i)
        if not design.notices_short_writes:
            yield goes(state, i, WRITTEN, file=file)


def forks(design, state, child):
    """Process 0 forks while it has the lock."""
    if state.lock != 0 or 0 not in state.holders:
        return
    if not design.child_leaves_lock:
        state = state._replace(lock=None, holders=frozenset())
    elif not design.child_closes:
        state = state._replace(holders=state.holders | {child})
    if design.child_ends_transaction:
        yield goes(state, child, START)
    else:
        counted = set_at(state.counted, child, state.counted[0])
        yield goes(state, child, state.phases[0], counted=counted)


def power_failures(state):
    """Yield every file that may be found; all processes that had begun are gone."""
    phases = tuple(DEAD if p not in (*ENDS, START) else p for p in state.phases)
    state = state._replace(phases=phases, lock=None, holders=frozenset(), power_failed=True)
    if state.name in ("empty", "linked"):
        yield state._replace(name="none", file=(), synced=0)
    if state.name == "linked":
        state = state._replace(name="durable")
    kept, rest = state.file[: state.synced], state.file[state.synced :]
    for n in range(len(rest) + 1):
        for kind in (WHOLE, PIECE):
            tail = rest[:n]
            if tail and tail[-1].kind == WHOLE:
                tail = (*tail[:-1], tail[-1]._replace(kind=kind))
            yield state._replace(file=kept + tail, synced=len(kept + tail))
    if len(rest) > 1:  # a block in the middle is missing
        file = (*kept, rest[0]._replace(kind=PIECE), *rest[1:])
        yield state._replace(file=file, synced=len(file))


# ---------------------------------------------------------------- what must hold


def violation(state):
    """Return what must not be in a state, or None."""
    done = [i for i, phase in enumerate(state.phases) if phase in (CONFIRMED, DRAWN)]
    durable = state.file[: state.synced] if state.name == "durable" else ()
    charged = {line.owner for line in durable if line.kind == WHOLE}
    if not charged.issuperset(done):
        return NOT_CHARGED
    if len(done) > read(state.file):
        return UNCOUNTED
    if read(state.file) > BUDGET:
        return OVERSPENT
    if is_spoilt(state.file) or (state.name == "empty" and not alive(state)):
        return SPOILT_FILE
    return None


def alive(state):
    return [i for i, phase in enumerate(state.phases) if phase not in ENDS]


def search(design, n_processes, n_unborn):
    """Return how many states can be reached, and the first violation that is found."""
    phases = (START,) * n_processes + (UNBORN,) * n_unborn
    seen = {State(phases, (None,) * len(phases))}
    front = list(seen)
    while front:
        following = []
        for state in front:
            if problem := violation(state):
                return len(seen), problem
            planned = [new for i in alive(state) for new in steps(design, state, i)]
            if alive(state) and not planned:
                return len(seen), BLOCKED
            for new in (*planned, *accidents(design, state)):
                if new not in seen:
                    seen.add(new)
                    following.append(new)
        front = following
    return len(seen), None


@pytest.mark.parametrize(("n_processes", "n_unborn"), [(3, 0), (2, 1)])
def test_no_order_of_steps_and_crashes_overspends_or_blocks(n_processes, n_unborn):
    n_states, problem = search(Design(), n_processes, n_unborn)
    assert problem is None
    assert n_states > 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weakened", "n_unborn", "found"),
    [
        ("locks", 0, UNCOUNTED),
        ("checks_after_locking", 0, UNCOUNTED),
        ("keeps_waiting", 0, UNCOUNTED),
        ("marks_pieces", 0, SPOILT_FILE),
        ("notices_short_writes", 0, NOT_CHARGED),
        ("draws_after_fsync", 0, NOT_CHARGED),
        ("first_charge_syncs_folder", 0, NOT_CHARGED),
        ("links_whole_file", 0, SPOILT_FILE),
        ("child_closes", 1, BLOCKED),
        ("child_leaves_lock", 1, UNCOUNTED),
        ("child_ends_transaction", 1, NOT_CHARGED),
        ("fsync_tells_the_truth", 0, NOT_CHARGED),
    ],
)
def test_the_model_finds_what_goes_wrong_without_a_step(weakened, n_unborn, found):
    design = replace(Design(), **{weakened: False})
    assert search(design, 3 - n_unborn, n_unborn)[1] == found
