"""Intervals of clipped scores contain the number that `clipping` names, however skewed it is.

Each run draws public and protected records and noise anew. ``python -m pytest -m slow`` runs all
settings; run as a program, this module prints the coverage of each.
"""

import itertools

import numpy as np
import pytest
from evaluations import report_of

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo.metrics import _intervals
from sklearn_dpbo.metrics._response import Responses
from sklearn_dpbo.metrics._scorers import score_and_interval
from sklearn_dpbo.metrics.evaluations._design import evaluation_of
from sklearn_dpbo.privacy.noise import SeededNoise
from sklearn_dpbo.privacy.noisy_counts import NoisyCounts
from sklearn_dpbo.records.units import Units

M, N_PUBLIC, RUNS, LEAST = 1_000, 600, 400, 0.92


def lognormal(sigma):
    def draw(n, rng):
        mean = np.exp(0.6 * rng.normal(size=n))
        return mean * rng.lognormal(0, sigma, n), mean * np.exp(sigma**2 / 2)

    return draw


def pareto(n, rng):
    mean = np.exp(0.3 * rng.normal(size=n))
    return mean * (1 + rng.pareto(2.5, n)), mean * 2.5 / 1.5


def outliers(n, rng):
    predicted = 3 * rng.normal(size=n)
    y = predicted + rng.normal(size=n)
    y, predicted = np.where(rng.random(n) < 0.005, 100 * y, y) + 700, predicted + 700
    return np.abs(y), predicted


TARGETS = {
    "lognormal .5": lognormal(0.5),
    "lognormal 1": lognormal(1.0),
    "lognormal 1.5": lognormal(1.5),
    "Pareto 2.5": pareto,
    "0.5 % outliers": outliers,
}


def mean_of(loss, root=False):
    def exact(scorer, y, p):
        worst = scorer.bounds[0] ** 2 if root else -scorer.bounds[0]
        mean = np.minimum(loss(y, p), worst).mean()
        return -np.sqrt(mean) if root else -mean

    return exact


def squared(y, p):
    return (y - p) ** 2


def r2(sums, y, p):
    e, t = np.clip(y - p, -sums.c_e, sums.c_e), np.clip(y - sums.centre, -sums.c_y, sums.c_y)
    return 1 - np.mean(e**2) / np.var(t)


# Named by what `clipping` says, and computed without the package.
SEARCHED = {
    "neg_mean_absolute_error": mean_of(lambda y, p: abs(y - p)),
    "neg_mean_squared_error": mean_of(squared),
    "neg_root_mean_squared_error": mean_of(squared, root=True),
    "neg_mean_squared_log_error": mean_of(lambda y, p: squared(np.log1p(y), np.log1p(p))),
    "r2": lambda scorer, y, p: r2(scorer.counts, y, p),
}


def evaluated(evaluation, y, p):
    e = np.clip(y - p, -evaluation.largest_error, evaluation.largest_error)
    return {
        "mean_absolute_error": abs(e).mean(),
        "mean_squared_error": (e**2).mean(),
        "root_mean_squared_error": np.sqrt((e**2).mean()),
        "mean_error": e.mean(),
        "share_clipped": np.mean(abs(y - p) > evaluation.largest_error),
        "r2": r2(evaluation._parts[0], y, p),
    }


def noisy_counts(query, y, p, epsilon, seed, factor):
    units = Units.of(M)
    exact = query.statistics(query.record_values(y, p, None), y, units)
    scale = query.sensitivity(units) / epsilon
    draw = SeededNoise(seed).discrete_laplace(factor * scale)
    return NoisyCounts(tuple(draw(list(exact))), scale)


def numbers(target, epsilon, seed, factor=1.0, names=tuple(SEARCHED)):
    """Yield each number that is released: name, exact, value, low, high; of skewed records."""
    rng = np.random.default_rng(seed)
    (y_public, p_public), (y, p) = TARGETS[target](N_PUBLIC, rng), TARGETS[target](M, rng)
    for k, name in enumerate(names):
        scorer = make_private_scorer(name).prepare(y_public).release(m=M, epsilon=epsilon)
        noisy = noisy_counts(scorer.counts, y, p, epsilon, 10 * seed + k, factor)
        value, interval = score_and_interval(scorer, Units.of(M), noisy)
        yield name, SEARCHED[name](scorer, y, p), value, *interval
    public = Responses(y_public, None, {"predict": p_public})
    design = evaluation_of(public, m=M, epsilon=epsilon)
    noisy = tuple(
        noisy_counts(part, y, p, epsilon * part.weight / 3, 20 * seed + k, factor)
        for k, part in enumerate(design._parts)
    )
    evaluation = design._released(noisy, Units.of(M), report_of(epsilon, M))
    for name, exact in evaluated(evaluation, y, p).items():
        yield f"evaluation: {name}", exact, *evaluation.score(name, interval="records")


def coverage(target, epsilon, runs=RUNS, factor=1.0):
    covered, first = {}, 10_000 * list(TARGETS).index(target) + int(1_000 * epsilon)
    for seed in range(first, first + runs):
        for name, exact, value, low, high in numbers(target, epsilon, seed, factor):
            assert low <= value <= high, (name, value, low, high)
            assert low < high or value == 0, "a share that noise alone would make larger"
            within = low - 1e-9 * abs(low) <= exact <= high + 1e-9 * abs(high)
            covered.setdefault(name, []).append(within)
    return {name: float(np.mean(each)) for name, each in covered.items()}


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch):
    """Simulate a quarter of the noise, to save time."""
    monkeypatch.setattr(_intervals, "_N_DRAWS", 1000)


CELLS = [
    pytest.param(
        target,
        epsilon,
        100 if quick else RUNS,
        marks=pytest.mark.soak if epsilon > 1 and not quick else pytest.mark.slow,
    )
    for target in TARGETS
    for epsilon in (1.0, 20.0)
    for quick in ([True, False] if (target, epsilon) == ("lognormal 1", 20.0) else [False])
]


@pytest.mark.parametrize(("target", "epsilon", "runs"), CELLS)
def test_intervals_contain_the_clipped_number(target, epsilon, runs):
    covered = coverage(target, epsilon, runs)
    assert min(covered.values()) >= LEAST - 0.05 * (runs < RUNS), covered


@pytest.mark.slow
def test_intervals_do_not_contain_it_if_there_is_twice_the_noise():
    covered = coverage("lognormal 1", 20.0, 100, factor=2.0)
    assert max(covered.values()) < 0.9, covered


if __name__ == "__main__":
    _intervals._N_DRAWS = 1000
    for target, epsilon in itertools.product(TARGETS, (1.0, 20.0)):
        cells = [f"{share:.3f}" for share in coverage(target, epsilon).values()]
        print(" | ".join(["", target, f"{epsilon:g}", *cells, ""]), flush=True)
