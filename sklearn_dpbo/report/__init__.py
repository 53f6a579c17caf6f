"""The privacy report of whatever was released (zone: released)."""

from ..privacy.accounting import PrivacyLoss
from ..privacy.report._report import PrivacyReport

__all__ = ["PrivacyLoss", "PrivacyReport"]
