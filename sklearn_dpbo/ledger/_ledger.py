"""The privacy budget of a data set, stored with all charges (zone: boundary).

A charge checks the budget and adds one line, in one transaction. Sums are exact: epsilon and delta
are decimal numbers, stored as fractions.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from .._card import card
from .._params import check_number
from .._privacy.accounting import Receipt
from ..exceptions import LedgerError
from . import _display as display
from ._composition import format_budget, refuse_excess, refuse_other_unit
from ._decimal import DecimalLike, parse_decimal
from ._entries import Entry, Loss, Opening
from ._lineage import refuse_missing
from ._places import checked_name, checked_place, ledger_errors, store_at
from ._state import State, read_all, read_heads, read_state
from ._store import Book

__all__ = ["PrivacyLedger"]


class PrivacyLedger:
    """The privacy budget of one data set, in a file or on a server, which every fit charges.

    Pass it as ``ledger=``. A fit that asks for more than is left is refused before any model is
    fitted. A fit is charged before it generates noise; if it crashes afterwards, the charge counts
    as spent. Processes may share a ledger. Copies and clones of a `PrivacyLedger` are the same
    ledger.

    A charge fits the budget if the epsilons of all charges add up to at most epsilon; or, with a
    positive delta, if all charges are within (epsilon, delta / 2) by zero-concentrated differential
    privacy, where each counts as ``epsilon_i^2 / 2``-zCDP. In either case the deltas of the charges
    may add up to delta / 2. The documentation, "How a ledger keeps its promise", has the proof.
    Sums of decimal numbers are exact: ten charges of 0.1 fit a budget of 1.0, an eleventh does not.

    Parameters
    ----------
    path : str or path
        Path of a file on a local disk; ``~`` is the home directory. A file holds one ledger. To
        share a ledger between machines, pass the URL of a PostgreSQL database, without a password:
        ``postgresql://host/database``. This needs psycopg,
        ``pip install "sklearn_dpbo[postgresql]"``. A database may hold the ledgers of many data
        sets.
    dataset : str
        Name of the data set, of at most 200 characters.
    epsilon : float, str or Fraction, default=None
        Epsilon of the budget, above 0, per unit. None opens an existing ledger. A budget cannot
        be changed later.
    delta : float, str or Fraction, default=0.0
        Delta of the budget, in [0, 1), per unit.
    worst_case_only : bool, default=False
        Whether to refuse charges whose loss depends on an assumption.
    unit : str, default=None
        The privacy unit, in at most 200 characters: "record", the default of a new ledger, or a
        name for all records of a group, such as "patient". A ledger that adds up losses per patient
        refuses fits without groups, whose loss is per record.
    purpose : str, default=None
        What the charges are for, shown in the history: for example "paper, section 3".
    create : bool, default=False
        Whether to create a new ledger if there is none; this needs epsilon. Otherwise a missing
        ledger is an error, because a new one would reset a spent budget.

    Raises
    ------
    LedgerError
        If the ledger is missing, cannot be read, has another budget or unit, or belongs to another
        data set. Nothing may be released then.
    ValueError
        If a parameter is invalid, or the URL contains a password.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn_dpbo import PrivacyLedger
    >>> path = f"{tempfile.mkdtemp()}/patients.ledger"
    >>> ledger = PrivacyLedger(path, "patients 2025", epsilon=1.0, create=True)
    >>> for _ in range(10):
    ...     receipt = ledger.charge(0.1, what="an example")
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
        unit: str | None = None,
        purpose: str | None = None,
        create: bool = False,
    ) -> None:
        self.path = checked_place(path)
        self.dataset = checked_name("dataset", dataset)
        self.purpose = None if purpose is None else checked_name("purpose", purpose)
        unit = None if unit is None else checked_name("unit", unit)
        if create and epsilon is None:
            raise ValueError("create=True needs the budget of the new ledger: pass epsilon=")
        if epsilon is None and (worst_case_only or parse_decimal("delta", delta) > 0):
            raise ValueError(
                "delta= and worst_case_only= are parts of a budget: pass epsilon= as well, or omit "
                "them to open the ledger as it is"
            )
        budget = None
        if epsilon is not None:
            requested = Loss(parse_decimal("epsilon", epsilon), parse_decimal("delta", delta))
            _check_loss(requested)
            budget = (requested.epsilon, requested.delta, bool(worst_case_only))
        with ledger_errors(self.path):
            if create and budget is not None:
                self._create(budget, unit or "record")
            with self._transaction() as book:
                opening = read_state(book, self.dataset).opening
        self._refuse_other(opening, budget, unit)

    def charge(
        self,
        epsilon: DecimalLike,
        delta: DecimalLike = 0.0,
        *,
        what: str,
        mechanism: str = "",
        assumption: str | None = None,
        estimator: str = "",
        purpose: str | None = None,
        unit: str | None = None,
        time: datetime | None = None,
    ) -> Receipt:
        """Record a privacy loss durably. Call it before generating the noise.

        Texts are for the history, and cut off after 500 characters.

        Parameters
        ----------
        epsilon : float, str or Fraction
            Epsilon of the release, above 0, per unit.
        delta : float, str or Fraction, default=0.0
            Delta of the release, in [0, 1), per unit.
        what : str
            What is released.
        mechanism : str, default=""
            The mechanism that releases it.
        assumption : str or None, default=None
            The assumption that the loss depends on; None for a worst-case guarantee.
        estimator : str, default=""
            Class of the model that is tuned or evaluated.
        purpose : str or None, default=None
            What the charge is for; None is the ledger's `purpose`.
        unit : str or None, default=None
            The unit of the loss: "record", "group" or another; None is the ledger's own.
        time : datetime.datetime or None, default=None
            Time of the charge; None is now. Pass the time at which the work began if its duration
            depends on protected records.

        Returns
        -------
        receipt : Receipt
            Identifier of the ledger, number of the charge, and hash of the chain up to it. If you
            publish it with the release, `verify` can check that the ledger still has the charge.

        Raises
        ------
        BudgetExceededError
            If the charge does not fit the budget, or is per another unit. It is not recorded, and
            nothing may be released.
        LedgerError
            If the ledger cannot be read or written. Nothing may be released.
        """
        # Call str() of a user's object before the ledger is locked.
        what, assumption = str(what), None if assumption is None else str(assumption)
        loss = _loss(epsilon, delta, assumption)
        when = (time or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds")
        texts = {
            "what": what,
            "mechanism": str(mechanism),
            "estimator": str(estimator),
            "purpose": self.purpose if purpose is None else str(purpose),
        }
        with ledger_errors(self.path), self._transaction(write=True) as book:
            state = read_state(book, self.dataset)
            refuse_other_unit(state.opening, unit, what)
            refuse_excess(state.opening, state.last.totals, [loss], what)
            entry = Entry.after(state.last, loss, when, **texts)
            # No comprehension: in Python 3.13 an error that a tracer raises in it skips the `with`.
            book.append(list(map(Entry.line, (*state.salvaged, entry))))
        return Receipt(state.opening.ledger, entry.number, entry.hash)

    def check(
        self,
        *charges: tuple[DecimalLike, DecimalLike],
        what: str,
        assumption: str | None = None,
        unit: str | None = None,
    ) -> None:
        """Raise the error that `charge` would raise for all these charges together; record nothing.

        Parameters
        ----------
        *charges : tuple (epsilon, delta)
            As `charge` takes them.
        what, assumption, unit : str
            As in `charge`.
        """
        losses = [_loss(*charge, assumption) for charge in charges]
        state = self._ends()
        refuse_other_unit(state.opening, unit, what)
        refuse_excess(state.opening, state.last.totals, losses, what)

    def verify(self, reports: Iterable[Any] = ()) -> Receipt:
        """Check that no line was changed or removed, and that these releases are in the ledger.

        Reads the whole ledger. The chain of hashes reveals damage and careless changes. Published
        reports reveal the rest: that an older copy was restored, that the ledger was lost and
        started anew, or that a server failed over to one that had not received the last charges.
        LedgerError says what is wrong.

        Parameters
        ----------
        reports : iterable of PrivacyReport, dict or Receipt, default=()
            What was published: ``search.privacy_``, its `to_dict`, or what `charge` returned. If a
            report has charges from several ledgers, only those of this ledger are checked.

        Returns
        -------
        receipt : Receipt
            Identifier of the ledger, and number and hash of its last charge (0, and the hash of
            the opening, if there is none). A charge whose line a crash cut off has no hash yet.
        """
        return self._verify({f"reports[{i}]": report for i, report in enumerate(reports)})

    @property
    def unit(self) -> str:
        """The privacy unit: "record", or the name of a group of records."""
        return self._ends().opening.unit

    @property
    def history(self) -> list[dict[str, Any]]:
        """All charges in order, verified, as one dict each.

        Keys are "number", "time", "what", "mechanism", "estimator", "purpose", "epsilon", "delta"
        and "assumption". ``pandas.DataFrame(ledger.history)`` makes it a table.
        """
        return [entry.row() for entry in self._verified()[1]]

    @property
    def spent(self) -> dict[str, float]:
        """Sums of epsilon and delta, of all charges and of those that depend on assumptions."""
        return display.sums(self._ends().last.totals)

    @property
    def left(self) -> dict[str, float]:
        """Epsilon, and half of delta, minus the sums of all charges, rounded down.

        With a positive delta, larger charges may fit by zCDP: use `check`.
        """
        state = self._ends()
        return display.what_is_left(state.opening, state.last.totals)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the history as a CSV file, which is overwritten."""
        entries = self._verified()[1]
        with self._other_file(path).open("w", newline="", encoding="utf-8") as table:
            display.write_csv(table, entries)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the ledger, read in one transaction.

        Keys are "dataset", "ledger" (its identifier), "unit", "budget", "spent", "left", "charges"
        (their number) and "history".
        """
        opening, entries = self._verified()
        content = display.overview(opening, entries[-1] if entries else opening)
        return content | {"history": [entry.row() for entry in entries]}

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the result of `to_dict` as a JSON file, which is overwritten."""
        content = json.dumps(self.to_dict(), indent=1)
        self._other_file(path).write_text(content, encoding="utf-8")

    def __repr__(self) -> str:
        """Return the data set, but not the path, because reports and notebooks are published."""
        return f"PrivacyLedger(dataset={self.dataset!r})"

    def __str__(self) -> str:
        """Return the budget, what is spent and left, and the last charges."""
        return display.as_text(*self._verified())

    def _repr_html_(self) -> str:
        try:
            return display.as_html(*self._verified())
        except (LedgerError, ImportError):
            state = ("state", ["cannot be read; print the ledger to see the error"])
            return card(repr(self), [state])

    def __deepcopy__(self, memo: dict[int, Any]) -> PrivacyLedger:
        """Return the ledger itself: a clone of an estimator spends from the same budget."""
        return self

    def _create(self, budget: tuple[Fraction, Fraction, bool], unit: str) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        opening = Opening(secrets.token_hex(16), self.dataset, unit, *budget, now)
        store_at(self.path, self.dataset).create([opening.line()])

    def _refuse_other(
        self, opening: Opening, budget: tuple[Fraction, Fraction, bool] | None, unit: str | None
    ) -> None:
        """Raise LedgerError unless the ledger has this budget and unit (None: any)."""
        if budget not in (None, opening.budget):
            raise LedgerError(
                f"the ledger of {self.dataset!r} was opened with "
                f"{format_budget(*opening.budget)}; found {format_budget(*budget)}. A budget "
                "cannot be changed; omit epsilon= and create= to open the ledger as it is"
            )
        if unit not in (None, opening.unit):
            raise LedgerError(
                f"the ledger of {self.dataset!r} adds up losses per {opening.unit}; found "
                f"unit={unit!r}. A unit cannot be changed; omit unit= to open the ledger as it is"
            )

    def _other_file(self, path: str | os.PathLike[str]) -> Path:
        """Return a path to write to, which is not the ledger's own."""
        with contextlib.suppress(OSError):
            if os.path.samefile(path, self.path):
                raise ValueError("this is the file of the ledger itself; write to another file")
        return Path(path)

    def _verify(self, reports: dict[str, Any]) -> Receipt:
        with ledger_errors(self.path), self._transaction() as book:
            ledger, heads = read_heads(book, self.dataset)
        refuse_missing(ledger, heads, reports)
        return Receipt(ledger, len(heads) - 1, heads[-1])

    def _ends(self) -> State:
        """Return the state given by the first and the last line."""
        with ledger_errors(self.path), self._transaction() as book:
            return read_state(book, self.dataset)

    def _verified(self) -> tuple[Opening, list[Entry]]:
        """Return the opening and all charges, with the whole chain verified."""
        with ledger_errors(self.path), self._transaction() as book:
            return read_all(book, self.dataset)

    def _transaction(self, *, write: bool = False) -> AbstractContextManager[Book]:
        return store_at(self.path, self.dataset).transaction(write=write)


def _loss(epsilon: DecimalLike, delta: DecimalLike, assumption: str | None) -> Loss:
    loss = Loss(parse_decimal("epsilon", epsilon), parse_decimal("delta", delta), assumption)
    _check_loss(loss)
    return loss


def _check_loss(loss: Loss) -> None:
    check_number("epsilon", loss.epsilon, "a number above 0", lambda e: e > 0)
    check_number("delta", loss.delta, "a number in [0, 1)", lambda d: d < 1)
