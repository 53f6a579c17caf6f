"""Warnings and errors of the package (zone: public)."""

__all__ = [
    "BatchDependentError",
    "BudgetExceededError",
    "GuaranteeAssumptionWarning",
    "InvalidParameterError",
    "LedgerError",
    "LowUtilityWarning",
    "PrivacyWarning",
]


class LowUtilityWarning(UserWarning):
    """The result is of little use: noise dominates it, or the model predicts a single value."""


class PrivacyWarning(UserWarning):
    """Records are less protected than users might expect."""


class GuaranteeAssumptionWarning(PrivacyWarning):
    """The guarantee depends on an assumption that cannot be checked."""


class InvalidParameterError(ValueError, TypeError):
    """A parameter has an invalid type or form; as in scikit-learn, it is both of these errors."""


class BatchDependentError(ValueError):
    """The prediction or gain of a record depends on other records of the batch."""


class LedgerError(RuntimeError):
    """A privacy ledger cannot be read or written, or is damaged; nothing is released."""


class BudgetExceededError(ValueError):
    """A charge would exceed the privacy budget; nothing is released."""
