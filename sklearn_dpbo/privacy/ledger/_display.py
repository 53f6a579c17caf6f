"""Ledgers as dicts and as text (zone: public).

Whoever may charge a ledger chooses the texts in it. Characters that are not printable are escaped,
so that no text can change how a terminal shows the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from ._composition import DISJOINT, format_budget, format_loss
from ._decimal import EXACT, round_down_decimal
from ._entries import Entry, Opening

# Longest text in a table, and the number of charges that `print` shows.
_MAX_WIDTH = 60
_N_PRINTED = 20


def overview(opening: Opening, last: Opening | Entry, parts: Sequence[str] = ()) -> dict[str, Any]:
    """Return all but the history, from the first and the last line; "spent" is that of parts."""
    spent = last.totals
    epsilon, delta = spent.lost(parts)
    return {
        "dataset": opening.dataset,
        "ledger": opening.ledger,
        "unit": opening.unit,
        "budget": {
            "epsilon": float(opening.epsilon),
            "delta": float(opening.delta),
            "worst_case_only": opening.worst_case_only,
        },
        "spent": {"epsilon": float(epsilon), "delta": float(delta)},
        "left": {"epsilon": _left(opening.epsilon, epsilon), "delta": _left(opening.delta, delta)},
        "shares": {
            who: {"epsilon": float(share), "left": _left(share, spent.shares[who])}
            for who, share in opening.share.items()
        },
        "parts": {
            name: {"epsilon": float(epsilon), "delta": float(delta)}
            for name, (epsilon, delta) in spent.parts.items()
        },
        "charges": last.number,
    }


def _left(budget: Decimal, spent: Decimal) -> float:
    return round_down_decimal(max(Decimal(0), EXACT.subtract(budget, spent)))


def as_text(content: dict[str, Any], n_last: int | None = _N_PRINTED) -> str:
    """Format an overview as lines, and the last charges of its "history" (None: all) as a table."""
    title = f"Privacy ledger of {content['dataset']!r}"
    lines = [title, *(f"  {label:9}{text}" for label, text in _facts(content))]
    history = content["history"]
    last = history if n_last is None else history[-n_last:]
    if n_earlier := len(history) - len(last):
        lines.append(f"... and {n_earlier} earlier")
    if last:
        lines.append(_table(last))
    return "\n".join(lines)


def _table(history: Sequence[dict[str, Any]]) -> str:
    """Format charges as a table without empty columns."""
    rows = [{name: _cell(name, value) for name, value in row.items()} for row in history]
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    rows.insert(0, {name: "time (UTC)" if name == "time" else name for name in names})
    widths = {name: max(len(row[name]) for row in rows) for name in names}
    return "\n".join(
        "  ".join(f"{row[name]:{widths[name]}}" for name in names).rstrip() for row in rows
    )


def _facts(content: dict[str, Any]) -> list[tuple[str, str]]:
    shares = [
        f"{_printable(who)} {_exact(share['left'])} of {share['epsilon']:g}"
        for who, share in content["shares"].items()
    ]
    parts = [f"{_printable(name)} {lost['epsilon']:g}" for name, lost in content["parts"].items()]
    facts = [
        ("unit", _printable(content["unit"])),
        ("budget", format_budget(**content["budget"])),
        ("spent", format_loss(**content["spent"])),
        ("left", ", ".join(f"{name}={_exact(x)}" for name, x in content["left"].items())),
    ]
    if shares:
        facts.append(("shares", "epsilon left: " + ", ".join(shares)))
    if parts:
        facts.append(("parts", f"epsilon spent: {', '.join(parts)} ({DISJOINT})"))
    return [*facts, ("charges", str(content["charges"]))]


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
