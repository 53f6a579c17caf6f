"""Small linear algebra in one thread (zone: public).

The matrices of the surrogate are small. A linear-algebra library that divides them among threads
spends its time waiting for the threads: on two busy cores it took thirteen times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["single_threaded"]

P = ParamSpec("P")
R = TypeVar("R")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def single_threaded(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function run its linear algebra in one thread. Not for fits of estimators."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited
