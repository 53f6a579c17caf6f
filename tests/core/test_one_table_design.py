"""Which models a search on one table fits: how many, by which accountant, and where it begins."""

import numpy as np
import pytest
from scipy.stats import loguniform

from sklearn_dpbo.learners import PrivateTraining
from sklearn_dpbo.privacy.runs import Composed, Repeated
from sklearn_dpbo.search._one_table import default_fits, held_out, plan_fits
from sklearn_dpbo.search._space import SearchSpace

SPACE = {"rate": loguniform(0.1, 10), "clip": [0.5, 1.0]}


def plan_of(
    composition="zCDP", space=SPACE, n_units=1000, first=None, n_fits=None, epsilon=1.0, delta=1e-6
):
    training = PrivateTraining(composition)
    return plan_fits(
        SearchSpace(space), training, epsilon, delta, declared=lambda fit: training,
        n_fits=n_fits or default_fits(n_units, 1.0), n_candidates=16,
        first=first or {"rate": 2.0, "clip": 1.0, "another": 5}, rng=np.random.default_rng(0),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("n_units", "epsilon", "n"),
    [(100, 1, 2), (5000, 1, 2), (2500, 3, 3), (9999, 1, 4), (10_000, 1, 24)],
)  # fmt: skip
def test_more_models_are_fitted_the_less_noise_each_has(n_units, epsilon, n):
    assert default_fits(n_units, epsilon) == n
    assert held_out(n_units, epsilon) == round(n_units * (0.2 if n == 24 else 0.1))


def test_few_fits_are_composed_and_many_repeated():
    assert plan_of(n_units=9500).runs == Composed(4)
    repeated = plan_of(n_units=10_000)
    assert isinstance(repeated.runs, Repeated)
    assert np.isclose(repeated.runs.mean, 24)
    assert len(repeated.fits) == 16  # candidates: n_iter
    assert plan_of(n_fits=3).runs == Composed(3)
    assert isinstance(plan_of(n_fits=5).runs, Repeated)
    assert plan_of(n_fits=24, space={"clip": [0.5, 1.0]}).runs == Composed(2)
    assert isinstance(plan_of(composition="approximate", n_units=10_000).runs, Repeated)


def test_the_estimators_own_parameters_come_first_if_they_are_in_the_space():
    tried = [each.params for each in plan_of(n_units=9500).fits]
    assert tried[0] == {"rate": 2.0, "clip": 1.0}
    assert len(tried) == 4
    grid = {"rate": [1.0, 2.0], "clip": [0.5, 1.0]}
    tried = [each.params for each in plan_of(space=grid, n_units=9500).fits]
    assert tried[0] == {"rate": 2.0, "clip": 1.0}
    assert len({tuple(each.items()) for each in tried}) == 4
    for first in ({"rate": 20.0, "clip": 1.0}, {"rate": 2.0, "clip": None}, {"clip": 1.0}):
        assert plan_of(n_units=9500, first=first).fits[0].params["rate"] != 2.0


@pytest.mark.parametrize("composition", ["zCDP", "GDP", "approximate"])
def test_fits_that_no_epsilon_is_small_enough_for_are_refused(composition):
    """With an epsilon of 0 and all of so large a delta, each would lose more than its share."""
    with pytest.raises(ValueError, match=r"for each of 50 fits .* use a smaller delta"):
        plan_of(composition, n_fits=50, epsilon=0.1, delta=0.3)
