"""Receipts of charges to a ledger (zone: public)."""

from __future__ import annotations

from typing import NamedTuple


class Receipt(NamedTuple):
    """Evidence that a release was charged to a ledger, with the state of the ledger.

    Parameters
    ----------
    ledger : str
        Identifier of the ledger.
    charge : int
        Number of the charge, from 1.
    head : str
        SHA-256 hash of this charge and all before it, in hexadecimal digits.
    parts : str, default=""
        Parts of the data set that all records are in, and who vouches for it; empty if the
        charge counts for all records.
    mechanism, purpose : str, default=""
        What made the release, and what for, as the ledger has them.
    """

    ledger: str
    charge: int
    head: str
    parts: str = ""
    mechanism: str = ""
    purpose: str = ""
