"""Intervals for the population: simulated counts have the variance of noise and sampling."""

import math

import numpy as np
import pytest

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo.metrics import _intervals
from sklearn_dpbo.metrics._histogram import ScoreHistogram
from sklearn_dpbo.metrics._of_counts import RankingScore
from sklearn_dpbo.metrics._queries import Confusion, unit_weight
from sklearn_dpbo.privacy.noisy_counts import NoisyCounts, noise_std
from sklearn_dpbo.records.units import Units

CLASSES = np.array([0, 1])
P = np.array([0.5, 0.1, 0.05, 0.35])
M = 1_000
UNITS = {
    "records": Units.of(M),
    "groups": Units(M, np.empty(0, dtype=np.intp)),
}


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch):
    monkeypatch.setattr(_intervals, "_N_DRAWS", 500)


@pytest.mark.parametrize("kind", UNITS)
@pytest.mark.parametrize("sampling", [0.0, 1.0, 2.0])
def test_linear_functions_of_draws_have_the_variance_of_noise_and_sampling(
    kind, sampling, monkeypatch
):
    """m p (1 - p) of a share p, and that of the noise less its mean, as the total is known."""
    monkeypatch.setattr(_intervals, "_N_DRAWS", 10_000)
    units, query = UNITS[kind], Confusion(CLASSES)
    w = unit_weight(units)
    scale = 12.0 * w
    noisy = NoisyCounts(tuple((w * M * P).astype(int).tolist()), scale)
    draws = _intervals.draws(query, noisy, units, sampling) / w
    np.testing.assert_allclose(draws.sum(axis=1), M)
    for f in ([1, 0, 0, 1], [0, 1, 0, 0], [1.0, -1, 0.5, 0]):
        f = np.array(f, dtype=float)
        noise = (noise_std(scale, False) / w) ** 2 * 4 * np.var(f)
        expected = noise + sampling**2 * M * (P @ f**2 - (P @ f) ** 2)
        assert np.var(draws @ f) == pytest.approx(expected, rel=0.07), f
        assert np.mean(draws @ f) == pytest.approx(M * P @ f, abs=2)


def released_matrices(rng, m, epsilon, n, factor=1.0):
    """Sample records and noise; the noise is said to be of the right scale, whatever `factor`."""
    scale = 2 / epsilon
    p = -math.expm1(-1 / (factor * scale))
    for counts in rng.multinomial(m, P, n):
        noise = rng.geometric(p, 4) - rng.geometric(p, 4)
        yield NoisyCounts(tuple((counts + noise).tolist()), scale)


def coverage(name, m, epsilon, sampling, n=300, factor=1.0):
    """Share of intervals that contain the score of the population."""
    scorer = make_private_scorer(name).prepare(CLASSES)
    exact, units = float(scorer.metric(P.reshape(2, 2))), Units.of(m)
    inside = []
    for noisy in released_matrices(np.random.default_rng(0), m, epsilon, n, factor):
        low, high = scorer.interval(noisy, units, 0.95, sampling)
        inside.append(low <= exact <= high)
    return np.mean(inside)


# An interval that covers 95 % has less once in 20,000 runs of 300.
LEAST = 0.90


@pytest.mark.slow
@pytest.mark.parametrize("name", ["f1", "matthews_corrcoef", "balanced_accuracy"])
def test_intervals_cover_the_population(name):
    assert coverage(name, M, 1.0, 1.0) >= LEAST
    assert coverage(name, 200, 0.2, 1.0) >= LEAST


@pytest.mark.slow
def test_they_do_not_without_sampling_or_with_more_noise_than_is_said():
    assert coverage("f1", M, 1.0, 0.0) < 0.8
    assert coverage("f1", 200, 0.2, 1.0, factor=2.0) < 0.85


def table_of(m, rng, distance, n_bins=20):
    """Counts of bins of a score whose classes are so far apart, and the histogram."""
    edges = tuple(np.linspace(-1.5, distance + 1.5, n_bins - 1).tolist())
    histogram = ScoreHistogram((edges,), CLASSES, (1,), ("decision_function",), separate=True)
    y = (rng.random(m) < 0.3).astype(int)
    s = rng.standard_normal(m) + distance * y
    values = histogram.record_values(y, s, CLASSES)
    return histogram, np.array(histogram.statistics(values, y, Units.of(m)))


def test_average_precisions_near_one_are_covered():
    """Simulated ones are cut off at 1: without turned ends, less than 90 % were covered."""
    rng, m, epsilon, inside = np.random.default_rng(0), 2_000, 1.0, []
    histogram, counts = table_of(m, rng, 5.0)
    scorer = RankingScore("average_precision", (0.0, 1.0), {}, counts=histogram, positions=(1,))
    exact = scorer.raw(counts[None].astype(float), Units.of(m))[0]
    assert exact > 0.99
    p = -math.expm1(-epsilon / 2)
    for _ in range(150):
        noise = rng.geometric(p, len(counts)) - rng.geometric(p, len(counts))
        noisy = NoisyCounts(tuple((counts + noise).tolist()), 2 / epsilon)
        low, high = scorer.interval(noisy, Units.of(m), 0.95)
        inside.append(low <= exact <= high)
    assert np.mean(inside) >= 0.9


def test_what_bins_hide_is_independent_of_sampling(monkeypatch):
    rng, units = np.random.default_rng(0), Units.of(2_000)
    histogram, counts = table_of(2_000, rng, 1.5)
    scorer = RankingScore("roc_auc", (0.0, 1.0), {}, counts=histogram, positions=(1,))
    noisy = NoisyCounts(tuple(counts.tolist()), 2.0)
    value = scorer.raw(counts[None].astype(float), units)[0]
    ends = {}
    for off in (0.0, 0.02):
        monkeypatch.setattr(RankingScore, "_hidden", lambda self, tables, off=off: (0.0, off))
        for sampling in (0.0, 1.0):
            _, high = scorer.interval(noisy, units, 0.95, sampling)
            ends[sampling, off] = high - value
    assert ends[0.0, 0.02] == pytest.approx(ends[0.0, 0.0] + 0.02)
    assert ends[1.0, 0.02] == pytest.approx(math.hypot(ends[1.0, 0.0], 0.02))
    assert ends[1.0, 0.0] > ends[0.0, 0.0]
