"""The command line for ledgers, for data owners who write no Python (zone: boundary).

Errors are one line on stderr, with exit status 1; wrong usage has exit status 2.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..exceptions import LedgerError
from . import _display as display
from ._ledger import PrivacyLedger, checked_place, datasets_at

__all__ = ["main"]

_PLACE = "path of a ledger file, or URL of a database"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    options = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # the terminal's encoding may lack characters of a name
            stream.reconfigure(errors="backslashreplace")
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (LedgerError, OSError, ValueError, ImportError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sklearn_dpbo.ledger", description="The privacy budgets of data sets."
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(name: str, run: Any, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=f"{summary}.")
        added.set_defaults(run=run)
        return added

    show = command("show", _show, "Show the budget, what is spent and what is left")
    history = command("history", _history, "List the charges")
    verify = command(
        "verify", _verify, "Check that no line was changed, and that the charges of reports exist"
    )
    for each in (show, history, verify):
        each.add_argument("place", metavar="FILE_OR_URL", help=_PLACE)
        each.add_argument("--dataset", metavar="NAME", help="the data set, if there are several")
        each.add_argument("--json", action="store_true", help="print JSON")
    history.add_argument("--last", type=_count, metavar="N", help="only the last N charges")
    verify.add_argument(
        "reports", nargs="*", metavar="REPORT.json", help="written by privacy_.to_json()"
    )
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number of charges, at least 1; found {text!r}")
    return int(text)


def _opened(place: str, dataset: str | None) -> PrivacyLedger:
    """Open a ledger; a file knows its data set, and so does a server that has one."""
    if dataset is None:
        names = datasets_at(checked_place(place))
        if len(names) != 1:
            found = ", ".join(map(repr, names)) or "none"
            raise LedgerError(f"which data set? Name it with --dataset. Found: {found}")
        dataset = names[0]
    return PrivacyLedger(place, dataset)


def _json(content: Any) -> str:
    return json.dumps(content, indent=1)


def _show(options: argparse.Namespace) -> None:
    content = _opened(options.place, options.dataset)._overview()
    print(_json(content) if options.json else display.as_text(content))


def _history(options: argparse.Namespace) -> None:
    history = _opened(options.place, options.dataset).history[-(options.last or 0) :]
    print(_json(history) if options.json else display.as_table(history))


def _verify(options: argparse.Namespace) -> None:
    ledger = _opened(options.place, options.dataset)
    reports = {file: _report(file) for file in options.reports}
    found = ledger._verify(reports)
    if options.json:
        print(_json({"dataset": ledger.dataset, **found._asdict(), "reports": len(reports)}))
        return
    print(f"The ledger of {ledger.dataset!r} is intact, up to charge {found.charge}.")
    if reports:
        print(f"It has the charges of {len(reports)} report{'s' * (len(reports) > 1)}.")
    print(f"  ledger  {found.ledger}\n  head    {found.head}")


def _report(file: str) -> Any:
    try:
        return json.loads(Path(file).read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise ValueError(f"{file} is not JSON; write it with search.privacy_.to_json()") from None
