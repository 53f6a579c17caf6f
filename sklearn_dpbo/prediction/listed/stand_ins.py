"""Objects that stand for parts of models, and predict in another way (zone: sensitive).

*Theorem.* `torch.vmap(f)(X)` is f(X_1), ..., f(X_n), computed at once: nothing in f sees more than
one row, and no branch depends on the content of a row. So row i of the output of a `Mapped` is a
function of row i and of the network as it was pickled, whatever its module does with a batch,
provided that vmap's rules for the allowed operations keep rows apart (`operations`).

Each chunk of rows gets a new copy of the network; otherwise data that a module kept from one chunk
would be paired, row by row, with the next chunk. An error that one row raises must reach the
caller: if f caught it and continued differently, it would do so for all rows (`_errors_come_out`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ...records.pickles import fresh
from .networks import plain_module
from .operations import only_tried

# Number of rows that are mapped at once. It is constant because it affects the rounding of sums.
_CHUNK = 256
# Errors that operations of torch may raise because of the content of a row.
_OF_DATA = (ArithmeticError, IndexError, RuntimeError, ValueError, Warning)
# Methods of a part that can be called because they take no rows.
_WITHOUT_ROWS = ("get_feature_names_out", "get_params", "get_metadata_routing")
# Types of values that cannot be called, and that numpy does not look into in a list.
PLAIN = {str, bytes, bool, int, float, type(None)}


class StandIn:
    """Stand-in for a fitted part that shows its data, and no method that takes rows."""

    def __init__(self, pickled: bytes) -> None:
        self._pickled = pickled
        self._like = fresh(pickled)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_like":
            raise AttributeError(name)
        value = getattr(self._like, name)
        if name in _WITHOUT_ROWS or _is_data(value):
            return value
        raise AttributeError(f"{name} could be called on several records")

    def fit(self, *_: Any) -> None:
        """Raise TypeError, because it is fitted."""
        raise TypeError("it is fitted")

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        return self._like.__sklearn_tags__()


class Mapped(StandIn):
    """A fitted network of skorch, whose module torch.vmap maps over rows."""

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Compute the module's outputs, converted to probabilities where skorch does."""
        starts = range(0, X.shape[0], _CHUNK)
        return np.concatenate([self._outputs(X[i : i + _CHUNK]) for i in starts])

    def predict(self, X: Any) -> NDArray[Any]:
        """Compute labels, or a regressor's numbers, from these outputs as skorch does."""
        outputs = self.predict_proba(X)
        if hasattr(self._like, "threshold"):
            outputs = (outputs[:, 1] > self._like.threshold).astype("uint8")
        elif hasattr(self._like, "classes"):
            outputs = outputs.argmax(axis=1)
        return outputs

    def _outputs(self, X: Any) -> Any:
        """Map a new copy of the network over the rows of a chunk."""
        torch: Any = sys.modules["torch"]
        rows = torch.tensor(X.toarray() if issparse(X) else X)
        of_row = partial(_outputs_of_row, fresh(self._pickled))
        with _errors_come_out(), only_tried():
            outputs = torch.vmap(of_row, randomness="error")(rows)
        return outputs.numpy()


def _outputs_of_row(net: Any, x: Any) -> Any:
    """Evaluate a network on a batch of one row, as skorch does."""
    vars(net)["module_"] = plain_module(net.module_)
    output = net.evaluation_step((x[None], None))
    output = output[0] if isinstance(output, tuple) else output
    return net._get_predict_nonlinearity()(output)[0]


@contextmanager
def _errors_come_out() -> Iterator[None]:
    """Raise RuntimeError if Python code in the context raised an error and caught it."""
    errors = []

    def trace(frame: Any, event: str, about: Any) -> Any:
        frame.f_trace_lines = False
        if event == "exception" and issubclass(about[0], _OF_DATA):
            errors.append(about[0].__name__)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
    if errors:
        raise RuntimeError(f"{errors[0]} was caught by the module")


def _is_data(value: Any) -> bool:
    """Return True for an array, a plain value, or a list of these: data that cannot be called."""
    if type(value) in (list, tuple) or (type(value) is np.ndarray and value.dtype.hasobject):
        return all(map(_is_data, value))
    return type(value) in PLAIN | {np.ndarray} or isinstance(value, np.generic)
