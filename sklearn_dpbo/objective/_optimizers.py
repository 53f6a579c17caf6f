"""Candidates as Optuna's trials and scikit-optimize's vectors have them (zone: public)."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Protocol

import numpy as np

__all__ = ["on_trials", "on_vectors", "plain"]

Candidate = dict[str, Any]


class _Objective(Protocol):
    """What returns the score of a candidate."""

    @property
    def n_calls_left_(self) -> int:
        """How many more candidates may be scored."""

    def __call__(self, params: Candidate) -> float:
        """Return the score of a candidate."""


def on_trials(
    objective: _Objective,
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
        return score

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
    if not isinstance(space, Mapping) or not space:
        raise ValueError(
            "space must be a dict from parameter names to lists or distributions or, for a "
            f"conditional space, a function of a trial that returns a dict; found {space!r}"
        )
    for name, values in space.items():
        _suggest(None, name, values)

    def suggest(trial: Any) -> Candidate:
        return {name: _suggest(trial, name, values) for name, values in space.items()}

    return suggest


def _suggest(trial: Any, name: str, values: Any) -> Any:
    """Suggest a value; with None for a trial, only check that this is possible."""
    kind, arguments = _domain(name, values)
    if trial is None:
        return None
    return getattr(trial, f"suggest_{kind}")(name, **arguments)


def _domain(name: str, values: Any) -> tuple[str, dict[str, Any]]:
    """Return the kind of a parameter, and the arguments of Optuna's method that suggests it."""
    fields: Any = getattr(values, "_asdict", dict)()
    if hasattr(values, "choices"):
        return "categorical", {"choices": values.choices}
    if "low" in fields:
        kind = "int" if type(values).__name__.startswith("Int") else "float"
        return kind, {key: fields[key] for key in ("low", "high", "log", "step")}
    if hasattr(values, "rvs"):
        return _of_scipy(name, values)
    if isinstance(values, list | np.ndarray) and len(values):
        return "categorical", {"choices": [plain(value) for value in values]}
    raise ValueError(
        f"space[{name!r}] must be a list of values or a distribution of Optuna or scipy, "
        f"such as scipy.stats.loguniform(1e-3, 1e3); found {values!r}"
    )


def _of_scipy(name: str, distribution: Any) -> tuple[str, dict[str, Any]]:
    law = getattr(getattr(distribution, "dist", None), "name", type(distribution).__name__)
    if law not in ("uniform", "loguniform", "reciprocal", "randint"):
        raise ValueError(
            f"space[{name!r}]: Optuna has no counterpart of scipy.stats.{law}. Use uniform, "
            "loguniform or randint, or pass a function of a trial that suggests the parameter"
        )
    low, high = (plain(end) for end in distribution.support())
    if law == "randint":
        return "int", {"low": int(low), "high": int(high)}
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"space[{name!r}] must have finite bounds; found {low} to {high}")
    return "float", {"low": low, "high": high, "log": law != "uniform"}


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


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python one, which stores and estimators accept."""
    return value.item() if isinstance(value, np.generic) else value
