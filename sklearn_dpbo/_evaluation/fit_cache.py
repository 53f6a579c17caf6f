"""Fitted candidates on disk, to resume a search that was interrupted (zone: public).

joblib keeps the duration of a call, and the file system when it ended. Predictions on the
validation set slow down the fits beside and after them by enough to tell, so nothing is stored
once they have begun; and a candidate that depends on protected records is not looked up either.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import joblib
import sklearn
from joblib import Memory

from .._data.split import Training
from .fitting import timed

__all__ = ["FitCache", "memory_of"]


def memory_of(memory: Any) -> Memory:
    """Return a parameter `memory` as joblib's.

    Raises
    ------
    ValueError
        If it is neither None, nor a path, nor a joblib.Memory.
    """
    if isinstance(memory, Memory):
        return memory
    if memory is not None and not isinstance(memory, str | os.PathLike):
        raise ValueError(
            f"memory is None, the path of a folder or a joblib.Memory; found {memory!r}"
        )
    return Memory(None if memory is None else os.fspath(memory), verbose=0)


@dataclass(frozen=True)
class FitCache:
    """What was fitted on one training set, by estimator with its parameters.

    Parameters
    ----------
    memory : joblib.Memory
        Its location may be None: then nothing is kept.
    key : str
        What stands for the training set, which is not hashed anew for each candidate.
    """

    memory: Memory
    key: str

    @classmethod
    def of(cls, memory: Any, training: Training) -> FitCache:
        """Return the cache of fits on this training set.

        Parameters
        ----------
        memory : None, str, path or joblib.Memory
            Where they are kept; None keeps nothing.
        training : Training
            What is fitted on.
        """
        memory, key = memory_of(memory), ""
        if memory.location is not None:
            key = joblib.hash((sklearn.__version__, training.X, training.y, training.fit_params))
        return cls(memory, key)

    def fit(self, estimator: Any, training: Training) -> tuple[Any, float]:
        """Return (fitted estimator, seconds), from disk if it is there; else fit and keep it."""
        fitted: tuple[Any, float] = self._kept(estimator, self.key, training)
        return fitted

    def find(self, estimator: Any, training: Training) -> tuple[Any, float]:
        """Return (fitted estimator, seconds), from disk if it is there; else fit, keep nothing."""
        if self._kept.check_call_in_cache(estimator, self.key, training):
            return self.fit(estimator, training)
        return timed(estimator, training)

    @property
    def _kept(self) -> Any:
        return self.memory.cache(_timed, ignore=["training"])


def _timed(estimator: Any, key: str, training: Training) -> tuple[Any, float]:
    return timed(estimator, training)
