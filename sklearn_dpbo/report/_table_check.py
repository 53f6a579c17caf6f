"""Check of a submitted table against the released counts (zone: released)."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

_NUMBERS = ("value", "low", "high")
# Columns of a table; all others are levels of subgroups.
_COLUMNS = ("metric", *_NUMBERS, "threshold", "score", "options", "size", "note", "text")
_NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf)|nan", re.IGNORECASE)
_WHOLE = "all"


def wrong_rows(released: Any, path: Any, fewest: int) -> Iterator[str]:
    """Yield, in words, the first error of each row of a table that `Evaluation.table` wrote.

    Subgroups must have a noisy number of at least `fewest` units.
    """
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, restkey="", strict=True)
        columns = reader.fieldnames or []
        if "metric" not in columns or not {"value", "text"} & set(columns):
            raise ValueError(
                f"{path} must have a column metric, and value, low and high or text: write it with "
                "evaluation.table(...).to_csv(...)"
            )
        levels = [name for name in columns if name not in _COLUMNS]
        for number, row in enumerate(reader, 1):
            try:
                problem = _differences(released, row, levels, fewest)
            except (ValueError, TypeError, AttributeError, KeyError) as error:
                problem = f"cannot be computed: {' '.join(str(error).split())}"
            if problem:
                yield f"row {number} ({', '.join(_name(row, levels))}) {problem}"


def _name(row: Mapping[str, str], levels: Sequence[str]) -> list[str]:
    return [row["metric"], *(f"{name}={row[name]}" for name in levels if row[name] != _WHOLE)]


def _differences(released: Any, row: Mapping[str, Any], levels: Sequence[str], fewest: int) -> str:
    """Describe the first difference of a row from the released counts; return "" if none."""
    if None in row.values() or "" in row:
        raise ValueError("the row has fewer or more cells than there are columns")
    options = json.loads(row.get("options") or "{}")
    if row.get("threshold"):
        options["threshold"] = float(row["threshold"])
    name = row.get("score") or row["metric"]
    subgroup = {column: row[column] for column in levels if row[column] != _WHOLE}
    numbers = _computed(released, name, subgroup, options)
    said = {key: row[key] for key in _NUMBERS if row.get(key)}
    for key, text in said.items():
        if not _rounds_to(numbers[key], text):
            return f"says {key} {text}; it is {numbers[key]:.6g}"
    if row.get("text"):
        for key, text in zip(_NUMBERS, _NUMBER.findall(row["text"]), strict=False):
            if not _rounds_to(numbers[key], text):
                return f"says {row['text']!r}; its {key} is {numbers[key]:.6g}"
    if numbers.get("size", fewest) < fewest:
        return f"is of about {numbers['size']:,} units (at least {fewest:,})"
    return _other_facts(numbers, row)


def _computed(
    released: Any, name: str, levels: Mapping[str, str], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Compute the numbers of a row: of all records, or of the subgroup with these levels."""
    if not levels:
        whole = {"size": released.m} if hasattr(released, "m") else {}
        return {**released.score(name, **options)._asdict(), **whole}
    groups = released.by_group(name, by=list(levels), **options)
    same = [all(str(row[k]) == v for k, v in levels.items()) for _, row in groups.iterrows()]
    if sum(same) != 1:
        raise ValueError(f"there is no such subgroup: {dict(levels)}")
    return dict(groups[same].to_dict("records")[0])


def _other_facts(numbers: Mapping[str, Any], row: Mapping[str, str]) -> str:
    """Describe a wrong size or a missing note of a subgroup; return "" if there is none."""
    if "size" in numbers and row.get("size") and float(row["size"]) != numbers["size"]:
        return f"says size {row['size']}; it is {numbers['size']}"
    if numbers.get("note") and "note" in row and not row["note"]:
        return f"lacks the note {numbers['note']!r}"
    return ""


def _rounds_to(number: float, text: str) -> bool:
    """Return True if a text shows a number, rounded to the digits of the text."""
    said = float(text)
    if not (math.isfinite(said) and math.isfinite(number)):
        return said == number or (math.isnan(said) and math.isnan(number))
    exponent = Decimal(text).as_tuple().exponent
    half = 0.5 * 10.0 ** int(exponent)
    return abs(said - number) <= half * (1 + 1e-6) + 1e-9 * abs(number)
