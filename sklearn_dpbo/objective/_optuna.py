"""Candidates as Optuna's trials suggest them (zone: public)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from ._spaces import Range, domains

__all__ = ["on_trials"]

# Returns the candidate that a trial suggests.
Suggest = Callable[[Any], dict[str, Any]]


def on_trials(objective: Any, space: Mapping[str, Any] | Suggest) -> Callable[[Any], float]:
    """Return a function of an Optuna trial that returns the score of the candidate suggested."""
    suggest = space if callable(space) else _suggesting(space)

    def of_trial(trial: Any) -> float:
        directions = [direction.name for direction in trial.study.directions]
        if directions != ["MAXIMIZE"]:
            raise ValueError(
                "the study must maximise, because larger scores are better: use "
                f'optuna.create_study(direction="maximize"); found {directions}'
            )
        score = objective(suggest(trial))
        if objective.n_calls_left_ == 0:
            with contextlib.suppress(RuntimeError):  # the trial is not of study.optimize
                trial.study.stop()
        return float(score)

    return of_trial


def _suggesting(space: Mapping[str, Any]) -> Suggest:
    known = domains(space)

    def suggest(trial: Any, name: str, domain: list[Any] | Range) -> Any:
        if isinstance(domain, list):
            return trial.suggest_categorical(name, domain)
        if domain.whole:
            return trial.suggest_int(name, domain.low, domain.high)
        return trial.suggest_float(name, domain.low, domain.high, log=domain.log)

    return lambda trial: {name: suggest(trial, name, domain) for name, domain in known.items()}
