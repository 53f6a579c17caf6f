"""Sites whose exact counts are known, and searches on them, for several tests."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_dpbo import PrivateFederatedSearch
from sklearn_dpbo._privacy.accounting import Budget
from sklearn_dpbo._privacy.mechanisms import Mechanisms
from sklearn_dpbo.objective import FederatedCoordinator, FederatedSite
from sklearn_dpbo.objective._plan import Plan
from sklearn_dpbo.objective._site import evaluate

TRAIN = np.zeros((4, 3)), np.array([0, 1, 0, 1])


class Column(ClassifierMixin, BaseEstimator):
    """Predicts what stands in one column, and fits nothing."""

    def __init__(self, which=0):
        self.which = which

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return (X[:, self.which] > 0).astype(int)


def records(right, m):
    """m records of class 1, of which candidate i predicts ``right[i]``."""
    return (np.arange(m)[:, None] < np.array(right)).astype(float), np.ones(m, dtype=int)


def search_of(n=3, **params):
    params = {"prediction": "together"} | params
    return PrivateFederatedSearch(Column(), {"which": list(range(n))}, **params)


def counted_once(evaluator):
    """Return its method `counts`, with a memory."""
    count, known = evaluator.counts, {}

    def counts(params, query):
        if id(params) not in known:
            known[id(params)] = count(params, query)
        return known[id(params)]

    return counts


class Rounds:
    """The same sites, round after round with fresh noise; they are predicted once."""

    def __init__(self, search, held, train=TRAIN):
        self.plan, self.train = Plan.of(search), train
        self.sites = {
            name: FederatedSite(self.plan, *train, X_val=X, y_val=y, name=name)
            for name, (X, y) in held.items()
        }
        evaluate(list(self.sites.values()))
        self.counted = {name: site._statistics for name, site in self.sites.items()}
        for site in self.sites.values():
            site._evaluator.counts = counted_once(site._evaluator)

    def round(self, noise):
        """Return the coordinator, and the messages that it was told."""
        coordinator = FederatedCoordinator(self.plan, *self.train, sites=self.sites)
        for site in self.sites.values():
            site._sent, site._mechanisms = {}, Mechanisms(Budget(self.plan.epsilon), noise)
            site._statistics = self.counted[site.name]
        told = []
        while not coordinator.done:
            for name in coordinator.waiting:
                told.append((name, self.sites[name].answer(coordinator.ask(name))))
                coordinator.tell(*told[-1])
        return coordinator, told
