"""Statistical tests make thousands of small searches, and look at what is drawn in them."""

import pytest

from sklearn_dpbo._evaluation.row_by_row import RowByRowCheck


@pytest.fixture(autouse=True)
def no_check_of_public_rows(request, monkeypatch):
    """Leave out the check of row-by-row predictions, which draws nothing and takes most time.

    `test_hostile.py` keeps it, and so do all tests elsewhere.
    """
    if request.module.__name__ != "test_hostile":
        monkeypatch.setattr(RowByRowCheck, "check", lambda *_: None)
