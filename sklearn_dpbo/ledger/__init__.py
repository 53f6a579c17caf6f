"""The budget of a data set, which outlives the process (zone: boundary).

`PrivacyLedger` says what may be charged and keeps entries, in a file or on a server.
"""

from ._entries import Entry

__all__ = ["Entry"]
