"""Whether a ledger has the charges of what was published (zone: public)."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from .._privacy.accounting import Receipt
from ..exceptions import LedgerError

__all__ = ["refuse_missing"]


def refuse_missing(ledger: str, heads: Sequence[str], reports: Mapping[str, Any]) -> None:
    """Raise LedgerError if the ledger lacks the charge of a report."""
    missing = [
        f"{name}: {problem}"
        for name, report in reports.items()
        for receipt in _receipts(name, report, ledger)
        if (problem := _problem(ledger, heads, receipt))
    ]
    if missing:
        raise LedgerError(
            "the ledger is not the one that these releases were charged to. "
            + "; ".join(missing)
            + ". At least what was published has been spent: restore the ledger, or do not continue"
        )


def _problem(ledger: str, heads: Sequence[str], receipt: Receipt) -> str:
    if receipt.ledger != ledger:
        return (
            f"charged to the ledger {receipt.ledger}; found {ledger}, which is another one, or was "
            "started anew"
        )
    if receipt.charge >= len(heads):
        return (
            f"charge {receipt.charge} is missing, the last one is {len(heads) - 1}: an older copy "
            "was restored, or a server failed over to an older state"
        )
    if receipt.head != heads[receipt.charge]:
        return f"charge {receipt.charge} differs: the ledger was continued from an older copy"
    return ""


def _receipts(name: str, report: Any, ledger: str) -> list[Receipt]:
    """Return the charges of a report to this ledger, or all if it has none; or ValueError."""
    if not isinstance(report, Receipt | dict):
        report = {"ledger": getattr(report, "receipts", None)}
    elif isinstance(report, Receipt) or "head" in report:
        report = {"ledger": [report]}
    try:
        receipts = [_receipt(each) for each in report.get("ledger") or ()]
    except (TypeError, KeyError, ValueError):
        receipts = []
    if not receipts:
        raise ValueError(
            f"{name} is not a report of a release that was charged to a ledger; pass "
            "search.privacy_, its to_dict() or to_json(), or what charge() returned"
        )
    return [receipt for receipt in receipts if receipt.ledger == ledger] or receipts


def _receipt(found: Any) -> Receipt:
    fields = found._asdict() if isinstance(found, Receipt) else found
    receipt = Receipt(str(fields["ledger"]), operator.index(fields["charge"]), str(fields["head"]))
    if receipt.charge < 0:
        raise ValueError("charges have numbers from 1")
    return receipt
