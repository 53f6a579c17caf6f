"""The `fit` of a search that protects every record of one table and keeps its models secret.

Candidates are not private themselves; what is released of them rests on the strategy's assumption
(zone: released).
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from .._data.divided_table import DividedTable
from .._evaluation.fitting import FitOptions
from .._evaluation.progress import watched
from .._privacy.accounting import warn_of_weak_guarantee
from .._privacy.mechanisms import Mechanisms
from .._space.space import SearchSpace
from ..learners._labels import public_classes
from ..report._report import PREDICTION_CONDITIONS, PrivacyReport
from ..scoring._scorers import PrivateScorer
from ..strategies._base import Strategy
from .one_table import depends_on_labels, oracle_on
from .results import fitted_attributes, note_on_error, spent_before
from .search_parameters import n_iter_of

__all__ = ["fit_in_secret"]

# Share of the records that candidates are evaluated on.
_TEST_SIZE = 0.2
_NOT_PROTECTED = (
    "the number of records and columns, dtypes and classes; how long the fit took; and whatever "
    "else is computed from the records, including another run of this fit, and any model that is "
    "fitted on them without privacy, with best_params_, say"
)


def fit_in_secret(
    search: Any,
    X: Any,
    y: Any,
    groups: Any,
    scorers: dict[str, PrivateScorer],
    space: SearchSpace,
    strategy: Strategy,
    mechanisms: Mechanisms,
    options: FitOptions,
) -> dict[str, Any]:
    """Return the fitted attributes of a search; nothing is charged if it raises for a parameter.

    Parameters
    ----------
    search : PrivateBayesSearchCV
        Its parameters have been checked.
    X, y, groups
        As `fit` was given them: protected.
    scorers, space, strategy, options
        Made from its parameters.
    mechanisms : Mechanisms
        With the budget of the search.
    """
    _check(search, groups, strategy)
    rng = np.random.default_rng(check_random_state(search.random_state).randint(2**31 - 1, size=4))
    labels = public_classes(None, y)
    for scorer in scorers.values():
        if scorer.is_mean and depends_on_labels(scorer, labels):
            raise ValueError(
                f"scoring={scorer.name!r} depends on how frequent the labels are, which "
                f"{type(strategy).__name__} does not release: use strategy='worst_case'"
            )
    table = DividedTable.divide(X, y, None, labels, True, lambda m: round(_TEST_SIZE * m), rng)
    oracle = oracle_on(options, table, scorers, np.full(len(labels), 1 / len(labels)), rng)
    oracle = replace(oracle, on_protected=table.training)
    budget, n_iter = mechanisms.budget, n_iter_of(search, space, strategy)
    warn_of_weak_guarantee(budget, table.units.m + table.units_val.m, "record", stacklevel=5)
    with (
        closing(oracle),
        watched(search),
        note_on_error(lambda: spent_before(budget)),
    ):
        release = strategy.run(space, oracle, n_iter=n_iter, rng=rng, mechanisms=mechanisms)
    return {
        **fitted_attributes(release, []),
        "privacy_": _report(table, strategy, mechanisms, search.prediction),
        "scorer_": oracle.scorer,
        "multimetric_": False,
        "n_splits_": 1,
    }


def _check(search: Any, groups: Any, strategy: Strategy) -> None:
    name = type(strategy).__name__
    if groups is not None:
        raise ValueError(
            f"{name} protects single records and no groups: leave groups out if each record is "
            "another person's, or use strategy='worst_case'"
        )
    if not is_classifier(search.estimator):
        raise ValueError(
            f'{name} takes classifiers with protect="all"; found '
            f"{type(search.estimator).__name__}. Use strategy='worst_case'"
        )


def _report(
    table: DividedTable, strategy: Strategy, mechanisms: Mechanisms, prediction: str
) -> PrivacyReport:
    budget, noise = mechanisms.budget, mechanisms.noise
    n, m = table.units.m, table.units_val.m
    return PrivacyReport(
        title="Differentially private hyper-parameter search on one table",
        epsilon=budget.epsilon,
        delta=budget.spent[1],
        unit="record",
        m=n + m,
        data="table",
        protected=f"every record of X and y as given; models are fitted on {n:,} of them and "
        f"compared on the other {m:,}",
        not_protected=_NOT_PROTECTED,
        assumption=strategy.assumption,
        condition=PREDICTION_CONDITIONS[prediction].replace("training records", "made-up records"),
        released=strategy.released,
        spends=budget.losses,
        noise=noise.description,
        secure=noise.secure,
        receipts=budget.receipts,
    )
