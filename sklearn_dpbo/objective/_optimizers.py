"""Candidates as Optuna's trials and scikit-optimize's vectors have them (zone: public)."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ._spaces import Range, domains, plain

__all__ = ["on_trials", "on_vectors"]

Candidate = dict[str, Any]


def on_trials(
    objective: Any,
    space: Mapping[str, Any] | Callable[[Any], Candidate],
) -> Callable[[Any], float]:
    """Return a function of an Optuna trial that returns the score of the candidate suggested."""
    suggest = space if callable(space) else _suggesting(space)

    def of_trial(trial: Any) -> float:
        directions = [direction.name for direction in trial.study.directions]
        if directions != ["MAXIMIZE"]:
            raise ValueError(
                "the study must maximise, because larger scores are better: use "
                f'optuna.create_study(direction="maximize"); found {directions}'
            )
        score = objective(suggest(_WithoutPruning(trial)))
        if objective.n_calls_left_ == 0:
            with contextlib.suppress(RuntimeError):  # the trial is not of study.optimize
                trial.study.stop()
        return float(score)

    return of_trial


class _WithoutPruning:
    """A trial that suggests parameters, and reports nothing."""

    def __init__(self, trial: Any) -> None:
        self._trial = trial

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trial, name)

    def report(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise ValueError(
            "a trial of a PrivateObjective cannot be pruned: each intermediate validation score "
            "would be a separate release, with as much noise and cost as the last. Remove "
            "trial.report and trial.should_prune, and stop early within the training set instead"
        )

    should_prune = report


def _suggesting(space: Mapping[str, Any]) -> Callable[[Any], Candidate]:
    known = domains(space)

    def suggest(trial: Any) -> Candidate:
        return {name: _suggest(trial, name, domain) for name, domain in known.items()}

    return suggest


def _suggest(trial: Any, name: str, domain: list[Any] | Range) -> Any:
    if isinstance(domain, list):
        return trial.suggest_categorical(name, domain)
    if domain.whole:
        return trial.suggest_int(name, domain.low, domain.high)
    return trial.suggest_float(name, domain.low, domain.high, log=domain.log)


def on_vectors(
    objective: Callable[[Candidate], float], dimensions: list[Any], lowest: Callable[[], float]
) -> Callable[[Any], float]:
    """Return a function of a vector that returns the negative score of the candidate."""
    names = [getattr(dimension, "name", None) for dimension in dimensions]
    if not names or None in names or len(set(names)) < len(names):
        raise ValueError(
            "each dimension must have the name of its parameter, as in Real(1e-3, 1e3, "
            f'prior="log-uniform", name="C"); found the names {names}'
        )

    def of_vector(vector: Any) -> float:
        values = [plain(value) for value in vector]
        score = objective(dict(zip(map(str, names), values, strict=True)))
        return -lowest() if math.isnan(score) else -score

    return of_vector
