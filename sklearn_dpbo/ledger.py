"""A budget that outlives the process: what was ever spent on a named data set (zone: boundary).

One row per charge, in a database. Sums are of rational numbers, taken from what was written down
in decimals, and every charge is one transaction: it is checked and recorded, or neither.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
import sqlite3
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import reduce
from pathlib import Path

from . import ledger_file
from .exceptions import BudgetExceededError, LedgerError
from .privacy import Budget, delta_of_zcdp, round_down, round_up
from .written import at_most, exact

__all__ = ["Entry", "PrivacyLedger", "budget_on", "require_ledger"]

_TABLES = (
    "CREATE TABLE datasets (name TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL, "
    "worst_case_only INTEGER NOT NULL, head TEXT NOT NULL)",
    "CREATE TABLE charges (dataset TEXT NOT NULL, number INTEGER NOT NULL, time TEXT NOT NULL, "
    "what TEXT NOT NULL, mechanism TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, "
    "assumption TEXT, PRIMARY KEY (dataset, number))",
)
_LOSSES = ("epsilon", "delta")


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
    Processes may share a ledger. Copies and clones of a `PrivacyLedger` are the same ledger.

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
        if not isinstance(dataset, str) or not dataset.strip():
            raise ValueError(f"dataset is a name; found {dataset!r}")
        if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
            raise ValueError(f"path is the path of a file; found {path!r}")
        # The same file wherever the process goes later.
        self.path = os.path.abspath(os.fspath(path))
        self.dataset = unicodedata.normalize("NFC", dataset.strip())
        if epsilon is None:
            with self._transaction() as execute:
                self._budget(execute)
            return
        wanted = (exact("epsilon", epsilon), exact("delta", delta), bool(worst_case_only))
        if wanted[0] == 0 or wanted[1] >= 1:
            raise ValueError(
                f"a budget has epsilon above 0 and delta in [0, 1); found {epsilon!r}, {delta!r}"
            )
        with self._transaction(_TABLES) as execute:
            row = (self.dataset, str(wanted[0]), str(wanted[1]), int(wanted[2]))
            execute(
                "INSERT INTO datasets VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (*row, _link("", row)),
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
            self._refuse_excess(execute, entries, [(epsilon, delta)], what, assumption)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            texts = (_plain(text) for text in (what, mechanism))
            row = (len(entries) + 1, now, *texts, str(epsilon), str(delta), _plain(assumption))
            execute("INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (self.dataset, *row))
            head = execute("SELECT head FROM datasets WHERE name = ?", (self.dataset,))[0][0]
            execute("UPDATE datasets SET head = ? WHERE name = ?", (_link(head, row), self.dataset))

    def check(self, *charges, what, assumption=None) -> None:
        """Raise what `charge` would raise for these charges, one after another; record nothing.

        Parameters
        ----------
        *charges : tuple (epsilon, delta)
        what : str
        assumption : str or None, default=None
        """
        charges = [(exact("epsilon", e), exact("delta", d)) for e, d in charges]
        with self._transaction() as execute:
            self._refuse_excess(execute, self._entries(execute), charges, what, assumption)

    @property
    def history(self) -> list[dict]:
        """All charges, in order: number, time, what, mechanism, epsilon, delta, assumption.

        ``pandas.DataFrame(ledger.history)`` makes a table of it.
        """
        with self._transaction() as execute:
            return [entry.row() for entry in self._entries(execute)]

    @property
    def spent(self) -> dict[str, float]:
        """The sums of all charges, and of those among them that rest on assumptions."""
        with self._transaction() as execute:
            return _spent(self._entries(execute))

    @property
    def left(self) -> dict[str, float]:
        """What is left of epsilon and (of one half of) delta as sums, rounded down.

        With a positive delta more may fit: `check` says.
        """
        with self._transaction() as execute:
            (E, D, _), entries = self._budget(execute), self._entries(execute)
        left = E - _sum(entries, "epsilon"), D / 2 - _sum(entries, "delta")
        return {name: at_most(max(Fraction(0), x)) for name, x in zip(_LOSSES, left, strict=True)}

    def to_csv(self, path) -> None:
        """Write the history as a table."""
        names = ["number", "time", "what", "mechanism", "epsilon", "delta", "assumption"]
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(self.history)

    def to_json(self, path) -> None:
        """Write the budget, what is spent of it, and the history."""
        with self._transaction() as execute:
            epsilon, delta, worst_case_only = self._budget(execute)
            entries = self._entries(execute)
        content = {
            "dataset": self.dataset,
            "budget": {
                "epsilon": float(epsilon),
                "delta": float(delta),
                "worst_case_only": worst_case_only,
            },
            "spent": _spent(entries),
            "history": [entry.row() for entry in entries],
        }
        Path(path).write_text(json.dumps(content, indent=1), encoding="utf-8")

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
        try:
            return Fraction(epsilon), Fraction(delta), bool(worst_case_only)
        except (TypeError, ValueError, ZeroDivisionError):
            raise LedgerError(f"the ledger of {self.dataset!r} has been damaged") from None

    def _entries(self, execute) -> list[Entry]:
        """Return all charges, after a look at whether they are those that were made."""
        rows = execute(
            "SELECT number, time, what, mechanism, epsilon, delta, assumption FROM charges "
            "WHERE dataset = ? ORDER BY number",
            (self.dataset,),
        )
        opened = execute(
            "SELECT name, epsilon, delta, worst_case_only, head FROM datasets WHERE name = ?",
            (self.dataset,),
        )
        if not opened:
            raise LedgerError(f"there is no ledger of {self.dataset!r} in {self.path}")
        *budget, head = opened[0]
        if reduce(_link, rows, _link("", budget)) != head:
            raise LedgerError(f"the ledger of {self.dataset!r} has been damaged or tampered with")
        return [Entry(*r[:4], Fraction(r[4]), Fraction(r[5]), r[6]) for r in rows]

    def _refuse_excess(self, execute, entries, charges, what, assumption) -> None:
        E, D, worst_case_only = self._budget(execute)
        if any(epsilon == 0 or delta >= 1 for epsilon, delta in charges):
            raise ValueError("a charge has epsilon above 0 and delta in [0, 1)")
        if worst_case_only and assumption is not None:
            raise BudgetExceededError(
                f"{what} rests on an assumption ({assumption}), and the ledger of "
                f"{self.dataset!r} takes worst-case losses only. Nothing was drawn"
            )
        asked = [sum(parts) for parts in zip(*charges, strict=True)]
        spent = [_sum(entries, name) for name in _LOSSES]
        left = [E - spent[0], D / 2 - spent[1]]
        epsilons = [entry.epsilon for entry in entries] + [epsilon for epsilon, _ in charges]
        if asked[1] > left[1] or (asked[0] > left[0] and not _concentrated(E, D, epsilons)):
            raise BudgetExceededError(
                f"{what} asks for {_text(*asked)}; the ledger of {self.dataset!r} has spent "
                f"{_text(*spent)} of {_budget_text(E, D, False)}, and has left "
                f"{_text(*(max(x, Fraction(0)) for x in left))}. Nothing was drawn"
            )

    @contextlib.contextmanager
    def _transaction(self, tables: tuple[str, ...] = ()) -> Iterator[Callable]:
        """Yield a function that runs SQL; commit durably at the end, or leave all as it was."""
        try:
            if tables:
                ledger_file.create(self.path, tables)
            with ledger_file.transaction(self.path) as execute:
                yield execute
        except (sqlite3.Error, OSError, UnicodeError) as error:
            raise LedgerError(
                f"the ledger {self.path} cannot be read and written: {type(error).__name__}: "
                f"{error}. Nothing may be drawn without it"
            ) from None


def _link(previous: str, row) -> str:
    """Return the hash of a row and of all rows before it."""
    return hashlib.sha256(json.dumps([previous, *row]).encode()).hexdigest()


def _plain(text) -> str | None:
    """Return text that can be stored."""
    return None if text is None else str(text).encode("utf-8", "replace").decode()


def _spent(entries: list[Entry]) -> dict[str, float]:
    assumed = [entry for entry in entries if entry.assumption is not None]
    sums = {name: _sum(entries, name) for name in _LOSSES}
    sums |= {f"{name}_on_assumptions": _sum(assumed, name) for name in _LOSSES}
    return {name: float(value) for name, value in sums.items()}


def _sum(entries: list[Entry], name: str) -> Fraction:
    return sum((getattr(entry, name) for entry in entries), Fraction(0))


def _concentrated(E: Fraction, D: Fraction, epsilons: list[Fraction]) -> bool:
    """Whether charges are within (E, D / 2) by zCDP, rounded against them."""
    rho = sum((e * e for e in epsilons), Fraction(0)) / 2
    if D == 0 or rho > 2**1000:  # which is beyond any budget, and next to what floats hold
        return False
    rho = round_up(rho)
    return delta_of_zcdp(rho * (1 + 1e-12), round_down(E)) * (1 + 1e-9) <= round_down(D / 2)


def _text(epsilon: Fraction, delta: Fraction) -> str:
    return f"epsilon={float(epsilon):g}, delta={float(delta):g}"


def _budget_text(epsilon: Fraction, delta: Fraction, worst_case_only: bool) -> str:
    halves = " (one half for charges, one for composition)" * (delta > 0)
    return _text(epsilon, delta) + halves + ", worst case only" * worst_case_only


def require_ledger(ledger) -> None:
    """Raise ValueError if this is anything else."""
    if not isinstance(ledger, PrivacyLedger):
        raise ValueError(f"ledger is a PrivacyLedger or None; found {ledger!r}")


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
    require_ledger(ledger)
    ledger.check((epsilon, delta), what=what, assumption=assumption)

    def charge():
        ledger.charge(epsilon, delta, what=what, mechanism=mechanism, assumption=assumption)

    # As it is written, 0.1 is less than the float 0.1: the fit gets that, and not a bit more.
    shares = (round_down(exact(n, v)) for n, v in (("epsilon", epsilon), ("delta", delta)))
    return Budget(*shares, before_first=charge)
