"""What the gallery does before each example, as if it ran in a process of its own.

Otherwise an example warns of the fits of others, which have charged no ledger either.
"""

import warnings

from sklearn_dpbo.privacy import accounting


def _without_path(message, category, *_):
    """Format a warning without the path of the machine that builds the site."""
    return f"{category.__name__}: {message}\n"


def reset(gallery_conf, file):
    """Forget the fits of other examples, and show warnings without paths."""
    accounting._fits.clear()
    warnings.formatwarning = _without_path
