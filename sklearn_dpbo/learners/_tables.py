"""Tables of integers that a fit releases, and how they share its budget (zone: boundary)."""

from __future__ import annotations

import math
from typing import Any

from scipy.special import ndtri

from ..privacy.gdp import gdp_within
from ..privacy.mechanisms import GAUSSIAN_ONLY, Price
from ..privacy.sensitive import Secret
from ..privacy.spending import Spending
from ._counts import STEPS
from ._records import Records

# If frequent values are released: the share of the budget (in mu squared) for their counts, and the
# share of delta for values that one unit alone has.
_OF_FREQUENT, _OF_RARE = 0.1, 1 / 8
# Shares of the budget (in mu squared) for tables of counts; and where there are too few units for
# distances.
_SHARES = {"sizes": 0.12, "places": 0.03, "closer places": 0.03, "targets": 0.03, "norms": 0.02}
_SHARES_OF_FEW = _SHARES | {"sizes": 0.1, "places": 0.09, "closer places": 0.04}
# Votes, which are units times mu by the square root of the number of columns: from which on
# distances stand out, and from which on a smaller part of these shares is enough; the least part.
_VOTES_OF_PAIRS, _ENOUGH_VOTES, _LEAST = 66.0, 300.0, 0.25


class SharedTables:
    """The tables that a fit releases, one after the other, with noise as their shares say.

    First the values of columns that frequent ones are asked of, if any; then those of `counts`,
    which say where the values of `n_columns` lie; and then n, each of one of `n_batches` in turn,
    so that a unit moves one of so many of them, by `sensitivity`.
    `pairs`: whether distances in pairs are counted; `stds`: the noise of each of `counts`; `std`:
    the noise of each of the n.
    """

    def __init__(
        self, spending: Spending, records: Records, purpose: str,
        *, n_columns: int, counts: tuple[str, ...], n: int, sensitivity: float,
        n_batches: int = 1,
    ) -> None:  # fmt: skip
        self.spending, k = spending, len(records.frequent)
        epsilon, delta = spending.epsilon, spending.delta
        shares, self.pairs = tables(records.m, max(n_columns, 1), gdp_within(epsilon, delta))
        first = [(math.sqrt(2 * k), _OF_FREQUENT)] * (k > 0) + [shares[kind] for kind in counts]
        rest = 1 - sum(share for _, share in first)
        moves = [*first, *[(sensitivity, rest / math.ceil(n / n_batches))] * n]
        # Noise in proportion to these numbers gives each table its share of the budget.
        relative = [moved / math.sqrt(share * len(moves)) for moved, share in moves]
        rare = delta * _OF_RARE * (k > 0)
        price = Price.shared(len(moves), epsilon, delta - rare, GAUSSIAN_ONLY)
        stds = [price.scale(moved) for moved in relative]
        self.stds, self.std = dict(zip(counts, stds[k > 0 :], strict=False)), stds[-1]
        record: dict[str, Any] = {"purpose": purpose, "delta": delta}
        if k:
            least = record["threshold"] = least_count(stds[0], k, rare)
            of = f"where about {least:,.0f} {records.unit}s make one frequent"
            record["detail"] = f"{of}, {_OF_FREQUENT} of mu squared"
        self._noisy = spending.tables(price, relative, **record)

    def release(self, table: Secret) -> Any:
        """Release the next table, with its noise; of values, those that are frequent."""
        return self._noisy(table)


def tables(m: int, d: int, mu: float) -> tuple[dict[str, tuple[float, float]], bool]:
    """Return the sensitivity and the share of each table of counts; whether pairs are counted.

    For m units with d columns, at mu-GDP for all that is released.
    """
    votes = m * mu / math.sqrt(d)
    of_all = min(1.0, max(_LEAST, (_ENOUGH_VOTES / votes) ** 2))
    pairs = votes > _VOTES_OF_PAIRS
    shares = _SHARES if pairs else _SHARES_OF_FEW
    moves = {
        "sizes": _sensitivity_of_sizes(d, pairs),
        "places": _sensitivity_of_cells(d),
        "closer places": _sensitivity_of_cells(d),
        "targets": _sensitivity_of_cells(1),
        "norms": _sensitivity_of_cells(1),
    }
    return {kind: (move, of_all * shares[kind]) for kind, move in moves.items()}, pairs


def least_count(std: float, n_columns: int, delta: float) -> float:
    """Return what one of the values that one unit alone has reaches with a chance of delta at most.

    One of each of these columns. Discrete Gaussian noise reaches a whole number t + 1 at most as
    often as Gaussian noise reaches t (Canonne, Kamath and Steinke, NeurIPS 2020, Proposition 25).
    """
    return 2 + threshold(std, n_columns, delta) * (1 + 1e-9)


def _sensitivity_of_sizes(d: int, pairs: bool) -> float:
    """Return how far replacing a unit moves the sizes of d columns, in the Euclidean norm."""
    return STEPS * math.sqrt((2.5 if pairs else 2) * d) * (1 + 1e-12)


def _sensitivity_of_cells(d: int) -> float:
    """Return how far replacing a unit moves counts in which it is in one cell of d columns."""
    return STEPS * math.sqrt(2 * d) * (1 + 1e-12)


def threshold(std: float, n: int, chance: float) -> float:
    """Return what the largest of n noisy numbers exceeds by chance."""
    return -float(ndtri(chance / n)) * std
