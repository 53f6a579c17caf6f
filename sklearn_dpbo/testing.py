"""Reproducible noise, for tests of code that uses the package (zone: released)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral

from .exceptions import PrivacyWarning
from .privacy.checks import check_number
from .privacy.noise import seed_noise

__all__ = ["seeded_noise"]


@contextmanager
def seeded_noise(seed: int) -> Iterator[None]:
    """Draw reproducible noise, which protects nothing: for tests only.

    Use it in a ``with`` statement or as a decorator. All fits inside, in this thread and in
    joblib's workers, draw noise of the same distributions from seeded generators, and their privacy
    reports say so. Several fits draw different noise. Other threads, which may use real data at the
    same time, are not affected. A generator function that yields inside the ``with`` statement
    leaves the noise seeded for its caller until it continues.

    Parameters
    ----------
    seed : int
        Seed, from 0 up. The same code with the same seed draws the same noise.

    Yields
    ------
    None
        The noise is seeded until the statement ends.

    Examples
    --------
    >>> import warnings
    >>> from sklearn_dpbo.learners import PrivateRidge
    >>> from sklearn_dpbo.testing import seeded_noise
    >>> def fitted():
    ...     with warnings.catch_warnings(), seeded_noise(0):
    ...         return PrivateRidge(y_bounds=(0, 1), bounds=(0, 9)).fit([[1], [5], [8]], [0, 1, 1])
    """
    check_number("seed", seed, "a whole number from 0 up", lambda n: n >= 0, Integral)
    warnings.warn(
        f"seeded_noise({seed!r}) makes the noise predictable: what is released inside is NOT "
        "private. Use it in tests only.",
        PrivacyWarning,
        stacklevel=3,
    )
    with seed_noise((int(seed),)):
        yield
