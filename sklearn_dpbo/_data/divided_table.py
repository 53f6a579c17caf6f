"""One table, of which every record is protected: cut into two parts (zone: public).

Models are fitted on one part and evaluated on the other. The cut is made at random, by row number
or by group, and looks at no record. A unit lies in one part, and pays for what is released of that
part alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length

from .canonical import as_labels, canonical
from .schema import refuse_complex
from .split import Problem, Training
from .stand_in import plain_table, stand_in_rows
from .tables import dense, n_rows, take_rows
from .units import Units

__all__ = ["DividedTable"]

# Made-up records; of classes, so many of each at least.
_STAND_INS, _OF_EACH_CLASS = 256, 4


@dataclass(frozen=True, eq=False)
class DividedTable:
    """Two parts of a table, and what is public about it.

    Parameters
    ----------
    training : Training
        What models are fitted on: protected.
    units : Units
        Protected units of that part.
    X_val, y_val, units_val
        What models are evaluated on, as in `Problem`: protected.
    labels : ndarray of shape (n_labels,)
        Public: the classes; or, of regression, numbers spread over the bounds of targets.
    classes : bool
        Whether they are classes.
    """

    training: Training
    units: Units
    X_val: Any
    y_val: NDArray[Any]
    units_val: Units
    labels: NDArray[Any]
    classes: bool

    @classmethod
    def divide(
        cls,
        X: Any,
        y: Any,
        groups: Any,
        labels: NDArray[Any],
        classes: bool,
        n_val: Callable[[int], int],
        rng: np.random.Generator,
    ) -> DividedTable:
        """Cut a table.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
            Protected.
        groups : array-like of shape (n_samples,) or None
            Whom each record belongs to; public identifiers, of which the records are protected.
        labels, classes
            As above.
        n_val : callable
            How many of m units models are evaluated on.
        rng : numpy.random.Generator
            Chooses them.

        Raises
        ------
        ValueError
            If X is no plain table, y is no single column, lengths differ, or a part would be empty.
        """
        X = plain_table(X)
        refuse_complex(y)
        y = as_labels(y, labels)
        if y is None or y.ndim != 1:
            raise ValueError('protect="all" takes one label per record, as y')
        check_consistent_length(X, y, *(() if groups is None else (groups,)))
        units = Units.of(n_rows(X), groups)
        number = n_val(units.m)
        if not 0 < number < units.m:
            raise ValueError(
                f"{units.m} {units.name}s cannot be cut into two parts, one to fit models on and "
                f"one of {number} to evaluate them on"
            )
        chosen = np.zeros(units.m, dtype=bool)
        chosen[rng.permutation(units.m)[:number]] = True
        of_row = units.labels()
        held_out = chosen if of_row is None else chosen[of_row]
        fit, val = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        read = canonical(stand_in_rows(X, 2, rng)).read
        part = [None if of_row is None else of_row[rows] for rows in (fit, val)]
        return cls(
            Training(read(take_rows(X, fit)), y[fit]),
            Units.of(len(fit), part[0]),
            read(take_rows(X, val)),
            y[val],
            Units.of(len(val), part[1]),
            labels,
            classes,
        )

    def grouped(self, name: str) -> DividedTable:
        """Return the table, with the groups as an argument of this name of the models' `fit`."""
        fit_params = {name: self.units.labels()}
        return replace(self, training=replace(self.training, fit_params=fit_params))

    def problem(self, frequent: NDArray[np.float64], rng: np.random.Generator) -> Problem:
        """Return what models are evaluated on, with made-up records in place of public ones.

        Parameters
        ----------
        frequent : ndarray of shape (n_labels,)
            Shares of made-up records that have each label.
        rng : numpy.random.Generator
            Makes them up.
        """
        counts = np.maximum(_OF_EACH_CLASS, np.rint(_STAND_INS * frequent)).astype(int)
        y = np.repeat(self.labels, counts)
        y = y[rng.permutation(len(y))]
        X = stand_in_rows(self.X_val, len(y), rng)
        name = self.units.name
        protected = (
            f"X and y as given; models are fitted on {self.units.m:,} {name}s and compared on the "
            f"other {self.units_val.m:,}; each pays for what is released of its own part"
        )
        return Problem(Training(X, dense(y)), self.X_val, self.y_val, self.units_val, protected)
