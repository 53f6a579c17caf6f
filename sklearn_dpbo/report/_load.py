"""Reading of releases from their JSON (zone: released)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..metrics.evaluations._from_dict import KINDS, evaluation_from_dict
from ..privacy.report._json import from_json
from ..privacy.report._report import FORMAT, PrivacyReport
from ..search._released import SEARCH, THRESHOLD, SearchResult
from ._contradictions import contradictions

_READERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    **dict.fromkeys(KINDS, evaluation_from_dict),
    **dict.fromkeys((SEARCH, THRESHOLD), SearchResult.from_dict),
}


def load(path: str | os.PathLike[str]) -> Any:
    """Load a release from a file that holds its ``to_json``.

    Tables, figures and intervals are those of the object that wrote the file: they are computed
    from the noisy counts in it, intervals with the same simulation. Every number in the file is
    recomputed, and the file is refused if one differs.

    Parameters
    ----------
    path : str or path-like
        The file, in UTF-8.

    Returns
    -------
    released : ClassifierEvaluation, RegressorEvaluation, ModelComparison, SearchResult \
or PrivacyReport
        An object equal to the one that wrote the file.

    Raises
    ------
    ValueError
        If the file is not such JSON, has another format, or contradicts itself.
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
    """Return a release from its ``to_dict``.

    Parameters
    ----------
    record : dict
        Result of ``to_dict``, or the same read from JSON.

    Returns
    -------
    released : ClassifierEvaluation, RegressorEvaluation, ModelComparison, SearchResult \
or PrivacyReport
        An object equal to the one whose ``to_dict`` this is.

    Raises
    ------
    ValueError
        If the record is of another format, lacks fields or has unknown ones, or contradicts itself.
    """
    if not isinstance(record, Mapping) or record.get("format") != FORMAT:
        version = record.get("format") if isinstance(record, Mapping) else type(record).__name__
        raise ValueError(
            f"a record must have the format {FORMAT}; found {version!r}. Write it with "
            "to_json() of an evaluation, a comparison, search.released_ or privacy_"
        )
    kind = record.get("kind")
    if kind is not None and kind not in _READERS:
        raise ValueError(f"the kind of a record must be one of {list(_READERS)}; found {kind!r}")
    what = kind or "a privacy report"
    try:
        released = (PrivacyReport.from_dict if kind is None else _READERS[kind])(record)
        for contradiction in contradictions(released):
            raise ValueError(contradiction)
        return released
    except (KeyError, TypeError, AttributeError, IndexError, ArithmeticError) as error:
        raise ValueError(
            f"the record of {what} lacks a field, or has a value of another type: "
            f"{type(error).__name__}: {error}"
        ) from error
    except ValueError as error:
        raise ValueError(
            f"the record of {what} was changed, or contradicts itself: {error}"
        ) from error
