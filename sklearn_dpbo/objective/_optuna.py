"""Candidates as Optuna's trials suggest them (zone: public)."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..exceptions import BudgetExceededError

__all__ = ["on_trials", "plain"]

# Returns the candidate that a trial suggests, or one of its values.
Suggest = Callable[[Any], Any]


def on_trials(objective: Any, space: Mapping[str, Any] | Suggest) -> Callable[[Any], float]:
    """Return a function of an Optuna trial that returns the score of the candidate suggested."""
    suggest = space if callable(space) else _suggesting(space)
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


def _suggesting(space: Any) -> Suggest:
    if not isinstance(space, Mapping) or not space:
        raise ValueError(
            f"space must be a dict from parameter names to lists or distributions; found {space!r}"
        )
    parts = {str(name): _value_of(str(name), values) for name, values in space.items()}
    return lambda trial: {name: suggest(trial) for name, suggest in parts.items()}


def _value_of(name: str, values: Any) -> Suggest:
    """Return a function of a trial that suggests a value of one parameter."""
    if isinstance(values, list | np.ndarray) and len(values):
        choices = [plain(value) for value in values]
        return lambda trial: trial.suggest_categorical(name, choices)
    law = getattr(getattr(values, "dist", None), "name", type(values).__name__)
    if law not in ("uniform", "loguniform", "reciprocal", "randint"):
        raise ValueError(
            f"space[{name!r}] must be a list of values, or uniform, loguniform or randint of "
            f"scipy.stats; found {values!r:.200}"
        )
    low, high = (plain(end) for end in values.support())
    if law == "randint":
        return lambda trial: trial.suggest_int(name, int(low), int(high))
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"space[{name!r}] must have finite bounds; found {low} to {high}")
    return lambda trial: trial.suggest_float(name, low, high, log=law != "uniform")


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python one, which stores and estimators accept."""
    return value.item() if isinstance(value, np.generic) else value
