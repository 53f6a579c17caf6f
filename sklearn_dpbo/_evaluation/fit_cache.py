"""Fitted candidates on disk, to resume a search that was interrupted (zone: public).

joblib keeps the duration of a call, and the file system when it ended. Predictions on the
validation set slow down the fits beside and after them by enough to tell, so nothing is stored
once they have begun; and a setting that depends on protected records is not looked up either.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import joblib
import sklearn
from joblib import Memory

from .fitting import timed

__all__ = ["FitCache", "memory_of"]


def memory_of(memory) -> Memory:
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
    def of(cls, memory, data) -> FitCache:
        """Return the fits on ``data.X_train``, with its targets and fit parameters.

        Parameters
        ----------
        memory : None, str, path or joblib.Memory
        data : Problem or PublicSplit
        """
        memory, key = memory_of(memory), ""
        if memory.location is not None:
            training = (data.X_train, data.y_train, data.fit_params)
            key = joblib.hash((sklearn.__version__, training))
        return cls(memory, key)

    @property
    def keeps(self) -> bool:
        """Whether anything is kept."""
        return self.memory.location is not None

    def fit(self, estimator, data) -> tuple:
        """Return (fitted estimator, seconds), from disk if it is there; else fit and keep it."""
        return self._kept(estimator, self.key, data)

    def find(self, estimator, data) -> tuple:
        """Return (fitted estimator, seconds), from disk if it is there; else fit, keep nothing."""
        if self._kept.check_call_in_cache(estimator, self.key, data):
            return self.fit(estimator, data)
        return timed(estimator, data)

    @property
    def _kept(self):
        return self.memory.cache(_timed, ignore=["data"])


def _timed(estimator, key: str, data) -> tuple:
    return timed(estimator, data)
