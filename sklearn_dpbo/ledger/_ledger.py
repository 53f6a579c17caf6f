"""The budget of a data set, stored with all charges in a database (zone: boundary).

Each charge is a row and one transaction, which checks and records it. Sums are exact: epsilon and
delta are decimal numbers, stored as fractions.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import sqlite3
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from .._params import check_number
from .._privacy.accounting import Budget
from .._privacy.rounding import round_down
from ..exceptions import BudgetExceededError, LedgerError
from . import _file as file
from . import _server as server
from ._decimal import DecimalLike, parse_decimal, round_down_decimal
from ._entries import (
    Entry,
    chain_hash,
    concentrated,
    exact_sum,
    storable_text,
    sum_losses,
    verified_entries,
)
from ._file import Execute

__all__ = ["PrivacyLedger", "budget_on", "require_ledger"]

# "main" is SQLite's name of the database; on a server it is replaced by the name of a schema.
_TABLES = (
    "CREATE TABLE main.datasets (name TEXT PRIMARY KEY, epsilon TEXT NOT NULL, "
    "delta TEXT NOT NULL, worst_case_only INTEGER NOT NULL, head TEXT NOT NULL)",
    "CREATE TABLE main.charges (dataset TEXT NOT NULL, number INTEGER NOT NULL, "
    "time TEXT NOT NULL, what TEXT NOT NULL, mechanism TEXT NOT NULL, epsilon TEXT NOT NULL, "
    "delta TEXT NOT NULL, assumption TEXT, PRIMARY KEY (dataset, number))",
)


class PrivacyLedger:
    """The privacy budget of one data set, stored in a database; every fit on it is charged.

    Pass it as ``ledger=``. A fit that asks for more than is left is refused before any model is
    fitted. It is charged before its first noise is drawn; if it crashes after that, the charge
    counts as spent. Processes may share a ledger. Copies and clones of a `PrivacyLedger` are the
    same ledger.

    A charge fits if all epsilons add up to at most epsilon; or, with a positive delta, if all
    charges are within (epsilon, delta / 2) by zero-concentrated differential privacy, where each
    counts as ``epsilon_i^2 / 2``-zCDP. In either case the deltas of the charges may add up to
    delta / 2; the other half pays for the conversion. Sums of decimal numbers are exact: ten
    charges of 0.1 fit a budget of 1.0, an eleventh does not.

    Parameters
    ----------
    path : str or path
        Path of an SQLite database on a local disk; if it does not exist and epsilon is given, it
        is created. Or, to share the ledger between machines, the URL of a PostgreSQL database
        without a password, ``postgresql://host/database``; this needs psycopg:
        ``pip install "sklearn_dpbo[postgresql]"``.
    dataset : str
        Name of the data set. A database may hold the ledgers of many data sets.
    epsilon : float, str or Fraction, default=None
        Epsilon of the budget, above 0, per unit. None opens an existing ledger. A budget cannot
        be changed later.
    delta : float, str or Fraction, default=0.0
        Delta of the budget, in [0, 1), per unit.
    worst_case_only : bool, default=False
        Whether to refuse charges whose loss depends on an assumption.

    Raises
    ------
    LedgerError
        If the database cannot be opened, read and written, or has another budget for the data
        set. No noise may be drawn then.
    ValueError
        If a parameter is invalid, or the URL contains a password.

    References
    ----------
    Rogers, Roth, Ullman and Vadhan, "Privacy odometers and filters", NeurIPS 2016 (charges that
    depend on earlier releases); Feldman and Zrnic, "Individual privacy accounting via a
    Renyi filter", NeurIPS 2021 (the same for zCDP); Bun and Steinke, "Concentrated differential
    privacy", TCC 2016. The page "Ledger" of the documentation proves the combination of both.

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

    def __init__(
        self,
        path: str | os.PathLike[str],
        dataset: str,
        epsilon: DecimalLike | None = None,
        delta: DecimalLike = 0.0,
        *,
        worst_case_only: bool = False,
    ) -> None:
        if not isinstance(dataset, str) or not dataset.strip():
            raise ValueError(f"dataset is a name, a str that is not blank; found {dataset!r}")
        if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
            # Do not show the value: it may be a URL with a password.
            raise ValueError("path is the path of a file, or a URL, as a str without NUL")
        # An absolute path stays valid if the process changes its directory.
        is_url, path = server.is_url(os.fspath(path)), os.fspath(path)
        self.path = server.checked_url(path) if is_url else os.path.abspath(path)
        self.dataset = unicodedata.normalize("NFC", dataset.strip())
        if epsilon is None:
            with self._transaction() as execute:
                self._budget(execute)
            return
        requested = (
            parse_decimal("epsilon", epsilon),
            parse_decimal("delta", delta),
            bool(worst_case_only),
        )
        _check_loss(*requested[:2])
        with self._transaction(_TABLES) as execute:
            row = (self.dataset, str(requested[0]), str(requested[1]), int(requested[2]))
            # Not "ON CONFLICT": an analyst may lack the right to insert data sets.
            if not execute("SELECT name FROM main.datasets WHERE name = ?", row[:1]):
                values = (*row, chain_hash("", row))
                execute("INSERT INTO main.datasets VALUES (?, ?, ?, ?, ?)", values)
            found = self._budget(execute)
            if found != requested:
                raise LedgerError(
                    f"the ledger of {dataset!r} was opened with {_format_budget(*found)}; found "
                    f"{_format_budget(*requested)}. A budget cannot be changed; omit epsilon= to "
                    "open the ledger as it is"
                )

    def charge(
        self,
        epsilon: DecimalLike,
        delta: DecimalLike = 0.0,
        *,
        what: str,
        mechanism: str = "",
        assumption: str | None = None,
        time: datetime | None = None,
    ) -> None:
        """Record a privacy loss durably. Call it before drawing the noise.

        Parameters
        ----------
        epsilon : float, str or Fraction
            Epsilon of the release, above 0, per unit.
        delta : float, str or Fraction, default=0.0
            Delta of the release, in [0, 1), per unit.
        what : str
            What is released, for the history.
        mechanism : str, default=""
            The mechanism that releases it, for the history.
        assumption : str or None, default=None
            The assumption that the loss depends on; None for a worst-case guarantee.
        time : datetime.datetime or None, default=None
            What the history gives as the time of the charge; None is now. Pass when the work
            began, if its duration depends on protected records.

        Raises
        ------
        BudgetExceededError
            If the charge does not fit. It is not recorded, and no noise may be drawn.
        LedgerError
            If the ledger cannot be read or written. No noise may be drawn.
        ValueError
            If epsilon or delta is invalid.
        """
        loss = parse_decimal("epsilon", epsilon), parse_decimal("delta", delta)
        with self._transaction() as execute:
            entries = self._entries(execute)
            self._refuse_excess(execute, entries, [loss], what, assumption)
            row = (
                len(entries) + 1,
                (time or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds"),
                storable_text(what),
                storable_text(mechanism),
                str(loss[0]),
                str(loss[1]),
                storable_text(assumption),
            )
            values = (self.dataset, *row)
            execute("INSERT INTO main.charges VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            (head,) = execute("SELECT head FROM main.datasets WHERE name = ?", values[:1])[0]
            new_head = (chain_hash(head, row), self.dataset)
            execute("UPDATE main.datasets SET head = ? WHERE name = ?", new_head)

    def check(
        self,
        *charges: tuple[DecimalLike, DecimalLike],
        what: str,
        assumption: str | None = None,
    ) -> None:
        """Raise the error that `charge` would raise if all these charges were made.

        Nothing is recorded.

        Parameters
        ----------
        *charges : tuple (epsilon, delta)
            As `charge` takes them.
        what : str
            What is to be released, for the error message.
        assumption : str or None, default=None
            The assumption that the losses depend on; None for a worst-case guarantee.

        Raises
        ------
        BudgetExceededError, LedgerError, ValueError
            As for `charge`.
        """
        losses = [(parse_decimal("epsilon", e), parse_decimal("delta", d)) for e, d in charges]
        with self._transaction() as execute:
            self._refuse_excess(execute, self._entries(execute), losses, what, assumption)

    @property
    def history(self) -> list[dict[str, Any]]:
        """All charges in order: number, time, what, mechanism, epsilon, delta, assumption.

        ``pandas.DataFrame(ledger.history)`` makes it a table.
        """
        with self._transaction() as execute:
            return [entry.row() for entry in self._entries(execute)]

    @property
    def spent(self) -> dict[str, float]:
        """Sums of epsilon and delta, over all charges and over those that depend on assumptions."""
        with self._transaction() as execute:
            return sum_losses(self._entries(execute))

    @property
    def left(self) -> dict[str, float]:
        """Epsilon, and half of delta, minus the sums over all charges; rounded down.

        With a positive delta more may fit by zCDP: use `check`.
        """
        with self._transaction() as execute:
            (E, D, _), entries = self._budget(execute), self._entries(execute)
        epsilon, delta = _spent(entries)
        left = {"epsilon": E - epsilon, "delta": D / 2 - delta}
        return {name: round_down_decimal(max(Fraction(0), x)) for name, x in left.items()}

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the history as a CSV file.

        Parameters
        ----------
        path : str or path
            Of the file, which is overwritten.
        """
        names = ["number", "time", "what", "mechanism", "epsilon", "delta", "assumption"]
        with Path(path).open("w", newline="", encoding="utf-8") as table:
            writer = csv.DictWriter(table, names)
            writer.writeheader()
            writer.writerows(self.history)

    def to_dict(self) -> dict[str, Any]:
        """Return the name of the data set, budget, sums and history, read in one transaction."""
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
            "spent": sum_losses(entries),
            "history": [entry.row() for entry in entries],
        }

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the result of `to_dict` as a JSON file.

        Parameters
        ----------
        path : str or path
            Of the file, which is overwritten.
        """
        Path(path).write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")

    def __repr__(self) -> str:
        return f"PrivacyLedger({self.path!r}, {self.dataset!r})"

    def __str__(self) -> str:
        with self._transaction() as execute:
            budget, entries = self._budget(execute), self._entries(execute)
        spent = _format_loss(*_spent(entries))
        lines = [f"Privacy ledger of {self.dataset!r}: {spent} spent of {_format_budget(*budget)}"]
        for e in entries:
            loss = _format_loss(e.epsilon, e.delta)
            assumption = f", on an assumption: {e.assumption}" if e.assumption else ""
            lines.append(f"{e.number:5}  {e.time}  {loss}  {e.what}{assumption}")
        return "\n".join(lines)

    def __deepcopy__(self, memo: dict[int, Any]) -> PrivacyLedger:
        """Return the ledger itself: a clone of an estimator spends from the same budget."""
        return self

    def _budget(self, execute: Execute) -> tuple[Fraction, Fraction, bool]:
        """Return epsilon, delta and worst_case_only."""
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

    def _entries(self, execute: Execute) -> list[Entry]:
        """Return all charges, verified against the hash chain."""
        rows = execute(
            "SELECT number, time, what, mechanism, epsilon, delta, assumption FROM main.charges "
            "WHERE dataset = ? ORDER BY number",
            (self.dataset,),
        )
        datasets = execute(
            "SELECT name, epsilon, delta, worst_case_only, head FROM main.datasets WHERE name = ?",
            (self.dataset,),
        )
        if not datasets:
            raise LedgerError(f"there is no ledger of {self.dataset!r} in {self.path}")
        *budget, head = datasets[0]
        return verified_entries(rows, budget, head)

    def _refuse_excess(
        self,
        execute: Execute,
        entries: list[Entry],
        losses: list[tuple[Fraction, Fraction]],
        what: str,
        assumption: str | None,
    ) -> None:
        """Raise BudgetExceededError if these losses do not fit beside the entries."""
        E, D, worst_case_only = self._budget(execute)
        for loss in losses:
            _check_loss(*loss)
        if worst_case_only and assumption is not None:
            raise BudgetExceededError(
                f"{what} depends on an assumption ({assumption}), but the ledger of "
                f"{self.dataset!r} accepts worst-case losses only. Nothing was drawn"
            )
        asked = exact_sum(epsilon for epsilon, _ in losses), exact_sum(delta for _, delta in losses)
        spent = _spent(entries)
        left = [E - spent[0], D / 2 - spent[1]]
        epsilons = [entry.epsilon for entry in entries] + [epsilon for epsilon, _ in losses]
        if asked[1] > left[1] or (asked[0] > left[0] and not concentrated(E, D, epsilons)):
            raise BudgetExceededError(
                f"{what} asks for {_format_loss(*asked)}; the ledger of {self.dataset!r} has spent "
                f"{_format_loss(*spent)} of {_format_budget(E, D, False)}, and has left "
                f"{_format_loss(*(max(x, Fraction(0)) for x in left))}. Nothing was drawn"
            )

    @contextlib.contextmanager
    def _transaction(self, tables: tuple[str, ...] = ()) -> Iterator[Execute]:
        """Yield a function that runs SQL; commit durably at the end, or roll back."""
        try:
            store = server if server.is_url(self.path) else file
            if tables:
                store.create_if_missing(self.path, tables)
            with store.transaction(self.path, self.dataset) as execute:
                yield execute
        except (sqlite3.Error, OSError, UnicodeError) as error:
            raise LedgerError(
                f"the ledger {self.path} cannot be read and written: {type(error).__name__}: "
                f"{error}. Nothing may be drawn without it"
            ) from None


def _check_loss(epsilon: Fraction, delta: Fraction) -> None:
    check_number("epsilon", epsilon, "a number above 0", lambda e: e > 0)
    check_number("delta", delta, "a number in [0, 1)", lambda d: d < 1)


def _spent(entries: list[Entry]) -> tuple[Fraction, Fraction]:
    return exact_sum(e.epsilon for e in entries), exact_sum(e.delta for e in entries)


def _format_loss(epsilon: Fraction, delta: Fraction) -> str:
    return f"epsilon={float(epsilon):g}, delta={float(delta):g}"


def _format_budget(epsilon: Fraction, delta: Fraction, worst_case_only: bool) -> str:
    halves = " (one half for charges, one for composition)" * (delta > 0)
    return _format_loss(epsilon, delta) + halves + ", worst case only" * worst_case_only


def require_ledger(ledger: object) -> None:
    """Raise ValueError unless this is a `PrivacyLedger`."""
    if not isinstance(ledger, PrivacyLedger):
        raise ValueError(f"ledger is a PrivacyLedger or None; found {ledger!r}")


def budget_on(
    ledger: PrivacyLedger | None,
    epsilon: float,
    delta: float = 0.0,
    *,
    what: str,
    mechanism: str,
    assumption: str | None = None,
) -> Budget:
    """Return the budget of one fit, which is charged to the ledger before the first draw.

    Parameters
    ----------
    ledger : PrivacyLedger or None
        The ledger to charge; None charges none.
    epsilon, delta : float
        The budget of the fit, per unit.
    what : str
        What the fit releases, for the history.
    mechanism : str
        The mechanism that releases it, for the history.
    assumption : str or None, default=None
        The assumption that the loss depends on; None for a worst-case guarantee.

    Raises
    ------
    BudgetExceededError, LedgerError
        If the ledger refuses the charge, now or before the first draw.
    """
    if ledger is None:
        return Budget(epsilon, delta)
    require_ledger(ledger)
    ledger.check((epsilon, delta), what=what, assumption=assumption)
    # The first draw comes after predictions, whose duration depends on protected records.
    now = datetime.now(UTC)

    def charge() -> None:
        ledger.charge(
            epsilon, delta, what=what, mechanism=mechanism, assumption=assumption, time=now
        )

    # The ledger is charged 1/10 for 0.1, which is less than the float 0.1: round down.
    granted_epsilon = round_down(parse_decimal("epsilon", epsilon))
    granted_delta = round_down(parse_decimal("delta", delta))
    return Budget(granted_epsilon, granted_delta, before_first=charge)
