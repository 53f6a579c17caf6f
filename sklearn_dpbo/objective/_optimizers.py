"""Settings as Optuna's trials and scikit-optimize's vectors have them (zone: public)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

__all__ = ["on_trials", "on_vectors"]

Setting = dict[str, Any]


def on_trials(
    objective: Callable[[Setting], float],
    space: Mapping[str, Any] | Callable[[Any], Setting],
) -> Callable[[Any], float]:
    """Return a function of an Optuna trial that returns the score of the setting suggested.

    Parameters
    ----------
    objective : callable
        Returns the score of a setting.
    space : dict or callable
        See `PrivateObjective.optuna`.

    Raises
    ------
    ValueError
        If the space is neither, or has something that Optuna has no counterpart of.
    """
    suggest = space if callable(space) else _suggesting(space)

    def of_trial(trial: Any) -> float:
        directions = [direction.name for direction in trial.study.directions]
        if directions != ["MAXIMIZE"]:
            raise ValueError(
                "scores are the better the larger they are: make the study with "
                f'optuna.create_study(direction="maximize"); found {directions}'
            )
        return objective(suggest(_WithoutPruning(trial)))

    return of_trial


class _WithoutPruning:
    """A trial that suggests parameters, and reports nothing.

    Parameters
    ----------
    trial : optuna.Trial
        The trial.
    """

    def __init__(self, trial: Any) -> None:
        self._trial = trial

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trial, name)

    def report(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refuse."""
        raise ValueError(
            "a trial of a PrivateObjective cannot be pruned: an intermediate validation score "
            "would be a release of its own, with noise and a cost as large as the last. Leave out "
            "trial.report and trial.should_prune; stop early within the training set instead"
        )

    should_prune = report


def _suggesting(space: Mapping[str, Any]) -> Callable[[Any], Setting]:
    if not isinstance(space, Mapping) or not space:
        raise ValueError(
            "space is a dict from names of parameters to lists or distributions, or a function of "
            f"a trial that returns a setting; found {space!r}"
        )
    for name, values in space.items():
        _suggest(None, name, values)

    def suggest(trial: Any) -> Setting:
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
    if isinstance(values, Iterable) and not isinstance(values, str | Mapping) and len(list(values)):
        return "categorical", {"choices": [_plain(value) for value in values]}
    raise ValueError(
        f"space[{name!r}] is a list of values, one of Optuna's distributions, or scipy.stats' "
        f"uniform, loguniform or randint; found {values!r}"
    )


def _of_scipy(name: str, distribution: Any) -> tuple[str, dict[str, Any]]:
    law = getattr(getattr(distribution, "dist", None), "name", type(distribution).__name__)
    if law not in ("uniform", "loguniform", "reciprocal", "randint"):
        raise ValueError(
            f"space[{name!r}]: Optuna has no counterpart of scipy.stats.{law}. Use uniform, "
            "loguniform or randint, or a function of a trial that suggests the parameter"
        )
    low, high = (_plain(end) for end in distribution.support())
    if law == "randint":
        return "int", {"low": int(low), "high": int(high)}
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"space[{name!r}] has no finite bounds: {low} to {high}")
    return "float", {"low": low, "high": high, "log": law != "uniform"}


def on_vectors(
    objective: Callable[[Setting], float], dimensions: list[Any], *, lowest: float
) -> Callable[[Any], float]:
    """Return a function of a vector that returns the negative score of the setting.

    Parameters
    ----------
    objective : callable
        Returns the score of a setting.
    dimensions : list of skopt.space.Dimension
        Each with a name.
    lowest : float
        The score of settings that cannot be fitted.

    Raises
    ------
    ValueError
        If a dimension has no name, or two have the same.
    """
    names = [getattr(dimension, "name", None) for dimension in dimensions]
    if not names or None in names or len(set(names)) < len(names):
        raise ValueError(
            "each dimension has the name of its parameter, as in Real(1e-3, 1e3, "
            f'prior="log-uniform", name="C"); found the names {names}'
        )

    def of_vector(vector: Any) -> float:
        values = [_plain(value) for value in vector]
        score = objective(dict(zip(map(str, names), values, strict=True)))
        return -lowest if math.isnan(score) else -score

    return of_vector


def _plain(value: Any) -> Any:
    """Return a value of Python's: estimators and stores know them better than NumPy's."""
    return value.item() if isinstance(value, np.generic) else value
