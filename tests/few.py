"""Which cases of a test run by default: others see no other mechanism, and are slow."""

import pytest


def few(cases, *kept):
    """Return the cases as parameters; only those that are kept, or else the first, are not slow."""
    cases = list(cases)
    kept = kept or (cases[0],)
    assert all(case in cases for case in kept), kept
    return [
        case
        if case in kept
        else pytest.param(*(case if isinstance(case, tuple) else [case]), marks=pytest.mark.slow)
        for case in cases
    ]
