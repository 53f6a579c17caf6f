"""A progress bar over public steps (zone: public)."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["progress_bar"]


def progress_bar(steps: Iterable, total: int, what: str, *, shown: bool) -> Iterable:
    """Return the steps, with a bar while they are taken if it is to be `shown`.

    Raises
    ------
    ImportError
        If there is no library to draw it.
    """
    if not shown:
        return steps
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            'a progress bar takes tqdm: pip install "sklearn_dpbo[progress]"'
        ) from error
    return tqdm(steps, total=total, desc=what)
