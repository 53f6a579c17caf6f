"""Checks of messages, which are dictionaries that JSON can represent (zone: public)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._privacy.checks import check_number

__all__ = ["VERSION", "MessageError", "check_message", "number", "numbers", "plain"]

VERSION = 1


class MessageError(ValueError):
    """A message is malformed or asks for something not offered. Its text may be sent back."""


def check_message(message: Any, **expected: Any) -> None:
    """Raise MessageError unless this is a message with these entries."""
    found = message if isinstance(message, dict) else {}
    if any(found.get(key) != value for key, value in expected.items()):
        raise MessageError(f"expected a message with {expected}; found {message!r:.200}")


def number(
    name: str, value: Any, expected: str, holds: Callable[[Any], bool], kind: type = int
) -> Any:
    """Return a number of a message, of the type that JSON gives."""
    try:
        check_number(name, value, expected, holds, kind)
    except ValueError as error:
        raise MessageError(str(error)) from None
    return value


def numbers(name: str, value: Any, n: int) -> list[int]:
    """Return a list of different integers from 0 to n - 1, which may be empty."""
    whole = isinstance(value, list) and all(type(i) is int and 0 <= i < n for i in value)
    if not whole or len(set(value)) < len(value):
        raise MessageError(
            f"{name} must be a list of different integers from 0 to {n - 1}; found {value!r:.200}"
        )
    return list(value)


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python one, which stores and estimators accept."""
    return value.item() if isinstance(value, np.generic) else value
