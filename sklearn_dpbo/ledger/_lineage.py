"""Whether a ledger has the charges of what was published (zone: public)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._privacy.accounting import Receipt
from ..exceptions import LedgerError

__all__ = ["refuse_missing"]


def refuse_missing(ledger: str, heads: Sequence[str], reports: Mapping[str, Any]) -> None:
    """Raise LedgerError if the ledger lacks the charge of a report.

    Parameters
    ----------
    ledger : str
        Identifier of the ledger.
    heads : sequence of str
        Hashes of its lines: the opening, then the charges.
    reports : dict of str to PrivacyReport, dict or Receipt
        What was published, with a name for messages.
    """
    missing = []
    for name, report in reports.items():
        for receipt in _receipts(name, report):
            if problem := _problem(ledger, heads, receipt):
                missing.append(f"{name}: {problem}")
    if missing:
        raise LedgerError(
            "the ledger is not the one that these releases were charged to. "
            + "; ".join(missing)
            + ". What was spent is at least what was published: restore the ledger, or do not go on"
        )


def _problem(ledger: str, heads: Sequence[str], receipt: Receipt) -> str:
    if receipt.ledger != ledger:
        return (
            f"charged to the ledger {receipt.ledger}; found {ledger}, which is another one, or was "
            "begun anew"
        )
    if receipt.charge >= len(heads):
        return (
            f"charge {receipt.charge} is missing, the last one is {len(heads) - 1}: an older copy "
            "was restored, or a server failed over to an older state"
        )
    if receipt.head != heads[receipt.charge]:
        return f"charge {receipt.charge} is another one: the ledger went on from an older copy"
    return ""


def _receipts(name: str, report: Any) -> list[Receipt]:
    """Return the charges of a report, or raise ValueError."""
    if isinstance(report, Receipt):
        return [report]
    found = report.get("ledger") if isinstance(report, dict) else getattr(report, "receipts", None)
    try:
        receipts = [Receipt(*(r if isinstance(r, Receipt) else _fields(r))) for r in found or ()]
    except (TypeError, KeyError, ValueError):
        receipts = []
    if not receipts:
        raise ValueError(
            f"{name} is no report of a release that was charged to a ledger; pass "
            "search.privacy_, its to_dict() or to_json(), or what charge() returned"
        )
    return receipts


def _fields(receipt: Any) -> tuple[str, int, str]:
    return str(receipt["ledger"]), int(receipt["charge"]), str(receipt["head"])
