"""Candidates fitted, checked and pickled before anything protected is predicted (zone: public).

The validation set is not within reach of this module.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from .._data.pickles import fresh
from .._data.split import Training
from .broadcast import Broadcast
from .companions import Companions
from .fit_cache import FitCache
from .fitting import (
    FitOptions,
    announce,
    timed,
    timed_fit,
    without_callbacks,
    without_side_effects,
)
from .model import Model, RecordScorer, Reference
from .own_code import predicts_separately
from .row_by_row import RowByRowCheck, check_gain

__all__ = ["Fitter", "Models", "fit_model", "to_check"]


@dataclass(frozen=True)
class Fitter:
    """Fits candidates on the training set, and checks how they predict its rows.

    Parameters
    ----------
    options : FitOptions
        How candidates are fitted.
    training : Training
        What they are fitted on.
    scorers : tuple of RecordScorer
        Prepared; what they need of a prediction is checked.
    companions : Companions
        Training rows that will stand beside protected ones.
    check : RowByRowCheck
        Tells estimators that do not predict row by row.
    accept : callable or None
        As in `Evaluator`.
    cache : FitCache
        Fits that are kept.
    """

    options: FitOptions
    training: Training
    scorers: tuple[RecordScorer, ...]
    companions: Companions
    check: RowByRowCheck
    accept: Callable[[Any, Training], None] | None
    cache: FitCache

    def model(
        self, params: dict[str, Any], *, checked: bool, keep: bool, secret: bool = False
    ) -> tuple[str | None, Model | None]:
        """Return (why the candidate failed or None, the fitted model or None).

        Parameters
        ----------
        params : dict
            The candidate.
        checked : bool
            Whether to check that it predicts row by row.
        keep : bool
            Whether the cache may keep the fit.
        secret : bool, default=False
            Then nothing is cached, printed or reported to callbacks.

        Raises
        ------
        BatchDependentError
            If predictions or gains depend on the batch.
        """
        estimator = self.options.candidate(params)
        fit_with = self.cache.fit if keep else self.cache.find
        if secret:
            estimator, fit_with = without_side_effects(estimator), timed
        _, error, model = timed_fit(
            estimator, self.training, self.options.error_score, self._model_of, fit_with
        )
        if model is not None:
            self._check(model, checked)
        return error, model

    def refit(self, params: dict[str, Any]) -> Any:
        """Return the fitted candidate, from the cache if it is there."""
        return self.cache.find(self.options.candidate(params), self.training)[0]

    def _model_of(self, estimator: Any) -> Model:
        if self.accept is not None:
            self.accept(estimator, self.training)
        return Model.of(without_callbacks(estimator), self.scorers, self.companions)

    def _check(self, model: Model, checked: bool) -> None:
        for scorer, reference in zip(self.scorers, model.references, strict=True):
            if scorer.custom:
                classes = getattr(fresh(model.pickled), "classes_", None)
                check_gain(scorer, self.companions.y, reference.response, classes)
            if checked and not predicts_separately(self.options.prediction, model.own_code):
                self.check.check(model.pickled, scorer)


def fit_model(
    i: int,
    sent: Broadcast,
    params: dict[str, Any],
    position: str,
    checked: bool,
    keep: bool,
) -> tuple[int, str | None, Model | None]:
    """Return the candidate's number, why it failed or None, and the fitted model."""
    fitter: Fitter = sent.value
    error, model = fitter.model(params, checked=checked, keep=keep)
    announce(fitter.options.verbose, position, params, error)
    return i, error, model


def to_check(candidate_params: tuple[dict[str, Any], ...]) -> set[int]:
    """Return which candidates to check for row-by-row predictions, by number.

    How an estimator predicts depends on what it is made of, and rarely on the size of a number. So
    these are one of each combination of parameters that are not numbers and of numbers at their
    smallest or not, with numbers as large as there are, and those with the largest value of each.
    """
    values: dict[str, dict[int, Any]] = {}
    for i, params in enumerate(candidate_params):
        for name, value in params.items():
            if _is_number(value):
                values.setdefault(name, {})[i] = _plain(value)
    smallest = {name: min(found.values()) for name, found in values.items()}
    alike: dict[Any, list[int]] = {}
    for i, params in enumerate(candidate_params):
        key = sorted((name, _key(value, smallest.get(name))) for name, value in params.items())
        alike.setdefault(tuple(key), []).append(i)

    def size(i: int) -> list[Any]:
        return [found[i] for found in values.values() if i in found]

    largest = (max(found, key=found.__getitem__) for found in values.values())
    return {*(max(group, key=size) for group in alike.values()), *largest}


def _key(value: Any, smallest: Any) -> str:
    """Return a text that is the same for values that predictions are taken not to depend on."""
    if _is_number(value):
        return f"number {_plain(value) > smallest}"
    plain = value is None or isinstance(value, str | bool | np.bool_)
    return repr(value) if plain else f"object {id(value)}"


def _plain(number: Any) -> Any:
    """Return a number of Python's: NumPy casts numbers to a common type to compare them."""
    return number.item() if isinstance(number, np.generic) else number


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


class Models:
    """Fitted models until one of them is chosen: in memory, and on disk if they are large."""

    _IN_MEMORY = 2**28  # bytes

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=self._IN_MEMORY)
        self._places: list[tuple[int, int]] = []
        self._params: list[dict[str, Any]] = []
        self._references: list[tuple[Reference, ...]] = []
        self._own_code: list[str] = []

    def add(self, params: dict[str, Any], model: Model) -> int:
        """Keep a model; return its number."""
        self._file.seek(0, 2)
        self._places.append((self._file.tell(), len(model.pickled)))
        self._file.write(model.pickled)
        self._params.append(params)
        self._references.append(model.references)
        self._own_code.append(model.own_code)
        return len(self._places) - 1

    def __getitem__(self, number: int) -> Model:
        """Return the model of this number."""
        first, length = self._places[number]
        self._file.seek(first)
        return Model(self._file.read(length), self._references[number], self._own_code[number])

    def references(self, number: int) -> tuple[Reference, ...]:
        """Return what the companions get from a model."""
        return self._references[number]

    @property
    def own_code(self) -> str:
        """The name of code in any of the models that is of no known library; empty if none."""
        return next(filter(None, self._own_code), "")

    def size(self, number: int) -> int:
        """Return the size of a pickled model, in bytes."""
        return self._places[number][1]

    def find(self, params: dict[str, Any]) -> Model | None:
        """Return the model of this very candidate, or None if there is none."""
        for number, kept in enumerate(self._params):
            if kept is params:
                return self[number]
        return None

    def close(self) -> None:
        """Forget all models."""
        self._file.close()
