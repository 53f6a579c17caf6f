"""Claim: a declared privacy profile needs about half of the noise of a declared (epsilon, delta).

    python benchmarks/declared_profiles.py [--json declared_profiles.json]      # five minutes

DP-SGD: 24,000 records, of which each is in a batch with probability 512 / 24,000, for 20 epochs;
delta is 1e-6 for one record replaced. `PrivateTableSearchCV` searches over a learning rate, and
prints what it sets. Columns are noise multipliers of one fit:

* one point: an estimator that declares "approximate", and is given (epsilon, delta); it halves them
  for a replacement and asks dp_accounting's accountant by Renyi divergences, as Opacus does;
* profile: one that declares its profile, by dp_accounting's privacy loss distribution for one
  record replaced;
* doubled: the same of one that declares the profile for one record added or removed;
* needed: what dp_accounting's accountant needs for that many fits, without the search;
* added: for one record *added or removed*, repeated fits: by its profile, and by Renyi divergences:
  `RepeatAndSelectDpEvent`.
"""

import math
import warnings
from functools import cache, partial
from pathlib import Path

from harness import parser_of, print_head, print_row, save

# isort: split
import dp_accounting
import numpy as np
import pandas as pd
from dp_accounting import NeighboringRelation
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
from dp_accounting.rdp import RdpAccountant
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_dpbo import PrivateTableSearchCV
from sklearn_dpbo.learners import PrivateTraining

RESULTS = Path(__file__).parent / "results"
RATE, EPOCHS, DELTA = 512 / 24_000, 20, 1e-6
STEPS = math.ceil(EPOCHS / RATE)
REPLACED, ADDED = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
# How many fits are made, and of how many candidates.
FITS = {"one": (1, 1), "four": (4, 4), "24 on average": (24, 24)}


@cache
def distribution_of(relation, noise_multiplier):
    step = from_gaussian_mechanism(
        noise_multiplier,
        sampling_prob=RATE,
        value_discretization_interval=1e-3,
        neighboring_relation=relation,
    )
    return step.self_compose(STEPS)


def profile_of(relation, noise_multiplier):
    return distribution_of(relation, noise_multiplier).get_delta_for_epsilon


class Constant(ClassifierMixin, BaseEstimator):
    """Keeps the noise that a network would have, and looks at no record."""

    def __init__(self, epsilon=1.0, delta=1e-6, noise_multiplier=None, learning_rate=1, kind="one"):
        self.epsilon = epsilon
        self.delta = delta
        self.noise_multiplier = noise_multiplier
        self.learning_rate = learning_rate
        self.kind = kind

    def private_training(self):
        if self.kind == "one":
            return PrivateTraining("approximate")
        doubled = self.kind == "doubled"
        relation = REPLACED if self.kind == "profile" else ADDED
        return PrivateTraining(
            "profile",
            profile=partial(profile_of, relation),
            noise_multiplier="noise_multiplier",
            neighbours="add-or-remove-one" if doubled else "replace-one",
        )

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def noise_of(kind, n_fits, n_candidates, epsilon):
    """Return the noise multiplier of each fit of a search."""
    X = np.linspace(-1, 1, 200)[:, None]
    search = PrivateTableSearchCV(
        Constant(kind=kind),
        {"learning_rate": list(range(1, n_candidates + 1))},
        epsilon=epsilon,
        delta=DELTA,
        n_fits=n_fits,
        random_state=0,
    ).fit(X, np.arange(200) % 2)
    best = search.best_estimator_
    if kind != "one":
        return best.noise_multiplier
    half = best.epsilon / 2
    return by_renyi(sampled, half, best.delta / (1 + math.exp(half)))


def sampled(noise_multiplier):
    event = dp_accounting.GaussianDpEvent(noise_multiplier)
    event = dp_accounting.PoissonSampledDpEvent(RATE, event)
    return dp_accounting.SelfComposedDpEvent(event, STEPS)


def by_renyi(event_of, epsilon, delta):
    return dp_accounting.calibrate_dp_mechanism(
        RdpAccountant, event_of, epsilon, delta, tol=1e-4,
        bracket_interval=dp_accounting.ExplicitBracketInterval(0.4, 50),
    )  # fmt: skip


def needed(n, epsilon):
    """Return the noise multiplier of n composed fits by dp_accounting alone."""

    def too_much(noise_multiplier):
        composed = distribution_of(REPLACED, noise_multiplier).self_compose(n)
        return composed.get_epsilon_for_delta(DELTA) - epsilon

    return brentq(too_much, 0.6, 20, rtol=1e-4)


def repeated_by_renyi(mean, epsilon):
    def event(noise_multiplier):
        return dp_accounting.dp_event.RepeatAndSelectDpEvent(sampled(noise_multiplier), mean, 1.0)

    return by_renyi(event, epsilon, DELTA)


def row_of(epsilon, fits):
    n_fits, n_candidates = FITS[fits]
    repeated = n_fits == 24
    found = {
        kind: noise_of(kind, n_fits, n_candidates, epsilon)
        for kind in ("one", "profile", "doubled", "added")
        if kind != "added" or repeated
    }
    return {
        "epsilon": epsilon, "fits": fits, "one point": found["one"], "profile": found["profile"],
        "doubled": found["doubled"], "needed": math.nan if repeated else needed(n_fits, epsilon),
        "added: profile": found.get("added", math.nan),
        "added: Renyi": repeated_by_renyi(n_fits, epsilon) if repeated else math.nan,
    }  # fmt: skip


def main():
    options = parser_of(__doc__).parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for epsilon in (3.0, 8.0):
        for fits in FITS:
            row = row_of(epsilon, fits)
            if not rows:
                print_head(list(row))
            rows.append(row)
            print_row(each if isinstance(each, str) else f"{each:.4g}" for each in row.values())
    save(rows, options.json)
    table = pd.DataFrame(rows)
    table.to_csv(RESULTS / "declared_profiles.csv", index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
