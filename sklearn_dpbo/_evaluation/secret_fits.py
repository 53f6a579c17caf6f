"""Models fitted on protected records, and evaluated on others, in secret (zone: sensitive).

Nothing of a model is seen before one of them is chosen and released: no failure, no message, no
output, and not how many there were.
"""

from __future__ import annotations

import random
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from sklearn.pipeline import Pipeline

from .._data.pickles import fresh, packed
from .._data.split import Training
from .._data.tables import n_rows
from .._privacy.frames import ClearFrames
from .._privacy.sensitive import InTransit, Secret, Sensitive
from ..exceptions import BatchDependentError
from ..learners._private_training import refitted
from ..scoring._queries import Query
from .evaluator import Evaluator
from .fitting import FitOptions, fit, without_callbacks, without_side_effects
from .model import Model
from .progress import in_parallel
from .protected_values import ProtectedTable
from .row_by_row import to_check
from .secret_pipelines import fit_last_step
from .suppress_output import drop_errors, suppress_output

__all__ = ["SecretFit", "SecretModel", "fit_secretly", "try_out"]


@dataclass(frozen=True, eq=False)
class SecretFit:
    """Parameters of a model to fit, and its `members`: what follows from it at no cost.

    Each member is parameters of which the fitted model can have other values (`refitted`); ``{}``
    is the fitted model itself.
    """

    params: dict[str, Any]
    members: tuple[dict[str, Any], ...] = ({},)


@dataclass(frozen=True)
class SecretModel:
    """A member of a fit, and what was fitted, pickled before it became the member, or None."""

    fit: SecretFit
    member: int
    pickled: bytes | None

    def estimator(self) -> Any:
        """Return the estimator, of a model that is released; ValueError if the fit failed."""
        params, member = self.fit.params, self.fit.members[self.member]
        if self.pickled is None:
            raise ValueError(
                f"the model that was chosen could not be fitted: {dict(params, **member)}. Why is "
                "not said, as that depends on protected records. Try its parameters on made-up "
                "records of the same kind"
            )
        return _member(fresh(self.pickled), member)


def _member(estimator: Any, member: dict[str, Any]) -> Any:
    return refitted(estimator, member) if member else estimator


@ClearFrames()
def fit_secretly(
    fits: Sequence[SecretFit], training: Training, oracle: Evaluator
) -> tuple[Secret, Sensitive]:
    """Fit models on protected records, in parallel, and count what they predict for others.

    Returns each member of each fit, in order, and what they are compared by: 0, the lowest, for one
    that failed. How many fits there are may be secret, too.
    """
    job = _job(oracle, training)
    tasks = ((job, each) for each in fits)
    with suppress_output(descriptors=False):
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
    query: Query

    def fitted(self, params: dict[str, Any]) -> Any:
        estimator = without_side_effects(self.options.candidate(params))
        prediction = self.options.prediction
        return without_callbacks(fit_last_step(estimator, self.training, self.made_up, prediction))


def _job(oracle: Evaluator, training: Training) -> _Job:
    return _Job(
        oracle.options, training, oracle.problem.training, oracle.table, oracle.scorer.query
    )


def _run(job: _Job, secret_fit: SecretFit) -> tuple[InTransit[Sensitive], InTransit[Secret]]:
    """Return the statistics of a fit's members, and the pickled model."""
    statistics = np.zeros((len(secret_fit.members), 1), dtype=np.int64)
    pickled, table, query = None, job.table, job.query
    with suppress_output(), drop_errors():
        _seed_global_generators()
        estimator = job.fitted(secret_fit.params)
        pickled = packed(estimator)
        for k, member in enumerate(secret_fit.members):
            model = Model.of(_member(estimator, member), (query,), table.companions)
            statistics[k] = table.statistics(model, query)
    return InTransit(Sensitive(statistics, query.sensitivity(table.units))), InTransit(
        Secret(pickled)
    )


def _seed_global_generators() -> None:
    """Seed the process's generators from the operating system.

    A suppression of output leaves them as it found them. So what is drawn from them would otherwise
    be the same in one as in the next, and could be drawn again afterwards: noise must not be.
    """
    np.random.seed(np.frombuffer(secrets.token_bytes(64), dtype=np.uint32))
    random.seed()
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "manual_seed"):
        torch.manual_seed(secrets.randbits(63))


def try_out(fits: Sequence[SecretFit], training: Training, oracle: Evaluator) -> None:
    """Fit and evaluate models, of which none is secret, on made-up records: nothing is charged yet.

    Of the training set only the names of the arguments of `fit` are used. Raises
    BatchDependentError if predictions are not made row by row, ValueError for any other failure.
    """
    made_up = oracle.problem.training
    fit_params = {name: np.arange(n_rows(made_up.X)) for name in training.fit_params}
    job = _job(oracle, replace(made_up, fit_params=fit_params))
    for each in fits:
        try:
            if fit_params or isinstance(oracle.options.estimator, Pipeline):  # fitted another way
                job.fitted(each.params)
            estimator = without_side_effects(oracle.options.candidate(each.params))
            model = oracle.make_model(made_up)(fit(estimator, made_up))
            _check_classes(model.classes, made_up.y)
            oracle.table.rehearse(model, oracle.scorer.query)
            estimator = fresh(model.pickled)
            for k in to_check(each.members):
                _member(estimator, each.members[k])
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
