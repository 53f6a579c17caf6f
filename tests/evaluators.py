"""What an `Evaluator` says of candidates: statistics of those that were fitted, and errors."""

from functools import reduce
from types import SimpleNamespace

from sklearn_dpbo._privacy.sensitive import Sensitive


def evaluated(oracle, params, scorer=None):
    """Fit candidates and compare them; 0 for those that could not be fitted."""
    query = (scorer or oracle.scorer).query
    errors = oracle.fit_candidates(tuple(params))
    fitted = [i for i, error in enumerate(errors) if error is None]
    nothing = Sensitive([[0]], query.sensitivity(oracle.problem.units))
    rows = iter(range(len(fitted)))
    found = oracle.compare([params[i] for i in fitted], query) if fitted else None
    each = (nothing if error else found.take(next(rows)) for error in errors)
    return SimpleNamespace(
        statistics=reduce(Sensitive.followed_by, each), fit_errors=errors, fitted=fitted
    )
