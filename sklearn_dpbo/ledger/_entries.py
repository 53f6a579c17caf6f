"""The lines of a ledger: the opening, and one for each charge (zone: public).

A line is a JSON object. It ends with the hash of all that stands before it in the line, and that
includes the hash of the line before: the lines form a chain. Each charge carries the totals of all
charges up to it, so that the last line is enough to decide on the next charge.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from ._decimal import decimal_text

__all__ = ["DamagedError", "Entry", "Loss", "Opening", "Totals", "salvaged", "verified_entries"]

FORMAT = "sklearn_dpbo ledger 2"
_DAMAGED = "it has been damaged or tampered with"
# Longer texts are cut off: a line should fit on a page of a disk.
_MAX_TEXT = 500
# Totals are exact up to this many decimals, and rounded up beyond, so that lines stay short.
_MAX_DECIMALS = 700
_MAX_DENOMINATOR = 10**_MAX_DECIMALS
_HASH = re.compile(r'(.*), "hash": "([0-9a-f]{64})"\}', re.DOTALL)
# Numbers as `decimal_text` writes them: no hash protects a piece of a line.
_NUMBER = r'"(\d{1,1000}(?:\.\d{1,20}|e-\d{1,4}|/[1-9]\d{0,999})?)"'
_BEGINNING = re.compile(rf'\{{"charge": \d+, "epsilon": {_NUMBER}, "delta": {_NUMBER}', re.ASCII)
# Cached because parsing takes microseconds and a long history has few different numbers.
_fraction = lru_cache(4096)(Fraction)


class DamagedError(OSError):
    """A line is not as it was written, or does not belong here."""


class Loss(NamedTuple):
    """A privacy loss, per unit, and the assumption that it depends on, if any."""

    epsilon: Fraction
    delta: Fraction
    assumption: str | None = None


class Totals(NamedTuple):
    """Sums over all charges, and over those on assumptions; rounded up beyond 700 decimals.

    `squares`: of epsilon.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    squares: Fraction = Fraction(0)
    epsilon_on_assumptions: Fraction = Fraction(0)
    delta_on_assumptions: Fraction = Fraction(0)

    def plus(self, loss: Loss) -> Totals:
        epsilon, delta, assumption = loss
        assumed = assumption is not None
        added = (epsilon, delta, epsilon * epsilon, epsilon * assumed, delta * assumed)
        return Totals(*(_rounded_up(x + y) for x, y in zip(self, added, strict=True)))


class Opening(NamedTuple):
    """The first line: which data set this is, and its budget.

    `ledger`: drawn at random when it was created; `time`: then, in UTC, in ISO 8601 format; `hash`:
    of the line.
    """

    ledger: str
    dataset: str
    unit: str
    epsilon: Fraction
    delta: Fraction
    worst_case_only: bool
    time: str
    hash: str = ""

    @property
    def budget(self) -> tuple[Fraction, Fraction, bool]:
        return self.epsilon, self.delta, self.worst_case_only

    @property
    def number(self) -> int:
        return 0

    @property
    def totals(self) -> Totals:
        return Totals()

    def line(self) -> str:
        """Return the line that stores it."""
        texts = {"epsilon": decimal_text(self.epsilon), "delta": decimal_text(self.delta)}
        fields = {"format": FORMAT, **self._asdict(), **texts}
        del fields["hash"]
        return _sealed(fields)

    @classmethod
    def parse(cls, line: str) -> Opening:
        """Return what a line stores; raise DamagedError if it is no intact opening."""
        if not line.startswith('{"format": "sklearn_dpbo ledger '):
            raise DamagedError("this is not a ledger")
        fields = _unsealed(line)
        if (found := fields.pop("format")) != FORMAT:
            raise DamagedError(f"this version reads {FORMAT!r}; found {found!r}")
        try:
            fields |= {name: Fraction(fields[name]) for name in ("epsilon", "delta")}
            return cls(**fields)
        except (TypeError, ValueError, KeyError, ZeroDivisionError):
            raise DamagedError(_DAMAGED) from None


class Entry(NamedTuple):
    """One charge; texts are "" if they are not known.

    `number`: from 1; `totals`: over all charges up to this one; `time`: UTC, in ISO 8601 format;
    `previous`, `hash`: of the line before and of this one, and so of all lines up to it.
    """

    number: int
    loss: Loss
    time: str
    what: str
    mechanism: str
    estimator: str
    purpose: str
    totals: Totals
    previous: str
    hash: str = ""

    @classmethod
    def after(cls, last: Opening | Entry, loss: Loss, time: str, **texts: object) -> Entry:
        """Return the entry of a charge that follows on another line."""
        loss = loss._replace(assumption=_cut(loss.assumption))
        cut = {name: _cut(text) or "" for name, text in texts.items()}
        entry = cls(last.number + 1, loss, time, **cut, totals=last.totals.plus(loss),
                    previous=last.hash)  # fmt: skip
        return entry._replace(hash=_HASH.fullmatch(entry.line())[2])  # type: ignore[index]

    def line(self) -> str:
        """Return the line that stores it. The loss comes first: it is read if the line is cut."""
        fields = {
            "charge": self.number,
            "epsilon": decimal_text(self.loss.epsilon),
            "delta": decimal_text(self.loss.delta),
            "assumption": self.loss.assumption,
            **{name: getattr(self, name) for name in _TEXTS},
            "totals": [decimal_text(total) for total in self.totals],
            "previous": self.previous,
        }
        return _sealed(fields)

    @classmethod
    def parse(cls, line: str) -> Entry:
        """Return what a line stores; raise DamagedError if it is no intact charge."""
        fields = _unsealed(line)
        try:
            loss = Loss(
                _fraction(fields["epsilon"]), _fraction(fields["delta"]), fields["assumption"]
            )
            totals = Totals(*(_fraction(total) for total in fields["totals"]))
            texts = {name: fields[name] for name in _TEXTS}
            entry = cls(fields["charge"], loss, **texts, totals=totals,
                        previous=fields["previous"], hash=fields["hash"])  # fmt: skip
        except (TypeError, ValueError, KeyError, ZeroDivisionError):
            raise DamagedError(_DAMAGED) from None
        # Anybody can compute a valid hash, and a loss below 0 would give back what was spent.
        if not (loss.epsilon > 0 and loss.delta >= 0 and min(totals) >= 0):
            raise DamagedError(_DAMAGED)
        return entry

    def row(self) -> dict[str, Any]:
        """Return the entry as a row of a table, with epsilon and delta as floats."""
        return {
            "number": self.number,
            "time": self.time,
            "what": self.what,
            "mechanism": self.mechanism,
            "estimator": self.estimator,
            "purpose": self.purpose,
            "epsilon": float(self.loss.epsilon),
            "delta": float(self.loss.delta),
            "assumption": self.loss.assumption,
        }


_TEXTS = ("time", "what", "mechanism", "estimator", "purpose")


def verified_entries(opening: Opening, lines: Iterable[str]) -> Iterator[Entry]:
    """Yield the charges in these lines, or raise DamagedError where the chain does not hold."""
    last: Opening | Entry = opening
    for line in lines:
        entry = Entry.parse(line)
        follows = (entry.number, entry.previous) == (last.number + 1, last.hash)
        if not (follows and entry.totals == last.totals.plus(entry.loss)):
            raise DamagedError(f"{_DAMAGED}, at charge {last.number + 1}")
        yield entry
        last = entry


def salvaged(pieces: Iterable[str]) -> Loss | None:
    """Return the sum of the losses that can be read in lines that were cut off; None for none.

    Nothing was released for them: a release waits until its line is on the disk.
    """
    epsilon = delta = Fraction(0)
    for found in filter(None, map(_BEGINNING.match, pieces)):
        epsilon, delta = epsilon + Fraction(found[1]), delta + Fraction(found[2])
    return Loss(_rounded_up(epsilon), _rounded_up(delta)) if epsilon > 0 else None


def _sealed(fields: dict[str, Any]) -> str:
    content = json.dumps(fields)[:-1]
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


def _cut(text: object) -> str | None:
    """Return a text of bounded length without surrogates and NUL, which no file should contain."""
    if text is None:
        return None
    clean = str(text).encode("utf-8", "replace").decode().replace("\0", "")
    return clean if len(clean) <= _MAX_TEXT else clean[: _MAX_TEXT - 1] + "…"


def _rounded_up(x: Fraction) -> Fraction:
    """Return x if it has at most so many decimals, or is such a ratio; else a little more."""
    if x.denominator <= _MAX_DENOMINATOR:
        return x
    return Fraction(-(-x.numerator * _MAX_DENOMINATOR // x.denominator), _MAX_DENOMINATOR)
