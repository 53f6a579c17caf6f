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
    missing = []
    for name, report in reports.items():
        for receipt in _of_this_ledger(ledger, _receipts(name, report)):
            if problem := _problem(ledger, heads, receipt):
                missing.append(f"{name}: {problem}")
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


def _of_this_ledger(ledger: str, receipts: list[Receipt]) -> list[Receipt]:
    """Leave out what a report of several ledgers has of others; all, if it has none of this one."""
    return [receipt for receipt in receipts if receipt.ledger == ledger] or receipts


def _receipts(name: str, report: Any) -> list[Receipt]:
    """Return the charges of a report, or raise ValueError."""
    found: Any
    if isinstance(report, Receipt) or (isinstance(report, dict) and "head" in report):
        found = [report]
    elif isinstance(report, dict):
        found = report.get("ledger")
    else:
        found = getattr(report, "receipts", None)
    try:
        receipts = [_receipt(each) for each in found or ()]
    except (TypeError, KeyError, ValueError):
        receipts = []
    if not receipts:
        raise ValueError(
            f"{name} is not a report of a release that was charged to a ledger; pass "
            "search.privacy_, its to_dict() or to_json(), or what charge() returned"
        )
    return receipts


def _receipt(found: Any) -> Receipt:
    fields = found._asdict() if isinstance(found, Receipt) else found
    receipt = Receipt(str(fields["ledger"]), operator.index(fields["charge"]), str(fields["head"]))
    if receipt.charge < 0:
        raise ValueError("charges have numbers from 1")
    return receipt
