"""Models fitted on protected records, and evaluated on others, in secret (zone: sensitive).

Nothing of a model is seen before one of them is chosen and released: no failure, no message, no
output, and not how many there were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from sklearn.pipeline import Pipeline

from .._data.pickles import fresh, packed
from .._data.split import Training
from .._data.tables import dense, n_rows
from .._privacy.frames import ClearFrames
from .._privacy.sensitive import InTransit, Secret, Sensitive
from ..exceptions import BatchDependentError
from ..learners._base import ScaledRows
from ..learners._private_training import refitted
from ..learners._ridge import PrivateRidge, PrivateRidgeClassifier
from ..scoring._response import call_method
from ..scoring._scorers import PrivateScorer
from .evaluator import Evaluator
from .fitting import FitOptions, fit, without_autologging, without_callbacks, without_side_effects
from .model import Model
from .progress import in_parallel
from .protected_values import ProtectedTable
from .row_by_row import to_check
from .secret_pipelines import fit_last_step
from .suppress_output import (
    kept_warning_registries,
    seed_global_generators,
    suppress_all_output,
    suppress_output,
)

__all__ = ["SecretFit", "SecretModel", "fit_secretly", "try_out"]


@dataclass(frozen=True, eq=False)
class SecretFit:
    """One model to fit, and what follows from it.

    Parameters
    ----------
    params : dict
        Of the fit.
    members : tuple of dict
        Parameters of which the fitted model can have other values at no cost (`refitted`): as many
        models are evaluated. ``({},)`` for the fitted model alone.
    """

    params: dict[str, Any]
    members: tuple[dict[str, Any], ...] = ({},)


@dataclass(frozen=True)
class SecretModel:
    """A fitted model, or one that follows from it.

    Parameters
    ----------
    fit : SecretFit
        What was fitted.
    member : int
        Which of its members it is.
    pickled : bytes or None
        What was fitted, before it became the member; None if that failed.
    """

    fit: SecretFit
    member: int
    pickled: bytes | None

    def estimator(self) -> Any:
        """Return the fitted estimator, of a model that is released.

        Raises
        ------
        ValueError
            If the fit failed.
        """
        params, member = self.fit.params, self.fit.members[self.member]
        if self.pickled is None:
            raise ValueError(
                f"the model that was chosen could not be fitted: {dict(params, **member)}. Why is "
                "not said, as that depends on protected records. Try its parameters on made-up "
                "records of the same kind"
            )
        estimator = fresh(self.pickled)
        return refitted(estimator, member) if member else estimator


@ClearFrames()
def fit_secretly(
    fits: Sequence[SecretFit], training: Training, oracle: Evaluator
) -> tuple[Secret, Sensitive]:
    """Fit models on protected records, in parallel, and count what they predict for others.

    Returns each member of each fit, in order, and what they are compared by: 0, the lowest, for one
    that failed. How many fits there are may be secret, too.
    """
    job = _Job.of(oracle, training)
    tasks = ((job, each) for each in fits)
    with (
        kept_warning_registries(),
        suppress_output(descriptors=False),  # which worker processes would inherit
    ):
        found = list(in_parallel(_run, tasks, 1 if _in_threads() else oracle.options.n_jobs))
    statistics = reduce(Sensitive.followed_by, (sealed.content for sealed, _ in found))

    def of_members(pickled: list[bytes | None]) -> list[SecretModel]:
        return [
            SecretModel(each, k, model)
            for each, model in zip(fits, pickled, strict=True)
            for k in range(len(each.members))
        ]

    return Secret.gathered([model.content for _, model in found]).then(of_members), statistics


def _in_threads() -> bool:
    """Whether tasks run in threads: they would restore the generators that others draw from."""
    backend, _ = get_active_backend()
    client = getattr(backend, "client", None)  # of Dask
    inside = client is not None and any(each.startswith("inproc:") for each in client.ncores())
    return inside or getattr(backend, "supports_sharedmem", False)


@dataclass(frozen=True)
class _Job:
    """What a worker needs of all fits."""

    options: FitOptions
    training: Training
    made_up: Training
    table: ProtectedTable
    scorer: PrivateScorer

    @classmethod
    def of(cls, oracle: Evaluator, training: Training) -> _Job:
        made_up = oracle.problem.training
        return cls(oracle.options, training, made_up, oracle.table, oracle.scorer)

    def model(self, params: dict[str, Any]) -> Any:
        estimator = without_side_effects(self.options.candidate(params))
        prediction = self.options.prediction
        return without_callbacks(fit_last_step(estimator, self.training, self.made_up, prediction))

    def statistics(self, estimator: Any, X: Any) -> tuple[int, ...]:
        """Return the statistics of a model; X is the protected rows, or these as it scales them."""
        scorer, table = self.scorer, self.table
        if not isinstance(X, ScaledRows):
            return table.statistics(Model.of(estimator, (scorer,), table.companions), scorer)
        response = dense(call_method(estimator, X, scorer.response_method))
        classes = getattr(estimator, "classes_", None)
        values = scorer.record_values(table.y, response, classes)
        return scorer.statistics(values, table.y, table.units)

    def members(
        self, estimator: Any, several: tuple[dict[str, Any], ...]
    ) -> Iterator[tuple[Any, Any]]:
        """Yield each member of a model, with the protected rows as it takes them.

        Our own models predict row by row; so rows are scaled, and multiplied, for many at once. Not
        if a user's gain values what they predict: one record could then spoil it for all.
        """
        X, custom = self.table.X, self.scorer.custom
        models = [refitted(estimator, member) if member else estimator for member in several]
        of_numbers = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
        ours = type(estimator) in (PrivateRidge, PrivateRidgeClassifier)
        if ours and of_numbers and not custom:
            return zip(models, estimator.scaled_for(models, X), strict=True)
        return ((model, X) for model in models)


def _run(job: _Job, secret_fit: SecretFit) -> tuple[InTransit[Sensitive], InTransit[Secret]]:
    """Return the statistics of a fit's members, and the pickled model."""
    statistics = np.zeros((len(secret_fit.members), 1), dtype=np.int64)
    pickled = None
    with suppress_all_output(), without_autologging(), np.errstate(all="ignore"):
        try:
            seed_global_generators()
            estimator = job.model(secret_fit.params)
            pickled = packed(estimator)
            for k, model in enumerate(job.members(estimator, secret_fit.members)):
                statistics[k] = job.statistics(*model)
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None
        except BaseException:  # also SystemExit, and the panics of native extensions
            pass
    found = Sensitive(statistics, job.scorer.sensitivity(job.table.units))
    return InTransit(found), InTransit(Secret(pickled))


def try_out(fits: Sequence[SecretFit], training: Training, oracle: Evaluator) -> None:
    """Fit and evaluate models on made-up records, before anything is charged.

    Parameters
    ----------
    fits : sequence of SecretFit
        Of which nothing is secret yet.
    training : Training
        What models will be fitted on; only the names of the arguments of `fit` are used.
    oracle : Evaluator
        As in `fit_secretly`.

    Raises
    ------
    BatchDependentError
        If a model's predictions are not made row by row.
    ValueError
        If one cannot be fitted on records like these, or not evaluated.
    """
    made_up = oracle.problem.training
    fit_params = {name: np.arange(n_rows(made_up.X)) for name in training.fit_params}
    job = _Job.of(oracle, replace(made_up, fit_params=fit_params))
    for each in fits:
        try:
            if fit_params or isinstance(oracle.options.estimator, Pipeline):  # fitted another way
                job.model(each.params)
            estimator = without_side_effects(oracle.options.candidate(each.params))
            model = oracle.make_model(fit(estimator, made_up))
            _check_classes(model.classes, made_up.y)
            oracle.table.rehearse(model, oracle.scorer)
            estimator = fresh(model.pickled)
            for k in to_check(each.members) if each.members != ({},) else ():
                refitted(estimator, each.members[k])
        except BatchDependentError:
            raise
        except Exception as error:
            raise ValueError(
                f"{each.params} fails on made-up records of the same columns and dtypes, so that "
                f"nothing has been fitted on yours, and nothing spent: {error}"
            ) from error


def _check_classes(classes: Any, y: Any) -> None:
    """Raise ValueError if a model can predict none of some labels that it was fitted on."""
    if classes is not None and not {*np.unique(y).tolist()} <= {*np.asarray(classes).tolist()}:
        raise ValueError(
            f"of the labels {np.unique(y)} it makes the classes {np.asarray(classes)}, and would "
            "never be right: give labels of a kind that it keeps, such as integers"
        )
