"""Tables of integers that a fit releases, and their shares of its budget (zone: boundary)."""

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

# If frequent values are released: share of the budget (in mu squared) for their counts, and share
# of delta for the release of values that only one unit has.
_FREQUENT_SHARE = 0.1
_RARE_SHARE = 1 / 8
# Shares of the budget (in mu squared) for tables of counts; the latter if there are too few votes
# for distances.
_SHARES = {"sizes": 0.12, "places": 0.03, "closer places": 0.03, "targets": 0.03, "norms": 0.02}
_SHARES_OF_FEW = _SHARES | {"sizes": 0.1, "places": 0.09, "closer places": 0.04}
# Votes are units times mu, divided by the square root of the number of columns. From the first
# number of votes on, distances stand out; from the second on, the shares decrease with the votes,
# to the least part at most.
_VOTES_FOR_PAIRS = 66.0
_ENOUGH_VOTES = 300.0
_LEAST_PART = 0.25


class SharedTables:
    """Tables that a fit releases, one after the other, each with its share of the budget.

    First come counts of the values of `frequent` columns, if any; then the tables of `counts`,
    which show the ranges of `n_columns` columns; and then n tables of this `sensitivity`, each of
    one of `n_batches` in turn, so that a unit changes only one in `n_batches` of them.

    `pairs`: True if distances in pairs of units are counted; `stds`: standard deviation of the
    noise of each of `counts`; `std`: that of each of the n tables.
    """

    def __init__(
        self, spending: Spending, records: Records, purpose: str,
        *, n_columns: int, counts: tuple[str, ...], n: int, sensitivity: float,
        n_batches: int = 1,
    ) -> None:  # fmt: skip
        self.spending = spending
        epsilon, delta = spending.epsilon, spending.delta
        mu = gdp_within(epsilon, delta)
        moves_of_counts, self.pairs = tables(records.m, max(n_columns, 1), mu)
        k = len(records.frequent)
        # Sensitivity and share of the budget of each table.
        moves = [(math.sqrt(2 * k), _FREQUENT_SHARE)] if k else []
        moves += [moves_of_counts[kind] for kind in counts]
        unspent = 1 - sum(share for _, share in moves)
        moves += [(sensitivity, unspent / math.ceil(n / n_batches)) for _ in range(n)]
        # Noise in proportion to these numbers gives each table its share of the budget.
        relative = [moved / math.sqrt(share * len(moves)) for moved, share in moves]
        rare = delta * _RARE_SHARE if k else 0.0
        price = Price.shared(len(moves), epsilon, delta - rare, GAUSSIAN_ONLY)
        stds = [price.scale(moved) for moved in relative]
        self.stds = dict(zip(counts, stds[1:] if k else stds, strict=False))
        self.std = stds[-1]
        record: dict[str, Any] = {"purpose": purpose, "delta": delta}
        if k:
            least = record["threshold"] = least_count(stds[0], k, rare)
            record["detail"] = (
                f"where about {least:,.0f} {records.unit}s make one frequent, "
                f"{_FREQUENT_SHARE} of mu squared"
            )
        self._noisy = spending.tables(price, relative, **record)

    def release(self, table: Secret) -> Any:
        """Release the next table with its noise; of counted values, those that are frequent."""
        return self._noisy(table)


def tables(m: int, d: int, mu: float) -> tuple[dict[str, tuple[float, float]], bool]:
    """Return (sensitivity, share of the budget) of each table of counts, and `pairs`.

    `pairs` is True if distances in pairs of units are counted. The data are m units with d columns;
    the whole fit is mu-GDP.
    """
    votes = m * mu / math.sqrt(d)
    part = min(1.0, max(_LEAST_PART, (_ENOUGH_VOTES / votes) ** 2))
    pairs = votes > _VOTES_FOR_PAIRS
    shares = _SHARES if pairs else _SHARES_OF_FEW
    moves = {
        "sizes": _sensitivity_of_sizes(d, pairs),
        "places": _sensitivity_of_cells(d),
        "closer places": _sensitivity_of_cells(d),
        "targets": _sensitivity_of_cells(1),
        "norms": _sensitivity_of_cells(1),
    }
    return {kind: (move, part * shares[kind]) for kind, move in moves.items()}, pairs


def least_count(std: float, n_columns: int, delta: float) -> float:
    """Return the noisy count that values of only one unit reach with probability at most delta.

    The unit may have one such value in each of `n_columns`. Discrete Gaussian noise reaches a whole
    number t + 1 at most as often as Gaussian noise reaches t (Canonne, Kamath and Steinke, NeurIPS
    2020, Proposition 25).
    """
    return 2 + threshold(std, n_columns, delta) * (1 + 1e-9)


def _sensitivity_of_sizes(d: int, pairs: bool) -> float:
    """Bound the change of the sizes of d columns by one replaced unit, in the Euclidean norm."""
    return STEPS * math.sqrt((2.5 if pairs else 2) * d) * (1 + 1e-12)


def _sensitivity_of_cells(d: int) -> float:
    """Bound the change of counts in which a unit is in one cell of each of d columns."""
    return STEPS * math.sqrt(2 * d) * (1 + 1e-12)


def threshold(std: float, n: int, chance: float) -> float:
    """Return the number that the largest of n zero-mean noises exceeds with at most this chance."""
    return -float(ndtri(chance / n)) * std
