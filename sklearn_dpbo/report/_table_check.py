"""Check of a submitted table against the released counts (zone: released).

Each row is made anew, by the method that wrote the table, and compared cell by cell.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
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
_NUMBER = r"-?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?|inf)|nan"
_TEXT = re.compile(rf"({_NUMBER}) \(({_NUMBER}) to ({_NUMBER})\)(, too few to tell)?", re.ASCII)
_ONE_NUMBER = re.compile(_NUMBER, re.ASCII)
_TOO_FEW = ", too few to tell"
_WHOLE = "all"
# How far a stated threshold may be from a released one, by rounding.
_NEAR_THRESHOLD = 0.005
Row = Mapping[str, str]


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
    made = [lru_cache(maxsize=None)(partial(_make_rows, source)) for source in sources]
    for number, row in enumerate(rows, 1):
        problems = [
            _problem(source, make_rows, row, fewest, steps)
            for source, make_rows in zip(sources, made, strict=True)
        ]
        if all(problems):
            yield f"row {number} ({row['metric']}) {problems[-1]}"


def labels(released: Any, path: Any) -> str:
    """Say what each label of a table stands for: labels are free, so only a reader can judge."""
    computed = released._scores if isinstance(released, SearchResult) else {}
    meanings = []
    for row in _read(path):
        name, label = row.get("score") or row["metric"], row["metric"]
        if name in computed:
            scorer = computed[name].scorer
            name = f"the mean of your {scorer.name}" if scorer.custom else scorer.name
            name += "".join(f", {key}={value!r}" for key, value in scorer.params.items() if value)
        name += f" at threshold {row['threshold']}" if row.get("threshold") else ""
        name += f" with {row['options']}" if row.get("options") else ""
        if name != label:
            meanings.append(f"{label!r} is {name}")
    return "; ".join(dict.fromkeys(meanings))


def _read(path: Any) -> list[Row]:
    """Return the rows of a CSV file; ValueError if it is no table of numbers."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            header, *cells = csv.reader(file, strict=True)
    except (csv.Error, ValueError) as error:
        raise ValueError(f"{path} is no table in CSV with a row of names: {error}") from None
    if "metric" not in header or not {"value", "text"} & set(header):
        raise ValueError(
            f"{path} is no table of numbers with a column metric, and value, low and high or text: "
            "write it with evaluation.table(...).to_csv(...)"
        )
    if len(set(header)) < len(header) or not cells:
        raise ValueError(f"{path} has {'two columns of one name' if cells else 'no rows'}")
    if any(len(row) != len(header) for row in cells):
        raise ValueError(f"{path} has rows with fewer or more cells than there are columns")
    return [dict(zip(header, row, strict=True)) for row in cells]


def _problem(source: Any, make_rows: Any, row: Row, fewest: int, steps: Mapping[str, float]) -> str:
    """Describe the first difference of a row from the released counts; return "" if none."""
    try:
        problems = [
            _difference(made, row, fewest, steps) for made in _candidates(source, make_rows, row)
        ]
    except (ValueError, TypeError, AttributeError, KeyError, ArithmeticError) as error:
        return f"cannot be computed: {' '.join(str(error).split())}"
    except RecursionError:
        return "cannot be computed: its options are nested too deeply"
    return "" if "" in problems else problems[0]


def _candidates(source: Any, make_rows: Any, row: Row) -> Iterator[Mapping[str, Any]]:
    """Yield the row as it should be, for each released threshold that rounds to the stated one."""
    subgroups = getattr(source, "_subgroups", None)
    columns = list(subgroups.levels) if subgroups else []
    if unknown := sorted(set(row) - {*_COLUMNS, *columns}):
        raise ValueError(f"the columns {unknown} are none of a table of this release")
    levels = tuple((name, row[name]) for name in columns if row.get(name, _WHOLE) != _WHOLE)
    name, label = row.get("score") or row["metric"], row["metric"]
    if label != name and label in {*NAMES, *CLINICAL}:
        raise ValueError(f"the row is labelled {label!r}, and its score is {name!r}")
    options = row.get("options") or "{}"
    for threshold in _thresholds(source, row.get("threshold", "")):
        yield make_rows(name, options, threshold, levels)


def _thresholds(source: Any, text: str) -> list[float | None]:
    """Return the released threshold nearest to the stated one; ValueError if it is another."""
    if not text:
        return [None]
    _require_number(text)
    released = np.array(getattr(source, "thresholds", ()), dtype=float)
    if not released.size:
        raise ValueError("no thresholds were released")
    nearest = float(released[np.argmin(np.abs(released - float(text)))])
    if not (_rounds_to(nearest, text) and abs(nearest - float(text)) <= _NEAR_THRESHOLD):
        raise ValueError(f"no threshold {text} was released; the nearest one is {nearest:.4g}")
    return [nearest]


def _make_rows(
    source: Any, name: str, options: str, threshold: float | None, levels: Sequence[tuple[str, str]]
) -> Mapping[str, Any]:
    """Return the row of a table with these options, as `table` makes it."""
    params = from_json(options)
    if not isinstance(params, dict):
        raise ValueError(f"options are a JSON object; found {options!r}")
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


def _difference(made: Mapping[str, Any], row: Row, fewest: int, steps: Mapping[str, float]) -> str:
    """Describe the first difference of a row from the row as it should be; return "" if none."""
    for key in _NUMBERS:
        if key in row and not _shows(made[key], row[key]):
            return f"says {key} {row[key]}; it is {made[key]:.6g}"
    too_few = str(made["note"]).startswith("too few")
    found = _TEXT.fullmatch(row["text"]) if "text" in row else None
    if "text" in row:
        pairs = zip(_NUMBERS, found.groups(), strict=False) if found else ()
        if not found or not all(_shows(made[key], text) for key, text in pairs):
            numbers = " to ".join(f"{made[key]:.6g}" for key in _NUMBERS)
            return f"says {row['text']!r}; its value, low and high are {numbers}"
        if too_few != bool(found[4]):
            return f"says {row['text']!r}, which {'lacks' if too_few else 'has'} {_TOO_FEW!r}"
    shown = [(key, row[key], steps[key]) for key in _NUMBERS if key in row]
    if found:
        texts = zip(_NUMBERS, found.groups()[:3], strict=True)
        shown += [(key, text, _last_digit(text)) for key, text in texts]
    # Digits have to be finer than the interval, or than 1 % of a number above 1.
    width = np.fmax(made["high"] - made["low"], 0.01 * max(1.0, abs(made["value"])))
    for key, text, step in shown:
        fine = [_last_digit(text) <= width, step <= width and _is_near(made[key], text, step)]
        if not (any(fine) or _is_near(made[key], text, 0.0)):
            return f"says {text}, and needs more digits: the interval is {width:.2g} wide"
    if made["size"] < fewest if "size" in made else False:
        return f"is of about {made['size']:,} units (at least {fewest:,})"
    if "size" in row and ("size" not in made or row["size"] != str(made["size"])):
        return f"says size {row['size']}; it is {made.get('size')}"
    if row.get("note", made["note"] if too_few and "text" in row else "") != made["note"]:
        return f"says the note {row.get('note', '')!r}; it is {made['note']!r}"
    return ""


def _shows(number: float, text: str) -> bool:
    """Return True if a text shows a number, rounded.

    pandas writes whole numbers as 93035.0: the digit before the point may be the last one.
    """
    if not text:  # as pandas writes NaN
        return math.isnan(number)
    _require_number(text)
    return _rounds_to(number, text) or _rounds_to(number, text.removesuffix(".0"))


def _rounds_to(number: float, text: str) -> bool:
    """Return True if a text shows a number, rounded to the digits of the text."""
    return _is_near(number, text, _last_digit(text))


def _is_near(number: float, text: str, step: float) -> bool:
    """Return True if a text shows a number, rounded to a multiple of this step."""
    said = float(text)
    if not (math.isfinite(said) and math.isfinite(number)):
        return bool(np.isclose(said, number, equal_nan=True))
    return abs(said - number) <= 0.5 * step * (1 + 1e-6) + 1e-9 * abs(number)


def _last_digit(text: str) -> float:
    """Return the value of one step of the last digit of a number; 0 if it has none."""
    exponent = Decimal(text or "nan").as_tuple().exponent
    return 10.0**exponent if isinstance(exponent, int) else 0.0


def _finest_steps(rows: Sequence[Row]) -> dict[str, float]:
    """Return the step of the last digit in each column of numbers: pandas leaves out zeros."""
    steps = {}
    for key in _NUMBERS:
        numbers = [row[key] for row in rows if _is_number(row.get(key, ""))]
        steps[key] = min(filter(None, map(_last_digit, numbers)), default=math.inf)
    return steps


def _is_number(text: str) -> bool:
    return _ONE_NUMBER.fullmatch(text) is not None


def _require_number(text: str) -> None:
    if not _is_number(text):
        raise ValueError(f"a number is written as 0.123, inf or nan; found {text!r}")
