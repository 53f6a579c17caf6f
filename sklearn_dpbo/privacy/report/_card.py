"""Labelled facts as text, and as a card in HTML (zone: released).

A card is one HTML element without ids, scripts or external resources. It takes the text colour of
the page, and its own colours are translucent, so that it fits light and dark pages.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Sequence
from typing import TypeAlias

# Label and lines of text.
Row: TypeAlias = tuple[str, Sequence[str]]

# The class is doubled to override the table styles of notebooks. A container query is used instead
# of a media query because a cell can be narrow on a wide screen.
_STYLE = """
.sklearn-dpbo.sklearn-dpbo {container-type: inline-size; max-width: 56em; margin: 0.5em 0.4em;
  border: 1px solid; border-color: rgba(128, 128, 128, 0.45); border-radius: 0.25em;
  line-height: 1.4; text-align: left; overflow-wrap: anywhere}
.sklearn-dpbo.sklearn-dpbo .dpbo-title {padding: 0.4em 0.7em; font-weight: bold;
  background: rgba(100, 149, 237, 0.2)}
.sklearn-dpbo.sklearn-dpbo .dpbo-warning {padding: 0.6em 0.7em; font-weight: bold;
  font-size: 1.25em; border: 0.2em solid rgb(214, 48, 49); background: rgba(214, 48, 49, 0.2)}
.sklearn-dpbo.sklearn-dpbo table {width: 100%; margin: 0; border: 0; border-collapse: collapse;
  table-layout: auto; font-size: inherit; color: inherit}
.sklearn-dpbo.sklearn-dpbo table tr {background: none; border: 0}
.sklearn-dpbo.sklearn-dpbo table :is(th, td) {padding: 0.25em 0.7em; border: 0; text-align: left;
  vertical-align: top; white-space: normal; color: inherit; background: none; max-width: none}
.sklearn-dpbo.sklearn-dpbo table th {width: 8.5em; font-weight: normal; opacity: 0.75;
  overflow-wrap: normal}
.sklearn-dpbo.sklearn-dpbo summary {padding: 0.25em 0.7em 0.4em; cursor: pointer}
@container (max-width: 30em) {
  .sklearn-dpbo.sklearn-dpbo table :is(tr, th, td) {display: block; width: auto}
  .sklearn-dpbo.sklearn-dpbo table td {padding-top: 0}
}
"""


def in_lines(title: str, rows: Iterable[Row]) -> str:
    """Format a title and labelled facts as lines of at most 100 characters."""
    lines = [title]
    for label, texts in rows:
        indent = f"  {label:<15}"
        for text in texts:
            lines += textwrap.wrap(
                text, 100, initial_indent=indent, subsequent_indent=" " * 17, break_on_hyphens=False
            )
            indent = " " * 17
    return "\n".join(lines)


def card(title: str, rows: Iterable[Row], *, folded: Sequence[Row] = (), warning: str = "") -> str:
    """Format a title and labelled facts as a card in HTML, with all texts escaped."""
    parts = [f"<style>{_STYLE}</style>", '<div class="sklearn-dpbo">']
    if warning:
        parts.append(f'<div class="dpbo-warning" role="alert">{html.escape(warning)}</div>')
    parts += [f'<div class="dpbo-title">{html.escape(title)}</div>', _table(rows)]
    if folded:
        parts.append(f"<details><summary>More</summary>{_table(folded)}</details>")
    return "".join([*parts, "</div>"])


def _table(rows: Iterable[Row]) -> str:
    cells = "".join(
        f'<tr><th scope="row">{html.escape(label)}</th>'
        f"<td>{'<br>'.join(map(html.escape, lines))}</td></tr>"
        for label, lines in rows
    )
    return f"<table><tbody>{cells}</tbody></table>"
