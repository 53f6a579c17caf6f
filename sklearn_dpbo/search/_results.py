"""Fitted attributes of a search from what its strategy released, and reports (zone: released)."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np
from scipy.stats import rankdata

from ..metrics._make import is_several
from ..metrics._scorers import PrivateScorer
from ..prediction.candidates import Candidates
from ..privacy.float_errors import ignore_float_errors
from ..privacy.report._report import PrivacyReport
from ..privacy.spending import Spending
from ._released import SEARCH, SearchResult
from ._strategy import Release


class CVResults(dict[str, Any]):
    """A dict of columns, one entry per candidate; its KeyError for raw scores names others."""

    def __missing__(self, column: object) -> NoReturn:
        if not re.search("_(test|train|score)_", str(column)):
            raise KeyError(column)
        if released := [name for name in self if "_test_" in name]:
            raise KeyError(f"no {column}: there is one validation set, and released are {released}")
        raise KeyError(
            f"no {column}: only the chosen candidate's score is released, with noise: best_score_. "
            "PrivateBayesSearchCV(release='all') releases those of all candidates, each with more "
            "noise; cv_results_['public_score'] has scores within a public training set, if there "
            "are any"
        )


def fitted_attributes(release: Release, names: list[str]) -> dict[str, Any]:
    """Make the fitted attributes, from released values and public facts.

    `names` are those of several scores, in the order of the release; empty if `scoring` is one.
    """
    candidates = release.candidates
    best = release.best_index
    scores = [released.score for released in release.scores]
    populations = [released.population for released in release.scores]
    fitted: dict[str, Any] = {}
    if names:
        fitted["best_scores_"] = dict(zip(names, [score for score, _ in scores], strict=True))
        intervals = [interval for _, interval in scores]
        fitted["best_score_intervals_"] = dict(zip(names, intervals, strict=True))
        fitted["best_score_population_intervals_"] = dict(zip(names, populations, strict=True))
    if best is not None:
        fitted |= {"best_index_": best, "best_params_": candidates[best].params}
    if scores:
        fitted["best_score_"], fitted["best_score_interval_"] = scores[0]
        fitted["best_score_population_interval_"] = populations[0]
    params = [candidate.params for candidate in candidates]
    times = [candidate.fit_time for candidate in candidates]
    validated = np.array([bool(candidate.validated) for candidate in candidates])
    secret = [candidate.validated is None for candidate in candidates]
    columns = {
        "mean_fit_time": np.array(times),
        "std_fit_time": 0 * np.array(times),  # one fit per candidate
        **param_columns(params),
        "params": params,
        "validated": np.ma.array(validated, mask=secret) if any(secret) else validated,
        "public_score": np.array([candidate.public_score for candidate in candidates]),
        "fit_error": np.array([candidate.fit_error for candidate in candidates], dtype=object),
        **_score_columns(release, names),
    }
    return {**fitted, "cv_results_": CVResults(columns)}


def _score_columns(release: Release, names: list[str]) -> dict[str, Any]:
    """Make the columns of released scores, with NaN where there is none; {} without any."""
    if release.all_scores is None:
        return {}
    columns: dict[str, Any] = {}
    for k, name in enumerate(names or ["score"]):
        score, low, high = np.full((3, len(release.candidates)), np.nan)
        for i, scores in release.all_scores.items():
            score[i], (low[i], high[i]) = scores[k].score
        lowest = np.nan_to_num(score, nan=-np.inf)
        columns |= {
            f"mean_test_{name}": score,
            f"low_test_{name}": low,
            f"high_test_{name}": high,
            f"rank_test_{name}": rankdata(-lowest, method="min").astype(np.int32),
        }
    return columns


@ignore_float_errors()
def results_of(
    search: Any, release: Release, names: list[str], candidates: Candidates, privacy: PrivacyReport
) -> dict[str, Any]:
    """Make the fitted attributes of a search, except the model; `names` are those of scores."""
    several = is_several(search.scoring)
    scorers = release.scorers or candidates.scorers
    fitted = {
        **fitted_attributes(release, names if several else []),
        "privacy_": privacy,
        "scorer_": dict(zip(names, scorers, strict=True)) if several else scorers[0],
        "multimetric_": several,
        "n_splits_": 1,
        "choice_counts_": release.choice_counts,
    }
    if release.report is not None:
        fitted["evaluation_"] = release.report(candidates.problem.units, privacy)
    fitted["released_"] = _released(release, names, privacy, fitted)
    return fitted


def _released(
    release: Release, names: list[str], privacy: PrivacyReport, fitted: Mapping[str, Any]
) -> SearchResult:
    """Make the object of all released results; `names` are those of the scores."""
    named = partial(zip, names, strict=True)
    return SearchResult.of(
        SEARCH,
        privacy,
        dict(named(release.scores)) if release.scores else {},
        best_params=fitted.get("best_params_"),
        best_index=release.best_index,
        candidates=[
            # A candidate whose fit failed was not validated.
            (candidate.params, candidate.validated and candidate.fit_error is None)
            for candidate in release.candidates
        ],
        choice_counts=release.choice_counts,
        evaluation=fitted.get("evaluation_"),
        all_scores={i: dict(named(scores)) for i, scores in (release.all_scores or {}).items()},
    )


def clipping_in_words(scorers: Iterable[PrivateScorer]) -> str:
    """Describe the clipping of losses of each score, for the list of released results."""
    clipped = [scorer for scorer in scorers if scorer.clipping]
    return "".join(f"{scorer.name} with {scorer.clipping}; " for scorer in clipped)


def also_released(search: Any, release: Release, names: list[str]) -> str:
    """List the results that a search releases in addition to those of its strategy, in words."""
    results = []
    if release.report is not None:
        results.append("evaluation_")
    if release.choice_counts is not None:
        results.append("choice_counts_")
    if release.all_scores is not None:
        results.append("the scores of all candidates in cv_results_")
    if is_several(search.scoring):
        results.append(
            "best_scores_, best_score_population_intervals_ and best_score_intervals_ "
            f"({', '.join(names)})"
        )
    return "".join(f"{result}, " for result in results)


def param_columns(candidates: Sequence[dict[str, Any]]) -> dict[str, np.ma.MaskedArray]:
    """Make a column per parameter, masked where a candidate does not have the parameter."""
    columns = {}
    for name in sorted({name for params in candidates for name in params}):
        kind = _kind_of([params[name] for params in candidates if name in params])
        column: np.ma.MaskedArray = np.ma.MaskedArray(np.zeros(len(candidates), kind), mask=True)
        for i, params in enumerate(candidates):
            if name in params:
                column[i] = params[name]
        columns[f"param_{name}"] = column
    return columns


def _kind_of(values: list[Any]) -> type:
    """Return bool, int or float if that type represents all values exactly, else object."""
    plain = [v.item() if isinstance(v, np.generic) else v for v in values]
    kinds = {type(v) for v in plain}
    exact = all(abs(v) <= 2**53 for v in plain if type(v) is int)
    if kinds and exact and kinds <= {int, float}:
        return float if float in kinds else int
    return bool if kinds == {bool} else object


@contextlib.contextmanager
def note_on_error(describe: Callable[[], str]) -> Iterator[None]:
    """Add the result of `describe`, unless it is "", as a note to exceptions raised inside."""
    try:
        yield
    except BaseException as error:
        if note := describe():
            error.add_note(note)
        raise


def already_released(fitted: Mapping[str, Any]) -> str:
    """Describe the private result, which has been paid for, for the note on an error."""
    scores = ("best_score_", "best_score_population_interval_", "best_score_interval_")
    names = ("best_params_", *scores)
    return "The private result had been released and paid for before this: " + ", ".join(
        f"{name}={fitted[name]}" for name in names if name in fitted
    )


def spent_before(spending: Spending) -> str:
    """Describe the epsilon and delta that a search had spent when it failed; "" if none."""
    losses = spending.spent.spends
    if not losses:
        return ""
    epsilon = sum(loss.epsilon for loss in losses)
    delta = sum(loss.delta for loss in losses)
    purposes = "; ".join(dict.fromkeys(loss.release for loss in losses))
    return (
        f"epsilon={epsilon:g}, delta={delta:g} had been charged before this (for: {purposes}); the "
        "search returns no result"
    )
