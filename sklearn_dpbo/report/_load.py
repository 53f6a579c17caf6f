"""What was released, from the JSON that was written of it (zone: released)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..metrics.evaluations._from_dict import KINDS, evaluation_from_dict
from ..privacy.report._json import from_json
from ..privacy.report._report import FORMAT, PrivacyReport
from ..search._released import SEARCH, THRESHOLD, SearchResult

_READERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    **dict.fromkeys(KINDS, evaluation_from_dict),
    **dict.fromkeys((SEARCH, THRESHOLD), SearchResult.from_dict),
}


def load(path: str | os.PathLike[str]) -> Any:
    """Return what was released, from the file that ``to_json`` was written to.

    Tables, figures and intervals are those of the object that wrote the file: they follow from the
    noisy counts in it, and intervals from the same simulation. Every number in the file is computed
    anew, and the file is refused if one of them differs.

    Parameters
    ----------
    path : str or path-like
        The file, in UTF-8.

    Returns
    -------
    released : ClassifierEvaluation, RegressorEvaluation, ModelComparison, SearchResult \
or PrivacyReport
        What wrote the file.

    Raises
    ------
    ValueError
        If the file is no such JSON, is of another format, or contradicts itself.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> from sklearn_dpbo.report import load
    >>> evaluation = load("evaluation.json")  # doctest: +SKIP
    >>> evaluation.score("roc_auc")  # doctest: +SKIP
    0.975 (95 %: 0.9322 to 1)
    """
    return from_dict(from_json(Path(path).read_text(encoding="utf-8")))


def from_dict(record: Mapping[str, Any]) -> Any:
    """Return what was released, from what ``to_dict`` returned of it.

    Parameters
    ----------
    record : dict
        What ``to_dict`` returned, or the same read from JSON.

    Returns
    -------
    released : ClassifierEvaluation, RegressorEvaluation, ModelComparison, SearchResult \
or PrivacyReport
        What ``to_dict`` was a method of.

    Raises
    ------
    ValueError
        If the record is of another format, lacks fields or has unknown ones, or contradicts itself.
    """
    if not isinstance(record, Mapping) or record.get("format") != FORMAT:
        found = record.get("format") if isinstance(record, Mapping) else type(record).__name__
        raise ValueError(
            f"a record of this version has the format {FORMAT}; found {found!r}. Write it with "
            "to_json() of an evaluation, a comparison, search.released_ or privacy_"
        )
    kind = record.get("kind")
    if kind is not None and kind not in _READERS:
        raise ValueError(f"a record is of one of {list(_READERS)}; found {kind!r}")
    what = kind or "a privacy report"
    try:
        return (PrivacyReport.from_dict if kind is None else _READERS[kind])(record)
    except (KeyError, TypeError, AttributeError, IndexError, ArithmeticError) as error:
        raise ValueError(
            f"the record of {what} lacks something, or has something else in its place: "
            f"{type(error).__name__}: {error}"
        ) from error
    except ValueError as error:
        raise ValueError(f"the record of {what} is not as it was written: {error}") from error
