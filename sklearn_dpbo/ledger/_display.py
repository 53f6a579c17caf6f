"""What a ledger shows: as text, HTML, tables, and dicts for JSON and CSV (zone: public).

Whoever may charge a ledger chooses the texts in it. What is not printable is shown escaped, so
that a text cannot change what a terminal shows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..report._card import card
from ._composition import format_budget, format_loss
from ._decimal import round_down_decimal
from ._entries import Entry, Opening, Totals

__all__ = [
    "as_csv",
    "as_html",
    "as_text",
    "history_table",
    "overview",
    "overview_text",
    "sums",
    "what_is_left",
]

# Longest text in a table, and the number of charges that `print` and HTML show.
_MAX_WIDTH = 60
_NOT_SHOWN = ("squares", "shares")
_N_PRINTED = 20
_N_ON_CARD = 5


def sums(totals: Totals) -> dict[str, float]:
    """Return the sums of epsilon and delta, over all charges and over those on assumptions."""
    return {name: float(x) for name, x in totals._asdict().items() if name not in _NOT_SHOWN}


def what_is_left(opening: Opening, totals: Totals) -> dict[str, float]:
    """Return epsilon, and half of delta, minus the sums over all charges; rounded down."""
    left = {"epsilon": opening.epsilon - totals.epsilon, "delta": opening.delta / 2 - totals.delta}
    return {name: _rest(x) for name, x in left.items()}


def _rest(x: Fraction) -> float:
    return round_down_decimal(max(Fraction(0), x))


def overview(opening: Opening, last: Opening | Entry) -> dict[str, Any]:
    """Return all but the history, from the first and the last line."""
    return {
        "dataset": opening.dataset,
        "ledger": opening.ledger,
        "unit": opening.unit,
        "budget": {
            "epsilon": float(opening.epsilon),
            "delta": float(opening.delta),
            "worst_case_only": opening.worst_case_only,
        },
        "spent": sums(last.totals),
        "left": what_is_left(opening, last.totals),
        "shares": {
            who: {"epsilon": float(share), "left": _rest(share - last.totals.shares[who])}
            for who, share in opening.share.items()
        },
        "charges": last.number,
    }


def overview_text(opening: Opening, last: Opening | Entry) -> str:
    lines = [f"  {label:9}{text}" for label, text in _facts(opening, last)]
    return "\n".join([_title(opening), *lines])


def history_table(entries: Sequence[Entry]) -> str:
    """Return charges as a table, with the columns in which there is something."""
    rows = [{name: _cell(name, value) for name, value in e.row().items()} for e in entries]
    if not rows:
        return "no charges"
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    titles = {name: "time (UTC)" if name == "time" else name for name in names}
    widths = {name: max(len(row[name]) for row in [titles, *rows]) for name in names}
    lines = (
        "  ".join(f"{row[name]:{widths[name]}}" for name in names).rstrip()
        for row in [titles, *rows]
    )
    return "\n".join(lines)


def as_text(opening: Opening, entries: Sequence[Entry]) -> str:
    lines = [overview_text(opening, entries[-1] if entries else opening)]
    if (n_earlier := len(entries) - _N_PRINTED) > 0:
        lines.append(f"... and {n_earlier} earlier")
    if entries:
        lines.append(history_table(entries[-_N_PRINTED:]))
    return "\n".join(lines)


def as_html(opening: Opening, entries: Sequence[Entry]) -> str:
    """Return the overview, with a bar of what is left, and the last charges, as HTML."""
    last = entries[-1] if entries else opening
    rows = [
        (label, [text, _bar(opening, last)] if label == "left" else [text])
        for label, text in _facts(opening, last)
    ]
    charges = []
    for entry in reversed(entries[-_N_ON_CARD:]):
        who_and_what = ", ".join(filter(None, (entry.who, entry.what, entry.estimator)))
        text = f"{entry.number}: {format_loss(entry.epsilon, entry.delta)}: {who_and_what}"
        charges.append(f"{_cell('time', entry.time)}, {_printable(text)}")
    if charges:
        rows.append(("last charges", charges))
    return card(_title(opening), rows)


def as_csv(entries: Sequence[Entry]) -> str:
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(Entry._fields[: Entry._fields.index("totals")])
    writer.writerows(entry.row().values() for entry in entries)
    return table.getvalue()


def _title(opening: Opening) -> str:
    return f"Privacy ledger of {opening.dataset!r}"


def _facts(opening: Opening, last: Opening | Entry) -> list[tuple[str, str]]:
    totals = last.totals
    spent, left = format_loss(*totals[:2]), what_is_left(opening, totals)
    if totals.epsilon_on_assumptions:
        assumed = format_loss(totals.epsilon_on_assumptions, totals.delta_on_assumptions)
        spent += f"; of this on assumptions: {assumed}"
    # With delta, zero-concentrated differential privacy may admit more than the sums leave.
    at_least = "at least " * (opening.delta > 0)
    facts = [
        ("unit", _printable(opening.unit)),
        ("budget", format_budget(opening)),
        ("spent", spent),
        ("left", at_least + ", ".join(f"{name}={_exact(x)}" for name, x in left.items())),
    ]
    shares = [
        f"{_printable(who)} {_exact(_rest(share - totals.shares[who]))} of {float(share):g}"
        for who, share in opening.share.items()
    ]
    if shares:
        facts.append(("shares", "epsilon left: " + ", ".join(shares)))
    return [*facts, ("charges", str(last.number))]


def _bar(opening: Opening, last: Opening | Entry) -> str:
    share = max(Fraction(0), 1 - last.totals.epsilon / opening.epsilon)
    n_full = int(20 * share)
    return f"{'█' * n_full}{'░' * (20 - n_full)} {int(100 * share)} % of epsilon"


def _exact(x: float) -> str:
    return repr(x).removesuffix(".0")


def _cell(name: str, value: Any) -> str:
    if name == "time":
        return _printable(value)[:19].replace("T", " ")
    if isinstance(value, float):
        return f"{value:g}"
    text = "" if value is None else _printable(str(value))
    return text if len(text) <= _MAX_WIDTH else text[: _MAX_WIDTH - 1] + "…"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
