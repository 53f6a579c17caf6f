"""What to write in place of other libraries' search spaces (zone: public).

Libraries are told by the modules of their classes; none is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Number, Real
from typing import Any

from .._params import is_finite

__all__ = ["instead_of", "range_in_words"]

_SKOPT_PRIORS = ("uniform", "log-uniform")
# Values of an integer parameter with a logarithmic scale.
_N_VALUES = 20


def instead_of(values: Any) -> str:
    """Return what to write in place of an entry of param_grid, in words; "" if that is not known.

    Parameters
    ----------
    values : object
        Neither a list of values nor a distribution with quantiles; or a tuple as skopt has it.
    """
    if isinstance(values, tuple):
        return _skopt_tuple(values)
    library = type(values).__module__.partition(".")[0]
    if library in ("skopt", "optuna"):
        return _dimension(values)
    if isinstance(values, str | bytes | Number):
        return "write [value] for a single value"
    if callable(getattr(values, "rvs", None)):
        return (
            "it can be drawn from (rvs), and the search needs quantiles (ppf), which the "
            "distributions of scipy.stats have, such as loguniform(0.001, 1000) and randint(1, 11)"
        )
    listed = isinstance(values, Iterable) and not isinstance(values, Mapping)
    return "write list(...) around it" if listed else ""


def range_in_words(values: Any) -> str:
    """Return how to write the range that a tuple of two numbers may mean; "" of other values.

    Parameters
    ----------
    values : object
        An entry of param_grid.
    """
    if not (isinstance(values, tuple) and len(values) == 2 and all(map(_is_number, values))):
        return ""
    low, high = values
    if not low < high:
        return ""
    if isinstance(low, Integral) and isinstance(high, Integral):
        return f"scipy.stats.{_integers(low, high)}"
    even = f"scipy.stats.{_floats(low, high)}"
    if low <= 0:
        return even
    log = f"scipy.stats.{_floats(low, high, log=True)} (logarithmic)"
    return f"{log} or {even}" if high >= 100 * low else f"{even} or {log}"


def _skopt_tuple(values: tuple[Any, ...]) -> str:
    """Return what to write for (low, high, prior), which is no list of candidates."""
    low, high, *prior = values if len(values) in (3, 4) else (None, None)
    if not (_is_number(low) and _is_number(high) and prior and prior[0] in _SKOPT_PRIORS):
        return ""
    whole = isinstance(low, Integral) and isinstance(high, Integral)
    return _written(low, high, whole, prior[0] == "log-uniform")


def _dimension(values: Any) -> str:
    """Return what to write for a dimension of skopt, or a distribution of Optuna."""
    choices = getattr(values, "categories", getattr(values, "choices", None))
    if choices is not None:
        return f"write {list(choices)!r}"
    low: Any = getattr(values, "low", None)
    high: Any = getattr(values, "high", None)
    if not (_is_number(low) and _is_number(high)):
        return ""
    whole = type(values).__name__.startswith("Int")
    log = getattr(values, "prior", "") == "log-uniform" or bool(getattr(values, "log", False))
    step = getattr(values, "step", None)
    if not log and step not in (None, 1 if whole else None):
        if whole:
            return f"write range({low}, {high + 1}, {step})"
        n = round((high - low) / step) + 1
        return f"write numpy.linspace({_plain(low)}, {_plain(high)}, {n})"
    return _written(low, high, whole, log)


def _written(low: Any, high: Any, whole: bool, log: bool) -> str:
    if whole and log:
        places = f"numpy.geomspace({_plain(low)}, {_plain(high)}, {_N_VALUES})"
        return f"write numpy.unique({places}.round().astype(int))"
    return f"write scipy.stats.{_integers(low, high) if whole else _floats(low, high, log=log)}"


def _integers(low: Any, high: Any) -> str:
    return f"randint({int(low)}, {int(high) + 1})"


def _floats(low: Any, high: Any, *, log: bool = False) -> str:
    if log:
        return f"loguniform({_plain(low)}, {_plain(high)})"
    return f"uniform({_plain(low)}, {_plain(high - low)})"  # from low on, this wide


def _plain(number: Any) -> str:
    """Write a number as people do: 1000, not 1000.0, and a width without errors of rounding."""
    return f"{float(number):.12g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and is_finite(value)
