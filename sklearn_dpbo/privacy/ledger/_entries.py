"""The lines of a ledger: the opening, and one for each charge (zone: public).

A line is a JSON object. It ends with the hash of all that stands before it in the line, and that
includes the hash of the line before: the lines form a chain. Each charge carries the totals of all
charges up to it, so that the last line is enough to decide on the next charge.
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
# Longer texts are cut off: a line should fit on a page of a disk.
_MAX_TEXT = 500
_HASH = re.compile(r'(.*), "hash": "([0-9a-f]{64})"\}', re.DOTALL)
# What `Opening` and `Entry` raise if a line lacks fields, has others, or numbers that are none.
_WRONG_FIELDS = (TypeError, ValueError, KeyError, AttributeError, InvalidOperation)


class DamagedError(OSError):
    """A line is not as it was written, or does not belong here."""


class Loss(NamedTuple):
    """A privacy loss per unit, the assumption that it depends on, if any, and who charged it.

    `parts` are those that have all its records (empty: any part may).
    """

    epsilon: Decimal
    delta: Decimal
    assumption: str | None = None
    who: str = ""
    parts: tuple[str, ...] = ()


class Totals(NamedTuple):
    """Sums over all charges, epsilons of analysts with a share, and what records of parts lost."""

    epsilon: Decimal = Decimal(0)
    delta: Decimal = Decimal(0)
    shares: Mapping[str, Decimal] = {}
    parts: Mapping[str, tuple[Decimal, Decimal]] = {}

    def plus(self, loss: Loss) -> Totals:
        shares = dict(self.shares)
        if loss.who in shares:
            shares[loss.who] = EXACT.add(shares[loss.who], loss.epsilon)
        parts = {
            name: _sum(lost, loss) if name in (loss.parts or self.parts) else lost
            for name, lost in self.parts.items()
        }
        return Totals(*_sum(self[:2], loss), shares, parts)

    def lost(self, parts: Iterable[str] = ()) -> tuple[Decimal, Decimal]:
        """Return the largest epsilon and delta that a record of these parts lost (none: any)."""
        each = [self.parts[name] for name in parts or self.parts] or [self[:2]]
        return max(epsilon for epsilon, _ in each), max(delta for _, delta in each)


def _sum(lost: tuple[Decimal, Decimal], loss: Loss) -> tuple[Decimal, Decimal]:
    return EXACT.add(lost[0], loss.epsilon), EXACT.add(lost[1], loss.delta)


class Opening(NamedTuple):
    """The first line: which data set this is, and its budget.

    `ledger`: drawn at random when it was created; `share`: of epsilon, that each analyst may spend
    (empty: any analyst may spend all); `parts`: that have no record in common, by the owner's word
    (empty: none are known); `time`: of the creation, in UTC, in ISO 8601 format; `hash`:
    of the line.
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

    @property
    def budget(self) -> tuple[Decimal, Decimal, bool, Mapping[str, Decimal], tuple[str, ...]]:
        return self.epsilon, self.delta, self.worst_case_only, self.share, self.parts

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
        """Return what a line stores; raise DamagedError if it is no intact opening."""
        if not line.startswith('{"format": "sklearn_dpbo ledger '):
            raise DamagedError("this is not a ledger")
        fields = _unsealed(line)
        if (found := fields.pop("format")) != FORMAT:
            raise DamagedError(f"this version reads {FORMAT!r}; found {found!r}")
        try:
            fields |= {name: Decimal(fields[name]) for name in ("epsilon", "delta")}
            fields["share"] = {name: Decimal(x) for name, x in fields["share"].items()}
            fields["parts"] = tuple(fields["parts"])
            return cls(**fields)
        except _WRONG_FIELDS:
            raise DamagedError(_DAMAGED) from None


class Entry(NamedTuple):
    """One charge; texts are "" if they are not known.

    `number`: from 1; `time`: UTC, in ISO 8601 format; `totals`: over all charges up to this one;
    `previous`, `hash`: of the line before and of this one, and so of all lines up to it.
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
        """Return the entry of a charge that follows on another line."""
        epsilon, delta, assumption, who, parts = loss
        cut = {name: _cut(text or "") for name, text in texts.items()}
        entry = cls(number=last.number + 1, epsilon=epsilon, delta=delta, who=who, **cut,
                    assumption=None if assumption is None else _cut(assumption), parts=parts,
                    totals=last.totals.plus(loss), previous=last.hash)  # fmt: skip
        return entry._replace(hash=_HASH.fullmatch(entry.line())[2])  # type: ignore[index]

    def line(self) -> str:
        """Return the line that stores it."""
        return _sealed(self._asdict())

    @classmethod
    def parse(cls, line: str) -> Entry:
        """Return what a line stores; raise DamagedError if it is no intact charge."""
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
        known = set(entry.parts) <= set(opening.parts)
        if not (follows and known and entry.totals == last.totals.plus(entry.loss)):
            raise DamagedError(f"{_DAMAGED}, at charge {last.number + 1}")
        yield entry
        last = entry


def _sealed(fields: dict[str, Any]) -> str:
    """Return fields as a line, with their hash as the last one."""
    content = json.dumps(fields | {"hash": ""}, default=str).removesuffix(', "hash": ""}')
    return f'{content}, "hash": "{hashlib.sha256(content.encode()).hexdigest()}"}}'


def _unsealed(line: str) -> dict[str, Any]:
    """Return the fields of an intact line, with its hash."""
    parts = _HASH.fullmatch(line)
    if parts is None or hashlib.sha256(parts[1].encode()).hexdigest() != parts[2]:
        raise DamagedError(_DAMAGED)
    try:
        fields: dict[str, Any] = json.loads(line)
    except ValueError:
        raise DamagedError(_DAMAGED) from None
    return fields


def _cut(text: object) -> str:
    """Return a text of bounded length without surrogates and NUL, which no file should contain."""
    clean = str(text).encode("utf-8", "replace").decode().replace("\0", "")
    return clean if len(clean) <= _MAX_TEXT else clean[: _MAX_TEXT - 1] + "…"
