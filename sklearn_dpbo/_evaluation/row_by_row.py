"""One value per record, which no other record can change (zone: sensitive).

The guarantee needs predictions to be made row by row. `RowByRowCheck` tests that on training rows,
which are public; `protected_values` keeps records apart even when predicting fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.tables import dense, n_rows, take_rows
from .._data.units import Units
from ..exceptions import BatchDependentError
from ..scoring._scorers import PrivateScorer, respond

__all__ = ["RowByRowCheck", "protected_values"]

# Training rows that predictions are repeated on.
_N_PROBES = 16
# By how much responses may differ, relative to their range (and to their size), through the
# rounding of sums in another order.
_TOLERANCE = {"f4": (1e-4, 1e-5), "f8": (1e-6, 1e-10)}


def protected_values(
    estimator: Any, scorer: PrivateScorer, X: Any, y: NDArray[Any] | None, units: Units
) -> NDArray[Any]:
    """Return the scorer's value for each validation record; the lowest where none can be had.

    All records are predicted at once. If that raises, the units that fail are found by halving,
    their rows are replaced by copies of a row that does not fail, and all records are predicted
    at once again: so every other record stands at the same place of a matrix of the same shape,
    and gets the same value to the last bit, whether or not a neighbour fails.
    """
    classes = getattr(estimator, "classes_", None)

    def attempt(index: NDArray[np.intp]) -> NDArray[Any] | None:
        """Return the values of these rows, or None: why it failed depends on protected records."""
        try:
            with np.errstate(all="ignore"):  # and restored, whatever a record makes of it
                response = respond(estimator, take_rows(X, index), scorer.response_method)
                return scorer.record_values(None if y is None else y[index], response, classes)
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None
        except BaseException:
            # Also SystemExit, and the panics of native extensions, which are no Exceptions.
            return None

    everything = np.arange(n_rows(X))
    values = attempt(everything)
    if values is not None:
        return values
    lowest = scorer.lowest_values(y, len(everything))
    fine, failing = _find_failing(attempt, units)
    if fine is None:
        return lowest
    index = everything.copy()
    index[failing] = fine
    values = attempt(index)
    if values is None:
        return lowest
    values[failing] = lowest[failing]
    return values


def _find_failing(
    attempt: Callable[[NDArray[np.intp]], NDArray[Any] | None], units: Units
) -> tuple[int | None, NDArray[np.intp]]:
    """Return (a row of a unit that does not fail, or None; all rows of the units that do)."""
    fine: int | None = None
    failing: list[NDArray[np.intp]] = []
    pending = [(0, units.m)]
    while pending:
        first, last = pending.pop()
        index = units.rows(first, last)
        if attempt(index) is not None:
            fine = int(index[0])
        elif last - first == 1:
            failing.append(index)
        else:
            middle = (first + last) // 2
            pending += [(first, middle), (middle, last)]
    return fine, np.concatenate(failing) if failing else np.array([], dtype=np.intp)


@dataclass(frozen=True)
class RowByRowCheck:
    """Training rows (public) to repeat predictions on, beside different companions.

    Parameters
    ----------
    X, y : array-like
        The training set.
    probes : ndarray of int
        Row numbers on which predictions are repeated, spread evenly over the labels.
    """

    X: Any
    y: Any
    probes: NDArray[np.intp]

    @classmethod
    def on(cls, X: Any, y: Any) -> RowByRowCheck:
        """Choose probes among these training records."""
        order = np.arange(n_rows(X)) if y is None or dense(y).ndim > 1 else _argsort(dense(y))
        spread = np.unique(np.linspace(0, len(order) - 1, _N_PROBES).astype(int))
        return cls(X, y, order[spread])

    def predictions(self, estimator: Any, scorer: PrivateScorer) -> NDArray[Any]:
        """Return the responses to the probes, checked to be made row by row.

        Raises
        ------
        BatchDependentError
            If a row's response changes with the rows beside it.
        """
        methods = scorer.response_method
        finer = _finer(estimator) if "predict" in methods else None
        together = respond(estimator, take_rows(self.X, self.probes), methods)
        self._compare(estimator, methods, together, self._mixed())
        if finer is None:
            # One label may agree by chance: test the two most different ones.
            for position in _extremes(together):
                self._compare(estimator, methods, together, self._copies(position))
        else:
            fine = respond(estimator, take_rows(self.X, self.probes), finer)
            self._compare(estimator, finer, fine, self._copies(len(self.probes) // 2))
        return together

    def _mixed(self) -> NDArray[np.intp]:
        """Positions of half of the probes (no extreme ones), and of copies of one in between."""
        between = len(self.probes) // 2
        return np.append(np.arange(1, len(self.probes) - 1, 2), self._copies(between))

    def _copies(self, position: int) -> NDArray[np.intp]:
        """One position, many times: a batch without a range or variance of its own."""
        return np.full(2 * _N_PROBES, position)

    def _compare(
        self,
        estimator: Any,
        methods: tuple[str, ...],
        together: NDArray[Any],
        batch: NDArray[np.intp],
    ) -> None:
        again = respond(estimator, take_rows(self.X, self.probes[batch]), methods)
        if not _agree(again, together[batch], together, hasattr(estimator, "classes_")):
            raise BatchDependentError(
                f"{type(estimator).__name__} predicts a training record differently beside other "
                "records. One validation record could then change the predictions of all, and no "
                "noise of size 1/m would hide it. Use an estimator that predicts row by row and "
                "deterministically (no statistics of the batch, no randomness)"
            )

    def check_gain(self, scorer: PrivateScorer, response: NDArray[Any], classes: Any) -> None:
        """Apply the scorer to the probes; if the gain is a user's, compare with one by one.

        Raises
        ------
        BatchDependentError
            If a record's gain changes with the records beside it.
        ValueError
            If a label, a response or a gain is a whole number beyond any float.
        """
        y = None if self.y is None else dense(take_rows(self.y, self.probes))
        try:
            gains = scorer.record_values(y, response, classes)
        except OverflowError as error:
            raise ValueError(
                f"{scorer!r} meets numbers among the training labels, their predictions or gains "
                f"that no float can hold: rescale the labels ({error})"
            ) from error
        if not scorer.custom:
            return
        alone = [
            scorer.record_values(None if y is None else y[[i]], response[[i]], classes)[0]
            for i in range(len(response))
        ]
        if not np.allclose(alone, gains, rtol=1e-5, atol=0):
            raise BatchDependentError(
                f"the gain of {scorer!r} values a record differently beside other records: "
                "compute each record's gain from that record alone"
            )


def _argsort(y: NDArray[Any]) -> NDArray[np.intp]:
    try:
        return np.argsort(y, kind="stable")
    except TypeError:  # labels that have no order
        return np.arange(len(y))


def _extremes(response: NDArray[Any]) -> set[int]:
    """Return the positions of the first and the last response in sorted order."""
    first = response.reshape(len(response), -1)[:, 0]
    place = np.unique(first, return_inverse=True)[1]
    return {int(place.argmin()), int(place.argmax())}


def _finer(estimator: Any) -> tuple[str, ...] | None:
    """Return the method that a classifier's labels follow from: it shows more than they do."""
    if not isinstance(getattr(estimator, "classes_", None), np.ndarray):
        return None
    methods = ("decision_function", "predict_proba")
    return next(((method,) for method in methods if hasattr(estimator, method)), None)


def _agree(a: NDArray[Any], b: NDArray[Any], sample: NDArray[Any], classifier: bool) -> bool:
    """Labels agree exactly; numbers up to rounding errors of their kind."""
    if sample.dtype.kind != "f" or (classifier and sample.ndim == 1 and _whole(sample)):
        return np.array_equal(a, b)
    finite = sample[np.isfinite(sample)]
    if finite.size == 0:
        return np.array_equal(a, b, equal_nan=True)
    relative, floor = _TOLERANCE["f8" if sample.dtype.itemsize >= 8 else "f4"]
    # Each end by itself, as their difference may be more than a float holds.
    spread = relative * finite.max() - relative * finite.min()
    tolerance = spread + floor * np.abs(finite).max()
    with np.errstate(invalid="ignore", over="ignore"):  # of infinite and of huge responses
        near = np.abs(a - b) <= tolerance
        return bool(near.all()) or np.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True)


def _whole(sample: NDArray[Any]) -> bool:
    return bool((sample == np.round(sample)).all())
