"""A fitted candidate, pickled, with what public records get from it (zone: public)."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._data.pickles import copied, packed
from ..scoring._response import call_method, check_response
from .companions import Companions
from .own_code import own_code
from .responses import Kind, agree

__all__ = ["Model", "RecordScorer", "Reference"]

# By how much the companions' gains may differ through rounding, in steps of their grid. One unit's
# is what 65,536 records would make together of such a difference.
_GAIN_TOLERANCE = 16


class RecordScorer(Protocol):
    """What is asked of a scorer here; see `PrivateScorer`."""

    @property
    def response_method(self) -> tuple[str, ...]:
        """Methods of the estimator; the first that it has is called."""

    @property
    def custom(self) -> bool:
        """Whether the gain is a user's function."""

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        """Return one value per record."""

    def unclipped(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.float64]:
        """Return the gain of each record, outside of the bounds, too."""

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        """Return the share of gains outside of the bounds."""


@dataclass(frozen=True, eq=False)
class Reference:
    """What the companions get from one estimator and one scorer; public.

    Parameters
    ----------
    kind : Kind
        Of a response.
    response : ndarray of shape (n_companions, ...)
        To the companions.
    values : ndarray of shape (n_companions, ...)
        What the scorer makes of it.
    clipped : float
        Share of the companions whose gains are outside of the scorer's bounds.
    classes : object
        The estimator's `classes_`; None if it has none.
    """

    kind: Kind
    response: NDArray[Any]
    values: NDArray[Any]
    clipped: float
    classes: Any = None

    @classmethod
    def of(cls, estimator: Any, scorer: RecordScorer, companions: Companions) -> Reference:
        """Return what an estimator gives the companions."""
        raw = call_method(
            estimator, copied(companions.X, companions.copies), scorer.response_method
        )
        check_response(estimator, raw, len(companions), scorer.response_method)
        kind = Kind.of(raw)
        # Copies: an estimator may write what it returns later into the same array.
        response, classes = deepcopy(
            (kind.read(raw, len(companions))[0], getattr(estimator, "classes_", None))
        )
        try:
            # Copies, as a user's gain may write into what it gets.
            values = scorer.record_values(*deepcopy((companions.y, response)), classes)
            clipped = scorer.share_clipped(*deepcopy((companions.y, response)), classes)
        except OverflowError as error:
            raise ValueError(
                f"{scorer!r} meets numbers among the training labels, their predictions or gains "
                f"that no float can hold: rescale the labels ({error})"
            ) from error
        return cls(kind, response, values, clipped, classes)

    def of_counts(self, counts: RecordScorer, companions: Companions) -> Reference:
        """Return what other counts make of the same response; no user's code runs for it."""
        values = counts.record_values(companions.y, self.response.copy(), self.classes)
        return replace(self, values=values, clipped=0.0)

    def holds(self, response: NDArray[Any], values: NDArray[Any], classifier: bool) -> bool:
        """Whether the companions got this beside other records, too."""
        near = np.allclose(values, self.values, rtol=0, atol=_GAIN_TOLERANCE, equal_nan=True)
        return near and agree(response, self.response, self.response, classifier)


@dataclass(frozen=True)
class Model:
    """A fitted estimator, pickled, with what the companions get from it for each score.

    Parameters
    ----------
    pickled : bytes
        The estimator.
    references : tuple of Reference
        One per scorer.
    own_code : str
        The name of code in it that is of no known library; empty if there is none.
    """

    pickled: bytes
    references: tuple[Reference, ...]
    own_code: str

    @classmethod
    def of(cls, estimator: Any, scorers: tuple[RecordScorer, ...], companions: Companions) -> Model:
        """Pickle a fitted estimator before it predicts anything."""
        pickled = packed(estimator)
        references = tuple(Reference.of(estimator, s, companions) for s in scorers)
        return cls(pickled, references, own_code(pickled))
