"""Messages between a coordinator and the sites (zone: released).

They are dictionaries that JSON can represent:

    {"type": "ask", "version": 1, "what": "vote", "plan": {...}}            coordinator to site
    {"type": "tell", "version": 1, "what": "vote", "candidate": 3, "failed": [], "m": 1000,
     "unit": "record", "epsilon_left": 0.4}                                 site to coordinator
    {"type": "ask", "version": 1, "what": "counts", "candidates": [3, 7]}   coordinator to site
    {"type": "tell", "version": 1, "what": "counts", "candidates": [3, 7],
     "counts": [[871], [865]], "scale": 5.0, "epsilon": 1.0, "spent": [...], "noise": "...",
     "secure": true, "epsilon_left": 0.0}                                   site to coordinator
    {"type": "done", "version": 1, "candidate": 3, "score": 0.87,
     "interval": [0.85, 0.89]}                                              coordinator to site
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._params import check_number
from ..papers.kharkovskii2020._offers import MessageError

__all__ = ["VERSION", "check_message", "different_numbers", "field"]

VERSION = 1


def check_message(message: Any, kind: str, what: str | None = None) -> None:
    """Raise MessageError unless this is a message of this kind."""
    found = message if isinstance(message, dict) else {}
    wanted = {"type": kind, "version": VERSION} | ({} if what is None else {"what": what})
    if any(found.get(key) != value for key, value in wanted.items()):
        raise MessageError(f"expected a message with {wanted}; found {_shown(message)}")


def field(
    message: dict[str, Any],
    name: str,
    expected: str,
    holds: Callable[[Any], bool] = lambda _: True,
    kind: type = int,
) -> Any:
    """Return a number of a message, of the type that JSON gives."""
    value = message.get(name)
    try:
        check_number(f"{name!r} of a message", value, expected, holds, kind)
    except ValueError as error:
        raise MessageError(str(error)) from None
    return value


def different_numbers(value: Any, what: str, n: int, *, or_none: bool = False) -> list[int]:
    """Return a list of different numbers from 0 to n - 1, of the type that JSON gives."""
    if isinstance(value, list) and (value or or_none):
        numbers: list[int] = value
        whole = all(type(each) is int and 0 <= each < n for each in numbers)
        if whole and len(set(numbers)) == len(numbers):
            return numbers
    raise MessageError(
        f"{what} must be a list of different integers from 0 to {n - 1}; found {_shown(value)}"
    )


def _shown(message: Any) -> str:
    return f"{message!r:.200}"
