"""The fitted attributes of a search, from what its strategy released (zone: released)."""

from __future__ import annotations

import numpy as np

from .._data.split import Problem
from .._privacy.accounting import Budget
from ..report._report import PREDICTIONS_ROW_BY_ROW, TRAINING_NOT_PROTECTED, PrivacyReport
from ..strategies._base import Release, Strategy

__all__ = ["fitted_attributes", "param_columns", "privacy_report"]


def fitted_attributes(release: Release, names: list[str]) -> dict:
    """Return fitted attributes made of released values and public facts; by name, if named."""
    candidates, setting = release.candidates, {}
    if names:
        scores = [(release.best_score, release.interval), *release.others]
        by_name = dict(zip(names, scores, strict=True))
        setting = {
            "best_scores_": {name: score for name, (score, _) in by_name.items()},
            "best_score_intervals_": {name: interval for name, (_, interval) in by_name.items()},
        }
    if release.best_index is not None:
        setting |= {
            "best_index_": release.best_index,
            "best_params_": candidates.params[release.best_index],
        }
    return {
        **setting,
        "best_score_": release.best_score,
        "best_score_interval_": release.interval,
        "cv_results_": {
            "mean_fit_time": release.fit_times,
            "std_fit_time": 0 * release.fit_times,  # of one fit each
            **param_columns(candidates.params),
            "params": list(candidates.params),
            "validated": release.validated,
            "public_score": release.public_scores,
            "fit_error": np.array(release.fit_errors, dtype=object),
        },
    }


def privacy_report(
    problem: Problem, strategy: Strategy, budget: Budget, noise, names: list[str]
) -> PrivacyReport:
    """Return the privacy statement; `names` are those of scores that are released by name."""
    by_name = f"best_scores_ and best_score_intervals_ of {', '.join(names)}, "
    return PrivacyReport(
        title="Differentially private hyper-parameter search",
        epsilon=budget.epsilon,
        delta=budget.spent[1],
        unit=problem.units.name,
        m=problem.units.m,
        data="validation set",
        protected=problem.protected,
        not_protected=TRAINING_NOT_PROTECTED.format("best_estimator_"),
        assumption=strategy.assumption,
        condition=PREDICTIONS_ROW_BY_ROW,
        released=by_name * bool(names) + strategy.released,
        spends=budget.losses,
        noise=noise.description,
        secure=noise.secure,
    )


def param_columns(params: tuple[dict, ...]) -> dict:
    """Return one masked column per parameter, masked where a setting does not have it."""
    columns = {}
    for name in sorted({name for setting in params for name in setting}):
        kind = _kind_of([setting[name] for setting in params if name in setting])
        column: np.ma.MaskedArray = np.ma.MaskedArray(np.zeros(len(params), kind), mask=True)
        for i, setting in enumerate(params):
            if name in setting:
                column[i] = setting[name]
        columns[f"param_{name}"] = column
    return columns


def _kind_of(values: list) -> type:
    """Return bool, int or float if that holds all of these values exactly, else object."""
    values = [v.item() if isinstance(v, np.generic) else v for v in values]
    kinds = {type(v) for v in values}
    if kinds == {bool}:
        return bool
    whole = [v for v in values if isinstance(v, int)]
    if not kinds or not kinds <= {int, float} or not all(abs(v) <= 2**53 for v in whole):
        return object
    return int if kinds == {int} else float
