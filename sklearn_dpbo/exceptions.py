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
    """The result says little, or will: noise hides it, or the model predicts one value."""


class PrivacyWarning(UserWarning):
    """Something is less protected than users might expect."""


class GuaranteeAssumptionWarning(PrivacyWarning):
    """The guarantee depends on an assumption that cannot be checked."""


class InvalidParameterError(ValueError, TypeError):
    """A parameter has an invalid type or form; as in scikit-learn, it is both of these errors."""


class BatchDependentError(ValueError):
    """A record's prediction or gain depends on other records in the batch; nothing is released."""


class LedgerError(RuntimeError):
    """A privacy ledger cannot be read or written, or is damaged; nothing may be released."""


class BudgetExceededError(ValueError):
    """A charge would exceed the privacy budget; nothing was released for it."""
