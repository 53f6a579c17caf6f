"""Fitted attributes of a search from what its strategy released, and reports (zone: released)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy.stats import rankdata

from .._evaluation.evaluator import Evaluator
from .._privacy.accounting import Budget
from ..report._report import PrivacyReport
from ..scoring._make import is_several
from ..strategies._base import Release
from .cv_results import CVResults

__all__ = [
    "already_released",
    "fitted_attributes",
    "note_on_error",
    "param_columns",
    "results_of",
    "spent_before",
]


def fitted_attributes(release: Release, names: list[str]) -> dict[str, Any]:
    """Return the fitted attributes, made of released values and public facts.

    If `scoring` has several scores, `names` are theirs, in the order of the release; else none.
    """
    candidates, scores = release.candidates, release.scores
    params = tuple(each.params for each in candidates)
    fitted: dict[str, Any] = {}
    if names:
        fitted = {
            "best_scores_": {name: s for name, (s, _) in zip(names, scores, strict=True)},
            "best_score_intervals_": {name: i for name, (_, i) in zip(names, scores, strict=True)},
        }
    if release.best_index is not None:
        fitted |= {
            "best_index_": release.best_index,
            "best_params_": params[release.best_index],
        }
    if scores:
        fitted["best_score_"], fitted["best_score_interval_"] = scores[0]
    times = np.array([each.fit_time for each in candidates])
    validated = np.array([bool(each.validated) for each in candidates])
    secret = [each.validated is None for each in candidates]
    if any(secret):
        validated = np.ma.array(validated, mask=secret)
    return fitted | {
        "cv_results_": CVResults(
            {
                "mean_fit_time": times,
                "std_fit_time": 0 * times,  # one fit per candidate
                **param_columns(params),
                "params": list(params),
                "validated": validated,
                "public_score": np.array([each.public_score for each in candidates]),
                "fit_error": np.array([each.fit_error for each in candidates], dtype=object),
                **_score_columns(release, names),
            }
        ),
    }


def _score_columns(release: Release, names: list[str]) -> dict[str, Any]:
    """Return columns of scores, with noise, if they are released; NaN where there is none."""
    if release.all_scores is None:
        return {}
    columns: dict[str, Any] = {}
    for k, name in enumerate(names or ["score"]):
        score, low, high = np.full((3, len(release.candidates)), np.nan)
        for i, scores in release.all_scores.items():
            score[i], (low[i], high[i]) = scores[k]
        lowest = np.nan_to_num(score, nan=-np.inf)
        columns |= {
            f"mean_test_{name}": score,
            f"low_test_{name}": low,
            f"high_test_{name}": high,
            f"rank_test_{name}": rankdata(-lowest, method="min").astype(np.int32),
        }
    return columns


def results_of(
    search: Any, release: Release, names: list[str], oracle: Evaluator, privacy: PrivacyReport
) -> dict[str, Any]:
    """Return the fitted attributes of a search, except the model; names are those of its scores."""
    several = is_several(search.scoring)
    fitted = {
        **fitted_attributes(release, names if several else []),
        "privacy_": privacy,
        "scorer_": dict(zip(names, oracle.scorers, strict=True)) if several else oracle.scorer,
        "multimetric_": several,
        "n_splits_": 1,
    }
    if release.report is not None:
        fitted["evaluation_"] = release.report(oracle.problem.units, privacy)
    return fitted


def param_columns(candidate_params: tuple[dict[str, Any], ...]) -> dict[str, np.ma.MaskedArray]:
    """Return a column per parameter, masked where a candidate does not have the parameter."""
    columns = {}
    for name in sorted({name for params in candidate_params for name in params}):
        kind = _kind_of([params[name] for params in candidate_params if name in params])
        column: np.ma.MaskedArray = np.ma.MaskedArray(
            np.zeros(len(candidate_params), kind), mask=True
        )
        for i, params in enumerate(candidate_params):
            if name in params:
                column[i] = params[name]
        columns[f"param_{name}"] = column
    return columns


def _kind_of(values: list[Any]) -> type:
    """Return bool, int or float if that type represents all values exactly, else object."""
    values = [v.item() if isinstance(v, np.generic) else v for v in values]
    kinds = {type(v) for v in values}
    if kinds == {bool}:
        return bool
    whole = [v for v in values if isinstance(v, int)]
    if not kinds or not kinds <= {int, float} or not all(abs(v) <= 2**53 for v in whole):
        return object
    return int if kinds == {int} else float


@contextlib.contextmanager
def note_on_error(describe: Callable[[], str]) -> Iterator[None]:
    """Add the text that `describe` returns, if any, as a note to whatever is raised inside."""
    try:
        yield
    except BaseException as error:
        if note := describe():
            error.add_note(note)
        raise


def already_released(fitted: Mapping[str, Any]) -> str:
    """Return the private result in words, for the note on an error: it has been paid for."""
    names = ("best_params_", "best_score_", "best_score_interval_")
    return "The private result had been released and paid for before this: " + ", ".join(
        f"{name}={fitted[name]}" for name in names if name in fitted
    )


def spent_before(budget: Budget) -> str:
    """Return what a search that failed had spent, in words; an empty string if nothing."""
    if not budget.losses:
        return budget.reserved * (
            f"epsilon={budget.epsilon:g}, delta={budget.delta:g} count as spent: models had been "
            "fitted on protected records; no result was released"
        )
    epsilon, delta = budget.spent
    purposes = "; ".join(dict.fromkeys(loss.release for loss in budget.losses))
    return (
        f"epsilon={epsilon:g}, delta={delta:g} had been charged before this (for: {purposes}); the "
        "search returns no result"
    )
