"""Write the list of estimators into its page: python docs/figures/listed.py."""

import re
from itertools import groupby
from pathlib import Path

from sklearn_dpbo.prediction.listed.listed import KINDS, LISTED, OBJECTS_IN_FRAMES, READ

PAGE = Path(__file__).parents[1] / "reference" / "row_by_row.md"
PLACE = re.compile(r"(?<=<!-- docs/figures/listed.py -->\n).*(?=<!-- end -->)", re.DOTALL)


def together(of, text):
    """One line for all public classes of which `of` returns the same, made by `text`."""
    shown = (line for line in LISTED.values() if of(line) and not line.name.startswith("_"))
    lines = sorted(shown, key=lambda x: (of(x), x.name))
    for same, some in groupby(lines, key=of):
        yield text(same, ", ".join(dict.fromkeys(f"`{line.name}`" for line in some)))


def tables():
    """The versions, the classes by kind, and where they are not listed, in Markdown."""
    yield "Read in " + "; ".join(f"{name} {', '.join(of)}" for name, of in READ.items()) + ".\n"
    yield "| what a prediction is | classes |\n|---|---|"
    yield from together(lambda line: line.kind, lambda kind, names: f"| {KINDS[kind]} | {names} |")
    yield "\nNot listed are\n"
    yield from together(lambda line: line.unless, lambda unless, names: f"* {names} {unless}")
    yield f"* any transformer {OBJECTS_IN_FRAMES}"


def page():
    """The page with today's list."""
    return PLACE.sub(lambda _: "\n" + "\n".join(tables()) + "\n\n", PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(page())
