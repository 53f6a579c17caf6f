"""No number of a protected record raises or warns in the papers' mechanisms, either."""

import numpy as np
import pytest
from scipy.stats import loguniform
from test_float_errors import ODD, Sigmoid, public, strict, table

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.papers.balcan2018 import Knapsack, KnapsackItems, PrivateConfigurator
from sklearn_dpbo.papers.kharkovskii2020 import GaussianCurator
from sklearn_dpbo.papers.kusner2015 import GPNoiseFree, GPNoisy


def released(X, y):
    with np.errstate(all="ignore"):
        X = np.nan_to_num(X.astype(float), posinf=1e308, neginf=-1e308)  # others are refused
    GaussianCurator(max_norm=1.0).fit(X)


def configured(X, y):
    with np.errstate(all="ignore"):
        sizes = np.abs(np.nan_to_num(X[:, 0].astype(float), posinf=1e308, neginf=1e308)) + 1e-320
    instances = [KnapsackItems([1.0, 2.0, s], [1.0, s, 1.0], capacity=2.0) for s in sizes]
    configurator = PrivateConfigurator(
        Knapsack(), epsilon=1.0, utility_bound=1.0, grid_size=16, invalid="zero"
    )
    configurator.fit(instances)


def kusner(strategy, **params):
    def run(X, y):
        params.update(k1=0.9, length_scale=1.0, prior_mean=0.5, prior_scale=0.1)
        chosen = strategy(**params)
        grid, kinds = {"times": loguniform(0.5, 2)}, {"n_iter": 3, "strategy": chosen}
        search = PrivateBayesSearchCV(Sigmoid(), grid, epsilon=5.0, delta=0.1, **kinds)
        search.fit(*public(labels=True), X_val=X, y_val=y > 0)

    return run


RUNS = {
    "curator": released,
    "configurator": configured,
    "kusner": kusner(GPNoisy, noise=0.1),
    "kusner, noise-free": kusner(GPNoiseFree, A=1.0, tau=1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", RUNS)
def test_an_odd_number_raises_nothing_in_papers(name, odd):
    with strict():
        RUNS[name](*table(odd))
