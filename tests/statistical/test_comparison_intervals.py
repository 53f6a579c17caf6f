"""Intervals of comparisons cover the differences of the records, and those of the population.

Counts are drawn, and noise of the right scale is added to them; half of it is found out.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from evaluations import report_of
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo.metrics import _intervals
from sklearn_dpbo.metrics.evaluations._designed_comparison import comparison_of
from sklearn_dpbo.privacy.noisy_counts import NoisyCounts
from sklearn_dpbo.records.units import Units

N_RUNS, N_SLOW = 100, 500
NAMES = (
    "accuracy", "balanced_accuracy", "recall", "specificity", "precision", "f1", "net_benefit",
    "matthews_corrcoef", "cohen_kappa",
)  # fmt: skip
QUICK = ("accuracy", "f1", "matthews_corrcoef")


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch):
    """Simulate a quarter of the noise, to save time."""
    monkeypatch.setattr(_intervals, "_N_DRAWS", 1000)


def fewest(n):
    """An interval that covers 95 % covers less often once in 50,000 runs."""
    return int(binom.ppf(2e-5, n, 0.95))


def shares_of(prevalence, agree, right):
    """Shares of the cells: both wrong, only b right, only a right, both right; of each class."""
    of_class = [(1 - right) * agree, 0.6 * (1 - agree), 0.4 * (1 - agree), right * agree]
    return np.outer([1 - prevalence, prevalence], of_class).ravel()


def covered(shares, m, epsilon, n, rng, claimed=1.0, scoring=None, names=QUICK):
    """How often each kind of interval covers each difference, of n comparisons.

    The noise is claimed to be that of a scale `claimed` times the one that it has.
    """
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    design = comparison_of(model, model, [0, 1], scoring, None, (0.2, 0.2))
    units, report, scale = Units.of(m), report_of(epsilon, m), 2 / epsilon
    (table,) = design._parts
    known = (replace(table, unknown=False),)  # as after a release
    design = replace(design, _parts=known, _units=units, privacy_=report)
    names = names if scoring is None else ("accuracy",)

    def exact(counts):
        noisy, units = NoisyCounts(tuple(counts), 1e-9), Units.of(sum(counts))
        alone = replace(design, _noisy=(noisy,), _units=units)
        return {name: alone.score(name, interval="records").value for name in names}

    hits = {(name, kind): 0 for name in names for kind in ("population", "records")}
    cells = shares.reshape(2, 4).sum(axis=0) if scoring else shares
    population = exact(np.rint(cells * 1e9).astype(int).tolist())
    for _ in range(n):
        counts = rng.multinomial(m, cells)
        truth = {"population": population, "records": exact(counts.tolist())}
        noise = NoisyCounts((0,) * len(counts), scale).noise(1, rng)[0]
        noisy = NoisyCounts(tuple((counts + noise).tolist()), scale * claimed)
        comparison = replace(design, _noisy=(noisy,))
        for name, kind in hits:
            _, low, high = comparison.score(name, interval=kind)
            hits[name, kind] += low - 1e-9 <= truth[kind][name] <= high + 1e-9
    return hits


@pytest.mark.slow
@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_intervals_of_differences_cover(scoring, rng):
    hits = covered(shares_of(0.3, 0.85, 0.9), 1000, 0.5, N_RUNS, rng, scoring=scoring)
    assert min(hits.values()) >= fewest(N_RUNS), hits


@pytest.mark.slow
def test_twice_the_noise_is_not_covered(rng):
    """The pair of the test above: it notices intervals for half of the noise."""
    shares = shares_of(0.3, 0.85, 0.9)
    for scoring in (None, "accuracy"):
        hits = covered(shares, 1000, 0.5, N_RUNS, rng, claimed=0.5, scoring=scoring)
        records = [n for (_, kind), n in hits.items() if kind == "records"]
        assert max(records) < fewest(N_RUNS), hits


SLOW, SOAK = pytest.mark.slow, pytest.mark.soak


@pytest.mark.parametrize(
    ("prevalence", "agree", "right", "m", "epsilon"),
    [
        pytest.param(*models, *size, marks=SOAK if i else SLOW)
        for i, (size, models) in enumerate(
            product([(300, 1.0), (1000, 0.5), (5000, 5.0)], [(0.1, 0.95, 0.9), (0.5, 0.8, 0.8)])
        )
    ],
)
def test_intervals_of_differences_cover_where_records_are_few_or_models_alike(
    m, epsilon, prevalence, agree, right, rng
):
    hits = covered(shares_of(prevalence, agree, right), m, epsilon, N_SLOW, rng, names=NAMES)
    assert min(hits.values()) >= 0.9 * N_SLOW, hits
