"""Models fitted on protected records, and evaluated on others, in secret (zone: sensitive).

Nothing about the models is visible until one of them is chosen and released: no failure, message or
output, nor their number.
"""

from __future__ import annotations

import random
import secrets
import sys
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from ..metrics._labels import encode
from ..metrics._queries import Query, numbers, unit_weight
from ..privacy.frames import ClearFrames
from ..privacy.sensitive import InTransit, Secret, Sensitive
from ..privacy.suppress_output import drop_errors, hold_interrupts, suppress_output
from ..records.divided_table import DividedTable
from ..records.pickles import fresh, packed
from ..records.split import Training
from .fitting import FitOptions, fit, without_callbacks, without_side_effects
from .model import Model
from .progress import in_shares
from .protected_values import ProtectedTable
from .secret_pipelines import fit_last_step


@dataclass(frozen=True, eq=False)
class SecretFit:
    """Parameters of a model to fit, and its `members`: models that follow from it at no cost.

    A member is a dict of parameters that can be changed after the fit (`refitted`); ``{}`` is the
    fitted model itself.
    """

    params: dict[str, Any]
    members: tuple[dict[str, Any], ...] = ({},)


@dataclass(frozen=True)
class SecretModel:
    """Position of a member of a fit, and the fitted model before `refitted`, pickled, or None."""

    fit: SecretFit
    member: int
    pickled: bytes | None

    def estimator(self) -> Any:
        """Return the estimator of a released model; ValueError if the fit failed."""
        params = self.fit.params
        member = self.fit.members[self.member]
        if self.pickled is None:
            raise ValueError(
                f"the chosen model could not be fitted: {dict(params, **member)}. The reason is "
                "withheld, as it depends on protected records. Try the parameters on made-up ones"
            )
        return refitted(fresh(self.pickled), member)


def refitted(estimator: Any, params: dict[str, Any]) -> Any:
    """Change parameters of a fitted estimator that need no new fit; return the new estimator."""
    if not params:
        return estimator
    again = copy(estimator)
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        of_step = {name.removeprefix(f"{step}__"): value for name, value in params.items()}
        again.steps = [*estimator.steps[:-1], (step, refitted(last, of_step))]
        return again
    return again.refitted(**params)


@ClearFrames()
def fit_secretly(
    fits: Sequence[SecretFit],
    options: FitOptions,
    training: Training,
    made_up: Training,
    table: ProtectedTable,
    query: Query,
) -> tuple[Secret, Sensitive]:
    """Fit models on protected records, in parallel, and count their predictions for others.

    See `RecordOwner.fit_secretly`. The table has no name, so models share no cached outputs: a
    cache hit takes less time, and would reveal that models are alike, which is secret.
    """
    run = partial(_run, options, training, made_up, table, query)
    with suppress_output(descriptors=False):
        n_jobs = 1 if in_threads() else options.n_jobs
        results = in_shares(run, [(secret_fit,) for secret_fit in fits], n_jobs)

    def of_members(pickled: list[bytes | None]) -> list[SecretModel]:
        return [
            SecretModel(secret_fit, k, model)
            for secret_fit, model in zip(fits, pickled, strict=True)
            for k in range(len(secret_fit.members))
        ]

    members = Secret.gathered([pickled.content for _, pickled in results]).then(of_members)
    return members, reduce(Sensitive.followed_by, (counts.content for counts, _ in results))


@hold_interrupts()
def evaluate_in_secret(
    options: FitOptions,
    training: Training,
    make_model: Callable[[Any], Model],
    table: ProtectedTable,
    query: Query,
    params: dict[str, Any],
) -> int | None:
    """Compute the raw statistic of a candidate that itself depends on protected records.

    Call it only from within a `Secret`. It runs in this process, without output, and keeps no
    state. A failure is not reported; the result is None. Each of these could reveal the candidate.
    """
    with suppress_output(), drop_errors():
        estimator = without_side_effects(options.candidate(params))
        (statistic,) = table.statistics(make_model(fit(estimator, training)), query)
        return int(statistic)
    return None


def in_threads() -> bool:
    """Return True if tasks run in threads, which share random generators."""
    backend, _ = get_active_backend()
    client = getattr(backend, "client", None)  # of Dask
    inside = client is not None and any(worker.startswith("inproc:") for worker in client.ncores())
    return inside or getattr(backend, "supports_sharedmem", False)


@hold_interrupts()
def _run(
    options: FitOptions,
    training: Training,
    made_up: Training,
    table: ProtectedTable,
    query: Query,
    secret_fit: SecretFit,
) -> tuple[InTransit[Sensitive], InTransit[Secret]]:
    """Fit a model, and return the statistics of its members and the pickled model."""
    statistics = np.zeros((len(secret_fit.members), 1), dtype=np.int64)
    pickled = None
    # A warning turned into an error would make a fit fail, which is visible in the result.
    with suppress_output(), drop_errors(), warnings.catch_warnings(action="ignore"):
        _seed_global_generators()
        estimator = fitted_in_secret(options, secret_fit.params, training, made_up)
        pickled = packed(estimator)
        for k, member in enumerate(secret_fit.members):
            released = refitted(estimator, member)
            model = Model.of(released, (query,), table.companions, options.prediction)
            statistics[k] = table.statistics(model, query)
    counts = Sensitive(statistics, query.sensitivity(table.units))
    return InTransit(counts), InTransit(Secret(pickled))


def fitted_in_secret(
    options: FitOptions, params: dict[str, Any], training: Training, made_up: Training
) -> Any:
    """Fit a candidate without visible side effects, and return it."""
    estimator = without_side_effects(options.candidate(params))
    return without_callbacks(fit_last_step(estimator, training, made_up, options.prediction))


def _seed_global_generators() -> None:
    """Seed the process's generators from the operating system.

    The suppression of output restores their state at its end. So without new seeds, fits would draw
    equal numbers, and others could draw them again later. Noise must not be predictable.
    """
    np.random.seed(np.frombuffer(secrets.token_bytes(64), dtype=np.uint32))
    random.seed()
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "manual_seed"):
        torch.manual_seed(secrets.randbits(63))


# ---------------------------------------------------------------------- labels
def count_labels(table: DividedTable) -> Sensitive:
    """Sum the weights of the second part's records with each label, or the one nearest to it.

    A unit adds W to the counts, as does the unit that replaces it, so the counts change by 2 W.
    """
    y = table.y_val
    labels = table.labels
    units = table.units_val
    place = encode(y, labels) if table.classes else _nearest(numbers(y), labels)
    W = unit_weight(units)
    counts = np.zeros(len(labels), dtype=np.int64)
    np.add.at(counts, place[place >= 0], units.record_weights(W)[place >= 0])
    return Sensitive([counts], 2 * W)


def _nearest(y: NDArray[np.float64], labels: NDArray[np.float64]) -> NDArray[np.intp]:
    """Find the position of the nearest label; -1 for NaN."""
    edges = (labels[1:] + labels[:-1]) / 2
    return np.asarray(np.where(np.isnan(y), -1, np.searchsorted(edges, y)))
