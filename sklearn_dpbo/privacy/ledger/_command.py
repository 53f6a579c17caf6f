"""Command line of ledgers, for data owners who write no Python (zone: boundary).

Errors are one line on stderr, with exit status 1; wrong usage has exit status 2.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ...exceptions import LedgerError
from ..report._json import from_json
from ._display import as_text
from ._ledger import PrivacyLedger, Published, dataset_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify and show a ledger; return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        ledger = PrivacyLedger(options.place, options.dataset or dataset_of(options.place))
        reports = {file: _published(file) for file in options.reports}
        last = ledger._verify(reports)
        print(as_text(ledger.to_dict(), None))
    except (LedgerError, OSError, ValueError, ImportError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    facts = "the charges, epsilon, delta, unit, mechanism and purpose"
    charges = f", with {facts} of {len(reports)} report(s)" if reports else ""
    print(f"intact up to charge {last.charge}{charges}\n  ledger   {last.ledger}")
    print(f"  head     {last.head}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sklearn_dpbo.ledger",
        description="Show a privacy budget and all its charges, and check that no line was "
        "changed and that reports tell what was charged for them.",
    )
    parser.add_argument("place", metavar="FILE_OR_URL", help="path of a ledger, or URL")
    parser.add_argument("reports", nargs="*", metavar="REPORT.json", help="of privacy_.to_json()")
    parser.add_argument("--dataset", metavar="NAME", help="the data set, of a database")
    return parser


def _published(file: str) -> Published:
    try:
        record = from_json(Path(file).read_text())
        report = record if "ledger" in record else record["privacy"]  # of an evaluation
        return Published.by(report)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise ValueError(
            f"{file} is not the report of a release that was charged to a ledger; write it with "
            "search.privacy_.to_json()"
        ) from None
