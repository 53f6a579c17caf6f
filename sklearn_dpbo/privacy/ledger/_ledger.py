"""Privacy budget of a data set, stored with all charges (zone: boundary).

A charge checks the budget and adds one line, in one transaction. Sums are exact: epsilon and delta
are decimal numbers.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from ...exceptions import LedgerError
from ..receipt import Receipt
from ..spending import Grant, Ledger
from . import _display as display
from . import _file as file
from . import _server as server
from ._budget import grant
from ._composition import DISJOINT, format_budget, refuse_excess, refuse_other_unit
from ._decimal import as_granted, parse_decimal
from ._entries import DamagedError, Entry, Loss, Opening, shortened, verified_entries

# The lines of one ledger during a transaction.
Book = file.FileBook | server.ServerBook
# Most shares of a ledger, and most parts: each charge states the sums of all of them.
_MAX_SHARES = 100


class PrivacyLedger(Ledger):
    """Privacy budget of one data set, in a file or on a server, which every fit charges.

    Pass it as ``ledger=``. A fit that asks for more than is left is refused before any model is
    fitted. A fit is charged before it generates noise; if it crashes afterwards, the charge counts
    as spent. Processes may share a ledger. Copies and clones of a `PrivacyLedger` are the same
    ledger.

    A charge fits the budget if the epsilons of all charges add up to at most epsilon, and their
    deltas to at most delta. The documentation, "How a ledger keeps its promise", has the proof.
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
    epsilon : float, default=None
        Epsilon of the budget, above 0, per unit. None opens an existing ledger. A budget cannot
        be changed later.
    delta : float, default=0.0
        Delta of the budget, in [0, 1), per unit.
    worst_case_only : bool, default=False
        Whether to refuse charges whose loss depends on an assumption.
    share : dict of str to float, default=None
        Epsilon that each analyst may spend, by the name in ``who``: for example
        ``{"ana": 1.5, "ben": 0.5}``. Others may spend nothing then. None lets any analyst spend the
        whole budget. Shares belong to the budget: pass the same ones whenever you pass epsilon.
    parts : sequence of str, default=()
        Names of parts of the data set that have no record in common, such as ``("women", "men")``:
        charges to one part do not count for the others, see `part`. The ledger cannot check that no
        record is in two parts: it relies on the owner. The part of a record is not protected:
        neighbouring data sets replace a record by another one of its part. Parts belong to the
        budget, as shares do.
    unit : str, default=None
        The privacy unit, in at most 200 characters: "record", the default of a new ledger, or a
        name for all records of a group, such as "patient". A ledger that adds up losses per patient
        refuses fits without groups, whose loss is per record; one per "row within 1" accepts
        `GaussianCurator(distance=1)` as well.
    purpose : str, default=None
        What the charges are for, shown in the history: for example "paper, section 3".
    who : str, default=None
        Who charges, shown in the history, in at most 200 characters; None is the name of the
        account that runs the process. A ledger cannot check it.
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
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        worst_case_only: bool = False,
        share: Mapping[str, float] | None = None,
        parts: Sequence[str] = (),
        unit: str | None = None,
        purpose: str | None = None,
        who: str | None = None,
        create: bool = False,
    ) -> None:
        self.path = checked_place(path)
        self.dataset = _checked_name("dataset", dataset)
        self.purpose = None if purpose is None else _checked_name("purpose", purpose)
        self.who = None if who is None else _checked_name("who", who)
        unit = None if unit is None else _checked_name("unit", unit)
        if create and epsilon is None:
            raise ValueError("create=True needs the budget of the new ledger: pass epsilon=")
        self._parts: tuple[str, ...] = ()  # those that charges name
        names = _checked_parts(parts)
        has_options = worst_case_only or share or names or parse_decimal("delta", delta) > 0
        if epsilon is None and has_options:
            raise ValueError(
                "delta=, worst_case_only=, share= and parts= are parts of a budget: pass epsilon= "
                "as well, or omit them to open the ledger as it is"
            )
        wanted = None
        if epsilon is not None:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            wanted = Opening(secrets.token_hex(16), self.dataset, unit or "record",
                             *_checked_loss(epsilon, delta)[:2], bool(worst_case_only),
                             _checked_shares(share), names, now)  # fmt: skip
        with _ledger_errors(self.path):
            if create and wanted is not None:
                if server.is_url(self.path):
                    server.create(self.path, self.dataset, wanted.line())
                else:
                    file.create(self.path, wanted.line())
        self._refuse_other(self._ends()[0], wanted, unit)

    def part(self, *names: str) -> PrivacyLedger:
        """Return this ledger, for releases from the records of one or several parts alone.

        Pass it as ``ledger=``. Its charges count for the named parts only; charges to the whole
        ledger count for all parts. What is spent of the budget is the largest sum over the parts;
        `spent` and `left` are those of the named parts.

        Parameters
        ----------
        *names : str
            Parts of the ledger. All records that are used must be in these parts.

        Returns
        -------
        ledger : PrivacyLedger
        """
        parts = _checked_parts(names)
        declared = self._ends()[0].parts
        if not parts or not set(parts) <= set(declared):
            raise ValueError(
                f"the ledger of {self.dataset!r} has the parts {list(declared)}; found "
                f"{list(parts)}. Parts are declared when a ledger is created: parts="
            )
        ledger = copy(self)
        ledger._parts = parts
        return ledger

    def charge(
        self,
        epsilon: float,
        delta: float = 0.0,
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
        epsilon : float
            Epsilon of the release, above 0, per unit.
        delta : float, default=0.0
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
        what = str(what)
        loss = self._loss(epsilon, delta, assumption)
        when = (time or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds")
        texts = {
            "what": what,
            "mechanism": str(mechanism),
            "estimator": str(estimator),
            "purpose": self.purpose if purpose is None else str(purpose),
        }
        with _ledger_errors(self.path), self._transaction(write=True) as book:
            opening, last = self._read_ends(book)
            refuse_other_unit(opening, unit, what)
            refuse_excess(opening, last.totals, loss, what)
            entry = Entry.after(last, loss, time=when, **texts)
            book.append(entry.line())
        return _receipt_of(opening, entry)

    def check(
        self,
        epsilon: float,
        delta: float = 0.0,
        *,
        what: str,
        assumption: str | None = None,
        unit: str | None = None,
    ) -> None:
        """Raise the error that `charge` would raise; record nothing.

        Parameters
        ----------
        epsilon, delta, what, assumption, unit
            As in `charge`.
        """
        opening, last = self._ends()
        refuse_other_unit(opening, unit, what)
        refuse_excess(opening, last.totals, self._loss(epsilon, delta, assumption), what)

    def verify(self, reports: Iterable[Any] = ()) -> Receipt:
        """Check that no line was changed or removed, and that these releases are in the ledger.

        The reports must state the epsilon, delta, unit, mechanism and purpose of their charges. No
        other numbers of a report can be checked, since a ledger does not store releases.

        This reads the whole ledger. The chain of hashes reveals damage and careless changes.
        Published reports reveal the rest: that an older copy was restored, that the ledger was lost
        and started anew, or that a server failed over to one without the last charges.

        Parameters
        ----------
        reports : iterable of PrivacyReport or Receipt, default=()
            Published reports, such as ``search.privacy_``, or receipts that `charge` returned.

        Returns
        -------
        receipt : Receipt
            Identifier of the ledger, and number and hash of its last charge (0, and the hash of
            the opening, if there is none).

        Raises
        ------
        LedgerError
            If a line or report is wrong, or a charge is missing; the message says which.
        """
        return self._verify({
            f"reports[{i}]": Published((report,)) if isinstance(report, Receipt)
            else Published.by(report.to_dict())
            for i, report in enumerate(reports)
        })  # fmt: skip

    @property
    def unit(self) -> str:
        """Privacy unit: "record", or the name of a group of records."""
        return str(self._overview()["unit"])

    @property
    def history(self) -> list[dict[str, Any]]:
        """All charges in order, verified, as one dict each.

        Keys are "number", "time", "epsilon", "delta", "who", "estimator", "purpose", "mechanism",
        "what", "assumption" and "parts". ``pandas.DataFrame(ledger.history)`` makes it a table.
        """
        return [entry.row() for entry in self._verified()[1]]

    @property
    def spent(self) -> dict[str, float]:
        """Sums of epsilon and delta over all charges; with parts, the largest sums of a part."""
        spent: dict[str, float] = self._overview()["spent"]
        return spent

    @property
    def left(self) -> dict[str, float]:
        """Epsilon and delta minus what is spent, rounded down.

        If the ledger has shares, ``to_dict()["shares"]`` says what is left of each.
        """
        remaining: dict[str, float] = self._overview()["left"]
        return remaining

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the ledger, read in one transaction.

        Keys are "dataset", "ledger" (its identifier), "unit", "budget", "spent", "left", "shares"
        (epsilon of each analyst, and what is left of it), "parts" (epsilon and delta spent by
        part), "charges" (their number) and "history".
        """
        opening, entries = self._verified()
        content = display.overview(opening, entries[-1] if entries else opening, self._parts)
        return content | {"history": [entry.row() for entry in entries]}

    def __repr__(self) -> str:
        """Return the data set and parts, but no path: reports and notebooks are published."""
        parts = f", parts={self._parts}" if self._parts else ""
        return f"PrivacyLedger(dataset={self.dataset!r}{parts})"

    def __str__(self) -> str:
        """Return the budget, what is spent and left, and the last charges."""
        return display.as_text(self.to_dict())

    def __deepcopy__(self, memo: dict[int, Any]) -> PrivacyLedger:
        """Return the ledger itself: a clone of an estimator spends from the same budget."""
        return self

    def _grant(self, epsilon: float, delta: float, **charge: Any) -> Grant:
        return grant(self, epsilon, delta, **charge)

    def _refuse_other(self, opening: Opening, wanted: Opening | None, unit: str | None) -> None:
        """Raise LedgerError unless the ledger has this budget and unit (None: any)."""
        other_budget = wanted is not None and not wanted.has_budget_of(opening)
        if other_budget or unit not in (None, opening.unit):
            budget = format_budget(opening.epsilon, opening.delta, opening.worst_case_only)
            shares = {who: float(epsilon) for who, epsilon in opening.share.items()} or None
            raise LedgerError(
                f"the ledger of {self.dataset!r} was opened with {budget}, share={shares}, "
                f"parts={opening.parts}, unit={opening.unit!r}; "
                f"found another {'budget' if other_budget else 'unit'}. It cannot be changed; omit "
                "epsilon=, unit= and create= to open the ledger as it is"
            )

    def _loss(self, epsilon: float, delta: float, assumption: object) -> Loss:
        assumption = None if assumption is None else str(assumption)
        return _checked_loss(epsilon, delta)._replace(
            assumption=assumption, who=self.who or _account(), parts=self._parts
        )

    def _verify(self, reports: Mapping[str, Published]) -> Receipt:
        """Return a receipt of the last charge; LedgerError if one of these reports is missing."""
        opening, entries = self._verified()
        lines: list[Opening | Entry] = [opening, *entries]
        for name, report in reports.items():
            if not report.receipts:
                raise ValueError(f"{name} reports a release that no ledger was charged for")
            for receipt in report.receipts:
                if problem := _why_missing(receipt, opening.ledger, lines):
                    raise LedgerError(
                        f"the ledger is not the one that these releases were charged to. {name}: "
                        f"{problem}. At least what was published has been spent: restore the "
                        "ledger, or do not continue"
                    )
            problems = (
                _why_other(receipt, _receipt_of(opening, lines[receipt.charge]))
                for receipt in report.receipts
            )
            if problem := next(filter(None, problems), "") or report.differs(opening, entries):
                raise LedgerError(
                    f"a report is not as it was written, or is of another release. {name}: "
                    f"{problem}. What counts is the ledger"
                )
        return _receipt_of(opening, lines[-1])

    def _read_ends(self, book: Book) -> tuple[Opening, Opening | Entry]:
        """Read the lines that decide on a charge: the opening and the last one (maybe the same)."""
        first = book.first()
        opening = Opening.parse(first)
        if opening.dataset != self.dataset:
            raise DamagedError(
                f"there is no ledger of {self.dataset!r} in it: it is the ledger of "
                f"{opening.dataset!r}, and a file holds one ledger"
            )
        if missing := set(self._parts) - set(opening.parts):
            raise DamagedError(f"it is another ledger: it has no parts {sorted(missing)}")
        last = book.last()
        if last != first and opening.parts:
            # A line may state less than was charged to a part, and no store looks at that.
            *_, entry = self._entries(opening, book)
            return opening, entry
        return opening, opening if last == first else Entry.parse(last)

    def _entries(self, opening: Opening, book: Book) -> Iterator[Entry]:
        """Return all charges, with the whole chain verified."""
        lines = iter(book.lines())
        next(lines)  # the opening
        return verified_entries(opening, lines)

    def _overview(self) -> dict[str, Any]:
        return display.overview(*self._ends(), self._parts)

    def _ends(self) -> tuple[Opening, Opening | Entry]:
        with _ledger_errors(self.path), self._transaction() as book:
            return self._read_ends(book)

    def _verified(self) -> tuple[Opening, list[Entry]]:
        """Return the opening and all charges, with the whole chain verified."""
        with _ledger_errors(self.path), self._transaction() as book:
            opening, _ = self._read_ends(book)
            return opening, list(self._entries(opening, book))

    def _transaction(self, *, write: bool = False) -> AbstractContextManager[Book]:
        if server.is_url(self.path):
            return server.ServerBook.locked(self.path, self.dataset, write)
        return file.FileBook(self.path, write)


class Published(NamedTuple):
    """Statements of a report about its charges.

    `loss` is (epsilon, delta, unit, assumption), or empty.
    """

    receipts: tuple[Receipt, ...]
    loss: tuple[Any, ...] = ()

    @classmethod
    def by(cls, report: Mapping[str, Any]) -> Published:
        """Read `PrivacyReport.to_dict`; KeyError or TypeError if that is something else."""
        receipts = tuple(Receipt(**fields) for fields in report["ledger"])
        if len({(receipt.ledger, str(receipt.charge)) for receipt in receipts}) < len(receipts):
            raise ValueError("a charge is listed twice")
        facts = ("epsilon", "delta", "unit", "assumption")
        return cls(receipts, tuple(report[name] for name in facts))

    def differs(self, opening: Opening, entries: Sequence[Entry]) -> str:
        """Describe the first difference between `loss` and the ledger; return "" for none."""
        charges = [entries[receipt.charge - 1] for receipt in self.receipts]
        expected = (
            sum(as_granted(entry.epsilon) for entry in charges),
            sum(as_granted(entry.delta) for entry in charges),
            "record" if opening.unit == "record" else "group",
            next((entry.assumption for entry in charges if entry.assumption), None),
        )
        for name, said, charged in zip(
            ("epsilon", "delta", "unit", "assumption"), self.loss, expected, strict=False
        ):
            if name == "assumption" and said is not None:
                said = shortened(said)
            if name == "unit" and said == "instance":
                said = "record"  # each record of such a ledger is an instance
            if name == "delta" and said == 0.0:
                continue  # Laplace noise left all of it
            if isinstance(said, bool) or said != charged:
                numbers = ", ".join(str(entry.number) for entry in charges)
                return f"it says {name}={said!r}; charge {numbers} was made for {charged!r}"
        return ""


def checked_place(path: object) -> str:
    """Return the absolute path of a file, or the URL of a database; raise ValueError if neither."""
    path = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(path, str) or "\0" in path:
        # Do not show the value: it may be a URL with a password.
        raise ValueError("path must be the path of a file or a URL, as a str without NUL")
    if server.is_url(path):
        return server.checked_url(path)
    # An absolute path stays valid if the process changes its directory.
    return os.path.abspath(os.path.expanduser(path))


def dataset_of(path: str) -> str:
    """Return the name of the data set whose ledger is in a file."""
    place = checked_place(path)
    if server.is_url(place):
        raise LedgerError("a database may have several ledgers: name the data set, --dataset NAME")
    with _ledger_errors(place), file.FileBook(place, write=False) as book:
        return Opening.parse(book.first()).dataset


def _why_missing(receipt: Receipt, ledger: str, lines: Sequence[Opening | Entry]) -> str:
    """Explain why a ledger with these lines lacks a charge; return "" if it does not."""
    if receipt.ledger != ledger:
        return (
            f"charged to the ledger {receipt.ledger}; found {ledger}, which is another one, or was "
            "started anew"
        )
    if type(receipt.charge) is not int or receipt.charge < 1:
        return f"no charge has the number {receipt.charge!r}"
    if receipt.charge >= len(lines):
        return (
            f"charge {receipt.charge} is missing, the last one is {len(lines) - 1}: an older copy "
            "was restored, or a server failed over to an older state"
        )
    if receipt.head != lines[receipt.charge].hash:
        return f"charge {receipt.charge} differs: the ledger was continued from an older copy"
    return ""


def _receipt_of(opening: Opening, line: Opening | Entry) -> Receipt:
    """Return the receipt of a charge, or of a ledger without charges."""
    if isinstance(line, Opening):
        return Receipt(opening.ledger, 0, line.hash)
    names = " and ".join(line.parts)
    parts = f"for records of {names} alone: {DISJOINT}" if names else ""
    return Receipt(opening.ledger, line.number, line.hash, parts, line.mechanism, line.purpose)


def _why_other(said: Receipt, charged: Receipt) -> str:
    """Describe the first field of a receipt that differs from that of its charge, or return ""."""
    for name, ours, theirs in zip(Receipt._fields, charged, said, strict=True):
        if ours != theirs:
            return f"it says {name}={theirs!r}; charge {charged.charge} was made for {ours!r}"
    return ""


@contextlib.contextmanager
def _ledger_errors(place: str) -> Iterator[None]:
    """Raise errors of a file or a server as LedgerError."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        raise LedgerError(
            f"the ledger {place} cannot be used: {error or type(error).__name__}. "
            "Nothing may be released without it"
        ) from None


def _account() -> str:
    """Return the name of the account that runs the process."""
    try:
        return getpass.getuser().encode("utf-8", "replace").decode()
    except (OSError, KeyError, ImportError):  # an account without a name
        return "unknown"


def _checked_name(name: str, text: object) -> str:
    """Return the name of a data set, unit, purpose or analyst without spaces around it."""
    if not isinstance(text, str) or not text.strip() or len(text) > 200:
        raise ValueError(
            f"{name} must be a str of 1 to 200 characters that is not blank; found {text!r}"
        )
    return unicodedata.normalize("NFC", text.strip()).encode("utf-8", "replace").decode()


def _checked_parts(parts: Sequence[str]) -> tuple[str, ...]:
    if isinstance(parts, str) or len(parts) > _MAX_SHARES:
        raise ValueError(f"parts must be at most {_MAX_SHARES} names; found {parts!r}")
    names = tuple(_checked_name("name in parts", name) for name in parts)
    if len(set(names)) < len(names):
        raise ValueError(f"parts must have different names; found {names}")
    return names


def _checked_loss(epsilon: float, delta: float) -> Loss:
    loss = Loss(parse_decimal("epsilon", epsilon), parse_decimal("delta", delta))
    if not loss.epsilon > 0:
        raise ValueError(f"epsilon must be above 0; found {epsilon!r}")
    if not loss.delta < 1:
        raise ValueError(f"delta must be in [0, 1); found {delta!r}")
    return loss


def _checked_shares(share: Mapping[str, float] | None) -> dict[str, Decimal]:
    if not isinstance(share or {}, Mapping) or len(share or {}) > _MAX_SHARES:
        raise ValueError(
            f"share must be a dict of at most {_MAX_SHARES} analysts, such as {{'ana': 1.0}}; "
            f"found {share!r}"
        )
    return {
        _checked_name("name in share", who): parse_decimal(f"share of {who!r}", epsilon)
        for who, epsilon in (share or {}).items()
    }
