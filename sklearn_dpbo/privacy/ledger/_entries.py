"""Lines of a ledger: the opening, and one for each charge (zone: public).

A line is a JSON object. It ends with the hash of the text before the hash, which includes the hash
of the previous line: the lines form a chain. Each charge carries the totals of all charges up to
it, so that the last line is enough to decide on the next charge.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any, NamedTuple

from ._decimal import EXACT

FORMAT = "sklearn_dpbo ledger 4"
_DAMAGED = "it has been damaged or tampered with"
# Longest text, in characters; longer ones are cut off, as a line should fit on a page of a disk.
_MAX_TEXT = 500
_HASH = re.compile(r'(.*), "hash": "([0-9a-f]{64})"\}', re.DOTALL)
# Errors of `Opening` and `Entry` if a line lacks fields, has others, or has invalid numbers.
_WRONG_FIELDS = (TypeError, ValueError, KeyError, AttributeError, InvalidOperation)


class DamagedError(OSError):
    """Raised if a line was changed, or does not belong here."""


class Loss(NamedTuple):
    """A privacy loss per unit, the assumption that it depends on, if any, and who charged it.

    All records that were used are in `parts`; if it is empty, they may be in any part.
    """

    epsilon: Decimal
    delta: Decimal
    assumption: str | None = None
    who: str = ""
    parts: tuple[str, ...] = ()


class Totals(NamedTuple):
    """Sums over all charges; epsilon by analyst with a share; epsilon and delta by part."""

    epsilon: Decimal = Decimal(0)
    delta: Decimal = Decimal(0)
    shares: Mapping[str, Decimal] = {}
    parts: Mapping[str, tuple[Decimal, Decimal]] = {}

    def plus(self, loss: Loss) -> Totals:
        """Add a loss: to the sums, to the share of who charged it, and to its parts (none: all)."""
        shares = dict(self.shares)
        if loss.who in shares:
            shares[loss.who] = EXACT.add(shares[loss.who], loss.epsilon)
        parts = {
            name: _sum(lost, loss) if name in (loss.parts or self.parts) else lost
            for name, lost in self.parts.items()
        }
        return Totals(*_sum(self[:2], loss), shares, parts)

    def lost(self, parts: Iterable[str] = ()) -> tuple[Decimal, Decimal]:
        """Return the largest epsilon and delta of these parts (none: of all parts)."""
        losses = [self.parts[name] for name in parts or self.parts] or [self[:2]]
        return max(epsilon for epsilon, _ in losses), max(delta for _, delta in losses)


def _sum(lost: tuple[Decimal, Decimal], loss: Loss) -> tuple[Decimal, Decimal]:
    return EXACT.add(lost[0], loss.epsilon), EXACT.add(lost[1], loss.delta)


class Opening(NamedTuple):
    """The first line of a ledger, with the data set and its budget.

    `ledger` is an identifier, drawn at random. `share` is the epsilon that each analyst may spend
    (empty: any analyst may spend all). `parts` have no record in common, by the owner's word
    (empty: there are none). `time` is that of the creation, in UTC, in ISO 8601 format. `hash` is
    that of the line.
    """

    ledger: str
    dataset: str
    unit: str
    epsilon: Decimal
    delta: Decimal
    worst_case_only: bool
    share: Mapping[str, Decimal]
    parts: tuple[str, ...]
    time: str
    hash: str = ""

    def has_budget_of(self, other: Opening) -> bool:
        """Return True if two openings have the same budget, with the same shares and parts."""
        names = ("epsilon", "delta", "worst_case_only", "share", "parts")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    @property
    def number(self) -> int:
        return 0

    @property
    def totals(self) -> Totals:
        nothing = Decimal(0)
        return Totals(
            shares=dict.fromkeys(self.share, nothing),
            parts=dict.fromkeys(self.parts, (nothing, nothing)),
        )

    def line(self) -> str:
        """Return the line that stores it."""
        return _sealed({"format": FORMAT, **self._asdict()})

    @classmethod
    def parse(cls, line: str) -> Opening:
        """Read an opening from its line; DamagedError if the line is not an intact opening."""
        if not line.startswith('{"format": "sklearn_dpbo ledger '):
            raise DamagedError("this is not a ledger")
        fields = _unsealed(line)
        if (version := fields.pop("format")) != FORMAT:
            raise DamagedError(f"this version reads {FORMAT!r}; found {version!r}")
        try:
            fields |= {name: Decimal(fields[name]) for name in ("epsilon", "delta")}
            fields["share"] = {name: Decimal(x) for name, x in fields["share"].items()}
            fields["parts"] = tuple(fields["parts"])
            return cls(**fields)
        except _WRONG_FIELDS:
            raise DamagedError(_DAMAGED) from None


class Entry(NamedTuple):
    """A charge; texts are "" if they are not known.

    `number` begins at 1. `time` is in UTC, in ISO 8601 format. `totals` are over all charges up to
    this one. `previous` and `hash` are the hashes of the line before and of this line; each covers
    all lines up to it.
    """

    number: int
    time: str
    epsilon: Decimal
    delta: Decimal
    who: str
    estimator: str
    purpose: str
    mechanism: str
    what: str
    assumption: str | None
    parts: tuple[str, ...]
    totals: Totals
    previous: str
    hash: str = ""

    @classmethod
    def after(cls, last: Opening | Entry, loss: Loss, **texts: object) -> Entry:
        """Return the entry of a charge that follows the last line."""
        epsilon, delta, assumption, who, parts = loss
        cut = {name: shortened(text or "") for name, text in texts.items()}
        entry = cls(number=last.number + 1, epsilon=epsilon, delta=delta, who=who, **cut,
                    assumption=None if assumption is None else shortened(assumption), parts=parts,
                    totals=last.totals.plus(loss), previous=last.hash)  # fmt: skip
        return entry._replace(hash=_HASH.fullmatch(entry.line())[2])  # type: ignore[index]

    def line(self) -> str:
        """Return the line that stores it."""
        return _sealed(self._asdict())

    @classmethod
    def parse(cls, line: str) -> Entry:
        """Read a charge from its line; DamagedError if the line is not an intact charge."""
        fields = _unsealed(line)
        try:
            fields |= {name: Decimal(fields[name]) for name in ("epsilon", "delta")}
            epsilon, delta, shares, parts = fields["totals"]
            shares = {who: Decimal(x) for who, x in shares.items()}
            parts = {name: (Decimal(e), Decimal(d)) for name, (e, d) in parts.items()}
            totals = Totals(Decimal(epsilon), Decimal(delta), shares, parts)
            entry = cls(**fields | {"totals": totals, "parts": tuple(fields["parts"])})
            # Anybody can compute a valid hash; a loss below 0 would give back what was spent.
            numbers = [entry.delta, *totals[:2], *shares.values(), *chain(*parts.values())]
            if entry.epsilon > 0 and min(numbers) >= 0:
                return entry
        except _WRONG_FIELDS:
            pass
        raise DamagedError(_DAMAGED)

    @property
    def loss(self) -> Loss:
        return Loss(self.epsilon, self.delta, self.assumption, self.who, self.parts)

    def row(self) -> dict[str, Any]:
        """Return the entry as a row of a table, with epsilon and delta as floats."""
        fields = self._asdict() | {"epsilon": float(self.epsilon), "delta": float(self.delta)}
        fields["parts"] = ", ".join(self.parts)
        return {name: fields[name] for name in self._fields[: self._fields.index("totals")]}


def verified_entries(opening: Opening, lines: Iterable[str]) -> Iterator[Entry]:
    """Yield the charges in these lines, or raise DamagedError where the chain does not hold."""
    last: Opening | Entry = opening
    for line in lines:
        entry = Entry.parse(line)
        follows = (entry.number, entry.previous) == (last.number + 1, last.hash)
        # A charge to an unknown part would count for none.
        parts_exist = set(entry.parts) <= set(opening.parts)
        if not (follows and parts_exist and entry.totals == last.totals.plus(entry.loss)):
            raise DamagedError(f"{_DAMAGED}, at charge {last.number + 1}")
        yield entry
        last = entry


def _sealed(fields: dict[str, Any]) -> str:
    """Format fields as a line that ends with their hash."""
    content = json.dumps(fields | {"hash": ""}, default=str).removesuffix(', "hash": ""}')
    return f'{content}, "hash": "{hashlib.sha256(content.encode()).hexdigest()}"}}'


def _unsealed(line: str) -> dict[str, Any]:
    """Read the fields of a line, with its hash; DamagedError if the hash is wrong."""
    parts = _HASH.fullmatch(line)
    if parts is None or hashlib.sha256(parts[1].encode()).hexdigest() != parts[2]:
        raise DamagedError(_DAMAGED)
    try:
        fields: dict[str, Any] = json.loads(line)
    except ValueError:
        raise DamagedError(_DAMAGED) from None
    return fields


def shortened(text: object) -> str:
    """Shorten a text to _MAX_TEXT; remove surrogates and NUL, which no file should contain."""
    clean = str(text).encode("utf-8", "replace").decode().replace("\0", "")
    return clean if len(clean) <= _MAX_TEXT else clean[: _MAX_TEXT - 1] + "…"
