"""Records in JSON, and differences between two of them (zone: released)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

# Relative tolerance: numbers computed on another machine may differ in the last digits.
_TOLERANCE = 1e-6
# A list of numbers, one a line, which is written on one line.
_LIST = re.compile(r"\[\n(?: +[-+.\w]+,?\n)+ +\]")


def as_json(record: Mapping[str, Any]) -> str:
    """Convert a record to JSON; ValueError for infinity and NaN."""
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
    return _LIST.sub(lambda match: " ".join(match[0].split("\n")).replace("  ", ""), text)


def from_json(text: str) -> Any:
    """Parse JSON; ValueError if a key of an object occurs twice."""
    return json.loads(text, object_pairs_hook=_without_duplicates)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):  # readers differ in which one they take
        raise ValueError("a key occurs twice in an object")
    return fields


def require_equal(computed: Any, said: Any, name: str) -> None:
    """Raise ValueError if two records differ, with the first difference."""
    for difference in differences(computed, said, name):
        raise ValueError(difference)


def differences(computed: Any, said: Any, name: str) -> Iterator[str]:
    """Yield, in words, all differences of a record from the computed one."""
    if isinstance(computed, Mapping) and isinstance(said, Mapping):
        for key in said.keys() - computed.keys():
            yield f"{name} has an unknown field {key!r}"
        for key, value in computed.items():
            if key in said:
                yield from differences(value, said[key], f"{name}.{key}")
            else:
                yield f"{name} lacks the field {key!r}"
    elif isinstance(computed, list | tuple) and isinstance(said, list):
        if len(computed) != len(said):
            yield f"{name} has {len(said)} entries, not {len(computed)}"
        for i, pair in enumerate(zip(computed, said, strict=False)):
            yield from differences(*pair, f"{name}[{i}]")
    elif not _agree(computed, said):
        yield f"{name} is {said!r}, and {computed!r} when computed from the rest of the record"


def _agree(computed: Any, said: Any) -> bool:
    if isinstance(computed, float) and type(said) in (int, float):
        return math.isclose(computed, said, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE**2)
    return type(computed) is type(said) and bool(computed == said)
