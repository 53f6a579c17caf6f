"""Numeric context of all computations with protected numbers (zone: boundary).

With ``np.seterr(all="raise")``, or warnings turned into errors, a number that overflows or
underflows would raise an error, which would reveal that a certain record is present.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
from scipy import special


@contextlib.contextmanager
def ignore_float_errors() -> Iterator[None]:
    """Ignore floating-point errors of numpy and scipy, whatever the user has set."""
    with np.errstate(all="ignore"), special.errstate(all="ignore"):
        yield
