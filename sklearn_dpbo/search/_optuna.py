"""Candidates as Optuna's trials suggest them (zone: public)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..exceptions import BudgetExceededError


def on_trials(objective: Any, suggest: Callable[[Any], dict[str, Any]]) -> Callable[[Any], float]:
    """Return a function of an Optuna trial that returns the score of the candidate suggested."""
    if not callable(suggest):
        raise ValueError(
            "suggest is a function of a trial that returns a candidate, such as lambda trial: "
            f'{{"C": trial.suggest_float("C", 0.01, 100, log=True)}}; found {suggest!r}'
        )
    alone, scored = threading.Lock(), False

    def of_trial(trial: Any) -> float:
        nonlocal scored
        directions = [direction.name for direction in trial.study.directions]
        if directions != ["MAXIMIZE"]:
            raise ValueError(
                "the study must maximise, because larger scores are better: use "
                f'optuna.create_study(direction="maximize"); found {directions}'
            )
        params = suggest(trial)
        with alone:
            try:
                score = objective(params)
            except BudgetExceededError as error:
                # A trial of another thread may have used the last call after this one began.
                if scored and objective.n_calls_left_ == 0 and _stops(trial.study):
                    from optuna import TrialPruned

                    raise TrialPruned(str(error)) from None
                raise
            scored = True
            if objective.n_calls_left_ == 0:
                _stops(trial.study)
        return float(score)

    return of_trial


def _stops(study: Any) -> bool:
    """Let ``study.optimize`` end after the trials that run; False if it does not run."""
    try:
        study.stop()
    except RuntimeError:
        return False
    return True


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python one, which stores and estimators accept."""
    return value.item() if isinstance(value, np.generic) else value
