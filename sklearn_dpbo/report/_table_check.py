"""Check of a submitted table against the released counts (zone: released).

Each row is computed again, by the method that wrote the table, and compared cell by cell.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ..metrics._make import NAMES
from ..metrics.evaluations._clinical import CLINICAL
from ..privacy.report._json import from_json
from ..search._released import SearchResult

_NUMBERS = ("value", "low", "high")
_COLUMNS = ("metric", *_NUMBERS, "threshold", "score", "options", "size", "note", "text")
# How a number is written.
_PATTERN = r"-?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?|inf)|nan"
_NUMBER = re.compile(_PATTERN, re.ASCII)
_TOO_FEW = ", too few to tell"
# A cell of the column "text", in four groups: value, low, high, and the warning if there is one.
_TEXT = re.compile(rf"({_PATTERN}) \(({_PATTERN}) to ({_PATTERN})\)({_TOO_FEW})?", re.ASCII)
# What a column of subgroups says of all records.
_WHOLE = "all"
# How far a stated threshold may be from a released one, by rounding.
_NEAR_THRESHOLD = 0.005
# A row of the submitted table: texts by the names of columns.
Row = Mapping[str, str]
# The same row, computed again from the released counts.
Expected = Mapping[str, Any]


def wrong_rows(released: Any, path: Any, fewest: int) -> Iterator[str]:
    """Yield, in words, the first error of each row of a table that `table` wrote.

    Subgroups must have a noisy number of at least `fewest` units. The table may be of the scores of
    a search, or of its evaluation.
    """
    rows = _read(path)
    steps = _finest_steps(rows)
    sources = [released]
    if isinstance(released, SearchResult) and released.evaluation_ is not None:
        sources.append(released.evaluation_)
    # For each source, `_expected_row`, which computes a row only once.
    functions = [lru_cache(maxsize=None)(partial(_expected_row, source)) for source in sources]
    for number, row in enumerate(rows, 1):
        problems = [
            _problem(source, expected_row, row, fewest, steps)
            for source, expected_row in zip(sources, functions, strict=True)
        ]
        # A row is right if it follows from one source, the search's scores or its evaluation.
        if all(problems):
            yield f"row {number} ({row['metric']}) {problems[-1]}"


def labels(released: Any, path: Any) -> str:
    """Return a text that says which score each label of a table stands for.

    Labels are free, so nobody but the reader of this text can check them. A label that is the name
    of its score is left out. One that stands for several scores is listed with each.
    """
    scores = released._scores if isinstance(released, SearchResult) else {}
    meanings = []
    for row in _read(path):
        meaning = row.get("score") or row["metric"]
        if meaning in scores:
            scorer = scores[meaning].scorer
            meaning = f"the mean of your {scorer.name}" if scorer.custom else scorer.name
            meaning += "".join(f", {key}={value!r}" for key, value in scorer.params.items())
        meaning += f" at threshold {row['threshold']}" if row.get("threshold") else ""
        meaning += f" with {row['options']}" if row.get("options") else ""
        if row["metric"] != meaning:
            meanings.append(f"{row['metric']!r} is {meaning}")
    return "; ".join(dict.fromkeys(meanings))


def _read(path: Any) -> list[Row]:
    """Return the rows of a CSV file; ValueError if it is no table of numbers."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            header, *cells = csv.reader(file, strict=True)
    except (csv.Error, ValueError) as error:
        raise ValueError(f"{path} is not a CSV table with a header row: {error}") from None
    if "metric" not in header or not {"value", "text"} & set(header):
        raise ValueError(
            f"{path} needs the column 'metric', and 'value' or 'text': write it with "
            "evaluation.table(...).to_csv(...)"
        )
    if len(set(header)) < len(header) or not cells:
        raise ValueError(f"{path} has {'two columns of one name' if cells else 'no rows'}")
    if any(len(row) != len(header) for row in cells):
        raise ValueError(f"{path} has rows with fewer or more cells than there are columns")
    return [dict(zip(header, row, strict=True)) for row in cells]


def _problem(
    source: Any,
    expected_row: Callable[..., Expected],
    row: Row,
    fewest: int,
    steps: Mapping[str, float],
) -> str:
    """Describe the first difference of a row from the released counts; return "" if none."""
    try:
        return _difference(_expected(source, expected_row, row), row, fewest, steps)
    except (ValueError, TypeError, AttributeError, KeyError, ArithmeticError) as error:
        return f"cannot be computed: {' '.join(str(error).split())}"
    except RecursionError:
        return "cannot be computed: its options are nested too deeply"


def _expected(source: Any, expected_row: Callable[..., Expected], row: Row) -> Expected:
    """Return the row as it should be."""
    subgroups = getattr(source, "_subgroups", None)
    columns = list(subgroups.levels) if subgroups else []
    if unknown := sorted(set(row) - {*_COLUMNS, *columns}):
        raise ValueError(f"the table has columns that no table of this release has: {unknown}")
    levels = tuple((name, row[name]) for name in columns if row.get(name, _WHOLE) != _WHOLE)
    name, label = row.get("score") or row["metric"], row["metric"]
    if label != name and label in {*NAMES, *CLINICAL}:
        raise ValueError(f"the row is labelled {label!r}, but its score is {name!r}")
    options = row.get("options") or "{}"
    threshold = _threshold(source, row.get("threshold", ""))
    return expected_row(name, options, threshold, levels)


def _threshold(source: Any, text: str) -> float | None:
    """Return the released threshold nearest to the stated one; ValueError if it is another."""
    if not text:
        return None
    _require_number(text)
    released = np.array(getattr(source, "thresholds", ()), dtype=float)
    if not released.size:
        raise ValueError("no thresholds were released")
    nearest = float(released[np.argmin(np.abs(released - float(text)))])
    if not (_rounds_to(nearest, text) and abs(nearest - float(text)) <= _NEAR_THRESHOLD):
        raise ValueError(f"no threshold {text} was released; the nearest one is {nearest:.4g}")
    return nearest


def _expected_row(
    source: Any, name: str, options: str, threshold: float | None, levels: Sequence[tuple[str, str]]
) -> Expected:
    """Compute one row again: this score with these options, of the subgroup with these levels."""
    params = from_json(options)
    if not isinstance(params, dict):
        raise ValueError(f"options must be a JSON object; found {options!r}")
    if isinstance(source, SearchResult):
        return {**source.score(name, **params)._asdict(), "note": ""}
    params |= {} if threshold is None else {"threshold": threshold}
    by = [column for column, _ in levels] or None
    frame = source.table({name: (name, params)}, by=by).reset_index()
    texts = [[str(cell) for cell in frame[column]] for column in by or ()]
    wanted = [level for _, level in levels]
    same = [i for i in range(len(frame)) if [cells[i] for cells in texts] == wanted]
    if len(same) != 1:
        raise ValueError(f"there is no such subgroup: {dict(levels)}")
    return {"size": source.m, "note": "", **frame.iloc[same[0]].to_dict()}


def _difference(expected: Expected, row: Row, fewest: int, steps: Mapping[str, float]) -> str:
    """Describe the first difference of a row from the row as it should be; return "" if none."""
    return (
        _wrong_number(expected, row)
        or _wrong_text(expected, row)
        or _too_few_digits(expected, row, steps)
        or _too_few_units(expected, fewest)
        or _wrong_size(expected, row)
        or _wrong_note(expected, row)
    )


def _wrong_number(expected: Expected, row: Row) -> str:
    for key in _NUMBERS:
        if key in row and not _shows(expected[key], row[key]):
            return f"says {key} {row[key]}; it is {expected[key]:.6g}"
    return ""


def _wrong_text(expected: Expected, row: Row) -> str:
    if "text" not in row:
        return ""
    found = _TEXT.fullmatch(row["text"])
    shown = zip(_NUMBERS, found.groups()[:3], strict=True) if found else ()
    if not found or not all(_shows(expected[key], text) for key, text in shown):
        value, low, high = (f"{expected[key]:.6g}" for key in _NUMBERS)
        return f"says {row['text']!r}; it is {value} ({low} to {high})"
    too_few = _is_of_too_few(expected)
    if too_few != bool(found[4]):
        return f"says {row['text']!r}, which {'lacks' if too_few else 'has'} {_TOO_FEW!r}"
    return ""


def _too_few_digits(expected: Expected, row: Row, steps: Mapping[str, float]) -> str:
    """Refuse a number that is rounded further than its interval allows.

    Rounded numbers match many others. So the last digit of each must count no more than the width
    of the interval; or than one per cent of the value (0.01 if that is below 1), if that is more. A
    shorter number passes if it is right to the digits of its column.
    """
    shown = [(key, row[key], steps[key]) for key in _NUMBERS if row.get(key)]
    if found := _TEXT.fullmatch(row.get("text", "")):
        texts = zip(_NUMBERS, found.groups()[:3], strict=True)
        shown += [(key, text, _last_digit(text)) for key, text in texts]
    # `fmax` leaves out NaN, the width where there is no interval.
    width = np.fmax(expected["high"] - expected["low"], 0.01 * max(1.0, abs(expected["value"])))
    for key, text, step in shown:
        as_in_column = step <= width and _is_near(expected[key], text, step)
        is_exact = _is_near(expected[key], text, 0.0)
        if not (_last_digit(text) <= width or as_in_column or is_exact):
            return f"says {text}, and needs more digits: the interval is {width:.2g} wide"
    return ""


def _too_few_units(expected: Expected, fewest: int) -> str:
    if "size" in expected and expected["size"] < fewest:
        return f"is of about {expected['size']:,} units (at least {fewest:,})"
    return ""


def _wrong_size(expected: Expected, row: Row) -> str:
    if "size" not in row:
        return ""
    if "size" not in expected:
        return "gives a size, and this number has none"
    if row["size"] != str(expected["size"]):
        return f"says size {row['size']}; it is {expected['size']}"
    return ""


def _wrong_note(expected: Expected, row: Row) -> str:
    if "note" not in row and "text" in row and _is_of_too_few(expected):
        return ""  # the text says it, see `_wrong_text`
    note = row.get("note", "")
    if note != expected["note"]:
        return f"says the note {note!r}; it is {expected['note']!r}"
    return ""


def _is_of_too_few(expected: Expected) -> bool:
    """Return True if the note says that the records are too few to tell."""
    return str(expected["note"]).startswith("too few")


def _shows(number: float, text: str) -> bool:
    """Return True if a cell shows a number as `to_csv` may write it; ValueError if it has none.

    It may be rounded. pandas writes whole numbers with ".0": 93035.0 may be 93035.4, rounded.
    """
    if not text:  # as pandas writes NaN
        return math.isnan(number)
    _require_number(text)
    return _rounds_to(number, text) or _rounds_to(number, text.removesuffix(".0"))


def _rounds_to(number: float, text: str) -> bool:
    """Return True if a number, rounded to as many digits as the text has, is that of the text."""
    return _is_near(number, text, _last_digit(text))


def _is_near(number: float, text: str, step: float) -> bool:
    """Return True if a number, rounded to a multiple of a step, is that of the text."""
    said = float(text)
    if not (math.isfinite(said) and math.isfinite(number)):
        return bool(np.isclose(said, number, equal_nan=True))
    return abs(said - number) <= 0.5 * step * (1 + 1e-6) + 1e-9 * abs(number)


def _last_digit(text: str) -> float:
    """Return what one step of the last digit counts: 0.01 for 0.25; 0 if there is no digit."""
    exponent = Decimal(text or "nan").as_tuple().exponent
    return 10.0**exponent if isinstance(exponent, int) else 0.0


def _finest_steps(rows: Sequence[Row]) -> dict[str, float]:
    """Return the step of the finest last digit in each column: pandas leaves out zeros."""
    steps = {}
    for key in _NUMBERS:
        numbers = [row[key] for row in rows if _is_number(row.get(key, ""))]
        steps[key] = min(filter(None, map(_last_digit, numbers)), default=math.inf)
    return steps


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _require_number(text: str) -> None:
    if not _is_number(text):
        raise ValueError(f"a number is written as 0.123, inf or nan; found {text!r}")
