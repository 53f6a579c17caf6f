"""The command line: ``python -m sklearn_dpbo.report check`` (zone: released)."""

import sys

from ._command import main

if __name__ == "__main__":
    sys.exit(main())
