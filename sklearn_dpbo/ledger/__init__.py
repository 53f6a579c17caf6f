"""Privacy ledgers: budgets of data sets, kept in a file or on a server (zone: boundary).

`PrivacyLedger` decides which charges are accepted and stores them as entries.
"""

from ._entries import Entry

__all__ = ["Entry"]
