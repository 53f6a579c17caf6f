"""Warnings that refer to a line of the user's code (zone: public)."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from pathlib import Path

# Starts of the file names of this package, and of decorators in it.
_OURS = str(Path(__file__).parents[1]) + os.sep, contextlib.__file__


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the nearest caller outside the package."""
    frame = sys._getframe(1)
    depth = 2
    while frame.f_code.co_filename.startswith(_OURS) and frame.f_back is not None:
        frame = frame.f_back
        depth += 1
    warnings.warn(message, category, stacklevel=depth)
