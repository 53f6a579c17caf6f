"""Warnings and errors of the package (zone: public)."""

__all__ = [
    "BatchDependentError",
    "BudgetExceededError",
    "GuaranteeAssumptionWarning",
    "InsecureNoiseWarning",
    "LedgerError",
    "PrivacyWarning",
]


class PrivacyWarning(UserWarning):
    """Something is less protected than a reader might take it to be."""


class InsecureNoiseWarning(PrivacyWarning):
    """The noise can be predicted, so what is released is not private."""


class GuaranteeAssumptionWarning(PrivacyWarning):
    """The guarantee rests on an assumption that nobody can check."""


class BatchDependentError(ValueError):
    """Predictions or gains of a record depend on the records beside it; no result is released."""


class LedgerError(RuntimeError):
    """A privacy ledger cannot be read, written or trusted; nothing may be drawn."""


class BudgetExceededError(ValueError):
    """A charge would spend more privacy than was granted; nothing was drawn."""
