"""A budget that outlives the process: what was ever spent on a named data set (zone: boundary).

One row per charge, in a database. Sums are of rational numbers, taken from what was written down
in decimals, and every charge is one transaction: it is checked and recorded, or neither.
"""

from __future__ import annotations

import contextlib
import csv
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from .exceptions import BudgetExceededError, LedgerError
from .privacy import Budget, delta_of_zcdp, round_down, round_up

__all__ = ["Entry", "PrivacyLedger", "budget_on"]

_TABLES = (
    "CREATE TABLE IF NOT EXISTS datasets (name TEXT PRIMARY KEY, epsilon TEXT NOT NULL, "
    "delta TEXT NOT NULL, worst_case_only INTEGER NOT NULL, n_charges INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS charges (dataset TEXT NOT NULL, number INTEGER NOT NULL, "
    "time TEXT NOT NULL, what TEXT NOT NULL, mechanism TEXT NOT NULL, epsilon TEXT NOT NULL, "
    "delta TEXT NOT NULL, assumption TEXT, PRIMARY KEY (dataset, number))",
)
# Seconds that a charge waits for others who are charging.
_PATIENCE = 60


@dataclass(frozen=True)
class Entry:
    """One charge.

    Parameters
    ----------
    number : int
        1 for the first on this data set.
    time : str
        When, in UTC (ISO 8601).
    what, mechanism : str
    epsilon, delta : Fraction
    assumption : str or None
        What the loss rests on; None for a worst-case guarantee.
    """

    number: int
    time: str
    what: str
    mechanism: str
    epsilon: Fraction
    delta: Fraction
    assumption: str | None

    def row(self) -> dict:
        """Return it with epsilon and delta as floats, for a table."""
        return asdict(self) | {"epsilon": float(self.epsilon), "delta": float(self.delta)}


class PrivacyLedger:
    """The privacy budget of one data set, kept in a database that every fit on it is charged to.

    Pass it as ``ledger=``. A fit is refused, before any model is fitted, if it asks for more than
    is left; it is charged before its first noise is drawn, and a crash after that counts as spent.
    Processes may share a ledger. Copies and clones of a `PrivacyLedger` are the same
    ledger.

    A charge fits if the charges' epsilons add up to epsilon at most; or, with a positive delta, if
    their sum is within (epsilon, delta / 2) by zero-concentrated differential privacy, where each
    counts as ``epsilon_i^2 / 2``-zCDP. In either case the charges' own deltas may add up to
    delta / 2: the other half is what the conversion costs. Numbers are taken as they are written:
    ten charges of 0.1 fit a budget of 1.0, and not one more.

    Parameters
    ----------
    path : str or path
        A file (an SQLite database; made if it is not there), on a local disk.
    dataset : str
        Which data set. A database may hold ledgers for many.
    epsilon : float, str or Fraction, default=None
        The budget. None opens a ledger that is there already. Once set it cannot be changed.
    delta : float, str or Fraction, default=0.0
    worst_case_only : bool, default=False
        Whether to refuse charges that rest on an assumption.

    Raises
    ------
    LedgerError
        If the database cannot be opened, read and written, or holds another budget for the data
        set. Then nothing may be drawn.
    ValueError
        If a parameter makes no sense.

    References
    ----------
    Rogers, Roth, Ullman and Vadhan, "Privacy odometers and filters", NeurIPS 2016 (charges that
    depend on what earlier ones released); Feldman and Zrnic, "Individual privacy accounting via a
    Renyi filter", NeurIPS 2021 (the same for zCDP); Bun and Steinke, "Concentrated differential
    privacy", TCC 2016. The proof for both together is in the documentation, "Ledger".

    Examples
    --------
    >>> import tempfile
    >>> from sklearn_dpbo import PrivacyLedger
    >>> folder = tempfile.mkdtemp()
    >>> ledger = PrivacyLedger(f"{folder}/budget.db", "patients 2025", epsilon=1.0)
    >>> for _ in range(10):
    ...     ledger.charge(0.1, what="an example")
    >>> ledger.left["epsilon"], len(ledger.history)
    (0.0, 10)
    """

    def __init__(self, path, dataset, epsilon=None, delta=0.0, *, worst_case_only=False):
        if not isinstance(dataset, str) or not dataset:
            raise ValueError(f"dataset is a name; found {dataset!r}")
        self.path, self.dataset = str(path), dataset
        if epsilon is None:
            with self._transaction() as execute:
                self._budget(execute)
            return
        wanted = (exact("epsilon", epsilon), exact("delta", delta), bool(worst_case_only))
        if wanted[0] == 0 or wanted[1] >= 1:
            raise ValueError(
                f"a budget has epsilon above 0 and delta in [0, 1); found {epsilon!r}, {delta!r}"
            )
        with self._transaction(create=True) as execute:
            for table in _TABLES:
                execute(table)
            execute(
                "INSERT INTO datasets VALUES (?, ?, ?, ?, 0) ON CONFLICT DO NOTHING",
                (dataset, str(wanted[0]), str(wanted[1]), int(worst_case_only)),
            )
            found = self._budget(execute)
            if found != wanted:
                raise LedgerError(
                    f"the ledger of {dataset!r} was opened with {_budget_text(*found)}; found "
                    f"{_budget_text(*wanted)}. A budget cannot be changed afterwards"
                )

    def charge(self, epsilon, delta=0.0, *, what, mechanism="", assumption=None) -> None:
        """Record a loss, durably; whoever is about to draw calls this first.

        Parameters
        ----------
        epsilon, delta : float, str or Fraction
        what, mechanism : str
            For the history.
        assumption : str or None, default=None
            What the loss rests on; None for a worst-case guarantee.

        Raises
        ------
        BudgetExceededError
            If it does not fit. Then nothing is recorded, and nothing may be drawn.
        LedgerError
            If the ledger cannot be read or written. Then nothing may be drawn.
        """
        epsilon, delta = exact("epsilon", epsilon), exact("delta", delta)
        with self._transaction() as execute:
            entries = self._entries(execute)
            self._refuse_excess(execute, entries, epsilon, delta, what, assumption)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            values = (self.dataset, len(entries) + 1, now, str(what), str(mechanism))
            execute(
                "INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*values, str(epsilon), str(delta), assumption),
            )
            execute("UPDATE datasets SET n_charges = n_charges + 1 WHERE name = ?", (self.dataset,))

    def check(self, epsilon, delta=0.0, *, what, assumption=None) -> None:
        """Raise what `charge` would raise now; nothing is recorded."""
        epsilon, delta = exact("epsilon", epsilon), exact("delta", delta)
        with self._transaction() as execute:
            entries = self._entries(execute)
            self._refuse_excess(execute, entries, epsilon, delta, what, assumption)

    @property
    def history(self) -> list[dict]:
        """All charges, in order: number, time, what, mechanism, epsilon, delta, assumption.

        ``pandas.DataFrame(ledger.history)`` makes a table of it.
        """
        with self._transaction() as execute:
            return [entry.row() for entry in self._entries(execute)]

    @property
    def spent(self) -> dict[str, float]:
        """The sums of all charges, rounded up; and of those among them that rest on assumptions."""
        with self._transaction() as execute:
            entries = self._entries(execute)
        assumed = [entry for entry in entries if entry.assumption is not None]
        sums = {name: _sum(entries, name) for name in _LOSSES}
        sums |= {f"{name}_on_assumptions": _sum(assumed, name) for name in _LOSSES}
        return {name: round_up(value) for name, value in sums.items()}

    @property
    def left(self) -> dict[str, float]:
        """What is left of epsilon and (of one half of) delta as sums, rounded down.

        With a positive delta more may fit: `check` says.
        """
        with self._transaction() as execute:
            (E, D, _), entries = self._budget(execute), self._entries(execute)
        left = E - _sum(entries, "epsilon"), D / 2 - _sum(entries, "delta")
        return {
            name: round_down(max(Fraction(0), x)) for name, x in zip(_LOSSES, left, strict=True)
        }

    def to_csv(self, path) -> None:
        """Write the history as a table."""
        names = ["number", "time", "what", "mechanism", "epsilon", "delta", "assumption"]
        with Path(path).open("w", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(self.history)

    def to_json(self, path) -> None:
        """Write the budget, what is spent of it, and the history."""
        with self._transaction() as execute:
            epsilon, delta, worst_case_only = self._budget(execute)
        budget = {"epsilon": float(epsilon), "delta": float(delta)}
        content = {
            "dataset": self.dataset,
            "budget": budget | {"worst_case_only": worst_case_only},
            "spent": self.spent,
            "history": self.history,
        }
        Path(path).write_text(json.dumps(content, indent=1))

    def __repr__(self) -> str:
        return f"PrivacyLedger({self.path!r}, {self.dataset!r})"

    def __str__(self) -> str:
        with self._transaction() as execute:
            budget, entries = self._budget(execute), self._entries(execute)
        spent = _text(_sum(entries, "epsilon"), _sum(entries, "delta"))
        lines = [f"Privacy ledger of {self.dataset!r}: {spent} spent of {_budget_text(*budget)}"]
        for e in entries:
            rests = f", on an assumption: {e.assumption}" if e.assumption else ""
            lines.append(f"{e.number:5}  {e.time}  {_text(e.epsilon, e.delta)}  {e.what}{rests}")
        return "\n".join(lines)

    def __deepcopy__(self, memo) -> PrivacyLedger:
        """Return the ledger itself: a clone of an estimator spends from the same budget."""
        return self

    def _budget(self, execute) -> tuple[Fraction, Fraction, bool]:
        rows = execute(
            "SELECT epsilon, delta, worst_case_only FROM datasets WHERE name = ?", (self.dataset,)
        )
        if not rows:
            raise LedgerError(f"there is no ledger of {self.dataset!r} in {self.path}")
        epsilon, delta, worst_case_only = rows[0]
        return self._number(epsilon), self._number(delta), bool(worst_case_only)

    def _number(self, written) -> Fraction:
        try:
            return exact("a loss", written)
        except ValueError:
            raise LedgerError(f"the ledger of {self.dataset!r} has been damaged") from None

    def _entries(self, execute) -> list[Entry]:
        rows = execute(
            "SELECT number, time, what, mechanism, epsilon, delta, assumption FROM charges "
            "WHERE dataset = ? ORDER BY number",
            (self.dataset,),
        )
        entries = [Entry(*r[:4], self._number(r[4]), self._number(r[5]), r[6]) for r in rows]
        counted = execute("SELECT n_charges FROM datasets WHERE name = ?", (self.dataset,))
        if [(len(entries),)] != counted or [e.number for e in entries] != [
            *range(1, len(entries) + 1)
        ]:
            raise LedgerError(f"charges are missing from the ledger of {self.dataset!r}")
        return entries

    def _refuse_excess(self, execute, entries, epsilon, delta, what, assumption) -> None:
        E, D, worst_case_only = self._budget(execute)
        if epsilon == 0 or delta >= 1:
            raise ValueError("a charge has epsilon above 0 and delta in [0, 1)")
        if worst_case_only and assumption is not None:
            raise BudgetExceededError(
                f"{what} rests on an assumption ({assumption}), and the ledger of "
                f"{self.dataset!r} takes worst-case losses only. Nothing was drawn"
            )
        spent = _sum(entries, "epsilon"), _sum(entries, "delta")
        own_deltas = spent[1] + delta <= D / 2
        if own_deltas and (spent[0] + epsilon <= E or _concentrated(E, D, entries, epsilon)):
            return
        left = E - spent[0], D / 2 - spent[1]
        raise BudgetExceededError(
            f"{what} asks for {_text(epsilon, delta)}; the ledger of {self.dataset!r} has spent "
            f"{_text(*spent)} of {_budget_text(E, D, False)}, and has left {_text(*left)}. Nothing "
            "was drawn"
        )

    @contextlib.contextmanager
    def _transaction(self, create: bool = False) -> Iterator[Callable]:
        """Yield a function that runs SQL; commit durably at the end, or leave all as it was."""
        try:
            with _sqlite(self.path, create) as execute:
                yield execute
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(
                f"the ledger {self.path} cannot be read and written: {type(error).__name__}: "
                f"{error}. Nothing may be drawn without it"
            ) from None


_LOSSES = ("epsilon", "delta")


@contextlib.contextmanager
def _sqlite(path: str, create: bool) -> Iterator[Callable]:
    # Not "rwc" for what should be there: a ledger that was lost must not begin anew at nothing.
    if create:
        _refuse_emptied(Path(path))
    uri = f"{Path(path).absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
    connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
    with contextlib.closing(connection):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        if (found := connection.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(f"it has been damaged: {found}")
        try:
            yield lambda sql, values=(): connection.execute(sql, values).fetchall()
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        # From the log into the database: what happens to the log later loses nothing.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _refuse_emptied(path: Path) -> None:
    """Refuse a file of no bytes, once whoever may be making it has had the time."""
    until = time.monotonic() + 2
    while path.is_file() and path.stat().st_size == 0:
        if time.monotonic() > until:
            raise OSError("the file is empty, and a ledger is not begun anew in its place")
        time.sleep(0.02)


def _sum(entries: list[Entry], name: str) -> Fraction:
    return sum((getattr(entry, name) for entry in entries), Fraction(0))


def _concentrated(E: Fraction, D: Fraction, entries: list[Entry], epsilon: Fraction) -> bool:
    """Whether all charges and this one are within (E, D / 2) by zCDP, rounded against them."""
    if D == 0:
        return False
    rho = round_up(sum((e.epsilon**2 for e in entries), epsilon**2) / 2)
    return delta_of_zcdp(rho * (1 + 1e-12), round_down(E)) * (1 + 1e-9) <= round_down(D / 2)


def exact(name: str, number) -> Fraction:
    """Return a number as it is written in decimals: 0.1 is 1/10."""
    try:
        value = Fraction(repr(float(number)) if hasattr(number, "dtype") else str(number))
    except (TypeError, ValueError, ZeroDivisionError):
        value = Fraction(-1)
    if isinstance(number, bool) or value < 0:
        raise ValueError(f"{name} is a number from 0 up; found {number!r}")
    return value


def _text(epsilon: Fraction, delta: Fraction) -> str:
    return f"epsilon={float(epsilon):g}, delta={float(delta):g}"


def _budget_text(epsilon: Fraction, delta: Fraction, worst_case_only: bool) -> str:
    halves = " (one half for charges, one for composition)" * (delta > 0)
    return _text(epsilon, delta) + halves + ", worst case only" * worst_case_only


def budget_on(ledger, epsilon, delta=0.0, *, what, mechanism, assumption=None) -> Budget:
    """Return the budget of one fit: a ledger's share, charged to it before the first draw.

    Parameters
    ----------
    ledger : PrivacyLedger or None
    epsilon, delta : float
    what, mechanism : str
    assumption : str or None

    Raises
    ------
    BudgetExceededError, LedgerError
        If the ledger refuses, now or before the first draw.
    """
    if ledger is None:
        return Budget(epsilon, delta)
    ledger.check(epsilon, delta, what=what, assumption=assumption)

    def charge():
        ledger.charge(epsilon, delta, what=what, mechanism=mechanism, assumption=assumption)

    # As it is written, 0.1 is less than the float 0.1: the fit gets that, and not a bit more.
    shares = (round_down(exact(n, v)) for n, v in (("epsilon", epsilon), ("delta", delta)))
    return Budget(*shares, before_first=charge)
