"""Command line for output checkers, who write no Python (zone: released)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..exceptions import LedgerError
from ..privacy.ledger._ledger import PrivacyLedger, dataset_of
from ._check import check


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line for each rule; return 0 if all passed, 1 if not, and 2 for wrong usage."""
    options = _parser().parse_args(arguments)
    try:
        ledger = None
        if options.ledger is not None:
            dataset = options.dataset or dataset_of(options.ledger)
            ledger = PrivacyLedger(options.ledger, dataset)
        findings = check(options.file, options.policy, tables=options.table, ledger=ledger)
    except (LedgerError, OSError, ValueError, ImportError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    print(*findings, sep="\n")
    failed = sum(not finding.passed for finding in findings)
    print(f"{failed} of {len(findings)} rules failed" if failed else "all rules passed")
    return int(failed > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sklearn_dpbo.report")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser(
        "check",
        help="check a file of what was released",
        description="Compute every number of a file anew from its noisy counts, compare submitted "
        "tables with it, and apply a policy. Exit status: 0 if all rules passed, else 1; 2 for "
        "wrong usage.",
    )
    command.add_argument("file", metavar="RESULT.json", help="what to_json() wrote")
    command.add_argument("--policy", metavar="POLICY.toml", help="the rules of the data owner")
    command.add_argument(
        "--table", metavar="TABLE.csv", action="append", default=[],
        help="a submitted table, as evaluation.table(...).to_csv(...) writes it",
    )  # fmt: skip
    command.add_argument("--ledger", metavar="FILE_OR_URL", help="where the release was charged")
    command.add_argument("--dataset", metavar="NAME", help="the data set, of a database")
    return parser
