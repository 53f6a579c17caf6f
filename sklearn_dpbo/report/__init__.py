"""The privacy report of whatever was released (zone: released)."""

from .._privacy.accounting import PrivacyLoss
from ._report import PrivacyReport

__all__ = ["PrivacyLoss", "PrivacyReport"]
