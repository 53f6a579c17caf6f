"""The budget of a data set, which outlives the process (zone: boundary).

`PrivacyLedger` says what may be charged and keeps `entries`, in a `file` or on a `server`.
"""

from .privacy_ledger import PrivacyLedger, budget_on, require_ledger

__all__ = ["PrivacyLedger", "budget_on", "require_ledger"]
