"""Privacy ledgers: budgets of data sets, kept in a file or on a server (zone: boundary).

`PrivacyLedger` decides which charges are accepted and adds a line for each of them.
"""

from ..privacy.receipt import Receipt

__all__ = ["Receipt"]
