"""The command line: ``python -m sklearn_dpbo.ledger`` (zone: boundary)."""

import sys

from ..privacy.ledger._command import main

if __name__ == "__main__":
    sys.exit(main())
