"""Records in JSON, and how far two of them agree (zone: released)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

# Numbers that are computed anew may differ in the last digits between machines.
_TOLERANCE = 1e-6
# A list of numbers, one a line, which is written on one line.
_LIST = re.compile(r"\[\n(?: +[-+.\w]+,?\n)+ +\]")


def as_json(record: Mapping[str, Any]) -> str:
    """Return a record as JSON, in which infinity and NaN are errors."""
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
    return _LIST.sub(lambda found: " ".join(found[0].split("\n")).replace("  ", ""), text)


def from_json(text: str) -> Any:
    """Return what a JSON text holds; ValueError if a key of an object occurs twice."""
    return json.loads(text, object_pairs_hook=_without_duplicates)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # readers take either
        raise ValueError("a key occurs twice in an object")
    return found


def require_equal(computed: Any, said: Any, name: str) -> None:
    """Raise ValueError that names the first place at which two records differ."""
    for difference in differences(computed, said, name):
        raise ValueError(difference)


def differences(computed: Any, said: Any, name: str) -> Iterator[str]:
    """Yield, in words, each place at which a record says something else than was computed."""
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
        for i, (ours, theirs) in enumerate(zip(computed, said, strict=False)):
            yield from differences(ours, theirs, f"{name}[{i}]")
    elif not _agree(computed, said):
        yield f"{name} is {said!r}, and {computed!r} when computed from the rest of the record"


def _agree(computed: Any, said: Any) -> bool:
    if isinstance(computed, float) and type(said) in (int, float):
        return math.isclose(computed, said, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE**2)
    return type(computed) is type(said) and bool(computed == said)
