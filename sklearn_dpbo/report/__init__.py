"""Privacy reports, files of releases, and a checker of them (zone: released)."""

from ..privacy.accounting import PrivacyLoss
from ..privacy.report._report import PrivacyReport
from ..search._released import SearchResult
from ._check import Finding, check
from ._load import from_dict, load

__all__ = ["Finding", "PrivacyLoss", "PrivacyReport", "SearchResult", "check", "from_dict", "load"]
