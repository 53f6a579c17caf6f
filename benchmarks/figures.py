"""Write the figures of the pages from the files of results; a test checks that none differs.

    python benchmarks/figures.py            # write them
    python benchmarks/figures.py --check    # say which differ, and which numbers nothing explains

A *figure* (`printed.py`) is a phrase of a page with places for numbers, and the numbers. Each is on
its page once. In what is scanned, each numeral outside of code is in a figure or in a constant of
the setting, such as "m = 2,000".
"""

import argparse
import re
import sys
from pathlib import Path

from printed import CONSTANTS, PAGES

ROOT = Path(__file__).parents[1]
PLACE = re.compile(r"\{(.*?)\}")
NUMBER = r"((?:< )?[−+]?\.?\d(?:[\d.,]*\d)?|–)"
NUMERAL = re.compile(r"(?<![\w.−-])(?<!\w[-–])\.?\d[\d.,]*")
NO_TEXT = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)\n]*\)|<[^>\n]*>", re.DOTALL)


class Figure:
    """A phrase with places such as ``{:.3f}``, and a number for each."""

    def __init__(self, phrase, *numbers):
        if any(number != number for number in numbers):
            raise ValueError(f"no result for one of the numbers of {phrase!r}")
        self.numbers = numbers
        texts, formats = PLACE.split(phrase)[::2], PLACE.split(phrase)[1::2]
        shown = [
            format(number, form.removeprefix(":")).replace("-", "−")
            for form, number in zip(formats, numbers, strict=True)
        ]
        self.text = "".join(a + b for a, b in zip(texts, [*shown, ""], strict=True))
        self.pattern = re.compile(NUMBER.join(map(re.escape, texts)))


def section(page, title):
    """Return where the section of this title begins and ends; of no title, the whole page."""
    if title is None:
        return 0, len(page)
    start = page.index(f"# {title}\n")
    following = re.compile(r"^#{1,2} |^### ", re.MULTILINE).search(page, start + 2)
    return start, following.start() if following else len(page)


def problems(page, figures, titles):
    """Yield what is wrong with the text of a page."""
    explained = [match.span() for form in CONSTANTS for match in re.finditer(form, page)]
    for figure in figures:
        matches = list(figure.pattern.finditer(page))
        explained += [match.span() for match in matches]
        if len(matches) != 1:
            yield f"{len(matches)} times on the page, not once: {figure.text}"
        elif matches[0].group() != figure.text:
            yield f"the page says {matches[0].group()!r}, the results {figure.text!r}"
    text = NO_TEXT.sub(lambda match: " " * len(match.group()), page)
    for start, end in (section(page, title) for title in titles):
        for match in NUMERAL.finditer(text, start, end):
            if not any(a <= match.start() < b for a, b in explained):
                around = page[max(match.start() - 30, 0) : match.end() + 30]
                yield f"no figure explains {match.group()} in {around!r}"


def written(page, figures):
    """Return the text of the page with the numbers of these figures."""
    for figure in figures:
        page = figure.pattern.sub(lambda _, text=figure.text: text, page)
    return page


def check(write=False, pages=tuple(PAGES)):
    """Return what is wrong with these pages, after writing the numbers if asked to."""
    wrong = []
    for name in pages:
        path, (titles, phrases) = ROOT / name, PAGES[name]
        figures = [Figure(*phrase) for phrase in phrases()]
        if write:
            path.write_text(written(path.read_text(), figures))
        wrong += [f"{name}: {each}" for each in problems(path.read_text(), figures, titles)]
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    sys.exit("\n".join(check(write=not parser.parse_args().check)))
