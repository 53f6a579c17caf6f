"""A budget that outlives the process: what was ever spent on a named data set (zone: boundary).

One row per charge, in a database. Sums are of rational numbers, taken from what was written down
in decimals, and every charge is one transaction: it is checked and recorded, or neither.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import sqlite3
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from .._privacy.accounting import Budget
from .._privacy.rounding import round_down
from ..exceptions import BudgetExceededError, LedgerError
from . import _file as file
from . import _server as server
from ._decimal import at_most, exact
from ._entries import Entry, concentrated, entries_of, link, plain, sums_of, total

__all__ = ["PrivacyLedger", "budget_on", "require_ledger"]

# SQLite calls the database "main"; on a server it is a schema.
_TABLES = (
    "CREATE TABLE main.datasets (name TEXT PRIMARY KEY, epsilon TEXT NOT NULL, "
    "delta TEXT NOT NULL, worst_case_only INTEGER NOT NULL, head TEXT NOT NULL)",
    "CREATE TABLE main.charges (dataset TEXT NOT NULL, number INTEGER NOT NULL, "
    "time TEXT NOT NULL, what TEXT NOT NULL, mechanism TEXT NOT NULL, epsilon TEXT NOT NULL, "
    "delta TEXT NOT NULL, assumption TEXT, PRIMARY KEY (dataset, number))",
)


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
        A file (an SQLite database; made if it is not there), on a local disk; or, for several
        machines, the URL of a PostgreSQL database, ``postgresql://host/database``, without a
        password. That needs psycopg: ``pip install "sklearn_dpbo[postgresql]"``.
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
        If a parameter makes no sense, or the URL holds a password.

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

    def __init__(self, path, dataset, epsilon=None, delta=0.0, *, worst_case_only=False) -> None:
        if not isinstance(dataset, str) or not dataset.strip():
            raise ValueError(f"dataset is a name; found {dataset!r}")
        if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
            # Not shown: it may be a URL with a password.
            raise ValueError("path is the path of a file, or a URL, as text")
        # The same file wherever the process goes later.
        is_url, path = server.is_url(os.fspath(path)), os.fspath(path)
        self.path = server.checked_url(path) if is_url else os.path.abspath(path)
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
            # Not "on conflict": an analyst may have no right to open others.
            if not execute("SELECT name FROM main.datasets WHERE name = ?", row[:1]):
                execute("INSERT INTO main.datasets VALUES (?, ?, ?, ?, ?)", (*row, link("", row)))
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
            texts = (plain(text) for text in (what, mechanism))
            row = (len(entries) + 1, now, *texts, str(epsilon), str(delta), plain(assumption))
            values = (self.dataset, *row)
            execute("INSERT INTO main.charges VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            head = execute("SELECT head FROM main.datasets WHERE name = ?", values[:1])[0][0]
            values = (link(head, row), self.dataset)
            execute("UPDATE main.datasets SET head = ? WHERE name = ?", values)

    def check(self, *charges, what, assumption=None) -> None:
        """Raise what `charge` would raise for these charges, one after another; record nothing.

        Parameters
        ----------
        *charges : tuple (epsilon, delta)
        what : str
        assumption : str or None, default=None
        """
        asked = [(exact("epsilon", e), exact("delta", d)) for e, d in charges]
        with self._transaction() as execute:
            self._refuse_excess(execute, self._entries(execute), asked, what, assumption)

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
            return sums_of(self._entries(execute))

    @property
    def left(self) -> dict[str, float]:
        """What is left of epsilon and (of one half of) delta as sums, rounded down.

        With a positive delta more may fit: `check` says.
        """
        with self._transaction() as execute:
            (E, D, _), entries = self._budget(execute), self._entries(execute)
        epsilon, delta = _spent(entries)
        left = {"epsilon": E - epsilon, "delta": D / 2 - delta}
        return {name: at_most(max(Fraction(0), x)) for name, x in left.items()}

    def to_csv(self, path) -> None:
        """Write the history as a table."""
        names = ["number", "time", "what", "mechanism", "epsilon", "delta", "assumption"]
        with Path(path).open("w", newline="", encoding="utf-8") as table:
            writer = csv.DictWriter(table, names)
            writer.writeheader()
            writer.writerows(self.history)

    def to_dict(self) -> dict:
        """Return the data set, its budget, what is spent of it, and the history, of one moment."""
        with self._transaction() as execute:
            epsilon, delta, worst_case_only = self._budget(execute)
            entries = self._entries(execute)
        return {
            "dataset": self.dataset,
            "budget": {
                "epsilon": float(epsilon),
                "delta": float(delta),
                "worst_case_only": worst_case_only,
            },
            "spent": sums_of(entries),
            "history": [entry.row() for entry in entries],
        }

    def to_json(self, path) -> None:
        """Write what `to_dict` returns."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")

    def __repr__(self) -> str:
        return f"PrivacyLedger({self.path!r}, {self.dataset!r})"

    def __str__(self) -> str:
        with self._transaction() as execute:
            budget, entries = self._budget(execute), self._entries(execute)
        spent = _text(*_spent(entries))
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
            "SELECT epsilon, delta, worst_case_only FROM main.datasets WHERE name = ?",
            (self.dataset,),
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
            "SELECT number, time, what, mechanism, epsilon, delta, assumption FROM main.charges "
            "WHERE dataset = ? ORDER BY number",
            (self.dataset,),
        )
        opened = execute(
            "SELECT name, epsilon, delta, worst_case_only, head FROM main.datasets WHERE name = ?",
            (self.dataset,),
        )
        if not opened:
            raise LedgerError(f"there is no ledger of {self.dataset!r} in {self.path}")
        *budget, head = opened[0]
        return entries_of(rows, budget, head)

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
        spent = _spent(entries)
        left = [E - spent[0], D / 2 - spent[1]]
        epsilons = [entry.epsilon for entry in entries] + [epsilon for epsilon, _ in charges]
        if asked[1] > left[1] or (asked[0] > left[0] and not concentrated(E, D, epsilons)):
            raise BudgetExceededError(
                f"{what} asks for {_text(*asked)}; the ledger of {self.dataset!r} has spent "
                f"{_text(*spent)} of {_budget_text(E, D, False)}, and has left "
                f"{_text(*(max(x, Fraction(0)) for x in left))}. Nothing was drawn"
            )

    @contextlib.contextmanager
    def _transaction(self, tables: tuple[str, ...] = ()) -> Iterator[Callable]:
        """Yield a function that runs SQL; commit durably at the end, or leave all as it was."""
        try:
            store = server if server.is_url(self.path) else file
            if tables:
                store.create(self.path, tables)
            with store.transaction(self.path) as execute:
                yield execute
        except (sqlite3.Error, OSError, UnicodeError) as error:
            raise LedgerError(
                f"the ledger {self.path} cannot be read and written: {type(error).__name__}: "
                f"{error}. Nothing may be drawn without it"
            ) from None


def _spent(entries: list[Entry]) -> tuple[Fraction, Fraction]:
    return total(entry.epsilon for entry in entries), total(entry.delta for entry in entries)


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
    shares = round_down(exact("epsilon", epsilon)), round_down(exact("delta", delta))
    return Budget(shares[0], shares[1], before_first=charge)
