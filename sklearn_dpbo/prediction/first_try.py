"""Trial fits, on made-up records, of models that will be fitted in secret (zone: released)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ..exceptions import BatchDependentError
from ..privacy.float_errors import ignore_float_errors
from ..records.pickles import fresh
from ..records.tables import n_rows
from .candidates import Candidates
from .fitting import fit, without_side_effects
from .rehearsal import require_same
from .secret_fits import SecretFit, fitted_in_secret, refitted


def try_out(fits: Sequence[SecretFit], names: Sequence[str], candidates: Candidates) -> None:
    """Fit and evaluate public models on made-up records, before anything is charged.

    `names` are the arguments of `fit` that have one entry per record. Raises BatchDependentError if
    predictions depend on other rows, ValueError for any other failure.
    """
    made_up = candidates.problem.training
    options = candidates.options
    fit_params = {name: np.arange(n_rows(made_up.X)) for name in names}
    for params, members in ((secret_fit.params, secret_fit.members) for secret_fit in fits):
        try:
            if fit_params or isinstance(options.estimator, Pipeline):  # fitted differently
                rows = replace(made_up, fit_params=fit_params)
                fitted_in_secret(options, params, rows, made_up)
            fitted = fit(without_side_effects(options.candidate(params)), made_up)
            with ignore_float_errors():
                model = candidates.make_model()(fitted)
            candidates.add(params, model)
            _check_classes(model.answers.classes, made_up.y)
            require_same(model)
            estimator = fresh(model.pickled)
            for member in members:
                refitted(estimator, member)
        except BatchDependentError:
            raise
        except Exception as error:
            model_name = params or type(options.estimator).__name__
            raise ValueError(
                f"{error} ({model_name} fails on made-up records with the same columns and dtypes; "
                "your records have not been used, and nothing was spent)"
            ) from error


def _check_classes(classes: Any, y: Any) -> None:
    """Raise ValueError if a model's classes lack some of the labels that it was fitted on."""
    if classes is not None and not {*np.unique(y).tolist()} <= {*np.asarray(classes).tolist()}:
        raise ValueError(
            f"it converts the labels {np.unique(y)} to the classes {np.asarray(classes)}: use "
            "labels of a type that it keeps, such as integers"
        )
