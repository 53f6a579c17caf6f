"""Warnings and errors of the package (zone: public)."""

__all__ = [
    "BatchDependentError",
    "BudgetExceededError",
    "CrossValidationBudgetError",
    "GuaranteeAssumptionWarning",
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


class BatchDependentError(ValueError):
    """A record's prediction or gain depends on other records in the batch; nothing is released."""


class LedgerError(RuntimeError):
    """A privacy ledger cannot be read or written, or is damaged; nothing may be released."""


class BudgetExceededError(ValueError):
    """A charge would exceed the privacy budget; nothing was released for it."""


class CrossValidationBudgetError(BaseException):
    """A `BudgetExceededError` inside scikit-learn's cross-validation, which it ends.

    `cross_val_score`, `GridSearchCV` and their like put nan in place of a fold's score for any
    `Exception`, so this is none: catch it by its name. A worker of `multiprocessing.Pool` dies of
    it, and the pool waits forever; joblib's and `concurrent.futures`' pass it on.
    """
