"""Norms of rows, for papers whose guarantees are about them (zone: public)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..privacy.float_errors import ignore_float_errors


@ignore_float_errors()
def row_norms(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Euclidean norm of each row; squares neither underflow nor overflow."""
    largest = np.abs(X).max(axis=1, initial=0.0)
    largest[largest == 0] = 1.0
    norms: NDArray[np.float64] = largest * np.linalg.norm(X / largest[:, None], axis=1)
    return norms
